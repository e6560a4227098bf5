"""Which medicines does a clause say are taken, and how; or stopped, skipped, halved, not begun? Use and adherence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from iamata.formation.extraction import course
from iamata.formation.extraction.amounts import Amount, find_doses, find_frequencies
from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.orders import Order, begins, order_of
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

_SUPPLEMENT: Final = frozenset([
    "pill", "pills", "tablet", "tablets", "supplement", "supplements", "capsule", "capsules", "patch", "patches", "gum",
    "drops", "infusion", "infusions", "cream",
])  # fmt: skip
_MEASURED: Final = frozenset(["level", "levels", "test", "tests"])
_PRONOUNS: Final = frozenset(("it", "them", "that", "one", "any"))
_OFF: Final = frozenset(
    ["i'm", "am", "is", "he's", "she's", "been", "was", "were", "went", "come", "came", "go", "going", "get", "got",
     "getting", "gone", "stayed", "now", "it's"]
)  # fmt: skip
_ON: Final = frozenset(["i'm", "am", "is", "he's", "she's", "still", "been", "was", "not", "stay", "stayed", "back"])
# Which change wins when a clause has several cues: what says more about now comes first.
_ORDER: Final = ("resumed", "not-started", "taking", "ran-out", "extra", "reduced", "stopped", "skipped", "started")
_IMPERATIVES: Final = frozenset(
    ["stop", "take", "start", "continue", "hold", "avoid", "use", "keep", "skip", "give", "try", "increase",
     "decrease", "reduce", "finish", "don't", "please"]
)  # fmt: skip
_TOLD: Final = (
    "told me to", "told him to", "told her to", "told us to", "said to", "wants me to", "advised me to",
    "asked me to", "says to", "wants him to", "wants her to", "instructed me to", "said i should", "says i should",
    "supposed to",
)  # fmt: skip


_REPLACED_ALREADY: Final = frozenset(["switched", "changed", "swapped", "replaced", "moved"])
_REPLACES: Final = _REPLACED_ALREADY | frozenset(
    ["switch", "switching", "change", "changing", "swap", "swapping", "replace", "replacing", "move", "moving"]
)
_INTO: Final = frozenset(["to", "with", "for", "onto", "over"])
_REPLACED: Final = 5  # words from the verb to what is replaced
_WORKS: Final = 3  # words from a medicine to what it does
_WOULD: Final = frozenset(["would", "should", "might", "could", "may", "will", "if", "to", "that'll", "it'll"])
_IDIOMS: Final = frozenset(["from", "easy", "slow", "slowly", "seriously", "up", "personally", "handy"])
_THOSE: Final = frozenset(["it", "it's", "they", "they're", "those", "them", "that", "that's", "these", "brought"])


class Drug(msgspec.Struct, frozen=True):
    """A medicine named at words `first`:`last`. `named` is False for "my pills", "it": no drug is guessed."""

    first: int
    last: int
    concept: str
    named: bool = True


def find(scene: Scene) -> list[Drug]:
    """The medicines named in the clause, in order. Everyday words (iron, calcium) count only beside a use."""
    found = []
    for hit in scene.of("drug", "drug_in_context"):
        if hit.term.kind == "drug_in_context" and not _in_context(scene, hit):
            continue
        before = scene.words[max(0, hit.first - 4) : hit.first]
        if _MEASURED & set(scene.words[hit.last : hit.last + 2]) or ("for" in before and _MEASURED & set(before)):
            continue  # "check your thyroxine levels": a test
        found.append(Drug(hit.first, hit.last, hit.term.concept))
    return found


def _in_context(scene: Scene, hit: Hit) -> bool:
    after = scene.words[hit.last] if hit.last < len(scene.words) else ""
    if after in _SUPPLEMENT:
        return True
    near = [
        h for h in scene.cues.of("use") + scene.cues.of("adherence") if h.last <= hit.first and hit.first - h.last <= 3
    ]
    return any(
        " ".join(scene.words[h.first : h.last])
        not in ("it's", "it is", "on", "get", "got", "had", "have", "need", "it")
        for h in near
    )


def generic(scene: Scene) -> Drug | None:
    """ "my pills", "the medication": a medicine without a name, with a determiner before it."""
    for hit in scene.of("medicine"):
        before = scene.words[max(0, hit.first - 3) : hit.first]
        if any(word in ("my", "his", "her", "the", "their", "our", "all", "any", "a") for word in before):
            return Drug(hit.first, hit.last, hit.term.concept, named=False)
    return None


def pronoun(scene: Scene, carried: str, after: int = 0) -> Drug | None:
    """ "it", "them" after word `after`, where the drug spoken of before is known."""
    if not carried:
        return None
    for at in range(after, len(scene.words)):
        if scene.words[at] in _PRONOUNS:
            return Drug(at, at + 1, carried, named=False)
    return None


def adherence_hits(scene: Scene) -> list[Hit]:
    return [hit for hit in scene.cues.of("adherence") if not scene.cues.masked(hit) and not _now_and_again(scene, hit)]


def _now_and_again(scene: Scene, hit: Hit) -> bool:
    """ "I take it now and again" is how often, and no taking up again."""
    return scene.words[hit.last - 2 : hit.last] == ["and", "again"]


def change_of(scene: Scene, hits: Sequence[Hit]) -> tuple[str, Hit] | None:
    """The change of adherence that the cues of a clause come to, with the cue that says it."""
    usable = []
    for hit in hits:
        if any(
            o is not hit and o.first <= hit.first and hit.last <= o.last and (o.last - o.first) > (hit.last - hit.first)
            for o in hits
        ):
            continue
        usable.append(hit)
    for change in _ORDER:
        for hit in usable:
            if hit.term.concept == change:
                return change, hit
    return None


def read(scene: Scene, carried: str, *, answering: bool = False, near: str = "") -> list[Mention]:
    """Uses and changes of use in the clause. `carried` is the drug spoken of before, for pronouns; `near` the same if
    it was in this turn or the one before; `answering`: the clause answers a question about medicines, so a bare name
    is a use."""
    drugs = find(scene)
    if (pair := _replaced(scene, drugs)) is not None:
        return _exchange(scene, *pair, drugs)
    ordered = {drug.first: order for drug in drugs if (order := order_of(scene, drug.first, drug.last))}
    for one, other in pairwise(drugs):  # "some nsaids, such as ibuprofen"
        if one.first in ordered and other.first not in ordered and _is_instance(scene.words[one.last : other.first]):
            ordered[other.first] = ordered[one.first]
    if ordered:
        scene.people.ordering = True
        told_of = [
            _order(scene, drug, drugs, ordered[drug.first])
            if drug.first in ordered
            else _use(scene, drug, drugs, False)
            for drug in drugs
            if drug.first in ordered or _used(scene, drug, drugs)
        ]
        return [mention for mention in told_of if mention is not None]
    if not drugs and begins(scene):
        scene.people.ordering = True
    text = " ".join(scene.words)
    told = any(phrase in text for phrase in _TOLD if not (scene.people.official and phrase == "supposed to"))
    changed = _adherence(scene, drugs, carried, told)
    if changed is not None:
        return changed
    mentions = []
    for drug in drugs:
        if answering or _used(scene, drug, drugs):
            made = _use(scene, drug, drugs, told)
            if made is not None:
                mentions.append(made)
    if not mentions and (working := _working(scene, drugs, near)) is not None:
        return [working]
    if not drugs and (none := _none_taken(scene)) is not None:
        return [none]
    if not drugs and scene.cues.of("use") and (found := pronoun(scene, carried)) and _said_of_drug(scene, found):
        made = _use(scene, found, [found], told)
        if made is not None:
            mentions.append(made)
    return mentions


def _replaced(scene: Scene, drugs: Sequence[Drug]) -> tuple[Drug, Drug, bool] | None:
    """ "Switch you from X to Y", "replaced the X with Y", "swap X for Y": X, Y, and whether it is done already."""
    for one, other in pairwise(drugs):
        before = [at for at, word in enumerate(scene.words[: one.first]) if word in _REPLACES]
        between = scene.words[one.last : other.first]
        if not before or one.concept == other.concept or not _INTO & set(between) or "," in between[:-1]:
            continue
        if one.first - before[-1] > _REPLACED or scene.cues.negated(before[-1], before[-1] + 1):
            continue
        if scene.cues.hypothetical(before[-1]):
            continue
        return one, other, scene.words[before[-1]] in _REPLACED_ALREADY
    return None


def _exchange(scene: Scene, left: Drug, into: Drug, done: bool, drugs: list[Drug]) -> list[Mention]:
    """The one is stopped, the other taken; or both are to be, where that is ordered or planned."""
    ordered = scene.people.orders and not done
    when = Temporality.CURRENT if done else Temporality.PLANNED
    if ordered:
        scene.people.ordering = True
    made = [
        scene.mention(
            MemoryKind.INSTRUCTION if ordered else MemoryKind.ADHERENCE, left.concept, left.first, left.last,
            polarity=Polarity.AFFIRMED, temporality=when, change="stopped",
        ),
        scene.mention(
            MemoryKind.MEDICATION, into.concept, into.first, into.last,
            polarity=Polarity.AFFIRMED, temporality=when, detail=_amounts(scene, into, drugs),
        ),
    ]  # fmt: skip
    return [mention for mention in made if mention is not None]


def _working(scene: Scene, drugs: Sequence[Drug], near: str) -> Mention | None:
    """ "The gabapentin isn't doing anything", "those do help": what works, or does not, is taken."""
    if scene.people.official:
        return None  # "ibuprofen helps": told of medicines at large
    for hit in scene.cues.of("works"):
        said = scene.words[hit.first]
        if _WOULD & set(scene.words[max(0, hit.first - 2) : hit.first]) or scene.cues.hypothetical(hit.first):
            continue
        named = [drug for drug in drugs if 0 <= hit.first - drug.last <= _WORKS]
        if not named and near and (said in _THOSE or _THOSE & set(scene.words[max(0, hit.first - 2) : hit.first])):
            named = [Drug(hit.first, hit.last, near, named=False)]
        if named:
            drug = named[-1]
            return scene.mention(
                MemoryKind.MEDICATION, drug.concept, drug.first, drug.last,
                polarity=Polarity.AFFIRMED, temporality=Temporality.CURRENT, certain=True,
            )  # fmt: skip
    return None


def _is_instance(between: Sequence[str]) -> bool:
    """ "Such as", "like", "for example" just before the second of two, or the two are joined."""
    said = " ".join(between)
    return said in ("and", "or", ",", ", and", ", or", "or even") or said.endswith(("such as", "for example", "like"))


def _order(scene: Scene, drug: Drug, drugs: list[Drug], order: Order) -> Mention | None:
    """An order is a plan: of a medicine to be taken, or an instruction about one that is."""
    return scene.mention(
        MemoryKind.MEDICATION if order.what == "prescription" else MemoryKind.INSTRUCTION,
        drug.concept, drug.first, drug.last,
        polarity=Polarity.DENIED if order.denied else Polarity.AFFIRMED,
        temporality=Temporality.PLANNED,
        change={"stopped": "stopped", "continued": "taking"}.get(order.what, ""),
        detail=_amounts(scene, drug, drugs),
    )  # fmt: skip


def _none_taken(scene: Scene) -> Mention | None:
    """ "I don't take any medications": denied as a whole."""
    drug = generic(scene)
    if drug is None or "any" not in scene.words[max(0, drug.first - 3) : drug.first]:
        return None
    if not scene.cues.of("use") or not scene.cues.negated(drug.first, drug.last):
        return None
    return scene.mention(MemoryKind.MEDICATION, drug.concept, drug.first, drug.last, polarity=Polarity.DENIED)


def _said_of_drug(scene: Scene, drug: Drug) -> bool:
    before = scene.words[max(0, drug.first - 2) : drug.first]
    if scene.words[drug.last : drug.last + 1] != [] and scene.words[drug.last] in _IDIOMS:
        return False  # "take it from there", "take it easy"
    if before[-1:] == ["on"]:
        return before[0] in _ON
    return before[-1:] != [] and before[-1] in ("take", "taking", "took", "taken", "takes", "using", "use", "giving")


def _adherence(scene: Scene, drugs: list[Drug], carried: str, told: bool) -> list[Mention] | None:
    """The adherence the clause tells, or None when it tells none (then uses are looked for)."""
    hits = adherence_hits(scene)
    found = change_of(scene, hits)
    if found is None:
        return None
    change, cue = found
    targets = drugs or [drug for drug in (generic(scene) or pronoun(scene, carried, cue.first),) if drug]
    counted = bool(find_doses(scene.text, scene.clause.start, scene.clause.end))  # "Most days four puffs"
    if (
        not targets
        and carried
        and not counted
        and len(scene.words) - cue.last <= 2
        and change in ("stopped", "skipped", "resumed")
    ):
        targets = [Drug(cue.first, cue.last, carried, named=False)]  # "… but I keep forgetting"
    if not targets:
        return None
    if change in ("stopped", "skipped") and scene.cues.hypothetical(cue.first):
        return []
    if change == "skipped" and _none_taken(scene) is not None:
        return None
    near = [drug for drug in targets if _within_reach(cue, drug, change)]
    if not near or _other_matter(scene, cue, near, change):
        return None
    planned = told or scene.planned_ahead or any(h.first <= cue.first for h in scene.cues.of("planned"))
    negated = scene.cues.negated(cue.first, cue.last) and change not in ("not-started", "taking")
    temporality = Temporality.PLANNED if planned or _ordered(scene) else Temporality.CURRENT
    if negated:
        if change != "stopped" and change != "skipped":
            return None
        change = "taking"
    switched, into = _switched(scene, cue, near)
    near = switched or near
    mentions = [
        scene.mention(
            MemoryKind.INSTRUCTION if _ordered(scene) else MemoryKind.ADHERENCE, drug.concept, drug.first, drug.last,
            polarity=Polarity.AFFIRMED, temporality=temporality, change=change,
            detail=_amounts(scene, drug, near, adherence=True),
        )
        for drug in near
    ]  # fmt: skip
    mentions += [_use(scene, drug, into, told) for drug in into]
    return [mention for mention in mentions if mention is not None]


def _switched(scene: Scene, cue: Hit, drugs: list[Drug]) -> tuple[list[Drug], list[Drug]]:
    """ "I switched from X to Y": X is stopped, Y is taken."""
    to = [at for at in range(cue.last, len(scene.words)) if scene.words[at] == "to"]
    if scene.words[cue.last - 1] != "from" or not to:
        return [], []
    return [drug for drug in drugs if drug.first < to[0]], [drug for drug in drugs if drug.first > to[0]]


def _ordered(scene: Scene) -> bool:
    """A clinician's imperative: "Stop the ibuprofen." It tells what to do, not what is done."""
    return scene.people.official and scene.words[0] in _IMPERATIVES


