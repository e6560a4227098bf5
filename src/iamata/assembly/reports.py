"""What became different between two graphs: which facts came, went or changed, which merges and conflicts?

A pure function of the two. It compares content and statement ids, never order, keys or versions. Not here: how a report
looks, or what one graph alone comes to (`interfaces.wire`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict
from iamata.model.difference import Difference, FactChange, FieldChange, Named, Regrouping
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.memory import Memory
from iamata.model.statement import Component, Value


def difference(before: Graph, after: Graph) -> Difference:
    """What is in `after` that was not in `before`, and the other way round. Empty for graphs with the same content."""
    earlier, later = _sharing(before, after)
    paired: list[tuple[Fact, Fact]] = []
    merged, parted = [], []
    for id, fact in after.facts.items():
        ends = sorted(earlier.get(id, ()))
        if len(ends) > 1:
            merged.append(_regrouping(fact, [before.facts[end] for end in ends]))
        elif ends and len(later[ends[0]]) == 1:
            paired.append((before.facts[ends[0]], fact))
    for id, ends_of in later.items():
        if len(ends_of) > 1:
            parted.append(_regrouping(before.facts[id], [after.facts[end] for end in sorted(ends_of)]))
    gone, added = _unlike(
        [fact for id, fact in before.facts.items() if id not in later],
        [fact for id, fact in after.facts.items() if id not in earlier],
    )
    opened, closed = _conflicts(before, after)
    return Difference(
        added=tuple(sorted(map(_named, added))),
        gone=tuple(sorted(map(_named, gone))),
        changed=tuple(
            sorted(
                (change for pair in paired if (change := _change(*pair)) is not None), key=lambda change: change.fact
            )
        ),
        merged=tuple(sorted(merged, key=lambda each: each.whole)),
        parted=tuple(sorted(parted, key=lambda each: each.whole)),
        conflicts_opened=tuple(opened),
        conflicts_closed=tuple(closed),
        memories_added=_memories(after.memories, before.memories),
        memories_gone=_memories(before.memories, after.memories),
    )


def _statements(fact: Fact) -> tuple[str, ...]:
    return tuple(sorted({*fact.members, *(item for item, _ in fact.history)}))


def _named(fact: Fact) -> Named:
    return Named(fact.kind, fact.display, fact.id, _statements(fact))


def _sharing(before: Graph, after: Graph) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Fact of `after` → the facts of `before` with which it shares a statement, and the other way round."""
    owner = {item: fact.id for fact in before.facts.values() for item in _statements(fact)}
    earlier: dict[str, set[str]] = {}
    later: dict[str, set[str]] = {}
    for fact in after.facts.values():
        for item in _statements(fact):
            if item in owner:
                earlier.setdefault(fact.id, set()).add(owner[item])
                later.setdefault(owner[item], set()).add(fact.id)
    return earlier, later


def _unlike(gone: Sequence[Fact], added: Sequence[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Both without the pairs of which all content is equal: they are one thing under two keys."""
    gone_now, added_now = Counter(map(_content, gone)), Counter(map(_content, added))
    return _left_over(gone, added_now), _left_over(added, gone_now)


def _left_over(facts: Iterable[Fact], others: Counter[tuple[str, ...]]) -> list[Fact]:
    found = []
    for fact in facts:
        key = _content(fact)
        if others[key] > 0:
            others[key] -= 1
        else:
            found.append(fact)
    return found


def _content(fact: Fact) -> tuple[str, ...]:
    return fact.kind.value, fact.digest, *(f"{name}\t{said}" for name, said in sorted(_said(fact).items()))


def _regrouping(whole: Fact, parts: Iterable[Fact]) -> Regrouping:
    return Regrouping(_named(whole), tuple(sorted(map(_named, parts))), whole.rule, whole.quality)


def _change(before: Fact, after: Fact) -> FactChange | None:
    """What a fact says now that it did not; None if it says the same on the same statements."""
    then, now = _said(before), _said(after)
    fields = tuple(
        FieldChange(name, then.get(name, ""), now.get(name, ""))
        for name in sorted({*then, *now})
        if then.get(name, "") != now.get(name, "")
    )
    had, has = set(_statements(before)), set(_statements(after))
    if not fields and had == has:
        return None
    return FactChange(_named(after), before.id, fields, tuple(sorted(has - had)), tuple(sorted(had - has)))


def _said(fact: Fact) -> dict[str, str]:
    """Everything a fact says by the name of the field, as a reader would put it. What is not said is left out."""
    found = {
        "display": fact.display,
        "standing": fact.standing.value,
        "verification": fact.verification.value,
        "polarity": fact.polarity.value,
        "currency": fact.currency.value,
        "when": str(fact.when.at) if fact.when else "",
    }
    for field in fact.fields:
        found[field.name] = _text(field.value)
    parts: dict[str, list[str]] = {}
    for part in fact.components:
        parts.setdefault(f"part: {part.concept.display}", []).append(_part(part))
    found |= {name: ", ".join(sorted(values)) for name, values in parts.items()}
    return {name: said for name, said in found.items() if said}


def _part(part: Component) -> str:
    return _text(part.value) or part.absent or "named"


def _text(value: Value | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case CodedText():
            return value.display
        case _:
            return str(value)


def _conflicts(before: Graph, after: Graph) -> tuple[list[Conflict], list[Conflict]]:
    """Those opened, and those closed: by what they say of what, not by id, which follows the members."""
    then = [*before.conflicts.values(), *before.spoken_conflicts()]
    now = [*after.conflicts.values(), *after.spoken_conflicts()]
    opened = _without(now, Counter(_about(each, before) for each in then), after)
    closed = _without(then, Counter(_about(each, after) for each in now), before)
    return opened, closed


def _without(conflicts: Iterable[Conflict], others: Counter[tuple[str, ...]], graph: Graph) -> list[Conflict]:
    found = []
    for each in sorted(conflicts, key=lambda conflict: conflict.id):
        key = _about(each, graph)
        if others[key] > 0:
            others[key] -= 1
        else:
            found.append(each)
    return found


def _about(conflict: Conflict, graph: Graph) -> tuple[str, ...]:
    fact = graph.facts.get(conflict.fact)
    of = (fact.kind.value, fact.display) if fact is not None else ("", "")
    return (*of, conflict.kind.value, conflict.field, *sorted(side.says for side in conflict.sides))


def _memories(of: Mapping[str, Memory], others: Mapping[str, Memory]) -> tuple[str, ...]:
    """The ids of those that the others do not have, by id or else by what was said: kind, quote and speaker."""
    left = Counter((m.kind, m.quote, m.attribution.author.role) for id, m in others.items() if id not in of)
    found = []
    for id in sorted(of.keys() - others.keys()):
        key = (of[id].kind, of[id].quote, of[id].attribution.author.role)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(id)
    return tuple(found)
