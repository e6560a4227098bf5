"""The verbs of entries: what is known of organizations, operators and agents, and what agents inferred of patients.

Written, retired, listed, opened. Attribution follows from the kind: each kind stands in one column of the model. Who
may write is policy's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

import msgspec

from iamata.connectors import entry_files
from iamata.engine.door import Door
from iamata.engine.explaining import explained_entry, named
from iamata.errors import BadInput, Conflict, Gone, NotAllowed, NotFound
from iamata.formation.inferences import basis_of, shows
from iamata.model.access import Access, PrincipalKind
from iamata.model.attribution import Attribution, AttributionKind, Author, Certainty, Role
from iamata.model.document import Document
from iamata.model.entry import (
    Basis,
    Entry,
    EntryDraft,
    EntryKind,
    EntryPassage,
    Inferred,
    attribution_of,
    in_force,
    known_by,
)
from iamata.model.erasure import Erasable
from iamata.model.identifiers import canonical_bytes, content_digest
from iamata.model.reading import Explanation
from iamata.model.scope import Scope, Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.stamp import Moment
from iamata.model.statement import Form
from iamata.policy.view import sees_all

# In what capacity the author of a user-reported entry speaks.
_SPEAKS: Final = {Scope.ORGANIZATION: Role.STAFF, Scope.OPERATOR: Role.OPERATOR}
_RECORDS: Final = {
    PrincipalKind.OPERATOR: Role.OPERATOR,
    PrincipalKind.AGENT: Role.AGENT,
    PrincipalKind.SYSTEM: Role.SOFTWARE,
}


class Knowing(Door):
    """Entries of organizations, operators and agents, and inferences about patients."""

    def put_entry(self, entry: Entry | EntryDraft, *, access: Access | None = None) -> Entry:
        """Append one version of an item of knowledge, and return it as it is kept. Of a patient that is what an agent
        summed up or inferred, with what it was `derived_from`: ids or addresses of that patient's items, as the writer
        sees them now.

        A draft becomes the next version of the entry with its id, else a new entry; attribution, version and time are
        the engine's. A draft that says what the newest version says adds nothing. A whole Entry keeps its id, author
        and version, which must be the next one. Raises NotAllowed, and Conflict for another version or kind.
        """
        access, subject, act = self._begin_entry("put_entry", entry.subject, entry.kind, access)
        held = self._of(subject, entry.id) if entry.id else []
        if isinstance(entry, EntryDraft):
            if not entry.text.strip():
                raise BadInput("an entry has a text", place="text")
            made = self._drafted(entry, access, bases=self._bases(subject, entry.derived_from, access))
            held = held or self._of(subject, made.id)
            if held and _says(held[-1]) == _says(made):
                self._audit("put_entry", access, subject, (made.id,), act=act)
                return held[-1]
            made = self._next(made, held)
        else:
            if entry.document:
                self._store.entry_document(subject, entry.document)
            bases = self._bases(subject, [basis.item for basis in entry.derived_from], access)
            made = msgspec.structs.replace(
                entry, recorded_at=self._clock(), supersedes=entry.version - 1, derived_from=bases
            )
            if access.kind is PrincipalKind.AGENT:  # whose word it is is not an agent's to say
                made = msgspec.structs.replace(made, attribution=_attribution(made.kind, subject, "", access))
            if entry.version != len(held) + 1:
                raise Conflict(f"the next version of entry {entry.id} is {len(held) + 1}")
            self._check_kind(made, held)
        self._check_author(made, held, access)
        self._check_erased(made, held)
        if subject.scope is not Scope.PATIENT and made.id in self._store.refused_entries(subject):
            raise NotAllowed(reasons=("refused-by-a-person",))
        self._store.put_entry(made, self._clock())
        self._audit("put_entry", access, subject, (made.id,), act=act)
        return made

    def ingest_entry(
        self,
        draft: EntryDraft,
        body: bytes,
        *,
        name: str = "",
        media_type: str = "",
        format: str = "",
        access: Access | None = None,
    ) -> Entry:
        """An entry of a file: Markdown, PDF, HTML, DOCX, RTF, text, or CSV with a header. The file is kept exactly as
        it came; its sections, or its rows, become passages that cite it.

        As `put_entry` of the draft otherwise, whose text stands above the passages. The same file for the same entry
        adds nothing. Raises BadInput for what cannot be read; then nothing is stored.
        """
        access, subject, act = self._begin_entry("ingest_entry", draft.subject, draft.kind, access)
        if subject.scope is Scope.PATIENT:
            raise BadInput("a file about a patient is ingested, not kept as an entry", place="subject")
        found = entry_files.read(body, name=name, media_type=media_type, format=format)
        mint = self._shelves.mint(subject)
        document = Document(
            id=mint.document(name, found.media_type, body),
            subject=subject,
            source=draft.author or access.id,
            media_type=found.media_type,
            format=found.format,
            sha256=content_digest(body),
            size_bytes=len(body),
            received_at=self._clock(),
            name=name,
        )
        passages = tuple(
            EntryPassage(
                id=mint.id("ep", (document.id, each.pointer, str(each.start), str(each.end))),
                text=each.text,
                pointer=each.pointer,
                heading=each.heading,
                start=each.start,
                end=each.end,
            )
            for each in found.passages
        )
        made = msgspec.structs.replace(
            self._drafted(draft, access, document.id), document=document.id, passages=passages, form=found.form
        )
        held = self._of(subject, made.id)
        if held and _says(held[-1]) == _says(made):
            self._audit("ingest_entry", access, subject, (made.id,), act=act)
            return held[-1]
        made = self._next(made, held)
        self._check_erased(made, held)
        self._store.put_entry(made, self._clock(), document=(document, body))
        self._audit("ingest_entry", access, subject, (made.id, document.id), act=act)
        return made

    def retire_entry(
        self,
        subject: Subject,
        id: str,
        *,
        reason: str = "",
        effective_from: str = "",
        access: Access | None = None,
    ) -> Entry:
        """Take an entry out of force, at once or from a day on: a new version that says so. What it said stays for
        reads with an earlier `known_at` or `true_at`. Retired already: nothing is added. Raises NotFound."""
        cues = subject.scope is Scope.AGENT and any(e.kind is EntryKind.CUE for e in self._of(subject, id))
        access, subject, act = self._begin_entry("retire_entry", subject, EntryKind.CUE if cues else None, access)
        held = self._of(subject, id)
        if not held:
            raise self._missing_entry(subject, id, held, access)
        last = held[-1]
        self._check_author(last, held, access)
        if not last.retired:
            made = msgspec.structs.replace(
                last,
                retired=True,
                reason=reason,
                effective_from=effective_from,
                effective_to="",
                attribution=msgspec.structs.replace(last.attribution, recorder=_recorder(access)),
            )
            last = self._next(made, held)
            self._store.put_entry(last, self._clock())
        self._audit("retire_entry", access, subject, (id,), act=act)
        return last

    def entries(
        self,
        subject: Subject,
        *,
        kinds: Collection[EntryKind] = (),
        tags: Collection[str] = (),
        attribution: AttributionKind | None = None,
        history: bool = False,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Entry]:
        """The entries of a subject that are in force, by id; with `history` every version that was known by then, by id
        and version. Of these kinds, with all of these tags, of this attribution. Of a patient those of which the reader
        may see everything that they rest on."""
        access, subject = self._begin("entries", "read", access, subject)
        moment = Moment.of(self._clock(), known_at=known_at, true_at=true_at)
        versions = self._visible(subject, known_at, true_at, access)
        found = known_by(versions, known_at) if history else in_force(versions, moment)
        found = [
            each
            for each in found
            if (not kinds or each.kind in kinds)
            and set(tags) <= set(each.tags)
            and attribution in (None, each.attribution.kind)
        ]
        self._audit("entries", access, subject, tuple(entry.id for entry in found))
        return found

    def entry(
        self,
        subject: Subject,
        id: str,
        *,
        version: int = 0,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Entry:
        """One entry as it is in force, or one version of it, whether in force or not. Raises NotFound; Gone for an
        inference about a patient that rests on what was retracted or refused."""
        access, subject = self._begin("entry", "read", access, subject)
        moment = Moment.of(self._clock(), known_at=known_at, true_at=true_at)
        held = [each for each in self._visible(subject, known_at, true_at, access) if each.id == id]
        if version:
            found = [each for each in known_by(held, known_at) if each.version == version]
        else:
            found = in_force(held, moment)
        if not found:
            raise self._missing_entry(subject, id, held, access)
        self._audit("entry", access, subject, (id,))
        return found[0]

    def inferences(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Inferred]:
        """What agents summed up or inferred of a patient, by id, with what has changed since of what it was derived
        from. One that rests on what the reader may not see, or on what was retracted or refused, is not among it."""
        access, subject = self._begin("inferences", "read", access, patient_subject(patient))
        found = list(self._load(subject, known_at, true_at, access).inferred.values())
        self._remember_shown(subject.id, "\n".join(each.entry.text for each in found))
        self._audit("inferences", access, subject, tuple(each.entry.id for each in found))
        return found

    def entry_document(self, subject: Subject, document: str, *, access: Access | None = None) -> tuple[str, bytes]:
        """Media type and the bytes of the file that an entry came from, exactly as received. Raises NotFound."""
        access, subject = self._begin("entry_document", "read", access, subject)
        about, body = self._store.entry_document(subject, document)
        self._audit("entry_document", access, subject, (document,))
        return about.media_type, body

    def explain_entry(
        self,
        subject: Subject,
        item: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Explanation:
        """Why an entry or one of its passages stands there: who says so, since when, and the place in its file as it
        stands in the bytes. `item` is its id, or an address of the tree. Raises NotFound."""
        access, subject = self._begin("explain_entry", "read", access, subject)
        if subject.scope is Scope.PATIENT:
            raise BadInput("what is held of a patient is explained with `explain`", place="subject")
        try:
            found = explained_entry(self._store, self._shelf(subject, known_at, true_at).tree, item)
        except NotFound:
            if self._of(subject, item):
                raise
            raise self._missing_entry(subject, item, (), access) from None
        self._audit("explain_entry", access, subject, (found.item,))
        return found

    def _begin_entry(
        self, action: str, subject: Subject, kind: EntryKind | None, access: Access | None
    ) -> tuple[Access, Subject, str]:
        """The door of a write: an agent's own cues are learned, all other entries are written."""
        learns = access is not None and access.kind is PrincipalKind.AGENT and kind is EntryKind.CUE
        act = "learn" if learns else "write"
        access, subject = self._begin(action, act, access, subject)
        return access, subject, act

    def _held(self, subject: Subject) -> Sequence[Entry]:
        """Every version of every entry, by id and version. Raises NotFound for an unknown patient."""
        if subject.scope is Scope.PATIENT:
            return self._graphs.held(subject.id).entries
        return self._shelves.versions(subject)

    def _of(self, subject: Subject, id: str) -> list[Entry]:
        return [each for each in self._held(subject) if each.id == id]

    def _visible(
        self, subject: Subject, known_at: datetime | None, true_at: datetime | None, access: Access
    ) -> list[Entry]:
        """The versions that exist for this reader."""
        if subject.scope is not Scope.PATIENT:
            return self._shelves.versions(subject)
        graph = self._load(subject, known_at, true_at, access).graph
        return [each for each in self._graphs.seen(subject.id, access).held.entries if shows(graph, each)]

    def _missing_entry(self, subject: Subject, id: str, held: Sequence[Entry], access: Access) -> NotFound:
        """Why an entry is not there. Who does not see everything is not told what is gone from what is hidden."""
        if subject.scope is Scope.PATIENT and sees_all(access) and not held:
            if self._of(subject, id):
                return Gone(f"entry {id!r} is gone: what it rests on was retracted or refused", what="entry", id=id)
            if self._store.erased(subject.id, Erasable.INFERENCE, id) is not None:
                return Gone(f"entry {id!r} was erased", what="entry", id=id)
        if subject.scope is not Scope.PATIENT and not held and self._store.erased_entry(subject, id) is not None:
            return Gone(f"entry {id!r} was erased", what="entry", id=id)
        return NotFound(what="entry", id=id)

    def _bases(self, subject: Subject, items: Sequence[str], access: Access) -> tuple[Basis, ...]:
        """What an inference rests on, as its writer sees it now; empty for other scopes."""
        if subject.scope is not Scope.PATIENT:
            if items:
                raise BadInput("only what is inferred of a patient is derived from something", place="derived_from")
            return ()
        loaded = self._load(subject, None, None, access)
        return basis_of(loaded.graph, [named(self._store, loaded, item) for item in items])

    def _check_author(self, made: Entry, held: Sequence[Entry], access: Access) -> None:
        """An agent changes its own inferences, nobody else's."""
        if made.subject.scope is Scope.PATIENT and access.kind is PrincipalKind.AGENT:
            own = f"{access.kind}/{access.id}"
            if any(each.attribution.author.reference != own for each in (made, *held)):
                raise NotAllowed(reasons=("another-agents-inference",))

    def _check_erased(self, made: Entry, held: Sequence[Entry]) -> None:
        """Raises Gone for an entry that was erased by itself. Its subject, if that was, begins anew with this one."""
        subject = made.subject
        if held:
            return
        if subject.scope is Scope.PATIENT:
            erased = self._store.erased(subject.id, Erasable.INFERENCE, made.id) is not None
        else:
            by_itself = self._store.erased_subject(subject) is None
            erased = by_itself and self._store.erased_entry(subject, made.id) is not None
        if erased:
            why = "this entry was erased; what is written again after that needs another id"
            raise Gone(why, what="entry", id=made.id)

    def _drafted(self, draft: EntryDraft, access: Access, document: str = "", bases: tuple[Basis, ...] = ()) -> Entry:
        """The first version of a draft. Its own content names it where its writer does not, so that a repeat is known;
        of a file its title, so that a new edition can be the next version."""
        subject, kind = draft.subject, draft.kind
        mint = self._graphs.mint(subject.id) if subject.scope is Scope.PATIENT else self._shelves.mint(subject)
        content = ("file", draft.title) if document else ("text", draft.title, draft.text)
        return Entry(
            id=draft.id or mint.id("et", (kind.value, *content)),
            subject=subject,
            kind=kind,
            version=1,
            title=draft.title,
            text=draft.text,
            attribution=_attribution(kind, subject, draft.author, access),
            recorded_at=self._clock(),
            effective_from=draft.effective_from,
            effective_to=draft.effective_to,
            tags=tuple(dict.fromkeys(draft.tags)),
            domain=draft.domain,
            form=Form.UNSTRUCTURED,
            reason=draft.reason,
            derived_from=bases,
        )

    def _next(self, made: Entry, held: list[Entry]) -> Entry:
        """The version after those held. Raises Conflict if it would be of another kind."""
        self._check_kind(made, held)
        return msgspec.structs.replace(made, version=len(held) + 1, supersedes=len(held), recorded_at=self._clock())

    def _check_kind(self, made: Entry, held: list[Entry]) -> None:
        if held and held[-1].kind is not made.kind:
            raise Conflict(f"entry {made.id} is a {held[-1].kind}: a version of it cannot be a {made.kind}")