def _within_reach(cue: Hit, drug: Drug, change: str) -> bool:
    """The medicine stands in the cue, soon after it, or not far before it ("cutting my losartan in half")."""
    if drug.first >= cue.last:
        return drug.first - cue.last <= (2 if change == "ran-out" else 8)
    return drug.last > cue.first or cue.first - drug.last <= 8


def _other_matter(scene: Scene, cue: Hit, drugs: list[Drug], change: str) -> bool:
    """A weak cue that speaks of something else: "the extra", "too much", "all of my", "still on"."""
    words = scene.words[cue.first : cue.last]
    if words[0] == "off":
        before = scene.words[cue.first - 1] if cue.first else ""
        return before not in _OFF or not any(drug.named and 0 <= drug.first - cue.last <= 1 for drug in drugs)
    within = [name for name in scene.of("symptom", "condition") if cue.first <= name.first < drugs[0].first]
    if "had" in words and within:
        return True  # "hasn't had a seizure since they raised the Keppra"
    if change == "taking" and words[0] in ("still", "all", "keep", "kept", "on", "stayed", "staying"):
        return words[0] == "all" and "take" not in " ".join(scene.words)
    if change == "stopped" and len(words) == 1 and words[0] in ("stop", "quit", "stopped", "stopping"):
        return min(abs(drug.first - cue.last) for drug in drugs) > 6
    return False


