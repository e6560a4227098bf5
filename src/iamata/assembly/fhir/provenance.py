"""Who said it, and where did it come from? A Provenance for each resource that tells what sources or speakers said.

Agents are the authors of the statements behind a resource, each once, with the capacity in which they spoke; and the
engine, which assembled them. Entities are the documents (or the session) it was said in and the records there.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from iamata.assembly.fhir.authors import who
from iamata.assembly.fhir.rendering import Rendering, address, id_of, members_of, meta
from iamata.assembly.fhir.values import Json, clean, urn
from iamata.model.attribution import Attribution, AttributionKind, Role
from iamata.model.fact import Fact
from iamata.model.memory import Memory
from iamata.model.roots import ENGINE, RECORD_TAG

_PARTS: Final = "http://terminology.hl7.org/CodeSystem/provenance-participant-type"


def instant(at: datetime) -> str:
    """A moment of ours as a FHIR instant."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _agent(part: str, said: Json, role: str = "") -> Json:
    found: Json = {"type": {"coding": [{"system": _PARTS, "code": part}]}}
    if role:
        found["role"] = [{"text": role}]
    return found | {"who": said}


def agents(rendering: Rendering, attributions: Iterable[Attribution]) -> list[Json]:
    """Authors first (an author who speaks for somebody, on whose behalf), then verifiers, then the engine."""
    authors: list[Json] = []
    verifiers: list[Json] = []
    for each in attributions:
        author = _agent("author", who(rendering.patient, each.author), f"{each.author.role}, {each.kind}")
        if each.kind is AttributionKind.UNDETERMINED and each.author.role is Role.UNKNOWN and not each.author.display:
            continue
        if each.on_behalf_of is not None:
            author["onBehalfOf"] = who(rendering.patient, each.on_behalf_of)
        if author not in authors:
            authors.append(author)
        if (
            each.verifier is not None
            and (held := _agent("verifier", who(rendering.patient, each.verifier))) not in verifiers
        ):
            verifiers.append(held)
    return [*authors, *verifiers, _agent("assembler", {"type": "Device", "display": ENGINE})]


def of_fact(rendering: Rendering, fact: Fact, target: Json) -> Json:
    """The Provenance of a fact's resource. `recorded` is when the last of its statements was first received."""
    graph = rendering.graph
    members = members_of(graph, fact)
    seen = [sighting for s in members for sighting in graph.sightings.get(s.id, ())]
    firsts = [graph.sightings[s.id][0].received_at for s in members if graph.sightings.get(s.id)]
    documents = {s.document: graph.documents[s.document].source for s in seen if s.document in graph.documents}
    records = {(s.source, s.provenance.record.key) for s in members if s.provenance.record.key}
    entities = [_entity("document", id, source) for id, source in sorted(documents.items())]
    entities += [
        {"role": "source", "what": {"identifier": {"system": urn("source", source), "value": key}, "display": source}}
        for source, key in sorted(records)
    ]
    attributed = [graph.attributions[s.id] for s in members if s.id in graph.attributions]
    return _provenance(
        rendering, fact.id, target, max(firsts, default=graph.moment.true_at), agents(rendering, attributed), entities,
        meta(rendering.labels(fact.members), RECORD_TAG),
    )  # fmt: skip


def of_memory(rendering: Rendering, memory: Memory, target: Json) -> Json:
    """The Provenance of a memory: its speaker, and the session it was said in."""
    entities = [_entity("session", memory.session, "session"), _entity("message", memory.message, "message")]
    held = agents(rendering, [memory.attribution])
    return _provenance(
        rendering,
        memory.id,
        target,
        memory.received_at,
        held,
        entities,
        meta(rendering.labels([memory.id]), RECORD_TAG),
    )


def _entity(kind: str, id: str, display: str) -> Json:
    return {
        "role": "source",
        "what": {"identifier": {"system": f"urn:iamata:{kind}", "value": id}, "display": clean(display) or kind},
    }


def _provenance(
    rendering: Rendering, of: str, target: Json, recorded: datetime, held: list[Json], entities: list[Json], tag: Json
) -> Json:
    found: Json = {
        "resourceType": "Provenance",
        "id": id_of(f"pr-{of}"),
        "meta": tag,
        "target": [target],
        "recorded": instant(recorded),
        "agent": held,
    }
    if entities:
        found["entity"] = entities
    return found


def entry(resource: Json) -> Json:
    """A bundle's entry of a resource."""
    return {"fullUrl": address(resource["resourceType"], resource["id"]), "resource": resource}
