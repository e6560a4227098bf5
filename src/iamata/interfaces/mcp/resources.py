"""Which addresses are resources? Every address of the tree is `iamata:/` and the address: `iamata://patient/{id}/…`.

Knows nothing of the protocol; `server` speaks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

from iamata.errors import NotFound
from iamata.interfaces.mcp import telling
from iamata.model.access import Access

if TYPE_CHECKING:
    from iamata.engine import Engine

_SCHEME = "iamata:/"
PER_PAGE = 50
_PATH_SAFE = "/.~:_-"


class Resource(NamedTuple):
    """A line of the list of resources, or of their templates."""

    uri: str
    name: str
    title: str
    description: str


def templates(bound: str | None) -> list[Resource]:
    """The two forms of address; on a bound server of its one patient."""
    whose = bound or "{patient_id}"
    return [
        Resource(
            f"iamata://patient/{whose}/_index.md",
            "patient-index",
            "A patient on one page",
            "Everything held of the patient, on one page, every line cited. Begin here.",
        ),
        Resource(
            f"iamata://patient/{whose}/{{+path}}",
            "patient-address",
            "Any address of a patient",
            "A file of the patient's tree; ending in `/` a directory with hints and token costs. Addresses stand in "
            "the index, in directories, hits and contexts.",
        ),
    ]


def listed(engine: Engine, access: Access, *, page: int) -> tuple[list[Resource], int | None]:
    """The index of each patient that exists for this reader, and the number of the next page."""
    rows, total = engine.patients(page=page, per_page=PER_PAGE, access=access)
    found = [
        Resource(
            uri(f"/patient/{row.id}/_index.md"),
            f"patient-{row.id}-index",
            f"Patient {row.id} on one page",
            "Everything held of the patient, on one page, every line cited.",
        )
        for row in rows
    ]
    return found, page + 1 if (page + 1) * PER_PAGE < total else None


def uri(address: str) -> str:
    return _SCHEME + quote(address, safe=_PATH_SAFE)


def read(engine: Engine, access: Access, of: str) -> tuple[str, str]:
    """Media type and text of the resource. Raises NotFound, also for a URI of another scheme."""
    if not of.startswith(_SCHEME + "/"):
        raise NotFound(what="resource", id=of)
    address = unquote(of.removeprefix(_SCHEME))
    if address.endswith("/"):
        found = engine.browse(address, access=access)
        return "text/markdown", telling.listing(found, first=0, total=len(found.nodes))
    page = engine.read(address, access=access)
    return "application/json" if page.address.endswith(".json") else "text/markdown", page.text
