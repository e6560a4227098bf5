"""Which allergies and side effects does a clause tell: to what, with which reaction, or that there are none?

A reaction of the allergic sort (rows of kind allergic_sign) after a medicine or food is told as an allergy to it;
any other symptom that a medicine is said to make is a side effect, named by the symptom, with the medicine as agent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from iamata.formation.extraction import course, findings, medications
from iamata.formation.extraction.findings import Finding
from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.people import PATIENT
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

NO_ALLERGIES: Final = "Known allergies"
NO_DRUG_ALLERGIES: Final = "Known drug allergies"
CATEGORIES: Final = {
    "drug": "Known drug allergies", "medication": "Known drug allergies", "medicine": "Known drug allergies",
    "food": "Known food allergies", "medications": "Known drug allergies", "drugs": "Known drug allergies",
    "medicines": "Known drug allergies", "foods": "Known food allergies", "med": "Known drug allergies",
    "environmental": "Known environmental allergies",
}  # fmt: skip
# How many words a substance may stand after its cue, and before it: talk without marks runs on and on.
_AFTER: Final = 16
_BEFORE: Final = 8
_SUBSTANCES: Final = ("drug", "drug_in_context", "allergen", "medicine")
# Cues that tell an allergy only where a substance follows that our tables know.
_WEAK: Final = (
    "can't have", "can't eat", "sensitive to", "sensitivity to", "intolerance", "reaction to", "reactions to",
    "react to", "reacts to", "reacted to",
)  # fmt: skip
_STOP: Final = frozenset(
    ["and", "or", "but", ",", ";", ".", "i", "he", "she", "it", "we", "they", "which", "so", "when", "if",
     "because", "since", "as", "now", "too", "also", "that", "who", "anymore", "either", "myself", "himself",
     "herself", "-", "(", "until", "while", "at", "all", "from", "though", "is", "are", "was", "does", "do", "did",
     "right", "or", "not", "with"]
)  # fmt: skip
_EMPTY: Final = frozenset(
    ["a", "an", "the", "my", "any", "some", "certain", "this", "these", "those", "like", "most", "all", "something",
     "anything", "it", "them", "thing", "things", "single", "nothing"]
)  # fmt: skip
_GENERAL: Final = frozenset(("allergies", "allergy", "allergic"))
_OF_ANY: Final = frozenset(
    ["no", "any", "none", "known", "have", "has", "had", "anything", "nothing", "thing", "without", "nil"]
)
_PERSONAL: Final = frozenset(["me", "my", "i", "i've", "him", "his", "her", "us", "our", "you", "your"])
_IT: Final = frozenset(("it", "them", "that", "those", "either", "this"))
# "No other allergies": some are told elsewhere, so nothing is denied.
_OTHERS: Final = frozenset(
    ["other", "others", "else", "otherwise", "additional", "further", "more", "new", "change", "changes", "changed"]
)
_BUT: Final = frozenset(["besides", "except", "apart", "aside", "than", "bar"])  # what follows is left out of a denial
_SAID_BEFORE: Final = frozenset(["said", "told", "wrote", "put"])
_EARLIER: Final = frozenset(["before", "earlier", "last", "already", "first"])
_RELIEVED: Final = frozenset(
    ["helps", "help", "helped", "relieves", "relieved", "eases", "eased", "for", "better", "calms", "away", "settles"]
)
# That a sign went, beside a substance: it came of something else.
_SETTLED: Final = _RELIEVED | frozenset(
    ["settle", "settled", "clears", "clear", "cleared", "disappears", "went", "goes", "gone", "stops", "stopped",
     "less", "fewer", "control", "controlled", "rarely", "hardly"]
)  # fmt: skip
_ONLY: Final = frozenset(["just", "only"])
_MARKERS: Final = frozenset((
    "about", "clinic", "bracelet", "form", "list", "card", "band", "alert", "nurse", "tablets", "tablet", "spray",
    "test", "shots", "shot", "medicine", "medication", "pill", "pills", "season", "doctor", "specialist", "testing",
    "data", "information", "info", "section", "records",
))  # fmt: skip


def is_medicine(concept: str) -> bool:
    """Does a row of our tables name it as a medicine?"""
    return any(term.kind in ("drug", "drug_in_context") for term in lexicon.clinical().exact(concept))


def is_about_allergy(scene: Scene) -> bool:
    return bool(allergy_cues(scene))


def of_others(words: Sequence[str]) -> bool:
    """ "Any other allergies?", "none besides penicillin": what is said leaves out some that are known."""
    return bool((_OTHERS | _BUT) & set(words))


def of_some(words: Sequence[str]) -> bool:
    """ "… just penicillin", "… except sulfa": a denial goes on to name what is not denied."""
    return bool((_ONLY | _BUT) & set(words))


def left_out(words: Sequence[str], first: int) -> bool:
    """Does what stands at word `first` follow "besides", "other than", "apart from"?"""
    return bool(_BUT & set(words[:first]))


def names_no_substance(words: Sequence[str]) -> bool:
    """Is it allergies in general that these words name ("any allergies", "food allergies")?"""
    return all(word in _GENERAL or word in _OF_ANY or word in CATEGORIES for word in words)


def allergy_cues(scene: Scene) -> list[Hit]:
    """The words of the clause that tell an allergy; not what something is taken for ("Allegra for my allergies")."""
    found = []
    for hit in scene.cues.of("allergy"):
        phrase = " ".join(scene.words[hit.first : hit.last])
        after = scene.words[hit.last] if hit.last < len(scene.words) else ""
        any_before = {"any", "no", "known"} & set(scene.words[: hit.first])
        if (after in _MARKERS or (after == "for" and not any_before)) and phrase in ("allergy", "allergies"):
            continue
        before = scene.words[max(0, hit.first - 3) : hit.first]
        if phrase in ("allergy", "allergies") and "for" in before and "positive" not in before:
            continue
        named = scene.of(*_SUBSTANCES)
        whole = hit.last >= len(scene.words) and any(s.last <= hit.first for s in named)  # "it's plasters I react to"
        if phrase in _WEAK and not whole and not any(s.first >= hit.last for s in named):
            continue
        found.append(hit)
    return found


def read_allergies(scene: Scene, carried: str, *, here: bool = False) -> list[Mention]:
    """The allergies of the clause, or their denial. `carried` is the substance spoken of before ("allergic to it"),
    `here`: in this turn, so that a bare "I'm allergic" means it."""
    for hit in scene.cues.of("allergy_none"):  # "NKDA"
        made = scene.mention(
            MemoryKind.ALLERGY, hit.term.concept, hit.first, hit.last, polarity=Polarity.DENIED, dated=False
        )
        return [made] if made else []
    cues = allergy_cues(scene)
    if not cues:
        return []
    cue = cues[0]
    substances = _substances(scene, cue)
    if substances and (guess := _guessed(scene, cue, substances[0][2])) is not None:
        return [guess]
    if not substances:
        return _without_substance(scene, cue, cues, carried, here)
    reactions = findings.find(scene)
    named = {concept for _f, _l, concept in substances}
    reaction = next(
        (
            f
            for f in reactions
            if f.concept not in named and not f.condition and f.concept != "Allergic reaction" and not _inside(f, cue)
        ),
        None,
    )
    mentions = []
    person = scene.owner(substances[0][0], substances[0][1])  # of all: "dogs" in a list is no person
    for first, last, concept in substances:
        assertion = scene.cues.assess(first, last)
        denied = scene.cues.negated(first, last) or (
            scene.cues.negated(cue.first, cue.last) and scene.cues.is_open(cue.last, first)
        )
        avoids = scene.words[cue.first] == "can't"  # "can't have dairy": avoided, for a reason not told
        denied = (denied and not avoids) or bool(_MISTAKEN.search(" ".join(scene.words)))
        began = course.onset(scene, first, last) or _since(scene)
        past = assertion.temporality is Temporality.PAST or scene.cues.historical(cue.first, cue.last)
        past = past and not began
        if assertion.temporality is Temporality.HYPOTHETICAL or scene.cues.hypothetical(cue.first):
            continue  # a supposed allergy says nothing of the patient
        temporality = Temporality.PAST if past and not denied else Temporality.CURRENT
        mentions.append(
            scene.mention(
                MemoryKind.ALLERGY, concept, first, last,
                polarity=Polarity.DENIED if denied else Polarity.AFFIRMED, temporality=temporality,
                certain=assertion.certain and not avoids and not scene.cues.uncertain(cue.first, cue.last),
                dated=False, began="" if denied else began, person=person, detail=reaction_named(scene, reaction),
            )
        )  # fmt: skip
    return [mention for mention in mentions if mention is not None]


# "The latex allergy is a mistake."
_MISTAKEN: Final = re.compile(
    r"\ballerg(?:y|ies)(?: \w+){0,3} (?:is|was|are|'s) (?:just |all )?"
    r"(?:a mistake|wrong|an error|in error|incorrect|not (?:right|true|correct|real))\b"
)


def _since(scene: Scene) -> str:
    """The beginning that the clause dates with "since", as said."""
    return next((when.said for when in scene.times if when.begins and when.said.lower().startswith("since")), "")


_PERHAPS: Final = frozenset(["maybe", "perhaps", "possibly", "could", "might", "wonder", "wondering", "guess"])
_NOW: Final = frozenset(["it's", "it", "this", "that's", "that", "i'm", "having"])
_LED: Final = 24  # characters before the clause: "maybe it, it's …"


def _guessed(scene: Scene, cue: Hit, agent: str) -> Mention | None:
    """ "Maybe it's an allergic reaction to the codeine": a guess at what goes on now. It is a worry of the speaker's,
    no allergy that is known, and "I don't know" before it denies nothing."""
    before = scene.words[: cue.first]
    led = [
        spot.word for spot in lexicon.split_words(scene.text[max(0, scene.clause.start - _LED) : scene.clause.start])
    ]
    now = bool(_NOW & set(before)) and not {"had", "was", "were", "been"} & set(before)
    if "reaction" not in scene.words[cue.first : cue.last] or not now or not _PERHAPS & {*before, *led}:
        return None
    return scene.mention(
        MemoryKind.CONCERN, "Allergic reaction", cue.first, cue.last,
        polarity=Polarity.AFFIRMED, temporality=Temporality.CURRENT, certain=False, dated=False,
        detail={"agent": agent},
    )  # fmt: skip


def _inside(finding: Finding, cue: Hit) -> bool:
    return cue.first <= finding.first < cue.last


def reaction_named(scene: Scene, finding: Finding | None) -> dict[str, str]:
    """The reaction by its normal name and as said; nothing without one."""
    if finding is None:
        return {}
    said = scene.said(finding.first, finding.last).lower()
    return {"reaction": finding.concept, "reaction_said": said if said != finding.concept.lower() else ""}


def _substances(scene: Scene, cue: Hit) -> list[tuple[int, int, str]]:
    """What the allergy is to: names of the tables after the cue, "X allergy" before it, else the words after "to"."""
    named: list[tuple[int, int, str]] = []
    for hit in scene.of("drug", "drug_in_context", "allergen"):
        if (
            0 <= hit.first - cue.last <= _AFTER
            or hit.last == cue.first
            or (0 <= cue.first - hit.last <= _BEFORE and not _to_follows(scene, cue))
        ) and not any(first < hit.last and hit.first < last for first, last, _c in named):
            named.append((hit.first, hit.last, hit.term.concept))
    to = [at for at in range(cue.last - 1, min(cue.last + 4, len(scene.words))) if scene.words[at] == "to"]
    if named:
        named = _compounded(scene, cue, named)
        return [n for n in named if not to or n[0] > to[0] or n[1] <= cue.first] or named
    return _said_after(scene, to[0] + 1) if to else []


def _to_follows(scene: Scene, cue: Hit) -> bool:
    """ "Allergic to …", with something after it; not "latex is the one thing I'm allergic to"."""
    at = next((at for at in range(cue.first, min(cue.last + 1, len(scene.words))) if scene.words[at] == "to"), None)
    return at is not None and at + 1 < len(scene.words)


def _compounded(scene: Scene, cue: Hit, named: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """ "EpiPen because of my peanut allergy": where a substance stands right before the cue, only what is listed with
    it belongs to it."""
    own = next((at for at, (_first, last, _concept) in enumerate(named) if last == cue.first), None)
    if own is None:
        return named
    begin = own
    while begin and set(scene.words[named[begin - 1][1] : named[begin][0]]) <= {"and", "or", ",", "&", "/"}:
        begin -= 1
    return named[begin:]


def _said_after(scene: Scene, at: int) -> list[tuple[int, int, str]]:
    """Unknown substances, word for word: "allergic to lilies and starfruit"."""
    found = []
    while at < len(scene.words):
        while at < len(scene.words) and (scene.words[at] in _EMPTY or scene.words[at] in (",", "and", "or")):
            at += 1
        first = at
        while at < len(scene.words) and scene.words[at] not in _STOP and at - first < 3:
            at += 1
        if at == first or scene.words[first] in CATEGORIES:
            break
        said = scene.said(first, at)
        found.append((first, at, said[0].upper() + said[1:]))
        if at >= len(scene.words) or scene.words[at] not in (",", "and", "or"):
            break
        after = scene.words[at + 1] if at + 1 < len(scene.words) else ""
        if after in _STOP or after in ("it", "gives", "makes"):
            break
    return found


# "The GP wrote it up as an allergy."
_WRITTEN: Final = re.compile(
    r"\b(?:wrote|put|noted|recorded|listed|flagged|marked|entered|has|have|got) (?P<it>it|that|them)"
    r"(?: up| down| in)? as an allergy\b"
)


def _without_substance(scene: Scene, cue: Hit, cues: list[Hit], carried: str, here: bool) -> list[Mention]:
    """ "No allergies", "not allergic to anything", "allergic to it"; an allergy with no name says nothing to keep."""
    if carried and (written := _WRITTEN.search(" ".join(scene.words))) is not None:
        at = len(" ".join(scene.words)[: written.start("it")].split())
        whose = scene.people.spoken_of or PATIENT  # whoever wrote it, it is not theirs
        made = scene.mention(
            MemoryKind.ALLERGY, carried, at, at + 1, polarity=Polarity.AFFIRMED, person=whose, dated=False
        )
        return [made] if made else []
    bare = here and scene.words[cue.first : cue.last] == ["allergic"] and cue.last == len(scene.words)
    if bare and carried and len(scene.words) <= 3 and not scene.cues.negated(cue.first, cue.last):
        made = scene.mention(MemoryKind.ALLERGY, carried, cue.first, cue.last, dated=False)
        return [made] if made else []
    to = [at for at in range(cue.last - 1, min(cue.last + 2, len(scene.words))) if scene.words[at] == "to"]
    if to and carried and to[0] + 1 < len(scene.words) and scene.words[to[0] + 1] in _IT:
        denied = scene.cues.negated(cue.first, cue.last)
        made = scene.mention(
            MemoryKind.ALLERGY, carried, to[0] + 1, to[0] + 2,
            polarity=Polarity.DENIED if denied else Polarity.AFFIRMED, dated=False,
        )  # fmt: skip
        return [made] if made else []
    general = next((hit for hit in cues if set(scene.words[hit.first : hit.last]) & _GENERAL), None)
    if general is None or not scene.cues.negated(general.first, general.last):
        return []
    if _SAID_BEFORE & set(scene.words[: general.first]) and _EARLIER & set(scene.words):
        return []  # "I said no allergies before, but …"
    near = scene.words[max(0, general.first - 5) : general.last + 4]
    if not _OF_ANY & set(near) or of_others(near):
        return []
    around = scene.words[max(0, general.first - 2) : min(len(scene.words), general.last + 3)]
    concept = next((CATEGORIES[word] for word in around if word in CATEGORIES), NO_ALLERGIES)
    made = scene.mention(
        MemoryKind.ALLERGY, concept, general.first, general.last, polarity=Polarity.DENIED, dated=False
    )
    return [made] if made else []


def is_general(scene: Scene) -> bool:
    """ "Statins cause muscle pain": told of medicines at large, of nobody in particular."""
    causes = [hit for hit in scene.cues.of("effect") if scene.words[hit.first] in ("cause", "causes", "triggers")]
    return bool(causes) and not _PERSONAL & set(scene.words[causes[0].last :])


def read_effects(scene: Scene, carried: str) -> list[Mention]:
    """What a medicine (or food) is said to do: "X makes me Y", "Y from X", "when they gave me X, Y"."""
    effects = [(hit.first, hit.last) for hit in scene.cues.of("effect") if _makes_sense(scene, hit)]
    effects += _occasions(scene.words)
    if not effects:
        return _sign_from(scene, carried)
    agents = [(d.first, d.last, d.concept) for d in medications.find(scene)]
    agents += [
        (h.first, h.last, h.term.concept)
        for h in scene.of("allergen")
        if not any(h.first < a[1] and a[0] < h.last for a in agents)
    ]
    if not agents:
        strong = scene.cues.of("effect_strong")
        drug = medications.pronoun(scene, carried) if strong else None
        drug = drug or (medications.generic(scene) if strong else None)
        if drug is None or not any(drug.last <= hit.first or hit.last <= drug.first for hit in strong):
            return _sign_from(scene, carried)
        agents = [(drug.first, drug.last, drug.concept)]
    spans = [(a[0], a[1]) for a in agents]
    symptoms = [
        f for f in findings.find(scene) if not f.condition and not any(f.first < e and s < f.last for s, e in spans)
    ]
    if not symptoms or not any(_beside(told, agents[0]) or told[1] <= agents[0][0] for told in effects):
        return _sign_from(scene, carried)
    if scene.cues.hypothetical(agents[0][0]) and not _habitual(scene):
        return []
    if _GONE.search(" ".join(scene.words[symptoms[0].last :])):
        return []  # "once I was on prednisone the rash was gone"
    return _told(scene, agents, symptoms)


def _makes_sense(scene: Scene, hit: Hit) -> bool:
    """ "When I have dairy": what is had makes it. "I take X when I have pain": it is taken for it."""
    if scene.words[hit.first] not in ("when", "whenever") or scene.words[hit.last - 1] != "have":
        return True
    after = scene.of("drug", "drug_in_context", "allergen", "medicine")
    return any(0 <= name.first - hit.last <= 3 for name in after)


def _beside(told: tuple[int, int], agent: tuple[int, int, str]) -> bool:
    return 0 <= told[0] - agent[1] <= 4 or 0 <= agent[0] - told[1] <= 4 or told[0] < agent[0] < told[1]


_GONE: Final = re.compile(
    r"^(?:\w+ ){0,3}?(?:gone|cleared|settled|disappeared|vanished|(?:went|goes|gone|going) (?:away|down)|under control"
    r"|went$)"
)
_WHENEVER: Final = frozenset(["when", "whenever", "time", "after", "once"])
_TAKERS: Final = frozenset(["i", "he", "she", "we", "i'm", "he's", "she's", "i've", "they"])
_HAVING: Final = frozenset(
    ["had", "has", "have", "got", "gets", "get", "took", "take", "takes", "taken", "tried", "try", "tries", "used",
     "use", "uses", "ate", "eat", "eats", "on", "given", "taking", "put"]
)  # fmt: skip
_FILL: Final = frozenset(
    ["a", "an", "the", "my", "his", "her", "some", "any", "that", "taking", "having", "eating", "using", "one", "dose",
     "course", "of", "was", "were", "am", "been", "him", "me", "first", "some"]
)  # fmt: skip


def _occasions(words: Sequence[str]) -> list[tuple[int, int]]:
    """ "When I had …", "last time he was on …", "once she tried …", with a substance to follow: the stretches that tell
    on which occasion something was taken."""
    found = []
    if words[:1] and words[0] in _LEADS and _COMES & set(words) and not _SETTLED & set(words):
        led = lexicon.clinical().longest(words[1:5])  # "With codeine, my lips and tongue swell up"
        found += [(0, 1)] if any(hit.first <= 1 and hit.term.kind in ("drug", "allergen") for hit in led) else []
    for at in range(len(words) - 2):
        if words[at] not in _WHENEVER or words[at + 1] not in _TAKERS:
            continue
        verb = next((i for i in range(at + 2, min(at + 5, len(words))) if words[i] not in _FILL), None)
        if words[at + 1] in ("i'm", "he's", "she's") and words[at + 2] != "on":
            continue
        if verb is None or words[verb] not in _HAVING:
            continue
        following = lexicon.clinical().longest(words[verb + 1 : verb + 5])
        if any(hit.first <= 2 and hit.term.kind in _SUBSTANCES for hit in following):
            found.append((at, verb + 1))
    return found


_LEADS: Final = frozenset(["with", "on", "after", "from"])
# That a sign comes on: "with Benadryl my hives are bearable" tells of one that is there already.
_COMES: Final = frozenset(
    ["get", "gets", "got", "break", "breaks", "broke", "come", "comes", "came", "swell", "swells", "swelled", "develop",
     "develops", "developed", "erupt", "erupts", "erupted"]
)  # fmt: skip
_FROM: Final = frozenset(["after", "from", "off", "with", "on", "to"])
_CAUSES: Final = frozenset(["from", "off", "to"])
_TREATED: Final = frozenset(
    ["treat", "treated", "treating", "treats", "put", "puts", "using", "use", "used", "rub", "rubbed", "managed",
     "manage", "controlled", "cleared", "clears", "clear", "control", "started", "start", "taking", "take"]
)  # fmt: skip


def _sign_from(scene: Scene, carried: str) -> list[Mention]:
    """ "A rash off amoxicillin", "broke out in hives after aspirin": an allergic sign, and what it is said to come from
    right after it. Not what it is treated with."""
    signs = [f for f in findings.find(scene) if not f.condition and _is_sign(f, allergen=False)]
    named = [(d.first, d.last, d.concept) for d in medications.find(scene)]
    named += [(h.first, h.last, h.term.concept) for h in scene.of("allergen")]
    if carried and not named:  # "you can add tramadol, I had hives from it"
        pronouns = [
            at for at in range(1, len(scene.words)) if scene.words[at] in _IT and scene.words[at - 1] in _CAUSES
        ]
        named += [(at, at + 1, carried) for at in pronouns]
    for sign in signs:
        for agent in sorted(named):
            again = [h.last for h in scene.of("symptom") if h.term.concept == sign.concept and h.last <= agent[0]]
            between = scene.words[max(sign.last, *again, 0) : agent[0]]  # "broke out in a rash": told twice
            if not between or between[0] not in _FROM or not set(between[1:]) <= _FILL:
                continue
            if (_TREATED | {"for"}) & set(scene.words[: sign.first]) or _SETTLED & set(scene.words[sign.last :]):
                continue
            if medications.adherence_hits(scene):
                continue  # "after my ibuprofen ran out"
            if scene.cues.hypothetical(sign.first) or scene.cues.negated(sign.first, sign.last):
                continue
            return _told(scene, [agent], [sign])
    return []


def _habitual(scene: Scene) -> bool:
    """ "If I take aspirin I wheeze": supposed in form, told as what happens."""
    phrase = " ".join(scene.words)
    return any(
        start in phrase
        for start in ("if i take", "if i eat", "if he eats", "if she eats", "if he takes", "if she takes")
    )


def _is_sign(finding: Finding, *, allergen: bool) -> bool:
    """Of the allergic sort; after food, animals and the like also itching, sneezing, wheezing and any swelling."""
    kinds = ("allergic_sign", "allergen_sign") if allergen else ("allergic_sign",)
    if any(finding.concept == term.concept for kind in kinds for term in lexicon.cues().of(kind)):
        return True
    if finding.concept.lower().endswith((" rash", " hives")):
        return True  # "a rash on my arm"
    return allergen and finding.concept.lower().endswith((" swelling", " itching"))


def _told(scene: Scene, agents: list[tuple[int, int, str]], symptoms: list[Finding]) -> list[Mention]:
    mentions = []
    agent = agents[0]
    relieved = _RELIEVED & set(scene.words[agent[1] :])
    for finding in sorted(symptoms, key=lambda f: (f.concept == "Rash", f.first)):
        denied = scene.cues.negated(finding.first, finding.last)
        polarity = Polarity.DENIED if denied else Polarity.AFFIRMED
        if relieved and finding.concept != "Side effects" and "for" not in scene.words[:1]:
            continue
        if not denied and _is_sign(finding, allergen=agent[0] in {h.first for h in scene.of("allergen")}):
            made = scene.mention(
                MemoryKind.ALLERGY, agent[2], agent[0], agent[1], polarity=polarity, dated=False,
                person=scene.owner(finding.first, finding.last), detail=reaction_named(scene, finding),
            )  # fmt: skip
        else:
            made = scene.mention(
                MemoryKind.SIDE_EFFECT,
                finding.concept,
                finding.first,
                finding.last,
                polarity=polarity,
                detail={"agent": agent[2]},
            )
        if made is not None:
            mentions.append(made)
    return mentions