def _used(scene: Scene, drug: Drug, drugs: list[Drug]) -> bool:
    text_before = scene.words[: drug.first]
    if any(h.last <= drug.first and drug.first - h.last <= 3 for h in scene.cues.of("not_use")):
        return False
    if any(h.last <= drug.first for h in scene.cues.of("use")):
        return True
    if scene.words[drug.last : drug.last + 2] in (["is", "for"], ["are", "for"]):
        return bool(course.reason_taken(scene, drug.last))  # "the furosemide is for the fluid in my legs"
    amounts = find_doses(scene.text, scene.clause.start, scene.clause.end) or find_frequencies(
        scene.text, scene.clause.start, scene.clause.end
    )
    return bool(amounts) and (len(text_before) <= 6)


def _use(scene: Scene, drug: Drug, drugs: list[Drug], told: bool) -> Mention | None:
    assertion = scene.cues.assess(drug.first, drug.last)
    temporality = assertion.temporality
    kind = MemoryKind.MEDICATION
    if scene.cues.planned(drug.first) or scene.planned_ahead:
        temporality = Temporality.PLANNED
    elif told or _ordered(scene):
        kind = MemoryKind.INSTRUCTION
        temporality = Temporality.PLANNED if _ordered(scene) else temporality
    change = (
        "started"
        if any(w in ("started", "starting", "began") for w in scene.words[: drug.first])
        and temporality is Temporality.CURRENT
        else ""
    )
    if (
        temporality is Temporality.CURRENT
        and assertion.polarity is Polarity.AFFIRMED
        and not change
        and _once(scene, drug)
    ):
        temporality = Temporality.PAST
    return scene.mention(
        kind,
        drug.concept,
        drug.first,
        drug.last,
        temporality=temporality,
        change=change,
        detail=_amounts(scene, drug, drugs) | {"reason": course.reason_taken(scene, drug.last)},
    )


