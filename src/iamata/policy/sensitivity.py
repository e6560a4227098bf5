"""Which labels does each item of a patient carry: those of its source, and those that rules on codes and words give it?

What a rule gives is never stored as the source's: it is worked out from what is held. A label of one part of a record
counts for the whole of it (a condition and its note, not the notes of one document among each other); a label spreads
one step along the references of records (a drug ordered for a labelled condition, the results of a labelled report),
from a message to the answer that follows it, and from a notice of 42 CFR Part 2 to everything in its document. Not
here: who may see what (`view`), the rows themselves (`terminology`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from iamata.model.coding import CodedText
from iamata.model.consent import RULES_FIELD
from iamata.model.graph import Held
from iamata.model.memory import Memory
from iamata.model.model_answers import Adjudication
from iamata.model.passage import Passage
from iamata.model.ruling import Ruling
from iamata.model.session import Message, Session
from iamata.model.sighting import Rereading
from iamata.model.statement import SUPPORTING_KINDS, Kind, Label, Statement
from iamata.terminology import security
from iamata.terminology import sensitivity as rules

Labels = frozenset[Label]
_NONE: Final[Labels] = frozenset()
# References that say who and where, not what: a label does not spread along them.
_WHO_AND_WHERE: Final = frozenset(
    {
        *("subject", "patient", "encounter", "context", "asserter", "recorder", "requester", "performer", "author"),
        *("organization", "custodian", "provider", "location", "participant", "serviceProvider", "careTeam", "device"),
        *("informationSource", "source", "enterer", "insurer", "payor", "beneficiary", "individual", "managingEntity"),
        *(
            "provision",
            "managingOrganization",
            "generalPractitioner",
            "episodeOfCare",
            "account",
            "appointment",
            "section",
            "entry",
        ),
    }
)
# These say who somebody is, or hold others: what they refer to is not what they are.
_SUPPORTING: Final = SUPPORTING_KINDS - {Kind.MEDICATION_PRODUCT}
# These hold many things: a label of one of their texts is not a label of the others.
_HOLDERS: Final = frozenset({Kind.DOCUMENT, Kind.LIST, Kind.REPORT, Kind.ENCOUNTER})


class Sensitive(msgspec.Struct, frozen=True):
    """The labels of what is held, by id (statements, passages, messages, memories, documents by their names, rulings
    and answers by their reasons): their sources' own and the rules'. Items that carry none are in no table. `ruled` are
    the rules' alone; `texts` what was worked out from each item by itself, to be taken over when more is held."""

    labels: Mapping[str, Labels]
    ruled: Mapping[str, Labels]
    texts: Mapping[str, Labels]

    def of(self, id: str) -> Labels:
        return self.labels.get(id, _NONE)


def sensitive(held: Held, before: Sensitive | None = None) -> Sensitive:
    """The labels of everything held, whatever was read of it and when."""
    return _Labelling(before.texts if before is not None else {}).of(held)


