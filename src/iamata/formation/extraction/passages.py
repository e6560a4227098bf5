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
from functools import cache
from typing import Final

import msgspec

from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.reading import mentions
from iamata.formation.extraction.segmentation import sentences
from iamata.model.attribution import Attribution, Role
from iamata.model.coding import CodedText
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.passage import Passage
from iamata.model.provenance import Provenance
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
from iamata.terminology import narrative
from iamata.terminology.tables import rows

READER: Final = "offline/1"
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
    `part` is `{passage.part}@{start}:{end}`, characters of the whole decoded part (as `Passage.start` counts), and
    holds the clause that says it, literally. Times, labels and evidence of authorship are the passage's. The standing
    is unknown unless the words say that it ended, stopped or is to come: a note tells how it was, not how it is now.
    Not promised: that everything mentioned is found.
    """
    speaker = _SPEAKERS.get(attribution.author.role)
    found: dict[str, Statement] = {}
    for stretch in _stretches(passage):
        text = passage.text[stretch.start : stretch.end]
        if stretch.reading == "advice" or not text.strip():
            continue
        for mention in _mentions(text, stretch.reading, speaker):
            read = _under_heading(mention, stretch.reading, text)
            if read is None or read.kind not in _KINDS or read.experiencer is Experiencer.OTHER:
                continue
            made = _statement(passage, read, stretch.start, attribution.author.role, mint)
            found.setdefault(made.id, made)
    return tuple(found.values())


# In these sections a bare name is told as an answer to the question that the heading puts.
_PUTS: Final = {"medicines": "Which medications do you take?", "allergies": "Any allergies?"}


def _mentions(text: str, reading: str, speaker: Speaker | None) -> Iterator[Mention]:
    if reading not in _PUTS:
        yield from mentions(text, speaker=speaker)
        return
    asker = Speaker.COORDINATOR if speaker is Speaker.CLINICIAN else Speaker.CLINICIAN
    for sentence in sentences(text):
        found = mentions(text[sentence.start : sentence.end], before=[(asker, _PUTS[reading])], speaker=speaker)
        for mention in found:
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


def _statement(passage: Passage, mention: Mention, offset: int, role: Role, mint: IdMint) -> Statement:
    kind = _KINDS[mention.kind]
    origin = passage.start + offset
    part = f"{passage.part}@{origin + mention.start}:{origin + mention.end}"
    concept, components, fields = _content(mention, kind)
    polarity, standing = mention.polarity, _standing(mention, kind)
    verification = Verification.NONE if mention.certain else Verification.UNCONFIRMED
    item = canonical_bytes([kind, concept, polarity, standing, verification, components, fields])
    record = passage.provenance.record
    return Statement(
        id=mint.statement(passage.provenance.source, passage.id, part, item),
        subject=passage.subject,
        kind=kind,
        provenance=Provenance(passage.provenance.source, READER, record),
        authorship=passage.authorship,
        aspect=_aspect(mention, kind, role),
        digest=content_digest(passage.provenance.source, record.key, part, passage.text, item),
        part=part,
        concept=concept,
        polarity=polarity,
        standing=standing,
        verification=verification,
        times=passage.times,
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
    if kind is Kind.FAMILY_HISTORY:
        components = (Component(mention.concept),)
        concept = CodedText(text=mention.relation) if mention.relation else mention.concept
        if mention.relation:
            fields["relationship"] = CodedText(text=mention.relation)
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


def _standing(mention: Mention, kind: Kind) -> Standing:
    if mention.polarity is Polarity.DENIED:
        return Standing.UNKNOWN
    if mention.change == "stopped":
        return Standing.STOPPED
    if mention.temporality is Temporality.PLANNED:
        return Standing.PLANNED
    if mention.temporality is Temporality.PAST and mention.kind is not MemoryKind.HISTORY:
        return Standing.COMPLETED if kind is Kind.MEDICATION else Standing.RESOLVED
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
