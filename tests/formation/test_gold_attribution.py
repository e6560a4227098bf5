"""The attribution cases, written before the resolver: kind, role, directness, certainty and rule of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iamata.engine import Engine
from iamata.model.provenance import SourceKind

CASES = json.loads((Path(__file__).parents[1] / "cases" / "attribution" / "fhir_r4.json").read_text(encoding="utf-8"))
CASES = CASES["cases"] if isinstance(CASES, dict) else CASES


def attribution_of(case: dict[str, Any]) -> dict[str, str]:
    """What the engine makes of the case's target; the statement of the whole item counts."""
    urls = case.get("full_urls", {})
    entries = []
    for resource in case["resources"]:
        name = f"{resource['resourceType']}/{resource.get('id', '')}"
        entries.append({"resource": resource} | ({"fullUrl": urls[name]} if name in urls else {}))
    body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
    with Engine.open(":memory:") as engine:
        kind = SourceKind(case.get("source_kind", "ehr"))
        engine.ingest("gold", body, source="sender", source_kind=kind, format="fhir/r4")
        graph = engine.graph("gold")
    found = {
        (a.kind.value, a.author.role.value, a.directness.value, a.certainty.value, a.rule)
        for s in graph.statements.values()
        if s.provenance.record.reference == case["target"]
        for a in [graph.attributions[s.id]]
    }
    assert len(found) == 1, found
    return dict(zip(("kind", "role", "directness", "certainty", "rule"), found.pop(), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_item_is_attributed_as_the_standard_and_the_design_say(case: dict[str, Any]) -> None:
    expected = {name: case["expected"][name] for name in ("kind", "role", "directness", "certainty", "rule")}
    assert attribution_of(case) == expected, case["why"]
