"""Which id does an item have on the wire?

The contract names a node by its type; our statements have one prefix for all of them.

A statement `st_x` is the extracted fact `ef_x` or the extracted clinical event `ee_x`: same tail, so both ways are
plain. Every other id is the same inside and outside. Reading accepts both forms.
"""

from __future__ import annotations

import re
from typing import Final

from iamata.errors import BadInput, InvalidValue
from iamata.model.graph import Graph
from iamata.model.statement import EVENT_KINDS, FACT_KINDS, Kind

# The contract's form for new ids of patients and sessions; ids that exist may also hold `_`.
NEW_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.~:-]{0,127}\Z")

SHORTEST_HANDLE: Final = 4

_STATEMENT_PREFIXES: Final = ("ef_", "ee_")


def statement_type(kind: Kind) -> str:
    """The node type that serves a statement of this kind."""
    if kind in FACT_KINDS:
        return "extracted_fact"
    return "extracted_clinical_event" if kind in EVENT_KINDS else "statement"


def fact_type(kind: Kind) -> str:
    """The node type that serves a fact of this kind."""
    if kind in FACT_KINDS:
        return "fact"
    return "clinical_event" if kind in EVENT_KINDS else "further_fact"


def to_wire(statement: str, kind: Kind) -> str:
    """The wire id of the statement with this id and kind."""
    tail = statement.partition("_")[2]
    if kind in FACT_KINDS:
        return f"ef_{tail}"
    return f"ee_{tail}" if kind in EVENT_KINDS else statement


def to_model(id: str) -> str:
    """The id inside: `ef_x` and `ee_x` become `st_x`, everything else stays."""
    return f"st_{id[3:]}" if id.startswith(_STATEMENT_PREFIXES) else id


def whole_id(graph: Graph, said: str) -> str:
    """The id that a handle of a citation is the tail of, such as `7f3c2a4d`; anything else as it is.

    Raises BadInput if it is the tail of several.
    """
    handle = said.strip("[]")
    if "_" in said or "/" in said or len(handle) < SHORTEST_HANDLE:
        return said
    pools = (graph.statements, graph.memories, graph.passages, graph.documents, graph.facts, graph.conflicts)
    ids = [id for pool in pools for id in pool if id.endswith(handle)]
    # A fact carries the tail of its first statement; a citation means the statement.
    ids = [id for id in ids if not (id in graph.facts and len(ids) > 1)]
    if len(ids) > 1:
        raise BadInput(f"this handle ends {len(ids)} ids; give more of it", place="item")
    return ids[0] if ids else said


def check_new(id: str, what: str) -> None:
    """Raise InvalidValue unless a new patient or session may have this id."""
    if not NEW_ID.match(id):
        raise InvalidValue(f"a new {what} id must match [A-Za-z0-9][A-Za-z0-9.~:-]{{0,127}}")
