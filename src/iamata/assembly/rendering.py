"""What is the text of an address, in this format, within this budget?

Gathers the read side's writing: `line` for one item, `read` for any file or directory, `Citations` for the brackets.
"""

from __future__ import annotations

from iamata.assembly.addresses import resolve
from iamata.assembly.citations import Citations, citation
from iamata.assembly.lines import line
from iamata.assembly.pages import sheet
from iamata.assembly.sheets import lay_out
from iamata.assembly.tree import Tree, What, as_tree
from iamata.errors import InvalidValue
from iamata.model.graph import Graph
from iamata.model.reading import Format, Page
from iamata.ports import TokenCounter


def read(
    graph: Graph | Tree,
    path: str,
    *,
    format: Format = Format.NARRATIVE,
    token_budget: int | None = None,
    count: TokenCounter,
    stamp: str,
) -> Page:
    """Any file or directory of the tree. `tokens` is exact for `text` and never more than the budget.

    A text that does not fit is shorter by whole lines, the least important first, and says how many and where they
    are. `raw.json` is JSON in every format. Raises InvalidValue (a path that is none, a negative budget) and NotFound
    (with the nearest address). Pass a Tree to read more than once.
    """
    if token_budget is not None and token_budget < 0:
        raise InvalidValue("token_budget is 0 or more", place="token_budget")
    tree = as_tree(graph)
    target = resolve(tree, path)
    citations = Citations.handles(tree)
    whole = sheet(tree, target, tree.graph.moment, citations)
    wanted = Format.STRUCTURED if target.what is What.RAW else format
    laid = lay_out(whole, wanted, token_budget, count)
    return Page(
        address=target.address,
        format=wanted,
        text=laid.text,
        tokens=laid.tokens,
        shortened=laid.shortened,
        citations=citations.entries_of(laid.cites),
        stamp=stamp,
    )


__all__ = ["Citations", "citation", "line", "read"]
