"""What does the turn before ask about: which things, or which allergies or medicines at all?

A question asserts nothing. It gives what comes after its subject; what the answer says is `answers`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from iamata.formation.extraction import findings, medications, reactions
from iamata.formation.extraction.people import People
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Sentence, sentences
from iamata.formation.extraction.social import HABITS
from iamata.formation.extraction.stems import stems
from iamata.model.memory import MemoryKind
from iamata.model.session import Speaker
from iamata.terminology import lexicon

MEDICATION_WORDS: Final = frozenset(
    [
        "medication",
        "medications",
        "medicine",
        "medicines",
        "meds",
        "drugs",
        "prescriptions",
        "pills",
        "tablets",
        "vitamins",
        "supplements",
        "vitamin",
        "supplement",
    ]
)
_ADVICE: Final = ("should", "can", "could", "would", "may", "shall")
_PLAINLY: Final = ("any medications", "any medication", "any medicines", "any medicine", "any meds", "any drugs")
_BRIEF: Final = 8
_TAKES: Final = frozenset(
    ["had", "given", "tried", "taken", "take", "using", "used", "use", "buy", "bought", "get", "got"]
)
_RELIEVES: Final = frozenset(["relieve", "relieves", "ease", "eases", "help", "helps", "helping", "settle", "settles"])
_DISEASES: Final = (MemoryKind.CONDITION, MemoryKind.HISTORY, MemoryKind.SYMPTOM)
_LIKES: Final = frozenset(["prefer", "suit", "rather", "suits"])
_DEGREE: Final = frozenset(
    ["worse", "better", "improving", "improved", "worsening", "same", "bad", "severe", "constant", "gone"]
)


class Topic(msgspec.Struct, frozen=True):
    """One thing a question asks about; `said`: the stems of the words that name it there."""

    kind: MemoryKind
    concept: str
    change: str = ""
    agent: str = ""
    said: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True):
    """What the turn before asked. `open` is `allergy` or `medication` when it asks which, `goal`, `concern` or
    `barrier` when it asks for one's own; `negative`: it states a denial and asks for assent; `lasting`: how long, since
    when; `degree`: how bad, better or worse; `which`: no yes or no answers it; `begun`: whether a medicine was fetched
    or begun; `reacting`: what this substance does; `plain`: any medicines at all, not those of one sort; `others`:
    allergies besides those that are known; `known`: those that the question itself leaves out; `taken_back`: it was
    answered with a denial, and what comes may take that back; `continued`: it was answered with names, and more may be
    added; `of`: the words for the one relative that it asks about; `mere`: it speaks of allergies without asking
    whether there are any, so a refusal denies none; `avoided`: it asks what cannot be had, for whatever reason;
    `state`: what a bad mood, appetite, sleep that it asks after is called; `left`: the answer has told of some of it,
    and what comes may name the rest."""

    text: str
    topics: tuple[Topic, ...] = ()
    open: str = ""
    general: str = reactions.NO_ALLERGIES
    family: bool = False
    negative: bool = False
    lasting: bool = False
    degree: bool = False
    which: bool = False
    begun: bool = False
    reacting: str = ""
    plain: bool = False
    others: bool = False
    known: tuple[str, ...] = ()
    taken_back: bool = False
    continued: bool = False
    of: str = ""
    mere: bool = False
    avoided: bool = False
    state: str = ""
    left: bool = False


def asked(before: Sequence[tuple[Speaker, str]], speaker: Speaker | None, relationship: str = "") -> Question | None:
    """The question that the last turn of somebody else put, or None. `relationship` is that of a caregiver who
    answers: "your brother" may be the patient."""
    if not before or before[-1][0] is speaker:
        return None
    text = before[-1][1]
    last: Sentence | None = None
    stated: Sentence | None = None
    family = False
    for sentence in sentences(text[-3000:]):
        before_it, stated = stated, sentence
        family = _of_family(sentence.words, relationship) or (
            family and not {"you", "you're", "you've"} & set(sentence.words)
        )
        said = [word for word in sentence.words[:4] if word not in ("please", ",")]
        invites = said[:2] in (["tell", "me"], ["list", "your"], ["remind", "me"]) or said[:1] == ["describe"]
        if before_it is not None and asks_assent(sentence):
            last = before_it  # "It says here you're allergic to X. Is that right?"
        elif sentence.question or sentence.tag or invites:
            last = sentence
        elif sentence.clauses and sentence.clauses[-1].asks:  # the question that a sentence without marks ends with
            clause = sentence.clauses[-1]
            last = Sentence(clause.start, clause.end, (clause,), True)
    if last is None:
        return None
    question = _read_question(text[-3000:], last, before[-1][0], relationship)
    if not question.topics and not question.open and _asks_which(last) and _asked_allergies(before[:-1], before[-1][0]):
        question = msgspec.structs.replace(question, open="allergy", which=False)
    if question.topics and _of_names(last) and _asked_allergies(before[:-1], before[-1][0]):
        topics = tuple(msgspec.structs.replace(topic, kind=MemoryKind.ALLERGY) for topic in question.topics)
        question = msgspec.structs.replace(question, topics=topics)
    if question.family:
        return msgspec.structs.replace(question, of=_one_relative(last.words))
    if not family:
        return question
    relatives = tuple(
        msgspec.structs.replace(t, kind=MemoryKind.FAMILY_HISTORY) if t.kind in _DISEASES else t
        for t in question.topics
    )
    return msgspec.structs.replace(question, family=True, topics=relatives, of=_one_relative(last.words))


def _one_relative(words: Sequence[str]) -> str:
    """The words for the only relative that is named, such as the mother of "on your mother's side"; else empty."""
    named = [hit for hit in lexicon.kinship().longest(words) if hit.term.kind == "relative"]
    return " ".join(words[named[0].first : named[0].last]).removesuffix("'s") if len(named) == 1 else ""


# "Is that how you take it?" is as long as a question gets that only asks whether what was stated is so.
_ASSENT: Final = 7


def asks_assent(sentence: Sentence) -> bool:
    """Does it only ask whether what stands before it is so ("Is that still right?", "Is that how you take it?")?"""
    words = sentence.words
    if not sentence.question or len(words) > _ASSENT or words[:1] not in (["is"], ["isn't"], ["are"], ["does"], ["do"]):
        return False
    if not {"that", "this", "it", "those", "they", "these"} & set(words[1:3]):
        return False
    told = {"right", "correct", "true", "accurate", "case", "current", "still"} & set(words)
    return bool(told) or words[2:4] in (["how", "you"], ["what", "you"])


def of_statement(text: str, sentence: Sentence) -> Question:
    """What a statement names, as if it were asked."""
    return _read_question(text, sentence, Speaker.CLINICIAN, "")


def own(text: str, sentence: Sentence) -> Question | None:
    """What a speaker asks and goes on to answer: "Smoking? Never."; None when it is no mere name."""
    if len(sentence.words) > 3 or not sentence.clauses:
        return None
    found = _read_question(text, sentence, Speaker.CLINICIAN, "")
    return found if found.topics or found.open else None


def _of_names(sentence: Sentence) -> bool:
    """It only makes sure of a name ("You mean the coated aspirin?"), so what it is about stands before it."""
    words = sentence.words
    if len(words) > 8 or {"take", "taking", "have", "use", "using", "tried", "on"} & set(words):
        return False
    return any(hit.term.kind in ("drug", "allergen") for hit in lexicon.clinical().longest(words))


def _asks_which(sentence: Sentence) -> bool:
    """ "To what?", "Which ones?", "Such as?": more of what was asked before."""
    words = sentence.words
    return len(words) <= 5 and bool({"what", "which", "such", "like", "remind"} & set(words)) and "happens" not in words


def _asked_allergies(before: Sequence[tuple[Speaker, str]], asker: Speaker) -> bool:
    """Was the talk of the last few turns about which allergies there are?"""
    texts = [text for who, text in before[-4:] if who is asker]
    return any("allerg" in text.lower() and "?" in text for text in texts)


def _of_family(words: Sequence[str], relationship: str = "") -> bool:
    if any(hit.term.kind == "family_any" for hit in lexicon.cues().every(words)):
        return True
    told = [at for at, word in enumerate(words) if word in ("told", "says", "said", "mentioned", "tells", "thinks")]
    if told and {"you", "you're", "you've"} & set(words[told[0] + 1 :]):
        return False  # "Your mother told us that you have epilepsy"
    return any(
        hit.term.kind == "relative" and lexicon.composed().get((relationship, hit.term.concept)) != "patient"
        for hit in lexicon.kinship().longest(words)
    )


def _read_question(text: str, sentence: Sentence, asker: Speaker, relationship: str) -> Question:
    topics: list[Topic] = []
    known: list[str] = []
    opened, general, negative, family, others = "", reactions.NO_ALLERGIES, False, False, False
    avoided = False
    mere = _only_speaks(sentence.words)
    asker = asker if asker is not Speaker.PATIENT else Speaker.CLINICIAN
    for clause in sentence.clauses:
        scene = Scene(text, clause, People(asker, ""), None)
        family = family or _of_family(scene.words, relationship)
        drugs = medications.find(scene)
        if reactions.is_about_allergy(scene):
            others = others or reactions.of_others(scene.words)
            named = scene.of("drug", "allergen", "drug_in_context")
            known += [h.term.concept for h in named if reactions.left_out(scene.words, h.first)]
            substances = [h.term.concept for h in named]
            topics += [Topic(MemoryKind.ALLERGY, concept) for concept in substances]
            if not substances or _of_a_class(scene, named) or "anything" in scene.words[: named[0].first]:
                opened, general = "allergy", _general(scene)
                negative = any(scene.cues.negated(h.first, h.last) for h in scene.cues.of("allergy"))
            continue
        if listed := [
            h for h in scene.of("drug", "allergen", "drug_in_context") if _LISTED.search(" ".join(scene.words))
        ]:
            topics += [Topic(MemoryKind.ALLERGY, h.term.concept) for h in listed]
            continue
        avoided = avoided or _avoids(scene.words)
        if avoided or _reacts(scene.words) or _of_surroundings(scene):
            opened = "allergy"
            mere = True
            continue
        effects = [m for m in reactions.read_effects(scene, "") if m.kind is MemoryKind.SIDE_EFFECT]
        if effects:
            topics += [Topic(MemoryKind.SIDE_EFFECT, m.concept.text, agent=m.get("agent")) for m in effects]
            continue
        change = medications.change_of(
            scene, [h for h in medications.adherence_hits(scene) if h.term.concept in ("stopped", "skipped")]
        )
        for drug in drugs or [d for d in (medications.generic(scene),) if d and change]:
            if change:
                topics.append(Topic(MemoryKind.ADHERENCE, drug.concept, change[0]))
            else:
                topics.append(Topic(MemoryKind.MEDICATION, drug.concept))
        for kind, concept in HABITS.items():
            if scene.cues.of(kind) and not drugs:
                topics.append(Topic(MemoryKind.SOCIAL, concept))
        of_sort = any("any" in scene.words[max(0, drug.first - 2) : drug.first] for drug in drugs)
        if (of_sort or not drugs) and not change and (of_sort or _asks_medicines(scene)):
            opened = "medication"
        for finding in findings.find(scene):
            if scene.cues.hypothetical(finding.first) or scene.cues.uncertain(finding.first, finding.last):
                continue
            kind = MemoryKind.CONDITION if finding.condition else MemoryKind.SYMPTOM
            kind = MemoryKind.HISTORY if finding.procedure else kind
            kind = MemoryKind.FAMILY_HISTORY if family else kind
            topics.append(Topic(kind, finding.concept, said=stems(scene.words[finding.first : finding.last])))
            negative = negative or (not sentence.question and scene.cues.negated(finding.first, finding.last))
    topics += [t for t in _spreading(sentence.words) if t.concept not in {topic.concept for topic in topics}]
    if _offers(sentence.words):
        opened, topics = "", []
    words = sentence.words
    if not opened and (own_kind := _asks_own(words)):
        opened, topics = own_kind, []
    if not topics and {"would", "do"} & set(words[:1]) and "you" in words and _LIKES & set(words):
        wish = [hit.term.concept for hit in lexicon.wishes().longest(words)]
        rest = " ".join(word for word in words[1:] if word not in _LIKES | {"you", "better", "best", ","}).strip()
        topics = [Topic(MemoryKind.PREFERENCE, (wish or [rest[:1].upper() + rest[1:]])[0])] if wish or rest else []
    lasting = (
        words[:2]
        == [
            "how",
            "long",
        ]
        or (words[:1] == ["when"] and bool({"start", "started", "begin", "began"} & set(words)))
        or words[:2] == ["since", "when"]
    )
    held = set(words)
    text_of = " ".join(words)
    drugs_asked = [topic.concept for topic in topics if topic.kind in (MemoryKind.MEDICATION, MemoryKind.ALLERGY)]
    return Question(
        text=text[sentence.start : sentence.end],
        topics=() if words[:1] and words[0] in _ADVICE and words[1:2] in (["i"], ["we"]) else tuple(topics),
        open=opened,
        general=general,
        family=family,
        negative=negative,
        lasting=lasting,
        degree=bool(held & _DEGREE) or _how(words, ("bad", "severe", "strong", "painful")),
        mere=mere,
        avoided=avoided,
        state=_state(sentence.words),
        plain=any(pair in text_of for pair in _PLAINLY),
        others=others,
        known=tuple(known),
        which=bool(words)
        and (words[0] in ("what", "how", "where", "which", "when", "why") or _how(words, ("bad", "severe"))),
        begun=bool(held & {"pick", "picked", "fill", "filled", "start", "started", "begin", "collect"})
        and bool(drugs_asked),
        reacting=drugs_asked[0]
        if drugs_asked and held & {"happens", "happened", "happen", "reaction", "react"}
        else "",
    )


# Words by which a question speaks of allergies without asking whether there are any.
_SPEAKS: Final = frozenset(
    ["mind", "updated", "update", "asked", "come", "came", "say", "said", "told", "tell", "could", "show", "showed",
     "sent", "send", "written", "wrote", "check", "checked", "talk", "discuss", "mentioned", "explain", "explained",
     "clinic", "bracelet", "form", "list", "card", "band", "alert", "test", "tested", "tests", "testing", "seen",
     "section", "letter", "history", "confirm", "confirmed", "review", "go", "about"]
)  # fmt: skip
_WHETHER: Final = frozenset(["how", "if", "whether", "any", "anything", "what", "which", "known", "no", "other"])


def _only_speaks(words: Sequence[str]) -> bool:
    """ "Did the nurse ask about your allergies?", "Can I ask you about them?": a "no" to it denies none of them."""
    if "mind" in words[:4]:
        return True  # "Do you mind if I ask about your allergies?"
    if _takes_for_granted(words) or _of_one_event(words):
        return True
    return bool((_SPEAKS | {"ask"}) & set(words)) and not _WHETHER & set(words)


def _of_one_event(words: Sequence[str]) -> bool:
    """ "And was that an allergic reaction, do you think?": asked of what happened, not whether there are any."""
    opens = [word for word in words[:4] if word not in ("and", "so", ",", "but")][:2]
    return opens[:1] in (["was"], ["is"], ["were"]) and opens[1:2] in (["that"], ["this"], ["it"], ["those"])


_RECALLS: Final = frozenset(["know", "remember", "recall", "name", "tell"])
_THE: Final = frozenset(["the", "your", "those", "these", "his", "her"])
_AUXILIARIES: Final = frozenset(["have", "do", "did", "does", "are", "were", "has"])


def _takes_for_granted(words: Sequence[str]) -> bool:
    """ "Do you know what you're allergic to?", "Have the allergies cleared up?": that there are some is not asked."""
    which = [at for at, word in enumerate(words) if word in ("what", "which", "name")]
    opens = words[:1] != [] and words[0] in _AUXILIARIES | {"can", "could"}
    if opens and which and "if" not in words and _RECALLS & set(words[: which[0] + 1]):
        return True
    of_them = words[1:2] != [] and words[1] in _THE and "allergies" in words[2:4] and "any" not in words[:3]
    return opens and of_them and len(words) > words.index("allergies") + 1


def _offers(words: Sequence[str]) -> bool:
    """ "…, shall I add some?": what is agreed to or refused is the offer, not what was stated before it."""
    ends = [at for at, word in enumerate(words) if word == "i" and at >= 2 and words[at - 2] == ","]
    return bool(ends) and words[ends[-1] - 1] in _OFFERED and not _WHETHER & set(words[ends[-1] :])


_OFFERED: Final = frozenset(["shall", "will", "should", "can", "may", "could"])


_SPREADS: Final = frozenset(
    ["go", "goes", "going", "spread", "spreads", "radiate", "radiates", "radiating", "move", "moves", "travel",
     "travels", "shoot", "shoots", "run", "runs"]
)  # fmt: skip
_PAINS: Final = frozenset(["pain", "pains", "ache", "it"])
_WHITHER: Final = 7


def _spreading(words: Sequence[str]) -> list[Topic]:
    """ "Does the pain go into your arm or jaw?": pain in each of the parts it may go to."""
    verbs = [at for at, word in enumerate(words) if word in _SPREADS and _PAINS & set(words[max(0, at - 2) : at])]
    if not verbs or words[verbs[0] + 1 : verbs[0] + 2] == ["away"]:
        return []
    first = verbs[0] + 1
    parts = [h for h in lexicon.body().longest(words) if h.term.kind == "part" and first <= h.first <= first + _WHITHER]
    return [Topic(MemoryKind.SYMPTOM, _pain_of(h), said=stems(words[h.first : h.last])) for h in parts]


def _pain_of(part: lexicon.Hit) -> str:
    name = f"{part.term.concept} pain"
    known = [term.concept for term in lexicon.clinical().exact(name) if term.kind == "symptom"]
    return known[0] if known else name[0].upper() + name[1:]


def _of_a_class(scene: Scene, named: Sequence[lexicon.Hit]) -> bool:
    """ "Allergic to any antibiotics at all?" asks which of them."""
    return bool(named) and all(
        "any" in scene.words[max(0, hit.first - 2) : hit.first] and hit.term.concept in _SORTS for hit in named
    )


_SORTS: Final = frozenset(
    ["Antibiotic", "Antibiotics", "NSAID", "Pain reliever", "Painkiller", "Nut", "Tree nut", "Food"]
)
_ANYTHING: Final = frozenset(["anything", "any", "what", "things"])


def _reacts(words: Sequence[str]) -> bool:
    """ "Anything you react to?", "What do you react to?": which allergies there are."""
    reacting = [at for at, word in enumerate(words) if word in ("react", "reacts", "reacted", "reacting")]
    return bool(reacting) and bool(_ANYTHING & set(words[: reacting[0]]))


def _avoids(words: Sequence[str]) -> bool:
    """ "Is there anything you can't have?", "Anything that doesn't agree with you?": what is avoided, perhaps for an
    allergy; not "Anything you can't eat since the surgery?"."""
    text = " ".join(words)
    found = _CANNOT.search(text)
    return found is not None and bool(_ANYTHING & set(text[: found.start()].split())) and not _NOW & set(words)


# "An entry for lidocaine on your allergy list", "aspirin under allergies".
_LISTED: Final = re.compile(
    r"\b(?:on|in|under|among) (?:(?:your|his|her|the|file) )?allerg(?:y list|ies)\b|\ballergy list\b"
)
_NOW: Final = frozenset(["since", "after", "yet", "now", "still", "today", "because"])
_CANNOT: Final = re.compile(
    r"\b(?:(?:you|he|she) (?:can't|cannot|can not|mustn't|shouldn't|couldn't) (?:have|take|eat|tolerate|touch)"
    r"|(?:doesn't|don't|didn't|disagrees|disagreed)(?: agree)? with (?:you|him|her)"
    r"|(?:bring|brings) (?:you|him|her) out"
    r"|sets (?:you|him|her) off|gives (?:you|him|her) a (?:reaction|rash))\b"
)


def _of_surroundings(scene: Scene) -> bool:
    """ "Anything in the environment, dust, pollens?": which of the allergens there are."""
    allergens = scene.of("allergen")
    if not reactions.is_about_allergy(scene) and _LIVES & set(scene.words):
        return False  # "Any pets or birds at home?": what is lived with, which is no allergy
    return len(allergens) > 1 and bool({"anything", "any"} & set(scene.words[: allergens[0].first]))


_LIVES: Final = frozenset(
    ["home", "house", "flat", "apartment", "live", "keep", "own", "exposed", "exposure", "around"]
)


def _state(words: Sequence[str]) -> str:
    """What is called bad mood, appetite, sleep or energy, where the question asks how that is; else empty."""
    if not {"how", "how's"} & set(words[:3]):
        return ""
    return next((hit.term.concept for hit in lexicon.cues().every(words) if hit.term.kind == "state"), "")


_OPEN_KINDS: Final = ("goal", "concern", "barrier")


def _asks_own(scene_words: Sequence[str]) -> str:
    """`goal`, `concern` or `barrier` where the question asks what somebody's are ("What's worrying you?")."""
    if not {"what", "what's", "which", "anything", "any"} & set(scene_words[:3]):
        return ""
    cues = lexicon.cues().every(scene_words)
    return next((kind for kind in _OPEN_KINDS if any(hit.term.kind == f"asks_{kind}" for hit in cues)), "")


