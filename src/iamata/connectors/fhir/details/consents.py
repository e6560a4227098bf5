"""What does a Consent permit and deny? Its base and provisions (R4, R5) as `ConsentRules`, kept as JSON in a field.

FHIR R4 Consent: the base is `policyRule`, its root provision an exception to it; R5: the base is `decision`, every
provision the opposite of what is around it. A consent whose rules have a wrong shape denies. Not here: what the rules
mean for a reader (`policy.consent`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from iamata.connectors.fhir.drafts import Draft
from iamata.connectors.fhir.entries import Item
from iamata.connectors.fhir.values import Json, Values, WrongShape, codes, mapping, objects, string
from iamata.model.consent import RULES_FIELD, ConsentRules, Named, Provision, Within
from iamata.model.statement import Label

SCOPES: Final = "http://terminology.hl7.org/CodeSystem/consentscope"
PRIVACY: Final = "patient-privacy"
# HL7 v3 ActConsentDirective: assent, and assent with exceptions. Everything else denies (design 08).
_PERMITTING: Final = frozenset({"OPTIN", "OPTINR"})
_READ: Final = frozenset(
    {
        *("type", "period", "actor", "action", "securityLabel", "purpose", "class", "code", "dataPeriod", "data"),
        *("provision", "id", "documentType", "resourceType"),
    }
)
_DEEPEST: Final = 12


def rules(item: Item, values: Values, draft: Draft) -> None:
    draft.set(RULES_FIELD, msgspec.json.encode(_rules(item.resource)).decode())


def _rules(resource: Json) -> ConsentRules:
    privacy = False
    try:
        privacy = _is_privacy(resource)
        grantors = {string(each, "reference") for _index, each in objects(resource, "performer")}
        provisions = tuple(_provision(each, 1) for each in _listed(resource.get("provision"), "provision"))
        period = _within(resource, "period")
        # A period alone says how long the consent holds (R4 Consent.provision.period: timeframe for this rule).
        if not period and len(provisions) == 1 and provisions[0].names_only_time:
            period, provisions = provisions[0].period, ()
        return ConsentRules(_base(resource), privacy, period, tuple(sorted(grantors - {""})), provisions)
    except WrongShape:
        return ConsentRules("deny", privacy)


def _base(resource: Json) -> str:
    if "decision" in resource or "policyRule" not in resource:
        return "permit" if string(resource, "decision") == "permit" else "deny"
    return "permit" if set(codes(resource["policyRule"])) & _PERMITTING else "deny"


def _is_privacy(resource: Json) -> bool:
    scope = mapping(resource["scope"], "scope") if resource.get("scope") is not None else {}
    return any(
        string(coding, "code") == PRIVACY and string(coding, "system") in (SCOPES, "")
        for _index, coding in objects(scope, "coding")
    )


def _listed(value: Any, at: str) -> list[Json]:
    """R4 has one root provision, R5 a list of them."""
    if value is None:
        return []
    return [mapping(each, at) for each in (value if isinstance(value, list) else [value])]


def _provision(of: Json, depth: int) -> Provision:
    if depth > _DEEPEST:
        raise WrongShape("provision", f"tree of at most {_DEEPEST} levels")
    classes = [coding for name in ("class", "documentType", "resourceType") for coding in _codings(of, name)]
    return Provision(
        type=string(of, "type"),
        period=_within(of, "period"),
        actors=tuple(_actor(each) for _index, each in objects(of, "actor")),
        actions=tuple(code.code for code in _concepts(of, "action")),
        labels=tuple(_codings(of, "securityLabel")),
        purposes=tuple(code.code for code in _codings(of, "purpose")),
        classes=tuple(coding.code for coding in classes),
        codes=tuple(_concepts(of, "code")),
        data_period=_within(of, "dataPeriod"),
        data=tuple(
            Named(string(each, "meaning"), _reference(each, "reference")) for _index, each in objects(of, "data")
        ),
        unknown=bool(of.keys() - _READ),
        nested=tuple(_provision(mapping(each, "provision"), depth + 1) for each in _inner(of)),
    )


def _inner(of: Json) -> list[Json]:
    return [each for _index, each in objects(of, "provision")]


def _actor(of: Json) -> Named:
    role = next(codes(of["role"]), "") if of.get("role") is not None else ""
    return Named(role, _reference(of, "reference"))


def _reference(of: Json, name: str) -> str:
    """The reference as sent, else its identifier; a thing without either is named by nothing that could be met."""
    held = of.get(name)
    if held is None:
        return ""
    value = mapping(held, name)
    identifier = mapping(value["identifier"], "identifier") if value.get("identifier") is not None else {}
    number = string(identifier, "value")
    return string(value, "reference") or (f"{string(identifier, 'system')}|{number}" if number else "")


def _codings(of: Json, name: str) -> list[Label]:
    return [
        Label(string(each, "system"), string(each, "code")) for _index, each in objects(of, name) if each.get("code")
    ]


def _concepts(of: Json, name: str) -> list[Label]:
    return [coding for _index, each in objects(of, name) for coding in _codings(each, "coding")]


def _within(of: Json, name: str) -> Within:
    if of.get(name) is None:
        return Within()
    period = mapping(of[name], name)
    return Within(string(period, "start"), string(period, "end"))
