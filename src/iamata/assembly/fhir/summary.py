"""What is the International Patient Summary of a patient? A document that says what is known, and what nobody has said.

Sections and their LOINC codes are those of HL7's IPS (hl7.fhir.uv.ips). The three required ones are always there. A
section that nothing was recorded for says so (`emptyReason`: unavailable); that there is *none* is said only where a
source said it, by the source's own "no known …".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from html import escape
from typing import Final, NamedTuple

from iamata.assembly.fhir import bundle
from iamata.assembly.fhir.findings import refuted
from iamata.assembly.fhir.provenance import entry, instant
from iamata.assembly.fhir.rendering import Rendering, address, id_of, meta
from iamata.assembly.fhir.values import Json, coded, day, words
from iamata.model.fact import Currency, Fact
from iamata.model.graph import Graph
from iamata.model.identifiers import content_digest
from iamata.model.memory import Memory
from iamata.model.roots import ASSEMBLED_TAG, ENGINE
from iamata.model.statement import Kind, Label, Polarity, Standing

_LOINC: Final = "http://loinc.org"
_EMPTY: Final = "http://terminology.hl7.org/CodeSystem/list-empty-reason"
_PROFILES: Final = "http://hl7.org/fhir/uv/ips/StructureDefinition/"
_XHTML: Final = "http://www.w3.org/1999/xhtml"
_ENDED: Final = frozenset({Standing.RESOLVED, Standing.INACTIVE, Standing.STOPPED, Standing.CANCELLED})


class Section(NamedTuple):
    """`required`: it is there even if it is empty."""

    name: str
    title: str
    code: str
    display: str
    required: bool = False


SECTIONS: Final = (
    Section("allergies", "Allergies and intolerances", "48765-2", "Allergies and adverse reactions Document", True),
    Section("medications", "Medication summary", "10160-0", "History of Medication use Narrative", True),
    Section("problems", "Problem list", "11450-4", "Problem list - Reported", True),
    Section("immunizations", "Immunizations", "11369-6", "History of Immunization Narrative"),
    Section("results", "Results", "30954-2", "Relevant diagnostic tests/laboratory data Narrative"),
    Section("procedures", "History of procedures", "47519-4", "History of Procedures Document"),
    Section("devices", "Medical devices", "46264-8", "History of medical device use"),
    Section("directives", "Advance directives", "42348-3", "Advance directives"),
    Section("past", "History of past problems", "11348-0", "History of Past illness Narrative"),
    Section("pregnancy", "History of pregnancy", "10162-6", "History of pregnancies Narrative"),
    Section("social", "Social history", "29762-2", "Social history Narrative"),
    Section("vitals", "Vital signs", "8716-3", "Vital signs"),
    Section("plan", "Plan of care", "18776-5", "Plan of care note"),
    Section("said", "Patient story", "81338-6", "Patient Goals, preferences, and priorities for care experience"),
)
_OF_KIND: Final[Mapping[Kind, str]] = {
    Kind.ALLERGY: "allergies",
    Kind.MEDICATION: "medications",
    Kind.IMMUNIZATION: "immunizations",
    Kind.PROCEDURE: "procedures",
    Kind.DEVICE: "devices",
    Kind.DIRECTIVE: "directives",
    Kind.PREGNANCY: "pregnancy",
    Kind.SOCIAL_HISTORY: "social",
    Kind.CARE_PLAN: "plan",
    Kind.REPORT: "results",
}
# Of results and vital signs the last of each: a summary is no record.
_LATEST: Final = frozenset({"results", "vitals", "social"})
_LATEST_AT_MOST: Final = 50


def section_of(fact: Fact) -> str:
    """The section a fact stands in; empty if it is in none."""
    if fact.kind is Kind.CONDITION:
        if refuted(fact):
            return ""
        return "past" if fact.standing in _ENDED or fact.currency is Currency.PAST else "problems"
    if fact.kind is Kind.MEDICATION and fact.currency is Currency.PAST and fact.polarity is Polarity.AFFIRMED:
        return ""
    if fact.kind is Kind.OBSERVATION:
        category = fact.value("category")
        codes = [coding.code for coding in getattr(category, "codings", ())]
        return "vitals" if "vital-signs" in codes else "results"
    return _OF_KIND.get(fact.kind, "")


def summary(graph: Graph, made_at: datetime) -> Json:
    """The summary as a Bundle of type document: Composition, patient, what its sections name with the Provenance of
    each, and the conflicts of what they name. Deterministic but for its times."""
    rendering = Rendering(graph)
    placed: dict[str, list[Fact]] = {section.name: [] for section in SECTIONS}
    for fact, _shape in rendering.told:
        if name := section_of(fact):
            placed[name].append(fact)
    for name in _LATEST:
        placed[name] = _newest(placed[name])
    said = list(graph.memories.values())
    shown = {fact.id for facts in placed.values() for fact in facts}
    sections = []
    for section in SECTIONS:
        memories = said if section.name == "said" else []
        if section.required or placed[section.name] or memories:
            sections.append(_section(rendering, section, placed[section.name], memories))
    labels = rendering.labels([*(item for id in shown for item in graph.facts[id].members), *graph.memories])
    composition = _composition(rendering, sections, labels, made_at)
    told = bundle.facts(rendering, shown)
    named = {address_of(each) for each in told}
    entries = [entry(composition), entry(bundle.patient(rendering)), entry(_engine()), *told]
    entries += bundle.memories(rendering, said)
    entries += [
        each
        for each in bundle.conflicts(rendering)
        if any(implicated["reference"] in named for implicated in each["resource"].get("implicated", ()))
    ]
    _keep_inside(entries)
    return {
        "resourceType": "Bundle",
        "meta": meta(labels, ASSEMBLED_TAG) | {"profile": [f"{_PROFILES}Bundle-uv-ips"]},
        "identifier": {"system": "urn:iamata:summary", "value": content_digest(graph.hash, instant(made_at))[:32]},
        "type": "document",
        "timestamp": instant(made_at),
        "entry": entries,
    }


def address_of(held: Json) -> str:
    return str(held["fullUrl"])


def _newest(facts: Iterable[Fact]) -> list[Fact]:
    """The latest of each concept, at most so many, the latest first."""
    by_time = sorted(facts, key=lambda fact: (-_second(fact), fact.id))
    latest: dict[str, Fact] = {}
    for fact in by_time:
        key = fact.concept.keys[0] if fact.concept is not None and fact.concept.keys else fact.display.casefold()
        latest.setdefault(key, fact)
    return list(latest.values())[:_LATEST_AT_MOST]


def _second(fact: Fact) -> int:
    point = (fact.when.start or fact.when.end) if fact.when else None
    return point.latest or 0 if point else 0


def _section(rendering: Rendering, section: Section, facts: list[Fact], memories: list[Memory]) -> Json:
    found: Json = {
        "title": section.title,
        "code": coded(_LOINC, section.code, section.display),
    }
    if not facts and not memories:
        text = f"{section.title}: no information recorded. This does not say that there are none."
        return found | {
            "text": _narrative(f"<p>{escape(text)}</p>"),
            "emptyReason": coded(_EMPTY, "unavailable", "Unavailable"),
        }
    rows = "".join(f"<li>{escape(_line(fact))}</li>" for fact in facts)
    rows += "".join(f"<li>{escape(_quoted(memory))}</li>" for memory in memories)
    named = [each for fact in facts if (each := rendering.reference(fact.id)) is not None]
    named += [{"reference": address("Communication", id_of(memory.id))} for memory in memories]
    return found | {"text": _narrative(f"<ul>{rows}</ul>"), "entry": named}


def _line(fact: Fact) -> str:
    """One line for people: what, how it stands, since or when."""
    told = [fact.display]
    value = words(fact.value("value"))
    for part in (value, words(fact.value("dosage_text")) or words(fact.value("dose"))):
        if part:
            told.append(part)
    if fact.standing is not Standing.UNKNOWN and fact.kind is not Kind.OBSERVATION:
        told.append(fact.standing.value)
    if refuted(fact):
        told.append("denied")
    point = (fact.when.start or fact.when.end) if fact.when else None
    if point is not None and day(point):
        told.append(day(point))
    if fact.conflicts:
        told.append("sources disagree")
    return ", ".join(told)


def _quoted(memory: Memory) -> str:
    when = f", {memory.said_at.date().isoformat()}" if memory.said_at else ""
    return f"“{memory.quote}” ({memory.attribution.author.role}{when})"


def _narrative(inner: str) -> Json:
    return {"status": "generated", "div": f'<div xmlns="{_XHTML}">{inner}</div>'}


def _engine() -> Json:
    return {
        "resourceType": "Device",
        "id": ENGINE,
        "meta": meta((), ASSEMBLED_TAG),
        "deviceName": [{"name": ENGINE, "type": "manufacturer-name"}],
    }


def _composition(rendering: Rendering, sections: list[Json], labels: Iterable[Label], made_at: datetime) -> Json:
    return {
        "resourceType": "Composition",
        "id": id_of(f"summary-{rendering.patient_id}"[:64]),
        "meta": meta(labels, ASSEMBLED_TAG) | {"profile": [f"{_PROFILES}Composition-uv-ips"]},
        "text": _narrative(f"<p>Patient summary, assembled {escape(instant(made_at))}</p>"),
        "status": "final",
        "type": coded(_LOINC, "60591-5", "Patient summary Document"),
        "subject": rendering.patient,
        "date": instant(made_at),
        "author": [{"reference": address("Device", ENGINE)}],
        "title": "International Patient Summary",
        "section": sections,
    }


def _keep_inside(entries: list[Json]) -> None:
    """A document holds everything that it refers to: references to what the summary leaves out are dropped."""
    inside = {address_of(each) for each in entries}

    def kept(value: object) -> object:
        if isinstance(value, dict):
            reference = value.get("reference")
            if isinstance(reference, str) and reference not in inside:
                return None
            held = {name: kept(each) for name, each in value.items()}
            return {name: each for name, each in held.items() if each is not None and each != []}
        if isinstance(value, list):
            return [each for each in map(kept, value) if each is not None]
        return value

    for each in entries:
        each["resource"] = kept(each["resource"])
