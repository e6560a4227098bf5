"""What is said of cover, advance directives and devices?"""

from __future__ import annotations

from iamata.connectors.ccda import values
from iamata.connectors.ccda.drafts import Draft
from iamata.connectors.ccda.nodes import Node, canonical
from iamata.connectors.ccda.times import when
from iamata.connectors.ccda.walking import Scope, Walk
from iamata.model.attribution import Part
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.document import IntakeLine, Outcome
from iamata.model.statement import Kind
from iamata.terminology import cda

# HL7 RoleClass PAYOR marks the performer that pays (C-CDA R2.1 Policy Activity).
_PAYOR = "PAYOR"
_PAYER_TEMPLATE = "2.16.840.1.113883.10.20.22.4.87"


def policy(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Policy Activity: payer, member, relationship to the subscriber, plan."""
    draft.set("type", walk.values.coded(node.one("code")))
    draft.concept = walk.values.coded(node.one("code"))
    group = values.first_id(node)
    draft.set("group", group.rpartition("|")[2] if "|" in group else "")
    for index, performer in enumerate(node.all("performer")):
        role = performer.one("assignedEntity")
        code = role.at("code") if role is not None else None
        pays = (code is not None and code.get("code") == _PAYOR) or _PAYER_TEMPLATE in performer.templates()
        if not pays or role is None:
            continue
        organization = role.one("representedOrganization")
        draft.set("payor", values.name(organization) if organization is not None else "")
        # who pays is who issued the policy
        draft.evidence = list(walk.people.evidence(performer, f"payor/{index}", Part.AUTHOR))
    for participant in node.all("participant"):
        role = participant.one("participantRole")
        if role is None:
            continue
        if participant.get("typeCode") == "COV":
            draft.time(Clock.EFFECTIVE, when(participant.all("time")).at)
            member = values.first_id(role)
            draft.set("member_id", member.rpartition("|")[2] if "|" in member else "")
            draft.set("relationship", walk.values.coded(role.one("code")))
        elif participant.get("typeCode") == "HLD":
            held = values.first_id(role)
            if "member_id" not in draft.fields and "|" in held:
                draft.set("member_id", held.rpartition("|")[2])
            subscriber = values.name(role.one("playingEntity"))
            draft.set("subscriber", subscriber)
    for _type, act in walk.inner(node, "REFR"):
        words = walk.values.text(act.one("text"))
        if act.get("moodCode") == "DEF" or (words and "plan" not in draft.fields):
            walk.use(act)
            draft.set("plan", " ".join(words.split())[:200])
    walk.times(node, scope, draft)
    draft.status = ""


def directive(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Advance Directive Observation: the type of directive, what was decided, who has verified it, where it is."""
    code = walk.values.coded(node.one("code"))
    draft.concept = code or walk.concept(node, None)
    draft.set("category", code)
    value = walk.values.value(node.one("value"))
    draft.set("decision", value.display if isinstance(value, CodedText) else value)
    draft.set("description", " ".join(walk.values.text(node.one("text")).split())[:500])
    walk.times(node, scope, draft, Clock.AUTHORED)
    walk.status(node, scope, draft, "directive")
    for index, participant in enumerate(node.all("participant")):
        role = participant.one("participantRole")
        name = values.name(role.one("playingEntity")) if role is not None else ""
        if participant.get("typeCode") == "VRF":
            draft.time(Clock.VERIFIED, when(participant.all("time")).at)
            draft.evidence += walk.people.evidence(participant, f"participant/{index}", Part.VERIFIER)
        elif participant.get("typeCode") == "CST":
            draft.set("held_by", name)
    for reference in node.all("reference"):
        document = reference.one("externalDocument")
        if document is not None and (text := document.at("text", "reference")) is not None:
            draft.set("document", text.get("value"))


def device(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Non-Medicinal Supply Activity: the product is the device."""
    for participant in node.all("participant"):
        role = participant.one("participantRole")
        if participant.get("typeCode") in ("PRD", "DEV") and role is not None:
            _product(walk, role, draft)
    if draft.concept is None:
        draft.concept = walk.concept(node, node.one("code"))
    draft.set("quantity", walk.values.quantity(node.one("quantity")))
    walk.times(node, scope, draft)
    mood = cda.mood("supply", walk.mood(node))
    if mood is not None and mood.standing is not None:
        draft.kind, draft.aspect, draft.standing = Kind.ORDER, mood.aspect, mood.standing
        return
    walk.status(node, scope, draft, "event")


def _product(walk: Walk, role: Node, draft: Draft) -> None:
    """Product Instance: what it is, its identifier (UDI) and its maker."""
    entity = role.one("playingDevice") or role.one("playingEntity")
    if entity is not None:
        draft.concept = walk.values.coded(entity.one("code"))
        model = entity.one("manufacturerModelName")
        if model is not None:
            draft.set("model", model.words or model.get("displayName"))
    draft.set("type", draft.concept)
    for each in role.all("id"):
        if each.get("extension"):
            draft.set("udi", each.get("extension"))
            break
    scoping = role.one("scopingEntity")
    if scoping is not None:
        description = scoping.one("desc")
        draft.set("manufacturer", description.words if description is not None else "")


def implanted(walk: Walk, node: Node, scope: Scope, outer: Draft) -> list[Draft]:
    """The devices of a procedure, each a statement of its own."""
    found = []
    for participant in node.all("participant"):
        role = participant.one("participantRole")
        if participant.get("typeCode") not in ("DEV", "PRD") or role is None:
            continue
        draft = Draft(
            kind=Kind.DEVICE,
            type="device",
            place=role.place,
            content=["device", canonical(role, walk.values.resolve), [str(label) for label in scope.labels]],
            own_id=values.first_id(role),
            ids=values.identifiers(role),
            evidence=walk.people.of(node, scope.around),
            fields={}, components=[], times=[], references=[], left=[],
            labels=scope.labels,
            held=outer.held,
        )  # fmt: skip
        _product(walk, role, draft)
        if draft.concept is None and not draft.fields:
            continue
        draft.times = [t for t in outer.times if t.clock is Clock.EFFECTIVE]
        draft.content.append([str(t.at) for t in draft.times])
        walk.drafts.append(draft)
        walk.lines.append(IntakeLine("device", draft.place, Outcome.STRUCTURED, label="device"))
        found.append(draft)
    return found
