"""Whose are the parts of a submission? One submission is one patient's; the others' are set aside, never formed.

Two PID are of one patient when they share a number of one authority; without any number, when name and birth are the
same. The submission's patient is the one most items are about; a tie is broken by the id the submission is filed
under; what stays a tie names nobody, and everything that names a patient is set aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from iamata.connectors.hl7v2.grouping import PatientGroup
from iamata.connectors.hl7v2.people import identifiers
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import person_name


def reasons(groups: Sequence[PatientGroup], subject_id: str) -> list[tuple[bool, str]]:
    """For each group: whether it is another patient's, and why it is not this patient's (empty if it is)."""
    keys = _keys(groups)
    votes: Counter[int] = Counter()
    names: dict[int, set[str]] = {}
    for group, key in zip(groups, keys, strict=True):
        if key is not None and group.patient is not None:
            votes[key] += sum(each.name not in ("MSH", "EVN") for each in group.groups)
            names.setdefault(key, set()).update(each.value for each in identifiers(group.patient.head))
    chosen = _chosen(votes, names, subject_id)
    found = []
    for key in keys:
        if key == chosen or not votes:
            found.append((False, ""))
        elif key is None:
            alone = len(votes) == 1
            found.append((False, "") if alone else (False, "names no patient, in a submission of several"))
        elif chosen is None:
            found.append((True, "of one of several patients that are named equally often"))
        else:
            found.append((True, "of another patient"))
    return found


def _chosen(votes: Counter[int], names: dict[int, set[str]], subject_id: str) -> int | None:
    if not votes:
        return None
    most = max(votes.values())
    leaders = [key for key, count in votes.items() if count == most]
    if len(leaders) > 1:
        leaders = [key for key in leaders if subject_id in names[key]]
    return leaders[0] if len(leaders) == 1 else None


def _keys(groups: Sequence[PatientGroup]) -> list[int | None]:
    """One number for each patient; None for a part that names none. Numbers are shared transitively."""
    parent: list[int] = list(range(len(groups)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    seen: dict[str, int] = {}
    told: list[bool] = []
    for index, group in enumerate(groups):
        marks = _marks(group.patient.head) if group.patient is not None else []
        told.append(group.patient is not None)
        for mark in marks:
            if mark in seen:
                parent[root(index)] = root(seen[mark])
            else:
                seen[mark] = index
    return [root(index) if told[index] else None for index in range(len(groups))]


def _marks(head: Segment) -> list[str]:
    """What tells a patient: the numbers of PID-3 and PID-2, else name and birth."""
    numbers = [str(each) for each in identifiers(head)]
    if numbers:
        return numbers
    return [f"{person_name(head.first(5)).casefold()}\0{head.text(7)[:8]}"]
