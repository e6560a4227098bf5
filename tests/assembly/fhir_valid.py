"""Is a Bundle valid FHIR R4, as far as models of it and rules that stand in no model can tell?

The models are those of fhir.resources (R4B, which for these types differs from R4 in nothing that is used here): types,
cardinalities, unknown elements, choices. They leave required codes to the caller, so the codes are looked at here.
"""

from __future__ import annotations

import typing
from typing import Any

from fhir.resources.R4B import get_fhir_model_class
from pydantic import BaseModel, ValidationError

_RESULT = ["registered", "preliminary", "final", "amended", "corrected", "cancelled", "entered-in-error", "unknown"]
_WHOLE = {
    ("Observation", "status"): _RESULT,
    ("RiskAssessment", "status"): _RESULT,
    ("DetectedIssue", "status"): _RESULT,
    ("DiagnosticReport", "status"): [*_RESULT, "partial", "appended"],
    ("Encounter", "status"): [
        *("planned", "arrived", "triaged", "in-progress", "onleave", "finished", "cancelled", "entered-in-error"),
        "unknown",
    ],
}


def faults(bundle: dict[str, Any]) -> list[str]:
    """What is wrong with it, each with its place; empty if nothing is."""
    found: list[str] = []
    try:
        model = get_fhir_model_class("Bundle").model_validate(bundle)
    except ValidationError as error:
        return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    _codes(model, "Bundle", found)
    urls = [entry["fullUrl"] for entry in bundle["entry"]]
    found += [f"{url} stands twice" for url in set(urls) if urls.count(url) > 1]
    for entry in bundle["entry"]:
        _references(entry["resource"], set(urls), entry["resource"]["resourceType"], found)
        _invariants(entry["resource"], found)
    return found


def _codes(value: Any, place: str, found: list[str]) -> None:
    """Codes of a required value set (what the models know of them)."""
    if isinstance(value, list):
        for each in value:
            _codes(each, place, found)
    if not isinstance(value, BaseModel):
        return
    for name, field in type(value).model_fields.items():
        held = getattr(value, name, None)
        extra = field.json_schema_extra
        allowed = extra.get("enum_values") if isinstance(extra, dict) else None
        if allowed and "+" in allowed:  # the models name some of them only
            allowed = _WHOLE.get((type(value).__name__, name))
        if allowed and isinstance(held, str) and held not in typing.cast(list[str], allowed):
            found.append(f"{place}.{name}: {held} is none of {allowed}")
        _codes(held, f"{place}.{name}", found)


def _references(value: Any, inside: set[str], place: str, found: list[str]) -> None:
    if isinstance(value, dict):
        reference = value.get("reference")
        if isinstance(reference, str) and reference not in inside:
            found.append(f"{place}: {reference} leads nowhere")
        for name, each in value.items():
            _references(each, inside, f"{place}.{name}", found)
        if not value:
            found.append(f"{place} is empty")
    elif isinstance(value, list):
        if not value:
            found.append(f"{place} is empty")
        for each in value:
            _references(each, inside, place, found)
    elif value in (None, ""):
        found.append(f"{place} is empty")


def _code(resource: dict[str, Any], element: str) -> str:
    return next((c["code"] for c in resource.get(element, {}).get("coding", ())), "")


def _invariants(resource: dict[str, Any], found: list[str]) -> None:
    """Rules of R4 that bear on what is exported: con-4, con-5, ait-1, ait-2, obs-6, mad-1, gol-1, cpt-1."""
    at = f"{resource['resourceType']}/{resource.get('id')}"
    ended = _code(resource, "clinicalStatus") in ("inactive", "resolved", "remission")
    match resource["resourceType"]:
        case "Condition":
            if any(name.startswith("abatement") for name in resource) and not ended:
                found.append(f"{at}: con-4")
        case "AllergyIntolerance":
            if "clinicalStatus" not in resource:
                found.append(f"{at}: ait-1")
        case "Observation":
            if "dataAbsentReason" in resource and any(name.startswith("value") for name in resource):
                found.append(f"{at}: obs-6")
        case "MedicationAdministration":
            if "dosage" in resource and not {"dose", "rateRatio", "rateQuantity"} & resource["dosage"].keys():
                found.append(f"{at}: mad-1")
        case "Goal":
            if any("measure" not in t and any(n.startswith("detail") for n in t) for t in resource.get("target", ())):
                found.append(f"{at}: gol-1")
        case "Patient":
            if any("value" in each and "system" not in each for each in resource.get("telecom", ())):
                found.append(f"{at}: cpt-1")
