"""What does one item say? Its statements, its passages and its line in the intake.

An item is read by the mapping of its type. A value of the wrong JSON type, an unknown modifier or implicit rules make
it unusable, and only it. Not here: whose item it is, who its author is, or whether another item says the same.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from iamata.connectors.fhir.answers import answers
from iamata.connectors.fhir.authorship import evidence, nobody, rules, with_labels
from iamata.connectors.fhir.details import DETAILS
from iamata.connectors.fhir.details.care import empty_sections
from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Deletion, Item, ignored, kind_of_line, unusable_shape
from iamata.connectors.fhir.labels import inline_labels, security
from iamata.connectors.fhir.mappings import MAPPINGS, Mapping
from iamata.connectors.fhir.meaning import Status, aspect_of, kind_of, status_of
from iamata.connectors.fhir.narrative import narrative
from iamata.connectors.fhir.references import references
from iamata.connectors.fhir.times import Times
from iamata.connectors.fhir.values import (
    Json,
    Values,
    WrongShape,
    absences,
    boolean,
    choice,
    mapping,
    objects,
    string,
    strings,
)
from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import Clock, Timed
from iamata.model.coding import CodedText
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.passage import Passage
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.roots import ASSEMBLED_TAG, ENGINE, EXPORT_TAG
from iamata.model.scope import Subject
from iamata.model.statement import Kind, Label, Reference, Standing, Statement, Value, Verification
from iamata.terminology.statuses import negation

READER: Final = "fhir-r4/5"
R5_READER: Final = "fhir-r5/4"

_ANSWERS = Mapping(Kind.ANSWER, notes="")
_ANSWER_RULES = rules("source informant", "author recorder")
# Kinds that are told by their concept: of a bare item of these kinds no statement is made.
_TOLD_BY_CONCEPT = frozenset(
    {
        *(Kind.CONDITION, Kind.ALLERGY, Kind.OBSERVATION, Kind.SOCIAL_HISTORY, Kind.PREGNANCY, Kind.IMMUNIZATION),
        *(Kind.MEDICATION, Kind.MEDICATION_EVENT, Kind.FAMILY_HISTORY, Kind.PROCEDURE, Kind.FLAG, Kind.GOAL),
    }
)
_SAYS_NOTHING_ALONE = frozenset(
    {"category", "intent", "priority", "primary_source", "status_reason", "absent", "absent_elements"}
)
# What a resource contains inherits its labels; none is ever left out, so more than this are refused.
_MOST_LABELS = 100
_ABOUT_OTHERS = frozenset(
    {"subject", "patient", "encounter", "context", "asserter", "recorder", "requester", "performer", "author"}
)


class Reading(NamedTuple):
    """Statements and passages with the pointers of their places, and the item's lines in the intake."""

    statements: list[tuple[Statement, str]]
    passages: list[tuple[Passage, str]]
    lines: list[IntakeLine]


