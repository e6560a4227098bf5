"""What does each verb of the engine ask over HTTP? One function for each, with its name, arguments and value.

Who asks is in the token, so there is no `access`. Errors are the engine's (`problems`). A verb reads an answer once it
is whole; how it is sent, and sent again, is for `steps` and `clients`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from iamata.client import answers
from iamata.client.answers import told
from iamata.client.steps import Answer, Call, Pause, Steps
from iamata.errors import BadInput, Unavailable
from iamata.model.attribution import AttributionKind
from iamata.model.conflict import Conflict
from iamata.model.context import Context, ContextRequest
from iamata.model.document import IngestionStatus, Receipt
from iamata.model.entry import Entry, EntryDraft, EntryKind
from iamata.model.erasure import Erasable, Erasure, Hold
from iamata.model.memory import MemoryKind
from iamata.model.patient import PatientRow
from iamata.model.provenance import SourceKind
from iamata.model.reading import Format, Hit, Listing, Page
from iamata.model.scope import Scope, Subject
from iamata.model.session import Session, Speaker, ToolCall, Turn
from iamata.model.thread import Recalled, Thread

T = TypeVar("T")
Params = tuple[tuple[str, str], ...]

_JSON: Final = "application/json"
_BYTES: Final = "application/octet-stream"  # no media type is told: the bytes say what they are
# Where a format has a route of its own, and what is sent there unless a media type is given.
_ROUTES: Final = {
    "": ("documents", _BYTES),
    "fhir/r4": ("fhir/r4", "application/fhir+json"),
    "fhir/r5": ("fhir/r5", "application/fhir+json"),
    "cda/r2": ("cda/r2", "application/cda+xml"),
    "hl7v2": ("hl7v2", _BYTES),
    "x12": ("x12", _BYTES),
}
_COLLECTIONS: Final = {
    Scope.PATIENT: "patients",
    Scope.ORGANIZATION: "organizations",
    Scope.OPERATOR: "operators",
    Scope.AGENT: "agents",
}
_PER_PAGE: Final = 500  # the most that a page holds
_SETTLED: Final = frozenset({IngestionStatus.SUCCEEDED, IngestionStatus.PARTIAL, IngestionStatus.FAILED})


# ------------------------------------------------------------------------------------------------------- patients


def put_patient(patient: str) -> Steps[PatientRow]:
    """Register a patient; one that is registered stays as it is."""
    answer = yield Call(method="PUT", path=_patient(patient))
    return told(answers.patient, answer.json())


def patient(patient: str) -> Steps[PatientRow]:
    """The row of a registered patient. Raises NotFound."""
    answer = yield Call(method="GET", path=_patient(patient))
    return told(answers.patient, answer.json())


def patients(*, page: int = 0, per_page: int = 50) -> Steps[tuple[list[PatientRow], int]]:
    """A page of patients by id, counted from 0, and how many there are."""
    answer = yield Call(method="GET", path="/v1/patients", params=_page(page, per_page))
    return _paged(answer, lambda of: answers.patient(of | {"id": of["registryKey"]}))


def delete_patient(patient: str) -> Steps[Erasure | None]:
    """Erase the patient with everything held; irreversible. The receipt, or None if there was nothing to erase."""
    prefer = (("Prefer", "return=representation"),)
    # Not sent again by itself, because the receipt would be lost: a second time there is nothing left to erase.
    answer = yield Call(method="DELETE", path=_patient(patient), headers=prefer, repeatable=False)
    return told(answers.erasure, answer.json()) if answer.body else None


# ----------------------------------------------------------------------------------------------------- submissions


def ingest(
    patient: str,
    body: bytes,
    *,
    format: str = "",
    media_type: str = "",
    source: str = "",
    source_kind: SourceKind | None = None,
    name: str = "",
    form: bool = True,
    after_erasure: bool = False,
) -> Steps[Receipt]:
    """Take in one document. With `form` the answer is held back until it is formed, as long as the server allows: look
    at its `status`, or `wait` for it. `format` is `fhir/r4`, `fhir/r5`, `cda/r2`, `hl7v2`, `x12`, or empty (told by the
    bytes, then by media type and name). What is sent again adds nothing."""
    if format not in _ROUTES:
        raise BadInput(f"over HTTP a format is one of {', '.join(filter(None, _ROUTES))}, or empty", place="format")
    route, usual = _ROUTES[format]
    kind = source_kind.value if source_kind else ""
    answer = yield Call(
        method="POST",
        path=f"{_patient(patient)}/ingestions/{route}",
        params=_given(source=source, sourceKind=kind, name=name) + _submitted(form, after_erasure),
        body=body,
        headers=(("Content-Type", media_type or usual),),
    )
    return told(lambda of: answers.receipt(patient, of), answer.json())


def append(
    patient: str,
    session: str,
    turns: Sequence[Turn],
    *,
    whole: bool = False,
    source: str = "",
    form: bool = True,
    after_erasure: bool = False,
) -> Steps[Receipt]:
    """Add turns to a session of the patient; the first call opens it. With `whole` the turns are the transcript so far:
    what is held is recognised, and an edited, removed or moved turn raises Conflict. Without it a call of which no
    answer came is not sent again by itself, unless every turn has a `turn_id`."""
    messages = [_message(each) for each in turns]
    base = _patient(patient)
    body: dict[str, Any] = {"messages": messages}
    path = f"{base}/sessions/{_quoted(session)}/messages"
    if whole:
        path, body = f"{base}/ingestions/sessions", {"sessions": [{"sessionId": session, "messages": messages}]}
    answer = yield Call(
        method="POST",
        path=path,
        params=_given(source=source) + _submitted(form, after_erasure),
        body=msgspec.json.encode(body),
        headers=(("Content-Type", _JSON),),
        repeatable=whole or all(each.turn_id for each in turns),
    )
    made = answer.json()
    return told(lambda of: answers.receipt(patient, of if whole else of["ingestion"]), made)


def append_transcript(
    patient: str,
    body: bytes,
    *,
    session: str = "",
    format: str = "",
    begins_at: datetime | None = None,
    time_zone: str = "",
    speakers: Mapping[str, str] | None = None,
    known_as: str = "",
    source: str = "",
    form: bool = True,
    after_erasure: bool = False,
) -> Steps[Receipt]:
    """Take in the transcript of one session, whole or not at all; sent again, only what is new."""
    answer = yield Call(
        method="POST",
        path=f"{_patient(patient)}/ingestions/transcripts",
        params=_given(
            session=session,
            format=format,
            beginsAt=begins_at.isoformat() if begins_at else "",
            timeZone=time_zone,
            knownAs=known_as,
            source=source,
        )
        + tuple(("speaker", f"{label}={who}") for label, who in (speakers or {}).items())
        + _submitted(form, after_erasure),
        body=body,
        headers=(("Content-Type", _BYTES),),
    )
    return told(lambda of: answers.receipt(patient, of), answer.json())


def receipt(patient: str, ingestion: str) -> Steps[Receipt]:
    """One receipt, as it stands. Raises NotFound."""
    return (yield from _receipt(patient, ingestion))


def receipts(
    patient: str, *, statuses: Sequence[str] = (), page: int = 0, per_page: int = 50
) -> Steps[tuple[list[Receipt], int]]:
    """A page of receipts, newest first, and how many there are."""
    params = _page(page, per_page) + _each("status", statuses) + (("order", "desc"), ("lines", "true"))
    answer = yield Call(method="GET", path=f"{_patient(patient)}/ingestions", params=params)
    return _paged(answer, lambda of: answers.receipt(patient, of))


def wait(receipt: Receipt, *, most_s: float = 300.0, every_s: float = 0.2) -> Steps[Receipt]:
    """The receipt once its work has settled. Raises Unavailable when that takes longer than `most_s`, counted in pauses
    of `every_s` that double up to 5 s."""
    waited, pause = 0.0, every_s
    while receipt.status not in _SETTLED:
        if waited + pause > most_s:
            raise Unavailable(f"ingestion {receipt.id} is still {receipt.status} after {most_s:g} s")
        yield Pause(pause)
        waited, pause = waited + pause, min(5.0, pause * 2)
        receipt = yield from _receipt(receipt.subject.id, receipt.id)
    return receipt


# --------------------------------------------------------------------------------------------------------- reading


def browse(path: str, *, known_at: datetime | None = None, true_at: datetime | None = None) -> Steps[Listing]:
    """The lines of a directory of the tree, by its address (`/patient/p1/conditions`); of a file its own line."""
    base, address = _tree(path)
    params = (("path", address), *_times(known_at, true_at))
    answer = yield Call(method="GET", path=f"{base}/vfs", params=params)
    return told(answers.listing, answer.json())


def read(
    path: str,
    *,
    format: Format = Format.NARRATIVE,
    token_budget: int | None = None,
    known_at: datetime | None = None,
    true_at: datetime | None = None,
) -> Steps[Page]:
    """A file of the tree, rendered, within `token_budget`."""
    base, address = _tree(path)
    budget = "" if token_budget is None else str(token_budget)
    params = (("path", address), ("format", format.value), *_given(token_budget=budget), *_times(known_at, true_at))
    answer = yield Call(method="GET", path=f"{base}/read", params=params)
    return told(answers.page, answer.json())


def search(
    subject: Subject,
    query: str,
    *,
    kinds: Sequence[str] = (),
    limit: int = 10,
    known_at: datetime | None = None,
    true_at: datetime | None = None,
) -> Steps[list[Hit]]:
    """What fits the words, best first."""
    answer = yield _searched(subject, query, kinds, limit, known_at, true_at)
    return told(lambda of: [answers.hit(each) for each in of["data"]], answer.json())


def did_you_mean(
    subject: Subject, query: str, *, known_at: datetime | None = None, true_at: datetime | None = None
) -> Steps[str]:
    """The query with misspelt words put right; empty if there is nothing to put right."""
    answer = yield _searched(subject, query, (), 1, known_at, true_at)
    return told(lambda of: of["didYouMean"] or "", answer.json())


def context(
    request: ContextRequest, *, known_at: datetime | None = None, true_at: datetime | None = None
) -> Steps[Context]:
    """The context for a task within a budget of tokens."""
    asked = {
        "subjects": [str(each) for each in request.subjects],
        "task": request.task,
        "budgetTokens": request.budget_tokens,
        "query": request.query,
        "aspect": request.aspect,
        "tokenizer": request.tokenizer,
    }
    answer = yield _asked("/v1/context", asked, known_at, true_at)
    return told(lambda of: answers.context(request, of), answer.json())


def conflicts(
    patient: str, *, known_at: datetime | None = None, true_at: datetime | None = None
) -> Steps[list[Conflict]]:
    """The open conflicts: between statements, then of a memory with a fact, each by id."""
    found = yield from _all(f"{_patient(patient)}/conflicts", _times(known_at, true_at))
    spoken = [each.get("between") != "statements" for each in found]
    ordered = sorted(zip(spoken, found, strict=True), key=lambda each: each[0])  # ids are in order already
    return [told(answers.conflict, each) for _, each in ordered]


def session(patient: str, session: str) -> Steps[Session]:
    """A session with its messages in order. Raises NotFound."""
    answer = yield Call(method="GET", path=f"{_patient(patient)}/sessions/{_quoted(session)}")
    return told(answers.session, answer.json())


def memories(
    patient: str,
    *,
    session: str = "",
    kinds: Collection[MemoryKind] = (),
    thread: str = "",
    query: str = "",
    task: str = "",
    known_at: datetime | None = None,
    true_at: datetime | None = None,
) -> Steps[list[Recalled]]:
    """What was said, newest first; with a query or a task, best first."""
    params = _given(session=session, thread=thread, query=query, task=task) + _each("kind", sorted(kinds))
    found = yield from _all(f"{_patient(patient)}/memories", params + _times(known_at, true_at))
    return [told(answers.recalled, each) for each in found]


def threads(patient: str, *, known_at: datetime | None = None, true_at: datetime | None = None) -> Steps[list[Thread]]:
    """What was said of each thing, with what changed; the thing spoken of last first."""
    found = yield from _all(f"{_patient(patient)}/threads", _times(known_at, true_at))
    return [told(answers.thread, each) for each in found]


def document(patient: str, document: str) -> Steps[tuple[str, bytes]]:
    """Media type and bytes of a document, exactly as received."""
    answer = yield Call(method="GET", path=f"{_patient(patient)}/documents/{_quoted(document)}/content")
    return answer.headers.get("content-type", ""), answer.body


def export_fhir(patient: str, *, known_at: datetime | None = None, true_at: datetime | None = None) -> Steps[bytes]:
    """The patient as a FHIR R4 Bundle."""
    params = (("format", "fhir/r4"), *_times(known_at, true_at))
    answer = yield Call(method="GET", path=f"{_patient(patient)}/export", params=params)
    return answer.body


def summary(patient: str, *, known_at: datetime | None = None, true_at: datetime | None = None) -> Steps[bytes]:
    """The International Patient Summary, a FHIR R4 document Bundle."""
    answer = yield Call(method="GET", path=f"{_patient(patient)}/$summary", params=_times(known_at, true_at))
    return answer.body


# --------------------------------------------------------------------------------------------------------- entries


def put_entry(entry: EntryDraft) -> Steps[Entry]:
    """Write an entry of an organization, an operator or an agent; with the `id` of one its next version."""
    body = {
        "kind": entry.kind,
        "title": entry.title,
        "text": entry.text,
        "id": entry.id,
        "author": entry.author,
        "effectiveFrom": entry.effective_from,
        "effectiveTo": entry.effective_to,
        "tags": entry.tags,
        "domain": entry.domain,
        "reason": entry.reason,
    }
    answer = yield _posted(f"{_knowing(entry.subject)}/entries", body, repeatable=bool(entry.id))
    return told(answers.entry, answer.json())


def entries(
    subject: Subject,
    *,
    kinds: Collection[EntryKind] = (),
    tags: Collection[str] = (),
    attribution: AttributionKind | None = None,
    history: bool = False,
    known_at: datetime | None = None,
    true_at: datetime | None = None,
) -> Steps[list[Entry]]:
    """The entries in force of an organization, an operator or an agent, by id, whole; with `history` all versions."""
    params = _each("kind", sorted(kinds)) + _each("tag", sorted(tags)) + (("passages", "true"),)
    params += _given(attribution=attribution.value if attribution else "", history="true" if history else "")
    found = yield from _all(f"{_knowing(subject)}/entries", params + _times(known_at, true_at))
    return [told(answers.entry, each) for each in found]


def entry(
    subject: Subject,
    id: str,
    *,
    version: int = 0,
    known_at: datetime | None = None,
    true_at: datetime | None = None,
) -> Steps[Entry]:
    """One entry as it is in force, or one version of it, whole. Raises NotFound."""
    params = _given(version=str(version) if version else "") + _times(known_at, true_at)
    answer = yield Call(method="GET", path=f"{_knowing(subject)}/entries/{_quoted(id)}", params=params)
    return told(answers.entry, answer.json())


def retire_entry(subject: Subject, id: str, *, reason: str = "", effective_from: str = "") -> Steps[Entry]:
    """Take an entry out of force, at once or from a day on."""
    body = {"reason": reason, "effectiveFrom": effective_from}
    answer = yield _posted(f"{_knowing(subject)}/entries/{_quoted(id)}/retirement", body)
    return told(answers.entry, answer.json())


# ------------------------------------------------------------------------------------------------------ forgetting


def erase(patient: str, kind: Erasable, id: str) -> Steps[Erasure]:
    """Erase one document, session, message or memory; irreversible. Raises Conflict while a legal hold stands, Gone if
    it was erased before."""
    answer = yield _posted(f"{_patient(patient)}/erasures", {"kind": kind, "id": id})
    return told(answers.erasure, answer.json())


def erasures(*, page: int = 0, per_page: int = 50) -> Steps[tuple[list[Erasure], int]]:
    """A page of the receipts of all erasures, newest first, and how many there are."""
    answer = yield Call(method="GET", path="/v1/erasures", params=_page(page, per_page))
    return _paged(answer, answers.erasure)


def holds(patient: str) -> Steps[list[Hold]]:
    """Every legal hold and every lifting, the earliest first."""
    answer = yield Call(method="GET", path=f"{_patient(patient)}/holds")
    return told(lambda of: [answers.hold(each) for each in of["data"]], answer.json())


def set_hold(patient: str, reason: str) -> Steps[Hold]:
    """Keep the patient from being erased."""
    answer = yield _posted(f"{_patient(patient)}/holds", {"reason": reason})
    return told(answers.hold, answer.json())


def lift_hold(patient: str, hold: str, reason: str) -> Steps[Hold]:
    """Lift a hold."""
    answer = yield _posted(f"{_patient(patient)}/holds/{_quoted(hold)}/lift", {"reason": reason})
    return told(answers.hold, answer.json())


# --------------------------------------------------------------------------------------------------- how it is asked


def _patient(id: str) -> str:
    return f"/v1/patients/{_quoted(id)}"


def _quoted(id: str) -> str:
    """One segment of a path. Raises BadInput for what would leave it."""
    if id in ("", ".", ".."):
        raise BadInput("an id is no dot, and not empty")
    return quote(id, safe="")


def _of(subject: Subject) -> str:
    return f"/v1/{_COLLECTIONS[subject.scope]}/{_quoted(subject.id)}"


def _knowing(subject: Subject) -> str:
    """Raises BadInput for a patient: what an inference rests on is told over HTTP only in part."""
    if subject.scope is Scope.PATIENT:
        raise BadInput("entries of a patient are not read by this client", place="subject")
    return _of(subject)


def _tree(path: str) -> tuple[str, str]:
    """The routes of the subject that an address stands under, and the address."""
    scope, _, rest = path.strip("/").partition("/")
    return _of(Subject.parse(f"{scope}/{rest.partition('/')[0]}")), path if path.startswith("/") else f"/{path}"


def _receipt(patient: str, ingestion: str) -> Steps[Receipt]:
    path = f"{_patient(patient)}/ingestions/{_quoted(ingestion)}"
    answer = yield Call(method="GET", path=path, params=(("lines", "true"),))
    return told(lambda of: answers.receipt(patient, of), answer.json())


def _given(**params: str) -> Params:
    return tuple((name, value) for name, value in params.items() if value)


def _each(name: str, values: Collection[str]) -> Params:
    return tuple((name, str(value)) for value in values)


def _page(page: int, per_page: int) -> Params:
    return (("page", str(page)), ("perPage", str(per_page)))


def _submitted(form: bool, after_erasure: bool) -> Params:
    return (("lines", "true"), *_given(wait="true" if form else "", afterErasure="true" if after_erasure else ""))


def _times(known_at: datetime | None, true_at: datetime | None) -> Params:
    return _given(
        known_at=known_at.isoformat() if known_at else "",
        true_at=true_at.isoformat() if true_at else "",
    )


def _message(of: Turn) -> dict[str, Any]:
    said = {
        "role": "assistant" if of.speaker is Speaker.AGENT else "user",
        "content": of.text,
        "speaker": of.speaker,
        "relationship": of.relationship,
        "name": of.name,
        "turnId": of.turn_id,
        "toolCalls": [_call(each) for each in of.calls],
    }
    return said | ({"saidAt": of.said_at.isoformat()} if of.said_at else {})


def _call(of: ToolCall) -> dict[str, Any]:
    said = {
        "tool": of.tool,
        "arguments": of.arguments,
        "result": of.result,
        "failed": of.failed,
        "callId": of.call_id,
    }
    return said | ({"calledAt": of.called_at.isoformat()} if of.called_at else {})


def _posted(path: str, body: dict[str, Any], *, repeatable: bool = False) -> Call:
    headers = (("Content-Type", _JSON),)
    return Call(method="POST", path=path, body=msgspec.json.encode(body), headers=headers, repeatable=repeatable)


def _asked(path: str, body: dict[str, Any], known_at: datetime | None, true_at: datetime | None) -> Call:
    """A question by POST: nothing changes, so it may be sent again."""
    times = {"knownAt": known_at, "trueAt": true_at}
    said = {name: at.isoformat() for name, at in times.items() if at}
    return _posted(path, {name: each for name, each in body.items() if each is not None} | said, repeatable=True)


def _searched(
    subject: Subject,
    query: str,
    kinds: Sequence[str],
    limit: int,
    known_at: datetime | None,
    true_at: datetime | None,
) -> Call:
    asked = {"subject": str(subject), "query": query, "kinds": list(kinds), "limit": limit}
    return _asked("/v1/search", asked, known_at, true_at)


def _paged(answer: Answer, read: Callable[[dict[str, Any]], T]) -> tuple[list[T], int]:
    return told(lambda of: ([read(each) for each in of["data"]], int(of["meta"]["total"])), answer.json())


def _all(path: str, params: Params) -> Steps[list[dict[str, Any]]]:
    """Every page of a list that the engine gives whole."""
    found: list[dict[str, Any]] = []
    while True:
        number = len(found) // _PER_PAGE
        answer = yield Call(method="GET", path=path, params=params + _page(number, _PER_PAGE))
        rows, total = _paged(answer, lambda of: of)
        found += rows
        if not rows or len(found) >= total:
            return found
