"""Which transactions do the segments make up, and do their counts and control numbers agree?

A wrong count is a warning, never a refusal: what was sent is read. Not here: what a transaction says.
"""

from __future__ import annotations

import msgspec

from iamata.connectors.x12.decoding import Segment, other_component
from iamata.errors import BadInput


class Transaction(msgspec.Struct, kw_only=True):
    """One transaction set. `body` are the segments between ST and SE; `guide` is its implementation guide as named in
    ST03, else in GS08 (`005010X222A1`)."""

    type: str
    guide: str
    start: Segment
    body: list[Segment]
    interchange: Segment
    group: Segment | None
    end: Segment | None = None

    @property
    def place(self) -> str:
        last = self.end or (self.body[-1] if self.body else self.start)
        return f"segments/{self.start.number}-{last.number}"


class Envelopes(msgspec.Struct):
    """Transactions in file order, segments that are in none (with TA1), envelope segments, and warnings (places)."""

    transactions: list[Transaction]
    loose: list[Segment]
    envelope: list[Segment]
    warnings: list[str]


def envelopes(segments: list[Segment]) -> Envelopes:
    """Group segments by ISA/IEA, GS/GE and ST/SE. Raises BadInput if there is no transaction at all."""
    found = Envelopes([], [], [], [])
    interchange: Segment | None = None
    group: Segment | None = None
    transaction: Transaction | None = None
    groups = transactions = 0

    def unended(what: str, start: Segment) -> None:
        found.warnings.append(f"{start.place}: this {what} does not end")

    for segment in segments:
        if segment.id == "ISA":
            if transaction is not None:
                unended("transaction", transaction.start)
            if group is not None:
                unended("group", group)
            if interchange is not None:
                unended("interchange", interchange)
            interchange, group, transaction, groups, transactions = segment, None, None, 0, 0
        elif segment.id == "GS" and transaction is None:
            if group is not None:
                unended("group", group)
            group, transactions = segment, 0
            groups += 1
        elif segment.id == "ST" and interchange is not None:
            if transaction is not None:
                unended("transaction", transaction.start)
            guide = segment.get(3) or (group.get(8) if group else "")
            transaction = Transaction(
                type=segment.get(1), guide=guide, start=segment, body=[], interchange=interchange, group=group
            )
            transactions += 1
            found.transactions.append(transaction)
            if group is None:
                found.warnings.append(f"{segment.place}: a transaction outside of any group")
        elif segment.id == "SE" and transaction is not None:
            transaction.end = segment
            _check(segment, len(transaction.body) + 2, transaction.start.get(2), "segments", "ST", found.warnings)
            transaction = None
        elif segment.id == "GE" and group is not None and transaction is None:
            _check(segment, transactions, group.get(6), "transactions", "GS", found.warnings)
            group = None
        elif segment.id == "IEA" and interchange is not None and transaction is None:
            if group is not None:
                unended("group", group)
            _check(segment, groups, interchange.get(13), "groups", "ISA", found.warnings)
            interchange = group = None
        elif transaction is not None:
            transaction.body.append(segment)
            continue
        else:
            found.loose.append(segment)
            continue
        found.envelope.append(segment)
    if transaction is not None:
        unended("transaction", transaction.start)
    if interchange is not None:
        unended("interchange", interchange)
    if not found.transactions:
        raise BadInput("the interchange holds no transaction (no ST segment)", place=segments[-1].place)
    for each in found.transactions:
        _mend_components(each, found.warnings)
    return found


def _check(segment: Segment, counted: int, control: str, what: str, opener: str, warnings: list[str]) -> None:
    stated = segment.get(1)
    if not stated.isdecimal() or int(stated[:12]) != counted:
        warnings.append(f"{segment.place}: {segment.id}01 counts other {what} than the {counted} there are")
    if segment.get(2) != control.strip():
        warnings.append(f"{segment.place}: {segment.id}02 is not the control number of its {opener}")


def _mend_components(transaction: Transaction, warnings: list[str]) -> None:
    other = other_component(transaction.body)
    if other:
        transaction.body = [msgspec.structs.replace(each, component=other) for each in transaction.body]
        warnings.append(f"{transaction.start.place}: components are separated by {other!r}, not as ISA16 says; read so")