class Reader:
    """Reads the items of one document, whose equal values are shared."""

    def __init__(self, subject: Subject, source: str, mint: IdMint, *, name: str = READER) -> None:
        self.subject = subject
        self._name = name
        self._source = source
        self._mint = mint
        self._values = Values(Times())
        self._labelled: tuple[Item | None, set[Label]] = (None, set())
        self._labels: dict[tuple[Label, ...], tuple[Label, ...]] = {}

    def read(self, item: Item, *, is_subject: bool = True) -> Reading:
        """Everything the item says. `is_subject`: whether a Patient is the patient rather than a person beside them."""
        how = MAPPINGS.get(item.type)
        answered = item.type == "QuestionnaireResponse"
        if how is None and not answered:
            line = ignored(item.type, item.place, Reason.UNSUPPORTED, label=item.label, detail=_unsupported(item.type))
            return Reading([], [], [line])
        if _assembled(item):
            why = "assembled for an export of ours from what its other items say"
            return Reading(
                [], [], [ignored(kind_of_line(item.type), item.place, Reason.EMPTY, label=item.type, detail=why)]
            )
        try:
            why = _unusable(item)
            if why:
                line = ignored(kind_of_line(item.type), item.place, Reason.UNUSABLE, label=item.label, detail=why)
                return Reading([], [], [line])
            self._values.times.faults.clear()
            if how is None:
                return self._answers(item)
            return self._item(item, how, is_subject)
        except WrongShape as wrong:
            return Reading([], [], [unusable_shape(item.resource, item.place, wrong, item.moved)])

    def deletion(self, deletion: Deletion) -> Reading:
        """That a record was deleted: a statement of that record that was entered in error, which the fold lets replace
        everything that the source had said in it until then."""
        label = f"DELETE {deletion.type}"
        how = MAPPINGS.get(deletion.type)
        if how is None and deletion.type != "QuestionnaireResponse":
            why = _unsupported(deletion.type)
            return Reading([], [], [ignored("deletion", deletion.place, Reason.UNSUPPORTED, label=label, detail=why)])
        self._values.times.faults.clear()
        at = self._values.times.point(deletion.updated, "lastModified") if deletion.updated else None
        key = f"{deletion.type}/{deletion.id}"
        content = canonical_bytes(["DELETE", key, deletion.updated])
        statement = Statement(
            id=self._mint.statement(self._source, key, "", content),
            subject=self.subject,
            kind=how.kind if how is not None else Kind.ANSWER,
            provenance=Provenance(
                source=self._source,
                reader=self._name,
                record=RecordIdentity(type=deletion.type, reference=key, updated=deletion.updated),
            ),
            authorship=nobody(deletion.type),
            aspect=aspect_of(deletion.type, {}),
            digest=content_digest(self._source, key, "", content),
            status="deleted",
            standing=Standing.ENTERED_IN_ERROR,
            verification=Verification.ENTERED_IN_ERROR,
            times=(Timed(Clock.PREPARED, at),) if at is not None else (),
            domain=how.domain if how is not None else _ANSWERS.domain,
        )
        line = IntakeLine("deletion", deletion.place, Outcome.STRUCTURED, label=label)
        return Reading([(statement, deletion.place)], [], [line])

    def _item(self, item: Item, how: Mapping, is_subject: bool) -> Reading:
        item = _without_our_notes(item)
        resource, values = item.resource, self._values
        draft = Draft(
            kind=kind_of(item.type, resource, how.kind),
            evidence=evidence(resource, how.evidence),
            domain=how.domain,
            concept=_concept(resource, how, values),
            fields={},
            components=[],
            times=[],
        )
        telling = (*how.concept, "value")
        inline = [each for each in inline_labels(resource, item.canonical) if each[0].lstrip("_").startswith(telling)]
        if inline:
            draft.evidence = with_labels(draft.evidence, inline)
        if not is_subject:
            draft.kind = Kind.PERSON
        for rule in how.fields:
            draft.set(rule.name, _field(resource, rule.path, rule.how, values))
        for time in how.times:
            held = _at(resource, time.path[:-1])
            if held is not None:
                draft.time(time.clock, _time(held, time.path, time.how, values))
        if how.details:
            DETAILS[how.details](item, values, draft)
        if item.record.updated:
            draft.time(Clock.PREPARED, values.times.point(item.record.updated, "meta/lastUpdated"))
        named = references(resource)
        said = negation(draft.concept)
        if said is not None and not said.denied:
            detail = "says that there is no information: no statement"
            return Reading(
                [], [], [ignored(str(draft.kind), item.place, Reason.EMPTY, label=item.label, detail=detail)]
            )
        if said is not None:
            draft.set("covers", said.category)
        left = []
        if b"data-absent-reason" in item.canonical:
            left = [f"{item.sent(name)} is absent: {code}" for name, code in absences(resource)]
            draft.set("absent_elements", "; ".join(f"{item.sent(name)}: {code}" for name, code in absences(resource)))
        bare = _bare(draft, named)
        text = narrative(item, how, draft.evidence, bare=bare)
        if item.moved:
            draft.evidence, named = _evidence_as_sent(draft.evidence, item), _references_as_sent(named, item)
        if text.notes:
            draft.set("note_count", text.notes)
        reading = Reading([], [], [])
        provenance = self._provenance(item)
        labels = self._labels_of(item)
        if not (bare and draft.kind in _TOLD_BY_CONCEPT):
            status = status_of(item.type, resource, draft.concept)
            statement = self._statement(item, draft, status, named, provenance, labels, part="", content=_content(item))
            reading.statements.append((statement, item.place))
        for in_r4, words, title, written_by, written in text.texts:
            part, writers = item.sent(in_r4), _evidence_as_sent(written_by, item)
            passage = Passage(
                id=self._mint.passage(self._source, provenance.record.key, part, words),
                subject=self.subject,
                provenance=provenance,
                authorship=writers,
                part=part,
                text=words,
                title=title,
                times=self._times_of(draft, written, part),
                labels=labels,
                domain=draft.domain,
            )
            reading.passages.append((passage, f"{item.place}/{part}"))
        empty = draft.fields.get("absent") if item.type == "List" else None
        left += [f"says why it is empty: {empty}"] if empty else []
        reading.lines.append(self._line(item, draft.kind, reading, left + text.left))
        if item.type == "Composition":
            for section, _title, reason in empty_sections(resource):
                place, why = f"{item.place}/{section}", f"no information: {reason}"
                reading.lines.append(ignored("section", place, Reason.EMPTY, label="section", detail=why))
        return reading

    def _answers(self, item: Item) -> Reading:
        resource, values = item.resource, self._values
        reading = Reading([], [], [])
        said = evidence(resource, _ANSWER_RULES)
        named = references({name: value for name, value in resource.items() if name != "item"})
        status = status_of(item.type, resource, None)
        times: list[Timed] = []
        if resource.get("authored") is not None and (at := values.times.point(resource["authored"], "authored")):
            times.append(Timed(Clock.AUTHORED, at))
        if item.record.updated and (at := values.times.point(item.record.updated, "meta/lastUpdated")):
            times.append(Timed(Clock.PREPARED, at))
        header = {name: value for name, value in resource.items() if name not in ("item", "text")}
        common = canonical_bytes(header) + (canonical_bytes(list(item.around)) if item.around else b"")
        questionnaire = string(resource, "questionnaire")
        provenance, labels = self._provenance(item), self._labels_of(item)
        unanswered = []
        for part, question, link_id, answer in answers(resource):
            if answer is None:
                unanswered.append(
                    ignored(str(Kind.ANSWER), f"{item.place}/{part}", Reason.EMPTY, label=item.type, detail="no answer")
                )
                continue
            draft = Draft(
                kind=Kind.ANSWER, evidence=said, domain=_ANSWERS.domain, concept=question, fields={}, times=list(times)
            )
            draft.set("value", values.value(choice(answer, "value"), f"{part}/value"))
            draft.set("questionnaire", questionnaire)
            draft.set("link_id", link_id)
            references_of_answer = references({"answer": answer}) if "valueReference" in answer else ()
            own = {name: value for name, value in answer.items() if name != "item"}
            content = common + canonical_bytes([question, own])
            statement = self._statement(
                item, draft, status, (*named, *references_of_answer), provenance, labels, part=part, content=content
            )
            reading.statements.append((statement, f"{item.place}/{part}"))
        left = []
        if not reading.statements:  # that somebody answered nothing is kept too, with who it was
            draft = Draft(
                kind=Kind.ANSWER, evidence=said, domain=_ANSWERS.domain, concept=None, fields={}, times=list(times)
            )
            draft.set("questionnaire", questionnaire)
            statement = self._statement(item, draft, status, named, provenance, labels, part="", content=common)
            reading.statements.append((statement, item.place))
            left.append("a response without answers")
        reading.lines.append(self._line(item, Kind.ANSWER, reading, left))
        reading.lines.extend(unanswered)
        return reading

    def _statement(
        self,
        item: Item,
        draft: Draft,
        status: Status,
        named: tuple[Reference, ...],
        provenance: Provenance,
        labels: tuple[Label, ...],
        *,
        part: str,
        content: bytes,
    ) -> Statement:
        key = provenance.record.key
        return Statement(
            id=self._mint.statement(self._source, key, part, content),
            subject=self.subject,
            kind=draft.kind,
            provenance=provenance,
            authorship=draft.evidence,
            aspect=aspect_of(item.type, item.resource),
            digest=content_digest(self._source, key, part, content),
            part=part,
            concept=draft.concept,
            polarity=status.polarity,
            status=status.sent,
            standing=status.standing,
            verification=status.verification,
            times=tuple(draft.times),
            fields=draft.sorted_fields(),
            components=tuple(draft.components),
            references=named,
            labels=labels,
            domain=draft.domain,
        )

    def _times_of(self, draft: Draft, written: str, part: str) -> tuple[Timed, ...]:
        """A text with a time of its own was written then; what it is about is as of its item's effective time."""
        at = self._values.times.point(written, f"{part}/time") if written else None
        if at is None:
            return tuple(draft.times)
        kept = (timed for timed in draft.times if timed.clock in (Clock.EFFECTIVE, Clock.PREPARED))
        return (Timed(Clock.AUTHORED, at), *kept)

    def _provenance(self, item: Item) -> Provenance:
        record = item.record
        if record.reference and record.url:
            record = msgspec.structs.replace(record, url="")
        return Provenance(source=self._source, reader=self._name, record=record)

    def _labels_of(self, item: Item) -> tuple[Label, ...]:
        """meta.security, what a document says of its confidentiality, and the labels of the bundles around it; a
        contained item inherits its container's (FHIR R4 dom-5: it has none of its own)."""
        found = security(item.resource, item.canonical) | set(item.around)
        if item.container is not None:
            found |= self._inherited(item.container)
        if len(found) > _MOST_LABELS:
            raise WrongShape("meta/security", f"list of at most {_MOST_LABELS} labels")
        labels = tuple(sorted(found))
        return self._labels.setdefault(labels, labels)

    def _inherited(self, container: Item) -> set[Label]:
        """The labels of a container; kept for the next that it contains."""
        if container is not self._labelled[0]:
            self._labelled = (container, security(container.resource, container.canonical))
        return self._labelled[1]

    def _line(self, item: Item, kind: Kind, reading: Reading, left: list[str]) -> IntakeLine:
        details = [f"{item.sent(element)} is no date" for element in dict.fromkeys(self._values.times.faults)]
        details += left
        if reading.statements:
            return IntakeLine(str(kind), item.place, Outcome.STRUCTURED, label=item.label, detail="; ".join(details))
        if reading.passages:
            details.append("only its narrative says something")
            return IntakeLine(str(kind), item.place, Outcome.TEXT_ONLY, label=item.label, detail="; ".join(details))
        details.append("says nothing")
        return ignored(str(kind), item.place, Reason.EMPTY, label=item.label, detail="; ".join(details))


