"""Small graphs you can see: a patient is a few lines of statements, facts, talk and links.

    small = Small("leo")
    small.says("s1", "medication", "Amoxicillin", by="clinician:Dr Ames", on="2026-02-10", dose="250 mg")
    small.fact("s1", standing="active", currency="current")
    graph = small.graph()

Short names (`s1`, `m1`) become ids of the real shape; `small.id("s1")` tells which.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256

from iamata.model.attribution import (
    Attribution,
    AttributionKind,
    Author,
    AuthorshipEvidence,
    Certainty,
    Directness,
    Part,
    Role,
)
from iamata.model.clinical_time import Clock, Period, Timed, parse_time
from iamata.model.coding import CodedText, Coding, Quantity, Range
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.document import Document
from iamata.model.fact import Currency, Fact, FieldVerdict, ResolvedField, Support, fact_id
from iamata.model.graph import Graph, Unresolved
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.memory import Experiencer, Memory, MemoryKind
from iamata.model.passage import Passage
from iamata.model.provenance import Place, Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.session import Message, Session, Speaker, Turn
from iamata.model.sighting import Sighting
from iamata.model.stamp import Moment
from iamata.model.statement import (
    Aspect,
    Component,
    Field,
    Kind,
    Polarity,
    Standing,
    Statement,
    Value,
    Verification,
)

RECEIVED = datetime(2026, 2, 15, 8, tzinfo=UTC)
NOW = datetime(2026, 2, 15, 9, tzinfo=UTC)

_SYSTEM = {Role.CLINICIAN, Role.LAB, Role.PHARMACY, Role.PAYER, Role.INSTITUTION, Role.INSTRUMENT, Role.STAFF}
_ASPECTS = {
    Kind.MEDICATION: Aspect.ORDERED,
    Kind.CONDITION: Aspect.DIAGNOSED,
    Kind.ALLERGY: Aspect.REACTED,
    Kind.OBSERVATION: Aspect.MEASURED,
}


def coded(text: str, code: str = "") -> CodedText:
    """`coded("Asthma", "snomed|195967001")`."""
    system, _, value = code.rpartition("|")
    return CodedText(text=text, codings=(Coding(system, value, text, code if system else ""),) if value else ())


def amount(text: str) -> Quantity:
    """`amount("6.4 %")`."""
    value, _, unit = text.partition(" ")
    return Quantity(value=value, unit=unit, ucum=unit)


def between(low: str, high: str) -> Range:
    return Range(low=amount(low), high=amount(high))


def _attribution(by: str) -> Attribution:
    """`clinician:Dr Ames`, `proxy:mother`, `patient`, `agent:Summarizer`, `undetermined`."""
    role_name, _, display = by.partition(":")
    if role_name == "undetermined":
        return Attribution(AttributionKind.UNDETERMINED, Author(Role.UNKNOWN), rule="none", certainty=Certainty.ASSUMED)
    role = Role(role_name)
    author = Author(role, display=display)
    if role in _SYSTEM:
        return Attribution(AttributionKind.SYSTEM, author, rule="author", directness=Directness.FIRST_HAND)
    if role in (Role.AGENT, Role.SOFTWARE):
        return Attribution(AttributionKind.AGENT, author, rule="agent")
    directness = Directness.PROXY if role is Role.PROXY else Directness.FIRST_HAND
    return Attribution(AttributionKind.USER, author, rule="informant", directness=directness)


class Small:
    """A small patient under construction; everything may be given in any order, the fact after its statements."""

    def __init__(self, id: str = "leo", *, now: datetime = NOW) -> None:
        self.subject = patient(id)
        self.moment = Moment(true_at=now)
        self.statements: dict[str, Statement] = {}
        self.attributions: dict[str, Attribution] = {}
        self.facts: dict[str, Fact] = {}
        self.fact_of: dict[str, str] = {}
        self.memories: dict[str, Memory] = {}
        self.links: dict[str, Link] = {}
        self.conflicts: dict[str, Conflict] = {}
        self.passages: dict[str, Passage] = {}
        self.documents: dict[str, Document] = {}
        self.sightings: dict[str, tuple[Sighting, ...]] = {}
        self.messages: dict[str, list[Message]] = {}
        self.unresolved: list[Unresolved] = []
        self._ids: dict[str, str] = {}

    def id(self, short: str) -> str:
        """The full id of a short name; of a statement's fact with `fact_of_`."""
        return self._ids[short]

    def _new(self, prefix: str, short: str) -> str:
        tail = base64.b32encode(sha256(f"{self.subject} {short}".encode()).digest()).decode().lower()[:20]
        self._ids[short] = f"{prefix}_{tail}"
        return self._ids[short]

    def document(self, short: str, *, source: str, format: str = "fhir/r4") -> str:
        id = self._new("en", short)
        self.documents[id] = Document(
            id=id,
            subject=self.subject,
            source=source,
            media_type="application/fhir+json",
            format=format,
            sha256="0" * 64,
            size_bytes=1200,
            received_at=RECEIVED,
        )
        return id

    def says(
        self,
        short: str,
        kind: str,
        display: str,
        *,
        by: str = "clinician",
        on: str = "",
        source: str = "Northside",
        code: str = "",
        when: str = "",
        until: str = "",
        denied: bool = False,
        standing: str = "unknown",
        verification: str = "",
        aspect: str = "",
        components: Iterable[tuple[str, Value | None]] = (),
        seen: str = "",
        place: str = "/entry/0/resource",
        **fields: Value,
    ) -> str:
        """One statement. `on` is the day it was written or ordered, `when` to `until` the day it was so."""
        id = self._new("st", short)
        of_kind = Kind(kind)
        times = []
        if when or until:
            start = parse_time(when) if when else None
            at = Period(start, parse_time(until)) if until else start
            assert at is not None
            times.append(Timed(Clock.EFFECTIVE, at))
        if on:
            clock = Clock.ORDERED if of_kind is Kind.MEDICATION else Clock.ASSERTED
            times.append(Timed(clock, parse_time(on)))
        self.statements[id] = Statement(
            id=id,
            subject=self.subject,
            kind=of_kind,
            provenance=Provenance(source, "test/1", RecordIdentity("Thing", reference=f"Thing/{short}")),
            authorship=(AuthorshipEvidence(Part.AUTHOR, "author"),),
            aspect=Aspect(aspect) if aspect else _ASPECTS.get(of_kind, Aspect.RECORDED),
            digest=sha256(f"{short}{display}".encode()).hexdigest(),
            concept=coded(display, code),
            polarity=Polarity.DENIED if denied else Polarity.AFFIRMED,
            standing=Standing(standing),
            verification=Verification(verification),
            times=tuple(times),
            fields=tuple(Field(name, value) for name, value in sorted(fields.items())),
            components=tuple(Component(coded(name), value) for name, value in components),
        )
        self.attributions[id] = _attribution(by)
        if seen:
            self.sightings[id] = (Sighting(id, self._ids[seen], Place(place), RECEIVED),)
        return id

    def fact(
        self, *members: str, currency: str = "unknown", history: Iterable[tuple[str, str]] = (), **given: str
    ) -> str:
        """A fact of these statements: the fields, polarity and standing of the first one."""
        former = tuple((self._ids[short], reason) for short, reason in history)
        held = tuple(sorted(self._ids[short] for short in members))
        first = self.statements[self._ids[members[0]] if members else former[0][0]]
        id = fact_id(held or tuple(statement for statement, _ in former))
        when = first.time(Clock.EFFECTIVE, Clock.OCCURRED, Clock.ORDERED, Clock.ASSERTED)
        support: dict[tuple[AttributionKind, Role], int] = {}
        for statement in held:
            attribution = self.attributions[statement]
            key = (attribution.kind, attribution.author.role)
            support[key] = support.get(key, 0) + 1
        self.facts[id] = Fact(
            id=id,
            kind=first.kind,
            display=first.concept.display if first.concept else first.kind.value,
            members=held,
            concept=first.concept,
            history=former,
            polarity=first.polarity,
            standing=Standing(given.get("standing", first.standing)),
            verification=first.verification,
            currency=Currency(currency),
            when=when,
            fields=tuple(ResolvedField(f.name, FieldVerdict.AGREED, f.value, first.id) for f in first.fields),
            components=first.components,
            supported_by=tuple(Support(kind, role, n) for (kind, role), n in sorted(support.items())),
            last_supported=given.get("last_supported", when.start.day if when and when.start else ""),
        )
        for short in members:
            self._ids[f"fact_of_{short}"] = id
        for statement in (*held, *(statement for statement, _ in former)):
            self.fact_of[statement] = id
        return id

    def remembers(
        self,
        short: str,
        kind: str,
        about: str,
        quote: str,
        *,
        by: str = "proxy:mother",
        said: str = "2026-02-15",
        session: str = "visit",
        denied: bool = False,
        experiencer: str = "patient",
        relation: str = "",
        change: str = "",
        since: str = "",
        certain: bool = True,
    ) -> str:
        role, _, relationship = by.partition(":")
        said_at = datetime.fromisoformat(f"{said}T08:30:00+00:00")
        message = self._new("ms", f"message of {short}")
        speaker = {"proxy": Speaker.CAREGIVER, "patient": Speaker.PATIENT}.get(role, Speaker.CLINICIAN)
        turn = Turn(speaker, quote, relationship=relationship, said_at=said_at)
        turns = self.messages.setdefault(session, [])
        turns.append(Message(message, session, len(turns), turn, RECEIVED))
        id = self._new("lm", short)
        self.memories[id] = Memory(
            id=id,
            session=session,
            message=message,
            start=0,
            end=len(quote),
            quote=quote,
            kind=MemoryKind(kind),
            concept=coded(about),
            attribution=_attribution(by),
            polarity=Polarity.DENIED if denied else Polarity.AFFIRMED,
            experiencer=Experiencer(experiencer),
            certain=certain,
            relation=relation,
            change=change,
            since=since,
            said_at=said_at,
            received_at=RECEIVED,
        )
        return id

    def passage(self, short: str, title: str, text: str, *, source: str = "Northside", by: str = "clinician") -> str:
        id = self._new("np", short)
        self.passages[id] = Passage(
            id=id,
            subject=self.subject,
            provenance=Provenance(source, "test/1", RecordIdentity("Thing", reference=f"Thing/{short}")),
            authorship=(AuthorshipEvidence(Part.AUTHOR, "author"),),
            part="note/0",
            text=text,
            title=title,
        )
        self.attributions[id] = _attribution(by)
        return id

    def link(self, origin: str, type: str, target: str, *, inferred: bool = False) -> str:
        """Between short names of statements (then of their facts), memories or passages."""
        id = self._new("lk", f"{origin} {type} {target}")
        ends = [self._ids.get(f"fact_of_{short}", self._ids[short]) for short in (origin, target)]
        source = LinkSource.KNOWLEDGE_BASE if inferred else LinkSource.EXPLICIT_REFERENCE
        self.links[id] = Link(id, LinkType(type), ends[0], ends[1], source, "test", 0.9 if inferred else 1.0)
        return id

    def conflict(self, kind: str, fact: str, *sides: tuple[str, tuple[str, ...]], field: str = "") -> str:
        id = self._new("cf", f"conflict {kind} {fact}")
        of = self._ids[f"fact_of_{fact}"]
        said = tuple(
            sorted(
                (Side(says, tuple(sorted(self._ids[s] for s in items))) for says, items in sides), key=lambda s: s.says
            )
        )
        self.conflicts[id] = Conflict(id, ConflictKind(kind), of, field or kind, said, "test")
        known = self.facts[of]
        import msgspec

        self.facts[of] = msgspec.structs.replace(known, conflicts=tuple(sorted((*known.conflicts, id))))
        return id

    def graph(self) -> Graph:
        return Graph(
            subject=self.subject,
            version=1,
            moment=self.moment,
            hash="test",
            statements=dict(sorted(self.statements.items())),
            passages=self.passages,
            sightings=self.sightings,
            documents=self.documents,
            sessions={id: Session(id, self.subject.id, RECEIVED, tuple(turns)) for id, turns in self.messages.items()},
            memories=self.memories,
            attributions=self.attributions,
            facts=dict(sorted(self.facts.items())),
            fact_of=self.fact_of,
            links=self.links,
            conflicts=self.conflicts,
            decisions={},
            unresolved=tuple(self.unresolved),
            references={},
        )


