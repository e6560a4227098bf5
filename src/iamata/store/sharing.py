"""How does a loaded patient stay small? Equal parts of its statements become one value in memory.

A bundle says the same concept, category, author and source a hundred times; opened one by one each is a value of its
own. Changes nothing that anybody can see: the parts are frozen and equal.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from iamata.model.statement import Statement

T = TypeVar("T")
_SHARED = ("subject", "authorship", "concept", "labels", "status", "components")


class Shared:
    """The parts seen so far in one load."""

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def part(self, value: T) -> T:
        """The first value that was equal to this one."""
        return self._seen.setdefault((type(value), value), value)  # type: ignore[no-any-return]  # keyed by its type

    def statement(self, statement: Statement) -> Statement:
        """The same statement, holding shared parts. Takes a statement that nobody else holds yet."""
        force, part = msgspec.structs.force_setattr, self.part
        for name in _SHARED:
            value = getattr(statement, name)
            if value:
                force(statement, name, part(value))
        for field in statement.fields:
            force(field, "name", part(field.name))
            if not isinstance(field.value, (bool, int)):
                force(field, "value", part(field.value))
        for timed in statement.times:
            force(timed, "at", part(timed.at))
        for reference in statement.references:
            for name in ("element", "reference", "identifier", "type", "display"):
                force(reference, name, part(getattr(reference, name)))
        force(statement, "times", part(statement.times))
        force(statement, "references", tuple(map(part, statement.references)))
        provenance = statement.provenance
        force(provenance, "source", part(provenance.source))
        force(provenance, "reader", part(provenance.reader))
        force(provenance.record, "type", part(provenance.record.type))
        return statement