def _without_our_notes(item: Item) -> Item:
    """An item of an export of ours without what the engine noted on it: nobody's words."""
    held = item.resource.get("note") if EXPORT_TAG.encode() in item.canonical else None
    if not isinstance(held, list):
        return item
    kept = [note for note in held if not (isinstance(note, dict) and note.get("authorString") == ENGINE)]
    resource = {name: value for name, value in item.resource.items() if name != "note"}
    return msgspec.structs.replace(item, resource=resource | ({"note": kept} if kept else {}))


def _assembled(item: Item) -> bool:
    """Was it made for an export of ours (a conflict, a composition), so that nobody else says it?"""
    tag = f"{EXPORT_TAG}|{ASSEMBLED_TAG}"
    meta = item.resource.get("meta") if EXPORT_TAG.encode() in item.canonical else None
    return isinstance(meta, dict) and any(
        f"{string(each, 'system')}|{string(each, 'code')}" == tag for _index, each in objects(meta, "tag")
    )


def _evidence_as_sent(found: tuple[AuthorshipEvidence, ...], item: Item) -> tuple[AuthorshipEvidence, ...]:
    """Evidence with the paths of its elements in the document."""
    if not item.moved:
        return found
    return tuple(msgspec.structs.replace(each, element=item.sent(each.element)) for each in found)


