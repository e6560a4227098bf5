"""Which segments of a transaction belong together? Hierarchical levels, the parties named in them, repeating loops.

Not here: what they say. Loops are told by the segment that begins them (005010 implementation guides).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from iamata.connectors.x12.decoding import Segment

# What follows an NM1 or N1 and belongs to it.
PARTY_PARTS = frozenset({"N2", "N3", "N4", "PER", "REF", "PRV", "DMG", "TAX"})
# In the loops of an 835 claim a REF after a party is the claim's again.
BARE_PARTY_PARTS = frozenset({"N2", "N3", "N4"})


class Party(msgspec.Struct, gc=False):
    """A person or organization named by NM1 or N1, with the segments that describe it."""

    name: Segment
    parts: list[Segment]

    @property
    def code(self) -> str:
        """In what capacity it is named: NM101, N101 (`85` billing provider, `PR` payer …)."""
        return self.name.get(1)

    @property
    def segments(self) -> list[Segment]:
        return [self.name, *self.parts]


class Split(msgspec.Struct):
    """Segments of one loop: its parties, and all others, each in file order."""

    parties: list[Party]
    others: list[Segment]

    def party(self, *codes: str) -> Party | None:
        """The first party with the first of these codes that there is."""
        for code in codes:
            for party in self.parties:
                if party.code == code:
                    return party
        return None

    def all(self, id: str, *qualifiers: str) -> list[Segment]:
        """The segments with this id and, if given, one of these first elements."""
        return [s for s in self.others if s.id == id and (not qualifiers or s.get(1) in qualifiers)]

    def first(self, id: str, *qualifiers: str) -> Segment | None:
        return next(iter(self.all(id, *qualifiers)), None)


class Level(msgspec.Struct):
    """One hierarchical level (HL): `code` says of what (20 source, 21 receiver, 19 provider, 22 subscriber …)."""

    start: Segment | None
    code: str
    parent: Level | None
    segments: list[Segment]

    def above(self, *codes: str) -> Level | None:
        """The nearest level with one of these codes: this one, else one that holds it."""
        level: Level | None = self
        while level is not None and level.code not in codes:
            level = level.parent
        return level


def split(segments: Sequence[Segment], parts: Collection[str] = PARTY_PARTS) -> Split:
    """Tell parties from the rest; a segment that is no part of the party before it ends it."""
    found = Split([], [])
    party: Party | None = None
    for segment in segments:
        if segment.id in ("NM1", "N1"):
            party = Party(segment, [])
            found.parties.append(party)
        elif party is not None and segment.id in parts:
            party.parts.append(segment)
        else:
            party = None
            found.others.append(segment)
    return found


def levels(segments: Sequence[Segment]) -> tuple[list[Segment], list[Level]]:
    """The header before the first HL, and the levels in file order. A parent that is not there counts as none."""
    header: list[Segment] = []
    found: list[Level] = []
    by_id: dict[str, Level] = {}
    for segment in segments:
        if segment.id == "HL":
            level = Level(segment, segment.get(3), by_id.get(segment.get(2)), [])
            by_id[segment.get(1)] = level
            found.append(level)
        else:
            (found[-1].segments if found else header).append(segment)
    return header, found


def loops(segments: Sequence[Segment], *starts: str) -> tuple[list[Segment], list[list[Segment]]]:
    """The segments before the first loop, and the loops, each beginning with one of the `starts`."""
    before: list[Segment] = []
    found: list[list[Segment]] = []
    for segment in segments:
        if segment.id in starts:
            found.append([segment])
        else:
            (found[-1] if found else before).append(segment)
    return before, found
