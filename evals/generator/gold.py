"""What must come of a world? Pairs that are one fact, pairs that are not, and how hard each is to see.

By construction: two items of one thing are one fact, items of two things are not, unless the design leaves it open.
Not here: what the engine made of it (`evals.reconciliation_pairs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Literal, NamedTuple

from evals.generator.truth import Item, World

Relation = Literal["same", "apart", "open"]
# How two items can be seen to be one, easiest first. All but the last need no terminology.
LEVELS = ("copy", "identifier", "code", "name", "terminology")
# Kinds whose items are paired; the design gives the others no rule of identity.
KINDS = (
    "condition",
    "medication",
    "allergy",
    "immunization",
    "observation",
    "encounter",
    "procedure",
    "family_history",
    "insurance",
    "social_history",
)


class Pair(NamedTuple):
    left: Item
    right: Item
    relation: Relation
    level: str


def relation(world: World, left: Item, right: Item) -> Relation:
    """What the two items must be to each other; both are of one kind."""
    if left.set_aside or right.set_aside or left.owner != right.owner:
        return "apart"
    if left.open or right.open:
        return "open"
    if left.truth == right.truth:
        return "same"
    pair = (left.truth, right.truth)
    return "open" if pair in world.open_pairs or pair[::-1] in world.open_pairs else "apart"


def level(left: Item, right: Item) -> str:
    """The easiest thing the two items share; a unit written otherwise needs a table even with the same code."""
    if left.source == right.source and left.reference == right.reference:
        return "copy"
    a, b = left.marks, right.marks
    if a.identifiers & b.identifiers:
        return "identifier"
    if a.unit != b.unit:
        return "terminology"
    if a.codes & b.codes or (left.kind in ("encounter", "insurance") and a.names & b.names):
        return "code"
    return "name" if a.names & b.names else "terminology"


def pairs(world: World) -> Iterator[Pair]:
    """Every pair of items of one kind, in the order of the items."""
    for kind in KINDS:
        mine = [item for item in world.items if item.kind == kind]
        for left, right in combinations(mine, 2):
            yield Pair(left, right, relation(world, left, right), level(left, right))


def other_substance(world: World, left: Item, right: Item) -> bool:
    """Are these two different drugs, allergens or vaccines?"""
    if left.kind not in ("medication", "allergy", "immunization"):
        return False
    return world.things[left.truth].substance != world.things[right.truth].substance
