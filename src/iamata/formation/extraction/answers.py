"""What does a turn say by answering the question before it? "Any chest pain?" "No." denies chest pain.

The question gives the subject, the answer is the speaker's own and its words are what is quoted. A question that is
not answered says nothing, and neither does "I don't know".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec

from iamata.formation.extraction import findings, medications, reactions
from iamata.formation.extraction.amounts import Amount, find_doses, find_frequencies, find_severity
from iamata.formation.extraction.mention import Mention, details
from iamata.formation.extraction.openings import FILLERS, stance
from iamata.formation.extraction.own_words import OWN_KINDS, in_own_words, is_poor
from iamata.formation.extraction.people import People
from iamata.formation.extraction.picks import picked_of
from iamata.formation.extraction.questions import MEDICATION_WORDS, Question, Topic
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Clause, Sentence
from iamata.formation.extraction.times import find_times
from iamata.model.coding import CodedText
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon

_BODILY: Final = (MemoryKind.SYMPTOM, MemoryKind.CONDITION)
_ECHOES: Final = MEDICATION_WORDS | {"allergies", "allergy"}  # "Oh, allergies." before the answer
_LONGEST_ANSWER: Final = 14
_FIRST: Final = frozenset(("i", "i'm", "i've", "i'd", "me", "my", "myself", "he", "she", "he's", "she's"))


class _Answer(Protocol):
    def __call__(self, topic: Topic, polarity: Polarity, **changes: object) -> None: ...


def read(
    text: str, sentence: Sentence, question: Question, own: Sequence[Mention], said_at: datetime | None, people: People
) -> list[Mention]:
    """What the sentence says as an answer, beside what it says in its own words (`own`)."""
    words = sentence.words
    told, after = stance(words)
    span = _span(sentence, own)
    anchor = _anchor(sentence, told, after, span)
    since, since_said = _since(text, span, said_at)
    mentions: list[Mention] = []

    def answer(topic: Topic, polarity: Polarity, **changes: object) -> None:
        if any(m.concept.text == topic.concept for m in own):
            return
        base = Mention(
            kind=topic.kind, concept=CodedText(text=topic.concept), start=span[0], end=span[1],
            anchor_start=anchor[0], anchor_end=anchor[1], polarity=polarity, since=since, since_said=since_said,
            experiencer=Experiencer.FAMILY if topic.kind is MemoryKind.FAMILY_HISTORY else Experiencer.PATIENT,
            change=topic.change, detail=details(agent=topic.agent),
        )  # fmt: skip
        mentions.append(msgspec.structs.replace(base, **changes))

    if question.open in OWN_KINDS:
        return in_own_words(text, sentence, told, people, said_at, OWN_KINDS[question.open])
    if question.state and is_poor(words):
        answer(Topic(MemoryKind.SYMPTOM, question.state), Polarity.AFFIRMED)
        return mentions
    if (other := _instead(words, question, people)) is not None:
        for topic in question.topics:
            if topic.kind in (MemoryKind.CONDITION, MemoryKind.HISTORY, MemoryKind.ALLERGY):
                named = topic.concept if topic.kind is not MemoryKind.ALLERGY else f"{topic.concept} allergy"
                answer(Topic(MemoryKind.FAMILY_HISTORY, named), Polarity.AFFIRMED, relation=other)
        return mentions
    if question.family:
        relative = people.relative(words)
        if relative is None and words[:1] in (["i"], ["i've"]) and {"it", "that", "myself"} & set(words):
            relative = people.owner(words, len(words), len(words))  # "I had it myself", says a father
        if relative is not None and told != "no" and not any(m.kind is MemoryKind.FAMILY_HISTORY for m in own):
            for topic in question.topics:
                if relative.experiencer is Experiencer.FAMILY and topic.kind is MemoryKind.FAMILY_HISTORY:
                    answer(topic, Polarity.AFFIRMED, relation=relative.relation)
            return mentions
    opened = words[2:] if words[:2] == ["no", ","] else words
    if opened[:1] == ["not"] and opened[1:2] in (["since"], ["for"], ["in"]):
        for topic in question.topics:
            if topic.kind is MemoryKind.MEDICATION:
                answer(msgspec.structs.replace(topic, kind=MemoryKind.ADHERENCE, change="stopped"), Polarity.AFFIRMED)
            else:
                answer(topic, Polarity.AFFIRMED, temporality=Temporality.PAST)
        return mentions
    if question.lasting and not since_said and told != "no":
        since, since_said = _span_of_time(text, span, said_at)
    if question.lasting and since_said and told != "no":
        for topic in question.topics[:1]:
            answer(topic, Polarity.AFFIRMED)
        return mentions
    severity = find_severity(text, span[0], span[1])
    if question.degree and question.which and (severity := severity or _out_of_ten(question, words)).endswith("/10"):
        for topic in question.topics[:1]:
            answer(topic, Polarity.AFFIRMED, detail=details(severity=severity))
        return mentions
    habit = [topic for topic in question.topics if topic.kind is MemoryKind.SOCIAL]
    if habit and not own and {"quit", "stopped", "gave", "packed", "given"} & set(words[:3]):  # "Quit ten years ago."
        for topic in habit:
            answer(topic, Polarity.AFFIRMED, temporality=Temporality.PAST)
        return mentions
    if words[1:4] in (["used", "to", "say"], ["used", "to", "think"], ["used", "to", "believe"]):
        return mentions  # "I used to say I was": what is so now comes after
    if words[:3] in (["i", "used", "to"], ["he", "used", "to"], ["she", "used", "to"]) and not own:
        for topic in question.topics:
            answer(topic, Polarity.AFFIRMED, temporality=Temporality.PAST)
        return mentions
    if not told and (shown := _shown(text, sentence, question, own, people, said_at)):
        for topic, changes in shown:
            answer(topic, Polarity.AFFIRMED, **changes)
        return mentions
    if habit and not own and not told and _SOMETIMES & set(words[:4]):  # "Only socially."
        for topic in habit:
            answer(topic, Polarity.AFFIRMED)
        return mentions
    if told == "no" and not own and (side := _other_side(words, question)):
        for topic in question.topics[:1]:  # "So it's the right knee?" "No, the left one."
            answer(topic, Polarity.AFFIRMED, detail=details(laterality=side))
        return mentions
    if habit and question.which and not own and _begins_with_number(words):  # "Twelve, fourteen maybe."
        for topic in habit:
            answer(topic, Polarity.AFFIRMED)
        return mentions
    told = "" if told == "unsure" and words[:1] == ["maybe"] else told
    habits = [topic for topic in question.topics if topic.kind in (MemoryKind.SOCIAL, MemoryKind.MEDICATION)]
    often = find_frequencies(text, span[0], span[1])
    if not told and habits and often and len(question.topics) == len(habits) and not own and _begins(often, span, text):
        for topic in habits[:1]:
            answer(topic, Polarity.AFFIRMED, detail=details(frequency=often[0].text))
        return mentions
    mentions += _of_relatives(text, sentence, question, people, said_at)
    dosed = [amount for amount in find_doses(text, span[0], span[1]) if amount.piece]
    partial = "" if dosed else _partial(text, sentence, people)
    if partial and not own:
        for topic in question.topics:
            if topic.kind is MemoryKind.MEDICATION:
                answer(msgspec.structs.replace(topic, kind=MemoryKind.ADHERENCE, change=partial), Polarity.AFFIRMED)
        if mentions:
            return mentions
    picked = picked_of(question, sentence)
    for pick in picked:
        place = {"start": pick.start, "end": pick.end, "anchor_start": pick.start, "anchor_end": pick.end}
        answer(pick.topic, pick.polarity, **(place if pick.end else {}))
    if picked or question.left:
        return mentions
    if question.which and not question.open:
        return mentions
    if told == "yes":
        _assent(text, question, span, words, answer)
    elif told == "no":
        if question.open == "allergy" and (_some_left(words[after:]) or question.mere or _of_else(words)):
            return mentions
        asked = {topic.concept for topic in question.topics}
        one = words[:1] == ["no"] and words[1:2] != [","]
        if one and len(question.topics) > 1 and any(m.concept.text in asked for m in own):
            return mentions  # "No rash.", after several were asked: of the others nothing is said
        if one and question.topics and any(m.kind in _BODILY and m.start == span[0] for m in own):
            return mentions  # "No cough.", after another thing was asked
        sort = next((sort for word, sort in reactions.CATEGORIES.items() if word in words), "")
        only = sort and (words[:2] == ["not", "to"] or (words[:1] == ["no"] and words[1:2] and words[1] in _SORTS))
        asked_for = msgspec.structs.replace(question, general=sort) if only else question
        if sort and words[:2] == ["not", "to"] and question.negative:
            asked_for = msgspec.structs.replace(asked_for, negative=False)
        if not question.negative or not asked_for.negative or _agrees(text, sentence, after, question):
            _denial(asked_for, own, answer)
    elif told == "unsure" and " ".join(words[:3]) in ("i think so", "maybe", "possibly", "probably", "i guess so"):
        for topic in question.topics:
            answer(topic, Polarity.AFFIRMED, certain=False)
    elif told == "unsure" and "don't think so" in " ".join(words):
        asks = question.open == "allergy" and not question.others and not _some_left(words[after:])
        if asks and not any(m.kind is MemoryKind.ALLERGY for m in own):
            answer(Topic(MemoryKind.ALLERGY, question.general), Polarity.DENIED, certain=False)
        for topic in [t for t in question.topics if t.concept not in question.known]:
            answer(topic, Polarity.DENIED, certain=False)
    return mentions


def _instead(words: Sequence[str], question: Question, people: People) -> str | None:
    """The relative who has what was asked: "That's my brother.", "No, that's my mother"; else None."""
    plain = [word for word in words if word[0].isalnum() and word not in ("no", "sorry", "actually")]
    if question.family or not question.topics or len(plain) > 5 or plain[:1] not in (["that's"], ["it's"], ["that"]):
        return None
    relative = people.relative(words)
    return relative.relation if relative is not None and relative.experiencer is Experiencer.FAMILY else None


def _begins_with_number(words: Sequence[str]) -> bool:
    """ "Twelve, fourteen maybe", "About six": a number is what is answered."""
    plain = [word for word in words if word[0].isalnum() and word not in ("about", "around", "maybe", "like", "only")]
    return bool(plain) and (plain[0].isdigit() or plain[0] in _COUNTED) and len(plain) <= 6


_SOMETIMES: Final = frozenset(["socially", "occasionally", "sometimes", "rarely", "weekends", "christmas"])


def _other_side(words: Sequence[str], question: Question) -> str:
    """The side that the answer puts in place of the one asked about; empty when it does not."""
    asked = {"left", "right"} & {spot.word for spot in lexicon.split_words(question.text)}
    named = {"left", "right"} & set(words)
    told = len(asked) == len(named) == 1 and asked != named and len(question.topics) == 1
    return next(iter(named)) if told and question.topics[0].kind is MemoryKind.SYMPTOM else ""


_COUNTED: Final = frozenset(
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen", "twenty"]
)
_DOSE_NUMBER: Final = re.compile(
    r"(?<![\d/.])(\d{1,4}(?:\.\d{1,2})?)(?![\d/]|\s*(?:years|months|weeks|days|times|ago))"
)
_DOSE_TO: Final = re.compile(r"\bto (\d{1,4}(?:\.\d{1,2})?)(?![\d/])", re.IGNORECASE)
_ONLY_WHEN: Final = frozenset(["when", "if", "after", "at", "in", "on", "with", "during", "while", "whenever"])
_LIMITS: Final = frozenset(["just", "only", "mostly", "usually", "mainly", "sometimes"])
_COURSE: Final = frozenset(
    ["worse", "better", "same", "bad", "terrible", "awful", "improving", "worsening", "constant"]
)
_ENDED: Final = frozenset(["gone", "went", "stopped", "over"])


def _shown(
    text: str, sentence: Sentence, question: Question, own: Sequence[Mention], people: People, said_at: datetime | None
) -> list[tuple[Topic, dict[str, object]]]:
    """What an answer takes for granted that says neither yes nor no: "both", "ten milligrams" of a medicine asked
    about, "worse at night" and "just when I climb stairs" of a symptom."""
    words = sentence.words
    if own or not words or "not" in words:
        return []
    if words in (["both"], ["all", "of", "them"], ["all", "of", "those"], ["all", "of", "it"]):
        return [(topic, {}) for topic in question.topics]
    if len(question.topics) != 1 or question.family:
        return []
    topic = question.topics[0]
    doses = find_doses(text, sentence.start, sentence.end)
    if topic.kind is MemoryKind.MEDICATION and question.which and doses:
        often = find_frequencies(text, sentence.start, sentence.end)
        return [(topic, {"detail": details(dose=doses[0].text, frequency=often[0].text if often else "")})]
    words_of = {spot.word for spot in lexicon.split_words(question.text)}
    if topic.kind is MemoryKind.MEDICATION and {"dose", "much", "strength", "milligrams"} & words_of:
        numbers = _DOSE_NUMBER.findall(text[sentence.start : sentence.end])
        to = _DOSE_TO.findall(text[sentence.start : sentence.end])
        return [(topic, {"detail": details(dose=(to or numbers)[-1 if to else 0])})] if numbers else []
    if topic.kind is not MemoryKind.SYMPTOM:
        return []
    if {"where", "which"} & {spot.word for spot in lexicon.split_words(question.text)[:3]}:
        scene = Scene(text, sentence.clauses[0], people, said_at)
        asked = Mention(
            kind=topic.kind, concept=CodedText(text=topic.concept), start=0, end=1, anchor_start=0, anchor_end=1
        )
        part = findings.repaired_part(scene, asked)
        if part is None or part.concept.text == topic.concept:
            return []
        return [(Topic(topic.kind, part.concept.text), {"detail": part.detail})]
    if words[0] in _LIMITS and words[1:2] != [] and words[1] in _ONLY_WHEN:
        return [(topic, {})]
    if question.which and _ENDED & set(words[:4]):
        return [(topic, {"temporality": Temporality.PAST})]
    return [(topic, {})] if question.which and _COURSE & set(words[:4]) and not question.lasting else []


_SMALL: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _out_of_ten(question: Question, words: Sequence[str]) -> str:
    """ "I'd say a six", when the question was put on a scale to ten; empty otherwise."""
    if not {"scale", "ten", "10"} & {spot.word for spot in lexicon.split_words(question.text)}:
        return ""
    numbers = [word for word in words if word in _SMALL or (word.isdigit() and int(word) <= 10)]
    return f"{_SMALL.index(numbers[0]) if numbers[0] in _SMALL else numbers[0]}/10" if len(numbers) == 1 else ""


def _begins(often: Sequence[Amount], span: tuple[int, int], text: str) -> bool:
    """The answer is little else than how often: "Every night.", "Just a gummy now and then."."""
    return len(text[span[0] : often[0].start].split()) <= 4 and "not" not in text[span[0] : span[1]].lower().split()


_TAKES_BACK: Final = frozenset(
    ["oh", "wait", "well", "except", "actually", "only", "just", "but", "maybe", "sorry", "besides"]
)


def takes_back(words: Sequence[str]) -> bool:
    """Does it open as what takes a denial back ("Oh wait, …", "Except …", "Well, maybe …")?"""
    return bool(_TAKES_BACK & set(words[:3])) and len(words) <= _LONGEST_ANSWER


def is_denial(sentence: Sentence) -> bool:
    """ "No." or "No allergies, no.": nothing but a denial."""
    told, after = stance(sentence.words)
    rest = [word for word in sentence.words[after:] if word[0].isalnum()]
    return told == "no" and len(rest) <= 3


def is_bare(sentence: Sentence) -> bool:
    """ "Yes.", "No, no.": a yes or no and nothing else."""
    told, after = stance(sentence.words)
    return told in ("yes", "no") and not any(word[0].isalnum() for word in sentence.words[after:])


def allergies_of(effects: Sequence[Mention]) -> list[Mention]:
    """What a substance does, told in answer to a question about allergies: an allergy to it."""
    made = []
    for effect in effects:
        if effect.kind is MemoryKind.SIDE_EFFECT and effect.get("agent") and effect.polarity is Polarity.AFFIRMED:
            effect = msgspec.structs.replace(
                effect,
                kind=MemoryKind.ALLERGY,
                concept=CodedText(text=effect.get("agent")),
                detail=details(reaction=effect.concept.text),
            )
        made.append(effect)
    return made


_VENTURES: Final = (
    ["i", "think"], ["it's", "called"], ["is", "it", "called"], ["i", "believe"], ["maybe"], ["could", "it", "be"],
    ["i", "want", "to", "say"], ["something", "called"], ["was", "it"],
)  # fmt: skip


def ventures(sentence: Sentence) -> bool:
    """An answer in the tone of a question: "I think it's called co-trimoxazole?"."""
    opened = [word for word in sentence.words if word not in FILLERS]
    return any(opened[: len(said)] == said for said in _VENTURES)


# "There's one.", "A couple.", "Yes, two actually.", "Wrong, I'm afraid.": names are still to come.
_COUNTS_SOME: Final = re.compile(
    r"(?:yes |yeah |well |um |actually |oh )*"
    r"(?:there(?:'s| is| are)|i(?:'ve| have)(?: got)?|she has|he has|i do have)? ?"
    r"(?:just |only |got )?(?:one|two|three|four|a couple|a few|several|some|the one|wrong|not quite|not exactly)"
    r"(?: of them| things| actually| yes| i'm afraid| that i know of)?"
)


def is_bare_opening(sentence: Sentence) -> bool:
    """ "Yes." alone, or "Well,": the answer to an open question is still to come."""
    told, after = stance(sentence.words)
    if _COUNTS_SOME.fullmatch(" ".join(word for word in sentence.words if word[0].isalnum())):
        return True
    return told in ("yes", "") and not any(word[0].isalnum() and word not in _ECHOES for word in sentence.words[after:])


def narrowed(question: Question, own: Sequence[Mention]) -> list[Mention]:
    """ "I'm not allergic to anything" in answer to a question about medicines denies those alone."""
    if question.open != "allergy" or question.general == reactions.NO_ALLERGIES:
        return list(own)
    return [
        msgspec.structs.replace(m, concept=CodedText(text=question.general))
        if m.kind is MemoryKind.ALLERGY and m.concept.text == reactions.NO_ALLERGIES
        else m
        for m in own
    ]


def _span(sentence: Sentence, own: Sequence[Mention]) -> tuple[int, int]:
    if own or len(sentence.words) > _LONGEST_ANSWER:
        return sentence.clauses[0].start, sentence.clauses[0].end
    return sentence.clauses[0].start, sentence.clauses[-1].end


def _anchor(sentence: Sentence, told: str, after: int, span: tuple[int, int]) -> tuple[int, int]:
    spots = [spot for clause in sentence.clauses for spot in clause.spots]
    inside = [spot for spot in (spots[:after] if told else spots) if spot.start >= span[0] and spot.end <= span[1]]
    return (inside[0].start, inside[-1].end) if inside else span


def _since(text: str, span: tuple[int, int], said_at: datetime | None) -> tuple[str, str]:
    times = find_times(text, span[0], span[1], said_at)
    return (times[0].date, times[0].said) if times else ("", "")


def _span_of_time(text: str, span: tuple[int, int], said_at: datetime | None) -> tuple[str, str]:
    """ "About two weeks" as an answer to how long: the beginning it means."""
    said = text[span[0] : span[1]]
    times = find_times("for " + said, 0, len(said) + 4, said_at)
    return (times[0].date, said) if times and times[0].start == 0 else ("", "")


def _of_relatives(
    text: str, sentence: Sentence, question: Question, people: People, said_at: datetime | None
) -> list[Mention]:
    """ "No, but my brother does": a relative who has what was asked."""
    made: list[Mention] = []
    for clause in sentence.clauses:
        words = clause.words
        if len(words) > 6 or not {"does", "did", "do", "has", "had", "is"} & set(words):
            continue
        relative = people.relative(words)
        if relative is None or relative.experiencer is not Experiencer.FAMILY:
            continue
        scene = Scene(text, clause, people, said_at)
        for topic in question.topics:
            if topic.kind is MemoryKind.CONDITION and not scene.names:
                found = scene.mention(MemoryKind.FAMILY_HISTORY, topic.concept, 0, len(words), person=relative)
                made += [found] if found else []
    return made


def of_family(question: Question, text: str, own: Sequence[Mention]) -> list[Mention]:
    """A disease named in answer to a question about relatives is a relative's, unless the speaker says "I"."""
    if not question.family:
        return list(own)
    return [
        msgspec.structs.replace(m, kind=MemoryKind.FAMILY_HISTORY, experiencer=Experiencer.FAMILY)
        if m.kind in (MemoryKind.CONDITION, MemoryKind.HISTORY)
        and m.experiencer is Experiencer.PATIENT
        and not _FIRST & {spot.word for spot in lexicon.split_words(text[m.start : m.end])}
        else m
        for m in own
    ]


