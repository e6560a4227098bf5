"""How does a fact become a resource? Its shape's rows, then what its kind says beyond them, then what all have.

Every resource carries the roots and business identifiers of its statements, the security labels of all of them (those
that rules give among them), and refers to others of the export where a source said so. Not here: who said it
(`provenance`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from uuid import UUID, uuid5

from iamata.assembly.fhir import care, findings, medicines
from iamata.assembly.fhir.authors import said_by
from iamata.assembly.fhir.shapes import (
    ADMINISTRATION,
    DISPENSE,
    REQUEST,
    SHAPES,
    STATEMENT,
    TIMES_OF,
    Element,
    Shape,
    When,
)
from iamata.assembly.fhir.values import (
    Json,
    choice,
    clean,
    concept,
    day,
    identifier,
    moment,
    period,
    put,
    quantity,
    words,
)
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Timed
from iamata.model.coding import CodedText, Quantity
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.identifiers import content_digest
from iamata.model.roots import ENGINE, EXPORT_TAG, RECORD_TAG, ROOT_SYSTEM, roots_of
from iamata.model.statement import Aspect, Kind, Label, Standing, Statement, Value, Verification
from iamata.policy.sensitivity import each_of

CONFIDENTIALITY: Final = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"
# HL7 v3 Confidentiality, from the least to the most.
_LEVELS: Final = ("U", "L", "M", "N", "R", "V")
_NAMES: Final = UUID("6b3f7a5e-6f4c-5d0a-9a55-1f1b7c0f2a11")
_ID: Final = re.compile(r"[A-Za-z0-9\-.]{1,64}\Z")
_BEYOND: Final[dict[str, Callable[[Fact, Json], None]]] = {
    "Condition": findings.condition,
    "AllergyIntolerance": findings.allergy,
    "Observation": findings.observation,
    "FamilyMemberHistory": findings.family,
    "Procedure": findings.procedure,
    "Immunization": findings.immunization,
    "RiskAssessment": findings.risk,
    "MedicationRequest": medicines.request,
    "MedicationStatement": medicines.statement,
    "MedicationAdministration": medicines.administration,
    "MedicationDispense": medicines.dispense,
    "Encounter": care.encounter,
    "Device": care.device,
    "Coverage": care.coverage,
    "Consent": care.consent,
    "ServiceRequest": care.order,
    "Goal": care.goal,
    "CarePlan": care.plan,
    "CareTeam": care.team,
    "Communication": care.communication,
    "AdverseEvent": care.adverse_event,
}
# Without a concept these would say nothing.
_NEEDS_CODE: Final = frozenset(
    {"Observation", "DiagnosticReport", "Flag", "Immunization", "Goal", "Condition", "AllergyIntolerance", "Procedure"}
)
_ANNOTATED: Final = frozenset(
    {
        *("Condition", "AllergyIntolerance", "MedicationRequest", "MedicationStatement", "MedicationAdministration"),
        *("MedicationDispense", "Observation", "Immunization", "Procedure", "FamilyMemberHistory", "ServiceRequest"),
        *("Goal", "CarePlan", "CareTeam", "Device", "ImagingStudy", "RiskAssessment", "Communication"),
    }
)
_ORDERS: Final = frozenset({Aspect.ORDERED, Aspect.PROPOSED})
_GIVEN: Final = frozenset({Aspect.GIVEN})


def id_of(item: str) -> str:
    """An id of ours as a FHIR id."""
    plain = item.replace("_", "-")
    return plain if _ID.match(plain) else content_digest("id", item)[:40]


def address(type: str, id: str) -> str:
    """The full URL of a resource in an export: the same for the same thing in every export."""
    return f"urn:uuid:{uuid5(_NAMES, f'{type}/{id}')}"


def shape_of(fact: Fact, members: Iterable[Statement]) -> Shape | None:
    """The shape of a fact: of medications by what its statements testify to. None if it is not told in FHIR."""
    aspects = {statement.aspect for statement in members}
    if fact.kind is Kind.MEDICATION:
        return REQUEST if aspects and aspects <= _ORDERS else STATEMENT
    if fact.kind is Kind.MEDICATION_EVENT:
        return ADMINISTRATION if aspects and aspects <= _GIVEN else DISPENSE
    return SHAPES.get(fact.kind)


def told(graph: Graph) -> Iterator[tuple[Fact, Shape]]:
    """The facts that are exported, with their shapes, by id. Not what only history holds or only words of notes name,
    nor what was entered in error."""
    for fact in graph.facts.values():
        in_error = Standing.ENTERED_IN_ERROR is fact.standing or fact.verification is Verification.ENTERED_IN_ERROR
        members = members_of(graph, fact)
        shape = shape_of(fact, members)
        if members and not in_error and shape is not None:
            yield fact, shape


def members_of(graph: Graph, fact: Fact) -> list[Statement]:
    """The statements that were sent as items: what notes mention goes with the documents they stand in."""
    held = (graph.statements[id] for id in fact.members if id in graph.statements)
    return [statement for statement in held if not statement.is_mention]


def security(labels: Iterable[Label]) -> list[Json]:
    """Every label once, but of confidentiality only the highest (FHIR security labels: at most one applies)."""
    labels = set(labels)
    levels = [label.code for label in labels if label.system == CONFIDENTIALITY and label.code in _LEVELS]
    kept = {label for label in labels if not (label.system == CONFIDENTIALITY and label.code in _LEVELS)}
    if levels:
        kept.add(Label(CONFIDENTIALITY, max(levels, key=_LEVELS.index)))
    return [{"system": label.system, "code": label.code} for label in sorted(kept) if label.code]


def meta(labels: Iterable[Label], tag: str) -> Json:
    found: Json = {"source": EXPORT_TAG}
    put(found, "security", security(labels))
    return found | {"tag": [{"system": EXPORT_TAG, "code": tag}]}


def roots(values: Iterable[str]) -> list[Json]:
    return [{"system": ROOT_SYSTEM, "value": value} for value in sorted(set(values))]


class Rendering:
    """The resources of one graph, which refer to each other."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.told = list(told(graph))
        self._types = {fact.id: shape.type for fact, shape in self.told}
        self.about: dict[str, list[str]] = {}  # memory → the facts it is linked to
        for link in graph.links.values():
            if link.origin in graph.memories:
                self.about.setdefault(link.origin, []).append(link.target)
        self._labels = each_of([*graph.statements.values(), *graph.memories.values()])
        self.patient_id = id_of(graph.subject.id)
        self.patient = {"reference": address("Patient", self.patient_id)}

    def labels(self, items: Iterable[str]) -> set[Label]:
        """The labels of these statements and memories: those of their sources, and those of rules."""
        return {label for item in items for label in self._labels.get(item, ())}

    def reference(self, fact: str) -> Json | None:
        """A reference to the resource of a fact; None if it has none."""
        type = self._types.get(fact)
        return None if type is None else {"reference": address(type, id_of(fact))}

    def resource(self, fact: Fact, shape: Shape) -> Json:
        """The resource of a fact."""
        members = members_of(self.graph, fact)
        found: Json = {
            "resourceType": shape.type,
            "id": id_of(fact.id),
            "meta": meta(self.labels(fact.members), RECORD_TAG),
        }
        business = {(i.system, i.value): i for s in members for i in s.identifiers if i.system != ROOT_SYSTEM}
        named = [each for _key, i in sorted(business.items()) if (each := identifier(i))]
        found["identifier"] = roots(root for s in members for root in roots_of(s)) + named
        if shape.type == "AdverseEvent":  # FHIR R4: it has one identifier
            found["identifier"] = found["identifier"][0]
        if shape.status:
            found[shape.status] = shape.statuses.get(fact.standing, shape.otherwise)
        if shape.code:
            self._code(fact, shape, found)
        found[shape.subject] = self.patient
        for element in shape.elements:
            put(found, element.name, _value(fact.value(element.field), element))
        for when in shape.times:
            found |= _time(members, fact, shape, when)
        attributed = [self.graph.attributions[s.id] for s in members if s.id in self.graph.attributions]
        for attribution in attributed:
            if said := said_by(shape.type, attribution, self.patient):
                found |= said
                break
        if shape.type in _BEYOND:
            _BEYOND[shape.type](fact, found)
        self._references(members, shape, found)
        self._disagreements(fact, shape, found)
        return found

    def _disagreements(self, fact: Fact, shape: Shape, found: Json) -> None:
        """What sources disagree on, for who reads the resource alone: the conflict itself is one of its own."""
        held = [self.graph.conflicts[id] for id in fact.conflicts if id in self.graph.conflicts]
        if held and shape.type in _ANNOTATED:
            told = "; ".join(f"{c.field}: {' | '.join(clean(side.says) for side in c.sides)}" for c in held)
            note = {"authorString": ENGINE, "text": f"Sources disagree on {told}"}
            found.setdefault("note", []).append(note)

    def _code(self, fact: Fact, shape: Shape, found: Json) -> None:
        if fact.concept is None and shape.type not in _NEEDS_CODE and not shape.code.startswith("medication"):
            return
        coded = concept(fact.concept or fact.display, otherwise=fact.display)
        found[shape.code] = [coded] if shape.many else coded

    def _references(self, members: list[Statement], shape: Shape, found: Json) -> None:
        """Visits, reasons and results that a source referred to, where they are resources of the export."""
        for statement in members:
            for sent, target in self.graph.references.get(statement.id, ()):
                element, fact = sent.element.partition("/")[0], self.graph.fact_of.get(target, "")
                type, named = self._types.get(fact), self.reference(fact)
                if named is None:
                    continue
                if shape.visit and element in ("encounter", "context") and type == "Encounter":
                    found.setdefault(shape.visit, named)
                elif shape.reasons and element in ("reasonReference", "addresses") and type == "Condition":
                    _add(found, shape.reasons, named)
                elif shape.type == "DiagnosticReport" and element == "result" and type == "Observation":
                    _add(found, "result", named)


