"""The verbs that forget, those that keep from forgetting, and the proof that something was forgotten."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress

import msgspec

from iamata.engine import shown
from iamata.engine.clearing import Clearing, both
from iamata.engine.practising import learn_again
from iamata.engine.reading import Reading
from iamata.engine.talking import Talking
from iamata.errors import BadInput, IamataError, NotAllowed, NotFound
from iamata.errors import Conflict as NotAsStored
from iamata.formation.forgetting import forgotten
from iamata.formation.learned import echoes
from iamata.model.access import Access, PrincipalKind, Purpose
from iamata.model.context import ContextRequest
from iamata.model.erasure import Erasable, Erasure, Hold, Proof
from iamata.model.ruling import RulingKind
from iamata.model.scope import Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.session import Speaker, ToolCall, Turn
from iamata.policy.view import sees_all

_TRIES = 20
_ALL = 1_000_000
_NOT_TOLD = "not told here"
_FOR_WHO_SEES_ALL = frozenset({Erasable.INFERENCE, Erasable.CONTEXT, Erasable.TOOL_CALL})
_PARTS = _FOR_WHO_SEES_ALL | {Erasable.DOCUMENT, Erasable.SESSION, Erasable.MESSAGE, Erasable.MEMORY}


class Forgetting(Clearing, Talking, Reading):
    """Erasing patients and parts of them, legal holds, the ledger of erasures, and its proof."""

    def delete_patient(self, patient: str, *, access: Access | None = None) -> Erasure | None:
        """Erase everything of the patient and destroy its key: the signed receipt, None if there is no such patient.
        Irreversible. Raises Conflict while a legal hold stands on it. What was learned from this patient, among others,
        is forgotten too, and learned anew from the others.

        Nothing is ingested about it afterwards before somebody says so: by registering it again (`put_patient`), or by
        `after_erasure`."""
        access, subject = self._begin("delete_patient", "erase", access, patient_subject(patient))
        fewer = self._store.learned_from(patient)
        try:
            erased = self._store.erase_patient(patient, self._clock(), f"{access.kind}/{access.id}")
        except NotAsStored:
            self._audit("delete_patient", access, subject, allowed=False, reasons=("legal-hold",))
            raise
        self._drop(patient)
        self._audit("delete_patient", access, subject, (erased.id,) if erased else ())
        self._learn_anew(fewer)
        return erased and _told(erased, access)

    def erase(self, patient: str, kind: Erasable, id: str, *, access: Access | None = None) -> Erasure:
        """Erase one document, session, message, memory, inference, context or recorded tool call of the patient, with
        everything that rests on it alone: bytes, statements, memories, inferences, rulings and contexts that cite it.
        The signed receipt. Irreversible; also a read with an earlier `known_at` shows it no more. Where recorded calls
        go with it, what was learned from the patient is learned anew.

        An erased message stays in its session as a turn without words. Raises NotFound (Gone if it was erased before),
        Conflict while a legal hold stands on the patient.
        """
        access, subject = self._begin("erase", "erase", access, patient_subject(patient))
        if kind is Erasable.PATIENT:
            raise BadInput("a whole patient is erased by `delete_patient`", place="kind")
        if kind not in _PARTS:
            raise BadInput(f"{kind} is nothing of a patient's: see `delete_subject` and `erase_entry`", place="kind")
        if kind in _FOR_WHO_SEES_ALL and not sees_all(access):  # what it holds may be hidden, and its id says nothing
            raise NotFound(what=kind, id=id)
        if shown.is_hidden(self._graphs.held(patient), id, self._graphs.seen(patient, access).hidden):
            raise NotFound(what=kind, id=id)
        by = f"{access.kind}/{access.id}"
        fewer = self._store.learned_from(patient)
        try:
            erased = self._erase_part(patient, kind, id, by)
        except NotAsStored:
            self._audit("erase", access, subject, (id,), allowed=False, reasons=("legal-hold",))
            raise
        except NotFound as error:
            if error.what == "patient":
                raise
            raise self._absent(patient, kind, id, access) from None
        self._audit("erase", access, subject, (erased.id, id))
        if not self._store.learned_from(patient):
            self._learn_anew(fewer)
        return _told(erased, access)

    def _erase_part(self, patient: str, kind: Erasable, id: str, by: str) -> Erasure:
        """Raises NotFound, and Conflict while a hold stands."""
        for _ in range(_TRIES):
            held = self._graphs.held(patient)
            receipts, _count = self._store.receipts(patient, offset=0, limit=_ALL)
            going = forgotten(held, receipts, kind, id, mint=self._graphs.mint(patient))
            try:
                erased = self._store.erase_part(patient, going, held.version, self._clock(), by, quotes=_runs)
            except NotAsStored:
                if self._standing(patient):
                    raise
                continue  # something came in meanwhile: work out again what goes
            self._drop(patient)
            return erased
        raise NotAsStored("the patient is written to too often at once; try again")

    def prove_erasure(
        self,
        patient: str,
        kind: Erasable = Erasable.PATIENT,
        id: str = "",
        *,
        words: Sequence[str] = (),
        access: Access | None = None,
    ) -> Proof:
        """Erase, and show that it was done: every sealed body is opened and looked through for `words`, every row and
        file of the database for the bodies themselves; before, when they must be found, and after, when nothing may.

        Of a part the words may stand elsewhere in what is held of the patient; then they are found there, rightly.
        Raises as `erase`, NotFound for a patient who is not registered, and NotAllowed for a reader from whom anything
        may be hidden: the words are looked for in that, too.
        """
        whole = kind is Erasable.PATIENT
        verb = "delete_patient" if whole else "erase"
        access, subject = self._begin(verb, "erase", access, patient_subject(patient))
        if not sees_all(access):  # what is found and counted is told of everything held, the hidden with it
            reasons = ("something-may-be-withheld",)
            self._audit(verb, access, subject, allowed=False, reasons=reasons)
            raise NotAllowed(reasons=reasons)
        self._registered(patient)
        there = self._store.look(patient, words)
        erased = self.delete_patient(patient, access=access) if whole else self.erase(patient, kind, id, access=access)
        if erased is None:
            raise NotFound(what="patient", id=patient)
        staying = frozenset(() if whole else self._store.look(patient, ()).there)
        gone = [each for each in there.there if each not in staying]
        return Proof(erasure=erased, before=there.remains, after=self._store.look(patient, words, gone).remains)

    def verify_erasure(self, *, access: Access | None = None) -> Proof:
        """Prove it on this database with a patient made for it: a document, a talk, a tool call, a context and a ruling
        in which a word stands that nobody says are planted, found, erased and found no more; so with an organization
        that has an entry, its file and a refusal. What was found is told of both together. Leaves a receipt of each."""
        access, _ = self._begin("verify_erasure", "audit", access, None)
        word = f"canary{self._ids()}"
        patient = f"erasure-check-{self._ids()}"
        owner = Access(kind=PrincipalKind.OPERATOR, id="erasure-check", roles=("owner",), purpose=Purpose.OPERATIONS)
        resources = [
            {"resourceType": "Patient", "id": patient, "name": [{"family": word}]},
            {"resourceType": "Condition", "id": "c", "code": {"text": word}, "note": [{"text": f"{word} " * 80}]},
        ]
        body = json.dumps({"resourceType": "Bundle", "entry": [{"resource": each} for each in resources]})
        self.ingest(patient, body.encode(), source=word, name=f"{word}.json", access=owner)
        self.append(patient, word, [Turn(Speaker.PATIENT, f"I am allergic to {word}.")], access=owner)
        self.record_calls(patient, word, [ToolCall("read", word, word)], access=owner)
        asked = ContextRequest(subjects=(patient_subject(patient),), task="general", budget_tokens=500, query=word)
        self.context(asked, access=owner)
        statement = min(self.graph(patient, access=owner).statements)
        self.rule(patient, RulingKind.NOT_THIS_PATIENT, statement, reason=word, access=owner)
        proof = self.prove_erasure(patient, words=(word,), access=owner)
        knowledge = self._prove_subject(word, f"{owner.kind}/{owner.id}")
        self._audit("verify_erasure", access, None, (proof.erasure.id, knowledge.erasure.id))
        return both(proof, knowledge)

    def erasures(self, *, page: int = 0, per_page: int = 50, access: Access | None = None) -> tuple[list[Erasure], int]:
        """A page of the receipts of all erasures, newest first, and how many there are. Only for the owner."""
        access, _ = self._begin("erasures", "audit", access, None)
        found = self._store.erasures(offset=page * per_page, limit=per_page)
        self._audit("erasures", access, None, tuple(each.id for each in found[0]))
        return found

    def set_hold(self, patient: str, reason: str, *, access: Access | None = None) -> Hold:
        """Put a legal hold on the patient: nothing of it is erased, by whomever or whatever policy, until it is lifted.
        Raises NotFound for an unknown patient, InvalidValue without a reason."""
        access, subject = self._begin("set_hold", "erase", access, patient_subject(patient))
        now = self._clock()
        hold = Hold(id=f"ho_{self._ids()}", by=f"{access.kind}/{access.id}", at=now, reason=reason)
        self._store.put_hold(patient, hold, now)
        self._audit("set_hold", access, subject, (hold.id,))
        return hold

    def lift_hold(self, patient: str, hold: str, reason: str, *, access: Access | None = None) -> Hold:
        """Lift a hold, with a reason. Raises NotFound for one that does not stand."""
        access, subject = self._begin("lift_hold", "erase", access, patient_subject(patient))
        now = self._clock()
        lifting = Hold(id=f"ho_{self._ids()}", by=f"{access.kind}/{access.id}", at=now, reason=reason, lifts=hold)
        self._store.put_hold(patient, lifting, now)
        self._audit("lift_hold", access, subject, (lifting.id, hold))
        return lifting

    def holds(self, patient: str, *, access: Access | None = None) -> list[Hold]:
        """Every hold on the patient and every lifting, the earliest first. A reader from whom anything may be hidden is
        not told the reasons: they can speak of it."""
        access, subject = self._begin("holds", "read", access, patient_subject(patient))
        self._registered(patient)
        found = self._store.holds(patient)
        if not sees_all(access):
            found = [msgspec.structs.replace(each, reason=_NOT_TOLD) for each in found]
        self._audit("holds", access, subject, tuple(each.id for each in found))
        return found

    def _standing(self, patient: str) -> list[Hold]:
        every = self._store.holds(patient)
        lifted = {each.lifts for each in every}
        return [each for each in every if not each.lifts and each.id not in lifted]

    def _replay_erasures(self) -> None:
        """Erase again the parts that a restored backup brought back, and finish what was cut off."""
        for entry, patient, id in self._store.to_replay():
            for _ in range(_TRIES):
                held = self._graphs.held(patient)
                receipts, _count = self._store.receipts(patient, offset=0, limit=_ALL)
                going = forgotten(held, receipts, entry.kind, id, mint=self._graphs.mint(patient))
                try:
                    self._store.replay(entry, patient, going, held.version, self._clock(), quotes=_runs)
                except NotAsStored:
                    continue
                break
            self._drop(patient)

    def _learn_anew(self, fewer: Collection[Subject]) -> None:
        """What was learned of these went with somebody it was learned from: learn it from the others."""
        if fewer:
            with suppress(IamataError):  # what goes is gone; what was learned is only missing until it is asked for
                learn_again(self._store, self._shelves, self._clock, sorted(fewer))

    def _drop(self, patient: str) -> None:
        """Nothing of it stays in this process."""
        self._graphs.forget(patient)
        with self._lock:
            self._told.clear()


def _told(receipt: Erasure, access: Access) -> Erasure:
    """The receipt for this reader: how much went, and so the signature over it, is for who sees everything. The whole
    one lies in the ledger."""
    return receipt if sees_all(access) else msgspec.structs.replace(receipt, counts=(), key="", signature="")


def _runs(text: str) -> set[str]:
    return {run for run, _, _ in echoes.told(text)}
