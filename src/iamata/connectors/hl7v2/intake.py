"""What became of every segment? One line for each, with the fields that were left unread."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.connectors.hl7v2.context import Context
from iamata.connectors.hl7v2.decoding import Document, Message
from iamata.connectors.hl7v2.drafts import Draft, Text
from iamata.connectors.hl7v2.grouping import Group, PatientGroup
from iamata.connectors.hl7v2.segments import Segment
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.statement import Kind

# How many unread fields of a segment are named.
_NAMED: Final = 12
# Characters of a label.
_LABEL: Final = 80
# Kinds whose concept may be a person's own words: their lines name the segment only.
_UNNAMED: Final = frozenset({Kind.PERSON, Kind.DEMOGRAPHIC})


class Account:
    """Collects what becomes of each segment; `lines` gives them in document order."""

    def __init__(self) -> None:
        self._lines: dict[str, list[IntakeLine]] = {}
        self.warnings: list[str] = []

    def lines(self, document: Document) -> tuple[IntakeLine, ...]:
        """The lines of every segment, in the order of the document; headers of batches first."""
        found: list[IntakeLine] = []
        for segment in (*document.envelope, *(s for message in document.messages for s in message.segments)):
            found += self._lines.get(segment.place, [_line(segment, "segment", Outcome.IGNORED, Reason.UNSUPPORTED)])
        return tuple(found)

    def envelope(self, segment: Segment) -> None:
        if segment.name in ("FHS", "BHS", "BTS", "FTS"):
            line = _line(segment, "batch", Outcome.STRUCTURED, detail="says where a batch begins or ends")
        else:
            detail = "stands outside every message"
            line = _line(segment, "segment", Outcome.IGNORED, Reason.UNUSABLE, detail=detail)
        self._lines[segment.place] = [line]

    def unusable(self, message: Message) -> None:
        for segment in message.segments:
            self._lines[segment.place] = [
                _line(segment, "message", Outcome.IGNORED, Reason.UNUSABLE, detail=message.fault)
            ]
        self.warnings.append(f"/{message.number}: {message.fault}")

    def set_aside(self, part: PatientGroup, reason: str, other: bool) -> int:
        """How many items of another patient were set aside."""
        for segment in part.segments:
            self._lines[segment.place] = [_line(segment, "segment", Outcome.IGNORED, Reason.UNUSABLE, detail=reason)]
        return sum(1 for group in part.groups if group.name not in ("MSH", "EVN")) if other else 0

    def structured(self, draft: Draft, group: Group, touched: Iterable[tuple[Segment, int]]) -> None:
        """An item was read from its head; what else it was read from is noted when the part is done."""
        line = IntakeLine(
            str(draft.kind), draft.head.place, Outcome.STRUCTURED, label=_label(draft), detail="; ".join(draft.left)
        )
        lines = self._lines.setdefault(draft.head.place, [])
        if not any(each.kind == line.kind and each.detail == line.detail for each in lines):
            lines.append(line)

    def text(self, text: Text) -> None:
        """A segment was read as text only."""
        for segment in text.segments:
            if segment.place not in self._lines:
                self._lines[segment.place] = [_line(segment, _kind_of(segment), Outcome.TEXT_ONLY)]

    def part(self, part: PatientGroup, context: Context) -> None:
        """Lines for the segments of a part that made no item of their own, and the fields that were not read."""
        owners = {id(s): group.head.place for group in part.groups for s in group.attached}
        for segment in part.segments:
            lines = self._lines.get(segment.place)
            if lines is None:
                self._lines[segment.place] = [self._beside(segment, owners.get(id(segment), ""), context)]
                continue
            unread = _unread(segment)
            if unread:
                first = lines[0]
                detail = "; ".join(filter(None, (first.detail, unread)))
                lines[0] = IntakeLine(first.kind, first.place, first.outcome, first.reason, first.label, detail)

    def _beside(self, segment: Segment, owner: str, context: Context) -> IntakeLine:
        if segment.name == "MSH":
            label = f"MSH {context.code}^{context.trigger}".rstrip("^")
            return IntakeLine("message", segment.place, Outcome.STRUCTURED, label=label)
        if segment.name == "EVN":
            return _line(segment, "message", Outcome.STRUCTURED, detail="says which event the message tells")
        if segment.says_nothing():
            return _line(segment, _kind_of(segment), Outcome.IGNORED, Reason.EMPTY, detail="says nothing")
        if segment.name.startswith("Z"):
            detail = "a local segment: kept in the document, not read"
            return _line(segment, "segment", Outcome.IGNORED, Reason.UNSUPPORTED, detail=detail)
        if segment.name == "ARV":
            return _line(segment, "label", Outcome.STRUCTURED, detail="an access restriction: read as labels")
        if segment.used - {1} and segment.name != "OBX":
            said = f"read with {owner}" if owner else "read with what it stands beside"
            detail = "; ".join(filter(None, (said, _unread(segment))))
            return _line(segment, _kind_of(segment), Outcome.STRUCTURED, detail=detail)
        detail = "kept in the document, not read"
        if segment.name == "OBX" and segment.peek(2).upper() in ("ED", "RP", "AD"):
            detail = "an attachment: kept in the document, not read; what it points to is not fetched"
        elif segment.name == "OBX" and not segment.peek(5).strip():
            return _line(
                segment, "observation", Outcome.IGNORED, Reason.EMPTY, detail="no value, and no reason for that"
            )
        elif segment.name == "OBX" and segment.used - {1}:
            detail = "text that is withdrawn by its status: kept in the document, not read"
        return _line(segment, "segment", Outcome.IGNORED, Reason.UNSUPPORTED, detail=detail)


def _line(
    segment: Segment, kind: str, outcome: Outcome, reason: Reason = Reason.NONE, *, detail: str = ""
) -> IntakeLine:
    return IntakeLine(kind, segment.place, outcome, reason, label=segment.name, detail=detail)


def _kind_of(segment: Segment) -> str:
    return "note" if segment.name == "NTE" else "text" if segment.name == "OBX" else "segment"


def _label(draft: Draft) -> str:
    """The segment, and what its code says: of concepts with a code only, never words alone."""
    if draft.kind in _UNNAMED or draft.concept is None:
        return draft.head.name
    coding = next(iter(draft.concept.codings), None)
    said = " ".join((coding.display or coding.code).split()) if coding is not None and coding.code else ""
    return f"{draft.head.name} {said[:_LABEL]}".strip()


def _unread(segment: Segment) -> str:
    numbers = list(segment.unread())
    if not numbers:
        return ""
    named = ", ".join(f"{segment.name}-{number}" for number in numbers[:_NAMED])
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return f"not read: {named}{more}"
