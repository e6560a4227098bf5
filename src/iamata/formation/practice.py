"""What do recorded tool calls show about how agents, operators and a house work? Counts over many patients only.

Read of a call are the task it names and where in the tree it looked, as a template of known directory names: no slug,
query, id or other word of anybody. Whatever fewer patients show than asked for is suppressed. Deterministic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from iamata.model.attribution import Attribution, AttributionKind, Author, Role
from iamata.model.entry import Entry, EntryKind
from iamata.model.scope import SUBJECT_ID, Scope, Subject
from iamata.model.session import RecordedCall

# Fewer patients than this stay unseen: CMS cell size suppression policy, no cell of 1 to 10.
LEAST_PATIENTS: Final = 11
RULE: Final = "learned/1"
_ITEM: Final = "{item}"
_YEAR: Final = "{year}"
_MOST_LINES: Final = 20
# Tools of this engine that name a task, and those that name a place of a patient's tree.
_ASKS: Final = frozenset({"assemble_context", "recall_memories"})
_LOOKS: Final = frozenset({"browse_patient", "read_patient", "browse", "read"})
# The engine, as the author of what it learned.
_ENGINE: Final = Author(Role.AGENT, display="iamata")


class Trace(msgspec.Struct, frozen=True):
    """The recorded calls of one session of one patient, in their order."""

    patient: str
    session: str
    calls: tuple[RecordedCall, ...]


class Vocabulary(msgspec.Struct, frozen=True):
    """The only words that can be learned: names of tasks, and of directories and files of the tree."""

    tasks: frozenset[str]
    names: frozenset[str]


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """One thing learned: what it is about (`key`, which names it for ever), its words, and the patients it rests on."""

    subject: Subject
    kind: EntryKind
    key: tuple[str, ...]
    title: str
    text: str
    tags: tuple[str, ...]
    patients: frozenset[str]

    def entry(self, id: str, *, like: Entry | None, recorder: Author, at: datetime, because: str) -> Entry:
        """The next version of the entry that holds it; `like` is the newest one."""
        version = like.version + 1 if like is not None else 1
        return Entry(
            id=id,
            subject=self.subject,
            kind=self.kind,
            version=version,
            supersedes=version - 1,
            title=self.title,
            text=self.text,
            tags=self.tags,
            attribution=Attribution(AttributionKind.AGENT, _ENGINE, rule=RULE, because=because, recorder=recorder),
            recorded_at=at,
        )


def template(address: str, names: Collection[str]) -> str:
    """`/patient/leo/conditions/active/asthma-7f3c/story.md` → `/patient/{id}/conditions/active/{item}/story.md`.

    A part that is no known name is `{item}`, one of four digits `{year}`; empty for what is no address of a patient.
    """
    parts = [part for part in address.split("/") if part]
    if parts[:1] == ["patient"]:
        parts = parts[2:]
    elif parts[:1] in (["organization"], ["operator"], ["agent"]):
        return ""
    shown = [part if part in names else _YEAR if _is_year(part) else _ITEM for part in parts[:8]]
    return "/".join(("/patient/{id}", *shown))


def _is_year(part: str) -> bool:
    stem = part.removesuffix(".md")
    return len(stem) == 4 and stem.isascii() and stem.isdigit()


def learn(
    traces: Iterable[Trace], vocabulary: Vocabulary, *, organizations: Sequence[Subject], least_patients: int
) -> list[Lesson]:
    """Cues for each agent and task, habits of each operator, patterns of these organizations; by subject and key.

    Every count is of at least so many patients, and what would be of fewer is not there.
    """
    seen = _Seen()
    for trace in traces:
        for caller, task, place in _steps(trace, vocabulary):
            seen.note(trace, caller, task, place, organizations)
    return sorted(_lessons(seen, least_patients), key=lambda lesson: (lesson.subject, lesson.kind.value, lesson.key))


def _steps(trace: Trace, vocabulary: Vocabulary) -> Iterator[tuple[RecordedCall, str, str]]:
    """Each call with the task it stands under (empty before any) and the template of where it looked (or empty)."""
    task = ""
    for call in trace.calls:
        if call.call.failed:
            continue
        given = _arguments(call)
        named = given.get("task")
        if call.call.tool in _ASKS and isinstance(named, str) and named in vocabulary.tasks:
            task = named
            yield call, task, ""
        path = given.get("path")
        if call.call.tool in _LOOKS and isinstance(path, str):
            whole = path if path.startswith("/patient/") or call.call.tool in ("browse", "read") else f"/{path}"
            yield call, task, template(whole, vocabulary.names)


def _arguments(call: RecordedCall) -> Mapping[str, Any]:
    try:
        found = msgspec.json.decode(call.call.arguments)
    except (msgspec.DecodeError, UnicodeError):
        return {}
    return found if isinstance(found, dict) else {}


_Group = tuple[Subject, EntryKind, tuple[str, ...]]


class _Seen:
    """Who did what for which patients, by what it would be learned as."""

    def __init__(self) -> None:
        self.lines: defaultdict[_Group, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def note(self, trace: Trace, call: RecordedCall, task: str, place: str, organizations: Sequence[Subject]) -> None:
        whose: list[tuple[_Group, str]] = []
        for subject in _subjects(call):
            if subject.scope is Scope.AGENT and task:
                whose.append(((subject, EntryKind.CUE, (task,)), place))
            elif subject.scope is Scope.OPERATOR:
                whose.append(((subject, EntryKind.HABIT, ("tasks",)), "" if place else task))
                whose.append(((subject, EntryKind.HABIT, ("places",)), place))
        for organization in organizations:
            whose.append(((organization, EntryKind.PATTERN, ("tasks",)), "" if place else task))
            whose.append(((organization, EntryKind.PATTERN, ("places",)), place))
        for group, line in whose:
            if line:
                self.lines[group][line].add(trace.patient)


def _subjects(call: RecordedCall) -> Iterator[Subject]:
    """The agent that called, and the operator it was for or who called."""
    kind, _, id = call.by.partition("/")
    if kind in (Scope.AGENT, Scope.OPERATOR) and SUBJECT_ID.match(id):
        yield Subject(Scope(kind), id)
    if kind == Scope.AGENT and SUBJECT_ID.match(call.on_behalf_of):
        yield Subject(Scope.OPERATOR, call.on_behalf_of)


_TITLES: Final = {
    (EntryKind.HABIT, "tasks"): "What is asked for",
    (EntryKind.HABIT, "places"): "What is opened",
    (EntryKind.PATTERN, "tasks"): "What is asked for here",
    (EntryKind.PATTERN, "places"): "What is opened here",
}


def _lessons(seen: _Seen, least: int) -> Iterator[Lesson]:
    for group, lines in seen.lines.items():
        subject, kind, key = group
        told = {line: patients for line, patients in lines.items() if len(patients) >= least}
        if not told:
            continue
        order = sorted(told, key=lambda line: (-len(told[line]), line))[:_MOST_LINES]
        title = f"For {key[0]}" if kind is EntryKind.CUE else _TITLES[kind, key[0]]
        # Not with totals, because what is missing to a total may be a few patients.
        text = [f"{line} ({len(told[line])} patients)" for line in order]
        yield Lesson(
            subject=subject,
            kind=kind,
            key=key,
            title=title,
            text="\n\n".join(text),
            tags=("learned", *(key if kind is EntryKind.CUE else ())),
            patients=frozenset().union(*(told[line] for line in order)),
        )
