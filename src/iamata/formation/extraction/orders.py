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
     "just", "please", "definitely", "yeah", "first", "all", "straight", "away", "yes", "no", "next", "eh", "again",
     "instead", "maybe", "or", "to", "review", "summarize", "always", "go", "ahead"]
)  # fmt: skip
# An adjunct that stands before an imperative: "for the high blood pressure, hold the norvasc".
_ADJUNCTS: Final = frozenset(["for", "with", "in", "from", "as", "on", "if", "once", "when", "after"])
_SUBJECTS: Final = frozenset(
    ["i", "i'm", "i've", "i'd", "we", "we've", "we're", "you", "you're", "you've", "he", "she", "they", "it", "it's",
     "that", "that's", "there", "is", "are", "was", "were", "do", "does", "did", "have", "has", "had", "who", "which"]
)  # fmt: skip
_STARTS_ANEW: Final = frozenset(["i", "we", "i'll", "we'll", "let's", "so", "and", "but", "i'm", "we're"])
_HELPS: Final = frozenset(["help", "helps", "work", "works", "be", "ease", "relieve", "bring"])
_INSTEAD: Final = frozenset(["instead", "rather", "unlike", "besides", "without"])
_GERUNDS: Final = ("taking", "using")
_TAKEN: Final = frozenset(
    ["taking", "takes", "took", "you're", "your", "she's", "he's", "currently", "been", "includes"]
)


class Order(msgspec.Struct, frozen=True):
    """What is ordered of a medicine: `prescription`, `instruction`, `continued`, `stopped`; `denied`: not to be."""

    what: str
    denied: bool = False


def order_of(scene: Scene, first: int, last: int) -> Order | None:
    """The order that the medicine at words `first`:`last` stands in, or None."""
    if not scene.people.orders:
        return None
    before = scene.words[max(0, first - 3) : first]
    if _INSTEAD & set(before) or any(
        scene.words[first - 2 : first] == [word, "to"] for word in ("similar", "compared")
    ):
        return None
    best: Hit | None = None
    for hit in scene.cues.of("order_drug"):
        if hit.last > first or first - hit.last > _OBJECT or not _is_led(scene, hit):
            continue
        if best is None or (hit.last, hit.last - hit.first) > (best.last, best.last - best.first):
            best = hit
    if best is not None:
        return Order(best.term.concept, _is_denied(scene, best))
    if scene.people.ordering and _to_be_bought(scene, first):
        return Order("prescription")
    if _offered_after(scene, last) or _helps_after(scene, last):
        return Order("prescription")
    return Order("prescription") if _goes_on(scene, first) else None


def begins(scene: Scene) -> bool:
    """ "I'll prescribe one medicine (and that's …)": an order whose medicine is still to be named."""
    if not scene.people.orders:
        return False
    generic = [hit.first for hit in scene.of("medicine")] + [at for at, w in enumerate(scene.words) if w in _FORMS]
    return bool(generic) and any(
        hit.term.concept == "prescription"
        and 0 <= max(generic) - hit.last <= _LEAD
        and _is_led(scene, hit)
        and not _is_denied(scene, hit)
        for hit in scene.cues.of("order_drug")
    )


_FORMS: Final = frozenset(["cream", "ointment", "tablet", "tablets", "inhaler", "drops", "spray", "lotion"])


def _to_be_bought(scene: Scene, first: int) -> bool:
    """ "You can get Piriton", after an order in the same turn: where to have it from."""
    before = scene.words[:first]
    return any(
        before[at : at + 2] in (["you", "can"], ["you", "could"]) and before[at + 2 : at + 3] in (["get"], ["buy"])
        for at in range(len(before))
    )


def _offered_after(scene: Scene, last: int) -> bool:
    """ "… steroid creams I can give you", "fexofenadine, which I can prescribe": the verb in a clause about it."""
    for hit in scene.cues.of("order_drug"):
        between = scene.words[last : hit.first]
        if hit.term.concept == "prescription" and 2 <= len(between) <= 6 and not {"and", "but", "or"} & set(between):
            return any(word in ("i", "we") for word in between) and any(
                last <= lead.first <= hit.first for lead in scene.cues.of("order_lead")
            )
    return False


