"""Who said it and where does it stand, as JSON? What rides along on every node beside the contract's fields."""

from __future__ import annotations

from collections.abc import Iterable

from iamata.interfaces.wire.values import Json, given, instant
from iamata.model.attribution import Attribution, Author
from iamata.model.context import Authority
from iamata.model.fact import Support
from iamata.model.provenance import Place, Provenance
from iamata.model.sighting import Sighting
from iamata.model.statement import Label

# What the engine derives (a fact, a link) is agent-reported; the statements behind it keep their authors (design 01).
RESOLVED_BY: Json = {"attribution": "agent-reported", "role": "software", "display": "iamata"}


def author(of: Author) -> Json:
    return given({"role": of.role.value, "reference": of.reference, "display": of.display})


def attribution(of: Attribution | None) -> Json:
    """`attribution` and `author`, and under `attributed` why, and who else had a hand in it. Empty if unknown."""
    if of is None:
        return {}
    others = {
        "informant": of.informant,
        "recorder": of.recorder,
        "performer": of.performer,
        "verifier": of.verifier,
        "transmitter": of.transmitter,
        "custodian": of.custodian,
        "instrument": of.instrument,
        "onBehalfOf": of.on_behalf_of,
    }
    why = given(
        {
            "rule": of.rule,
            "because": of.because,
            "directness": of.directness.value,
            "certainty": of.certainty.value,
            **{name: author(each) for name, each in others.items() if each is not None},
        }
    )
    return {"attribution": of.kind.value, "author": author(of.author), "attributed": why}


def place(of: Place) -> Json:
    return given({"pointer": of.pointer, "start": of.start, "end": of.end}) | {"pointer": of.pointer}


def sightings(of: Iterable[Sighting]) -> list[Json]:
    """Where it was seen, oldest first."""
    return [
        {"document": each.document, "place": place(each.place), "receivedAt": instant(each.received_at)}
        for each in sorted(of, key=lambda each: (each.received_at, each.document, each.place))
    ]


def provenance(of: Provenance, seen: Iterable[Sighting]) -> Json:
    record = of.record
    return {
        "source": of.source,
        "reader": of.reader,
        "record": given(
            {
                "type": record.type,
                "reference": record.reference,
                "url": record.url,
                "version": record.version,
                "updated": record.updated,
                "identifiers": [{"system": each.system, "value": each.value} for each in record.identifiers],
            }
        ),
        "seen": sightings(seen),
    }


def supported_by(of: Iterable[Support]) -> list[Json]:
    return [
        {"attribution": each.kind.value, "role": each.role.value, "statements": each.statements} for each in sorted(of)
    ]


def labels(of: Iterable[Label]) -> list[Json]:
    return [{"system": each.system, "code": each.code} for each in of]


def authority(of: Authority | None) -> Json | None:
    """`{task, aspect, weight, logOdds, factors}`, or None where no task was given."""
    if of is None:
        return None
    return {
        "task": of.task,
        "aspect": of.aspect.value,
        "weight": of.weight,
        "logOdds": of.log_odds,
        "factors": [
            given({"name": each.name, "logOdds": each.log_odds, "why": each.why}) | {"logOdds": each.log_odds}
            for each in of.factors
        ],
    }
