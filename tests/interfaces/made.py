"""Model values made by hand: a small patient that has something of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from iamata.model.attribution import Attribution, AttributionKind, Author, AuthorshipEvidence, Certainty, Part, Role
from iamata.model.clinical_time import Clock, Period, Timed, parse_time
from iamata.model.coding import CodedText, Coding, Quantity
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.decision import Decision, Evidence, Quality, Verdict
from iamata.model.document import Document
from iamata.model.fact import Contribution, Fact, FieldVerdict, ResolvedField, Support, fact_id
from iamata.model.graph import Graph, Unresolved
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.memory import Memory, MemoryKind
from iamata.model.passage import Passage
from iamata.model.provenance import Place, Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.session import Message, Session, Speaker, Turn
from iamata.model.sighting import Sighting
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect, Component, Domain, Field, Kind, Standing, Statement

NOW = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
LEO = patient("leo")
SNOMED = "http://snomed.info/sct"

_EVIDENCE = (AuthorshipEvidence(Part.NONE, "."),)


def coded(text: str, code: str = "", system: str = SNOMED) -> CodedText:
    return CodedText(text, (Coding(system, code, text, f"{system}|{code}"),) if code else ())


def at(clock: Clock, start: str, end: str | None = None) -> Timed:
    if end is None:
        return Timed(clock, parse_time(start))
    return Timed(clock, Period(parse_time(start), parse_time(end) if end else None))


def provenance(record: str, updated: str = "") -> Provenance:
    return Provenance("northside", "fhir-r4/1", RecordIdentity(record.split("/")[0], record, updated=updated))


def statement(tail: str, kind: Kind, record: str, concept: CodedText | None = None, **given: Any) -> Statement:
    fields = given.pop("fields", {})
    return Statement(
        id=f"st_{tail}",
        subject=LEO,
        kind=kind,
        provenance=provenance(record, given.pop("updated", "")),
        authorship=_EVIDENCE,
        aspect=given.pop("aspect", Aspect.RECORDED),
        digest=f"digest-{tail}",
        concept=concept,
        fields=tuple(Field(name, fields[name]) for name in sorted(fields)),
        **given,
    )


def statements() -> list[Statement]:
    """One statement of each of the contract's kinds, and some of ours."""
    return [
        statement(
            "c1",
            Kind.CONDITION,
            "Condition/1",
            coded("Otitis media", "65363002"),
            standing=Standing.ACTIVE,
            times=(at(Clock.EFFECTIVE, "2026-02-10", ""), at(Clock.ASSERTED, "2026-02-11")),
            updated="2026-02-11T08:00:00Z",
            fields={"severity": coded("moderate")},
        ),
        statement(
            "c2",
            Kind.CONDITION,
            "Condition/2",
            coded("Otitis media", "65363002"),
            standing=Standing.RESOLVED,
            times=(at(Clock.EFFECTIVE, "2026-02-10"),),
            fields={"severity": coded("mild")},
        ),
        statement(
            "m1",
            Kind.MEDICATION,
            "MedicationRequest/1",
            coded("Amoxicillin 250 mg/5 mL"),
            standing=Standing.STOPPED,
            aspect=Aspect.ORDERED,
            times=(at(Clock.ORDERED, "2026-02-10"), at(Clock.PREPARED, "2026-02-15")),
            fields={"dose": "250 mg", "frequency": "3 per 1 d", "route": coded("Oral")},
        ),
        statement(
            "a1",
            Kind.ALLERGY,
            "AllergyIntolerance/1",
            coded("Amoxicillin"),
            standing=Standing.UNKNOWN,
            components=(Component(coded("Hives"), "moderate"),),
            times=(at(Clock.OCCURRED, "2026-02-12"),),
            fields={"criticality": "high", "category": "environment,medication"},
        ),
        statement(
            "f1",
            Kind.FAMILY_HISTORY,
            "FamilyMemberHistory/1",
            coded("Aunt"),
            components=(Component(coded("Peanut allergy"), Quantity("30", "years", ucum="a")),),
            fields={"relationship": coded("Aunt"), "sex": "female", "died": True},
        ),
        statement(
            "s1",
            Kind.SOCIAL_HISTORY,
            "Observation/s1",
            coded("Tobacco smoking status", "72166-2", "http://loinc.org"),
            times=(at(Clock.EFFECTIVE, "2026-01-01"),),
            fields={"value": coded("Never smoker")},
        ),
        statement(
            "i1",
            Kind.IMMUNIZATION,
            "Immunization/1",
            coded("MMR", "03", "http://hl7.org/fhir/sid/cvx"),
            standing=Standing.COMPLETED,
            times=(at(Clock.OCCURRED, "2023-05-01"),),
            fields={"lot": "L1"},
        ),
        statement("d1", Kind.DEVICE, "Device/1", coded("Hearing aid"), standing=Standing.ACTIVE),
        statement(
            "p1",
            Kind.DEMOGRAPHIC,
            "Patient/leo",
            fields={
                "name": "Leo Zebrafish",
                "birth_date": parse_time("2021-12-24"),
                "sex": "male",
                "address": "1 Main St",
                "deceased": False,
            },
        ),
        statement(
            "n1",
            Kind.INSURANCE,
            "Coverage/1",
            standing=Standing.ACTIVE,
            domain=Domain.FINANCIAL,
            fields={"payor": "Family Plan", "plan": "gold", "member_id": "M-1"},
            times=(at(Clock.EFFECTIVE, "2025-01-01", "2026-12-31"),),
        ),
        statement("r1", Kind.DIRECTIVE, "Consent/1", coded("Consent"), fields={"description": "agrees"}),
        statement(
            "e1",
            Kind.ENCOUNTER,
            "Encounter/1",
            coded("Sick visit"),
            standing=Standing.COMPLETED,
            times=(at(Clock.EFFECTIVE, "2026-02-10T10:00:00Z", "2026-02-10T10:30:00Z"),),
            fields={
                "class": coded("ambulatory", "AMB", "http://terminology.hl7.org/CodeSystem/v3-ActCode"),
                "reason": coded("Earache", "301354004"),
            },
        ),
        statement(
            "o1",
            Kind.OBSERVATION,
            "Observation/1",
            coded("Body weight", "29463-7", "http://loinc.org"),
            standing=Standing.FINAL,
            aspect=Aspect.MEASURED,
            times=(at(Clock.EFFECTIVE, "2026-02-10T10:05:00Z"),),
            fields={
                "value": Quantity("16.4", "kg", "kg", ucum="kg"),
                "category": coded(
                    "Vital Signs", "vital-signs", "http://terminology.hl7.org/CodeSystem/observation-category"
                ),
                "interpretation": coded(
                    "Normal", "N", "http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation"
                ),
            },
        ),
        statement(
            "q1",
            Kind.PROCEDURE,
            "Procedure/1",
            coded("Otoscopy"),
            standing=Standing.UNKNOWN,
            status="aborted",
            times=(at(Clock.OCCURRED, "2026-02-10"),),
            fields={"body_site": coded("Right ear")},
        ),
        statement(
            "g1",
            Kind.MEDICATION_EVENT,
            "MedicationDispense/1",
            coded("Amoxicillin"),
            standing=Standing.COMPLETED,
            aspect=Aspect.DISPENSED,
            times=(at(Clock.HANDED_OVER, "2026-02-10T12:00:00Z"),),
        ),
        statement("g2", Kind.MEDICATION_EVENT, "MedicationAdministration/1", coded("Ibuprofen"), aspect=Aspect.GIVEN),
        statement("z1", Kind.GOAL, "Goal/1", fields={"description": "hear well"}, status="accepted"),
        statement("z2", Kind.PERSON, "Practitioner/ames", fields={"name": "Dr Ames", "type": "practitioner"}),
    ]


