"""What does a statement come to inside the fold? The statement with its resolved concept, author and moments.

Ties are broken by content (`digest`), never by id, so that two patients with the same content get the same graph.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.attribution import Attribution
from iamata.model.clinical_time import ClinicalTime, Clock, Timed
from iamata.model.coding import CodedText
from iamata.model.statement import Form, Kind, Polarity, Standing, Statement, Verification
from iamata.terminology.names import fold
from iamata.terminology.statuses import negation

_STATED = (Clock.ASSERTED, Clock.AUTHORED, Clock.ORDERED, Clock.ISSUED, Clock.STATUS_CHANGED, Clock.SIGNED)
_HAPPENED = (Clock.EFFECTIVE, Clock.OCCURRED, Clock.HANDED_OVER, Clock.ORDERED, Clock.AUTHORED, Clock.PLANNED)
_ENDED = frozenset(
    {Standing.INACTIVE, Standing.RESOLVED, Standing.STOPPED, Standing.COMPLETED, Standing.CANCELLED, Standing.NOT_DONE}
)
_RUNNING = frozenset({Standing.ACTIVE, Standing.ON_HOLD})


class Said(msgspec.Struct, frozen=True, gc=False):
    """A statement in the fold. `name` is its folded name, `keys` its normal codes, `groups` what the tables know it
    as, `sides` which sides of the body it names, `received_at` its first sighting; `happened` is when the thing itself
    was (effective, given, ordered), never when a message was prepared; `is_mention`: read out of a text, not sent."""

    statement: Statement
    concept: CodedText | None
    attribution: Attribution
    received_at: datetime
    name: str
    keys: frozenset[str]
    groups: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    happened: Timed | None = None
    is_mention: bool = False

    @property
    def id(self) -> str:
        return self.statement.id

    @property
    def digest(self) -> str:
        return self.statement.digest

    @property
    def kind(self) -> Kind:
        return self.statement.kind

    @property
    def source(self) -> str:
        return self.statement.provenance.source

    @property
    def stated_at(self) -> ClinicalTime | None:
        """When its author said so, else when it was; None for an undated statement."""
        timed = self.statement.time(*_STATED)
        if timed is None:
            timed = self.statement.time(Clock.EFFECTIVE, Clock.OCCURRED)
        return timed.start or timed.end if timed else None

    @property
    def stated_s(self) -> int | None:
        """The latest second at which it can have been said; None if undated."""
        at = self.stated_at
        return at.latest if at else None

    @property
    def denies(self) -> bool:
        """Its author denies it, or what it refers to is a "no known …"."""
        if self.statement.polarity is Polarity.DENIED:
            return True
        if self.statement.concept is not None or self.concept is None:
            return False
        found = negation(self.concept)
        return found is not None and found.denied

    @property
    def ended(self) -> bool:
        return self.statement.standing in _ENDED

    @property
    def running(self) -> bool:
        return self.statement.standing in _RUNNING

    @property
    def in_error(self) -> bool:
        return (
            self.statement.standing is Standing.ENTERED_IN_ERROR
            or self.statement.verification is Verification.ENTERED_IN_ERROR
        )


def said(
    statement: Statement,
    concept: CodedText | None,
    attribution: Attribution,
    received_at: datetime,
    groups: frozenset[str] = frozenset(),
    sides: frozenset[str] = frozenset(),
) -> Said:
    """Fold the name and collect the keys once."""
    return Said(
        statement,
        concept,
        attribution,
        received_at,
        fold(concept.display) if concept else "",
        frozenset(concept.keys) if concept else frozenset(),
        groups,
        sides,
        statement.time(*_HAPPENED),
        statement.form is Form.UNSTRUCTURED and statement.is_mention,
    )


def neutral_order(item: Said) -> tuple[bool, bool, int, int, str]:
    """Sorts the neutral pick first: what was sent before what was read out of a text, then latest said, then most
    complete, then content; undated ones last."""
    at = item.stated_s
    return (item.is_mention, at is None, -(at or 0), -len(item.statement.fields), item.digest)
