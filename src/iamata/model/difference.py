"""What became different between two graphs of a patient: two moments, or two ways in which the same was received."""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import check_aware
from iamata.model.conflict import Conflict
from iamata.model.decision import Quality
from iamata.model.graph import Graph
from iamata.model.statement import Kind


class Named(msgspec.Struct, frozen=True, order=True, gc=False):
    """A fact as a reader would put it, with its id in the graph that has it and its statements there, sorted."""

    kind: Kind
    display: str
    id: str
    statements: tuple[str, ...] = ()


class FieldChange(msgspec.Struct, frozen=True, order=True, gc=False):
    """One field before and after, as a reader would put it; empty where it was not there. Names are those of
    `Fact.fields`, a part as `part: NAME`, and `display`, `standing`, `verification`, `polarity`, `currency`, `when`."""

    name: str
    before: str
    after: str


class FactChange(msgspec.Struct, frozen=True, gc=False):
    """A fact that is in both graphs and says something else. `joined` and `left` are statements that it gained and
    lost, sorted; `before` is its id then (another one if its smallest statement changed)."""

    fact: Named
    before: str
    fields: tuple[FieldChange, ...] = ()
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Regrouping(msgspec.Struct, frozen=True, gc=False):
    """Statements of several facts are one now, or those of one are several: `whole` is the one, `parts` the others, by
    kind, display and id. `rule` and `quality` are those by which the one was merged."""

    whole: Named
    parts: tuple[Named, ...]
    rule: str
    quality: Quality


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What became different. Facts and events are sorted by kind, display and id, conflicts by id, memories by id.

    A fact of the one graph is a fact of the other if they share a statement or, where ids differ (another key), all of
    their content. Facts that a merge made or undid are in `merged` or `parted` and in no other list.
    """

    added: tuple[Named, ...] = ()
    gone: tuple[Named, ...] = ()
    changed: tuple[FactChange, ...] = ()
    merged: tuple[Regrouping, ...] = ()
    parted: tuple[Regrouping, ...] = ()
    conflicts_opened: tuple[Conflict, ...] = ()
    conflicts_closed: tuple[Conflict, ...] = ()
    memories_added: tuple[str, ...] = ()
    memories_gone: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Difference()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A graph for a reader's account of it, and what became different since a moment, if one was given."""

    graph: Graph
    since: datetime | None = None
    changes: Difference | None = None

    def __post_init__(self) -> None:
        check_aware("since", self.since)
