"""Which statements came back from an export of ours, so that what they say is held already?

A copy names its roots (`model.roots`). One whose roots are all held says nothing that was not said: it takes no part,
so that it is no witness, no duplicate, and changes nothing. One of which a root is missing here takes part: it is what
this installation has of it. Which counts then as one witness with its roots is told where authority is worked out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from iamata.model.memory import Memory
from iamata.model.roots import copied, root_of_memory
from iamata.model.sighting import Sighting
from iamata.model.statement import Kind, Statement


def any_copies(statements: Iterable[Statement]) -> bool:
    """Is any of these a copy?"""
    return any(copied(statement) for statement in statements)


def returned(
    statements: Collection[Statement], memories: Iterable[Memory], sightings: Mapping[str, tuple[Sighting, ...]]
) -> dict[str, Statement]:
    """The copies whose roots are all held and seen, and what says only who said them, by id.

    For every reader alike: a copy that lost its labels on the way does not tell what is withheld.
    """
    copies = {s.id: roots for s in statements if (roots := copied(s))}
    if not copies:
        return {}
    held = {s.digest for s in statements if s.id not in copies and s.id in sightings}
    held |= {root_of_memory(memory) for memory in memories}
    found = {s.id: s for s in statements if s.id in copies and copies[s.id] <= held}
    names = {(s.source, name) for s in found.values() for name in _names(s, sightings.get(s.id, ()))}
    for statement in statements:
        if statement.kind is Kind.PROVENANCE:
            targets = [r for r in statement.references if r.element.partition("/")[0] == "target"]
            if targets and all((statement.source, r.reference) in names for r in targets):
                found[statement.id] = statement
    return found


def _names(statement: Statement, sightings: Iterable[Sighting]) -> set[str]:
    return {statement.provenance.record.reference, *(seen.url for seen in sightings)} - {""}
