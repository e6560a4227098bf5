"""Which segments of a message belong together? A head and what is attached to it, by order of standing.

HL7 v2 groups by position: an ORC opens an order, what follows details it, notes stand below what they are of. The same
rules serve all message types, so that a segment in an unusual place is still read. Not here: what a group says.
"""

from __future__ import annotations

from typing import Final

import msgspec

from iamata.connectors.hl7v2.segments import Segment

# Segments that open an item of their own.
ORDERED: Final = frozenset({"OBR", "RXO", "RXE", "RXD", "RXG", "RXA", "ODS", "ODT", "RQD"})
HEADS: Final = ORDERED | frozenset(
    {
        *("PID", "PV1", "ORC", "OBX", "AL1", "IAM", "DG1", "PRB", "GOL", "PTH", "PR1", "IN1", "GT1", "NK1", "FT1"),
        *("SCH", "TXA", "SPM", "MRG", "RF1", "PDA", "EVN", "MSH"),
    }
)
# Segments that say more of the nearest head of one of these names.
_ATTACHED: Final[dict[str, frozenset[str]]] = {
    "PD1": frozenset({"PID"}),
    "PV2": frozenset({"PV1"}),
    "IN2": frozenset({"IN1"}),
    "IN3": frozenset({"IN1"}),
    "RXR": ORDERED,
    "RXC": ORDERED,
    "TQ1": ORDERED | {"ORC", "SCH"},
    "TQ2": ORDERED | {"ORC", "SCH"},
    "IAR": frozenset({"IAM"}),
    "RGS": frozenset({"SCH"}),
    "AIS": frozenset({"SCH"}),
    "AIG": frozenset({"SCH"}),
    "AIL": frozenset({"SCH"}),
    "AIP": frozenset({"SCH"}),
    "PRD": frozenset({"RF1"}),
    "ROL": frozenset({"PID", "PV1", "PRB", "GOL", "PTH", "PR1", "OBR", "ORC"}),
}
# Segments that are of whatever stands before them.
_FOLLOWING: Final = frozenset({"NTE", "PRT", "VAR"})


class Group(msgspec.Struct, eq=False):
    """A head with its attached segments in order. `order` is the ORC it stands under, `parent` what an OBX details,
    `specimen` the SPM of a result. `members` are the OBX of a parent."""

    head: Segment
    attached: list[Segment] = []
    order: Group | None = None
    parent: Group | None = None
    specimen: Segment | None = None
    members: list[Group] = []
    siblings: list[Group] = []  # of an ORC: its items
    # Worked out once (`results`): the runs of narrative below it, whether it is reported, whether it is narrative.
    narrative: list[list[Group]] | None = None
    reported: bool | None = None
    narrates: bool = False

    @property
    def name(self) -> str:
        return self.head.name

    def all(self, name: str) -> list[Segment]:
        """The attached segments of this name; those of its ORC where it has none of its own."""
        own = [segment for segment in self.attached if segment.name == name]
        if not own and self.order is not None and name in ("TQ1", "TQ2"):
            return self.order.all(name)
        return own

    def first(self, name: str) -> Segment | None:
        return next(iter(self.all(name)), None)


class PatientGroup(msgspec.Struct, eq=False):
    """What a message says under one PID: `patient` is None in a message that names none."""

    patient: Group | None = None
    groups: list[Group] = []
    segments: list[Segment] = []

    def first(self, name: str) -> Group | None:
        return next((group for group in self.groups if group.name == name), None)


class _Walk:
    """Where we are in the message: the latest of each head, the order that is open, the specimen that holds."""

    def __init__(self) -> None:
        self.latest: dict[str, Group] = {}
        self.last: Group | None = None
        self.order: Group | None = None
        self.detail: Group | None = None


def patients(segments: tuple[Segment, ...]) -> list[PatientGroup]:
    """The groups of a message by patient. What stands before the first PID belongs to it."""
    found = [PatientGroup()]
    walk = _Walk()
    for segment in segments:
        current = found[-1]
        if segment.name == "PID":
            if current.patient is not None:
                current = PatientGroup()
                found.append(current)
            walk = _renewed(walk, current)
        current.segments.append(segment)
        group = _place(segment, walk)
        if group is not None:
            current.groups.append(group)
            if segment.name == "PID":
                current.patient = group
    for patient in found:
        _specimens(patient.groups)
    return found


def _renewed(walk: _Walk, current: PatientGroup) -> _Walk:
    """A new patient ends what was open, but for what stands before the first PID (SCH, RF1)."""
    return _Walk() if not current.groups else walk


def _place(segment: Segment, walk: _Walk) -> Group | None:
    """Attach the segment to what is open and return None, or return the group that it opens."""
    name = segment.name
    if name in _FOLLOWING:
        if walk.last is not None:
            walk.last.attached.append(segment)
        return None
    owners = _ATTACHED.get(name)
    if owners is not None:
        owner = _owner(owners, walk)
        if owner is not None:
            owner.attached.append(segment)
            walk.last = owner
            return None
    if name not in HEADS:
        return None
    group = Group(segment)
    if name == "ORC":
        walk.order, walk.detail = group, None
    elif name in ORDERED:
        group.order = walk.order if _opens(name, walk) else None
        if group.order is not None:
            group.order.siblings.append(group)
        walk.detail = group
    elif name == "TXA":
        walk.detail = group
    elif name == "OBX":
        group.parent = walk.detail
        if walk.detail is not None:
            walk.detail.members.append(group)
    elif name in ("PID", "FT1", "RF1"):
        walk.order = walk.detail = None
    walk.latest.pop(name, None)  # so that the latest stands last
    walk.latest[name] = group
    walk.last = group
    return group


def _opens(name: str, walk: _Walk) -> bool:
    """Does the open ORC cover this detail? A second OBR under one ORC has none of its own."""
    if walk.order is None:
        return False
    return all(sibling.name != name for sibling in walk.order.siblings) or name in ("RXA", "RXD", "RXG")


def _owner(names: frozenset[str], walk: _Walk) -> Group | None:
    """The latest open head of one of these names."""
    if walk.last is not None and walk.last.name in names:
        return walk.last
    if walk.detail is not None and walk.detail.name in names:
        return walk.detail
    if walk.order is not None and "ORC" in names:
        return walk.order
    candidates = [group for name, group in walk.latest.items() if name in names]
    return candidates[-1] if candidates else None


def _specimens(groups: list[Group]) -> None:
    """Give each OBR and its OBX their specimen: the SPM below the OBR, or, where a specimen stands before the first
    order (OUL, OML_O33), the SPM above it."""
    ordered = [group for group in groups if group.name in ("OBR", "SPM")]
    above = bool(ordered) and ordered[0].name == "SPM"
    held: Segment | None = None
    latest: Group | None = None
    for group in ordered:
        if group.name == "SPM":
            held = group.head
            if not above and latest is not None and latest.specimen is None:
                latest.specimen = held
        else:
            latest = group
            if above:
                group.specimen = held
    for group in ordered:
        for member in group.members:
            member.specimen = group.specimen
