"""What may be asked of a type of node or edge, and which items answer it? One grammar for all of them.

A query is `{filter, sort, page, perPage}`. A field is named by its path in the item as it is served
(`payload.codes.code`); arrays are looked through. Which fields a type declares, and of which kind, stands in
`data/query_fields.tsv`; no other can be asked for.

    filter     {field: condition, …}: all must hold; {"and": [filters]}, {"or": [filters]}, {"not": filter}
    condition  a value (equals), an array of values (one of them), or {operator: operand, …}: all must hold
    token      eq ne in exists; exact
    text       eq ne in exists; contains, startsWith: whatever the case
    number     eq ne in exists lt lte gt gte
    time       eq ne exists lt lte gt gte: an ISO 8601 date or time
    flag       eq ne exists
    sort       ["field", "-field"]: up to 5, `-` the largest first; what has no value comes last, ties by id

Of several values in one item one that fits is enough, for `ne` none may be equal. Times are compared as precisely as
the less exact of the two, two moments with their offsets as moments; words that are no date fit no comparison.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, get_args

import msgspec

from iamata.errors import BadInput
from iamata.interfaces.wire.edges import EDGE_TYPES
from iamata.interfaces.wire.nodes import NODE_TYPES
from iamata.interfaces.wire.requests import read
from iamata.interfaces.wire.values import Json
from iamata.model.clinical_time import ClinicalTime, Precision, parse_time

Kind = Literal["token", "text", "number", "time", "flag"]
Test = Callable[[Json], bool]

_FILE: Final = "query_fields.tsv"
MOST_DEPTH: Final = 8
MOST_CONDITIONS: Final = 100
MOST_OPERANDS: Final = 500
MOST_SORTS: Final = 5
_NAME = re.compile(r"[A-Za-z][A-Za-z.]{0,63}\Z")
_CLOCK_END = re.compile(r"[Z.+-]")
_ORDERED: Final = ("lt", "lte", "gt", "gte")
OPERATORS: Final[dict[Kind, tuple[str, ...]]] = {
    "token": ("eq", "ne", "in", "exists"),
    "text": ("eq", "ne", "in", "exists", "contains", "startsWith"),
    "number": ("eq", "ne", "in", "exists", *_ORDERED),
    "time": ("eq", "ne", "exists", *_ORDERED),
    "flag": ("eq", "ne", "exists"),
}


class QueryBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of a `query` route. Filter and sort are as the grammar says; pages count from 0."""

    filter: dict[str, Any] = {}
    sort: list[str] = []
    page: int = 0
    per_page: int = 50


class QueryField(msgspec.Struct, frozen=True):
    """A field that a type declares: its path in the item, and what its values are."""

    name: str
    kind: Kind

    def values(self, item: Json) -> Iterator[Any]:
        """Every value at the path."""
        return _at(item, self.name.split("."))


class Query(msgspec.Struct, frozen=True):
    """A query that was read. `holds` is None without a filter; `order` are fields, each with whether it descends."""

    holds: Test | None
    order: tuple[tuple[QueryField, bool], ...]
    number: int
    size: int

    def answer(self, ids: Sequence[str], one: Callable[[str], Json]) -> tuple[list[Json], int]:
        """The page of the items that fit, and how many fit. `ids` are in order, `one` builds the item of an id."""
        first, last = self.number * self.size, (self.number + 1) * self.size
        if self.holds is None and not self.order:
            return [one(id) for id in ids[first:last]], len(ids)
        found = list(self.every(ids, one))
        return found[first:last], len(found)

    def every(self, ids: Iterable[str], one: Callable[[str], Json]) -> Iterator[Json]:
        """All the items that fit, in order. Without an order each is built as it is asked for."""
        fitting = (item for item in map(one, ids) if self.holds is None or self.holds(item))
        if not self.order:
            return fitting
        found = list(fitting)
        for field, descending in reversed(self.order):
            found = _sorted(found, field, descending)
        return iter(found)


@cache
def fields_of(type: str) -> dict[str, QueryField]:
    """What a node or edge type declares, by name; empty for a type that does not exist."""
    group = "nodes" if type in NODE_TYPES else "edges" if type in EDGE_TYPES else ""
    text = files("iamata.interfaces.wire").joinpath("data", _FILE).read_text("utf-8")
    header, *lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if header.split("\t") != ["types", "field", "kind"]:
        raise ValueError(f"{_FILE}: the columns are types, field, kind")
    found: dict[str, QueryField] = {}
    for line in lines:
        types, name, kind = line.split("\t")
        if kind not in get_args(Kind):
            raise ValueError(f"{_FILE}: {name} is of no kind")
        if group in (named := types.split(", ")) or type in named:
            if name in found:
                raise ValueError(f"{_FILE}: {name} stands twice for {type}")
            found[name] = QueryField(name, kind)  # type: ignore[arg-type]  # checked above
    return found