def leo() -> Small:
    """The patient of design 12, four years old, on 2026-02-15."""
    small = Small("leo")
    small.document("n1", source="Northside")
    small.document("e1", source="Eastgate", format="cda/r2")
    small.document("n2", source="Northside")
    small.says("d1", "demographic", "Leo", sex="male", birth_date=parse_time("2022-01-20"), seen="n1")
    small.says(
        "s1",
        "allergy",
        "No known allergies",
        code="http://snomed.info/sct|716186003",
        by="clinician:Dr Ames",
        on="2024-03-02",
        denied=True,
        seen="n1",
        place="/entry/3/resource",
    )
    small.says(
        "s2",
        "medication",
        "Amoxicillin",
        by="clinician:Dr Ames",
        on="2026-02-10",
        standing="active",
        dose="250 mg",
        frequency="3 per 1 d",
        route=coded("oral"),
        seen="n1",
        place="/entry/4/resource",
    )
    otitis = {"standing": "active", "when": "2026-02-10"}
    small.says("s3", "condition", "Otitis media", code="http://snomed.info/sct|65363002", seen="n1", **otitis)
    small.says("s4", "condition", "Otitis media", source="Eastgate", seen="e1", place="/component/3", **otitis)
    small.says(
        "s5",
        "allergy",
        "No known allergies",
        source="Eastgate",
        by="institution:Northside",
        on="2024-03-02",
        denied=True,
        seen="e1",
    )
    small.says(
        "s6",
        "allergy",
        "Amoxicillin",
        by="proxy:mother",
        on="2026-02-14",
        components=[("hives on day 2", None)],
        seen="n2",
        place="/entry/1/resource/item/0/answer/0",
    )
    small.fact("d1")
    small.fact("s1", "s5", currency="past")
    small.fact("s2", currency="current")
    small.fact("s3", "s4", currency="current")
    small.fact("s6", currency="current")
    small.remembers(
        "m1",
        "adherence",
        "amoxicillin",
        "We stopped the amoxicillin on Thursday",
        change="stopped",
        since="2026-02-12",
    )
    small.remembers("m2", "side_effect", "hives", "he was covered in hives")
    small.remembers(
        "m3",
        "family_history",
        "peanut allergy",
        "My sister is allergic to peanuts",
        experiencer="family",
        relation="aunt",
    )
    small.link("s2", "prescribed_for", "s3", inferred=True)
    small.link("s6", "caused_by", "s2")
    small.link("m1", "conflicts", "s2")
    small.link("m2", "supports", "s6")
    small.conflict("status", "s2", ("active", ("s2",)), ("stopped 2026-02-12", ("m1",)))
    return small