class _Labelling:
    def __init__(self, known: Mapping[str, Labels]) -> None:
        self._known = known
        self._words: dict[str, Labels] = {}
        self._concepts: dict[CodedText, Labels] = {}
        self._texts: dict[str, Labels] = {}

    def of(self, held: Held) -> Sensitive:
        readings: tuple[Held | Rereading, ...] = (held, *held.rereadings)
        statements = {s.id: s for each in readings for s in each.statements}
        passages = {p.id: p for each in readings for p in each.passages}
        ruled: dict[str, Labels] = {}
        own: dict[str, Labels] = {}
        for statement in statements.values():
            _add(ruled, statement.id, self.once(statement.id, statement))
            _add(own, statement.id, frozenset(statement.labels))
        for passage in passages.values():
            _add(ruled, passage.id, self.once(passage.id, passage))
            _add(own, passage.id, frozenset(passage.labels))
        _join_records(statements.values(), passages.values(), own)
        _join_records(statements.values(), passages.values(), ruled)
        _spread(statements.values(), own, ruled)
        for document in held.documents:
            _add(ruled, document.id, self.words(document.name))
        decisions: list[Ruling | Adjudication] = [*held.rulings, *held.adjudications]
        for decided in decisions:
            _add(ruled, decided.id, _without_law(self.words(decided.reason)))
        _notices(held, ruled)
        for session in held.sessions:
            self._talk(session, ruled)
        spoken = {m.id: ruled.get(m.id, _NONE) for session in held.sessions for m in session.messages}
        for memory in held.ever_learned:
            _add(ruled, memory.id, self.memory(memory) | spoken.get(memory.message, _NONE))
        labels = {id: own.get(id, _NONE) | ruled.get(id, _NONE) for id in own.keys() | ruled.keys()}
        return Sensitive(labels, ruled, self._texts)

    def memory(self, memory: Memory) -> Labels:
        said = self.concept(memory.concept) | self.words(memory.quote)
        for _name, detail in memory.detail:
            said |= self.words(detail)
        return _without_law(said)

    def once(self, id: str, item: Statement | Passage) -> Labels:
        found = self._known.get(id)
        if found is None:
            found = self._passage(item) if isinstance(item, Passage) else self._statement(item)
        self._texts[id] = found
        return found

    def _statement(self, statement: Statement) -> Labels:
        if statement.kind is Kind.DEMOGRAPHIC:
            return _NONE
        found = _NONE
        for concept in _concepts(statement):
            found |= self.concept(concept)
        for text in _words(statement):
            found |= self.words(text)
        return _without_law(found)

    def _passage(self, passage: Passage) -> Labels:
        found = _labels(rules.of_text(passage.text)) | self.words(passage.title) | self.words(passage.provenance.source)
        for evidence in passage.authorship:
            found |= self.words(evidence.display)
        return found

    def _talk(self, session: Session, into: dict[str, Labels]) -> None:
        """Of messages by their words and what their calls asked; the answer to a message shares its labels."""
        asked, speaker = _NONE, None
        for message in session.messages:
            own = self._message(message)
            shared = asked if message.turn.speaker is not speaker else _NONE
            _add(into, message.id, own | shared)
            asked, speaker = own, message.turn.speaker

    def _message(self, message: Message) -> Labels:
        found = self._texts.get(message.id) or self._known.get(message.id)
        if found is None:
            found = _labels(rules.of_text(message.turn.text))
            for call in message.turn.calls:
                found |= _labels(rules.of_text(call.arguments)) | _labels(rules.of_text(call.result))
            found = _without_law(found)
        self._texts[message.id] = found
        return found

    def words(self, text: str) -> Labels:
        if not text:
            return _NONE
        found = self._words.get(text)
        if found is None:
            found = self._words[text] = _labels(rules.of_text(text))
        return found

    def concept(self, concept: CodedText) -> Labels:
        found = self._concepts.get(concept)
        if found is None:
            found = self._concepts[concept] = _labels(rules.of_concept(concept))
        return found


def of_shown(items: Iterable[Statement | Passage | Memory]) -> Labels:
    """The labels of what is shown, by itself: those of the sources, and those of codes and words. Of confidentiality
    the highest alone."""
    labelling = _Labelling({})
    found = _NONE
    for item in items:
        if isinstance(item, Memory):
            found |= labelling.memory(item)
        else:
            found |= frozenset(item.labels) | labelling.once(item.id, item)
    ranked = [each for each in found if (said := security.meaning(each)) is not None and said.rank >= 0]
    highest = security.rank(ranked)
    return found - {each for each in ranked if security.rank([each]) < highest}


def each_of(items: Iterable[Statement | Memory]) -> dict[str, Labels]:
    """As `of_shown` of each of these alone, by id; every confidentiality is kept."""
    labelling = _Labelling({})
    return {
        item.id: labelling.memory(item)
        if isinstance(item, Memory)
        else frozenset(item.labels) | labelling.once(item.id, item)
        for item in items
    }


def of_texts(texts: Iterable[str]) -> Labels:
    """The labels that words give, such as those of a tool call."""
    found = _NONE
    for text in texts:
        found |= _labels(rules.of_text(text))
    return _without_law(found)


def _concepts(statement: Statement) -> Iterator[CodedText]:
    if statement.concept is not None:
        yield statement.concept
    for field in statement.fields:
        if isinstance(field.value, CodedText):
            yield field.value
    for component in statement.components:
        yield component.concept
        if isinstance(component.value, CodedText):
            yield component.value


