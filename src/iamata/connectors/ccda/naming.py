"""What is each record called in its source, and what is made of it? From drafts to statements and passages.

A record's name is its type, its first id and its code: ids that stand on different things (81 of 168 documents read
have such) name different records. Where even these are the same and the content is not, the content tells them apart.
What names itself nowhere is named by its content.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

import msgspec

from iamata.connectors.ccda.drafts import Draft, Evidence, Note
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.passage import Passage
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import Subject
from iamata.model.statement import Kind, Reference, Statement

READER: Final = "ccda/3"
_DIGITS: Final = 20
# Records that are one thing whatever is said of them: their id alone names them.
_BY_ID: Final = frozenset({Kind.DEMOGRAPHIC, Kind.LIST, Kind.PERSON})


class Made(NamedTuple):
    """Statements and passages with the places where they stand."""

    statements: list[tuple[Statement, str]]
    passages: list[tuple[Passage, str, Note]]


def make(
    drafts: list[Draft], notes: list[Note], document: Draft, *, subject: Subject, source: str, mint: IdMint
) -> Made:
    """Name every draft, then make its statement. The document's list comes last: it names all others."""
    every = [*drafts, document]
    contents = {id(draft): _content(draft) for draft in every}
    _name(every, contents, source)
    targets = _by_id(drafts)
    made = Made([], [])
    for draft in every:
        key = draft.name
        named = [_reference(element, target, targets, draft) for element, target in draft.references]
        references = tuple(reference for reference in named if reference is not None)
        authorship = _authorship(draft.evidence, draft.type)
        # What an item refers to is called by its document: it counts as part of the item.
        called = sorted([r.element, r.reference, r.identifier] for r in references)
        content = contents[id(draft)] + canonical_bytes([called, [e.reference for e in authorship]])
        record = RecordIdentity(type=draft.type, reference=key, version=draft.version, identifiers=draft.ids)
        statement = Statement(
            id=mint.statement(source, key, "", content),
            subject=subject,
            kind=draft.kind,
            provenance=Provenance(source=source, reader=READER, record=record),
            authorship=authorship,
            aspect=draft.aspect,
            digest=content_digest(source, key, "", content),
            concept=draft.concept,
            polarity=draft.polarity,
            status=draft.status,
            standing=draft.standing,
            verification=draft.verification,
            times=tuple(draft.times),
            fields=draft.sorted_fields(),
            components=tuple(draft.components),
            references=references,
            labels=draft.labels,
            domain=draft.domain,
        )
        made.statements.append((statement, draft.place))
    for note in notes:
        record = RecordIdentity(type=note.owner.type, reference=note.owner.name, identifiers=note.owner.ids)
        passage = Passage(
            id=mint.passage(
                source, note.owner.name, f"{note.part}[{note.start}]" if note.start else note.part, note.text
            ),
            subject=subject,
            provenance=Provenance(source=source, reader=READER, record=record),
            authorship=_authorship(note.evidence, note.owner.type),
            part=note.part,
            text=note.text,
            title=note.title,
            start=note.start,
            times=tuple(note.times),
            labels=note.labels,
        )
        made.passages.append((passage, note.place, note))
    return made


def _content(draft: Draft) -> bytes:
    """The canonical bytes of an item: what it says, and who has a hand in it as far as that stands elsewhere."""
    people = [[e.part, e.element, e.type, e.identifier, e.display, e.value, e.time] for e, _person in draft.evidence]
    return canonical_bytes([draft.type, draft.content, people, [str(label) for label in draft.labels]])


def _name(drafts: list[Draft], contents: dict[int, bytes], source: str) -> None:
    named: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for draft in drafts:
        content = contents[id(draft)]
        if not draft.own_id:
            draft.name = f"{draft.type}/~{content_digest(source, '', '', content)[:_DIGITS]}"
            continue
        name = f"{draft.type}/{draft.own_id}"
        if draft.kind not in _BY_ID and draft.concept is not None and draft.concept.codings:
            name += f"/{draft.concept.codings[0].key or draft.concept.codings[0].display}"
        named[name][content_digest(content)].append(draft)
    for name, contents_of in named.items():
        for digest, same in contents_of.items():
            for draft in same:
                draft.name = name if len(contents_of) == 1 else f"{name}~{digest[:_DIGITS]}"


def _by_id(drafts: list[Draft]) -> dict[str, Draft]:
    """Own id → the draft that entries point to by it: the first of those that share it."""
    found: dict[str, Draft] = {}
    for draft in drafts:
        if draft.kind in (Kind.PERSON, Kind.LIST):
            continue
        for identifier in draft.ids:
            found.setdefault(f"{identifier.system}|{identifier.value}".strip("|"), draft)
        if draft.own_id:
            found.setdefault(draft.own_id, draft)
    return found


def _reference(element: str, target: Draft | str, by_id: dict[str, Draft], origin: Draft) -> Reference | None:
    if isinstance(target, Draft):
        return Reference(element, target.name, type=target.type)
    if target.startswith("#"):
        found = by_id.get(target[1:])
        if found is not None:
            return Reference(element, found.name, type=found.type) if found.name != origin.name else None
        if element.startswith("reasonReference"):
            return None  # an indication that stands nowhere else: its reason is a field already
        return Reference(element, identifier=target[1:] if "|" in target else f"|{target[1:]}")
    return Reference(element, target)


def _authorship(evidence: list[Evidence], type: str) -> tuple[AuthorshipEvidence, ...]:
    found = tuple(
        msgspec.structs.replace(each, reference=person.name) if person is not None and person.name else each
        for each, person in evidence
    )
    return found or (AuthorshipEvidence(Part.NONE, type),)
