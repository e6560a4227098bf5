"""Who wrote or said it? The precedence of design 03 over a statement's evidence, with the rule that fired.

Resolved in the fold: persons and Provenance that the same source sent earlier or later count alike. Not here: how much
an author counts (`authority`), and who a statement is about.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import ClassVar

import msgspec

from iamata.errors import Bug
from iamata.formation.references import Directory, target_type
from iamata.model.attribution import (
    Attribution,
    AttributionKind,
    Author,
    AuthorshipEvidence,
    Certainty,
    Directness,
    Part,
    Role,
)
from iamata.model.coding import CodedText
from iamata.model.provenance import SourceKind
from iamata.model.statement import Kind, Reference, Statement
from iamata.terminology.tables import rows

_PEOPLE = frozenset({"Patient", "RelatedPerson"})
_CLINICIANS = frozenset({"Practitioner", "PractitionerRole", "CareTeam"})
_MEASURING = frozenset({Kind.OBSERVATION, Kind.SOCIAL_HISTORY})
_ROLE_OF_TYPE = {
    "Patient": Role.PATIENT,
    "RelatedPerson": Role.PROXY,
    "Practitioner": Role.CLINICIAN,
    "PractitionerRole": Role.CLINICIAN,
    "CareTeam": Role.CLINICIAN,
    "Organization": Role.INSTITUTION,
    "HealthcareService": Role.INSTITUTION,
    "Location": Role.INSTITUTION,
    "Device": Role.SOFTWARE,
    "DeviceMetric": Role.INSTRUMENT,
}
_ROLE_OF_SOURCE = {
    SourceKind.EHR: Role.INSTITUTION,
    SourceKind.LAB: Role.LAB,
    SourceKind.PHARMACY: Role.PHARMACY,
    SourceKind.PAYER: Role.PAYER,
    SourceKind.PATIENT_APP: Role.PATIENT,
    SourceKind.CONVERSATION: Role.INSTITUTION,
}
_KIND_OF_ROLE = {
    Role.PATIENT: AttributionKind.USER,
    Role.PROXY: AttributionKind.USER,
    Role.AGENT: AttributionKind.AGENT,
    Role.SOFTWARE: AttributionKind.AGENT,
}
# The value of evidence that a device of a document reasons; others measure, print or transmit.
_REASONING = "reasoning"
_DIRECTNESS_OF_PERSON = {Role.PATIENT: Directness.FIRST_HAND, Role.PROXY: Directness.PROXY}


class _Who(msgspec.Struct, frozen=True):
    """One evidence element with the person it leads to; `type` is empty when nothing says what it is."""

    evidence: AuthorshipEvidence
    type: str
    author: Author

    @property
    def because(self) -> str:
        shown = (
            self.evidence.reference or self.evidence.identifier or self.evidence.value or self.type or "display only"
        )
        return f"{self.evidence.element}={shown}"


@cache
def _integrity_labels() -> Mapping[str, tuple[AttributionKind, Role, Directness]]:
    return {
        row["code"]: (AttributionKind(row["kind"]), Role(row["role"]), Directness(row["directness"]))
        for row in rows("integrity_labels")
    }


@cache
def _report_origins() -> Mapping[str, tuple[AttributionKind, Role]]:
    return {
        row["origin"].casefold(): (AttributionKind(row["kind"]), Role(row["role"])) for row in rows("report_origins")
    }


@cache
def _author_roles() -> Mapping[tuple[str, str], Role]:
    return {(row["type"], row["element"]): Role(row["role"]) for row in rows("author_roles")}


def _flag_of(evidence: AuthorshipEvidence) -> str:
    """The element of a flag by its FHIR R4 name (R5: MedicationRequest.reported, Immunization.informationSource)."""
    element = evidence.element.partition("/")[0]
    return {"reported": "reportedBoolean", "informationSource": "reportOrigin"}.get(element, element)


def _report_origin(evidence: AuthorshipEvidence) -> tuple[AttributionKind, Role] | None:
    """Who the origin code names, else who the words of its text name; None if nobody."""
    origins = _report_origins()
    words = [evidence.value.casefold(), *re.findall(r"[a-z]+", f"{evidence.value} {evidence.display}".casefold())]
    return next((origins[word] for word in words if word in origins), None)


class Resolver:
    """Resolves attributions for one patient's statements. Equal inputs share one Attribution value."""

    def __init__(
        self, statements: Iterable[Statement], directory: Directory, sources: Mapping[str, SourceKind]
    ) -> None:
        self._directory = directory
        self._sources = sources
        self._provenances: dict[str, list[Statement]] = defaultdict(list)
        self._holders: dict[str, list[tuple[Statement, str]]] = defaultdict(list)
        self._cache: dict[tuple[str, Kind, str, tuple[AuthorshipEvidence, ...]], Attribution] = {}
        for statement in statements:
            if statement.kind is Kind.PROVENANCE:
                self._index(statement, self._add_provenance)
            elif statement.kind is Kind.LIST:
                self._index(statement, self._add_holder)

    def _index(self, statement: Statement, add: object) -> None:
        for reference in statement.references:
            target = self._directory.find(reference, origin=statement)
            if target is not None and callable(add):
                add(statement, reference, target)

    def _add_provenance(self, statement: Statement, reference: Reference, target: Statement) -> None:
        if not reference.element.startswith("target"):
            return
        wanted = reference.reference.partition("/_history/")[2]
        if wanted and target.provenance.record.version and wanted != target.provenance.record.version:
            return
        self._provenances[_record(target)].append(statement)

    def _add_holder(self, statement: Statement, reference: Reference, target: Statement) -> None:
        if "entry" in reference.element:
            self._holders[_record(target)].append((statement, reference.element))

    def knows(self, sources: Mapping[str, SourceKind]) -> None:
        """What sort of system each source is; those that were known stay what they were."""
        self._sources = sources

    def resolve(self, item: Statement) -> Attribution:
        """The attribution of a statement, or of a passage given as a statement with the passage's evidence."""
        record = _record(item)
        if record in self._provenances or record in self._holders or any("#" in e.reference for e in item.authorship):
            return self._decide(item)
        key = (item.source, item.kind, item.provenance.record.type, item.authorship)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._decide(item)
        return found

    def _who(self, evidence: AuthorshipEvidence, item: Statement) -> _Who:
        reference = Reference(evidence.element, evidence.reference, evidence.identifier)
        target = self._directory.find(reference, origin=item) if evidence.reference or evidence.identifier else None
        if target is not None:
            type = target.provenance.record.type
            name = target.field("name")
            display = evidence.display or (name if isinstance(name, str) else "")
            relationship = target.field("relationship")
            if type == "RelatedPerson" and isinstance(relationship, CodedText) and relationship.display:
                display = f"{display} ({relationship.display})" if display else relationship.display
            shown = target.provenance.record.reference or evidence.reference
        else:
            type = target_type(evidence.reference, evidence.type)
            display, shown = evidence.display, evidence.reference or evidence.identifier
        role = _ROLE_OF_TYPE.get(type, Role.UNKNOWN)
        if role is Role.SOFTWARE and item.kind in _MEASURING:
            role = Role.INSTRUMENT
        if role is Role.INSTITUTION:
            element = evidence.element.partition("/")[0]
            role = _author_roles().get((item.provenance.record.type, element), role)
        if evidence.value and evidence.part not in (Part.FLAG, Part.LABEL):
            role = _author_roles().get((item.provenance.record.type, evidence.value), role)
        return _Who(evidence, type, Author(role, shown, display))

    def _decide(self, item: Statement) -> Attribution:
        people: dict[Part, list[_Who]] = defaultdict(list)
        for evidence in item.authorship:
            people[evidence.part].append(self._who(evidence, item))
        aside = _aside(people)
        for rule in self.RULES:
            found = rule(self, item, people)
            if found is not None:
                if found.kind is AttributionKind.SYSTEM and _second_hand(people):
                    found = msgspec.structs.replace(found, directness=Directness.SECOND_HAND)
                return msgspec.structs.replace(found, **_others(aside, found))
        raise Bug("no rule of attribution answered")

    def _source_default(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution:
        """8. What a source sends without an author is its own; what a patient's app sends, the patient's."""
        kind = self._sources.get(item.source, SourceKind.EHR)
        return Attribution(
            AttributionKind.USER if kind is SourceKind.PATIENT_APP else AttributionKind.SYSTEM,
            Author(_ROLE_OF_SOURCE[kind], "", item.source if kind is not SourceKind.PATIENT_APP else ""),
            "source-default",
            because=f"source={kind}",
            certainty=Certainty.ASSUMED,
        )

    def _element_source(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """1. The element that names the source of the information names the patient or someone speaking for them."""
        for who in people.get(Part.INFORMANT, ()):
            if who.type in _PEOPLE and not who.evidence.inherited:
                return _person(who, "element-source")
        return None if people.get(Part.INFORMANT) else self._section_source(item)

    def _section_source(self, item: Statement) -> Attribution | None:
        """1, for an entry of a section that names its source (CDA): the nearest section, never the document."""
        for holder, element in sorted(self._holders.get(_record(item), ()), key=lambda held: (held[0].digest, held[1])):
            section = element.rpartition("/entry")[0]
            while section:
                said = [e for e in holder.authorship if e.part is Part.INFORMANT]
                said = [e for e in said if _directly_under(e.element, f"{section}/informant")]
                for who in (self._who(evidence, holder) for evidence in said):
                    if who.type in _PEOPLE:
                        return _person(who, "element-source")
                if said:
                    break
                section = section.rpartition("/section")[0] if "/section" in section else ""
        return None

    def _integrity_label(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """2. An integrity label of v3-ObservationValue in meta.security."""
        for who in people.get(Part.LABEL, ()):
            found = _integrity_labels().get(who.evidence.value)
            if found is None:
                continue
            kind, role, directness = found
            rule = "reasoning-software" if kind is AttributionKind.AGENT else "integrity-label"
            author = next(
                (
                    w.author
                    for part in (Part.INFORMANT, Part.AUTHOR, Part.RECORDER, Part.PERFORMER)
                    for w in people.get(part, ())
                    if w.author.role is role
                ),
                Author(role),
            )
            return Attribution(kind, author, rule, because=who.because, directness=directness)
        return None

    def _provenance_agent(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """3. Provenance of exactly this version: its author, else an informant who is the patient or a proxy."""
        agents: list[_Who] = []
        for provenance in sorted(self._provenances.get(_record(item), ()), key=lambda s: s.digest):
            agents += [self._who(evidence, provenance) for evidence in provenance.authorship]
        behalf = next((w.author for w in agents if w.evidence.part is Part.ON_BEHALF_OF), None)
        for who in agents:
            if who.evidence.part is Part.AUTHOR and who.author.role is not Role.UNKNOWN:
                found = _person(who, "provenance-agent") if who.type in _PEOPLE else _official(who, "provenance-agent")
                if found.kind is AttributionKind.AGENT:
                    found = msgspec.structs.replace(found, rule="reasoning-software")
                return msgspec.structs.replace(found, on_behalf_of=behalf)
        for who in agents:
            if who.evidence.part is Part.INFORMANT and who.type in _PEOPLE:
                return _person(who, "provenance-agent")
        return None

    def _reasoning_type(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """Beside the order: a type that is by itself the answer of software that reasons."""
        type = item.provenance.record.type
        role = _author_roles().get((type, ""))
        if role is None:
            return None
        return Attribution(
            _KIND_OF_ROLE.get(role, AttributionKind.SYSTEM),
            Author(role),
            "reasoning-software",
            because=f"type={type}",
            directness=Directness.FIRST_HAND,
            certainty=Certainty.INFERRED,
        )

    def _unanswered(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """FHIR R4 QuestionnaireResponse.source: if missing, no inference may be made about who answered."""
        if item.kind is not Kind.ANSWER or any(who.type for who in people.get(Part.INFORMANT, ())):
            return None
        return Attribution(
            AttributionKind.UNDETERMINED,
            Author(Role.UNKNOWN),
            "answerer-missing",
            because="source is missing",
            certainty=Certainty.ASSUMED,
        )

    def _flags(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """4. Flags that hint at the author. `false` changes nothing, except in primarySource."""
        flags = people.get(Part.FLAG, [])

        def flag(element: str, *values: str) -> _Who | None:
            for who in flags:
                if _flag_of(who.evidence) == element and who.evidence.value in values:
                    return who
            return None

        requesters = [who for who in people.get(Part.AUTHOR, ()) if who.type]
        patient_specified = flag("category", "patientspecified")
        if reported := flag("reportedBoolean", "true"):
            person = next((who for who in requesters if who.type in _PEOPLE), None)
            if person is not None:
                return msgspec.structs.replace(
                    _person(person, "reported-flag"), because=reported.because, certainty=Certainty.INFERRED
                )
            if not requesters and (patient_specified or flag("intent", "plan")):
                role = Role.PATIENT if patient_specified else Role.UNKNOWN
                return _inferred(
                    AttributionKind.USER,
                    Author(role),
                    "reported-flag",
                    reported,
                    _DIRECTNESS_OF_PERSON.get(role, Directness.UNKNOWN),
                )
            return _inferred(
                AttributionKind.SYSTEM, Author(Role.UNKNOWN), "reported-flag", reported, Directness.SECOND_HAND
            )
        if patient_specified:
            return _inferred(
                AttributionKind.USER,
                Author(Role.PATIENT),
                "patient-specified",
                patient_specified,
                Directness.FIRST_HAND,
            )
        if flag("primarySource", "false"):
            for who in flags:
                if _flag_of(who.evidence) == "reportOrigin" and (found := _report_origin(who.evidence)):
                    kind, role = found
                    directness = (
                        Directness.SECOND_HAND
                        if kind is AttributionKind.SYSTEM
                        else (_DIRECTNESS_OF_PERSON.get(role, Directness.UNKNOWN))
                    )
                    return _inferred(kind, Author(role), "primary-source-flag", who, directness)
        if survey := flag("category", "survey"):
            for who in people.get(Part.PERFORMER, ()):
                if who.type == "Patient":
                    return msgspec.structs.replace(_person(who, "survey-performer"), because=survey.because)
        return None

    def _element_author(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """5. The element author, the recorder only where there is no other. 6. The patient passing on a clinician."""
        own = {part: [who for who in named if not who.evidence.inherited] for part, named in people.items()}
        informants = own.get(Part.INFORMANT, [])
        recorders = own.get(Part.RECORDER, [])
        if any(who.type in _CLINICIANS for who in informants):
            for who in [*own.get(Part.AUTHOR, ()), *recorders]:
                if who.type in _PEOPLE:
                    return msgspec.structs.replace(
                        _person(who, "patient-transcribes-clinician"), directness=Directness.SECOND_HAND
                    )
        return self._first_named(item, own, "element-author") or self._measured(item, own, "element-author")

    def _first_named(self, item: Statement, people: Mapping[Part, list[_Who]], rule: str) -> Attribution | None:
        """The first of author, informant, performer and recorder of whom it is known who they are."""
        instrument = next((w for w in people.get(Part.INSTRUMENT, ()) if w.evidence.reference), None)
        lab_feed = self._sources.get(item.source) is SourceKind.LAB
        for part in (Part.AUTHOR, Part.INFORMANT, Part.PERFORMER, Part.RECORDER):
            for who in people.get(part, ()):
                if who.type in _PEOPLE:
                    if instrument is not None and who.evidence.part is Part.PERFORMER:
                        measured = _inferred(
                            AttributionKind.SYSTEM, instrument.author, rule, instrument, Directness.FIRST_HAND
                        )
                        return msgspec.structs.replace(measured, performer=who.author)
                    return _person(who, rule)
                if who.type == "Device":
                    if item.kind is Kind.RISK or who.evidence.value == _REASONING:
                        return _official(who, "reasoning-software")
                    if item.kind not in _MEASURING and who.author.role is not Role.INSTRUMENT:
                        continue
                if who.author.role is Role.UNKNOWN:
                    continue
                found = _official(who, rule)
                if lab_feed and who.type == "Organization":
                    found = msgspec.structs.replace(found, author=msgspec.structs.replace(who.author, role=Role.LAB))
                return found
        return None

    def _measured(self, item: Statement, people: Mapping[Part, list[_Who]], rule: str) -> Attribution | None:
        """The instrument of a measurement that nobody signs."""
        instrument = next((w for w in people.get(Part.INSTRUMENT, ()) if w.evidence.reference), None)
        return _official(instrument, rule) if instrument is not None and item.kind in _MEASURING else None

    def _enclosing_author(self, item: Statement, people: Mapping[Part, list[_Who]]) -> Attribution | None:
        """7. The author of what holds it, nearest first: section, then document. Only the author is inherited."""
        inherited = {part: [who for who in named if who.evidence.inherited] for part, named in people.items()}
        if (found := self._first_named(item, inherited, "enclosing-author")) is not None:
            return msgspec.structs.replace(found, certainty=Certainty.INFERRED)
        for holder, element in sorted(self._holders.get(_record(item), ()), key=lambda held: (held[0].digest, held[1])):
            section = element.rpartition("/entry")[0]
            while True:
                for evidence in holder.authorship:
                    prefix = f"{section}/author" if section else "author"
                    if evidence.part is not Part.AUTHOR or not _directly_under(evidence.element, prefix):
                        continue
                    who = self._who(evidence, holder)
                    if who.type in _PEOPLE:
                        return msgspec.structs.replace(_person(who, "enclosing-author"), certainty=Certainty.INFERRED)
                    if who.type != "Device" and who.author.role is not Role.UNKNOWN:
                        return msgspec.structs.replace(_official(who, "enclosing-author"), certainty=Certainty.INFERRED)
                if not section:
                    break
                section = section.rpartition("/section")[0] if "/section" in section else ""
        return None

    # The precedence of design 03, in order: the first that answers decides, and the last always does.
    RULES: ClassVar = (
        _element_source,
        _integrity_label,
        _provenance_agent,
        _unanswered,
        _flags,
        _element_author,
        _reasoning_type,
        _enclosing_author,
        _source_default,
    )


def _directly_under(element: str, prefix: str) -> bool:
    return element == prefix or (element.startswith(prefix + "/") and element[len(prefix) + 1 :].isdigit())


def _record(item: Statement) -> str:
    """What Provenance and lists point at: the record, or the statement itself where the record has no name."""
    return f"{item.source}\0{item.provenance.record.key or item.id}"


def _person(who: _Who, rule: str) -> Attribution:
    proxy = who.type == "RelatedPerson"
    return Attribution(
        AttributionKind.USER,
        who.author,
        rule,
        because=who.because,
        directness=Directness.PROXY if proxy else Directness.FIRST_HAND,
    )


def _official(who: _Who, rule: str) -> Attribution:
    return Attribution(
        _KIND_OF_ROLE.get(who.author.role, AttributionKind.SYSTEM),
        who.author,
        rule,
        because=who.because,
        directness=Directness.FIRST_HAND,
    )


def _inferred(
    kind: AttributionKind, author: Author, rule: str, who: _Who, directness: Directness = Directness.UNKNOWN
) -> Attribution:
    return Attribution(kind, author, rule, because=who.because, directness=directness, certainty=Certainty.INFERRED)


def _second_hand(people: Mapping[Part, list[_Who]]) -> bool:
    """The item says that its content does not come from the one who recorded it."""
    return any(
        who.evidence.element.partition("/")[0] == "primarySource" and who.evidence.value == "false"
        for who in people.get(Part.FLAG, ())
    )


def _aside(people: Mapping[Part, list[_Who]]) -> dict[str, Author]:
    """Everyone who had a hand in it, by part; the first of each."""
    kept = {
        "informant": Part.INFORMANT,
        "recorder": Part.RECORDER,
        "performer": Part.PERFORMER,
        "verifier": Part.VERIFIER,
        "transmitter": Part.TRANSMITTER,
        "custodian": Part.CUSTODIAN,
        "instrument": Part.INSTRUMENT,
    }
    return {name: people[part][0].author for name, part in kept.items() if people.get(part)}


def _others(aside: Mapping[str, Author], found: Attribution | None) -> dict[str, Author]:
    """Those beside the author. Who is named as the source stays so, also where that makes the author."""
    source = found is not None and found.rule == "element-source"
    return {
        name: author
        for name, author in aside.items()
        if found is None or author != found.author or (source and name == "informant")
    }
