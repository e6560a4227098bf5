"""What do the codes of an item mean: which kind, which aspect, which standing, affirmed or denied?

The meanings are rows of `terminology`; this module only finds the codes in an item and asks.
"""

from __future__ import annotations

from typing import NamedTuple

from iamata.connectors.fhir.values import Json, first_code, has_code
from iamata.model.coding import CodedText
from iamata.model.statement import Aspect, Kind, Polarity, Standing, Verification
from iamata.terminology.statuses import aspect_rules, kind_rules, meaning, negation, status_elements


class Status(NamedTuple):
    """`sent` is the code as sent of the type's own status element, else of the next one that is there."""

    sent: str
    standing: Standing
    verification: Verification
    polarity: Polarity


def kind_of(type: str, resource: Json, default: Kind) -> Kind:
    """The kind of an item: the type's own, unless one of its codes makes it another."""
    for rule in kind_rules(type):
        if has_code(resource.get(rule.element), rule.code):
            return rule.kind
    return default


def aspect_of(type: str, resource: Json) -> Aspect:
    """What the item testifies to: the first rule of its type that holds."""
    for rule in aspect_rules(type):
        if not rule.element:
            return rule.aspect
        value = resource.get(rule.element)
        if value is not None and (rule.code is None or has_code(value, rule.code)):
            return rule.aspect
    return Aspect.RECORDED


def status_of(type: str, resource: Json, concept: CodedText | None) -> Status:
    """Entered in error wins over any other standing; a refutation, a not-done or a "none known" code denies."""
    sent, standing = "", Standing.UNKNOWN
    verification, polarity = Verification.NONE, Polarity.AFFIRMED
    for element in status_elements(type):
        value = resource.get(element)
        if value is None:
            continue
        code = first_code(value)
        if not code and isinstance(value, dict) and isinstance(value.get("text"), str):
            code = value["text"]
        sent = sent or code
        found = meaning(type, element, code) or meaning(type, element, code.lower())
        if found is None:
            continue
        if found.standing is Standing.ENTERED_IN_ERROR or (found.standing and standing is Standing.UNKNOWN):
            standing = found.standing
        verification = found.verification or verification
        polarity = found.polarity or polarity
    denied = negation(concept)
    if denied is not None and denied.denied:
        polarity = Polarity.DENIED
    return Status(sent, standing, verification, polarity)