def _attribution(of: EntryKind, subject: Subject, author: str, access: Access) -> Attribution:
    """Who speaks in an entry: of system-reported ones the institution, of user-reported the person, of agent-reported
    the agent; and who wrote it down."""
    kind = attribution_of(of, subject.scope)
    recorder = _recorder(access)
    match kind:
        case AttributionKind.SYSTEM:
            who = Author(Role.INSTITUTION, display=author or subject.id)
        case AttributionKind.AGENT:
            by_itself = access.kind is PrincipalKind.AGENT
            if subject.scope is Scope.PATIENT and not (by_itself or author):
                raise BadInput("say which agent inferred it", place="author")
            who = Author(Role.AGENT, recorder.reference if by_itself else "", author or access.id)
        case _:
            who = Author(_SPEAKS[subject.scope], recorder.reference, author)
    return Attribution(kind, who, rule="entered", because=f"kind={of}", certainty=Certainty.STATED, recorder=recorder)


def _recorder(access: Access) -> Author:
    return Author(_RECORDS[access.kind], f"{access.kind}/{access.id}")


def _says(entry: Entry) -> bytes:
    """What a version says, without which version it is and who wrote it down when."""
    author = entry.attribution.author
    return canonical_bytes(
        {
            "kind": entry.kind,
            "title": entry.title,
            "text": entry.text,
            "author": [author.role, author.display],
            "effective": [entry.effective_from, entry.effective_to],
            "tags": sorted(entry.tags),
            "domain": entry.domain,
            "document": entry.document,
            "retired": entry.retired,
            "derived_from": [[basis.item, basis.digest] for basis in entry.derived_from],
        }
    )
