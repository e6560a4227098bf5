"""The front door: one short method per verb. Holds no rule of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from iamata.assembly import navigation, rendering
from iamata.assembly import pipeline as assembly
from iamata.connectors import registry
from iamata.engine import shown
from iamata.engine.explaining import explained
from iamata.engine.graphs import Graphs, Loaded
from iamata.engine.stamps import stamp_of
from iamata.engine.transcripts import unseen
from iamata.errors import BadInput, Gone, IamataError, NotFound
from iamata.errors import Conflict as NotAsStored
from iamata.formation import pipeline as formation
from iamata.formation.learned import learn
from iamata.language.tokens import token_counter
from iamata.model.access import Access
from iamata.model.audit import AuditRecord
from iamata.model.conflict import Conflict
from iamata.model.context import Context, ContextRequest
from iamata.model.decision import Decision, Verdict
from iamata.model.document import Document, IngestionStatus, Receipt
from iamata.model.entry import Entry
from iamata.model.graph import Graph
from iamata.model.identifiers import canonical_bytes, content_digest
from iamata.model.patient import PatientRow
from iamata.model.provenance import SourceKind
from iamata.model.reading import Explanation, Format, Hit, Listing, Page
from iamata.model.ruling import RecordRef, Ruling, RulingKind
from iamata.model.scope import Scope, Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.session import Message, Session, Turn
from iamata.model.stamp import Moment
from iamata.policy import access as policy
from iamata.ports import Accepted, KeyStore, Store, Work
from iamata.store import FileKeyStore, open_store
from iamata.terminology.tables import knowledge_version

_LEASE_S = 120.0
_ATTEMPTS = 5
_ALL = 1_000_000


class Engine:
    """Forms memory from what it receives and assembles context from it.

    Thread-safe. Every verb takes an `Access` (default: the local person) and leaves an audit record. Reads take
    `known_at` (what had been received by then) and `true_at` (the clinical now); both default to the request's time.
    Errors are those of `iamata.errors`.
    """

    def __init__(self, store: Store, keys: KeyStore, *, clock: Callable[[], datetime], ids: Callable[[], str]) -> None:
        self._store = store
        self._graphs = Graphs(store, keys)
        self._clock = clock
        self._ids = ids

    @classmethod
    def open(
        cls,
        db: str | Path = "iamata.db",
        *,
        keys: KeyStore | str | Path | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        ids: Callable[[], str] = lambda: secrets.token_hex(10),
    ) -> Engine:
        """Open or create a database: a path (SQLite; key store beside it), `:memory:`, or a `postgresql://` URL.

        `keys` is a key store or the folder of one; PostgreSQL needs it: keys never lie in the database they lock.
        `clock` and `ids` (unguessable ids of submissions) can be given, so that a run can be repeated.
        """
        store = open_store(db, keys=FileKeyStore(keys) if isinstance(keys, (str, Path)) else keys)
        return cls(store, store.keys, clock=clock, ids=ids)

    def close(self) -> None:
        """Flush the audit log and let go of the database."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------ write

    def put_patient(self, patient: str, *, access: Access | None = None) -> PatientRow:
        """Register a patient; the same again changes nothing. Raises InvalidValue for an id that cannot be one."""
        access, subject = self._begin("put_patient", "write", access, patient_subject(patient))
        row = self._store.put_patient(patient, self._clock())
        self._audit("put_patient", access, subject)
        return row

    def delete_patient(self, patient: str, *, access: Access | None = None) -> None:
        """Erase everything of the patient and destroy its key. Irreversible; fine if it is gone."""
        access, subject = self._begin("delete_patient", "write", access, patient_subject(patient))
        self._store.erase_patient(patient, self._clock())
        self._graphs.forget(patient)
        self._audit("delete_patient", access, subject)

    def ingest(
        self,
        patient: str,
        body: bytes,
        *,
        format: str = "",
        media_type: str = "",
        source: str = "",
        source_kind: SourceKind | None = None,
        name: str = "",
        form: bool = True,
        access: Access | None = None,
    ) -> Receipt:
        """Accept one document of one patient.

        `format` is `fhir/r4` or empty (detected); `source` names the sending system, else the document's own
        `meta.source`, else the caller's id. The receipt is durable when it is returned. With `form` the memory is
        formed before the call returns, else a worker does it. Raises BadInput (with the place) for what cannot be read
        at all; then nothing is stored. What can be read in part is: see `receipt.intake`.
        """
        access, subject = self._begin("ingest", "write", access, patient_subject(patient))
        format = format or registry.detect(body, media_type=media_type, name=name)
        media_type = media_type or registry.media_type(format)
        source = source or registry.source_hint(body, format) or access.id
        now = self._clock()
        mint = self._graphs.mint(patient)
        document = Document(
            id=mint.document(source, media_type, body),
            subject=subject,
            source=source,
            media_type=media_type,
            format=format,
            sha256=content_digest(body),
            size_bytes=len(body),
            received_at=now,
            name=name,
        )
        parsed = registry.parse(
            body, format=format, subject=subject, source=source, mint=mint, document=document.id, received_at=now
        )
        receipt = self._receipt(subject, source, format, media_type, now)
        accepted = Accepted(
            receipt=msgspec.structs.replace(
                receipt,
                document=document.id,
                sightings=len(parsed.sightings),
                intake=parsed.intake,
                warnings=parsed.warnings,
            ),
            document=document,
            body=body,
            source_kind=source_kind or SourceKind.EHR,
            statements=parsed.statements,
            passages=parsed.passages,
            sightings=parsed.sightings,
        )
        return self._accept("ingest", accepted, access, form=form)

    def append(
        self,
        patient: str,
        session: str,
        turns: Sequence[Turn],
        *,
        whole: bool = False,
        source: str = "",
        form: bool = True,
        access: Access | None = None,
    ) -> Receipt:
        """Add turns to a session of the patient; the first call opens it.

        With `whole` the turns are the transcript so far: what is held is recognised, what is new is appended, and an
        edited, removed or reordered turn raises Conflict and stores nothing. Without it all turns are new. Concurrent
        appends lose and double nothing; their order is the order in which they were stored.
        """
        access, subject = self._begin("append", "write", access, patient_subject(patient))
        mint = self._graphs.mint(patient)
        if not turns:
            raise BadInput("a session is appended to with at least one turn", place="messages")
        for _ in range(100):
            now = self._clock()
            held = self._store.session(patient, session)
            stored = held.messages if held else ()
            fresh = unseen(turns, stored) if whole else list(turns)
            messages = tuple(
                Message(mint.message(session, index, turn.speaker, turn.text), session, index, turn, now)
                for index, turn in enumerate(fresh, start=len(stored))
            )
            receipt = self._receipt(subject, source or access.id, "session/v1", "application/json", now)
            accepted = Accepted(
                receipt=msgspec.structs.replace(receipt, session=session),
                source_kind=SourceKind.CONVERSATION,
                messages=messages,
            )
            try:
                return self._accept("append", accepted, access, form=form)
            except NotAsStored:
                continue  # somebody else appended first: look again at what is held
        raise NotAsStored("the session is written to too often at once; try again")

    def retract(self, patient: str, source: str, *, access: Access | None = None) -> None:
        """Take a source out: facts are as if it had never come. Its statements stay stored and are seen by no read (but
        one with an earlier `known_at`); what the source sends later counts again."""
        access, subject = self._begin("retract", "write", access, patient_subject(patient))
        self._store.retract(patient, source, self._clock())
        self._audit("retract", access, subject)

    def rule(
        self,
        patient: str,
        kind: RulingKind,
        left: str,
        right: str = "",
        *,
        field: str = "",
        reason: str = "",
        access: Access | None = None,
    ) -> Ruling:
        """Decide as a person: two statements are the same thing or not, a statement's value of a field is right, a
        statement's source is of another patient. It holds for their records from now on, until it is withdrawn.

        Raises NotFound for a statement this reader does not see, BadInput for a pair without its second.
        """
        access, subject = self._begin("rule", "write", access, patient_subject(patient))
        statements = self._load(subject, None, None, access).graph.statements
        named = []
        for id in filter(None, (left, right)):
            if id not in statements:
                raise NotFound(what="statement", id=id)
            named.append(RecordRef.of(statements[id]))
        now = self._clock()
        ruling = Ruling(
            id=f"ru_{self._ids()}",
            kind=kind,
            by=f"{access.kind}/{access.id}",
            decided_at=now,
            left=named[0],
            right=named[1] if len(named) > 1 else None,
            field=field,
            reason=reason,
        )
        self._store.rule(patient, ruling, now)
        self._audit("rule", access, subject, (ruling.id, *filter(None, (left, right))))
        return ruling

    def withdraw_ruling(self, patient: str, ruling: str, *, reason: str = "", access: Access | None = None) -> Ruling:
        """Take a ruling back: from now on the graph is as if it had never been. Raises NotFound for an unknown one."""
        access, subject = self._begin("withdraw_ruling", "write", access, patient_subject(patient))
        if not any(held.id == ruling for held in self._graphs.held(patient).rulings):
            raise NotFound(what="ruling", id=ruling)
        now = self._clock()
        taken = Ruling(
            id=f"ru_{self._ids()}",
            kind=RulingKind.WITHDRAWN,
            by=f"{access.kind}/{access.id}",
            decided_at=now,
            withdraws=ruling,
            reason=reason,
        )
        self._store.rule(patient, taken, now)
        self._audit("withdraw_ruling", access, subject, (taken.id, ruling))
        return taken

    def form_pending(self, *, worker: str = "local", patient: str | None = None, limit: int | None = None) -> int:
        """Form what is accepted and not formed yet; returns how many submissions were formed."""
        formed = 0
        while limit is None or formed < limit:
            work = self._store.claim(worker, self._clock(), _LEASE_S, patient=patient)
            if work is None:
                break
            formed += self._form(work)
        return formed

    def put_entry(self, entry: Entry, *, access: Access | None = None) -> None:
        """Append one version of an item of organization, operator or agent knowledge."""
        access, subject = self._begin("put_entry", "write", access, entry.subject)
        if subject.scope is Scope.PATIENT:
            raise BadInput("entries are of organizations, operators and agents; of patients there are records and talk")
        self._store.put_entry(entry)
        self._audit("put_entry", access, subject, (entry.id,))

    # ------------------------------------------------------------------- read

    def patients(
        self, *, page: int = 0, per_page: int = 50, access: Access | None = None
    ) -> tuple[list[PatientRow], int]:
        """A page of the patients that exist for this reader, by id, and how many there are."""
        access, _ = self._begin("patients", "read", access, None)
        if access.patients is None:
            rows, total = self._store.patients(offset=page * per_page, limit=per_page)
        else:
            mine = [row for id in sorted(access.patients) if (row := self._store.patient(id)) is not None]
            rows, total = mine[page * per_page : (page + 1) * per_page], len(mine)
        self._audit("patients", access, None, tuple(row.id for row in rows))
        return rows, total

    def patient(self, patient: str, *, access: Access | None = None) -> PatientRow:
        """The registration. Raises NotFound."""
        access, subject = self._begin("patient", "read", access, patient_subject(patient))
        row = self._store.patient(patient)
        if row is None:
            raise NotFound(what="patient", id=patient)
        self._audit("patient", access, subject)
        return row

    def graph(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Graph:
        """What this reader may see of the patient, folded. Shared and cached: do not change it."""
        access, subject = self._begin("graph", "read", access, patient_subject(patient))
        graph = self._load(subject, known_at, true_at, access).graph
        self._audit("graph", access, subject)
        return graph

    def browse(
        self,
        path: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Listing:
        """What a directory of the tree holds, each with a hint and its cost in tokens. `/` lists the patients."""
        subject = _subject_of(path)
        access, _ = self._begin("browse", "read", access, subject)
        if subject is None:
            rows, _ = self.patients(per_page=1000, access=access)
            return Listing(path, navigation.root([row.id for row in rows]), "")
        loaded = self._load(subject, known_at, true_at, access)
        nodes = navigation.browse(loaded.tree, path, count=token_counter())
        self._audit("browse", access, subject)
        return Listing(path, nodes, stamp_of(loaded.graph, access).digest)

    def read(
        self,
        path: str,
        *,
        format: Format = Format.NARRATIVE,
        token_budget: int | None = None,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Page:
        """A file of the tree, rendered; never over `token_budget` tokens. Raises NotFound with the nearest address."""
        subject = _subject_of(path)
        access, _ = self._begin("read", "read", access, subject)
        if subject is None:
            raise NotFound("there is no file at this address; browse / for the patients")
        loaded = self._load(subject, known_at, true_at, access)
        page = rendering.read(
            loaded.tree,
            path,
            format=format,
            token_budget=token_budget,
            count=token_counter(),
            stamp=stamp_of(loaded.graph, access).digest,
        )
        self._audit("read", access, subject, tuple(citation.item for citation in page.citations))
        return page

    def search(
        self,
        subject: Subject,
        query: str,
        *,
        kinds: Sequence[str] = (),
        limit: int = 10,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Hit]:
        """The best hits in the patient's graph, best first."""
        access, subject = self._begin("search", "read", access, subject)
        loaded = self._load(subject, known_at, true_at, access)
        hits = loaded.index.search(query, kinds=kinds, limit=limit)
        self._audit("search", access, subject, tuple(hit.item for hit in hits))
        return hits

    def context(
        self,
        request: ContextRequest,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Context:
        """Assemble a context for a task within its budget. It is stored by reference under its id."""
        patients = [subject for subject in request.subjects if subject.scope is Scope.PATIENT]
        if len(patients) != 1:
            raise BadInput("a context is about exactly one patient, and any others", place="subjects")
        access, subject = self._begin("context", "read", access, patients[0])
        profile = assembly.profile_of(request.task)
        loaded = self._load(subject, known_at, true_at, access)
        entries: list[Entry] = []
        for other in request.subjects:
            if other.scope is not Scope.PATIENT and policy.decide(access, "read", other).allowed:
                entries += self._store.entries(other)
        stamp = stamp_of(
            loaded.graph,
            access,
            profile=assembly.profile_digest(request.task),
            tokenizer=request.tokenizer,
            entries=entries,
        )
        context = assembly.assemble(
            request,
            loaded.tree,
            entries,
            moment=loaded.graph.moment,
            index=loaded.index,
            count=token_counter(request.tokenizer),
            profile=profile,
            stamp=stamp.digest,
            mint=self._graphs.mint(subject.id),
        )
        reference = canonical_bytes(
            {
                "request": request,
                "known_at": known_at or self._clock(),
                "true_at": loaded.graph.moment.true_at,
                "stamp": context.stamp,
                "items": list(assembly.legend(context).items()),
            }
        )
        self._store.put_context(subject.id, context.id, reference, self._clock())
        self._audit("context", access, subject, tuple(item.item for item in context.items))
        return context

    def explain(
        self,
        patient: str,
        item: str,
        *,
        task: str = "general",
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Explanation:
        """Why does it stand here: authors, rules, decisions, its weight for a task, and the bytes.

        `item` is any id, an address of the tree, or a context citation such as `ctx_…[12]`.
        """
        access, subject = self._begin("explain", "read", access, patient_subject(patient))
        loaded = self._load(subject, known_at, true_at, access)
        found = explained(self._store, loaded, item, task=task, access=access)
        self._audit("explain", access, subject, (found.item,))
        return found

    def conflicts(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Conflict]:
        """The open conflicts: between statements, then of a memory with a fact (whose id is the link's), each by id."""
        access, subject = self._begin("conflicts", "read", access, patient_subject(patient))
        graph = self._load(subject, known_at, true_at, access).graph
        found = [*graph.conflicts.values(), *graph.spoken_conflicts()]
        self._audit("conflicts", access, subject, tuple(conflict.id for conflict in found))
        return found

    def review(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Decision]:
        """The pairs that wait for a person, with the evidence side by side: uncertain ones and near misses, by id."""
        access, subject = self._begin("review", "read", access, patient_subject(patient))
        decisions = self._load(subject, known_at, true_at, access).graph.decisions.values()
        found = [d for d in decisions if d.verdict is Verdict.REJECT and not d.by]
        self._audit("review", access, subject, tuple(d.id for d in found))
        return found

    def receipts(
        self,
        patient: str,
        *,
        statuses: Sequence[str] = (),
        page: int = 0,
        per_page: int = 50,
        access: Access | None = None,
    ) -> tuple[list[Receipt], int]:
        """A page of what was submitted, newest first, and how many match."""
        access, subject = self._begin("receipts", "read", access, patient_subject(patient))
        self._registered(patient)
        if access.withheld:  # what is hidden is taken out before anything is counted
            all, _ = self._store.receipts(patient, statuses=statuses, offset=0, limit=_ALL)
            mine = shown.receipts_for(all, self._graphs.held(patient), policy.visible(access))
            found = mine[page * per_page : (page + 1) * per_page], len(mine)
        else:
            found = self._store.receipts(patient, statuses=statuses, offset=page * per_page, limit=per_page)
        self._audit("receipts", access, subject)
        return found

    def receipt(self, patient: str, ingestion: str, *, access: Access | None = None) -> Receipt:
        """What became of one submission. Raises NotFound."""
        access, subject = self._begin("receipt", "read", access, patient_subject(patient))
        self._registered(patient)
        found = self._store.receipt(patient, ingestion)
        if found is not None and access.withheld:
            found = next(iter(shown.receipts_for([found], self._graphs.held(patient), policy.visible(access))), None)
        if found is None:
            raise NotFound(what="ingestion", id=ingestion)
        self._audit("receipt", access, subject, (ingestion,))
        return found

    def session(self, patient: str, session: str, *, access: Access | None = None) -> Session:
        """A session with its messages in order. Raises NotFound."""
        access, subject = self._begin("session", "read", access, patient_subject(patient))
        self._registered(patient)
        found = self._store.session(patient, session)
        if found is None:
            raise NotFound(what="session", id=session)
        self._audit("session", access, subject, (session,))
        return found

    def document(self, patient: str, document: str, *, access: Access | None = None) -> tuple[str, bytes]:
        """Media type and the bytes exactly as received. NotFound if an item in it is hidden from this reader; Gone if
        its source was retracted."""
        access, subject = self._begin("document", "read", access, patient_subject(patient))
        held = self._graphs.held(patient)
        found = next((d for d in held.documents if d.id == document), None)
        if found is not None and known_at is not None and found.received_at > known_at:
            found = None
        body = self._store.document_body(patient, document) if found else None
        if found is None or body is None or shown.holds_hidden(held, document, policy.visible(access)):
            raise NotFound(what="document", id=document)
        if shown.is_retracted(held, found):
            raise Gone(f"document {document!r} is gone: its source was retracted", what="document", id=document)
        self._audit("document", access, subject, (document,))
        return found.media_type, body

    def entries(self, subject: Subject, *, access: Access | None = None) -> list[Entry]:
        """Every version of every entry of an organization, operator or agent, by id and version."""
        access, subject = self._begin("entries", "read", access, subject)
        found = self._store.entries(subject)
        self._audit("entries", access, subject, tuple(entry.id for entry in found))
        return found

    def audit_records(
        self, *, subject: str | None = None, page: int = 0, per_page: int = 100, access: Access | None = None
    ) -> list[AuditRecord]:
        """Who did what, newest first. Only for the owner."""
        access, _ = self._begin("audit_records", "audit", access, None)
        found = self._store.audit_records(subject=subject, offset=page * per_page, limit=per_page)
        self._audit("audit_records", access, None)
        return found

    def doctor(self) -> dict[str, str]:
        """What this engine is and whether it can work. Raises Unavailable when the database cannot be reached."""
        found = self._store.check()
        faults = self._store.audit_verify()
        return {
            **found,
            "reader": registry.READERS_VERSION,
            "fold": formation.FOLD_VERSION,
            "knowledge": knowledge_version(),
            "policy": policy.POLICY_VERSION,
            "tasks": ", ".join(assembly.tasks()),
            "tokenizer": token_counter().name,
            "pending": str(self._store.pending()),
            "audit": "whole" if not faults else "; ".join(faults),
        }

    # ---------------------------------------------------------------- shared

    def _begin(self, action: str, act: str, access: Access | None, subject: Subject | None) -> tuple[Access, Subject]:
        """The one door: decides, and leaves an audit record of a refusal. The subject comes back as given."""
        access = access or Access.local()
        try:
            policy.require(access, act, subject)
        except IamataError:
            self._audit(action, access, subject, allowed=False)
            raise
        return access, subject  # type: ignore[return-value]  # None only for listings, which do not use it

    def _audit(
        self,
        action: str,
        access: Access,
        subject: Subject | None,
        items: tuple[str, ...] = (),
        *,
        allowed: bool = True,
    ) -> None:
        act = _ACTS.get(action, "read")
        self._store.audit(
            AuditRecord(
                at=self._clock(),
                principal=f"{access.kind}/{access.id}",
                on_behalf_of=access.on_behalf_of,
                purpose=access.purpose,
                action=action,
                subject=str(subject) if subject else "",
                allowed=allowed,
                reasons=policy.decide(access, act, subject).reasons,
                items=items[:1000],
            )
        )

    def _receipt(self, subject: Subject, source: str, format: str, media_type: str, now: datetime) -> Receipt:
        return Receipt(
            id=f"ig_{self._ids()}",
            subject=subject,
            source=source,
            format=format,
            media_type=media_type,
            received_at=now,
            status=IngestionStatus.PENDING,
        )

    def _accept(self, action: str, accepted: Accepted, access: Access, *, form: bool) -> Receipt:
        receipt = self._store.accept(accepted, self._clock())
        self._audit(action, access, receipt.subject, (receipt.id,))
        self._store.audit_flush()
        if form and receipt.status is IngestionStatus.PENDING:
            self.form_pending(patient=receipt.subject.id)
            receipt = self._store.receipt(receipt.subject.id, receipt.id) or receipt
        return receipt

    def _form(self, work: Work) -> bool:
        """Learn from the patient's sessions and end the receipt. Facts are folded when read: nothing else is stored."""
        try:
            held = self._graphs.held(work.patient)
            mint = self._graphs.mint(work.patient)
            known = {memory.id for memory in held.memories}
            fresh = [m for session in held.sessions for m in learn(session, mint=mint) if m.id not in known]
            return self._store.finish(work, fresh, None, self._clock())
        except IamataError as error:
            self._store.fail(
                work, type(error).__name__, "forming failed", self._clock(), retry=work.attempts < _ATTEMPTS
            )
            raise

    def _registered(self, patient: str) -> None:
        if self._store.patient(patient) is None:
            raise NotFound(what="patient", id=patient)

    def _load(self, subject: Subject, known_at: datetime | None, true_at: datetime | None, access: Access) -> Loaded:
        if subject.scope is not Scope.PATIENT:
            raise NotFound(what="patient", id=subject.id)
        moment = Moment.of(self._clock(), known_at=known_at, true_at=true_at)
        return self._graphs.load(subject.id, moment, access)


_WRITES = ("put_patient", "delete_patient", "ingest", "append", "retract", "put_entry")
_ACTS = {**dict.fromkeys(_WRITES, "write"), "audit_records": "audit"}


def _subject_of(path: str) -> Subject | None:
    """Whose tree an address stands in; None for the root and the lists of subjects of a scope."""
    parts = [part for part in path.split("/") if part]
    return Subject.parse("/".join(parts[:2])) if len(parts) > 1 else None
