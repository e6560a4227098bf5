"""The verbs of learning outside of patients: cues, habits and patterns from recorded tool calls, and refusing them.

What is learned rests on counts over many patients and goes when one of them is erased; then it is learned anew from the
others. A person's refusal stands whatever is learned later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from iamata.assembly import pipeline as assembly
from iamata.assembly.tree import known_names
from iamata.engine.door import Door
from iamata.engine.shelves import Shelves
from iamata.errors import BadInput, NotFound
from iamata.formation.practice import LEAST_PATIENTS, RULE, Lesson, Trace, Vocabulary, learn
from iamata.model.access import Access
from iamata.model.attribution import AttributionKind, Author, Role
from iamata.model.entry import Entry
from iamata.model.identifiers import canonical_bytes
from iamata.model.scope import Scope, Subject
from iamata.ports import Store

# Below this a count could be told by who knows some of the patients (our judgement).
_FLOOR: Final = 5
_PAGE: Final = 200
_BY_RETENTION: Final = "retention/"
_BECAUSE: Final = "least_patients="
_ITSELF: Final = Author(Role.SOFTWARE, display="iamata")


class Practising(Door):
    """Learning how the tree is used, and what people refuse of it."""

    def learn(
        self, *, organization: str = "", least_patients: int = LEAST_PATIENTS, access: Access | None = None
    ) -> list[Entry]:
        """Learn cues of agents, habits of operators and, for the organization that is named, patterns, from the tool
        calls that are recorded of all patients; returns the entries that are new, changed or retired now.

        Each count is of at least `least_patients` patients (never fewer than 5); held are task names, templates of
        paths and counts, nothing else. What rests on fewer now is retired. What people refused is not learned. For
        owners only.
        """
        access, _ = self._begin("learn", "learn", access, None)
        if least_patients < _FLOOR:
            raise BadInput(f"what is learned rests on at least {_FLOOR} patients", place="least_patients")
        made = _relearn(
            self._store,
            self._shelves,
            self._clock,
            organizations=[Subject(Scope.ORGANIZATION, organization)] if organization else [],
            least=least_patients,
            recorder=Author(Role.OPERATOR, f"{access.kind}/{access.id}"),
        )
        self._audit("learn", access, None, tuple(entry.id for entry in made), act="learn")
        return made

    def refuse_entry(
        self, subject: Subject, id: str, *, reason: str = "", withdraw: bool = False, access: Access | None = None
    ) -> None:
        """Decide as a person that what was learned, by an agent or from its calls, does not hold: it is retired, and
        not learned or written again until the refusal is withdrawn. Raises NotFound, and BadInput for what is not
        agent-reported: that is retired."""
        access, subject = self._begin("refuse_entry", "decide", access, subject)
        if subject.scope is Scope.PATIENT:
            raise BadInput("an inference about a patient is retired, or its sources are ruled on", place="subject")
        held = [each for each in self._shelves.versions(subject) if each.id == id]
        if not held and id not in self._store.refused_entries(subject):
            raise NotFound(what="entry", id=id)
        if held and held[-1].attribution.kind is not AttributionKind.AGENT:
            raise BadInput("what people and institutions say is retired, not refused", place="id")
        now = self._clock()
        about = canonical_bytes({"by": f"{access.kind}/{access.id}", "at": now.isoformat(), "reason": reason})
        self._store.refuse_entry(subject, id, about, refused=not withdraw)
        if held and not held[-1].retired and not withdraw:
            self._store.put_entry(_retired(held[-1], now, f"refused: {reason}" if reason else "refused"), now)
        self._audit("refuse_entry", access, subject, (id,))


def learn_again(store: Store, shelves: Shelves, clock: Callable[[], datetime], fewer: Sequence[Subject]) -> None:
    """Learn anew for all subjects after a patient was erased from whom something had been learned. Of at least as many
    patients as what is still held of anybody was, and never fewer than by default."""
    held = [each for subject in store.subjects() for each in shelves.versions(subject) if each.attribution.rule == RULE]
    asked = [each.attribution.because.removeprefix(_BECAUSE) for each in held]
    least = max((int(number) for number in asked if number.isdecimal() and len(number) < 9), default=0)
    organizations = [each for each in fewer if each.scope is Scope.ORGANIZATION]
    _relearn(store, shelves, clock, organizations=organizations, least=max(least, LEAST_PATIENTS), recorder=_ITSELF)


def _relearn(
    store: Store,
    shelves: Shelves,
    clock: Callable[[], datetime],
    *,
    organizations: Sequence[Subject],
    least: int,
    recorder: Author,
) -> list[Entry]:
    vocabulary = Vocabulary(frozenset(assembly.tasks()), known_names())
    lessons = learn(_traces(store), vocabulary, organizations=organizations, least_patients=least)
    made: list[Entry] = []
    kept: set[tuple[Subject, str]] = set()
    for lesson in lessons:
        subject, id = lesson.subject, _id(shelves, lesson)
        kept.add((subject, id))
        if id in store.refused_entries(subject):
            continue
        erased = store.erased_entry(subject, id)
        if erased is not None and not erased.by.startswith(_BY_RETENTION):  # somebody wanted to be rid of it
            continue
        held = [each for each in shelves.versions(subject) if each.id == id]
        last = held[-1] if held else None
        if last is not None and not last.retired and (last.title, last.text) == (lesson.title, lesson.text):
            continue
        entry = lesson.entry(id, like=last, recorder=recorder, at=clock(), because=f"{_BECAUSE}{least}")
        store.put_learned(entry, lesson.patients, clock())
        made.append(entry)
    return made + _retire_others(store, shelves, clock(), kept, organizations)


def _retire_others(
    store: Store, shelves: Shelves, now: datetime, kept: set[tuple[Subject, str]], organizations: Sequence[Subject]
) -> list[Entry]:
    """What was learned once and would not be learned now; of organizations only of those that were asked for."""
    made = []
    for subject in store.subjects():
        if subject.scope is Scope.ORGANIZATION and subject not in organizations:
            continue
        newest = {each.id: each for each in shelves.versions(subject)}
        for id, entry in sorted(newest.items()):
            if entry.attribution.rule == RULE and not entry.retired and (subject, id) not in kept:
                gone = _retired(entry, now, "too few patients show it now")
                store.put_entry(gone, now)
                made.append(gone)
    return made


def _retired(entry: Entry, now: datetime, reason: str) -> Entry:
    return msgspec.structs.replace(
        entry, version=entry.version + 1, supersedes=entry.version, retired=True, recorded_at=now, reason=reason
    )


def _id(shelves: Shelves, lesson: Lesson) -> str:
    """The same for what is learned of the same thing, whenever."""
    return shelves.mint(lesson.subject).id("et", ("learned", lesson.kind.value, *lesson.key))


def _traces(store: Store) -> Iterator[Trace]:
    """The recorded calls of every session of every patient."""
    offset = 0
    while True:
        rows, total = store.patients(offset=offset, limit=_PAGE)
        for row in rows:
            for session in store.called_sessions(row.id):
                yield Trace(row.id, session, tuple(store.tool_calls(row.id, session)))
        offset += _PAGE
        if offset >= total:
            return
