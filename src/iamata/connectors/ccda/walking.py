"""How does an entry become statements? Each clinical statement of CDA is read by its template, else by its section and
element; what is inside it and says something of its own becomes a statement that the outer one refers to.

Acts that only wrap others (a concern, a coverage) lend them their status, authors and time. Not here: what each reading
makes of its element (`readings`), sections and header (`sections`, `header`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from iamata.connectors.ccda import markings, values
from iamata.connectors.ccda.drafts import Draft, Evidence, Note
from iamata.connectors.ccda.narrative import Anchors
from iamata.connectors.ccda.nodes import Node, canonical
from iamata.connectors.ccda.people import MOST_INHERITED, PARTS, People
from iamata.connectors.ccda.times import When, stamp, when
from iamata.connectors.ccda.values import Values
from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.model.clinical_time import ClinicalTime, Clock, Period, Precision, Timed
from iamata.model.coding import CodedText
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.statement import Aspect, Domain, Kind, Label, Polarity, Standing, Verification
from iamata.terminology import cda

ACTS: Final = ("act", "observation", "organizer", "procedure", "substanceAdministration", "supply", "encounter")
_BY_ELEMENT: Final = {
    "observation": "observation",
    "substanceAdministration": "medication",
    "supply": "supply",
    "procedure": "procedure",
    "encounter": "encounter",
    "organizer": "report",
    "act": "act",
}
_FUTURE: Final = frozenset({"INT", "RQO", "PRP", "PRMS", "ARQ", "APT"})
# Readings that speak of what has happened: in a mood of intention they are orders.
_HAPPENED: Final = frozenset({"observation", "procedure", "encounter", "act", "social", "report"})
_SOURCE_CODE: Final = "48766-0"  # LOINC Information source
STATUS_CODE: Final = "33999-4"  # LOINC Status: the code of every status observation in C-CDA
_STATUS_TEMPLATES: Final = frozenset(
    f"2.16.840.1.113883.10.20.{end}" for end in ("22.4.6", "22.4.28", "1.47", "1.50", "1.57", "1.39", "1.37", "1.56")
)
# Kinds whose statements are told by their concept: without one nothing is said.
_NAMED: Final = frozenset(
    {
        *(Kind.CONDITION, Kind.ALLERGY, Kind.MEDICATION, Kind.MEDICATION_EVENT, Kind.OBSERVATION, Kind.PROCEDURE),
        *(Kind.IMMUNIZATION, Kind.SOCIAL_HISTORY, Kind.FAMILY_HISTORY, Kind.ORDER, Kind.DEVICE, Kind.GOAL),
        *(Kind.PREGNANCY, Kind.DIRECTIVE, Kind.REPORT, Kind.COMMUNICATION, Kind.DOCUMENT, Kind.INSURANCE),
    }
)
_SAYS_NOTHING_ALONE: Final = frozenset({"category", "absent", "intent", "priority"})


class Scope(NamedTuple):
    """Where an entry stands. `path` is its section's in the document's list, `around` the acts that it is inside of
    (outermost first), `wrappers` those of them that only wrap it, `outer` the statement it is inside of."""

    path: str
    section: cda.Section | None
    labels: tuple[Label, ...]
    around: tuple[Node, ...] = ()
    wrappers: tuple[Node, ...] = ()
    outer: Draft | None = None

    @property
    def category(self) -> str:
        return self.section.category if self.section is not None else ""


class Reading(NamedTuple):
    """How one sort of entry is read: its kind, the name of its records, which statuses and moods it has."""

    kind: Kind
    type: str
    read: Callable[[Walk, Node, Scope, Draft], None]
    aspect: Aspect = Aspect.RECORDED
    domain: Domain = Domain.CLINICAL


class Walk:
    """Reads the entries of one document, collecting drafts, notes and lines of the intake."""

    def __init__(self, root: Node, readings: dict[str, Reading]) -> None:
        self.values = Values(Anchors(root))
        self.people = People(root, self.values)
        self.drafts: list[Draft] = []
        self.notes: list[Note] = []
        self.lines: list[IntakeLine] = []
        self._readings = readings
        self._used: set[int] = set()
        self._moods: dict[int, str] = {}
        self._outsides: dict[int, list[Any]] = {}

    def use(self, node: Node | None) -> None:
        """This element is part of the statement around it: it is no statement of its own."""
        if node is not None:
            self._used.add(id(node))

    def used(self, node: Node) -> bool:
        return id(node) in self._used

    def mood(self, node: Node) -> str:
        """The moodCode that counts: its own, or that of the plan whose details it gives."""
        return self._moods.get(id(node)) or node.get("moodCode")

    def _mood_of(self, node: Node, scope: Scope) -> str:
        """An act inside a plan that carries the plan's id gives its details: it has not happened either."""
        own = node.get("moodCode")
        if scope.around and own in ("", "EVN"):
            outer = scope.around[-1]
            plan = self.mood(outer)
            if plan in _FUTURE and values.first_id(node) and values.first_id(node) == values.first_id(outer):
                self._moods[id(node)] = plan
                return plan
        return own

    def inner(self, node: Node, *types: str) -> list[tuple[str, Node]]:
        """The acts inside an act with the typeCode of their relationship, all or those of these types."""
        found = []
        for relation in node.all("entryRelationship", "component"):
            type = relation.get("typeCode") or ("COMP" if relation.name == "component" else "")
            if not types or type in types:
                found += [(type, act) for act in relation.children if act.name in ACTS]
        return found

    def part(self, node: Node, *ends: str) -> Node | None:
        """The first act inside that has a template whose id ends so (`22.4.8`); it is taken as part of this one."""
        for _type, act in self.inner(node):
            if any(root.endswith("." + end) for root in act.templates() for end in ends):
                self.use(act)
                return act
        return None

    def parts(self, node: Node, *ends: str, element: str = "") -> list[Node]:
        """All acts inside with such a template, of this element if one is named."""
        found = []
        for _type, act in self.inner(node):
            if element in ("", act.name) and any(root.endswith("." + end) for root in act.templates() for end in ends):
                self.use(act)
                found.append(act)
        return found

    def read(self, node: Node, scope: Scope) -> list[Draft]:
        """The statements of an act: its own, or those of the acts it wraps. A line for each, also for what is none."""
        if node.one("subject") is not None and node.at("subject", "relatedSubject") is not None:
            name = self._name_of(node, scope)
            if name != "family":
                self._ignore(name, node, Reason.UNUSABLE, "about another person (subject), not about the patient")
                return []
        scope = self._labelled(node, scope)
        name = self._name_of(node, scope)
        if name in ("concern", "cluster") or node.nil:
            return self._wrapped(node, scope)
        if name == "pointer":
            self._ignore(name, node, Reason.EMPTY, "only points to another entry")
            return []
        if name == "part":
            name = _BY_ELEMENT[node.name]
            if node.name == "act":
                return self._comment(node, scope) if not self.inner(node) else self._wrapped(node, scope)
        reading = self._readings[name]
        draft = self._draft(node, scope, reading)
        reading.read(self, node, scope, draft)
        return self._finish(node, scope, draft)

    def marked(self, annotation: Node) -> None:
        """A privacy annotation was read as labels: it is no statement."""
        self.use(annotation)
        self.lines.append(IntakeLine("label", annotation.place, Outcome.STRUCTURED, label="privacy annotation"))

    def _labelled(self, node: Node, scope: Scope) -> Scope:
        """The scope with the labels of the act itself: its confidentialityCode and the privacy annotations in it."""
        inner = [act for _type, act in self.inner(node) if markings.is_annotation(act) and not self.used(act)]
        for act in inner:
            self.marked(act)
        around = tuple(sorted({*scope.labels, *markings.of_annotations(inner)})) if inner else scope.labels
        labels = markings.confidentiality(node, around) if node.one("confidentialityCode") is not None else around
        return scope._replace(labels=labels) if labels != scope.labels else scope

    def _name_of(self, node: Node, scope: Scope) -> str:
        mood = self._mood_of(node, scope)
        found = ""
        for root in node.templates():
            template = cda.template(root)
            if template is not None and (not found or found == "part"):
                found = template.reading
        told = scope.section.readings.get(node.name, "") if scope.section is not None else ""
        found = found or told
        if not found or (found in ("procedure", "act") and node.name == "organizer"):
            found = _BY_ELEMENT[node.name]
        if (found, told) == ("medication", "administration") and mood in ("", "EVN"):
            found = told  # what is given in hospital has the template of a medication
        if told == "family" and found in ("condition", "observation", "allergy"):
            found = told  # nothing in this section is about the patient
        if found == "act" and self.inner(node) and _wraps(node):
            found = "concern"
        if found in _HAPPENED and mood in _FUTURE:
            return "order"
        if found in _HAPPENED and mood == "GOL":
            return "goal"
        return found

    def _wrapped(self, node: Node, scope: Scope) -> list[Draft]:
        inner = scope._replace(around=(*scope.around, node), wrappers=(*scope.wrappers, node))
        found: list[Draft] = []
        waiting = [act for _type, act in self.inner(node)]
        for act in waiting:
            if self._name_of(act, inner) == "part" and act.name == "observation":
                self.use(act)
                if not self._is_status(act):
                    detail = f"{_template_name(act)} stands outside the entry it belongs to"
                    self._ignore("observation", act, Reason.UNSUPPORTED, detail)
        comments = [act for act in waiting if act.name == "act" and self._name_of(act, inner) == "part"]
        for act in waiting:
            if not self.used(act) and act not in comments:
                found += self.read(act, inner)
        for act in comments:  # a comment on a concern is one on what it wraps
            self._comment(act, inner._replace(outer=found[0] if found else scope.outer))
        if not found:
            self._bare_wrapper(node, scope, found)
        return found

    def _bare_wrapper(self, node: Node, scope: Scope, found: list[Draft]) -> None:
        """An act that wraps nothing we could read: what it says itself (a concern in words, a plan), if anything."""
        if node.nil or self.values.coded(node.one("code")) is None:
            self._ignore(node.name, node, Reason.EMPTY, "says that there is no information: no statement")
            return
        words = self.values.text(node.one("text"))
        generic = {"CONC", "48765-2", "11450-4", "75310-3", "29308-4", "48768-6"}
        code = node.one("code")
        if code is not None and code.get("code") in generic and not words:
            self._ignore(node.name, node, Reason.EMPTY, "wraps no entry that says something")
            return
        reading = self._readings["act"]
        draft = self._draft(node, scope, reading)
        reading.read(self, node, scope, draft)
        found += self._finish(node, scope, draft)

    def _comment(self, node: Node, scope: Scope) -> list[Draft]:
        """A comment inside an entry is a passage with its own author."""
        words = self.values.text(node.one("text"))
        if words and scope.outer is not None:
            self.note(node, scope, words, scope.outer)
            return []
        self._ignore(node.name, node, Reason.EMPTY if not words else Reason.UNSUPPORTED, _template_name(node))
        return []

    def note(self, node: Node, scope: Scope, words: str, owner: Draft, title: str = "") -> None:
        """A passage written by the authors of this act, else by those of the acts around it."""
        written = stamp(next((a.one("time") for a in node.all("author") if a.one("time") is not None), None))
        note = Note(
            owner=owner, part=_part(node, owner), place=f"{node.place}/text", text=words, title=title, times=[],
            evidence=self.people.of(node, scope.around), labels=scope.labels,
        )  # fmt: skip
        if written is not None:
            note.times.append(Timed(Clock.AUTHORED, written))
        owner.notes += 1
        self.notes.append(note)

    def _outside(self, around: Node) -> list[Any]:
        """The canonical content of an act without the acts inside it; made once for all of them."""
        found = self._outsides.get(id(around))
        if found is None:
            found = self._outsides[id(around)] = canonical(around, self.values.resolve, _INNER)
        return found

    def _draft(self, node: Node, scope: Scope, reading: Reading) -> Draft:
        left = [
            f"of more than {MOST_INHERITED} {name} elements around it the first are kept"
            for each in scope.around
            if len(each.children) > MOST_INHERITED
            for name in PARTS
            if len(each.all(name)) > MOST_INHERITED
        ]
        return Draft(
            kind=reading.kind,
            type=reading.type,
            place=node.place,
            content=[
                str(reading.kind),
                canonical(node, self.values.resolve),
                [self._outside(each) for each in scope.around],
                scope.category,
                [str(label) for label in scope.labels],
            ],
            own_id=values.first_id(node),
            ids=values.identifiers(node),
            evidence=self.people.of(node, scope.around),
            aspect=reading.aspect,
            domain=reading.domain,
            fields={},
            components=[],
            times=[],
            references=[],
            labels=scope.labels,
            left=left,
        )

    def _finish(self, node: Node, scope: Scope, draft: Draft) -> list[Draft]:
        """Read what is inside and not yet used; then keep the draft, unless it says nothing."""
        inner = scope._replace(around=(*scope.around, node), wrappers=(), outer=draft)
        found: list[Draft] = []
        for type, act in self.inner(node):
            if self.used(act):
                continue
            name = self._name_of(act, inner)
            if self._told_source(act, draft):
                continue
            if name == "pointer":
                target = values.first_id(act)
                self.use(act)
                if target:
                    draft.refer(cda.link(str(draft.kind), type), f"#{target}")
                continue
            if name == "part" and act.name != "act":
                draft.left.append(f"{_template_name(act)} is kept in the document")
                continue
            for child in self.read(act, inner):
                draft.refer(cda.link(str(draft.kind), type), child)
                found.append(child)
        if draft.notes:
            draft.set("note_count", draft.notes)
        draft.concept = self._named(node, draft.concept, "value" in draft.fields)
        if draft.concept is not None and cda.says_nothing(draft.concept.display):
            return self._said_nothing(node, draft, found)
        if self._bare(draft):
            return self._said_nothing(node, draft, found)
        self.drafts.append(draft)
        self.lines.append(
            IntakeLine(
                str(draft.kind), draft.place, Outcome.STRUCTURED, label=label(draft), detail="; ".join(draft.left)
            )
        )
        return [draft]

    def _said_nothing(self, node: Node, draft: Draft, found: list[Draft]) -> list[Draft]:
        """No statement: a line, and what was read inside."""
        self.notes = [note for note in self.notes if note.owner is not draft]
        said = node.nil or _all_nil(node) or draft.concept is not None
        detail = "says that there is no information: no statement" if said else "says nothing"
        self._ignore(str(draft.kind), node, Reason.EMPTY, detail)
        return found

    def _told_source(self, act: Node, draft: Draft) -> bool:
        """CCD 1.0 Source of Information: an observation that only says where the outer one comes from."""
        code = act.one("code")
        if code is None or code.get("code") != _SOURCE_CODE or act.name != "observation":
            return False
        said = self.values.value(act.one("value"))
        self.use(act)
        draft.set("information_source", said.display if isinstance(said, CodedText) else str(said or ""))
        return True

    def _named(self, node: Node, concept: CodedText | None, valued: bool) -> CodedText | None:
        """A code without any words is called by its template, where the table says so; so is a value without a code."""
        if concept is None:
            known = [template.name for root in node.templates() if (template := cda.template(root)) is not None]
            return CodedText(known[0]) if known and valued else None
        if concept.text or any(coding.display for coding in concept.codings):
            return concept
        for root in node.templates():
            template = cda.template(root)
            if template is not None and template.named:
                return CodedText(template.name, concept.codings)
        return concept

    def _bare(self, draft: Draft) -> bool:
        if draft.kind not in _NAMED:
            return False
        return draft.concept is None and not draft.components and not (draft.fields.keys() - _SAYS_NOTHING_ALONE)

    def _ignore(self, kind: str, node: Node, reason: Reason, detail: str) -> None:
        self.lines.append(IntakeLine(kind, node.place, Outcome.IGNORED, reason, node.name, detail))

    # What several readings need.

    def concept(self, node: Node, coded: Node | None) -> CodedText | None:
        """The concept of a code element; where it has no code and no words, the words that the act points to."""
        found = self.values.coded(coded)
        if found is not None:
            return found
        words = " ".join(self.values.text(node.one("text")).split())
        return CodedText(words[:200]) if words and not node.nil else None

    def times(self, node: Node, scope: Scope, draft: Draft, clock: Clock = Clock.ASSERTED) -> When:
        """The effective time, and when its authors said it: the earliest of its own, else of the acts around it."""
        found = when(node.all("effectiveTime"))
        draft.time(Clock.EFFECTIVE, found.at)
        ends = (found.at.start, found.at.end) if isinstance(found.at, Period) else (found.at,)
        if any(each is not None and each.precision is Precision.TEXT for each in ends):
            draft.left.append("effectiveTime is no date")
        draft.time(clock, self.written(node, scope))
        return found

    def written(self, node: Node, scope: Scope) -> ClinicalTime | None:
        for each in (node, *reversed(scope.around)):
            stamps = [at for author in each.all("author") if (at := stamp(author.one("time"))) is not None]
            dated = [at for at in stamps if at.earliest is not None]
            if dated:
                return min(dated, key=lambda at: (at.earliest or 0, at.text))
            if stamps:
                return stamps[0]
        return None

    def status(self, node: Node, scope: Scope, draft: Draft, use: str, ended: bool = False) -> None:
        """The standing: a status observation inside, else an end, else the status of the acts that wrap it, else its
        own. A nullified act never counts."""
        code = node.one("statusCode")
        own = code.get("code") if code is not None else ""
        wrapping = [s.get("code") for each in scope.wrappers if (s := each.one("statusCode")) is not None]
        draft.status = own
        if "nullified" in (own, *wrapping):
            draft.status = "nullified"
            draft.standing = Standing.ENTERED_IN_ERROR
            return
        code_said, display = self.status_code(node)
        concern = use in ("condition", "allergy")
        if code_said or display:
            draft.status = display or code_said
            draft.standing = cda.standing(use, "observation", code_said) or Standing.UNKNOWN
        elif concern and ended:
            draft.standing = Standing.RESOLVED
        elif concern:
            draft.status = wrapping[-1] if wrapping else ""
            draft.standing = cda.standing(use, "act", draft.status) or Standing.UNKNOWN
        else:
            draft.standing = cda.standing(use, "act", own) or Standing.UNKNOWN

    def negated(self, node: Node) -> bool:
        return node.get("negationInd") == "true"

    def deny(self, draft: Draft, *, done: bool) -> None:
        """negationInd: what is asserted is not so (refuted), or what could be done was not (`done`)."""
        draft.polarity = Polarity.DENIED
        if done:
            draft.standing = Standing.NOT_DONE
        else:
            draft.verification = Verification.REFUTED

    def _is_status(self, act: Node) -> bool:
        code = act.one("code")
        return bool(_STATUS_TEMPLATES & set(act.templates())) or (code is not None and code.get("code") == STATUS_CODE)

    def status_code(self, node: Node) -> tuple[str, str]:
        """Code and display of the status observation inside; both empty if there is none."""
        for _type, act in self.inner(node):
            if act.name == "observation" and self._is_status(act):
                self.use(act)
                value = self.values.coded(act.one("value"))
                if value is not None:
                    return (value.codings[0].code if value.codings else ""), value.display
        return "", ""


_ACT_CLASS: Final = "2.16.840.1.113883.5.6"
_LOINC: Final = "2.16.840.1.113883.6.1"
_INNER: Final = frozenset({"entryRelationship", "component"})


def _wraps(node: Node) -> bool:
    """Does an act without a template only wrap others? Its code is missing, CONC, or a kind of document."""
    code = node.one("code")
    return code is None or not code.get("code") or code.get("codeSystem") in (_ACT_CLASS, _LOINC)


def label(draft: Draft) -> str:
    """Type and first code, never a display."""
    code = next((coding.code for coding in draft.concept.codings if coding.code), "") if draft.concept else ""
    return f"{draft.type} {code[:64]}".strip()


def _template_name(node: Node) -> str:
    for root in node.templates():
        template = cda.template(root)
        if template is not None:
            return template.name
    return node.name


def _part(node: Node, owner: Draft) -> str:
    place = node.place
    return (place.removeprefix(owner.place).lstrip("/") or place) + "/text"


def _all_nil(node: Node) -> bool:
    named = [child for child in node.children if child.name in ("code", "value", "participant", "consumable")]
    return any(child.nil for child in named)


def nobody(type: str) -> list[Evidence]:
    return [(AuthorshipEvidence(Part.NONE, type), None)]
