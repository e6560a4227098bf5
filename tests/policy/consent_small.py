"""Small patients for the tests of policy: FHIR resources read, held, and asked about."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from iamata.connectors import fhir
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient
from iamata.policy.sensitivity import sensitive

Json = dict[str, Any]
P = patient("p")
RECEIVED = datetime(2026, 2, 20, tzinfo=UTC)
OF_P = {"reference": "Patient/p"}


def patient_item(type: str, id: str, **more: Any) -> Json:
    about = "patient" if type in ("AllergyIntolerance", "Consent") else "subject"
    return {"resourceType": type, "id": id, about: OF_P, **more}


def held(*resources: Json, source: str = "ehr") -> Held:
    """What these resources come to as one document."""
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}
    read = fhir.read(
        json.dumps(bundle).encode(),
        subject=P,
        source=source,
        mint=IdMint(b"k" * 32),
        document="do_1",
        received_at=RECEIVED,
    )
    return Held(subject=P, statements=read.statements, passages=read.passages, sightings=read.sightings)


def labels_of(held: Held, *, passages: bool = False) -> dict[str, set[str]]:
    """Record → the codes of the labels that its statements (or passages) carry; without those that carry none."""
    found = sensitive(held)
    items = held.passages if passages else held.statements
    named = {each.provenance.record.key: {label.code for label in found.of(each.id)} for each in items}
    return {key: codes for key, codes in named.items() if codes}