def passages() -> list[Passage]:
    def passage(tail: str, text: str, start: int, title: str = "") -> Passage:
        return Passage(
            id=f"np_{tail}",
            subject=LEO,
            provenance=provenance("DocumentReference/1"),
            authorship=_EVIDENCE,
            part="content/0/attachment",
            text=text,
            title=title,
            start=start,
            times=(at(Clock.AUTHORED, "2026-02-10"),),
        )

    return [passage("b", "Ear is red.", 0, "Exam"), passage("a", "Plan: amoxicillin.", 13, "Plan")]


def memory(tail: str, kind: MemoryKind, quote: str, **given: Any) -> Memory:
    return Memory(
        id=f"lm_{tail}",
        session="s1",
        message="ms_1",
        start=0,
        end=len(quote),
        quote=quote,
        kind=kind,
        concept=CodedText(quote),
        received_at=NOW,
        attribution=Attribution(
            AttributionKind.USER, Author(Role.PROXY, display="mother"), "speaker-caregiver", certainty=Certainty.STATED
        ),
        **given,
    )


def facts(made: Iterable[Statement]) -> dict[str, Fact]:
    by_id = {each.id: each for each in made}
    groups = [("st_c1", "st_c2")] + [(id,) for id in by_id if id not in ("st_c1", "st_c2", "st_z2")]
    found: dict[str, Fact] = {}
    for group in groups:
        first = by_id[group[0]]
        display = first.concept.display if first.concept else {"st_p1": "Leo Zebrafish"}.get(first.id, "an item")
        fields = tuple(
            ResolvedField(
                each.name,
                FieldVerdict.CONFLICT if len(group) > 1 else FieldVerdict.PICKED,
                each.value,
                first.id,
                tuple(Contribution(item, by_id[item].field(each.name) or "") for item in group[1:]),
            )
            for each in first.fields
        )
        fact = Fact(
            id=fact_id(group),
            kind=first.kind,
            display=display,
            members=tuple(sorted(group)),
            concept=first.concept,
            standing=first.standing,
            fields=fields,
            components=first.components,
            rule="code+day" if len(group) > 1 else "",
            when=first.times[0] if first.times else None,
            quality=Quality.PROBABLE if len(group) > 1 else Quality.CONFIRMED,
            supported_by=(Support(AttributionKind.SYSTEM, Role.CLINICIAN, len(group)),),
            domain=first.domain,
            conflicts=("cf_1",) if len(group) > 1 else (),
            last_supported="2026-02-10",
        )
        found[fact.id] = fact
    return found


