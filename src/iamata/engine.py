"""The front door: one short method per verb. Knows every part; holds no rule of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from iamata.model.access import Access
from iamata.model.audit import AuditRecord
from iamata.model.conflict import Conflict
from iamata.model.context import Context, ContextRequest
from iamata.model.document import Receipt
from iamata.model.entry import Entry
from iamata.model.graph import Graph
from iamata.model.patient import PatientRow
from iamata.model.provenance import SourceKind
from iamata.model.reading import Explanation, Format, Hit, Listing, Page
from iamata.model.scope import Subject
from iamata.model.session import Session, Turn


class Engine:
    """Forms memory from what it receives and assembles context from it. Thread-safe; every verb takes an `Access`.

    Reads take `known_at` (what had been received by then) and `true_at` (the clinical now); both default to the
    request's time. Every read and write leaves an audit record. Errors are those of `iamata.errors`.
    """

    @classmethod
    def open(cls, db: str | Path = "iamata.db", *, clock: Callable[[], datetime] | None = None) -> Engine:
        """Open or create a database: a path (SQLite; key store beside it) or a `postgresql://` URL."""
        raise NotImplementedError

    def close(self) -> None: ...
    def __enter__(self) -> Engine: ...
    def __exit__(self, *exc: object) -> None: ...

    # write
    def put_patient(self, patient: str, *, access: Access | None = None) -> PatientRow: ...
    def delete_patient(self, patient: str, *, access: Access | None = None) -> None: ...
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
        """Accept one document. `format` `fhir/r4` or empty (detected). The receipt is durable when it is returned; with `form` the
        memory is formed before the call returns, else a worker does it. Raises BadInput with the place; then nothing
        is stored."""

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
        """Add turns to a session; the first call opens it. With `whole` the turns are the transcript so far: what is already
        held is recognised, what is new is appended, and an edited, removed or reordered turn raises Conflict and
        stores nothing."""

    def form_pending(self, *, worker: str = "local", patient: str | None = None, limit: int | None = None) -> int:
        """Form what has been accepted and not formed yet; how many submissions were formed."""

    def put_entry(self, entry: Entry, *, access: Access | None = None) -> None: ...

    # read
    def patients(self, *, page: int = 0, per_page: int = 50, access: Access | None = None) -> tuple[list[PatientRow], int]: ...
    def patient(self, patient: str, *, access: Access | None = None) -> PatientRow: ...
    def graph(self, patient: str, *, known_at: datetime | None = None, true_at: datetime | None = None, access: Access | None = None) -> Graph:
        """What this reader may see of the patient, folded. Shared and cached: do not change it."""

    def browse(self, path: str, *, known_at: datetime | None = None, true_at: datetime | None = None, access: Access | None = None) -> Listing: ...
    def read(
        self,
        path: str,
        *,
        format: Format = Format.NARRATIVE,
        token_budget: int | None = None,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> Page: ...
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
    ) -> list[Hit]: ...
    def context(self, request: ContextRequest, *, known_at: datetime | None = None, true_at: datetime | None = None, access: Access | None = None) -> Context: ...
    def explain(self, patient: str, item: str, *, task: str = "general", known_at: datetime | None = None, true_at: datetime | None = None, access: Access | None = None) -> Explanation:
        """`item`: any id (statement, fact, memory, document, passage), or a context citation `ctx_…[12]`."""

    def conflicts(self, patient: str, *, known_at: datetime | None = None, true_at: datetime | None = None, access: Access | None = None) -> list[Conflict]: ...
    def receipts(self, patient: str, *, statuses: Sequence[str] = (), page: int = 0, per_page: int = 50, access: Access | None = None) -> tuple[list[Receipt], int]: ...
    def receipt(self, patient: str, ingestion: str, *, access: Access | None = None) -> Receipt: ...
    def session(self, patient: str, session: str, *, access: Access | None = None) -> Session: ...
    def document(self, patient: str, document: str, *, access: Access | None = None) -> tuple[str, bytes]:
        """Media type and the bytes exactly as received."""

    def entries(self, subject: Subject, *, access: Access | None = None) -> list[Entry]: ...
    def audit_records(self, *, subject: str | None = None, page: int = 0, per_page: int = 100, access: Access | None = None) -> list[AuditRecord]: ...
    def doctor(self) -> dict[str, str]:
        """What this engine is and whether it can work: database, key store, knowledge, reader, tokenizer."""
