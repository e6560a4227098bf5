"""What is said of procedures, visits, plans, goals, notes, instructions and those who care?"""

from __future__ import annotations

from iamata.connectors.ccda import values
from iamata.connectors.ccda.drafts import Draft
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.readings.cover import implanted
from iamata.connectors.ccda.readings.findings import denied, priority
from iamata.connectors.ccda.times import stamp
from iamata.connectors.ccda.unstructured import embedded
from iamata.connectors.ccda.walking import Scope, Walk
from iamata.model.attribution import Part
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText
from iamata.model.statement import Aspect, Kind, Standing
from iamata.terminology import cda

# V3 ActCode holds the classes of an encounter (ambulatory, inpatient, emergency …).
_ACT_CODE = "2.16.840.1.113883.5.4"


def procedure(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Procedure Activity (procedure, act, observation); its devices are statements of their own."""
    draft.concept = walk.concept(node, node.one("code"))
    walk.times(node, scope, draft)
    walk.status(node, scope, draft, "event")
    draft.set("body_site", walk.values.concepts(node.all("targetSiteCode")))
    draft.set("method", walk.values.concepts(node.all("methodCode")))
    draft.set("priority", walk.values.coded(node.one("priorityCode")))
    value = node.one("value")
    if value is not None:
        draft.set("value", walk.values.value(value))
    _reasons(walk, node, draft)
    draft.set("location", _location(walk, node))
    for refused in walk.parts(node, "24.3.88"):
        draft.set("status_reason", walk.values.coded(refused.one("value")))
    if not walk.negated(node):  # what was not done has put nothing in
        for device in implanted(walk, node, scope, draft):
            draft.refer("device", device)
    if walk.negated(node):
        walk.deny(draft, done=True)
        denied(draft)


def act(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """An act without a template that we know: something done, by its code."""
    procedure(walk, node, scope, draft)


def _reasons(walk: Walk, node: Node, draft: Draft) -> None:
    found = walk.parts(node, "22.4.19", element="observation")
    said = [r for each in found if (r := walk.concept(each, each.one("value") or each.one("code"))) is not None]
    if said:
        joined = "; ".join(dict.fromkeys(reason.display for reason in said))
        codings = tuple(dict.fromkeys(coding for reason in said for coding in reason.codings))
        draft.set("reason", said[0] if len(said) == 1 else CodedText(joined, codings))
    for each in found:
        if own := values.first_id(each):
            draft.refer("reasonReference", f"#{own}")


def _location(walk: Walk, node: Node) -> str:
    found = []
    for participant in node.all("participant"):
        if participant.get("typeCode") != "LOC":
            continue
        role = participant.one("participantRole")
        if role is None:
            continue
        entity = role.one("playingEntity")
        code = walk.values.coded(role.one("code"))
        said = values.name(entity) if entity is not None else ""
        found.append(said or (code.display if code is not None else ""))
    return "; ".join(dict.fromkeys(filter(None, found)))


def order(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """What is planned or asked for; an appointment by its mood. The time is when it shall be."""
    mood = cda.mood("order", walk.mood(node))
    if mood is not None:
        draft.aspect = mood.aspect
    code = node.one("code")
    draft.concept = walk.concept(node, code if code is not None else node.one("value"))
    if draft.concept is None and node.name == "supply":
        product = node.at("product", "manufacturedProduct", "manufacturedMaterial", "code")
        draft.concept = walk.values.coded(product)
    if node.name == "encounter" and walk.mood(node) in ("APT", "ARQ"):
        draft.kind = Kind.APPOINTMENT
    if walk.mood(node) == "GOL":
        draft.kind = Kind.GOAL
    times = walk.times(node, scope, draft, Clock.ORDERED if draft.aspect is Aspect.ORDERED else Clock.AUTHORED)
    draft.times = [t if t.clock is not Clock.EFFECTIVE else type(t)(Clock.PLANNED, t.at) for t in draft.times]
    draft.set("frequency", times.frequency)
    draft.set("intent", {"INT": "plan", "RQO": "order", "PRP": "proposal", "PRMS": "promise"}.get(walk.mood(node)))
    walk.status(node, scope, draft, "order")
    if mood is not None and mood.standing is not None and draft.standing in (Standing.ACTIVE, Standing.UNKNOWN):
        draft.standing = mood.standing
    draft.set("priority", walk.values.coded(node.one("priorityCode")))
    priority(walk, node, draft)
    draft.set("body_site", walk.values.concepts(node.all("targetSiteCode")))
    value = node.one("value")
    if value is not None and code is not None:
        draft.set("value", walk.values.value(value))
    _reasons(walk, node, draft)
    draft.set("location", _location(walk, node))
    if walk.negated(node):
        walk.deny(draft, done=True)


def encounter(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Encounter Activity: its code is the type, or the class where it is one of V3 ActCode."""
    code = walk.values.coded(node.one("code"))
    if code is not None:
        classes = tuple(c for c in code.codings if c.system == _ACT_CODE)
        types = tuple(c for c in code.codings if c.system != _ACT_CODE)
        if classes:
            draft.set("class", CodedText("", classes))
        code = CodedText(code.text, types) if types or code.text else None
    draft.concept = code or walk.concept(node, None)
    times = walk.times(node, scope, draft)
    walk.status(node, scope, draft, "event")
    if draft.standing is Standing.UNKNOWN and times.ended:
        draft.standing = Standing.COMPLETED
    draft.set("location", _location(walk, node))
    draft.set("disposition", walk.values.coded(node.one("sdtc:dischargeDispositionCode")))
    draft.set("priority", walk.values.coded(node.one("priorityCode")))
    _reasons(walk, node, draft)
    if walk.negated(node):
        walk.deny(draft, done=True)


def goal(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Goal Observation: what is to be reached (code), the target (value), by when (effectiveTime high)."""
    draft.concept = walk.concept(node, node.one("code"))
    value = walk.values.value(node.one("value"))
    draft.set("target", value)
    words = " ".join(walk.values.text(node.one("text")).split())
    draft.set("description", words[:500] or (draft.concept.display if draft.concept is not None else ""))
    times = walk.times(node, scope, draft, Clock.AUTHORED)
    draft.times = [t if t.clock is not Clock.EFFECTIVE else type(t)(Clock.PLANNED, t.at) for t in draft.times]
    end = times.at
    if end is not None:
        due = end if not hasattr(end, "end") else end.end
        draft.set("due", due)
    walk.status(node, scope, draft, "order")
    for progress in walk.parts(node, "22.4.110"):
        draft.set("achievement", walk.values.coded(progress.one("value")))
    priority(walk, node, draft)


def instruction(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Instruction, handoff: what the patient or a colleague is told."""
    draft.concept = walk.concept(node, node.one("code"))
    draft.set("topic", draft.concept)
    draft.set("text", " ".join(walk.values.text(node.one("text")).split())[:2000])
    walk.times(node, scope, draft, Clock.AUTHORED)
    walk.status(node, scope, draft, "event")


def note(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Note Activity: a document whose text is a passage, if it is text."""
    draft.concept = walk.values.coded(node.one("code"))
    walk.times(node, scope, draft, Clock.AUTHORED)
    walk.status(node, scope, draft, "result")
    held = node.one("text")
    title = draft.concept.display if draft.concept is not None else ""
    draft.set("title", title)
    if held is None:
        return
    words, left = embedded(held, walk.values)
    if left:
        draft.left.append(left)
    if words:
        walk.note(node, scope, words, draft, title)


def care_team(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Care Team Organizer: its members are persons that it refers to."""
    draft.concept = walk.concept(node, node.one("code"))
    walk.times(node, scope, draft, Clock.AUTHORED)
    walk.status(node, scope, draft, "event")
    names = [walk.values.text(node.one("text"))]
    for _type, member in walk.inner(node):
        walk.use(member)
        if not any(root.endswith(".500.1") for root in member.templates()):
            value = walk.values.value(member.one("value"))
            if isinstance(value, CodedText):
                draft.set("category", value)
            continue
        for performer in member.all("performer"):
            for evidence, person in walk.people.evidence(performer, "member", Part.PERFORMER):
                if person is not None:
                    draft.refer("member", person)
                function = walk.values.coded(performer.one("sdtc:functionCode"))
                shown = f"{evidence.display} ({function.display})" if function is not None else evidence.display
                if evidence.part is Part.PERFORMER and shown:
                    names.append(shown)
    title = " ".join(names[0].split()) if names[0] else ""
    draft.set("title", title[:200] or (draft.concept.display if draft.concept is not None else ""))
    draft.set("activity", "; ".join(dict.fromkeys(names[1:])))
    lead = next((p for p in node.all("participant") if p.get("typeCode") == "PPRF"), None)
    if lead is not None:
        draft.time(Clock.EFFECTIVE, stamp(lead.one("time")))
