"""The verb that asks a language model about pairs that nobody could tell. Its answers are kept; the fold uses them."""

from __future__ import annotations

from collections import Counter

from iamata.engine.door import Door
from iamata.engine.models import ADJUDICATION, WITHIN_S, asked
from iamata.errors import BadInput, Unavailable
from iamata.formation.recorded import adjudication
from iamata.model.access import Access
from iamata.model.model_answers import Adjudicated, Adjudication
from iamata.model.scope import patient as patient_subject
from iamata.model.statement import Statement
from iamata.policy.outgoing import may_leave
from iamata.policy.sensitivity import of_shown
from iamata.ports import Answer, AnswerOutcome

MOST_PAIRS = 20
_NO_MODEL = "no language model is configured for adjudication: set IAMATA_MODEL_NAME (and IAMATA_MODEL_FOR)"


class Adjudicating(Door):
    """Adjudication by a language model."""

    def adjudicate(self, patient: str, *, most: int = MOST_PAIRS, access: Access | None = None) -> Adjudicated:
        """Ask the configured language model about the pairs that wait for a person, at most `most` of them, by id.

        Its answers are agent-reported, kept, and hold until a record changes or a person rules otherwise: "same" joins
        the two unless a rule keeps them apart, "not the same" takes the pair off the list. A question that got an
        answer is never asked again. Operators only. Raises Unavailable if no model is configured for it, BadInput for
        a `most` below 1, Conflict if something of the patient was erased meanwhile (then nothing is kept); what the
        model or its server does wrong is counted.
        """
        access, subject = self._begin("adjudicate", "decide", access, patient_subject(patient))
        if self._model is None or ADJUDICATION not in self._model_for:
            raise Unavailable(_NO_MODEL)
        if most < 1:
            raise BadInput("at least one pair is asked about", place="most")
        model = self._model
        graph = self._load(subject, None, None, access).graph
        mint = self._graphs.mint(patient)
        held = self._graphs.held(patient)
        before = {answer.id for answer in held.adjudications}
        told: list[tuple[Statement, Statement, Answer]] = []
        failed: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        left_s, stopped = WITHIN_S, False
        for decision in graph.decisions.values():
            if not adjudication.is_uncertain(decision):
                continue
            left, right = graph.statements[decision.left], graph.statements[decision.right]
            id = adjudication.answer_id(left, right, model.name, mint=mint)
            if not adjudication.may_be_asked(left, right):
                counts["other_kinds"] += 1
            elif not (may_leave(of_shown([left])) and may_leave(of_shown([right]))):
                counts["withheld"] += 1
            elif id in before:
                counts["answered_before"] += 1
            elif stopped or len(told) + sum(failed.values()) >= most or left_s <= 0:
                counts["left"] += 1
            else:
                answer = asked(model, adjudication.question(left, right, decision), left_s)
                left_s -= answer.took_s
                if answer.outcome is AnswerOutcome.ANSWERED:
                    told.append((left, right, answer))
                else:
                    failed[answer.outcome.value] += 1
                    counts["left"] += 1
                    stopped = not answer.outcome.of_the_question
        now = self._clock()  # after all of them: what is kept was known from when it was kept
        made: list[Adjudication] = []
        for left, right, answer in told:
            read = adjudication.adjudication(
                answer.body, left, right, model=model.name, served=answer.served, received_at=now, mint=mint
            )
            if read is None:
                failed[AnswerOutcome.MALFORMED.value] += 1
                counts["left"] += 1
            else:
                made.append(read)
        if made:
            self._store.keep_answers(patient, made, now, erasures=held.erasures)
        self._audit("adjudicate", access, subject, tuple(answer.id for answer in made))
        return Adjudicated(model=model.name, answers=tuple(made), failed=tuple(sorted(failed.items())), **counts)
