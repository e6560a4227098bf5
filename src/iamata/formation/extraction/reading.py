"""What does a text assert, mention by mention? Sentences, clauses, readers, then what clauses do to each other.

Deterministic, offline, one pass. Questions and orders to the machine assert nothing: they are content, never commands.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from iamata.formation.extraction import (
    answers,
    course,
    ellipsis,
    findings,
    medications,
    openings,
    own_words,
    picks,
    questions,
    reactions,
    second_thoughts,
    social,
    wishes,
)
from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.people import People, Person
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Clause, Sentence, sentences
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

# How many turns back a pronoun may point.
_LOOK_BACK: Final = 6
_POLITE: Final = frozenset([
    "please", "now", "ok", "okay", "so", "hey", "hi", "hello", "and", "can", "could", "you", "would", "i", "want",
    "need", "just", "then", "agent", "ai", "bot", "assistant", "computer", "the",
])  # fmt: skip
_ANAPHORS: Final = frozenset(["it", "it's", "they", "they're", "that", "that's", "those", "which", "this"])
# Where words of hearsay turn the whole clause; further in, long talk has gone on to something else.
_HEARD_EARLY: Final = 12
_SHORT: Final = 8
_ENDS: Final = 3
_ANAPHORIC: Final = 4
_ADDS: Final = frozenset(["and", "also", "plus", "oh", "then", "maybe"])
_FINDINGS: Final = (MemoryKind.SYMPTOM, MemoryKind.CONDITION, MemoryKind.SIDE_EFFECT)


def mentions(
    text: str,
    *,
    before: Sequence[tuple[Speaker, str]] = (),
    said_at: datetime | None = None,
    speaker: Speaker | None = None,
    relationship: str = "",
) -> tuple[Mention, ...]:
    """What the text asserts, by place, then kind and concept; no two alike.

    `before` are the turns before it, oldest first: the last gives a short answer its question, the last few give a
    pronoun its drug. `said_at` dates "on Thursday". `speaker` None reads a note, whose subject is the patient;
    `relationship` is a caregiver's to the patient. Not promised: that everything asserted is found.
    """
    turn = _Turn(text, before, said_at, speaker, relationship)
    found: list[Mention] = []
    question = questions.asked(before, speaker, turn.people.relationship)
    if question is not None and question.of and speaker is Speaker.PATIENT:
        turn.people.speak_of(turn.people.relative([spot.word for spot in lexicon.split_words(question.of)]))
    if question is None and text[:4].lower() == "and " and before and before[-1][0] is speaker:
        more = questions.asked(before[:-1], speaker, turn.people.relationship)  # "And being able to lift the baby."
        question = more if more is not None and more.open in own_words.OWN_KINDS else None
    every = list(sentences(text))
    bare: list[Mention] | None = None  # what a mere yes or no has just said
    for at, sentence in enumerate(every):
        order = order_in(sentence.words)
        if order == "machine":
            continue
        if sentence.question and not (question is not None and question.open and answers.ventures(sentence)):
            turn.hear(sentence)
            question = questions.own(text, sentence)
            continue
        repaired = sentence.words[:1] == ["no"] or any(clause.repair for clause in sentence.clauses)
        if question is not None and question.continued and not _adds(text, sentence) and not repaired:
            question = None
        if found and at and second_thoughts.takes_back(sentence) and any(m.end > every[at - 1].start for m in found):
            found = second_thoughts.without_last(found, sentence)
            continue
        if assents := turn.asks_assent(sentence, at, every):
            turn.hear(sentence)
            question = assents
            continue
        turned = second_thoughts.thought_again(text, every[at - 1].end, sentence.end, bare) if bare else []
        if bare and turned:
            found = [mention for mention in found if mention not in bare]
            question = None
        made = turn.read(sentence, found, question)
        found += [m for m in turned if m.concept.text not in {mention.concept.text for mention in made}]
        bare = made if question is not None and question.topics and answers.is_bare(sentence) else None
        if order == "chart":
            made = [msgspec.structs.replace(m, certain=False) for m in made if _may_be_noted(m)]
        found.extend(made)
        if question is not None and question.open and answers.is_bare_opening(sentence):
            question = msgspec.structs.replace(question, topics=())
        elif question is not None and question.open and _goes_on(question, sentence, made):
            question = msgspec.structs.replace(question, topics=(), continued=True)
        elif question is not None and question.open == "allergy" and answers.is_denial(sentence):
            question = msgspec.structs.replace(question, topics=(), taken_back=True)  # "No. Oh wait, codeine."
        else:
            question = picks.left(question, sentence, made) if question is not None else None
    if bare and (turned := second_thoughts.thought_again(text, every[-1].end, len(text), bare)):  # "Yes. Wait, no."
        found = [mention for mention in found if mention not in bare] + turned
    return _ordered(found if speaker is None else _without_contradiction(found))


def _goes_on(question: questions.Question, sentence: Sentence, made: Sequence[Mention]) -> bool:
    """A short answer with names to which more may be added: "Sulfa. And bees."."""
    kind = MemoryKind.ALLERGY if question.open == "allergy" else MemoryKind.MEDICATION
    return len(sentence.words) <= _SHORT and any(
        mention.kind is kind and mention.polarity is Polarity.AFFIRMED for mention in made
    )


def _adds(text: str, sentence: Sentence) -> bool:
    """Does it open as a further answer: "And bees"?"""
    return text[sentence.start : sentence.end].split()[0].lower().strip(",") in _ADDS


def _without_contradiction(found: Sequence[Mention]) -> list[Mention]:
    """Without the denial of all allergies where the same turn tells one ("… and no allergies apart from that"), and
    that of allergies to medicines where it tells one to a medicine."""
    told = [
        m.concept.text
        for m in found
        if m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.AFFIRMED and m.experiencer is Experiencer.PATIENT
    ]
    undone = {reactions.NO_ALLERGIES} if told else set()
    if any(reactions.is_medicine(name) for name in told):
        undone.add(reactions.NO_DRUG_ALLERGIES)
    return [m for m in found if not (m.kind is MemoryKind.ALLERGY and m.concept.text in undone)]


def order_in(words: Sequence[str]) -> str:
    """`machine` for an order to the machine, `chart` for "put in my chart that …", else empty."""
    at = 0
    while at < min(len(words), 6) and (words[at] in _POLITE or not words[at][0].isalnum()):
        at += 1
    hits = [hit for hit in lexicon.cues().every(words[: at + 8]) if hit.first <= at]
    starts = [hit for hit in hits if hit.first == at or hit.first == 0]
    if any(hit.term.kind == "chart_order" for hit in starts):
        return "chart"
    return "machine" if any(hit.term.kind == "machine" for hit in starts) else ""


def _may_be_noted(mention: Mention) -> bool:
    """An order to write is no assertion; only an allergy told in one is kept, in doubt, because missing it harms."""
    return mention.kind is MemoryKind.ALLERGY and mention.polarity is Polarity.AFFIRMED


class _Turn:
    """One text being read: what was spoken of before, for pronouns and answers."""

    def __init__(
        self,
        text: str,
        before: Sequence[tuple[Speaker, str]],
        said_at: datetime | None,
        speaker: Speaker | None,
        relationship: str,
    ) -> None:
        self.text = text
        self.said_at = said_at
        self.speaker = speaker
        self.people = People(speaker, relationship)
        self.people.talk_of([words[-1500:] for _who, words in before[-4:]] + [text[:3000]])
        self.drug = self.near = ""  # spoken of last; the same if in this turn or the one before
        self.substance = ""  # of this turn: what "I'm allergic to it" may mean
        self.context = before[-1][1][-500:] if before else ""
        self.asked = before[-1][1][-500:] if before and before[-1][0] is not speaker and "?" in before[-1][1] else ""
        if self.asked and len(self.asked.split()) <= _ANAPHORIC:  # "What's it been?", "And this morning?"
            self.asked = " ".join([*(words[-300:] for _who, words in before[-4:-1]), self.asked])
        for _who, words in before[-_LOOK_BACK:]:
            self.near = ""
            self._speak_of(words[-2000:])

    def _speak_of(self, words: str) -> None:
        names = medications.bare_names([spot.word for spot in lexicon.split_words(words)])
        if names:
            self.drug = self.near = names[-1]

    def _name_substance(self, scene: Scene) -> None:
        named = scene.of("drug", "allergen")
        if named:
            self.substance = named[-1].term.concept

    def hear(self, sentence: Sentence) -> None:
        """A question: it asserts nothing, and names what "it" may mean."""
        self._speak_of(self.text[sentence.start : sentence.end])

    def asks_assent(self, sentence: Sentence, at: int, every: Sequence[Sentence]) -> questions.Question | None:
        """What a clinician or an agent states and then asks about ("You're down for Lasix. Is that how you take it?")
        is asked, not said."""
        after = every[at + 1] if at + 1 < len(every) else None
        if not self.people.official or after is None or not questions.asks_assent(after):
            return None
        if not {"you", "you're", "your", "you've", "he", "she"} & set(sentence.words):
            return None
        return questions.of_statement(self.text, sentence)

    def read(self, sentence: Sentence, earlier: list[Mention], question: questions.Question | None) -> list[Mention]:
        found: list[Mention] = []
        previous: list[Mention] = earlier[-3:]
        last: Clause | None = None
        for clause in sentence.clauses:
            if clause.asks:  # "… are you taking it": it names what "it" may mean, and asserts nothing
                self._speak_of(self.text[clause.start : clause.end])
                continue
            supposed = last is not None and self._goes_on_supposing(last, clause)
            scene = Scene(self.text, clause, self.people, self.said_at, supposed=supposed)
            if last is not None and (like := ellipsis.likewise(scene, found)) is not None:
                found.append(like)
                continue
            if last is not None and (person := ellipsis.owner(clause, self.people)) is not None:
                again = ellipsis.read(clause, last, self._clause(self._scene(last, person), None))
                found = [m for m in found if not any(ellipsis.takes_back(each, m) for each in again)]
                found.extend(again)
                continue
            last = clause
            made = self._clause(scene, question)
            if _denied_before(made, [*earlier, *found]):
                made = self._clause(scene, None)  # "I'm not allergic to codeine, it just makes me sick"
            found, made = _joined(scene, found, made, earlier)
            told = [
                m.concept.text for m in made if m.kind is MemoryKind.ALLERGY and m.experiencer is Experiencer.PATIENT
            ]
            found.extend(made)
            previous = made or previous
            found = _without_denied(found)
            self.people.follow(scene.words)
            self._speak_of(scene.text[clause.start : clause.end])
            self._name_substance(scene)
            self.drug = told[-1] if told and told[-1] != reactions.NO_ALLERGIES else self.drug
            self.context = scene.text[sentence.start : sentence.end]
            if len(clause.words) > 2:  # not "Yeah" alone
                self.asked = ""
        if question is not None and question.open in own_words.OWN_KINDS:
            if any(mention.kind is own_words.OWN_KINDS[question.open] for mention in found):
                return found
            return answers.read(self.text, sentence, question, found, self.said_at, self.people) or found
        if question is not None:
            picked = picks.picked_of(question, sentence)
            found = [mention for mention in found if not picks.said_otherwise(picked, mention)]
            found = answers.of_family(question, self.text, answers.reacted(question, answers.narrowed(question, found)))
            found.extend(answers.read(self.text, sentence, question, found, self.said_at, self.people))
        return found

    def _goes_on_supposing(self, before: Clause, clause: Clause) -> bool:
        """ "If it goes over 38, or you get a rash, …": what is joined to a supposition that is still open."""
        led = [*self.text[before.end : clause.start].lower().split()[-1:], *clause.words[:1]]
        opened = before.words[:1] in (["if"], ["should"])
        return opened and bool({"or", "and"} & set(led)) and "," not in before.words

    def _scene(self, clause: Clause, owner: Person) -> Scene:
        return Scene(self.text, clause, self.people, self.said_at, owner)

    def _clause(self, scene: Scene, question: questions.Question | None) -> list[Mention]:
        opened = question.open if question else ""
        hearsay = scene.cues.of("hearsay")
        if reactions.is_general(scene) or any(hit.first <= _HEARD_EARLY for hit in hearsay):
            return []
        wished = wishes.read(scene)
        if self.people.official:  # what stands in the way may also be told for the patient
            wished = [m for m in wished if m.kind is MemoryKind.BARRIER]
        if any(m.kind in (MemoryKind.CONCERN, MemoryKind.PREFERENCE) for m in wished):
            return wished
        made: list[Mention | None] = [*wished]
        made += findings.read_readings(scene, context=self.context, asked=self.asked)
        allergies = reactions.read_allergies(scene, self.substance or self.drug, here=bool(self.substance))
        effects = [] if allergies else reactions.read_effects(scene, self.drug)
        if opened == "allergy" and effects:
            allergies, effects = answers.allergies_of(effects), []
        if opened == "allergy" and not allergies and not effects:
            opens, after = openings.stance(scene.words)
            back = question is not None and question.taken_back
            if back and not answers.takes_back(scene.words):
                pass
            elif (
                opens != "no"
                or reactions.of_some(scene.words[after:])
                or openings.thinks_again(scene.words[after:])
                or _nothing_but_names(scene, after)
            ):  # "No, just penicillin.", "no, um, well, nickel", "No, sulfa."
                allergies = _named_in_answer(scene, avoided=question is not None and question.avoided)
        if question is not None and not allergies and not effects and _puts_in_place(scene, question):
            allergies = _named_in_answer(scene)
        made += [*allergies, *effects]
        if not allergies and not reactions.is_about_allergy(scene):
            drugs = medications.read(scene, self.drug, answering=opened == "medication", near=self.near)
            if effects:
                drugs = [
                    m
                    for m in drugs
                    if m.kind is MemoryKind.ADHERENCE and m.change not in ("started", "taking", "extra")
                ]
            made += drugs
        if not allergies:
            told = {m.concept.text for m in effects} | {m.get("reaction") for m in effects}
            made += [m for m in findings.read(scene) if m.concept.text not in told]
        made += social.read(scene, self.speaker)
        return [m for m in made if m is not None]


def _named_in_answer(scene: Scene, *, avoided: bool = False) -> list[Mention]:
    """ "Penicillin.", "just shellfish and latex" after "Any allergies?"."""
    named = [hit for hit in scene.of("drug", "allergen", "drug_in_context") if not _is_remedy(scene, hit)]
    if openings.stance(scene.words)[0] != "no":  # "Nuts, all of them bar almonds"
        named = [
            hit for hit in named if not named[0].first < hit.first or not reactions.left_out(scene.words, hit.first)
        ]
    person = scene.owner(named[0].first, named[0].last) if named else None  # "cats" and "dogs" are no persons here
    doubted = avoided or any(
        pair in (["can't", "take"], ["can't", "have"], ["cannot", "take"])
        for pair in [scene.words[at : at + 2] for at in range(len(scene.words))]
    )
    made = [
        scene.mention(
            MemoryKind.ALLERGY,
            hit.term.concept,
            hit.first,
            hit.last,
            dated=False,
            person=person,
            polarity=Polarity.AFFIRMED if doubted else None,
            certain=False if doubted else None,
        )
        for hit in {(h.first, h.last): h for h in named}.values()
    ]
    return [m for m in made if m is not None]


def _nothing_but_names(scene: Scene, first: int) -> bool:
    """Are the words after a "no" and its comma nothing but substances: named against the "no", not denied by it?"""
    rest = scene.words[first:]
    named = {at for hit in scene.of("drug", "allergen") if hit.first >= first for at in range(hit.first, hit.last)}
    led = rest[:1] == [","] or scene.words[max(0, first - 1) : first] == [","]
    others = {word for at, word in enumerate(rest, first) if at not in named}
    return led and bool(named) and others <= {",", "and"}


_IN_PLACE: Final = 6


def _puts_in_place(scene: Scene, question: questions.Question) -> bool:
    """ "You're allergic to codeine?" "No, to morphine.": another substance in place of the one asked about."""
    asked = {topic.concept for topic in question.topics if topic.kind is MemoryKind.ALLERGY}
    words = [word for word in scene.words if word[0].isalnum()]
    named = {hit.term.concept for hit in scene.of("drug", "allergen")}
    if question.others and words[:1] in (["also"], ["and"]) and len(words) <= _IN_PLACE:
        return bool(named - asked)  # "Anything besides penicillin?" "Also codeine."
    if not asked or len(words) > _IN_PLACE or words[:1] not in (["no"], ["it's"], ["to"]):
        return False
    led = words[1:2] if words[0] == "no" else words[:1]
    return bool(named - asked) and not named & asked and led in (["it's"], ["to"], ["its"], ["that's"])


_CARRIES: Final = frozenset(["carry", "keep", "use", "take", "carrying", "keeping", "using", "taking"])
_NEAR_REMEDY: Final = 3
_REACTS: Final = frozenset(
    ["can't", "cannot", "not", "don't", "never", "when", "if", "whenever", "time", "used", "makes"]
)


def _is_remedy(scene: Scene, hit: lexicon.Hit) -> bool:
    """ "Bees, so I carry an EpiPen", "No, and I take cetirizine": a medicine that the speaker takes or carries, told
    after what they are or are not allergic to, is what it is treated with; not where the clause says what it does."""
    if hit.term.kind == "allergen" or _REACTS & set(scene.words) or findings.find(scene):
        return False
    said = [spot.word for spot in lexicon.split_words(scene.text[: scene.clause.start])]
    before = scene.words[: hit.first]
    answered = any(
        h.term.kind in ("drug", "allergen", "drug_in_context") for h in lexicon.clinical().longest([*said, *before])
    )
    near = before[-_NEAR_REMEDY:]
    held = bool(_CARRIES & set(near)) and bool({"i", "i'm"} & set(before))
    return held and (answered or openings.stance(said)[0] == "no")


def _denied_before(made: Sequence[Mention], before: Sequence[Mention]) -> bool:
    """Is an allergy that an answer's effects were read as one that was just denied?"""
    denied = {m.concept.text for m in before if m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.DENIED}
    return any(
        m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.AFFIRMED and m.concept.text in denied for m in made
    )


