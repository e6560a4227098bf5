"""The verbs that forget an organization, an operator or an agent, or one entry of theirs, and the proof of it."""

from __future__ import annotations

from typing import Final

from iamata.engine.door import Door
from iamata.errors import BadInput, Gone, NotFound
from iamata.model.access import Access
from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.document import Document
from iamata.model.entry import Entry, EntryKind
from iamata.model.erasure import Erasure, Proof, Remains
from iamata.model.identifiers import content_digest
from iamata.model.scope import Scope, Subject

_OF_PATIENTS: Final = "what is held of a patient is erased by `delete_patient` and `erase`"


class Clearing(Door):
    """Erasing other subjects than patients."""

    def delete_subject(self, subject: Subject, *, access: Access | None = None) -> Erasure | None:
        """Erase everything held of an organization, operator or agent, and destroy its key: its entries, the files they
        came from, what was learned of it and what people refused. The signed receipt, None if nothing is held of it.
        Irreversible; also a read with an earlier `known_at` shows it no more.

        What a context of a patient cited of it is gone when it is asked about. Legal holds are on patients, and keep
        nothing of this. It is not learned of again by itself; writing an entry of it is the explicit word that begins
        anew. Kept: audit records, relations to patients, and what a recorded call of a patient quotes. Raises BadInput
        for a patient.
        """
        if subject.scope is Scope.PATIENT:
            raise BadInput(_OF_PATIENTS, place="subject")
        access, subject = self._begin("delete_subject", "erase", access, subject)
        erased = self._store.erase_subject(subject, self._clock(), f"{access.kind}/{access.id}")
        self._clear(subject)
        self._audit("delete_subject", access, subject, (erased.id,) if erased else ())
        return erased

    def erase_entry(self, subject: Subject, id: str, *, access: Access | None = None) -> Erasure:
        """Erase one entry of an organization, operator or agent: every version, the files that no other entry came
        from, and what people said of it. The signed receipt. Irreversible; what it was learned from teaches it no more,
        and the same id is not written again. Raises NotFound (Gone if it was erased before), BadInput for a patient."""
        if subject.scope is Scope.PATIENT:
            raise BadInput(_OF_PATIENTS, place="subject")
        access, subject = self._begin("erase_entry", "erase", access, subject)
        try:
            erased = self._store.erase_entry(subject, id, self._clock(), f"{access.kind}/{access.id}")
        except NotFound:
            raise self._no_entry(subject, id) from None
        self._clear(subject)
        self._audit("erase_entry", access, subject, (erased.id, id))
        return erased

    def _clear(self, subject: Subject) -> None:
        """Nothing of it stays in this process."""
        self._shelves.forget(subject)

    def _no_entry(self, subject: Subject, id: str) -> NotFound:
        """There is none, or it was erased, for who may read what is held of the subject."""
        if self._store.erased_entry(subject, id) is not None:
            return Gone(f"entry {id!r} was erased", what="entry", id=id)
        return NotFound(what="entry", id=id)

    def _prove_subject(self, word: str, by: str) -> Proof:
        """Plant an entry with a file and a refusal, find the word in each, erase, and look again."""
        now, subject = self._clock(), Subject(Scope.ORGANIZATION, f"erasure-check-{self._ids()}")
        body = f"{word} ".encode() * 80
        about = Document(
            id=f"en_{word}",
            subject=subject,
            source=word,
            media_type="text/plain",
            format="document/text",
            sha256=content_digest(body),
            size_bytes=len(body),
            received_at=now,
            name=f"{word}.txt",
        )
        entry = Entry(
            id="planted",
            subject=subject,
            kind=EntryKind.GUIDELINE,
            version=1,
            title=word,
            text=f"{word} " * 80,
            attribution=Attribution(AttributionKind.SYSTEM, Author(Role.INSTITUTION, display=word), rule="entered"),
            recorded_at=now,
            document=about.id,
        )
        self._store.put_entry(entry, now, document=(about, body))
        self._store.refuse_entry(subject, entry.id, word.encode(), refused=True)
        there = self._store.look_subject(subject, (word,))
        erased = self._store.erase_subject(subject, self._clock(), by)
        if erased is None:
            raise NotFound(what=subject.scope.value, id=subject.id)
        self._clear(subject)
        after = self._store.look_subject(subject, (word,), there.there)
        return Proof(erasure=erased, before=there.remains, after=after.remains)


def both(one: Proof, other: Proof) -> Proof:
    """Two proofs as one, with the receipt of the first; if one of them does not hold, that one."""
    for each in (one, other):
        if not each.holds:
            return each
    return Proof(erasure=one.erasure, before=_sum(one.before, other.before), after=_sum(one.after, other.after))


def _sum(one: Remains, other: Remains) -> Remains:
    words = dict(one.words)
    for table, count in other.words:
        words[table] = words.get(table, 0) + count
    return Remains(
        bodies=one.bodies + other.bodies,
        words=tuple(sorted(words.items())),
        sealed=one.sealed + other.sealed,
        in_rows=one.in_rows + other.in_rows,
        in_files=one.in_files + other.in_files,
        files=one.files,
    )