def _once(scene: Scene, drug: Drug) -> bool:
    """ "I took ibuprofen yesterday": a use in the past, not a regimen."""
    before = scene.words[: drug.first]
    usual = " ".join(scene.words[drug.last :])
    own = before[-1:] == ["my"] and any(
        when.said.lower().startswith(("this ", "today", "last night")) for when in scene.times
    )
    if own or "as usual" in usual or "like always" in usual or "as always" in usual:
        return False  # "I had my prednisone this morning": the regimen goes on
    return any(w in ("took", "had", "tried", "used", "gave", "got") for w in before) and bool(scene.times) and not any(
        when.begins for when in scene.times
    ) and not find_frequencies(scene.text, scene.clause.start, scene.clause.end)  # fmt: skip


def _amounts(scene: Scene, drug: Drug, drugs: list[Drug], *, adherence: bool = False) -> dict[str, str]:
    """The dose and frequency that belong to this drug: the nearest dose; the frequency before the next drug."""
    start, end = scene.clause.start, scene.clause.end
    doses = _reached(scene.text, find_doses(scene.text, start, end))
    often = find_frequencies(scene.text, start, end)
    dose = _nearest(scene, [a for a in doses if not a.piece], drug, drugs) or _nearest(scene, doses, drug, drugs)
    frequency = _following(scene, often, drug, drugs)
    found = {"dose": dose.text if dose else "", "frequency": frequency.text if frequency else ""}
    if dose is None:
        found["dose"] = _bare_dose(scene, drug)
    count = [a for a in doses if a.piece and (dose is None or a.start != dose.start)]
    if count and len(drugs) == 1 and dose and not dose.piece:
        found["amount"] = count[0].text
    if adherence and dose is None:
        found.pop("dose")
    return found