def _without_denied(found: list[Mention]) -> list[Mention]:
    """Without the allergy that the same sentence goes on to deny: "Latex, no, not latex"."""
    denied = {m.concept.text: m.start for m in found if m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.DENIED}
    return [
        m
        for m in found
        if not (
            m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.AFFIRMED and m.end <= denied.get(m.concept.text, -1)
        )
    ]


def _joined(
    scene: Scene, found: list[Mention], made: list[Mention], earlier: list[Mention]
) -> tuple[list[Mention], list[Mention]]:
    """What this clause does to the one before: mends it, ends it, gives its reaction or its cause."""
    clause = scene.clause
    anothers = not made and second_thoughts.is_anothers(scene)
    before = [m for m in found or (earlier if clause.repair or anothers else []) if m.end <= clause.start]
    last = [m for m in before if m.end == max(b.end for b in before)] if before else []
    if anothers and last:
        for wrong in last:  # "Penicillin. No, sorry, that's my sister"
            (found if wrong in found else earlier).remove(wrong)
        return found, []
    if clause.repair and last:
        made = made or [m for m in (_mended(scene, last[-1]),) if m is not None]
        kinds = {m.kind for m in made}
        for wrong in [m for m in last if m.kind in kinds]:
            (found if wrong in found else earlier).remove(wrong)
        return found, made
    if clause.joined and last and not made and scene.cues.of("retraction"):
        return [second_thoughts.retracted(m) if m in last else m for m in found], made
    unsaid = not made or (len(scene.words) <= _ENDS and all(m.kind is MemoryKind.ADHERENCE for m in made))
    over = scene.cues.of("over")
    of_it = scene.words[:1] and (scene.words[0] in _ANAPHORS or any(scene.words[h.last - 1] == "it" for h in over))
    ends = bool(over) and of_it and unsaid  # "It's gone", "… but I grew out of it"
    if ends and (last or earlier) and (last or earlier)[-1].kind in _FINDINGS:
        made = []  # "That's stopped", of what was felt
        ended = [m for m in (last or earlier[-1:]) if m.kind in _FINDINGS and m.polarity is Polarity.AFFIRMED]
        found = [msgspec.structs.replace(m, temporality=Temporality.PAST) if m in ended else m for m in found]
        earlier[:] = [msgspec.structs.replace(m, temporality=Temporality.PAST) if m in ended else m for m in earlier]
        return found, made
    of = last or ([] if found else earlier[-1:])
    if of and not made and of[-1].kind is MemoryKind.CONDITION and (runs := course.goes_on(scene.text, clause)):
        detail = tuple(sorted((dict(of[-1].detail) | {"course": runs}).items()))
        whole = msgspec.structs.replace(of[-1], end=clause.end, detail=detail)  # "…, and it flares up every week"
        earlier[:] = [whole if m is of[-1] else m for m in earlier]
        return [whole if m is of[-1] else m for m in found], made
    if clause.joined and last and made:
        return _caused(scene, found, made, last)
    return found, made


