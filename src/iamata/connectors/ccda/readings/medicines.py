"""What is said of medicines and vaccines? Ordered by mood INT, taken by mood EVN, dispensed by a supply inside."""

from __future__ import annotations

import re

from iamata.connectors.ccda import values
from iamata.connectors.ccda.drafts import Draft
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.readings.findings import denied, priority
from iamata.connectors.ccda.times import When, when
from iamata.connectors.ccda.walking import Scope, Walk
from iamata.model.clinical_time import ClinicalTime, Clock
from iamata.model.coding import CodedText
from iamata.model.statement import Aspect, Component, Kind, Standing
from iamata.terminology import cda
from iamata.terminology.names import fold

_RELEASE = re.compile(r"\d{1,9}\Z")


def medication(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Medication Activity, Planned Medication Activity, Discharge and Admission Medication."""
    mood = cda.mood("medication", walk.mood(node))
    if mood is not None:
        draft.aspect = mood.aspect
    if any(a.get("moodCode") in ("INT", "RQO") and a.name == "substanceAdministration" for a in scope.around):
        draft.aspect = Aspect.ORDERED
    draft.set("intent", {"INT": "order", "RQO": "order", "PRMS": "promise", "PRP": "proposal"}.get(walk.mood(node)))
    if scope.category in ("discharge", "admission"):
        draft.set("category", CodedText(scope.category))
    _administered(walk, node, scope, draft)
    for reaction in walk.parts(node, "22.4.9"):
        draft.set("reaction", walk.concept(reaction, reaction.one("value")))
    walk.status(node, scope, draft, "medication")
    if mood is not None and mood.standing is not None and draft.standing in (Standing.ACTIVE, Standing.UNKNOWN):
        draft.standing = mood.standing
    if walk.negated(node):
        walk.deny(draft, done=True)
        _nothing_taken(walk, node, draft)
        denied(draft)


def administration(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """A medicine given: the section of medications administered."""
    _administered(walk, node, scope, draft)
    walk.status(node, scope, draft, "event")
    if walk.negated(node):
        walk.deny(draft, done=True)


def _nothing_taken(walk: Walk, node: Node, draft: Draft) -> None:
    """A negated entry whose material is no medicine in particular: none is known."""
    if draft.concept is None or any(cda.denial("medication", c.code) for c in draft.concept.codings):
        draft.concept = cda.denial("medication", "410942007")


def _administered(walk: Walk, node: Node, scope: Scope, draft: Draft) -> When:
    _product(walk, node, draft)
    times = walk.times(node, scope, draft, Clock.ORDERED if draft.aspect is Aspect.ORDERED else Clock.ASSERTED)
    draft.set("frequency", times.frequency)
    draft.set("duration", times.width)
    _dose(walk, node, draft)
    draft.set("route", walk.values.concepts(node.all("routeCode")))
    draft.set("body_site", walk.values.concepts(node.all("approachSiteCode")))
    draft.set("form", walk.values.coded(node.one("administrationUnitCode")))
    draft.set("priority", walk.values.coded(node.one("priorityCode")))
    _repeats(node, draft)
    _as_needed(walk, node, draft)
    sig = walk.part(node, "22.4.147")
    if sig is not None:
        draft.set("dosage_text", " ".join(walk.values.text(sig.one("text")).split()))
    _indications(walk, node, draft)
    _instructions(walk, node, draft)
    for type, act in walk.inner(node):
        if act.name == "supply" and not walk.used(act) and act.get("moodCode") in ("INT", "RQO"):
            _ordered_supply(walk, act, draft)
        elif act.name == "substanceAdministration" and type == "COMP" and not walk.used(act) and not _has_product(act):
            _further_dose(walk, act, draft)
    vehicle = [p for p in node.all("participant") if p.get("typeCode") == "CSM"]
    for participant in vehicle:
        entity = participant.at("participantRole", "playingEntity")
        if entity is not None:
            draft.set("vehicle", walk.values.coded(entity.one("code")) or values.name(entity))
    priority(walk, node, draft)
    _said_only_in_words(walk, node, draft)
    return times


def _said_only_in_words(walk: Walk, node: Node, draft: Draft) -> None:
    """Where dose and frequency stand in no element, the words the entry points to are its directions."""
    if draft.fields.keys() & {"dose", "frequency", "dosage_text"} or walk.negated(node):
        return
    words = "; ".join(cell for line in walk.values.text(node.one("text")).split("\n") for cell in line.split("\t"))
    if words and (draft.concept is None or fold(words) not in {fold(name) for name in _names(draft.concept)}):
        draft.set("dosage_text", words[:300])


def _names(concept: CodedText) -> list[str]:
    return [concept.display, *(coding.display for coding in concept.codings)]


def _product(walk: Walk, node: Node, draft: Draft) -> None:
    """consumable/manufacturedProduct: its code with translations, its name, lot and maker."""
    product = node.at("consumable", "manufacturedProduct") or node.at("product", "manufacturedProduct")
    if product is None:
        draft.concept = walk.concept(node, None)
        return
    material = product.one("manufacturedMaterial") or product.one("manufacturedLabeledDrug")
    if material is not None:
        coded = walk.values.coded(material.one("code"))
        name = values.name(material)
        if coded is not None and not coded.text and name and not any(c.display for c in coded.codings):
            coded = CodedText(name, coded.codings)
        draft.concept = coded or (CodedText(name) if name else None)
        lot = material.one("lotNumberText")
        if lot is not None:
            draft.set("lot", lot.words)
        for ingredient in (each for each in material.iter() if each.name == "pharm:ingredient"):
            concept = next((c for n in ingredient.iter() if (c := _named(walk, n)) is not None), None)
            if concept is not None:
                draft.components.append(Component(concept))
    maker = product.one("manufacturerOrganization")
    if maker is not None:
        draft.set("manufacturer", values.name(maker))
    if draft.concept is None:
        draft.concept = walk.concept(node, None)


def _named(walk: Walk, node: Node) -> CodedText | None:
    return walk.values.coded(node) if node.name.rpartition(":")[2] == "code" else None


def _has_product(node: Node) -> bool:
    material = node.at("consumable", "manufacturedProduct", "manufacturedMaterial")
    code = material.one("code") if material is not None else None
    return code is not None and bool(code.get("code"))


def _dose(walk: Walk, node: Node, draft: Draft) -> None:
    held = node.one("doseQuantity")
    if held is not None:
        dose = walk.values.interval(held) if held.one("low") is not None or held.one("high") is not None else None
        amount = walk.values.quantity(held)
        if amount is not None:
            draft.set("dose", str(amount))
            draft.set("dose_quantity", amount)
        elif dose is not None:
            draft.set("dose", str(dose))
    rate = node.one("rateQuantity")
    if rate is not None:
        draft.set("rate", walk.values.interval(rate))
    most = node.one("maxDoseQuantity")
    if most is not None:
        above, below = (walk.values.quantity(most.one(part)) for part in ("numerator", "denominator"))
        if above is not None:
            draft.set("max_dose", f"{above} per {below}" if below is not None else str(above))


def _further_dose(walk: Walk, node: Node, draft: Draft) -> None:
    """A tapered or split dose: the inner administrations say only another dose and time; all are told in words."""
    walk.use(node)
    times = when(node.all("effectiveTime"))
    amount = walk.values.quantity(node.one("doseQuantity"))
    said = " ".join(str(part) for part in (amount or "", times.frequency, times.at or "") if part)
    if said:
        before = draft.fields.get("dosage_text")
        draft.set("dosage_text", f"{before}; {said}" if before else said)


def _repeats(node: Node, draft: Draft) -> None:
    repeats = node.one("repeatNumber")
    if repeats is not None and _RELEASE.match(repeats.get("value")):
        draft.set("refills" if draft.kind is not Kind.IMMUNIZATION else "dose_number", int(repeats.get("value")))


def _as_needed(walk: Walk, node: Node, draft: Draft) -> None:
    """A precondition makes it as needed; its criterion says for what (C-CDA R2.1)."""
    for precondition in node.all("precondition"):
        criterion = precondition.one("criterion")
        draft.set("as_needed", True)
        if criterion is not None:
            reason = walk.values.value(criterion.one("value")) or walk.values.coded(criterion.one("code"))
            words = reason.display if isinstance(reason, CodedText) else str(reason or "")
            draft.set("as_needed_for", words or walk.values.text(criterion.one("text")))


def _indications(walk: Walk, node: Node, draft: Draft) -> None:
    found = walk.parts(node, "22.4.19", element="observation")
    reasons = [walk.concept(each, each.one("value") or each.one("code")) for each in found]
    said = [reason for reason in reasons if reason is not None]
    if said:
        joined = "; ".join(dict.fromkeys(reason.display for reason in said))
        codings = tuple(dict.fromkeys(coding for reason in said for coding in reason.codings))
        draft.set("reason", said[0] if len(said) == 1 else CodedText(joined, codings))
    for each in found:
        if own := values.first_id(each):
            draft.refer("reasonReference", f"#{own}")


def _instructions(walk: Walk, node: Node, draft: Draft) -> None:
    told = []
    for act in walk.parts(node, "22.4.20", "1.49", "4.3"):
        words = " ".join(walk.values.text(act.one("text")).split())
        code = walk.values.coded(act.one("code"))
        if words or code is not None:
            told.append(words or (code.display if code is not None else ""))
    draft.set("instruction", "; ".join(filter(None, told)))


def _ordered_supply(walk: Walk, act: Node, draft: Draft) -> None:
    """Medication Supply Order: how much may be handed out and how often again."""
    walk.use(act)
    draft.set("supply", walk.values.quantity(act.one("quantity")))
    repeats = act.one("repeatNumber")
    if repeats is not None and _RELEASE.match(repeats.get("value")):
        draft.set("refills", int(repeats.get("value")))
    told = [" ".join(walk.values.text(i.one("text")).split()) for i in walk.parts(act, "22.4.20")]
    if told and "instruction" not in draft.fields:
        draft.set("instruction", "; ".join(filter(None, told)))


def supply(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """A medicine handed out (mood EVN); one that is asked for is an order; one of a thing is a device."""
    mood = cda.mood("supply", walk.mood(node))
    if mood is not None:
        draft.aspect = mood.aspect
    product = node.at("product", "manufacturedProduct")
    if product is not None:
        _product(walk, node, draft)
    elif scope.outer is not None and scope.outer.kind is Kind.MEDICATION:
        draft.concept = scope.outer.concept
        draft.content.append(scope.outer.content)  # its material stands outside it
    else:
        device = _device_code(walk, node)
        draft.concept = device or walk.concept(node, node.one("code"))
        if device is not None:
            draft.kind = Kind.DEVICE
    if draft.aspect is Aspect.ORDERED and draft.kind is not Kind.DEVICE:
        draft.kind = Kind.ORDER
    draft.set("supply", walk.values.quantity(node.one("quantity")))
    if node.one("independentInd") is None:
        _repeats(node, draft)
    times = walk.times(node, scope, draft)
    if draft.aspect is Aspect.DISPENSED and isinstance(times.at, ClinicalTime):
        draft.time(Clock.HANDED_OVER, times.at)
    walk.status(node, scope, draft, "event")
    _instructions(walk, node, draft)
    if scope.outer is not None and scope.outer.kind is Kind.MEDICATION and draft.kind is Kind.MEDICATION_EVENT:
        draft.refer("authorizingPrescription", scope.outer)


def _device_code(walk: Walk, node: Node) -> CodedText | None:
    for participant in node.all("participant"):
        device = participant.at("participantRole", "playingDevice")
        if device is not None and (found := walk.values.coded(device.one("code"))) is not None:
            return found
    return None


def immunization(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Immunization Activity; in a mood of intention it is an order, for nothing has been given."""
    mood = cda.mood("immunization", walk.mood(node))
    if mood is not None:
        draft.aspect = mood.aspect
    for refusal in walk.parts(node, "22.4.53"):
        draft.set("status_reason", walk.values.coded(refusal.one("code")))
    for number in walk.parts(node, "1.46"):
        draft.set("dose_number", walk.values.value(number.one("value")))
    _administered(walk, node, scope, draft)
    site = draft.fields.pop("body_site", None)
    if isinstance(site, CodedText):
        draft.set("site", site)
    walk.status(node, scope, draft, "event")
    if mood is not None and mood.standing is not None:
        draft.kind = Kind.ORDER
        draft.standing = mood.standing if draft.standing in (Standing.UNKNOWN, Standing.ACTIVE) else draft.standing
    for reaction in walk.parts(node, "22.4.9"):
        draft.set("reaction", walk.concept(reaction, reaction.one("value")))
    if walk.negated(node):
        walk.deny(draft, done=True)
        denied(draft)
