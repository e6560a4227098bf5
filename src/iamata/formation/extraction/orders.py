"""Which medicines does a clinician order, in talk or in a note: prescribe, continue, change, hold? Plans, not uses.

An order has a verb of ordering (`order_drug` rows) with the medicine after it, and something that makes it one: a lead
("I'll", "let's", "I want to": `order_lead`) before the verb, the verb at the head of the clause, or an order earlier in
the same turn, after which a bare "tramadol, 50 milligrams, every six hours" goes on ordering. What was done or said
before (`order_not`: "did they put you on", "I know you take") is none.
"""

from __future__ import annotations

from typing import Final

import msgspec

from iamata.formation.extraction.amounts import find_doses, find_frequencies
from iamata.formation.extraction.scene import Scene
from iamata.terminology.lexicon import Hit

# How many words a lead may stand before its verb, and a verb before its medicine.
_LEAD: Final = 8
_OBJECT: Final = 12
_DENIED: Final = 4
_OPENERS: Final = frozenset(
    ["so", "okay", "ok", "and", "then", "um", "uh", "alright", "right", "now", "well", ",", "hey", "dragon", "also",
     "just",     "please", "definitely", "yeah", "first"]
)  # fmt: skip
_INSTEAD: Final = frozenset(["instead", "rather", "unlike", "besides", "without"])
_TAKEN: Final = frozenset(
    ["taking", "takes", "took", "you're", "your", "she's", "he's", "currently", "been", "includes"]
)


class Order(msgspec.Struct, frozen=True):
    """What is ordered of a medicine: `prescription`, `instruction`, `continued`, `stopped`; `denied`: not to be."""

    what: str
    denied: bool = False


def order_of(scene: Scene, first: int) -> Order | None:
    """The order that the medicine at word `first` stands in, or None."""
    if not scene.people.orders:
        return None
    if _INSTEAD & set(scene.words[max(0, first - 3) : first]):
        return None
    best: Hit | None = None
    for hit in scene.cues.of("order_drug"):
        if hit.last > first or first - hit.last > _OBJECT or not _is_led(scene, hit):
            continue
        if best is None or (hit.last, hit.last - hit.first) > (best.last, best.last - best.first):
            best = hit
    if best is not None:
        return Order(best.term.concept, _is_denied(scene, best))
    return Order("prescription") if _goes_on(scene, first) else None


def _is_led(scene: Scene, verb: Hit) -> bool:
    """Is the verb one of ordering here: led, or at the head of the clause, and not told of the past?"""
    if any(verb.first - 4 <= hit.first < verb.first for hit in scene.cues.of("order_not")):
        return False
    if any(hit.last <= verb.first and verb.first - hit.last <= _LEAD for hit in scene.cues.of("order_lead")):
        return True
    if any(hit.first < verb.first and verb.first < hit.last for hit in scene.cues.of("order_lead")):
        return True
    head = [word for word in scene.words[: verb.first] if word not in _OPENERS]
    if " ".join(scene.words[verb.first : verb.last]).startswith(("we'll", "it'll", "let's", "i recommend")):
        return True
    return not head and scene.words[verb.first] not in ("taking", "using", "increasing", "started", "will")


def _is_denied(scene: Scene, verb: Hit) -> bool:
    """ "Don't take it": a negation right before the verb; one further off denies something else."""
    return any(
        0 <= verb.first - hit.last <= _DENIED and not scene.cues.masked(hit) for hit in scene.cues.of("negation")
    )


def _goes_on(scene: Scene, first: int) -> bool:
    """A medicine with its dose or how often, told after an order in the same turn, and not as what is taken."""
    if not scene.people.ordering or first > _LEAD or _TAKEN & set(scene.words[:first]):
        return False
    if scene.cues.of("order_not"):
        return False
    start, end = scene.clause.start, scene.clause.end
    return bool(find_doses(scene.text, start, end) or find_frequencies(scene.text, start, end))
