"""The verbs that read. Each says what it does in order: decide, load what this reader may see, answer, audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from iamata.assembly import entry_pages, navigation, rendering
from iamata.assembly import pipeline as assembly
from iamata.assembly.reports import difference
from iamata.connectors import registry
from iamata.engine import shown, terminologies
from iamata.engine.door import Door
from iamata.engine.explaining import explained
from iamata.engine.stamps import shelf_stamp, stamp_of
from iamata.errors import BadInput, Gone, NotFound
from iamata.formation import pipeline as formation
from iamata.language.tokens import token_counter
from iamata.model.access import Access
from iamata.model.conflict import Conflict
from iamata.model.context import Context, ContextRequest
from iamata.model.decision import Decision, Verdict
from iamata.model.difference import Report
from iamata.model.document import Receipt
from iamata.model.erasure import Erasable
from iamata.model.graph import Graph
from iamata.model.identifiers import canonical_bytes
from iamata.model.patient import PatientRow
from iamata.model.reading import Explanation, Format, Hit, Listing, Page
from iamata.model.relation import PatientRelation
from iamata.model.scope import Scope, Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.session import Session
from iamata.policy import access as policy
from iamata.policy.view import sees_all, session_without, tells_nothing
from iamata.terminology.tables import knowledge_version

_ALL = 1_000_000


class Reading(Door):
    """Patients, the tree, search, contexts, explanations, receipts, bytes and the audit log."""

    def patients(
        self, *, page: int = 0, per_page: int = 50, access: Access | None = None
    ) -> tuple[list[PatientRow], int]:
        """A page of the patients that exist for this reader, by id, and how many there are."""
        access, _ = self._begin("patients", "read", access, None)
        ids = self._patients_of(access)
        if ids is None:
            rows, total = self._store.patients(offset=page * per_page, limit=per_page)
        else:
            shown_ids, total = ids[page * per_page : (page + 1) * per_page], len(ids)
            rows = [row for id in shown_ids if (row := self._store.patient(id)) is not None]
        rows = [self._as_seen(row, access) for row in rows]
        self._audit("patients", access, None, tuple(row.id for row in rows))
        return rows, total

    def _patients_of(self, access: Access) -> list[str] | None:
        """The ids of the patients that exist for this reader, in order; None: all of them."""
        registered = self._store.patient
        if not access.by_relation:
            return None if access.patients is None else sorted(id for id in access.patients if registered(id))
        anybody = msgspec.structs.replace(access, relations=())
        if access.patients is None and self._reads(anybody, "anybody"):
            return None
        held: dict[str, list[PatientRelation]] = {}
        for each in self._store.relations_of_principal(access.person):
            held.setdefault(each.patient, []).append(each)
        named = held.keys() if access.patients is None else [id for id in access.patients if registered(id)]
        now = self._clock()
        return sorted(id for id in named if self._reads(policy.related(access, held.get(id, ()), now), id))

    def _reads(self, access: Access, patient: str) -> bool:
        return policy.decide(access, "read", patient_subject(patient), policy=self._policy).allowed

    def patient(self, patient: str, *, access: Access | None = None) -> PatientRow:
        """The registration. Raises NotFound."""
        access, subject = self._begin("patient", "read", access, patient_subject(patient))
        row = self._store.patient(patient)
        if row is None:
            raise NotFound(what="patient", id=patient)
        row = self._as_seen(row, access)
        self._audit("patient", access, subject)
        return row

    def _as_seen(self, row: PatientRow, access: Access) -> PatientRow:
        """The registration with the version and the last change that the reader may know of."""
        if sees_all(access):
            return row
        try:
            held = self._graphs.seen(row.id, access).held
        except NotFound:  # erased meanwhile
            return row
        return msgspec.structs.replace(row, version=held.version, updated_at=shown.last_change(held, row.created_at))

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
        """What a directory of the tree holds, each with a hint and its cost in tokens. `/` lists the patients, and the
        organizations, operators and agents of which entries are held, as far as they exist for this reader."""
        subject = _subject_of(path)
        access, _ = self._begin("browse", "read", access, subject)
        if subject is None:
            rows, _ = self.patients(per_page=1000, access=access)
            others = [each for each in self._store.subjects() if policy.decide(access, "read", each).allowed]
            return Listing(path, navigation.root([row.id for row in rows], others), "")
        if subject.scope is not Scope.PATIENT:
            shelf = self._planted(subject, known_at, true_at)
            entry_nodes = entry_pages.browse(shelf.tree, path, count=token_counter())
            self._audit("browse", access, subject)
            return Listing(path, entry_nodes, shelf_stamp(shelf.tree, rules=self._policy.version).digest)
        loaded = self._load(subject, known_at, true_at, access)
        nodes = navigation.browse(loaded.tree, path, count=token_counter())
        self._audit("browse", access, subject)
        return Listing(path, nodes, stamp_of(loaded.graph, loaded.seen.view.key, rules=self._policy.version).digest)

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
        if subject.scope is not Scope.PATIENT:
            shelf = self._planted(subject, known_at, true_at)
            stamp = shelf_stamp(shelf.tree, rules=self._policy.version).digest
            page = entry_pages.read(
                shelf.tree, path, format=format, token_budget=token_budget, count=token_counter(), stamp=stamp
            )
            self._audit("read", access, subject, tuple(citation.item for citation in page.citations))
            return page
        loaded = self._load(subject, known_at, true_at, access)
        page = rendering.read(
            loaded.tree,
            path,
            format=format,
            token_budget=token_budget,
            count=token_counter(),
            stamp=stamp_of(loaded.graph, loaded.seen.view.key, rules=self._policy.version).digest,
        )
        self._remember_shown(subject.id, page.text)
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
        """The best hits in the patient's graph, or in the entries in force of another subject, best first. Of the
        filters of a query (`kind:medication`, `source:…`, `attribution:user`, `after:2020`, `before:2021-06`) any may
        be given; raises BadInput for one that is none."""
        access, subject = self._begin("search", "read", access, subject)
        if subject.scope is Scope.PATIENT:
            hits = self._load(subject, known_at, true_at, access).index.search(query, kinds=kinds, limit=limit)
        else:
            hits = self._shelf(subject, known_at, true_at).index.search(query, kinds=kinds, limit=limit)
        self._audit("search", access, subject, tuple(hit.item for hit in hits))
        return hits

    def did_you_mean(
        self,
        subject: Subject,
        query: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> str:
        """The query with its misspelt words put right, by what this reader may see, or by the entries in force of
        another subject, and by names of drugs; empty if there is nothing to put right."""
        access, subject = self._begin("did_you_mean", "read", access, subject)
        if subject.scope is Scope.PATIENT:
            better = self._load(subject, known_at, true_at, access).index.did_you_mean(query)
        else:
            better = self._shelf(subject, known_at, true_at).index.did_you_mean(query)
        self._audit("did_you_mean", access, subject)
        return better

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
        shelves = [
            self._shelf(other, known_at, true_at).index
            for other in request.subjects
            if other.scope is not Scope.PATIENT and policy.decide(access, "read", other, policy=self._policy).allowed
        ]
        stamp = stamp_of(
            loaded.graph,
            loaded.seen.view.key,
            profile=assembly.profile_digest(request.task),
            tokenizer=request.tokenizer,
            others=[(str(index.tree.subject), index.tree.version) for index in shelves],
            rules=self._policy.version,
        )
        context = assembly.assemble(
            request,
            loaded.tree,
            shelves,
            moment=loaded.graph.moment,
            index=loaded.index,
            count=token_counter(request.tokenizer),
            profile=profile,
            stamp=stamp.digest,
            mint=self._graphs.mint(subject.id),
        )
        if policy.decide(access, "read", subject, policy=self._policy).loud:
            warning = self._loudly(access, subject.id)
            context = msgspec.structs.replace(context, note=" ".join(filter(None, (warning + ".", context.note))))
        context = shown.labelled(context, loaded.graph)
        reference = canonical_bytes(
            {
                "request": request,
                "known_at": known_at or self._clock(),
                "true_at": loaded.graph.moment.true_at,
                "stamp": context.stamp,
                "items": list(assembly.legend(context).items()),
            }
        )
        self._remember_shown(subject.id, context.text)
        record = self._record("context", access, subject, tuple(item.item for item in context.items))
        self._store.put_context(subject.id, context.id, reference, self._clock(), record=record)
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
        held = self._graphs.held(patient)
        shows = shown.places(held, loaded.seen.hidden)

        def clean(text: str) -> bool:
            return tells_nothing(loaded.seen.view, text)

        try:
            found = explained(
                self._store,
                loaded,
                item,
                task=task,
                access=access,
                rules=self._policy,
                shows=shows,
                clean=clean,
            )
        except Gone:
            raise
        except NotFound:
            for kind in (Erasable.MEMORY, Erasable.MESSAGE, Erasable.DOCUMENT, Erasable.SESSION):
                if isinstance(gone := self._absent(patient, kind, item, access), Gone):
                    raise gone from None
            raise
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

    def report(
        self,
        patient: str,
        *,
        since: datetime | None = None,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Report:
        """The patient's graph and, with `since`, what became different for this reader from what was known then: both
        at one clinical now, so that time alone changes nothing. Raises BadInput if `since` is later than `known_at`."""
        access, subject = self._begin("report", "read", access, patient_subject(patient))
        if since is not None and since > (known_at or self._clock()):
            raise BadInput("this is later than what it is compared with", place="since")
        graph = self._load(subject, known_at, true_at, access).graph
        changes = None
        if since is not None:
            changes = difference(self._load(subject, since, graph.moment.true_at, access).graph, graph)
        self._audit("report", access, subject)
        return Report(graph=graph, since=since, changes=changes)

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
        seen = self._graphs.seen(patient, access)
        if access.seen is not None:  # an account tells of everything that came
            found: tuple[list[Receipt], int] = ([], 0)
        elif seen.hidden:  # what is hidden is taken out before anything is counted
            all, _ = self._store.receipts(patient, statuses=statuses, offset=0, limit=_ALL)
            mine = shown.receipts_for(all, self._graphs.held(patient), seen.hidden)
            found = mine[page * per_page : (page + 1) * per_page], len(mine)
        else:
            found = self._store.receipts(patient, statuses=statuses, offset=page * per_page, limit=per_page)
        self._audit("receipts", access, subject)
        return found

    def receipt(self, patient: str, ingestion: str, *, access: Access | None = None) -> Receipt:
        """What became of one submission. Raises NotFound."""
        access, subject = self._begin("receipt", "read", access, patient_subject(patient))
        self._registered(patient)
        found = None if access.seen is not None else self._store.receipt(patient, ingestion)
        hidden = self._graphs.seen(patient, access).hidden
        if found is not None and hidden:
            found = next(iter(shown.receipts_for([found], self._graphs.held(patient), hidden)), None)
        if found is None:
            raise NotFound(what="ingestion", id=ingestion)
        self._audit("receipt", access, subject, (ingestion,))
        return found

    def session(
        self, patient: str, session: str, *, known_at: datetime | None = None, access: Access | None = None
    ) -> Session:
        """A session with its messages in order, as it was known by then. Raises NotFound."""
        access, subject = self._begin("session", "read", access, patient_subject(patient))
        self._registered(patient)
        found = None if access.seen is not None else self._store.session(patient, session)
        if found is not None:
            found = session_without(found, self._graphs.seen(patient, access).hidden)
        if found is None:
            raise self._absent(patient, Erasable.SESSION, session, access)
        if known_at is not None and found.created_at > known_at:
            raise NotFound(what="session", id=session)
        if known_at is not None:
            messages = tuple(m for m in found.messages if m.received_at <= known_at)
            found = msgspec.structs.replace(found, messages=messages)
        self._audit("session", access, subject, (session,))
        return found

    def document(
        self, patient: str, document: str, *, known_at: datetime | None = None, access: Access | None = None
    ) -> tuple[str, bytes]:
        """Media type and the bytes exactly as received. NotFound if an item in it is hidden from this reader; Gone if
        its source was retracted."""
        access, subject = self._begin("document", "read", access, patient_subject(patient))
        held = self._graphs.held(patient)
        found = next((d for d in held.documents if d.id == document), None)
        if found is None:
            raise self._absent(patient, Erasable.DOCUMENT, document, access)
        if found is not None and known_at is not None and found.received_at > known_at:
            found = None
        body = self._store.document_body(patient, document) if found and access.seen is None else None
        seen = self._graphs.seen(patient, access)
        if found is None or body is None or shown.holds_hidden(held, document, seen.hidden):
            raise NotFound(what="document", id=document)
        if not tells_nothing(seen.view, body.decode("utf-8", "replace")):  # nor what was not understood of it
            raise NotFound(what="document", id=document)
        if shown.is_retracted(held, found):
            raise Gone(f"document {document!r} is gone: its source was retracted", what="document", id=document)
        self._audit("document", access, subject, (document,))
        return found.media_type, body

    def doctor(self) -> dict[str, str]:
        """What this engine is and whether it can work. Raises Unavailable when the database cannot be reached."""
        found = self._store.check()
        faults = self._store.audit_verify()
        return {
            **found,
            "reader": registry.READERS_VERSION,
            "fold": formation.FOLD_VERSION,
            "knowledge": knowledge_version(),
            "terminologies": terminologies.in_use() or "none loaded",
            "policy": self._policy.version,
            "tasks": ", ".join(assembly.tasks()),
            "tokenizer": token_counter().name,
            "language model": f"{self._model.name}, for {', '.join(sorted(self._model_for))}"
            if self._model
            else "none",
            "pending": str(self._store.pending()),
            "audit": "whole" if not faults else "; ".join(faults),
        }


def _subject_of(path: str) -> Subject | None:
    """Whose tree an address stands in; None for the root and the lists of subjects of a scope."""
    parts = [part for part in path.split("/") if part]
    return Subject.parse("/".join(parts[:2])) if len(parts) > 1 else None
