"""What is one patient as FHIR R4? The patient, every fact with its Provenance, what was said, and what is in conflict.

A conflict is a DetectedIssue that names what both sides say and who says it; a memory a Communication with its words.
What is not told in FHIR is counted in an OperationOutcome, so that nobody takes the bundle for everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from iamata.assembly.fhir import provenance
from iamata.assembly.fhir.authors import who
from iamata.assembly.fhir.provenance import entry, instant
from iamata.assembly.fhir.rendering import Rendering, address, id_of, members_of, meta, roots, security
from iamata.assembly.fhir.values import Json, absent, clean, concept, day, identifier, moment, put, words
from iamata.model.attribution import AttributionKind, Role
from iamata.model.clinical_time import ClinicalTime
from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.memory import Memory
from iamata.model.roots import ASSEMBLED_TAG, ENGINE, RECORD_TAG, ROOT_SYSTEM, root_of_memory, roots_of
from iamata.model.statement import Kind

_GENDERS: Final = {"m": "male", "f": "female", "male": "male", "female": "female", "other": "other"}
_TELECOM: Final = frozenset({"phone", "fax", "email", "pager", "url", "sms", "other"})
_US_CORE: Final = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
_ISSUE: Final = "urn:iamata:conflict"
_encoder: Final = msgspec.json.Encoder(decimal_format="number")


def encode(resource: Json) -> bytes:
    """FHIR JSON in UTF-8; numbers with the digits they came with."""
    return _encoder.encode(resource)


def collection(graph: Graph, made_at: datetime) -> Json:
    """Everything that this graph tells, as a Bundle of type collection: the same graph, the same bundle but for its
    timestamp. The patient first, then resources by id, each followed by its Provenance; conflicts; the outcome."""
    rendering = Rendering(graph)
    entries = [entry(patient(rendering))]
    demographics = demographic(graph)
    if demographics is not None:
        entries.append(entry(provenance.of_fact(rendering, demographics, rendering.patient)))
    entries += facts(rendering, (fact.id for fact, _shape in rendering.told))
    entries += memories(rendering, graph.memories.values())
    entries += conflicts(rendering)
    entries += _left_out(rendering)
    labels = rendering.labels([*graph.statements, *graph.memories])
    head: Json = {"resourceType": "Bundle", "meta": meta(labels, ASSEMBLED_TAG)}
    return head | {"type": "collection", "timestamp": instant(made_at), "entry": entries}


def facts(rendering: Rendering, wanted: Iterable[str]) -> list[Json]:
    """The entries of these facts, each resource followed by its Provenance."""
    ids, found = set(wanted), []
    for fact, shape in rendering.told:
        if fact.id in ids:
            resource = rendering.resource(fact, shape)
            target = {"reference": address(resource["resourceType"], resource["id"])}
            found += [entry(resource), entry(provenance.of_fact(rendering, fact, target))]
    return found


def demographic(graph: Graph) -> Fact | None:
    """Who the patient is: what most statements say, ties by id. Others are in doubt, and a conflict says so."""
    found = [fact for fact in graph.facts.values() if fact.kind is Kind.DEMOGRAPHIC and fact.members]
    return min(found, key=lambda fact: (-len(fact.members), fact.id), default=None)


def patient(rendering: Rendering) -> Json:
    """The Patient. A birth date that nobody told is absent and says so."""
    graph, fact = rendering.graph, demographic(rendering.graph)
    found: Json = {
        "resourceType": "Patient",
        "id": rendering.patient_id,
        "meta": meta(rendering.labels(fact.members), RECORD_TAG) if fact else meta((), ASSEMBLED_TAG),
    }
    if fact is None:
        return found | {"_birthDate": absent()}
    members = members_of(graph, fact)
    business = {(i.system, i.value): i for s in members for i in s.identifiers if i.system != ROOT_SYSTEM}
    found["identifier"] = roots(root for s in members for root in roots_of(s))
    found["identifier"] += [each for _key, i in sorted(business.items()) if (each := identifier(i))]
    put(found, "extension", [held for name in ("race", "ethnicity") if (held := _us_core(fact, name))])
    put(found, "name", words(fact.value("name")), lambda name: [{"text": name}])
    put(found, "telecom", [_contact(part) for part in words(fact.value("telecom")).split(";") if part.strip()])
    put(found, "gender", _GENDERS.get(words(fact.value("sex")).lower(), "unknown" if fact.value("sex") else ""))
    born = fact.value("birth_date")
    if isinstance(born, ClinicalTime) and day(born):
        found["birthDate"] = day(born)
    else:
        found["_birthDate"] = absent()
    died = fact.value("deceased")
    if isinstance(died, bool):
        found["deceasedBoolean"] = died
    elif isinstance(died, ClinicalTime) and moment(died):
        found["deceasedDateTime"] = moment(died)
    put(found, "address", [{"text": part.strip()} for part in words(fact.value("address")).split(";") if part.strip()])
    for field, element in (("marital_status", "maritalStatus"), ("language", "")):
        value = fact.value(field)
        if value is None:
            continue
        said = concept(value if isinstance(value, CodedText) else words(value))
        if element:
            found[element] = said
        else:
            found["communication"] = [{"language": said}]
    return found


def _us_core(fact: Fact, name: str) -> Json | None:
    """US Core race and ethnicity as a text, which is all that is kept of them."""
    text = words(fact.value(name))
    if not text:
        return None
    return {"url": f"{_US_CORE}{name}", "extension": [{"url": "text", "valueString": text}]}


def _contact(said: str) -> Json:
    system, colon, value = said.strip().partition(":")
    if colon and system.strip().lower() in _TELECOM and value.strip():
        return {"system": system.strip().lower(), "value": clean(value)}
    return {"system": "other", "value": clean(said)}


def memories(rendering: Rendering, wanted: Iterable[Memory]) -> list[Json]:
    """What was said in talk, as it was said: a Communication with the quote, its speaker and its Provenance."""
    found = []
    for memory in wanted:
        resource = communication(rendering, memory)
        target = {"reference": address("Communication", resource["id"])}
        found += [entry(resource), entry(provenance.of_memory(rendering, memory, target))]
    return found


def communication(rendering: Rendering, memory: Memory) -> Json:
    about = sorted(set(rendering.about.get(memory.id, ())))
    found: Json = {
        "resourceType": "Communication",
        "id": id_of(memory.id),
        "meta": meta(rendering.labels([memory.id]), RECORD_TAG),
        "identifier": roots([root_of_memory(memory)]),
        "status": "completed",
        "category": [{"text": memory.kind.value}],
        "subject": rendering.patient,
    }
    put(found, "topic", memory.concept, lambda c: concept(c) if c.display else None)
    put(found, "about", [named for fact in about if (named := rendering.reference(fact)) is not None])
    put(found, "sent", instant(memory.said_at) if memory.said_at else "")
    author = memory.attribution.author
    if author.role is not Role.UNKNOWN or memory.attribution.kind is not AttributionKind.UNDETERMINED:
        found["sender"] = who(rendering.patient, author)
    found["payload"] = [{"contentString": clean(memory.quote)}]
    return found


def conflicts(rendering: Rendering) -> list[Json]:
    """Every open conflict with both sides; those of a memory with a fact too."""
    graph = rendering.graph
    held = [*graph.conflicts.values(), *graph.spoken_conflicts()]
    return [entry(_detected(rendering, conflict)) for conflict in held]


def _detected(rendering: Rendering, conflict: Conflict) -> Json:
    graph = rendering.graph
    fact = graph.resolve(conflict.fact)
    items = [item for side in conflict.sides for item in side.items]
    found: Json = {
        "resourceType": "DetectedIssue",
        "id": id_of(conflict.id),
        "meta": meta(rendering.labels(items), ASSEMBLED_TAG),
        "status": "final",
        "code": {
            "coding": [{"system": _ISSUE, "code": conflict.kind.value}],
            "text": f"sources disagree: {conflict.kind.value}",
        },
        "patient": rendering.patient,
        "author": {"type": "Device", "display": ENGINE},
    }
    about = [fact.id] if fact is not None else []
    about += [graph.fact_of[item] for item in items if item in graph.fact_of]
    named = [each for id in dict.fromkeys(about) if (each := rendering.reference(id)) is not None]
    named += [
        {"reference": address("Communication", id_of(item))} for item in sorted(set(items)) if item in graph.memories
    ]
    put(found, "implicated", named)
    put(found, "evidence", [_side(rendering, side.says, side.items) for side in conflict.sides])
    field = "" if conflict.field == "said" else f" ({conflict.field})"
    what = fact.display if fact is not None else conflict.kind.value
    found["detail"] = clean(f"{what}{field}: " + " | ".join(side.says for side in conflict.sides))
    return found


def _side(rendering: Rendering, says: str, items: tuple[str, ...]) -> Json:
    """What one side says, and where: the roots of its statements as logical references."""
    graph = rendering.graph
    found: Json = {"code": [{"text": clean(says) or "nothing"}]}
    detail = []
    for item in items:
        root = graph.statements.get(item)
        if root is not None:
            author = graph.attributions.get(item)
            named = who(rendering.patient, author.author).get("display", "patient") if author else ""
            detail += [
                {"identifier": {"system": ROOT_SYSTEM, "value": each}} | ({"display": named} if named else {})
                for each in roots_of(root)
            ]
        elif item in graph.memories:
            detail.append({"reference": address("Communication", id_of(item))})
    put(found, "detail", detail)
    return found


def _left_out(rendering: Rendering) -> list[Json]:
    """How many facts of which kinds are not told in FHIR."""
    told = {fact.id for fact, _shape in rendering.told}
    kinds = Counter(
        fact.kind.value
        for fact in rendering.graph.facts.values()
        if fact.id not in told and fact.kind is not Kind.DEMOGRAPHIC
    )
    if not kinds:
        return []
    issues = [
        {
            "severity": "information",
            "code": "not-supported",
            "diagnostics": f"{count} of kind {kind} are not in this bundle; an archive holds them as received",
        }
        for kind, count in sorted(kinds.items())
    ]
    outcome: Json = {
        "resourceType": "OperationOutcome",
        "id": "left-out",
        "meta": {"tag": meta((), ASSEMBLED_TAG)["tag"]},
        "issue": issues,
    }
    return [entry(outcome)]


__all__ = ["collection", "conflicts", "demographic", "encode", "facts", "memories", "patient", "security"]
