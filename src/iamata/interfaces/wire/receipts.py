"""How does a receipt look, and several as one? The contract answers one receipt for one request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from iamata.errors import InvalidValue
from iamata.interfaces.wire.lists import look_up
from iamata.interfaces.wire.values import Json, given, instant, instant_or_none
from iamata.model.document import IngestionStatus, IntakeLine, Outcome, Receipt, Reread

# Between the ids of a request that brought several transcripts. Not in any id of ours.
_AND = "."

SETTLED = frozenset({IngestionStatus.SUCCEEDED, IngestionStatus.PARTIAL, IngestionStatus.FAILED})


def split_id(id: str) -> list[str]:
    """The receipts that an ingestion id stands for: one, or one per transcript of a request."""
    return id.split(_AND)


def receipt(of: Receipt, *, lines: bool = False) -> Json:
    """One receipt. With `lines` (ours) every intake line with its place, as the connector wrote it."""
    return receipts([of], lines=lines)


def receipts(of: Sequence[Receipt], *, turns: Sequence[int] = (), lines: bool = False) -> Json:
    """The receipts of one request as one: counts added, intake in order, status the least settled.

    `turns`, when the request is at hand: how many turns each of its transcripts held. A stored receipt of a transcript
    has no intake lines, so later only the turns that were new are known.
    """
    if not of:
        raise InvalidValue("a request has at least one receipt")
    first = of[0]
    failed = [each for each in of if each.failure_code or each.failure]
    status = _status([each.status for each in of])
    wire = {
        "ingestionId": _AND.join(each.id for each in of),
        "source": look_up("receipt.source", first.format),
        "mimeType": first.media_type,
        "receivedAt": instant(min(each.received_at for each in of)),
        "status": status.value,
        "staged": {
            "facts": sum(each.staged.facts for each in of),
            "events": sum(each.staged.events for each in of),
            "narratives": sum(each.staged.narratives for each in of),
            "messages": sum(each.staged.messages for each in of),
        },
        "intake": [_intake(each, turns[index] if turns else None) for index, each in enumerate(of)],
        "startedAt": instant_or_none(min((each.started_at for each in of if each.started_at), default=None)),
        "completedAt": (
            instant_or_none(max((each.completed_at for each in of if each.completed_at), default=None))
            if status in SETTLED
            else None
        ),
        "failure": {"code": failed[0].failure_code or "FAILED", "message": failed[0].failure} if failed else None,
        "scope": first.subject.scope.value,
        "family": first.format,
        "system": first.source,
        "documentId": first.document or None,
        "sightings": sum(each.sightings for each in of),
        "warnings": [warning for each in of for warning in each.warnings],
    }
    if lines:
        wire["lines"] = [line(one) for each in of for one in each.intake]
    return wire


def _status(of: Sequence[IngestionStatus]) -> IngestionStatus:
    """Of several: what is still to do first, then whether all, some or none landed."""
    for open_status in (IngestionStatus.PROCESSING, IngestionStatus.PENDING):
        if open_status in of:
            return open_status
    return of[0] if len(set(of)) == 1 else IngestionStatus.PARTIAL


def _intake(of: Receipt, turns: int | None) -> Json:
    """The contract's intake item: the lines counted by kind, outcome and reason (by label too, where the unit is a
    section, whose kind alone does not read as one)."""
    unit = look_up("intake.unit", of.format, of.format.partition("/")[0])
    groups: Counter[tuple[str, str, str, str]] = Counter()
    received = len(of.intake)
    if of.session and not of.intake:
        received = of.staged.messages if turns is None else turns
        groups["message", Outcome.STRUCTURED.value, "", ""] = received
    for line in of.intake:
        label = line.label if unit == "section" else ""
        groups[line.kind or "unknown", line.outcome.value, line.reason.value, label] += 1
    entries = [
        given({"kind": kind, "label": label, "count": count, "outcome": outcome, "reason": reason})
        for (kind, outcome, reason, label), count in sorted(groups.items())
        if count
    ]
    return given({"unit": unit, "sessionId": of.session}) | {"received": received, "entries": entries}


def line(of: IntakeLine) -> Json:
    return given(
        {
            "kind": of.kind,
            "label": of.label,
            "place": of.place,
            "outcome": of.outcome.value,
            "reason": of.reason.value,
            "detail": of.detail,
        }
    )


def reread(of: Reread) -> Json:
    """What became of reading a patient's documents again."""
    return {
        "documents": of.documents,
        "changed": len(of.receipts),
        "ingestions": [receipt(each, lines=True) for each in of.receipts],
        "kept": [line(each) for each in of.kept],
        "talk": {
            "sessions": of.talk.sessions,
            "new": of.talk.new,
            "changed": of.talk.changed,
            "confirmed": of.talk.confirmed,
            "gone": of.talk.gone,
        },
    }
