"""Which labels does a message put on its items? MSH-26 and 27, ARV, and ORC-28 for what stands under its order.

MSH-26, MSH-27 and ORC-28 are labels of the resource in HL7's v2-to-FHIR mapping (8c9b414); ARV restricts access to the
values of table 0717 (HL7 v2.6 3.4.14), each to the items that `hl7v2_restrictions.tsv` says. A value that the table
does not know restricts everything. Not here: what a label means (`policy`); TXA-18 (`documents`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.segments import Segment
from iamata.model.statement import Kind, Label
from iamata.terminology import security
from iamata.terminology.tables import rows

ARV_VALUES: Final = "http://terminology.hl7.org/CodeSystem/v2-0717"
ORDER_VALUES: Final = "http://terminology.hl7.org/CodeSystem/v2-0177"
_DELETED: Final = "D"  # HL7 table 0206: the restriction is taken back
_EVERYTHING: Final = "*"
_NOTHING: Final = "-"
_CLASSIFICATION, _HANDLING, _ORDER_CONFIDENTIALITY = 26, 27, 28


class Restrictions:
    """The labels of one patient's part of a message."""

    def __init__(self, header: Segment, segments: Iterable[Segment]) -> None:
        self._all = {*_coded(header, _CLASSIFICATION), *_coded(header, _HANDLING)}
        self._of_kind: dict[str, set[Label]] = {}
        for segment in segments:
            if segment.name == "ARV" and segment.text(2).upper() != _DELETED and (value := segment.text(3).upper()):
                kinds = _kinds().get(value, _EVERYTHING)
                for kind in kinds.split(",") if kinds != _NOTHING else ():
                    self._of_kind.setdefault(kind, set()).add(Label(ARV_VALUES, value))
                self._all |= {*_coded(segment, 7), *_coded(segment, 8)}

    def of(self, kind: Kind, group: Group) -> tuple[Label, ...]:
        """The labels of an item of this kind, made of this group; sorted."""
        found = self._all | self._of_kind.get(_EVERYTHING, set()) | self._of_kind.get(str(kind), set())
        order = _order(group)
        if order is not None and (value := order.text(_ORDER_CONFIDENTIALITY).upper()):
            found = found | {Label(ORDER_VALUES, value)}
        return tuple(sorted(found))


def _order(group: Group) -> Segment | None:
    """The ORC that a group is, or stands under with what it details."""
    at: Group | None = group
    while at is not None:
        if at.name == "ORC":
            return at.head
        if at.order is not None:
            return at.order.head
        at = at.parent
    return None


def _coded(segment: Segment, number: int) -> list[Label]:
    """The codes of a field that are labels of HL7 v3."""
    codes = [part for part in segment.text(number, 1).split("&") if part]
    return [known for code in codes if (known := security.known(code)) is not None]


@cache
def _kinds() -> dict[str, str]:
    return {row["value"]: row["kinds"] for row in rows("hl7v2_restrictions")}