def _helps_after(scene: Scene, last: int) -> bool:
    """ "Emollients, which can help with the dry skin": a clinician names what there is to be taken."""
    rest = [word for word in scene.words[last : last + 6] if word != ","]
    if not scene.people.official or rest[:1] not in (["which"], ["they"], ["that"]):
        return False
    return bool({"can", "should", "will"} & set(rest[1:3])) and bool(_HELPS & set(rest[1:5]))


def _is_led(scene: Scene, verb: Hit) -> bool:
    """Is the verb one of ordering here: led, or at the head of the clause, and not told of the past or asked?"""
    before = scene.words[max(0, verb.first - 2) : verb.first]
    if before == ["do", "you"] or (before[-1:] in (["you're"], ["are"]) and scene.words[verb.first] in _GERUNDS):
        return False  # "… do you take any Advil", "the ones that you're taking"
    if before == ["not", "to"] and scene.words[verb.first - 3 : verb.first - 2] == ["try"] and verb.first >= 3:
        return True  # "Try not to use any": the order is what is not to be done
    if any(verb.first - 4 <= hit.first < verb.first for hit in scene.cues.of("order_not")):
        return False
    if any(hit.last <= verb.first and verb.first - hit.last <= _LEAD for hit in scene.cues.of("order_lead")):
        return True
    if any(hit.first < verb.first and verb.first < hit.last for hit in scene.cues.of("order_lead")):
        return True
    head = [word for word in scene.words[: verb.first] if word not in _OPENERS]
    if head and head[0] in _ADJUNCTS and verb.first <= _LEAD and not _SUBJECTS & set(head[1:]):
        head = []
    gerund = scene.words[verb.first] in _GERUNDS
    if gerund and (not head or head[0] == "if"):  # "taking paracetamol can help"
        after = scene.words[verb.last :]
        return any(
            word in ("can", "will", "might", "would", "may") and _HELPS & set(after[at + 1 : at + 3])
            for at, word in enumerate(after)
        )
    joined = scene.words[verb.first - 1 : verb.first] in (["and"], [","], ["or"], ["then"])
    if joined and any(other.last < verb.first and _is_led(scene, other) for other in _verbs(scene, verb)):
        return True
    if " ".join(scene.words[verb.first : verb.last]).startswith(
        ("we'll", "it'll", "let's", "i recommend", "i'm ", "we're ")
    ):
        return True
    return not head and scene.words[verb.first] not in ("taking", "using", "increasing", "started", "will")


def _verbs(scene: Scene, before: Hit) -> list[Hit]:
    """The nearest verb of ordering before this one, if it stands in the same run of words."""
    earlier = [hit for hit in scene.cues.of("order_drug") if hit.last < before.first]
    return earlier[-1:]


def _is_denied(scene: Scene, verb: Hit) -> bool:
    """ "Don't take it": a negation right before the verb; one further off denies something else."""
    if scene.words[max(0, verb.first - 2) : verb.first] == ["not", "to"]:
        return True  # "Try not to use any"
    return any(
        0 <= verb.first - hit.last <= _DENIED
        and not scene.cues.masked(hit)
        and not _STARTS_ANEW & set(scene.words[hit.last : verb.first])
        for hit in scene.cues.of("negation")
    )


def _goes_on(scene: Scene, first: int) -> bool:
    """A medicine with its dose or how often, told after an order in the same turn, and not as what is taken."""
    if not scene.people.ordering or first > _LEAD or _TAKEN & set(scene.words[:first]):
        return False
    if scene.cues.of("order_not"):
        return False
    start, end = scene.clause.start, scene.clause.end
    if find_doses(scene.text, start, end) or find_frequencies(scene.text, start, end):
        return True
    # "And then the tretinoin cream": a list that goes on, without a verb of its own
    head = [word for word in scene.words[:first] if word not in ("um", "uh", ",", "some", "the", "a", "even")]
    return bool(head) and head[0] in ("and", "or", "then", "also", "plus") and not _SUBJECTS & set(scene.words[:first])
