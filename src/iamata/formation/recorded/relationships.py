"""Which facts are related because their sources say so? Explicit references, lifted from statements to facts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache

from iamata.model.fact import Fact
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.statement import Reference, Statement
from iamata.terminology.tables import rows


@cache
def _relations() -> Mapping[tuple[str, str], tuple[LinkType, bool]]:
    return {
        (row["kind"], row["element"]): (LinkType(row["type"]), row["direction"] == "backward")
        for row in rows("relations")
    }


def explicit(
    found: Iterable[tuple[Statement, Reference, Statement]],
    facts: Mapping[str, Fact],
    fact_of: Mapping[str, str],
    *,
    mint: IdMint,
) -> dict[str, Link]:
    """One link for each pair of facts and type, however many statements say it. `found` are resolved references."""
    told: dict[tuple[LinkType, str, str], str] = {}
    for statement, reference, target in found:
        element = reference.element.partition("/")[0]
        relation = _relations().get((statement.kind, element))
        origin_id, target_id = fact_of.get(statement.id), fact_of.get(target.id)
        if relation is None or origin_id is None or target_id is None or origin_id == target_id:
            continue
        members = facts[origin_id].members
        at = bisect_left(members, statement.id)
        if members[at : at + 1] != (statement.id,):
            continue  # what no longer counts relates nothing
        type, backward = relation
        a, b = (target_id, origin_id) if backward else (origin_id, target_id)
        told[type, a, b] = f"{statement.provenance.record.type}.{element}"
    links = (_link(type, facts[a], facts[b], place, mint) for (type, a, b), place in told.items())
    return {link.id: link for link in links}


def _link(type: LinkType, a: Fact, b: Fact, place: str, mint: IdMint) -> Link:
    return Link(
        mint.id("rl", (type, a.members[0], b.members[0])),
        type,
        a.id,
        b.id,
        LinkSource.EXPLICIT_REFERENCE,
        place,
        1.0,
        f"the source says so in {place}",
        digest=content_digest(type, a.digest, b.digest),
    )
