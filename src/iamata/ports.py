"""What do the stages need from outside? Small protocols; `store`, `language` and the engine fill them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from datetime import datetime
from enum import StrEnum
from typing import IO, Any, Protocol

import msgspec

from iamata.model.archive import Manifest, Moved
from iamata.model.audit import AuditRecord, Checkpoint
from iamata.model.document import Document, IntakeLine, Receipt
from iamata.model.entry import Entry
from iamata.model.erasure import Erasable, Erasure, Hold
from iamata.model.graph import Held
from iamata.model.memory import Memory, Relearning
from iamata.model.model_answers import ModelAnswer
from iamata.model.passage import Passage
from iamata.model.patient import PatientRow
from iamata.model.provenance import SourceKind
from iamata.model.relation import PatientRelation, RelationKind
from iamata.model.ruling import Ruling
from iamata.model.scope import Subject
from iamata.model.session import Message, RecordedCall, Session
from iamata.model.sighting import Sighting
from iamata.model.statement import Statement


class Clock(Protocol):
    def __call__(self) -> datetime:
        """Now, aware, in UTC."""


class KeyStore(Protocol):
    """Holds one data key per patient, outside database, export and backup."""

    def get_or_create(self, patient: str) -> bytes:
        """The patient's 32-byte key, made on first use. Safe under concurrent callers: all get the same key."""

    def get(self, patient: str) -> bytes | None:
        """The key, or None if there is none (never made, or destroyed)."""

    def put(self, patient: str, key: bytes) -> None:
        """Bring a key (import). Raises Conflict if the patient has another one."""

    def destroy(self, patient: str) -> None:
        """Destroy it for ever; nothing sealed under it can be opened again. Fine if it is gone."""


class TokenCounter(Protocol):
    name: str

    def count(self, text: str) -> int:
        """Exact tokens of this text, special tokens counted as ordinary text."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a language model is asked. `instructions` are ours; `material` is data, as JSON, and never a command.

    The answer is one JSON value of the shape `schema` (JSON Schema); `name` names that shape in letters, digits and
    `_`. It is at most `most_tokens` tokens of the model long.
    """

    name: str
    instructions: str
    material: str
    schema: dict[str, Any]
    most_tokens: int = 4096