def _add(found: Json, element: str, named: Json) -> None:
    held = found.setdefault(element, [])
    if named not in held:
        held.append(named)


def _value(value: Value | None, element: Element) -> object:
    if value is None:
        return None
    match element.how:
        case "concept" | "list":
            said = value if isinstance(value, CodedText) else words(value)
            if not said:
                return None
            return [concept(said)] if element.how == "list" else concept(said)
        case "quantity":
            return _positive(value)
        case "flag":
            return value if isinstance(value, bool) else None
        case "integer":
            return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None
        case "name":
            text = words(value)
            return {"display": text} if text else None
        case "text":
            return words(value)
        case "day":
            return day(value) if isinstance(value, ClinicalTime) else None
    code = words(value).lower()
    return code if code in element.how.split("|") else None


def _positive(value: object) -> Json | None:
    """A SimpleQuantity: without comparator."""
    found = quantity(value) if isinstance(value, Quantity) else None
    return {k: v for k, v in found.items() if k != "comparator"} if found else None


def timed(members: Iterable[Statement], *clocks: Clock) -> Timed | None:
    """The latest time that a member tells on the first of these clocks that any of them has."""
    held = list(members)
    for clock in clocks:
        found = [each for s in held for each in s.times if each.clock is clock]
        if found:
            return max(found, key=_latest)
    return None


def _latest(at: Timed) -> tuple[int, str]:
    point = at.start or at.end
    return (point.latest or 0 if point else 0, point.text if point else "")


def _time(members: list[Statement], fact: Fact, shape: Shape, when: When) -> Json:
    found = fact.when if fact.when and fact.when.clock is when.clocks[0] else timed(members, *when.clocks)
    if found is None:
        return {}
    point = found.start or found.end
    match when.how:
        case "choice":
            return choice(when.name, found.at, TIMES_OF[shape.type, when.name])
        case "period":
            held = period(found.at if isinstance(found.at, Period) else Period(found.at))
            return {when.name: held} if held else {}
        case "instant":  # FHIR R4 instant: at least to the second, with a zone
            text = moment(point)
            return {when.name: text} if "T" in text else {}
        case "day":
            return {when.name: text} if (text := day(point)) else {}
    return {when.name: text} if (text := moment(point)) else {}