def graph() -> Graph:
    made = {each.id: each for each in statements()}
    texts = {each.id: each for each in passages()}
    resolved = facts(made.values())
    memories = {
        each.id: each
        for each in (
            memory(
                "1",
                MemoryKind.ADHERENCE,
                "We stopped the amoxicillin on Thursday",
                change="stopped",
                since="2026-02-12",
            ),
            memory("2", MemoryKind.FAMILY_HISTORY, "My sister is allergic to peanuts"),
        )
    }
    links = [
        Link("ln_1", LinkType.PRESCRIBED_FOR, "fa_m1", "fa_c1", LinkSource.EXPLICIT_REFERENCE, "reason-reference", 1.0),
        Link("ln_2", LinkType.PERFORMED_DURING, "fa_o1", "fa_e1", LinkSource.RULE, "same-day", 0.8),
        Link("ln_3", LinkType.CONFLICTS, "lm_1", "fa_m1", LinkSource.RULE, "stopped", 1.0, conflict_kind="status"),
        Link("ln_4", LinkType.ABOUT, "fa_z1", "fa_c1", LinkSource.KNOWLEDGE_BASE, "goal", 0.5),
    ]
    evidence = (
        Evidence("code", "equal", f"{SNOMED}|65363002", f"{SNOMED}|65363002"),
        Evidence("onset", "different", "2026-02-10", "2026-02-11"),
        Evidence("state", "none"),
        Evidence("identifier", "equal"),
    )
    return Graph(
        subject=LEO,
        version=3,
        moment=Moment(NOW),
        hash="hash",
        statements=made,
        passages=texts,
        sightings={
            id: (Sighting(id, "en_doc", Place(f"/entry/{index}/resource"), NOW),)
            for index, id in enumerate([*made, *texts])
        },
        documents={
            "en_doc": Document(
                id="en_doc",
                subject=LEO,
                source="northside",
                media_type="application/fhir+json",
                format="fhir/r4",
                sha256="0" * 64,
                size_bytes=2,
                received_at=NOW,
            )
        },
        sessions={
            "s1": Session(
                "s1", "leo", NOW, (Message("ms_1", "s1", 0, Turn(Speaker.CAREGIVER, "We stopped", "mother"), NOW),)
            )
        },
        memories=memories,
        attributions={
            id: Attribution(
                AttributionKind.SYSTEM, Author(Role.CLINICIAN, "Practitioner/ames"), "recorder-practitioner"
            )
            for id in [*made, *texts]
        },
        facts=resolved,
        fact_of={item: fact.id for fact in resolved.values() for item in fact.members},
        links={each.id: each for each in links},
        conflicts={
            "cf_1": Conflict(
                "cf_1",
                ConflictKind.SEVERITY,
                "fa_c1",
                "severity",
                (Side("mild", ("st_c2",)), Side("moderate", ("st_c1",))),
                "severity-differs",
            )
        },
        decisions={
            "rd_1": Decision("rd_1", "st_c1", "st_c2", Verdict.MERGE, Quality.PROBABLE, "code+day", evidence),
            "rd_2": Decision("rd_2", "st_z1", "st_z2", Verdict.REJECT, Quality.CONFIRMED, "other-kind"),
        },
        unresolved=(Unresolved("st_c1", "asserter", "Practitioner/gone"),),
        references={},
    )
