"""The page on queries: the grammar as the code states it, and the fields that each type declares."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable

from iamata.interfaces.wire import queries
from iamata.interfaces.wire.edges import EDGE_TYPES
from iamata.interfaces.wire.nodes import NODE_TYPES

Table = Callable[..., str]


def page(table: Table) -> str:
    """The page without its header."""
    said = inspect.cleandoc(queries.__doc__ or "").split("\n\n")
    words = " ".join(said[1].split()).replace("stands in `data/query_fields.tsv`", "is listed below")
    text = ["# Queries\n", "`POST …/graph/nodes/{type}/query` and `…/graph/edges/{type}/query` take"]
    text += ["`{filter, sort, page, perPage}`. " + words.partition(". ")[2], ""]
    text += ["```text", inspect.cleandoc(said[2]), "```", "", " ".join(said[3].split()), ""]
    text += [
        f"A filter has at most {queries.MOST_CONDITIONS} conditions and nests {queries.MOST_DEPTH} deep; `in` takes",
        f"up to {queries.MOST_OPERANDS} values. What is not declared is refused, with the place (`INVALID_ARGUMENT`).",
        "",
        "```json",
        '{"filter": {"payload.type": "condition", "payload.effectivePeriod.start": {"gte": "2025"}},',
        ' "sort": ["-payload.effectivePeriod.start"], "perPage": 20}',
        "```",
    ]
    for title, types in (("Nodes", NODE_TYPES), ("Edges", EDGE_TYPES)):
        text += ["", f"## {title}", ""]
        of: dict[tuple[str, str], list[str]] = defaultdict(list)
        for type in types:
            for field in queries.fields_of(type).values():
                of[field.name, field.kind].append(type)
        lines = [
            (f"`{name}`", kind, "every type" if len(named) == len(types) else ", ".join(f"`{each}`" for each in named))
            for (name, kind), named in of.items()
        ]
        text += [table(("field", "kind", "of"), lines)]
    return "\n".join([*text, ""])