def reacted(question: Question, own: Sequence[Mention]) -> list[Mention]:
    """Symptoms told in answer to what a substance does: an allergy to it, or its side effects."""
    agent = question.reacting or next((t.agent for t in question.topics if t.kind is MemoryKind.SIDE_EFFECT), "")
    if not agent:
        return list(own)
    signs = {term.concept for term in lexicon.cues().of("allergic_sign")}
    made = []
    for mention in own:
        if mention.kind is not MemoryKind.SYMPTOM or mention.polarity is not Polarity.AFFIRMED:
            made.append(mention)
        elif question.reacting and mention.concept.text in signs:
            detail = details(reaction=mention.concept.text)
            made.append(
                msgspec.structs.replace(mention, kind=MemoryKind.ALLERGY, concept=CodedText(text=agent), detail=detail)
            )
        else:
            detail = tuple(sorted((dict(mention.detail) | {"agent": agent}).items()))
            made.append(msgspec.structs.replace(mention, kind=MemoryKind.SIDE_EFFECT, detail=detail))
    return made


def _partial(text: str, sentence: Sentence, people: People) -> str:
    """ "Most days", "when I remember": how an answer tells of missed doses."""
    whole = Clause(sentence.start, sentence.end, tuple(s for c in sentence.clauses for s in c.spots))
    scene = Scene(text, whole, people, None)
    found = medications.change_of(scene, medications.adherence_hits(scene))
    return found[0] if found and found[0] in ("skipped", "ran-out", "reduced", "stopped", "not-started") else ""


