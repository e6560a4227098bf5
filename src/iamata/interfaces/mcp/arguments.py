"""What may an agent say to each tool? Shapes with the words that its language model reads, and how they are read.

Names are those of the tools' contract (`patient_id`, `path`, `token_budget` …), all in snake case.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from iamata.errors import BadInput
from iamata.interfaces.wire import requests
from iamata.model.entry import EntryKind
from iamata.model.memory import MemoryKind
from iamata.model.reading import Format
from iamata.model.session import Speaker, Turn
from iamata.model.statement import Aspect

JsonSchema = dict[str, Any]
Meta = msgspec.Meta

_PATIENT = "patient_id"
_TIMES = "ISO 8601: a date (its end, UTC) or a time with an offset. Empty: now."

PatientId = Annotated[str, Meta(min_length=1, description="The patient's id, as `browse` of `/` lists them.")]
KnownAt = Annotated[str, Meta(description=f"Answer from what had been received by then. {_TIMES}")]
TrueAt = Annotated[str, Meta(description=f"The clinical now: what is current, overdue or stale at that time. {_TIMES}")]
Path = Annotated[
    str,
    Meta(
        description="Relative to the patient: `/` is the root, `/medications/current/` a directory, "
        "`/_index.md` the overview on one page. Addresses from other answers (`/patient/…`) are taken too."
    ),
]
Address = Annotated[
    str,
    Meta(description="An address from the root: `/` lists the patients, `/patient/{id}/medications/` a directory."),
]
Shape = Annotated[
    Format,
    Meta(description="`narrative` reads as sentences, `compact` saves tokens, `structured` is JSON."),
]
Budget = Annotated[
    int,
    Meta(ge=0, description="At most so many tokens (o200k), exactly counted; the text says if something was left out."),
]
PageNumber = Annotated[int, Meta(ge=0, description="From 0.")]
Words = Annotated[str, Meta(min_length=1, description="What to look for: plain words, drug or test names, codes.")]
Task = Annotated[
    str,
    Meta(
        min_length=1,
        description="What it is for; decides what counts and how much: `medication_reconciliation`, `allergy_check`, "
        "`symptom_triage`, `general` …; an unknown one is answered with those there are.",
    ),
]


SessionId = Annotated[
    str,
    Meta(
        max_length=512, description="The conversation you are in: this call is recorded beside its turns. Empty: not."
    ),
]


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    known_at: KnownAt = ""
    true_at: TrueAt = ""
    session_id: SessionId = ""

    @property
    def moments(self) -> dict[str, datetime | None]:
        """The keyword arguments of a read. Raises BadInput."""
        return {
            "known_at": requests.moment(self.known_at, "known_at"),
            "true_at": requests.moment(self.true_at, "true_at"),
        }


class BrowsePatient(_Reading, frozen=True, kw_only=True):
    """A directory, or a file with its content."""

    patient_id: PatientId
    path: Path = "/"
    page: PageNumber = 0


class ReadPatient(_Reading, frozen=True, kw_only=True):
    """A file of the patient."""

    patient_id: PatientId
    path: Path = "/_index.md"
    format: Shape = Format.NARRATIVE
    token_budget: Budget = 2000


class SearchPatient(_Reading, frozen=True, kw_only=True):
    """Words to find in everything held of the patient."""

    patient_id: PatientId
    query: Words
    kinds: Annotated[
        list[str],
        Meta(description="Only these kinds, such as `medication`, `allergy`, `condition`, `observation`, `passage`."),
    ] = []
    limit: Annotated[int, Meta(ge=1, le=50, description="At most so many, best first.")] = 10


class PatientInfo(_Reading, frozen=True, kw_only=True):
    """Whose overview."""

    patient_id: PatientId


class AssembleContext(_Reading, frozen=True, kw_only=True):
    """What the context is for, about whom, and how long it may be."""

    patient_id: PatientId
    task: Task = "general"
    budget_tokens: Budget = 2000
    query: Annotated[str, Meta(description="The question at hand, if there is one; what bears on it comes first.")] = ""
    also_about: Annotated[
        list[str],
        Meta(description="Other subjects whose knowledge counts, such as `organization/northside` or `operator/ames`."),
    ] = []
    aspect: Annotated[
        Aspect | None,
        Meta(description="Which question about a thing decides between sides; null: the usual one of the task."),
    ] = None
    factors: Annotated[
        bool,
        Meta(
            description="True: the JSON says of every item why it weighs what it weighs; long. `explain` says it too."
        ),
    ] = False


class RecallMemories(_Reading, frozen=True, kw_only=True):
    """What was said in conversations."""

    patient_id: PatientId
    query: Annotated[str, Meta(description="Words to find; empty: the newest.")] = ""
    kinds: Annotated[list[MemoryKind], Meta(description="Only these kinds of memory; empty: all.")] = []
    task: Annotated[str, Meta(description="Only what matters to this task, the weightiest first; empty: all.")] = ""
    thread: Annotated[str, Meta(description="Only of this thread, as other answers name it; empty: of any.")] = ""
    session_id: Annotated[
        str,
        Meta(
            max_length=512,
            description="Only what was said in this session, beside whose turns this call is recorded; empty: in any.",
        ),
    ] = ""
    everywhere: Annotated[
        bool, Meta(description="True: from all sessions, also with a `session_id`, which then only says where you are.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=100, description="At most so many.")] = 20


class ListConflicts(_Reading, frozen=True, kw_only=True):
    """A page of conflicts."""

    patient_id: PatientId
    page: PageNumber = 0
    limit: Annotated[int, Meta(ge=1, le=100, description="How many a page holds.")] = 20


class Explain(_Reading, frozen=True, kw_only=True):
    """What is to be explained."""

    patient_id: PatientId
    item: Annotated[
        str,
        Meta(
            min_length=1,
            description="An id (`fa_…`, `st_…`, `lm_…`), an address, or a citation: `7f3c2a4d` of a file, "
            "`ctx_…[12]` of a context.",
        ),
    ]
    task: Task = "general"
    limit: Annotated[int, Meta(ge=1, le=50, description="At most so many statements behind it.")] = 5
    excerpt_chars: Annotated[
        int, Meta(ge=0, le=20_000, description="How many characters of each source are quoted.")
    ] = 400


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool of another server; calls of these tools are recorded by their `session_id`."""

    tool: Annotated[str, Meta(min_length=1, description="Its name.")]
    arguments: Annotated[str, Meta(description="What was asked, as text or JSON.")] = ""
    result: Annotated[str, Meta(description="What came back, as text or JSON.")] = ""
    failed: Annotated[bool, Meta(description="Whether it failed.")] = False
    call_id: Annotated[str, Meta(description="Your id of the call, if it has one.")] = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn."""

    role: Annotated[
        Literal["user", "assistant"],
        Meta(description="`assistant` is you, the agent; `user` is the person you talk with."),
    ]
    content: Annotated[str, Meta(min_length=1, description="What was said, unchanged.")]
    speaker: Annotated[
        Speaker | None,
        Meta(description="Who the user is; null: the patient. Only an assistant is `agent`."),
    ] = None
    relationship: Annotated[str, Meta(description="Of a caregiver to the patient, such as `mother`.")] = ""
    name: Annotated[str, Meta(description="The speaker's name, if known.")] = ""
    said_at: Annotated[datetime | None, Meta(description="When, ISO 8601 with an offset; null: not known.")] = None
    turn_id: Annotated[str, Meta(description="Your id of the turn; sent again, it is not said twice.")] = ""
    tool_calls: Annotated[list[ToolCall], Meta(description="What you asked of tools in this turn.")] = []


class AppendMessages(msgspec.Struct, frozen=True, kw_only=True):
    """Turns of one conversation about the patient."""

    patient_id: PatientId
    session_id: Annotated[
        str,
        Meta(min_length=1, max_length=512, description="The conversation: your own id for it, the same every time."),
    ]
    messages: Annotated[list[Message], Meta(description="In the order in which they were said.")] = []
    transcript: Annotated[
        str,
        Meta(
            description="Instead of messages: the whole conversation so far as text with a speaker before each turn, "
            "WebVTT, SubRip, CSV or JSON."
        ),
    ] = ""
    speakers: Annotated[
        dict[str, str],
        Meta(description="Of a transcript: label to speaker, such as `Speaker 1` to `patient`, `caregiver:daughter`."),
    ] = {}
    begins_at: Annotated[
        datetime | None, Meta(description="Of a transcript: when the talk began, for times that count from there.")
    ] = None
    time_zone: Annotated[str, Meta(description="Of a transcript: the zone of times without an offset.")] = ""
    whole: Annotated[
        bool,
        Meta(
            description="True: these are the whole conversation so far, and only what is new is added, so that sending "
            "again is safe. False: all of them are new."
        ),
    ] = False

    @property
    def turns(self) -> list[Turn]:
        """Raises BadInput where role and speaker disagree."""
        bodies = [
            requests.MessageBody(
                role=each.role,
                content=each.content,
                speaker=each.speaker,
                relationship=each.relationship,
                name=each.name,
                said_at=each.said_at,
                turn_id=each.turn_id,
                tool_calls=[
                    requests.ToolCallBody(
                        tool=call.tool,
                        arguments=call.arguments,
                        result=call.result,
                        failed=call.failed,
                        call_id=call.call_id,
                    )
                    for call in each.tool_calls
                ],
            )
            for each in self.messages
        ]
        return requests.turns(bodies, "/messages")


class Browse(_Reading, frozen=True, kw_only=True):
    """A directory of any scope."""

    path: Address = "/"
    page: PageNumber = 0


class Read(_Reading, frozen=True, kw_only=True):
    """A file of any scope."""

    path: Annotated[str, Meta(min_length=1, description="The address of a file, such as `/patient/{id}/_index.md`.")]
    format: Shape = Format.NARRATIVE
    token_budget: Budget = 2000


Whose = Annotated[
    str,
    Meta(
        min_length=1, description="Whose: `organization/{id}`, `operator/{id}` or `agent/{id}`, as `browse` lists them."
    ),
]


class ListEntries(_Reading, frozen=True, kw_only=True):
    """Whose entries, and which of them."""

    subject: Whose
    kinds: Annotated[list[EntryKind], Meta(description="Only these kinds; empty: all.")] = []
    tags: Annotated[list[str], Meta(description="Only those with all of these tags.")] = []
    page: PageNumber = 0
    limit: Annotated[int, Meta(ge=1, le=100, description="How many a page holds.")] = 50


class SearchEntries(_Reading, frozen=True, kw_only=True):
    """Words to find in what is known of an organization, operator or agent."""

    subject: Whose
    query: Words
    kinds: Annotated[list[EntryKind], Meta(description="Only these kinds; empty: all.")] = []
    limit: Annotated[int, Meta(ge=1, le=50, description="At most so many, best first.")] = 10


class RecordInference(msgspec.Struct, frozen=True, kw_only=True):
    """What you have summed up or inferred of the patient, and from what."""

    patient_id: PatientId
    title: Annotated[str, Meta(min_length=1, max_length=300, description="What it is about, in a few words.")]
    text: Annotated[str, Meta(min_length=1, max_length=20_000, description="What you conclude, and how sure you are.")]
    derived_from: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=200,
            description="Every item it rests on: ids (`fa_…`, `st_…`, `lm_…`), addresses, or citations `ctx_…[12]`.",
        ),
    ]
    kind: Annotated[
        Literal["summary", "inference"],
        Meta(description="`summary`: what is there, shorter; `inference`: what follows."),
    ] = "inference"
    entry_id: Annotated[str, Meta(description="Yours that this is the next version of; empty: a new one.")] = ""


class RecordCue(msgspec.Struct, frozen=True, kw_only=True):
    """What you have learned about finding your way."""

    title: Annotated[str, Meta(min_length=1, max_length=300, description="What it is about, in a few words.")]
    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=20_000,
            description="Where what was found: kinds of directories and tasks. Never a patient's id, name or data.",
        ),
    ]
    tags: Annotated[list[str], Meta(max_length=50, description="Words to find it by, such as a task.")] = []
    entry_id: Annotated[str, Meta(description="Your cue that this is the next version of; empty: a new one.")] = ""


Shaped = TypeVar("Shaped", bound=msgspec.Struct)


def read(given: Mapping[str, Any], shape: type[Shaped], *, bound: str | None) -> Shaped:
    """The arguments as this shape; on a server bound to a patient that patient is meant where none is named.

    Raises BadInput with the place; no value that was sent is in the message, nor the name of an unknown argument.
    """
    known = _names(shape)
    if any(name not in known for name in given):
        raise BadInput(f"an argument that this tool does not have; it takes {', '.join(known)}")
    if bound is not None and _PATIENT in known:
        given = {_PATIENT: bound, **given}
    try:
        body = msgspec.json.encode(given)
    except (UnicodeEncodeError, TypeError, ValueError):
        raise BadInput("the arguments are not text that can be stored") from None
    return requests.read(body, shape)


def schema(shape: type[msgspec.Struct], *, bound: str | None) -> JsonSchema:
    """The input schema, written out whole; on a bound server the patient need not be named."""
    (root,), parts = msgspec.json.schema_components([shape], ref_template="{name}")
    found: JsonSchema = _inline(root, parts)
    found.pop("title", None)
    found.pop("description", None)
    found["properties"] = {name: found["properties"][name] for name in _names(shape)}
    found["additionalProperties"] = False
    if bound is not None and _PATIENT in found["properties"]:
        found["properties"][_PATIENT]["default"] = bound
        found["required"] = [name for name in found.get("required", ()) if name != _PATIENT]
    return found


def _names(shape: type[msgspec.Struct]) -> list[str]:
    """The arguments in the order of their importance: the times are last."""
    names = [field.name for field in msgspec.structs.fields(shape)]
    return sorted(names, key=_Reading.__struct_fields__.__contains__)


def _inline(node: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(node, dict):
        if "$ref" in node:
            beside = {name: _inline(each, parts) for name, each in node.items() if name != "$ref"}
            part = parts[node["$ref"]]
            # A list of values says enough; what its values mean to us is for our own readers.
            part = {name: each for name, each in part.items() if "enum" not in part or name in ("type", "enum")}
            return _inline(part, parts) | beside
        return {name: _inline(each, parts) for name, each in node.items()}
    if isinstance(node, list):
        return [_inline(each, parts) for each in node]
    return node
