"""What is said of problems, allergies, results, vital signs, habits and the family? After the C-CDA R2.1 templates."""

from __future__ import annotations

from iamata.connectors.ccda import values
from iamata.connectors.ccda.drafts import Draft
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.times import stamp, when
from iamata.connectors.ccda.values import ASSERTION
from iamata.connectors.ccda.walking import Scope, Walk
from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import CodedText, Coding, Quantity
from iamata.model.statement import Aspect, Component, Kind, Polarity, Value
from iamata.terminology import cda
from iamata.terminology.names import fold
from iamata.terminology.statuses import negation

_CATEGORY = "http://terminology.hl7.org/CodeSystem/condition-category"
_ABSENT_CODES = frozenset({"NI", "UNK", "NASK", "ASKU", "NAV", "NA", "MSK", "OTH", "NP", "TRC", "QS"})


def condition(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Problem Observation and its kin: the value is the problem; a status observation says how it is."""
    concept = _problem(walk, node)
    times = walk.times(node, scope, draft)
    walk.status(node, scope, draft, "condition", times.ended)
    severity = walk.part(node, "22.4.8")
    if severity is not None:
        draft.set("severity", walk.values.coded(severity.one("value")))
    age = walk.part(node, "22.4.31")
    if age is not None:
        draft.set("onset_age", walk.values.quantity(age.one("value")))
    for prognosis in walk.parts(node, "22.4.113"):
        draft.set("prognosis", walk.values.value(prognosis.one("value")))
    health = walk.part(node, "22.4.5")
    if health is not None:
        draft.set("health_status", walk.values.value(health.one("value")))
    draft.set("body_site", walk.values.concepts(node.all("targetSiteCode")))
    draft.set("category", _category(scope))
    priority(walk, node, draft)
    for diagnosed in walk.parts(node, "22.4.502"):
        draft.time(Clock.OCCURRED, stamp(diagnosed.one("effectiveTime")))
    if walk.negated(node):
        walk.deny(draft, done=False)
        general = next((d for c in _codes(concept) if (d := cda.denial("condition", c)) is not None), None)
        if general is not None:
            concept = general
        elif concept is None:
            concept = cda.denial("condition", "55607006")
    draft.concept = concept
    denied(draft)
    if concept is not None and _no_finding(concept):
        draft.kind, draft.aspect = Kind.OBSERVATION, Aspect.MEASURED
        draft.concept = CodedText(scope.section.name) if scope.section is not None else CodedText("Status")
        draft.fields = {"value": concept}


def _no_finding(concept: CodedText) -> bool:
    """Is this value of a status problem that there is none (no impairment)? Then it is a finding and no problem."""
    keys = [*_codes(concept), fold(concept.display)]
    return any(cda.word("no-finding", key) for key in keys)


def denied(draft: Draft) -> None:
    """A concept that is itself a "none known" denies, and says of what; one that says "no information" says nothing."""
    said = negation(draft.concept)
    if said is None:
        return
    if said.denied:
        draft.polarity = Polarity.DENIED
        draft.set("covers", said.category)
    else:
        draft.concept = None


def _problem(walk: Walk, node: Node) -> CodedText | None:
    value = node.one("value")
    found = walk.values.value(value) if value is not None else None
    if isinstance(found, CodedText):
        return found
    if isinstance(found, str):
        return CodedText(" ".join(found.split())[:200])
    if value is not None and value.nil in _ABSENT_CODES and not value.children and node.one("text") is None:
        return None
    return walk.concept(node, value if value is not None else node.one("code"))


def _category(scope: Scope) -> CodedText | None:
    for wrapper in reversed(scope.wrappers):
        for root in wrapper.templates():
            code = cda.word("condition-category", root)
            if code:
                return CodedText("", (Coding(_CATEGORY, code),))
    return CodedText("", (Coding(_CATEGORY, scope.category),)) if scope.category == "encounter-diagnosis" else None


def _codes(concept: CodedText | None) -> list[str]:
    return [coding.code for coding in concept.codings] if concept is not None else []


def priority(walk: Walk, node: Node, draft: Draft) -> None:
    """Priority Preference: a field; one with an author of its own is also a statement, for it may be the patient's."""
    for _type, act in walk.inner(node):
        if any(root.endswith(".22.4.143") for root in act.templates()):
            draft.fields.setdefault("priority", walk.values.value(act.one("value")) or "")
            if not act.all("author"):
                walk.use(act)
    if draft.fields.get("priority") == "":
        del draft.fields["priority"]


def allergy(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Allergy Observation: the participant that is consumed is the substance, MFST observations are its reactions."""
    concept, generic = _substance(walk, node)
    type = walk.values.coded(node.one("value"))
    for code in _codes(type):
        draft.set("category", cda.word("allergy-category", code))
        draft.set("type", cda.word("allergy-type", code))
    times = walk.times(node, scope, draft)
    walk.status(node, scope, draft, "allergy", times.ended)
    severity = walk.part(node, "22.4.8")
    if severity is not None:
        draft.set("severity", _word(walk, severity, "severity"))
    criticality = walk.part(node, "22.4.145")
    if criticality is not None:
        draft.set("criticality", _word(walk, criticality, "criticality"))
    for reaction in _reactions(walk, node):
        _reaction(walk, reaction, draft)
    if walk.negated(node):
        walk.deny(draft, done=False)
        if concept is None:
            concept = _no_known(type, generic)
    elif concept is None and negation(type) is not None:
        concept = type
    if concept is None and not walk.negated(node) and not generic:
        concept = _asserted(walk, node, type)
    draft.concept = concept
    denied(draft)


def _substance(walk: Walk, node: Node) -> tuple[CodedText | None, str]:
    """The substance, and the category of a substance that is none in particular (`all`, `medication`)."""
    for participant in node.all("participant"):
        if participant.get("typeCode") not in ("CSM", "SBJ", ""):
            continue
        role = participant.one("participantRole")
        entity = role.one("playingEntity") if role is not None else None
        if entity is None:
            continue
        found = walk.values.coded(entity.one("code"))
        name = values.name(entity)
        if found is None and name:
            found = CodedText(name)
        elif found is not None and name and not found.display:
            found = CodedText(name, found.codings)
        for code in _codes(found):
            if general := cda.word("generic-substance", code):
                return None, general
        if found is not None:
            return found, ""
    return None, ""


def _no_known(type: CodedText | None, generic: str) -> CodedText | None:
    """What is denied when no substance is named: by the type of allergy, else allergies at all."""
    if generic == "medication":
        return cda.denial("allergy", "416098002")
    if generic == "food":
        return cda.denial("allergy", "414285001")
    for code in _codes(type):
        found = cda.denial("allergy", code)
        if found is not None:
            return found
        for category, general in (("medication", "416098002"), ("food", "414285001")):
            if cda.word("allergy-category", code) == category:
                return cda.denial("allergy", general)
    return cda.denial("allergy", "419199007")


def _asserted(walk: Walk, node: Node, type: CodedText | None) -> CodedText | None:
    """Without a substance: words of the entry, else a value that is a particular allergy itself."""
    words = " ".join(walk.values.text(node.one("text")).split())
    if type is not None and not any(
        cda.word("allergy-type", c) or cda.word("allergy-category", c) for c in _codes(type)
    ):
        unspecific = all(cda.denial("allergy", c) is not None for c in _codes(type)) if type.codings else False
        if not unspecific:
            return type
    return CodedText(words[:200]) if words else None


def _reactions(walk: Walk, node: Node) -> list[Node]:
    found = []
    for type, act in walk.inner(node):
        if not walk.used(act) and (type == "MFST" or any(t.endswith((".22.4.9", ".1.54")) for t in act.templates())):
            walk.use(act)
            found.append(act)
    return found


def _reaction(walk: Walk, node: Node, draft: Draft) -> None:
    concept = walk.concept(node, node.one("value"))
    severity = walk.part(node, "22.4.8")
    if concept is not None:
        said = _word(walk, severity, "severity") if severity is not None else ""
        draft.components.append(Component(concept, said or None))
    at = when(node.all("effectiveTime")).at
    if isinstance(at, Period):
        at = at.start or at.end
    draft.time(Clock.OCCURRED, at)


def _word(walk: Walk, node: Node, use: str) -> str:
    """This engine's word for the value of an observation, else its display."""
    found = walk.values.coded(node.one("value"))
    if found is None:
        return ""
    return next((w for c in _codes(found) if (w := cda.word(use, c))), "") or found.display


def observation(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Result, vital sign, assessment: code, value, interpretation, reference range; an assessment's items are parts."""
    draft.concept = _told(walk, node)
    measured(walk, node, scope, draft)
    draft.set("category", _said_category(scope))
    for item in walk.parts(node, "22.4.86"):
        concept = walk.concept(item, item.one("code"))
        if concept is not None:
            value = item.one("value")
            draft.components.append(Component(concept, walk.values.value(value), absent=values.absent(value)))
    if walk.negated(node):
        draft.polarity = Polarity.DENIED


def _said_category(scope: Scope) -> CodedText | None:
    return CodedText(scope.category) if scope.category else None


def _told(walk: Walk, node: Node) -> CodedText | None:
    """What is observed: its code; that of its template, or the value itself, where the code only asserts."""
    code = node.one("code")
    if code is not None and code.get("code") == ASSERTION:
        for root in node.templates():
            template = cda.template(root)
            if template is not None and template.code is not None:
                return template.code
        value = walk.values.value(node.one("value"))
        if isinstance(value, CodedText):
            return value
    return walk.concept(node, code)


def measured(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """Everything that observations share."""
    held = node.all("value")
    value: Value | None = None
    for each in held:
        value = walk.values.value(each)
        if value is not None:
            break
    if value is not None and value != draft.concept:
        draft.set("value", value)
    elif held and held[0].nil:
        draft.set("absent", held[0].nil)
    if len(held) > 1:
        said = [walk.values.value(each) for each in held]
        shown = [each.display if isinstance(each, CodedText) else str(each) for each in said if each is not None]
        draft.set("values", "; ".join(shown))
    draft.set("interpretation", walk.values.concepts(node.all("interpretationCode")))
    draft.set("method", walk.values.concepts(node.all("methodCode")))
    draft.set("body_site", walk.values.concepts(node.all("targetSiteCode")))
    ranges = [found for each in node.all("referenceRange") if (found := _reference_range(walk, each)) is not None]
    if ranges:
        first = ranges[0]
        draft.set("reference_range", first if len(ranges) == 1 else "; ".join(str(each) for each in ranges))
    draft.set("specimen", _specimen(walk, node))
    times = walk.times(node, scope, draft)
    if times.at is None:
        for wrapper in reversed(scope.around):  # an organizer says when for its members (CDA R2 4.3.6 context)
            if wrapper.name == "organizer" and (at := when(wrapper.all("effectiveTime")).at) is not None:
                draft.time(Clock.EFFECTIVE, at)
                break
    walk.status(node, scope, draft, "result")


def _reference_range(walk: Walk, node: Node) -> Value | None:
    held = node.one("observationRange")
    if held is None:
        return None
    value = held.one("value")
    if value is not None and values.type_of(value).startswith("IVL"):
        found = walk.values.range(value)
        if found is not None:
            return found
    words = walk.values.text(held.one("text"))
    if words:
        return words
    said = walk.values.value(value)
    return said.display if isinstance(said, CodedText) else said


def _specimen(walk: Walk, node: Node) -> str:
    for specimen in node.all("specimen"):
        entity = specimen.at("specimenRole", "specimenPlayingEntity")
        if entity is not None:
            coded = walk.values.coded(entity.one("code"))
            return coded.display if coded is not None else values.name(entity)
    return ""


def report(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """An organizer of results, vital signs or findings: what it is called, when, and who; its members are statements of
    their own that it refers to as results."""
    draft.concept = walk.concept(node, node.one("code"))
    draft.set("category", _said_category(scope))
    times = walk.times(node, scope, draft)
    walk.status(node, scope, draft, "result", times.ended)
    draft.set("specimen", _specimen(walk, node))
    if draft.concept is None and walk.inner(node):
        draft.set("title", scope.section.name if scope.section is not None else "Group of entries")


def social(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    draft.concept = _told(walk, node)
    measured(walk, node, scope, draft)
    draft.set("category", _said_category(scope))
    if walk.negated(node):
        draft.polarity = Polarity.DENIED


def pregnancy(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    draft.concept = _told(walk, node)
    measured(walk, node, scope, draft)
    for _type, act in walk.inner(node):
        if act.name == "observation" and not walk.used(act):
            concept = walk.concept(act, act.one("code"))
            value = walk.values.value(act.one("value"))
            if concept is not None and value is not None:
                walk.use(act)
                draft.components.append(Component(concept, value))
    if walk.negated(node):
        draft.polarity = Polarity.DENIED


def family(walk: Walk, node: Node, scope: Scope, draft: Draft) -> None:
    """A relative and what they had. An observation without a relative is of a relative who is not named: in this
    section nothing is about the patient."""
    role = node.at("subject", "relatedSubject")
    if role is not None:
        draft.set("relationship", walk.values.coded(role.one("code")))
        person = role.one("subject")
        if person is not None:
            _relative(walk, person, draft)
        draft.concept = walk.values.coded(role.one("code"))
    observed = (
        [act for _t, act in walk.inner(node) if act.name == "observation"] if node.name == "organizer" else [node]
    )
    for act in observed:
        if node is not act:
            walk.use(act)
        _had(walk, act, draft)
    draft.time(Clock.ASSERTED, walk.written(node, scope))
    walk.status(node, scope, draft, "event")
    if draft.components and all(component.absent == "denied" for component in draft.components):
        draft.polarity = Polarity.DENIED


def _relative(walk: Walk, person: Node, draft: Draft) -> None:
    draft.set("name", values.name(person))
    sex = person.one("administrativeGenderCode")
    if sex is not None:
        draft.set("sex", cda.word("sex", sex.get("code")) or sex.get("displayName"))
    draft.set("born", stamp(person.one("birthTime")))
    deceased = person.one("sdtc:deceasedInd")
    if deceased is not None and deceased.get("value") in ("true", "false"):
        draft.set("died", deceased.get("value") == "true")
    draft.set("died", stamp(person.one("sdtc:deceasedTime")))


def _had(walk: Walk, node: Node, draft: Draft) -> None:
    concept = _problem(walk, node)
    if concept is None:
        return
    onset: ClinicalTime | Quantity | Period | None = when(node.all("effectiveTime")).at
    if isinstance(onset, Period):
        onset = onset.start or onset.end
    for _type, act in walk.inner(node):
        ends = act.templates()
        if any(root.endswith(".22.4.31") for root in ends):
            walk.use(act)
            onset = walk.values.quantity(act.one("value")) or onset
        elif any(root.endswith(".22.4.47") for root in ends):
            walk.use(act)
            draft.fields.setdefault("died", True)
            draft.set("cause_of_death", concept)
    draft.components.append(Component(concept, onset, absent="denied" if walk.negated(node) else ""))