def read_query(body: bytes, fields: Mapping[str, QueryField], *, most_per_page: int) -> Query:
    """The query of a body. Raises BadInput with the JSON pointer; no value that was sent is in the message."""
    sent = read(body, dict[str, Any])
    for name in sent:
        if name not in ("filter", "sort", "page", "perPage"):
            raise BadInput("a query has filter, sort, page and perPage", place=f"/{_shown(name)}")
    plain = QueryBody()
    number = _whole(sent.get("page", plain.page), 0, 10**9, "/page")
    size = _whole(sent.get("perPage", plain.per_page), 1, most_per_page, "/perPage")
    holds = _Reading(fields).filter(sent["filter"], "/filter", 0) if sent.get("filter") not in (None, {}) else None
    return Query(holds, _order(sent.get("sort"), fields), number, size)


def _whole(value: Any, least: int, most: int, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInput(f"a whole number from {least} to {most}", place=place)
    return value


def _order(sent: Any, fields: Mapping[str, QueryField]) -> tuple[tuple[QueryField, bool], ...]:
    if sent is None:
        return ()
    if not isinstance(sent, list) or len(sent) > MOST_SORTS:
        raise BadInput(f"sort is an array of up to {MOST_SORTS} fields", place="/sort")
    found = []
    for index, each in enumerate(sent):
        name = each.removeprefix("-") if isinstance(each, str) else ""
        if name not in fields:
            raise BadInput("no field that this type declares", place=f"/sort/{index}")
        found.append((fields[name], each.startswith("-")))
    return tuple(found)


class _Reading:
    """Reads one filter; counts its conditions."""

    def __init__(self, fields: Mapping[str, QueryField]) -> None:
        self._fields = fields
        self._left = MOST_CONDITIONS

    def filter(self, sent: Any, place: str, depth: int) -> Test:
        if not isinstance(sent, dict):
            raise BadInput("a filter is an object", place=place)
        if depth > MOST_DEPTH:
            raise BadInput(f"filters nest at most {MOST_DEPTH} deep", place=place)
        tests: list[Test] = []
        for name, value in sent.items():
            at = f"{place}/{_shown(name)}"
            if name in ("and", "or"):
                if not isinstance(value, list) or not value:
                    raise BadInput("an array of filters", place=at)
                inner = [self.filter(each, f"{at}/{index}", depth + 1) for index, each in enumerate(value)]
                tests.append(_every(inner) if name == "and" else _some(inner))
            elif name == "not":
                tests.append(_not(self.filter(value, at, depth + 1)))
            elif name in self._fields:
                tests.append(self._condition(self._fields[name], value, at))
            else:
                raise BadInput("no field that this type declares", place=at)
        return _every(tests)

    def _condition(self, field: QueryField, sent: Any, place: str) -> Test:
        if isinstance(sent, list):
            sent = {"in": sent}
        elif not isinstance(sent, dict):
            sent = {"eq": sent}
        if not sent:
            raise BadInput("a condition says something", place=place)
        tests: list[Test] = []
        for operator, operand in sent.items():
            self._left -= 1
            if self._left < 0:
                raise BadInput(f"a filter has at most {MOST_CONDITIONS} conditions", place=place)
            at = f"{place}/{_shown(operator)}"
            if operator not in OPERATORS[field.kind]:
                raise BadInput(f"a {field.kind} knows {', '.join(OPERATORS[field.kind])}", place=at)
            tests.append(_test(field, operator, operand, at))
        return _every(tests)


def _test(field: QueryField, operator: str, operand: Any, place: str) -> Test:
    if operator == "exists":
        if not isinstance(operand, bool):
            raise BadInput("true or false", place=place)
        return lambda item: any(True for _ in field.values(item)) is operand
    if operator == "in":
        if not isinstance(operand, list) or not 1 <= len(operand) <= MOST_OPERANDS:
            raise BadInput(f"an array of 1 to {MOST_OPERANDS} values", place=place)
        wanted = {_operand(field.kind, each, f"{place}/{index}") for index, each in enumerate(operand)}
        return lambda item: any(_value(field.kind, each) in wanted for each in field.values(item))
    other = _operand(field.kind, operand, place)
    fits = _FITS[operator]
    if operator == "ne":
        return lambda item: not any(_fits_equal(_value(field.kind, each), other) for each in field.values(item))
    return lambda item: any(
        value is not None and fits(value, other) for value in (_value(field.kind, each) for each in field.values(item))
    )


def _operand(kind: Kind, sent: Any, place: str) -> Any:
    """What was sent to compare with. Raises BadInput if it is none of this kind."""
    match kind:
        case "token" | "text":
            if isinstance(sent, str):
                return sent
        case "flag":
            if isinstance(sent, bool):
                return sent
        case "number":
            if isinstance(sent, int | float) and not isinstance(sent, bool):
                return float(sent)
        case "time":
            if isinstance(sent, str) and (time := parse_time(sent)).precision is not Precision.TEXT:
                return time
    raise BadInput(f"no {'date or time' if kind == 'time' else kind}", place=place)


def _value(kind: Kind, held: Any) -> Any:
    """A value of an item as it is compared; None if it is none of this kind."""
    match kind:
        case "number":
            try:
                return None if isinstance(held, bool) else float(held)
            except (TypeError, ValueError):
                return None
        case "time":
            time = parse_time(held) if isinstance(held, str) else None
            return time if time is not None and time.precision is not Precision.TEXT else None
        case "flag":
            return held if isinstance(held, bool) else None
        case _:
            return held if isinstance(held, str) else None


def _compared(value: Any, other: Any) -> int:
    """-1, 0 or 1 as the value is less, equal or more."""
    if isinstance(value, ClinicalTime) and isinstance(other, ClinicalTime):
        if _is_moment(value) and _is_moment(other):
            value, other = value.earliest, other.earliest
        else:
            exact = min(len(_local(value)), len(_local(other)))
            value, other = _local(value)[:exact], _local(other)[:exact]
    return int(value > other) - int(value < other)


def _is_moment(time: ClinicalTime) -> bool:
    return time.earliest is not None and time.latest is not None and time.latest - time.earliest < 60


def _local(time: ClinicalTime) -> str:
    """The date, or date and time of day, without fractions and offset."""
    day, _, clock = time.text.partition("T")
    return f"{day}T{_CLOCK_END.split(clock)[0]}" if clock else day


def _fits_equal(value: Any, other: Any) -> bool:
    return value is not None and _compared(value, other) == 0


_FITS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": _fits_equal,
    "ne": _fits_equal,
    "lt": lambda value, other: _compared(value, other) < 0,
    "lte": lambda value, other: _compared(value, other) <= 0,
    "gt": lambda value, other: _compared(value, other) > 0,
    "gte": lambda value, other: _compared(value, other) >= 0,
    "contains": lambda value, other: other.casefold() in value.casefold(),
    "startsWith": lambda value, other: value.casefold().startswith(other.casefold()),
}


