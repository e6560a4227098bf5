"""What does a passage of a document or a narrative section mention? Statements of its author that point to its span.

The engine for talk reads it (`mentions`); the author of each statement is the passage's, the extractor is provenance.
Kept: conditions and symptoms, medicines with dose, allergies, readings, side effects, family history, social facts.
Left out: wishes, worries and goals (they are a speaker's), and what is only supposed. A section's heading, the
passage's title or a line within it, says how it is read (`passage_readings.tsv`). Nobody is looked up here, and
nothing is compared: that is the fold's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Final

import msgspec

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.reading import mentions
from iamata.formation.extraction.segmentation import sentences
from iamata.model.attribution import Attribution, Role
from iamata.model.clinical_time import Clock, Period, Precision, Timed, parse_time, utc
from iamata.model.coding import CodedText
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.passage import Passage
from iamata.model.provenance import EXTRACTOR, Provenance
from iamata.model.session import Speaker
from iamata.model.statement import (
    Aspect,
    Component,
    Field,
    Form,
    Kind,
    Polarity,
    Standing,
    Statement,
    Value,
    Verification,
)
from iamata.terminology import lexicon, narrative
from iamata.terminology.tables import rows

READER: Final = f"{EXTRACTOR}1"
# Of a longer text the beginning is read: a hundred pages; the rest stays a passage.
MOST_CHARS: Final = 200_000
_KINDS: Final = {
    MemoryKind.SYMPTOM: Kind.CONDITION,
    MemoryKind.CONDITION: Kind.CONDITION,
    MemoryKind.HISTORY: Kind.CONDITION,
    MemoryKind.MEDICATION: Kind.MEDICATION,
    MemoryKind.INSTRUCTION: Kind.MEDICATION,
    MemoryKind.ADHERENCE: Kind.MEDICATION,
    MemoryKind.ALLERGY: Kind.ALLERGY,
    MemoryKind.SIDE_EFFECT: Kind.ADVERSE_EVENT,
    MemoryKind.FAMILY_HISTORY: Kind.FAMILY_HISTORY,
    MemoryKind.OBSERVATION: Kind.OBSERVATION,
    MemoryKind.SOCIAL: Kind.SOCIAL_HISTORY,
}
_SPEAKERS: Final = {Role.PATIENT: Speaker.PATIENT, Role.PROXY: Speaker.CAREGIVER}
_HEADING: Final = re.compile(r"^[ \t]*([A-Za-z][A-Za-z &/,'()-]{1,60}?)[ \t]*(:|$)", re.MULTILINE)
_OWN: Final = re.compile(r"\b(?:patient|pt|I)\b")
_TO_READER: Final = re.compile(r"\byou(?:r|'re|’re)?\b", re.IGNORECASE)  # advice and forms, in whose words ever
_DISEASES: Final = (MemoryKind.CONDITION, MemoryKind.HISTORY, MemoryKind.SYMPTOM)


class _Stretch(msgspec.Struct, frozen=True):
    """Characters `start`:`end` of a passage under one heading, and how they are read."""

    start: int
    end: int
    reading: str


def statements_of(passage: Passage, attribution: Attribution, *, mint: IdMint) -> tuple[Statement, ...]:
    """What the passage mentions, by place, then kind and name; no two with one id, and the same for the same text.

    `attribution` is the passage's as resolved: whose words they are decides who "I" is and what a mention testifies to.
    `part` is `{passage.part}@{start}:{end}/{kind}/{at}`: the clause that says it, literally, in characters of the
    whole decoded part (as `Passage.start` counts), and where in it the naming words begin. Labels and evidence of
    authorship are the passage's. When it was written is when its author asserted it, and for a reading also when it
    was so, unless the words tell another time. The standing is unknown unless the words say that it ended, stopped or
    is to come: a note tells how it was, not how it is now. Not promised: that everything mentioned is found; of a text
    the first MOST_CHARS characters are read.
    """
    speaker = _SPEAKERS.get(attribution.author.role)
    written = _day_of(passage)
    found: dict[str, Statement] = {}
    parts: set[str] = set()
    words = content_digest(passage.text)
    for stretch in _stretches(passage):
        text = passage.text[stretch.start : min(stretch.end, MOST_CHARS)]
        if stretch.reading == "advice" or not text.strip():
            continue
        for mention in _mentions(text, stretch.reading, speaker, written):
            read = _under_heading(mention, stretch.reading, text)
            read = _of_the_patient(read, text) if read is not None else None
            if read is None or read.kind not in _KINDS or read.experiencer is Experiencer.OTHER:
                continue
            made = _statement(passage, read, stretch.start, attribution.author.role, mint, parts, words)
            found.setdefault(made.id, made)
    return tuple(found.values())


def words_of(statement: Statement) -> tuple[int, int]:
    """Of a mention the characters of the clause that says it, as its part gives them."""
    start, _, end = statement.part.rpartition("@")[2].partition("/")[0].partition(":")
    return int(start), int(end)


_WRITTEN: Final = (Clock.AUTHORED, Clock.ASSERTED, Clock.ISSUED, Clock.SIGNED)


def _written(passage: Passage) -> Timed | None:
    return next((timed for clock in _WRITTEN for timed in passage.times if timed.clock is clock), None)


def _day_of(passage: Passage) -> datetime | None:
    """The day on which it was written, for "since Thursday"; None if it is not known to the day."""
    timed = _written(passage)
    at = timed.start if timed is not None else None
    if at is None or at.earliest is None or at.latest is None or at.precision in (Precision.YEAR, Precision.MONTH):
        return None
    return utc((at.earliest + at.latest) // 2)


# In these sections a bare name is told as an answer to the question that the heading puts.
_PUTS: Final = {"medicines": "Which medications do you take?", "allergies": "Any allergies?"}


def _mentions(text: str, reading: str, speaker: Speaker | None, written: datetime | None) -> Iterator[Mention]:
    if reading not in _PUTS:
        yield from mentions(text, speaker=speaker, said_at=written)
        return
    asker = Speaker.COORDINATOR if speaker is Speaker.CLINICIAN else Speaker.CLINICIAN
    for sentence in sentences(text):
        words = text[sentence.start : sentence.end]
        for mention in mentions(words, before=[(asker, _PUTS[reading])], speaker=speaker, said_at=written):
            yield msgspec.structs.replace(
                mention,
                start=mention.start + sentence.start,
                end=mention.end + sentence.start,
                anchor_start=mention.anchor_start + sentence.start,
                anchor_end=mention.anchor_end + sentence.start,
            )


@cache
def _readings() -> dict[str, str]:
    return {row["section"]: row["reading"] for row in rows("passage_readings")}


def _reading(heading: str) -> str | None:
    """How a section of this heading is read; empty for as it says, None when it is no heading known."""
    known = narrative.heading(heading)
    return None if known is None or known.kind != "section" else _readings().get(known.section, "")


def _stretches(passage: Passage) -> Iterator[_Stretch]:
    reading = _reading(passage.title) or ""
    if reading:  # what the whole section is, no line within it changes
        yield _Stretch(0, len(passage.text), reading)
        return
    start = 0
    for match in _HEADING.finditer(passage.text):
        begun = _reading(match.group(1))
        if begun is None or (not match.group(2) and not match.group(1).isupper() and len(match.group(1)) < 4):
            continue
        yield _Stretch(start, match.start(), reading)
        start, reading = match.end(), begun
    yield _Stretch(start, len(passage.text), reading)


def _under_heading(mention: Mention, reading: str, text: str) -> Mention | None:
    """The mention as its section means it; None when the section asserts no such thing of anybody."""
    clause = text[mention.start : mention.end]
    if mention.temporality is Temporality.HYPOTHETICAL or _TO_READER.search(clause):
        return None
    if reading == "family" and mention.experiencer is Experiencer.PATIENT:
        if mention.kind in _DISEASES and not _OWN.search(clause):
            return msgspec.structs.replace(
                mention, kind=MemoryKind.FAMILY_HISTORY, experiencer=Experiencer.FAMILY, relation=""
            )
        return None if mention.kind is not MemoryKind.SOCIAL else mention
    if reading == "planned" and mention.experiencer is Experiencer.PATIENT:
        if mention.kind in (MemoryKind.MEDICATION, MemoryKind.INSTRUCTION):
            return msgspec.structs.replace(mention, temporality=Temporality.PLANNED)
        return mention if mention.kind is MemoryKind.ALLERGY else None
    return mention


_NOTHING_KNOWN: Final = re.compile(
    r"\bno\s+(?:\w+\s+)?(?:information|data|records?|documentation)\b|\bunknown\b|\bunable to\b"
    r"|\bnot\s+(?:on file|recorded|documented|available|known|asked|assessed|obtained|reviewed)\b",
    re.IGNORECASE,
)
# What a result or a score means is told of tests, not of the patient: "infection indicates presence of ulcer".
_IN_GENERAL: Final = re.compile(
    r"\b(?:indicat(?:es?|ive)|(?:is|are|be) considered|scores? of"
    r"|(?:values?|levels?) (?:of|above|below|between|over|under|greater|less))\b",
    re.IGNORECASE,
)
_ELSEWHERE: Final = re.compile(r"[\t\n,;]|\b(?:and|or)\b", re.IGNORECASE)
# "Hold lisinopril if SBP < 100" stops nothing yet; "if needed" tells how it is taken.
_ON_CONDITION: Final = re.compile(r"\b(?:if|unless|in case)\b(?!\s+(?:needed|necessary|required)\b)", re.IGNORECASE)
# What names no medicine and no effect: "takes her medication", "no side effects".
_NAMELESS: Final = frozenset({"Medication", "Side effects"})
_REACH: Final = 2


@cache
def _beside(how: str) -> dict[tuple[str, ...], str]:
    """Words that stand after or before a name → what they make of it."""
    return {tuple(row["word"].split()): row["means"] for row in rows("passage_words") if row["how"] == how}


def _of_the_patient(mention: Mention, text: str) -> Mention | None:
    """The mention if a note tells it of the patient: not that nothing is known, not an operation, no number that
    stands apart from what it would measure, and no name that only says what something else is for."""
    name = text[mention.anchor_start : mention.anchor_end]
    clause = text[mention.start : mention.end]
    if mention.polarity is Polarity.DENIED and _NOTHING_KNOWN.search(clause):
        return None
    if mention.kind is MemoryKind.OBSERVATION:
        return None if _ELSEWHERE.search(name) else mention
    if mention.concept.text in _NAMELESS and mention.get("agent") in ("", *_NAMELESS):
        return None
    if mention.kind not in _DISEASES:
        rest = text[mention.anchor_end : mention.end]
        return None if _KINDS.get(mention.kind) is Kind.MEDICATION and _ON_CONDITION.search(rest) else mention
    if _IN_GENERAL.search(clause):
        return None
    if any(hit.term.kind == "procedure" for hit in lexicon.clinical().longest(_words(name))):
        return None
    after = _words(text[mention.anchor_end : mention.end])[:_REACH]
    before = _words(text[mention.start : mention.anchor_start])
    means = [told for words, told in _beside("after").items() if words[0] in after]
    means += [
        told
        for words, told in _beside("before").items()
        if words in (tuple(before[-len(words) :]), tuple(before[-len(words) - 1 : -1]))
    ]
    if "other" in means:
        return None
    if "open" in means:
        return msgspec.structs.replace(mention, certain=False, polarity=Polarity.AFFIRMED)
    return msgspec.structs.replace(mention, certain=False) if means else mention


def _words(text: str) -> list[str]:
    return [spot.word for spot in lexicon.split_words(text) if spot.word[0].isalnum()]


def _statement(
    passage: Passage, mention: Mention, offset: int, role: Role, mint: IdMint, parts: set[str], words: str
) -> Statement:
    """`parts` are those taken so far, `words` stands for the text in what is hashed."""
    kind = _KINDS[mention.kind]
    origin = passage.start + offset
    part = f"{passage.part}@{origin + mention.start}:{origin + mention.end}/{kind}/{origin + mention.anchor_start}"
    while part in parts:  # two things of one kind by the same words: two parts all the same
        part += "+"
    parts.add(part)
    concept, components, fields = _content(mention, kind)
    clause = passage.text[offset + mention.start : offset + mention.end]
    polarity, standing = mention.polarity, _standing(mention, kind, clause)
    verification = Verification.NONE if mention.certain else Verification.UNCONFIRMED
    times = _times(passage, mention, kind)
    item = canonical_bytes([kind, concept, polarity, standing, verification, components, fields, times])
    record = passage.provenance.record
    return Statement(
        id=mint.statement(passage.provenance.source, passage.id, part, item),
        subject=passage.subject,
        kind=kind,
        provenance=Provenance(passage.provenance.source, READER, record),
        authorship=passage.authorship,
        aspect=_aspect(mention, kind, role),
        digest=content_digest(passage.provenance.source, record.key, part, words, item),
        part=part,
        concept=concept,
        polarity=polarity,
        standing=standing,
        verification=verification,
        times=times,
        fields=fields,
        components=components,
        labels=passage.labels,
        domain=passage.domain,
        form=Form.UNSTRUCTURED,
    )


def _content(mention: Mention, kind: Kind) -> tuple[CodedText | None, tuple[Component, ...], tuple[Field, ...]]:
    """Concept, components and fields by the names that the kind has elsewhere."""
    fields: dict[str, Value] = {}
    components: tuple[Component, ...] = ()
    concept: CodedText | None = mention.concept
    if kind is Kind.FAMILY_HISTORY and mention.polarity is Polarity.AFFIRMED:  # a denied disease is no relative's
        components = (Component(mention.concept),)
        concept = CodedText(text=mention.relation) if mention.relation else mention.concept
        if mention.relation:
            fields["relationship"] = CodedText(text=mention.relation)
    elif kind is Kind.ALLERGY and mention.polarity is Polarity.DENIED and mention.concept.text.startswith("Known "):
        concept = CodedText(text=f"No {mention.concept.text[0].lower()}{mention.concept.text[1:]}")
    elif kind is Kind.ALLERGY and mention.get("reaction"):
        components = (Component(CodedText(text=mention.get("reaction"))),)
    elif kind is Kind.MEDICATION:
        for name in ("dose", "frequency"):
            if mention.get(name):
                fields[name] = mention.get(name)
    elif kind is Kind.OBSERVATION:
        fields["value"] = f"{mention.get('value')} {mention.get('unit')}".strip()
    elif kind is Kind.CONDITION:
        if mention.get("severity"):
            fields["severity"] = mention.get("severity")
        if mention.get("laterality"):
            fields["body_site"] = mention.get("laterality")
    elif kind is Kind.ADVERSE_EVENT and mention.get("agent"):
        fields["reaction_substance"] = CodedText(text=mention.get("agent"))
    return concept, components, tuple(Field(name, fields[name]) for name in sorted(fields))


_A_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")


def _times(passage: Passage, mention: Mention, kind: Kind) -> tuple[Timed, ...]:
    """When its author said so, and when it was so as far as the words tell.

    Of a state only a year that is named is taken for its beginning: "for ten years" is no date to hold against one.
    """
    written = _written(passage)
    found = [Timed(Clock.ASSERTED, written.at)] if written is not None else []
    told = parse_time(mention.since) if mention.since else None
    if told is not None and kind is Kind.OBSERVATION:
        found.append(Timed(Clock.EFFECTIVE, told))
    elif told is not None and kind is Kind.MEDICATION:
        ended = mention.change == "stopped" or mention.temporality is Temporality.PAST
        found.append(Timed(Clock.STATUS_CHANGED, told) if ended else Timed(Clock.EFFECTIVE, Period(told)))
    elif told is not None and kind is Kind.CONDITION and _A_YEAR.search(mention.since_said):
        found.append(Timed(Clock.EFFECTIVE, Period(told)))
    elif kind is Kind.OBSERVATION and mention.temporality is Temporality.CURRENT and written is not None:
        found.append(Timed(Clock.EFFECTIVE, written.at))
    return tuple(found)


_OVER: Final = re.compile(
    r"\b(?:resolv\w+|recover\w+|over|gone|clear(?:ed|s)|subsided|healed|cured|went away|no longer|remission|stopped)\b",
    re.IGNORECASE,
)


def _standing(mention: Mention, kind: Kind, clause: str) -> Standing:
    if mention.polarity is Polarity.DENIED:
        return Standing.UNKNOWN
    if mention.change == "stopped":
        return Standing.STOPPED
    if mention.temporality is Temporality.PLANNED:
        return Standing.PLANNED
    if mention.temporality is Temporality.PAST and kind is Kind.MEDICATION:
        return Standing.COMPLETED
    if mention.temporality is Temporality.PAST and kind is Kind.CONDITION and _OVER.search(clause):
        return Standing.RESOLVED  # "a two week history of fever" and "in 2011 a stroke" do not say that it is over
    return Standing.UNKNOWN


def _aspect(mention: Mention, kind: Kind, role: Role) -> Aspect:
    """What a mention testifies to. A note that names a disease is no diagnosis made there, so it records one; what is
    felt is experienced, whoever writes it down."""
    if kind is Kind.MEDICATION:
        if mention.temporality is Temporality.PLANNED:
            return Aspect.ORDERED if role is Role.CLINICIAN else Aspect.PROPOSED
        return Aspect.TAKEN
    if kind is Kind.CONDITION:
        return Aspect.EXPERIENCED if mention.kind is MemoryKind.SYMPTOM else Aspect.RECORDED
    if kind in (Kind.ALLERGY, Kind.ADVERSE_EVENT):
        return Aspect.REACTED
    return Aspect.MEASURED if kind is Kind.OBSERVATION else Aspect.LIVED
