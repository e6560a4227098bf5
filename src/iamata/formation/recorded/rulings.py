"""Which of people's rulings hold, and what do they say of the statements at hand? A ruling names records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from iamata.formation.recorded.comparison import Comparison
from iamata.formation.recorded.said import Said
from iamata.model.decision import Evidence, Quality, Verdict
from iamata.model.memory import Memory
from iamata.model.ruling import MEMORY_RULINGS, RecordRef, Ruling, RulingKind

PERSON = "person"


class Rulings(msgspec.Struct, frozen=True):
    """The rulings in force. `pairs` by the two records, sorted; `right` (record, field) of the value that is right;
    `foreign` the sources that are of another person, `memories` what is refused or hidden, `past_memories` what is no
    longer true of what was said; `over` the records that are no longer true, with when that was decided."""

    pairs: Mapping[tuple[RecordRef, RecordRef], Ruling]
    right: frozenset[tuple[RecordRef, str]]
    foreign: frozenset[str]
    memories: tuple[Ruling, ...] = ()
    past_memories: tuple[Ruling, ...] = ()
    over: Mapping[RecordRef, datetime] = {}

    def about(self, left: Said, right: Said) -> Ruling | None:
        """What a person said of this pair, if anything."""
        if not self.pairs:
            return None
        a, b = sorted((RecordRef.of(left.statement), RecordRef.of(right.statement)))
        return self.pairs.get((a, b))

    def hides(self, memory: Memory) -> Ruling | None:
        """The ruling by which a memory is refused or hidden, if there is one."""
        return next((each for each in self.memories if each.memory and each.memory.covers(memory)), None)

    def is_over(self, items: Iterable[Said]) -> bool:
        """Did a person say that this is no longer true, and has nobody stood behind it since? What was received later
        counts again."""
        if not self.over:
            return False
        items = list(items)
        decided = [at for item in items if (at := self.over.get(RecordRef.of(item.statement))) is not None]
        return bool(decided) and all(item.received_at <= max(decided) for item in items)

    def is_past(self, memory: Memory) -> bool:
        """Did a person say that what this memory says is no longer true?"""
        return any(each.memory.covers(memory) for each in self.past_memories if each.memory)

    def is_right(self, item: Said, field: str) -> bool:
        """Did a person say that this statement's value of the field is the right one?"""
        return bool(self.right) and (RecordRef.of(item.statement), field) in self.right


def in_force(rulings: Iterable[Ruling], known_at: datetime | None) -> Rulings:
    """Those decided by then and not withdrawn by then; of two on one pair the later counts, ties by id."""
    known = [r for r in rulings if known_at is None or r.decided_at <= known_at]
    withdrawn = {r.withdraws for r in known if r.kind is RulingKind.WITHDRAWN}
    pairs: dict[tuple[RecordRef, RecordRef], Ruling] = {}
    right: dict[tuple[RecordRef, str], Ruling] = {}
    foreign: set[str] = set()
    memories: list[Ruling] = []
    past_memories: list[Ruling] = []
    over: dict[RecordRef, datetime] = {}
    for ruling in sorted(known, key=lambda r: (r.decided_at, r.id)):
        if ruling.id in withdrawn:
            continue
        if ruling.kind is RulingKind.MEMORY_NO_LONGER_TRUE:
            past_memories.append(ruling)
        elif ruling.kind in MEMORY_RULINGS:
            memories.append(ruling)
        if ruling.left is None:
            continue
        match ruling.kind:
            case RulingKind.SAME | RulingKind.NOT_SAME if ruling.right is not None:
                a, b = sorted((ruling.left, ruling.right))
                pairs[a, b] = ruling
            case RulingKind.VALUE_IS_RIGHT:
                right[ruling.left, ruling.field] = ruling
            case RulingKind.NOT_THIS_PATIENT:
                foreign.add(ruling.left.source)
            case RulingKind.NO_LONGER_TRUE:
                over[ruling.left] = ruling.decided_at
    return Rulings(pairs, frozenset(right), frozenset(foreign), tuple(memories), tuple(past_memories), over)


def comparisons(rulings: Rulings, items: Iterable[Said]) -> list[Comparison]:
    """The pairs that people ruled on, among these statements, as comparisons that nothing overrules."""
    if not rulings.pairs:
        return []
    by_record: dict[RecordRef, Said] = {RecordRef.of(item.statement): item for item in items}
    found = []
    for (a, b), ruling in sorted(rulings.pairs.items()):
        left, right = by_record.get(a), by_record.get(b)
        if left is None or right is None or left.kind is not right.kind:
            continue
        same = ruling.kind is RulingKind.SAME
        evidence = (Evidence(PERSON, "equal" if same else "different", ruling.by, ruling.reason),)
        verdict = Verdict.MERGE if same else Verdict.REJECT
        found.append(
            Comparison(left, right, verdict, Quality.CONFIRMED, PERSON, evidence, apart=not same, ruling=ruling)
        )
    return found