def _sorted(items: list[Json], field: QueryField, descending: bool) -> list[Json]:
    """Stable; an item with several values stands by its smallest, or by its largest when they descend."""
    keyed: list[tuple[Any, Json]] = []
    without: list[Json] = []
    pick = max if descending else min
    for item in items:
        keys = [_key(value) for each in field.values(item) if (value := _value(field.kind, each)) is not None]
        if keys:
            keyed.append((pick(keys), item))
        else:
            without.append(item)
    keyed.sort(key=lambda pair: pair[0], reverse=descending)
    return [item for _, item in keyed] + without


def _key(value: Any) -> Any:
    if isinstance(value, ClinicalTime):
        return (value.earliest or 0, value.text)
    return (value.casefold(), value) if isinstance(value, str) else value


def _at(held: Any, path: list[str]) -> Iterator[Any]:
    if isinstance(held, list):
        for each in held:
            yield from _at(each, path)
    elif not path:
        if held is not None:
            yield held
    elif isinstance(held, dict) and path[0] in held:
        yield from _at(held[path[0]], path[1:])


def _every(tests: Iterable[Test]) -> Test:
    held = tuple(tests)
    return held[0] if len(held) == 1 else lambda item: all(test(item) for test in held)


def _some(tests: Iterable[Test]) -> Test:
    held = tuple(tests)
    return lambda item: any(test(item) for test in held)


def _not(test: Test) -> Test:
    return lambda item: not test(item)


def _shown(name: str) -> str:
    """A name that was sent, for a place: only what can be the name of a field."""
    return name if _NAME.match(name) else "?"
