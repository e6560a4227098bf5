"""How are the knowledge tables read? Tab-separated text in `data/`, a header line, a `source` for every row.

Lookups over the rows live in the modules beside this one.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from iamata.terminology import loaded


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of `data/{name}.tsv` in file order, as header → cell. Lines that begin with `#` are comments.

    Raises ValueError, naming the line, for a row with too few or too many cells or without a source.
    """
    text = files("iamata.terminology").joinpath("data", f"{name}.tsv").read_text(encoding="utf-8")
    numbered = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    header = numbered[0][1].split("\t")
    found = []
    for number, line in numbered[1:]:
        cells = line.split("\t")
        if len(cells) != len(header):
            raise ValueError(f"{name}.tsv line {number}: {len(cells)} cells for {len(header)} columns")
        row = dict(zip(header, cells, strict=True))
        if not row.get("source"):
            raise ValueError(f"{name}.tsv line {number}: no source")
        found.append(row)
    return tuple(found)


def knowledge_version() -> str:
    """A hash over every table of the package and every licensed terminology in use (`loaded`): what formation and
    reading depend on beside the code."""
    more = loaded.in_use()
    return sha256("\n".join((_tables_version(), *more)).encode()).hexdigest()[:16] if more else _tables_version()


@cache
def _tables_version() -> str:
    digest = sha256()
    folder = files("iamata.terminology").joinpath("data")
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".tsv"):
            digest.update(entry.name.encode() + b"\0" + entry.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