def _references_as_sent(found: tuple[Reference, ...], item: Item) -> tuple[Reference, ...]:
    return tuple(
        sorted((msgspec.structs.replace(each, element=item.sent(each.element)) for each in found), key=_element)
    )


def _element(reference: Reference) -> str:
    return reference.element


def _unsupported(type: str) -> str:
    return f"{type} is kept in the document, not read yet"


def _unusable(item: Item) -> str:
    """Why this item may not be used (FHIR R4 Resource.implicitRules, DomainResource.modifierExtension); else empty."""
    if item.resource.get("implicitRules") is not None:
        return f"{item.place}/implicitRules names rules that are not known"
    if b'"modifierExtension"' in item.canonical:
        own = {name: value for name, value in item.resource.items() if name != "contained"}
        urls = sorted(_modifiers(own))
        if urls:
            return f"a modifierExtension is not known: {', '.join(urls)}"
    return ""


def _modifiers(value: Any) -> set[str]:
    found: set[str] = set()
    if isinstance(value, list):
        for each in value:
            found |= _modifiers(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "modifierExtension":
                held = each if isinstance(each, list) else [each]
                found |= {str(e.get("url", "")) if isinstance(e, dict) else "" for e in held}
            elif isinstance(each, dict | list):
                found |= _modifiers(each)
    return found


def _content(item: Item) -> bytes:
    """What an item's id is made from: its canonical bytes, and the labels it inherits from its container and from the
    bundles around it."""
    inherited = set(item.around)
    if item.container is not None:
        inherited |= security(item.container.resource, item.container.canonical)
    return item.canonical + canonical_bytes(sorted(inherited)) if inherited else item.canonical


def _concept(resource: Json, how: Mapping, values: Values) -> CodedText | None:
    for element in how.concept:
        if resource.get(element) is not None:
            found = values.concepts(resource, element)
            if found is not None:
                return found
    return None


def _at(resource: Json, path: tuple[str, ...]) -> Json | None:
    """The object at a path, the first of each list; None if it is absent."""
    held: Json = resource
    for name in path:
        value = held.get(name)
        if isinstance(value, list):
            value = next((each for each in value if each is not None), None)
        if value is None:
            return None
        held = mapping(value, name)
    return held


def _field(resource: Json, path: tuple[str, ...], how: str, values: Values) -> Value | None:
    name = path[-1]
    held = resource if len(path) == 1 else _at(resource, path[:-1])
    if held is None:
        return None
    if how == "choice":
        return values.value(choice(held, name), name)
    if name not in held:
        return None
    match how:
        case "concept":
            return values.concepts(held, name)
        case "text":
            return string(held, name)
        case "texts":
            return ",".join(sorted(strings(held, name)))
        case "flag":
            return boolean(held, name)
        case "quantity":
            return values.quantity(held[name], name) if isinstance(held[name], dict) else None
        case _:
            number = held[name]
            if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
                raise WrongShape(name, "integer", held)
            return number


def _time(held: Json, path: tuple[str, ...], how: str, values: Values) -> Any:
    """A point or period on some clock, or None. A choice that is no time (an age) is a field of its details."""
    name, at = path[-1], "/".join(path)
    if how == "choice":
        chosen = choice(held, name)
        if chosen is None or chosen[0] not in ("DateTime", "Period", "Date", "Instant", "Timing"):
            return None
        return values.value(chosen, at)
    value = held.get(name)
    if value is None:
        return None
    return values.times.period(value, at) if how == "period" else values.times.point(value, at)


def _bare(draft: Draft, named: tuple[Reference, ...]) -> bool:
    """Does the item, its status and times aside, say nothing but its narrative?"""
    if draft.concept is not None or draft.components:
        return False
    if draft.fields.keys() - _SAYS_NOTHING_ALONE:
        return False
    return all(reference.element.partition("/")[0] in _ABOUT_OTHERS for reference in named)
