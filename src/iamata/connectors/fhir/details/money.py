"""What is said of cover and bills: plan, member, payer; what was billed and decided, with codes as billed."""

from __future__ import annotations

from collections.abc import Iterable

from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.values import Json, Values, codes, mapping, objects, string
from iamata.model.statement import Component

# FHIR R4 Coverage.identifier.type: MB of v2-0203 is the member number.
_MEMBER = "MB"


def coverage(item: Item, values: Values, draft: Draft) -> None:
    resource = item.resource
    member = string(resource, "subscriberId")
    for _index, identifier in objects(resource, "identifier"):
        if not member and _MEMBER in codes(identifier.get("type")):
            member = string(identifier, "value")
    draft.set("member_id", member)
    for index, each in objects(resource, "class"):
        names = list(codes(each.get("type")))
        said = string(each, "name") or string(each, "value")
        if mapping(each.get("type") or {}, f"class/{index}/type") and said:
            for name in names:
                if name in ("plan", "group"):
                    draft.set(name, said)
    draft.set("payor", _names(resource, "payor"))


def claim(item: Item, values: Values, draft: Draft) -> None:
    """Claim, ExplanationOfBenefit, ClaimResponse: diagnosis codes as billed, totals, each line a component."""
    resource = item.resource
    for name in ("insurer", "provider"):
        draft.set(name, _names(resource, name))
    draft.set("diagnosis", "; ".join(_billed(resource, values)))
    total = resource.get("total")
    if isinstance(total, list):
        for index, each in objects(resource, "total"):
            amount = each.get("amount")
            if amount is not None and "total" not in draft.fields:
                draft.set("total", values.quantity(amount, f"total/{index}/amount"))
    for index, line in objects(resource, "item"):
        concept = values.coded(line.get("productOrService"), f"item/{index}/productOrService")
        if concept is not None:
            net = line.get("net")
            draft.components.append(
                Component(concept, values.quantity(net, f"item/{index}/net") if net is not None else None)
            )


def _billed(resource: Json, values: Values) -> Iterable[str]:
    for index, diagnosis in objects(resource, "diagnosis"):
        concept = values.coded(diagnosis.get("diagnosisCodeableConcept"), f"diagnosis/{index}/diagnosisCodeableConcept")
        if concept is not None:
            yield concept.codings[0].key if concept.codings else concept.text


def _names(resource: Json, name: str) -> str:
    return "; ".join(filter(None, (string(each, "display") for _index, each in objects(resource, name))))