class AnswerOutcome(StrEnum):
    """How asking a language model ended."""

    ANSWERED = "answered"
    MALFORMED = "malformed"  # what came is no JSON, or no message of the wire format
    REFUSED = "refused"  # the model, or a filter in front of it, declined
    TRUNCATED = "truncated"  # it ran out of tokens
    TOO_LARGE = "too-large"  # more bytes came than are taken
    RATE_LIMITED = "rate-limited"
    TIMED_OUT = "timed-out"
    UNREACHABLE = "unreachable"  # no connection, or it broke
    FAULTY = "faulty"  # the server says that it failed
    REJECTED = "rejected"  # the server does not take the request: wrong key, unknown model, wrong address

    @property
    def of_the_question(self) -> bool:
        """Does it rest on what was asked, so that asking the same again is likely to end the same?"""
        return self in (
            AnswerOutcome.ANSWERED,
            AnswerOutcome.MALFORMED,
            AnswerOutcome.REFUSED,
            AnswerOutcome.TRUNCATED,
            AnswerOutcome.TOO_LARGE,
        )


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is the JSON text if the outcome is `answered`, else empty: nothing has checked it against the schema.
    `served` is what the server calls the model that answered. `attempts` were made, in `took_s` seconds."""

    outcome: AnswerOutcome
    body: bytes = b""
    served: str = ""
    attempts: int = 1
    took_s: float = 0.0


class LanguageModel(Protocol):
    """A language model. Thread-safe."""

    @property
    def name(self) -> str:
        """The model as configured; with the version of a prompt it says whose answer something is."""

    def ask(self, question: Question, *, within_s: float) -> Answer:
        """One answer, attempts and pauses included within about `within_s` seconds. Never raises for what the server
        or the model does: that is the outcome."""


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """What a connector read from one document: nothing of it is stored yet.

    Every item of the document has an intake line. `places` says where each statement or passage stands (by id).
    `set_aside` counts items of another patient: listed in the intake, never formed.
    """

    format: str
    statements: tuple[Statement, ...]
    passages: tuple[Passage, ...]
    sightings: tuple[Sighting, ...]
    intake: tuple[IntakeLine, ...]
    warnings: tuple[str, ...] = ()
    set_aside: int = 0


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """One submission, ready to be made durable in one transaction."""

    receipt: Receipt
    document: Document | None = None
    body: bytes = b""
    source_kind: SourceKind = SourceKind.EHR
    statements: tuple[Statement, ...] = ()
    passages: tuple[Passage, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    messages: tuple[Message, ...] = ()


class Work(msgspec.Struct, frozen=True):
    """A claimed piece of work: one ingestion to form, leased to one worker until `lease_until`."""

    patient: str
    ingestion: str
    sequence: int
    worker: str
    lease_until: datetime
    attempts: int


class Store(Protocol):
    """One store, on SQLite or PostgreSQL. Thread-safe. Every method that names a patient touches that patient only."""

    def close(self) -> None: ...

    def check(self) -> dict[str, str]:
        """Reach the database and say what it is (dialect, server version, schema version, path without password).
        Raises Unavailable when it cannot be reached."""

    # patients
    def put_patient(self, patient: str, now: datetime) -> PatientRow: ...
    def patient(self, patient: str) -> PatientRow | None: ...
    def patients(self, *, offset: int, limit: int) -> tuple[list[PatientRow], int]:
        """A page ordered by id, and how many there are in all."""

    def erase_patient(self, patient: str, now: datetime, by: str = "") -> Erasure | None:
        """Delete every row of the patient and destroy its key: the signed receipt; None if there is no such patient.
        What was learned from it, among others, goes too (`learned_from`). Raises Conflict while a legal hold stands on
        it."""

    def erase_part(
        self, patient: str, going: Any, version: int, now: datetime, by: str, *, quotes: Callable[[str], Set[str]]
    ) -> Erasure:
        """Delete what goes with a document, session, message or memory (`formation.forgetting`), and every context and
        tool call that cites it or quotes it; with a tool call, what was learned from the patient. `quotes` gives the
        runs of words of a text. The graph version goes up. Raises Conflict while a hold stands, or if the graph is no
        longer at this version."""

    def to_replay(self) -> list[tuple[Erasure, str, str]]:
        """The erasures of parts that a restored backup undid, or that were cut off: each with the patient and the id.
        Once for an open store."""

    def replay(
        self,
        entry: Erasure,
        patient: str,
        going: Any,
        version: int,
        now: datetime,
        *,
        quotes: Callable[[str], Set[str]],
    ) -> None:
        """Do this erasure again, whatever holds stand."""

    def erased(self, patient: str, kind: Erasable = Erasable.PATIENT, id: str = "") -> Erasure | None:
        """The erasure of this patient, or of this part of the patient who is registered now; None if it was not erased,
        or may be sent again."""

    def allow_again(self, patient: str, kind: Erasable, id: str, now: datetime, by: str) -> tuple[str, ...]:
        """What was erased may be sent again: the ids of the erasures that this lifts, none if there are none."""

    def erasures(self, *, offset: int = 0, limit: int = 50) -> tuple[list[Erasure], int]:
        """A page of the ledger, newest first, and how many entries there are."""

    def put_hold(self, patient: str, hold: Hold, now: datetime) -> None:
        """Append a hold or the lifting of one. Raises NotFound for an unknown patient or a hold that does not stand."""

    def holds(self, patient: str) -> list[Hold]:
        """Every hold and every lifting, the earliest first."""

    def look(self, patient: str, words: Sequence[str], beginnings: Sequence[bytes] | None = None) -> Any:
        """Look for words in every body, and for beginnings of sealed bodies in rows and files: `remains`, and the
        `beginnings` that were looked for (`store.searching`)."""

    def retract(self, patient: str, source: str, now: datetime, *, record: AuditRecord | None = None) -> None:
        """Take a source out from here back: a new row, and the graph version goes up. Raises NotFound if the patient is
        not registered; a source that sent nothing changes nothing else."""

    def reread(
        self,
        patient: str,
        read: Sequence[Accepted],
        version: int,
        now: datetime,
        *,
        talk: Relearning | None = None,
    ) -> list[Receipt]:
        """Append what documents say as they are read now, all in one transaction: for each its receipt, all of its
        sightings, and those of its statements and passages that say something else than before; and what the talk says
        otherwise. The graph version goes up. Raises NotFound if the patient is not registered, Conflict if its graph is
        no longer at this version."""

    def rule(self, patient: str, ruling: Ruling, now: datetime, *, record: AuditRecord | None = None) -> None:
        """Append a person's ruling; the graph version goes up. Raises NotFound if the patient is not registered."""

    # accept, then form
    def accept(self, accepted: Accepted, now: datetime) -> Receipt:
        """Make a submission durable in one transaction and queue its forming. Items already held add a sighting only.

        Returns the receipt with `staged` counted against what was held *inside the transaction*, so that two
        concurrent repeats stage once. Registers the patient if it is new.
        """

    def accept_many(
        self, accepted: Sequence[Accepted], now: datetime, *, record: AuditRecord | None = None
    ) -> list[Receipt]:
        """As `accept`, for several submissions of one patient in their order: all of them or, when it raises, none."""

    def claim(self, worker: str, now: datetime, lease_s: float, *, patient: str | None = None) -> Work | None:
        """Lease the oldest unformed work of a patient that nobody else holds; None if there is none. An expired lease
        is taken over. One patient's work is never leased to two workers at a time."""

    def finish(
        self,
        work: Work,
        memories: Sequence[Memory],
        projection: bytes | None,
        now: datetime,
        *,
        answers: Sequence[ModelAnswer] = (),
        warnings: Sequence[str] = (),
    ) -> bool:
        """Append memories and a language model's answers, store the projection, end the receipt (`succeeded`, with
        these warnings beside its own) and drop the work; one transaction. False, and nothing changed, when the lease
        was lost."""

    def keep_answers(
        self, patient: str, answers: Sequence[ModelAnswer], now: datetime, *, erasures: int | None = None
    ) -> None:
        """Append what a language model answered; the graph version goes up if anything is new. The first answer to a
        question stands. Raises NotFound if the patient is not registered, Conflict if something was erased since so
        many `erasures`: an answer may repeat what it was asked about."""

    def fail(self, work: Work, code: str, message: str, now: datetime, *, retry: bool) -> None:
        """Give the work back for another attempt, or end its receipt as `failed` and set it aside."""

    def pending(self, patient: str | None = None) -> int:
        """How many submissions are not formed yet."""

    # reading
    def held(self, patient: str, before: Held | None = None) -> Held | None:
        """Everything stored of the patient, opened; None if the patient is not registered. With what this store held
        of the same registration `before`, only what is new is opened, and stands after it."""

    def version(self, patient: str) -> int | None:
        """The graph version now; None if the patient is not registered."""

    def projection(self, patient: str) -> bytes | None:
        """The last stored projection, opened; the engine knows whether it is still true."""

    def document_body(self, patient: str, document: str) -> bytes | None:
        """The bytes exactly as received."""

    def receipts(
        self, patient: str, *, statuses: Iterable[str] = (), offset: int = 0, limit: int = 50
    ) -> tuple[list[Receipt], int]:
        """A page, newest first, and how many match."""

    def receipt(self, patient: str, ingestion: str) -> Receipt | None: ...
    def session(self, patient: str, session: str) -> Session | None: ...

    # beside talk
    def record_calls(self, patient: str, calls: Sequence[RecordedCall], now: datetime) -> int:
        """Append tool calls of sessions, in their order, and say how many were new: a held id adds nothing. `after`
        becomes the index of the last turn that the session has by then. No change of the graph. Raises NotFound if the
        patient is not registered."""

    def tool_calls(self, patient: str, session: str) -> list[RecordedCall]:
        """The recorded calls of a session, in the order of recording."""

    def called_sessions(self, patient: str) -> list[str]:
        """The sessions beside which calls were recorded, by id."""

    def put_shown(self, patient: str, marks: Collection[bytes], now: datetime) -> None:
        """Remember keyed hashes of words that were put into a context; known ones stay. No change of the graph."""

    def shown(self, patient: str, marks: Collection[bytes]) -> set[bytes]:
        """Those of these hashes that were put into a context before."""

    # who is related to whom
    def put_relation(self, relation: PatientRelation) -> None:
        """Append a version of a relation, its reason sealed. Raises NotFound if the patient is not registered, Conflict
        if this version exists. No change of the graph."""

    def relations_between(self, principal: str, patient: str) -> list[PatientRelation]:
        """The last version of each relation of the two, by id, without reasons: the engine's door asks on each call."""

    def relations_of_principal(self, principal: str) -> list[PatientRelation]:
        """As `relations_between`, with every patient, by patient and id."""

    def relations_of_patient(self, patient: str) -> list[PatientRelation]:
        """The last version of each relation of the patient, by id, opened."""

    def relations_of_kind(self, kind: RelationKind) -> list[PatientRelation]:
        """The last version of each relation of this kind, of all patients, in the order in which they were made,
        opened."""

    # other scopes
    def put_entry(self, entry: Entry, now: datetime, *, document: tuple[Document, bytes] | None = None) -> None:
        """Append one version, with the file it came from; of a patient the graph version goes up. Raises Conflict if
        this version exists, NotFound if the patient is not registered."""

    def entries(self, subject: Subject) -> list[Entry]:
        """Every version of every entry of a subject that is no patient, by id and version; a patient's are in what is
        held of it."""

    def put_learned(self, entry: Entry, patients: Collection[str], now: datetime) -> None:
        """Append one version of what was learned from these patients; it goes when one of them is erased. Raises
        Conflict if this version exists, or one of them is not registered."""

    def learned_from(self, patient: str) -> list[Subject]:
        """Those of whom something was learned from this patient, among others; by scope and id."""

    def refuse_entry(self, subject: Subject, entry: str, about: bytes, *, refused: bool) -> None:
        """Append a person's word on what was learned: refused, or that taken back. `about` says by whom and why."""

    def refused_entries(self, subject: Subject) -> set[str]:
        """The entries that people refused and did not take back."""

    def entry_document(self, subject: Subject, document: str) -> tuple[Document, bytes]:
        """A file that an entry came from, exactly as received. Raises NotFound."""

    def subject_version(self, subject: Subject) -> int:
        """How often the entries of the subject have changed; 0 if nothing is held of it."""

    def subject_state(self, subject: Subject) -> tuple[int, bytes]:
        """As `subject_version`, and what tells the subject from one of the same id that was erased."""

    def erase_subject(self, subject: Subject, now: datetime, by: str) -> Erasure | None:
        """Delete everything held of an organization, operator or agent and destroy its key: the signed receipt; None if
        nothing is held of it."""

    def erase_entry(self, subject: Subject, entry: str, now: datetime, by: str) -> Erasure:
        """Delete every version of one entry of theirs, with the files that no other entry came from and what people
        said of it. Raises NotFound."""

    def erased_subject(self, subject: Subject) -> Erasure | None:
        """The erasure of this subject; None if it was not erased, or something is held of it again."""

    def erased_entry(self, subject: Subject, entry: str) -> Erasure | None:
        """The erasure of this entry, or else that of its subject; None if it was not erased."""

    def look_subject(self, subject: Subject, words: Sequence[str], beginnings: Sequence[bytes] | None = None) -> Any:
        """As `look`, in everything held of an organization, operator or agent."""

    def subjects(self) -> list[Subject]:
        """Organizations, operators and agents of which entries are held, by scope and id."""

    # moving
    def write_archive(self, to: IO[bytes], now: datetime, *, patient: str | None = None) -> Manifest:
        """Write everything held of a patient, or without one everything that this store holds, as a ZIP
        (docs/explanation/exports.md). Streams: memory does not grow with it, and `to` need not be seekable. A patient
        who is gone leaves an archive without patients."""

    def read_archive(self, file: IO[bytes], now: datetime, *, even_erased: bool = False) -> Moved:
        """Take in an archive (seekable), once all of it is checked. Raises BadInput with the part that is damaged,
        Conflict if a patient or entry is here with something else, or was erased here (but with `even_erased`): then
        nothing is taken in."""

    # contexts, by reference
    def contexts_kept(self, patient: str) -> list[tuple[str, datetime]]:
        """The ids of the contexts that were given out of this patient, and when, by id."""

    def put_context(
        self, patient: str, context: str, body: bytes, now: datetime, *, record: AuditRecord | None = None
    ) -> None: ...
    def context(self, patient: str, context: str) -> bytes | None: ...

    # audit
    def audit(self, record: AuditRecord) -> None:
        """Append to this process's hash chain. Durable soon after; `audit_flush` waits for it. Where a change takes its
        `record`, both are in one commit: durable together, and after a change that failed there is none of it."""

    def audit_flush(self) -> None: ...
    def audit_records(self, *, subject: str | None = None, offset: int = 0, limit: int = 100) -> list[AuditRecord]: ...
    def audit_count(self, subject: str | None = None) -> int: ...
    def audit_verify(self, checkpoint: Checkpoint | None = None) -> list[str]:
        """Faults of the chains (changed, missing or reordered records), and what is no longer as this checkpoint says;
        empty when whole."""

    def audit_checkpoint(self, now: datetime) -> Checkpoint:
        """All chains as they are now, signed. Raises Conflict where a head does not belong to its chain."""

    def audit_export(self, now: datetime) -> Iterator[bytes]:
        """The whole log as lines of JSON that end with a checkpoint."""