def _how(words: Sequence[str], degrees: Sequence[str]) -> bool:
    """ "How bad", wherever it stands ("On a scale of one to ten, how bad …")."""
    return any(words[at] == "how" and words[at + 1] in degrees for at in range(len(words) - 1))


_MEDICINES: Final = (
    "medication", "medications", "medicine", "medicines", "drug", "drugs", "tablet", "tablets", "meds", "pills",
)  # fmt: skip


def _general(scene: Scene) -> str:
    text = " ".join(scene.words)
    if set(_MEDICINES) & set(scene.words):
        wider = {"food", "foods", "else", "latex", "environment"} & set(scene.words)
        return reactions.NO_ALLERGIES if wider else "Known drug allergies"
    return "Known food allergies" if "food" in text else reactions.NO_ALLERGIES


def _asks_medicines(scene: Scene) -> bool:
    words = set(scene.words)
    if {"what", "you", "on"} <= words and {"are", "is"} & words and len(scene.words) <= _BRIEF and "about" not in words:
        return True  # "What are you on at the moment?"
    if scene.words[:2] == ["anything", "for"] or ("anything" in words and words & {"take", "taking", "use", "using"}):
        return True  # "Anything for your heart?", "Do you take anything regularly?"
    if "anything" in words and words & {"for", "over", "buy", "counter"} and words & _TAKES:
        return True  # "Has he had anything for it?"
    if "anything" in words and words & _RELIEVES:
        return True  # "Does anything relieve it?"
    return (
        bool(words & MEDICATION_WORDS)
        or ("take" in words and "what" in words)
        or ("taking" in words and bool(words & {"what", "anything"}))
    )