def _assent(text: str, question: Question, span: tuple[int, int], words: Sequence[str], answer: _Answer) -> None:
    if question.negative:
        if question.open == "allergy" and _some_left(words):
            return  # "No allergies?" "I do have some."
        if question.open == "allergy":
            answer(Topic(MemoryKind.ALLERGY, question.general), Polarity.DENIED)
        for topic in question.topics:
            answer(topic, Polarity.DENIED)
        return
    often = find_frequencies(text, span[0], span[1])
    certain = len(question.topics) < 2 or bool({"both", "all"} & set(words))
    for topic in question.topics:
        taken = topic.kind is MemoryKind.MEDICATION and len(question.topics) == 1
        doses = find_doses(text, span[0], span[1]) if taken else []
        extra = details(
            agent=topic.agent,
            dose=doses[0].text if doses else "",
            frequency=often[0].text if often and topic.kind is MemoryKind.MEDICATION else "",
        )
        answer(topic, Polarity.AFFIRMED, certain=certain, detail=extra)


_SORTS: Final = frozenset(reactions.CATEGORIES)
_LEFT: Final = frozenset(
    ["serious", "major", "bad", "severe", "new", "change", "changes", "changed", "big", "significant", "terrible",
     "threatening", "deadly", "reaction", "hives", "rash", "swelled"]
)  # fmt: skip