_NO_DOSE: Final = re.compile(
    r"^\s*(?:years?|months?|weeks?|days?|hours?|minutes?|times?|am|pm|percent|%|o'clock|out|or|to|of|/|-|:)",
    re.IGNORECASE,
)
_BARE_DOSE: Final = re.compile(r"^\s+(\d{1,4}(?:\.\d{1,2})?)(?![\d/.:]\d)\b", re.IGNORECASE)


def _bare_dose(scene: Scene, drug: Drug) -> str:
    """ "Lasix 40": a number right after the name, as said; empty where it counts something else."""
    if not drug.named:
        return ""
    end = scene.characters(drug.first, drug.last)[1]
    match = _BARE_DOSE.match(scene.text[end : scene.clause.end])
    return match[1] if match and not _NO_DOSE.match(scene.text[end + match.end() : scene.clause.end]) else ""


def _reached(text: str, doses: list[Amount]) -> list[Amount]:
    """Without the dose that is left: "from 10 mg to 20 mg" comes to 20."""
    return [
        dose
        for dose in doses
        if not (
            text[: dose.start].rstrip().lower().endswith(" from")
            and any(text[dose.end : other.start].strip().lower() == "to" for other in doses if other.start > dose.end)
        )
    ]


def _nearest(scene: Scene, amounts: list[Amount], drug: Drug, drugs: list[Drug]) -> Amount | None:
    best: tuple[int, int, Amount] | None = None
    for amount in amounts:
        rivals = sorted((_distance(scene, amount, other), other.first) for other in drugs)
        if rivals[0][1] != drug.first:
            continue
        key = (_distance(scene, amount, drug), -amount.start, amount)
        if best is None or key[:2] < best[:2]:
            best = key
    return best[2] if best else None


def _distance(scene: Scene, amount: Amount, drug: Drug) -> int:
    start, end = scene.characters(drug.first, drug.last)
    return amount.start - end if amount.start >= end else start - amount.end


def _following(scene: Scene, amounts: list[Amount], drug: Drug, drugs: list[Drug]) -> Amount | None:
    _start, end = scene.characters(drug.first, drug.last)
    later = [other for other in drugs if other.first > drug.first]
    limit = scene.characters(later[0].first, later[0].last)[0] if later else scene.clause.end
    after = [a for a in amounts if a.start >= end]
    own = [a for a in after if a.end <= limit]
    if own:
        return own[0]
    before = [a for a in amounts if a.end <= scene.characters(drug.first, drug.last)[0]]
    if before and drug.first == min(other.first for other in drugs):
        return before[-1]
    listed = (
        all(w in ("and", ",", "or", "my", "the", "a") for w in scene.words[drug.last : later[0].first])
        if later
        else False
    )
    return after[0] if listed and after else None


def bare_names(words: Sequence[str]) -> list[str]:
    """The concepts of medicines named in these words, for what a question was about."""
    return [hit.term.concept for hit in lexicon.clinical().longest(words) if hit.term.kind == "drug"]
