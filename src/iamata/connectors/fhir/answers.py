"""Which answers does a QuestionnaireResponse give? One statement an answer, nested ones too.

An answer's statement depends on the response without its items, on the question and on the answer, not on the other
answers: a response that is sent again with one more answer adds one statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from iamata.connectors.fhir.values import Json, choice, objects, string
from iamata.model.coding import CodedText, Coding


class Answer(NamedTuple):
    """`part` is the answer's relative pointer; `answer` is None for a question that was asked and not answered."""

    part: str
    question: CodedText
    link_id: str
    answer: Json | None


def answers(resource: Json) -> Iterator[Answer]:
    """Every answer and every unanswered question in document order; groups are neither."""
    yield from _items(resource, "")


def _items(holder: Json, path: str) -> Iterator[Answer]:
    for index, item in objects(holder, "item"):
        part = f"{path}item/{index}"
        link_id = string(item, "linkId")
        question = CodedText(string(item, "text"), (Coding("", link_id),) if link_id else ())
        given = False
        for position, answer in objects(item, "answer"):
            at = f"{part}/answer/{position}"
            if choice(answer, "value") is not None:
                given = True
                yield Answer(at, question, link_id, answer)
            yield from _items(answer, f"{at}/")
        if not given and not item.get("item"):
            yield Answer(part, question, link_id, None)
        yield from _items(item, f"{part}/")
