"""What is the world of a seed? Puts person, sources and plants together. The same seed gives the same bytes."""

from __future__ import annotations

import random

from evals.generator import plants
from evals.generator.person import drug_words, identity, things
from evals.generator.scatter import Scatter
from evals.generator.tables import table
from evals.generator.truth import NOISES, VERSION, World


def make(seed: int, noise: str = "") -> World:
    """The world of a seed; `noise` is one of NOISES, else the seed's own (they take turns)."""
    noise = noise or NOISES[seed % len(NOISES)]
    chance = random.Random(f"iamata generator {VERSION} {seed} {noise}")
    turn = (seed - 1) % 1000
    to = Scatter(str(seed), noise, identity(chance), chance.randint(3, 5), chance)
    for thing in things(chance, avoided(turn)):
        to.spread(thing)
    doubted = plants.plant(to, turn)
    to.resend(to.profiles[-1].name, 0.3)
    return to.world(doubted)


def avoided(turn: int) -> frozenset[str]:
    """Words of the drug names that the plants of this turn use: the patient's own drugs are others."""
    words: set[str] = set()
    for pair in plants.look_alike_pairs(turn):
        for name in pair:
            words |= {name.casefold(), plants.ingredient(name)}
    rows = table("apart_drugs")
    row = rows[turn % len(rows)]
    for side in ("left", "right"):
        words |= set(row[f"{side}_name"].casefold().replace("/", " ").replace("[", " ").replace("]", " ").split())
    # Words that say form, strength or salt are no names; nor do they keep a drug out.
    return frozenset(words) - _PLAIN_WORDS


_PLAIN_WORDS = frozenset(
    word
    for row in table("drugs")
    for word in drug_words(row)
    if word in ("sodium", "hydrochloride", "human", "tartrate")
)