_OF_ALLERGIES: Final = frozenset(
    ["allergy", "allergies", "allergic", "known", "drug", "drugs", "food", "foods", "medication", "medications",
     "medicine", "medicines", "other", "i", "not", "never", "none", "nothing", "sir", "ma'am", "miss", "doctor", "doc",
     "thanks", "thank", "no", "to", "she", "he", "we", "they", "reactions", "reaction", "problems", "issues"]
)  # fmt: skip
_AWARE: Final = re.compile(
    r"^(?:none|nothing)(?: that)? (?:i|we|he|she|i'm|we're|i've|we've|anyone|anybody|they)(?: am| are| have|'d| would)?"
    r"(?: ever| actually)? (?:know|knew|aware|can|could|been|remember|recall|noticed|found|think|had|has|told)\b"
)


def _of_else(words: Sequence[str]) -> bool:
    """A refusal that is of something else than allergies: "Nothing to do with you", "None that he'd ever tell me
    about", "No trouble breathing" (of another question)."""
    said = " ".join(word for word in words if word not in FILLERS)
    if said.startswith(("nothing to do with", "none of your", "nothing for you")):
        return True
    if said.startswith(("none that", "nothing that")) and not _AWARE.match(said):
        return True
    opened = [word for word in words if word not in FILLERS]
    if words[:1] != ["no"] or words[1:2] in ([], [","]) or opened[1:2] == [] or opened[1] in _OF_ALLERGIES:
        return False
    named = lexicon.clinical().longest(opened[1:4])
    return any(hit.term.kind in ("symptom", "condition") for hit in named)


