"""What stands in the contract's closed lists? Rows of `data/closed_lists.tsv`, each with its source."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FILE = "closed_lists.tsv"


@cache
def _rows() -> dict[tuple[str, str], str]:
    text = files("iamata.interfaces.wire").joinpath("data", _FILE).read_text("utf-8")
    header, *lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if header.split("\t") != ["list", "key", "value", "source"]:
        raise ValueError(f"{_FILE}: the columns are list, key, value, source")
    rows: dict[tuple[str, str], str] = {}
    for line in lines:
        name, key, value, source = line.split("\t")
        if (name, key) in rows or not source:
            raise ValueError(f"{_FILE}: {name} {key} stands twice or has no source")
        rows[name, key] = value
    return rows


@cache
def values_of(name: str) -> frozenset[str]:
    """Every value that this list can take."""
    return frozenset(value for (each, _), value in _rows().items() if each == name)


def look_up(name: str, *keys: str) -> str | None:
    """The value of the first of these keys that has a row in the list; the row `*` is for any other key; else None."""
    rows = _rows()
    for key in (*keys, "*"):
        value = rows.get((name, key))
        if value is not None:
            return value
    return None