def _mended(scene: Scene, wrong: Mention) -> Mention | None:
    """What a bare repair puts in place of the mention before: another part or side, another medicine or substance."""
    if wrong.kind in _FINDINGS:
        return findings.repaired_part(scene, wrong)
    names = scene.of("drug", "allergen") if wrong.kind is MemoryKind.ALLERGY else scene.of("drug")
    if wrong.kind not in (MemoryKind.MEDICATION, MemoryKind.ADHERENCE, MemoryKind.ALLERGY) or not names:
        return None
    hit = names[0]
    of_all = wrong.concept.text.startswith("Known ")  # "No. Oh wait, codeine.": that one is told
    return scene.mention(
        wrong.kind, hit.term.concept, hit.first, hit.last,
        polarity=Polarity.AFFIRMED if of_all else wrong.polarity, temporality=wrong.temporality, change=wrong.change,
    )  # fmt: skip


def _caused(
    scene: Scene, found: list[Mention], made: list[Mention], last: list[Mention]
) -> tuple[list[Mention], list[Mention]]:
    symptoms = [
        m
        for m in made
        if m.kind is MemoryKind.SYMPTOM and m.polarity is Polarity.AFFIRMED and m.experiencer is Experiencer.PATIENT
    ]
    allergy = next(
        (m for m in last if m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.AFFIRMED and not m.get("reaction")),
        None,
    )
    if allergy and symptoms and allergy.experiencer is Experiencer.PATIENT and len(symptoms) == len(made):
        first = symptoms[0]
        said = scene.text[first.anchor_start : first.anchor_end].lower()
        detail = dict(allergy.detail) | {"reaction": first.concept.text}
        if said != first.concept.text.lower():
            detail["reaction_said"] = said
        whole = msgspec.structs.replace(allergy, end=scene.clause.end, detail=tuple(sorted(detail.items())))
        return [whole if m is allergy else m for m in found], []
    if allergy and (told := _reaction_of(allergy, made)) is not None:
        both = tuple(sorted((dict(allergy.detail) | dict(told.detail)).items()))
        whole = msgspec.structs.replace(allergy, end=scene.clause.end, detail=both)
        return [whole if m is allergy else m for m in found], [m for m in made if m is not told]
    own_allergy = next((m for m in made if m.kind is MemoryKind.ALLERGY and m.polarity is Polarity.AFFIRMED), None)
    felt = [
        m for m in last if m.kind in (MemoryKind.SYMPTOM, MemoryKind.SIDE_EFFECT) and m.polarity is Polarity.AFFIRMED
    ]
    if (
        own_allergy
        and felt
        and not own_allergy.get("reaction")
        and own_allergy.anchor_end - own_allergy.anchor_start <= 4
    ):
        with_reaction = tuple(sorted((dict(own_allergy.detail) | {"reaction": felt[-1].concept.text}).items()))
        return found, [msgspec.structs.replace(m, detail=with_reaction) if m is own_allergy else m for m in made]
    stopped = next((m for m in last if m.kind is MemoryKind.ADHERENCE and m.change == "stopped"), None)
    if stopped and symptoms:
        made = [_effect(m, stopped.concept.text) if m in symptoms else m for m in made]
    stops = next((m for m in made if m.kind is MemoryKind.ADHERENCE and m.change == "stopped"), None)
    between = scene.text[max(m.end for m in last) : scene.clause.start].lower()
    if stops and "so" in between.split():
        found = [
            _effect(m, stops.concept.text)
            if m in last and m.kind is MemoryKind.SYMPTOM and m.polarity is Polarity.AFFIRMED
            else m
            for m in found
        ]
    return found, made


def _reaction_of(allergy: Mention, made: Sequence[Mention]) -> Mention | None:
    """ "Cefalexin, it brings me out in hives": the same allergy, told again with its reaction."""
    same = (m for m in made if m.kind is MemoryKind.ALLERGY and m.concept.text == allergy.concept.text)
    return next((m for m in same if m.get("reaction") and m.polarity is Polarity.AFFIRMED), None)


def _effect(mention: Mention, agent: str) -> Mention:
    detail = tuple(sorted((dict(mention.detail) | {"agent": agent}).items()))
    return msgspec.structs.replace(mention, kind=MemoryKind.SIDE_EFFECT, detail=detail)


def _ordered(found: Sequence[Mention]) -> tuple[Mention, ...]:
    unique: dict[tuple[int, int, str, str], Mention] = {}
    for mention in found:
        unique.setdefault((mention.start, mention.end, mention.kind.value, mention.concept.text), mention)
    return tuple(sorted(unique.values(), key=lambda m: (m.start, m.end, m.anchor_start, m.kind.value, m.concept.text)))