def _some_left(words: Sequence[str]) -> bool:
    """ "Nothing serious", "no new ones", "I don't think so, but I had a reaction", "I do have some": not that there are
    none."""
    pairs = [list(words[at : at + 2]) for at in range(len(words))]
    return bool(_LEFT & set(words)) or ["do", "have"] in pairs or ["have", "some"] in pairs


def _of_sort(mention: Mention, question: Question) -> bool:
    """An allergy of the sort that was asked for: "No, only peanuts" denies those to medicines."""
    if mention.kind is not MemoryKind.ALLERGY:
        return False
    to_medicine = reactions.is_medicine(mention.concept.text)
    if question.general == reactions.CATEGORIES["food"]:
        return not to_medicine
    return to_medicine or question.general != reactions.NO_DRUG_ALLERGIES


def _agrees(text: str, sentence: Sentence, after: int, question: Question) -> bool:
    """Does a "no" to "No allergies?" agree: is nothing else said? To "You're not on it?" it may mean either."""
    rest = {word for word in sentence.words[after:] if word[0].isalnum()}
    last = not any(each.isalnum() for each in text[sentence.end :])
    return last and rest <= _NO_MORE and question.text.lower().startswith("no ")


_NO_MORE: Final = frozenset(
    ["no", "none", "nope", "nothing", "known", "allergies", "allergy", "at", "all", "any", "that", "i", "know", "of",
     "aware", "i'm", "to", "my", "knowledge", "don't", "have"]
)  # fmt: skip


def _denial(question: Question, own: Sequence[Mention], answer: _Answer) -> None:
    if question.degree:
        return
    if question.open == "allergy" and not question.others and not any(_of_sort(m, question) for m in own):
        answer(Topic(MemoryKind.ALLERGY, question.general), Polarity.DENIED)
    if question.open == "medication" and not own and question.plain:
        answer(Topic(MemoryKind.MEDICATION, "Medication"), Polarity.DENIED)
    for topic in question.topics:
        if topic.concept in question.known:  # "Any allergies besides penicillin?" "No.": that one is known to both
            answer(topic, Polarity.AFFIRMED, certain=False)
        elif topic.kind is MemoryKind.ADHERENCE:
            answer(msgspec.structs.replace(topic, change="taking"), Polarity.AFFIRMED)
        elif topic.kind is MemoryKind.MEDICATION and question.begun:
            begun = msgspec.structs.replace(topic, kind=MemoryKind.ADHERENCE, change="not-started")
            answer(begun, Polarity.AFFIRMED)
        else:
            answer(topic, Polarity.DENIED)
