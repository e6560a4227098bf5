"""What consents decide, by the cases that were written by hand before the code."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from iamata.connectors import fhir
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient
from iamata.model.statement import Label, Statement
from iamata.policy import consent
from iamata.policy.matters import matter_of
from iamata.policy.sensitivity import sensitive

CASES = json.loads((Path(__file__).parents[1] / "cases" / "consent" / "cases.json").read_text())
P = patient("p")


def parsed(resources: list[dict[str, Any]], *, r5: bool = False) -> list[Statement]:
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}
    read = fhir.read_r5 if r5 else fhir.read
    found = read(
        json.dumps(bundle).encode(),
        subject=P,
        source="ehr",
        mint=IdMint(b"k" * 32),
        document="do_1",
        received_at=datetime(2026, 2, 20, tzinfo=UTC),
    )
    return list(found.statements)


def item(given: dict[str, Any]) -> dict[str, Any]:
    """A resource of the case's item."""
    type = given["type"]
    made: dict[str, Any] = {"resourceType": type, "id": given["id"]}
    system, code = given.get("code", ["http://example.org", "thing"])
    concept = {"coding": [{"system": system, "code": code}]}
    made["medicationCodeableConcept" if type == "MedicationRequest" else "code"] = concept
    if "on" in given:
        made[{"Observation": "effectiveDateTime", "Condition": "onsetDateTime"}.get(type, "authoredOn")] = given["on"]
    if type != "Condition":
        made["status"] = "final" if type == "Observation" else "active"
    if "labels" in given:
        made["meta"] = {"security": [{"system": system, "code": code} for system, code in given["labels"]]}
    return made


def decided(case: dict[str, Any], consents: list[Statement], items: list[dict[str, Any]]) -> list[str]:
    made = [consent.directive(each, widens=case.get("trusted", True)) for each in consents]
    held = [each for each in made if each is not None]
    asking = consent.Asking(
        purpose=case["reader"]["purpose"],
        names=frozenset(case["reader"]["known_as"]),
        now=datetime.fromisoformat(case["now"]),
        zone=ZoneInfo(case["zone"]) if "zone" in case else None,
    )
    statements = parsed([item(each) for each in items])
    labels = sensitive(Held(subject=P, statements=tuple(statements)))
    return [
        consent.decide(consent.standing(held), matter_of(each, labels.of(each.id)), asking).value for each in statements
    ]


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: case["name"])
def test_a_consent_decides_as_it_was_decided_by_hand(case: dict[str, Any]) -> None:
    consents = parsed(case["consents"], r5=case.get("r5", False))
    assert len(consents) == len(case["consents"])
    assert decided(case, consents, case["items"]) == case["expect"]


@pytest.mark.parametrize("case", CASES["official"], ids=lambda case: f"{case['file']} {case['expect']} {case['why']}")
def test_examples_of_the_standard_decide_as_they_say(case: dict[str, Any], data: Path) -> None:
    resource = json.loads((data / "fhir_r4_spec_examples" / case["file"]).read_text())
    consents = parsed([resource])
    assert [each.provenance.record.type for each in consents] == ["Consent"]
    one = {"type": "Observation", "id": "o1", "code": ["http://loinc.org", "4548-4"], "on": "2014-02-01"}
    assert decided(case, consents, [one]) == [case["expect"]]


def test_labels_of_items_take_part_in_what_is_decided() -> None:
    """Else the cases on labels would prove nothing."""
    statements = parsed(
        [item({"type": "Condition", "id": "s", "code": ["http://hl7.org/fhir/sid/icd-10-cm", "F11.20"]})]
    )
    labels = sensitive(Held(subject=P, statements=tuple(statements)))
    act = "http://terminology.hl7.org/CodeSystem/v3-ActCode"
    assert labels.of(statements[0].id) == {Label(act, "OPIOIDUD")}
    assert statements[0].labels == (), "a rule's label is never the source's"
