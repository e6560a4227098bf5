"""A language model that answers from a script: for tests, and for trying the engine without a model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import msgspec

from iamata.ports import Answer, AnswerOutcome, Question

Scripted = Answer | Callable[[Question], object] | object


class ScriptedModel:
    """`ports.LanguageModel`. Gives the answers in their order, then `refused` for ever. An answer is an `Answer`, a
    function of the question, or a value that becomes the JSON of an answer. `asked` holds the questions so far."""

    def __init__(self, answers: Iterable[Scripted], *, name: str = "scripted") -> None:
        self._answers = iter(answers)
        self._name = name
        self._lock = threading.Lock()
        self.asked: list[Question] = []

    @property
    def name(self) -> str:
        return self._name

    def ask(self, question: Question, *, within_s: float) -> Answer:
        with self._lock:
            self.asked.append(question)
            answer = next(self._answers, Answer(outcome=AnswerOutcome.REFUSED))
        found = answer(question) if callable(answer) else answer
        if isinstance(found, Answer):
            return found
        return Answer(outcome=AnswerOutcome.ANSWERED, body=msgspec.json.encode(found), served=self._name)