def _words(statement: Statement) -> Iterator[str]:
    yield statement.source
    for field in statement.fields:
        if isinstance(field.value, str) and field.name != RULES_FIELD:  # it names what it denies, not what is
            yield field.value
    for component in statement.components:
        if isinstance(component.value, str):
            yield component.value
    for reference in statement.references:
        yield reference.display
    for evidence in statement.authorship:
        yield evidence.display


def _labels(codes: Iterable[str]) -> Labels:
    return frozenset(map(security.label, codes)) if codes else _NONE


def _without_law(labels: Labels) -> Labels:
    """A rule gives sensitivity only; the notice of a law counts where it stands in a text of a document."""
    return frozenset(each for each in labels if each.code != rules.LAW) if labels else labels


def _add(into: dict[str, Labels], id: str, labels: Labels) -> None:
    if labels:
        into[id] = into.get(id, _NONE) | labels


def _join_records(statements: Iterable[Statement], passages: Iterable[Passage], into: dict[str, Labels]) -> None:
    """A record's statements and its notes share their labels, unless it is one that holds many things."""
    items: list[Statement | Passage] = [*statements, *passages]
    touched = {_key(item) for item in items if item.id in into} if into else set[tuple[str, str]]()
    touched = {key for key in touched if key[1]}
    parts: dict[tuple[str, str], list[str]] = {key: [] for key in touched}
    for item in items if touched else ():
        key = _key(item)
        if key in touched:
            if isinstance(item, Statement) and item.kind in _HOLDERS:
                touched.discard(key)
            else:
                parts[key].append(item.id)
    for key in touched:
        shared = _NONE.union(*(into.get(id, _NONE) for id in parts[key]))
        for id in parts[key]:
            _add(into, id, shared)


def _key(item: Statement | Passage) -> tuple[str, str]:
    return item.provenance.source, item.provenance.record.key


def _spread(statements: Iterable[Statement], own: Mapping[str, Labels], ruled: dict[str, Labels]) -> None:
    """One step along references, either way. Who a reference leads to, and where, labels nothing."""
    labelled: dict[str, Labels] = {}
    for id in own.keys() | ruled.keys():
        if said := _sensitivity(own.get(id, _NONE) | ruled.get(id, _NONE)):
            labelled[id] = said
    if not labelled:
        return
    named: dict[tuple[str, str], Labels] = {}
    for statement in statements:
        if statement.id in labelled:
            for key in _names(statement):
                named[key] = named.get(key, _NONE) | labelled[statement.id]
    found: dict[str, Labels] = {}
    led_to: dict[tuple[str, str], Labels] = {}
    for statement in statements:
        if statement.kind in _SUPPORTING:
            continue
        mine = labelled.get(statement.id)
        for reference in statement.references:
            target = (statement.source, reference.reference)
            theirs = named.get(target)
            if (theirs is None and mine is None) or _who_or_where(reference.element):
                continue
            if theirs is not None:
                _add(found, statement.id, theirs)
            if mine is not None and reference.reference:
                led_to[target] = led_to.get(target, _NONE) | mine
    for statement in statements if led_to else ():
        for key in _names(statement):
            if key in led_to:
                _add(found, statement.id, led_to[key])
    for id, labels in found.items():
        _add(ruled, id, labels)


def _names(statement: Statement) -> tuple[tuple[str, str], ...]:
    record = statement.provenance.record
    return tuple((statement.source, key) for key in (record.reference, record.url) if key)


@lru_cache(maxsize=4096)
def _who_or_where(element: str) -> bool:
    parts = [part for part in element.split("/") if not part.isdigit()]
    return any(part in _WHO_AND_WHERE for part in parts)


def _sensitivity(labels: Labels) -> Labels:
    if not labels:
        return labels
    return frozenset(
        each for each in labels if (said := security.meaning(each)) is not None and said.sort == "sensitivity"
    )


def _notices(held: Held, ruled: dict[str, Labels]) -> None:
    """A notice of 42 CFR Part 2 accompanies everything that its document brought (42 CFR 2.32)."""
    law = security.label(rules.LAW)
    noticed = {id for id, labels in ruled.items() if law in labels}
    if not noticed:
        return
    readings: tuple[Held | Rereading, ...] = (held, *held.rereadings)
    documents = {seen.document for each in readings for seen in each.sightings if seen.item in noticed}
    for each in readings:
        for seen in each.sightings:
            if seen.document in documents:
                _add(ruled, seen.item, frozenset({law}))
