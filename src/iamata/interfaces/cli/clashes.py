"""Which conflicts does a graph hold, and who stands on each side? Those between statements, and memories against facts.

Only looks them up and words them: the fold finds conflicts, and authority, which needs a task, is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from iamata.interfaces.cli.printing import listed, put, put_hanging
from iamata.interfaces.wire.origins import attribution as attribution_json
from iamata.model.attribution import Attribution
from iamata.model.clinical_time import Clock
from iamata.model.conflict import Conflict
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.link import LinkType
from iamata.model.memory import Memory
from iamata.model.statement import Statement

_WHEN = (Clock.ASSERTED, Clock.ORDERED, Clock.AUTHORED, Clock.EFFECTIVE, Clock.OCCURRED, Clock.ISSUED)


class Voice(msgspec.Struct, frozen=True):
    """One item of a side: its id, who says it, when and from which source."""

    item: str
    attribution: Attribution
    who: str
    day: str
    source: str

    def __str__(self) -> str:
        return f"{self.who}{f', {self.day}' if self.day else ''}, {self.source}"


class Stand(msgspec.Struct, frozen=True):
    """One side: what it says and who says so."""

    says: str
    voices: tuple[Voice, ...]


class Clash(msgspec.Struct, frozen=True):
    """What contradicts itself. `about` is what the fact is called, `fact` its id; `ids` are those of the conflicts with
    these very sides (dose and frequency of one order), or of the link of a memory; `kinds` what they are about."""

    ids: tuple[str, ...]
    kinds: tuple[str, ...]
    fact: str
    about: str
    stands: tuple[Stand, ...]


def clashes(graph: Graph) -> list[Clash]:
    """Every conflict, those between statements first, each by what it is about and its kind."""
    groups: dict[tuple[str, frozenset[tuple[str, ...]]], list[Conflict]] = {}
    told: set[str] = set()
    for conflict in sorted(graph.conflicts.values(), key=lambda each: (each.kind, each.field, each.id)):
        sides = frozenset(side.items for side in conflict.sides)
        groups.setdefault((conflict.fact, sides), []).append(conflict)
        told |= {item for side in conflict.sides for item in side.items if item in graph.memories}
    found = [_between_statements(graph, conflicts) for conflicts in groups.values()]
    found.sort(key=lambda each: (each.about, each.kinds, each.ids))
    said: list[Clash] = []
    for link in graph.links.values():
        memory, fact = graph.memories.get(link.origin), graph.resolve(link.target)
        if link.type is not LinkType.CONFLICTS or memory is None or fact is None or memory.id in told:
            continue
        record = Stand(f"{fact.display}, {fact.standing.value}", voices(graph, fact.members))
        talk = Stand(f"“{memory.quote}”", voices(graph, [memory.id]))
        about = _about(fact)
        said.append(Clash((link.id,), (link.conflict_kind or "said otherwise",), fact.id, about, (record, talk)))
    return found + sorted(said, key=lambda each: (each.about, each.kinds, each.ids))


def _between_statements(graph: Graph, conflicts: list[Conflict]) -> Clash:
    """Conflicts with the same sides as one: of what a side says, a part of something longer it says is left out."""
    fact = graph.resolve(conflicts[0].fact)
    says: dict[tuple[str, ...], list[str]] = {}
    for conflict in conflicts:
        for side in conflict.sides:
            says.setdefault(side.items, []).append(side.says)
    stands = []
    for items, words in says.items():
        kept = [word for word in dict.fromkeys(words) if not any(word != other and word in other for other in words)]
        stands.append(Stand("; ".join(kept), voices(graph, items)))
    stands.sort(key=lambda stand: stand.says)
    ids = tuple(sorted(conflict.id for conflict in conflicts))
    kinds = tuple(dict.fromkeys(conflict.kind.value for conflict in conflicts))
    return Clash(ids, tuple(sorted(kinds)), conflicts[0].fact, _about(fact) if fact else "", tuple(stands))


def _about(fact: Fact) -> str:
    return f"{fact.display} ({fact.kind.value.replace('_', ' ')})"


def voices(graph: Graph, items: Iterable[str]) -> tuple[Voice, ...]:
    """Who says these statements and memories, by day."""
    found: list[Voice] = []
    for item in items:
        memory, statement = graph.memories.get(item), graph.statements.get(item)
        if memory is not None:
            day = (memory.said_at or memory.received_at).date().isoformat()
            who = author_words(memory.attribution, named_in_talk(graph, memory))
            found.append(Voice(item, memory.attribution, who, day, f"session {memory.session}"))
        elif statement is not None and item in graph.attributions:
            attribution = graph.attributions[item]
            who = author_words(attribution)
            found.append(Voice(item, attribution, who, stated_day(statement), statement.source))
    return tuple(sorted(found, key=lambda each: (each.day, str(each), each.item)))


def stated_day(statement: Statement) -> str:
    """The day on which it was said, as precisely as that is known; empty if it is not."""
    timed = statement.time(*_WHEN)
    return timed.start.day if timed and timed.start else ""


def author_words(attribution: Attribution, named: str = "") -> str:
    """`mother (proxy, user-reported)`. `named` is what to call an author whom the attribution does not name."""
    author = attribution.author
    who = author.display or named or author.reference or "author not named"
    return f"{who} ({author.role.value}, {attribution.kind.value})"


def named_in_talk(graph: Graph, memory: Memory) -> str:
    """What the conversation calls the speaker: a name, else the relationship to the patient, else nothing."""
    session = graph.sessions.get(memory.session)
    turn = next((each.turn for each in session.messages if each.id == memory.message), None) if session else None
    return turn.name or turn.relationship if turn else ""


def put_clash(clash: Clash, *, indent: str = "") -> None:
    """One conflict with both sides and their authors."""
    put(f"{indent}{clash.about}: {listed(kind.replace('_', ' ') for kind in clash.kinds)}", style="bold")
    for stand in clash.stands:
        put_hanging(f"{indent}  -", f"{stand.says}: {'; '.join(map(str, stand.voices))}")


def clash_json(clash: Clash) -> dict[str, Any]:
    """A conflict as JSON."""
    return {
        "ids": list(clash.ids),
        "kinds": list(clash.kinds),
        "fact": clash.fact,
        "about": clash.about,
        "sides": [
            {
                "says": stand.says,
                "by": [
                    {"item": each.item, **attribution_json(each.attribution), "date": each.day, "source": each.source}
                    for each in stand.voices
                ],
            }
            for stand in clash.stands
        ],
    }
