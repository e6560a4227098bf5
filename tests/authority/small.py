"""Graphs of a few statements that one can see: a patient is a list of who says what, and how long ago."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

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
from iamata.model.clinical_time import Clock, Timed, parse_time
from iamata.model.coding import CodedText
from iamata.model.conflict import Conflict
from iamata.model.fact import Currency, Fact, FieldVerdict, ResolvedField, fact_id
from iamata.model.graph import Graph
from iamata.model.link import Link
from iamata.model.memory import Memory
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect, Form, Kind, Polarity, Standing, Statement, Verification

NOW = datetime(2026, 2, 15, 9, tzinfo=UTC)
MOMENT = Moment(true_at=NOW)
LEO = patient("leo")
KINDS = {
    Role.PATIENT: AttributionKind.USER,
    Role.PROXY: AttributionKind.USER,
    Role.AGENT: AttributionKind.AGENT,
}


def days_ago(days: float) -> str:
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Said:
    """A statement with its attribution: `said("st_a", Kind.ALLERGY, "amoxicillin", Role.PROXY, age_days=1)`."""

    def __init__(self, statement: Statement, attribution: Attribution) -> None:
        self.statement = statement
        self.attribution = attribution


def said(
    id: str,
    kind: Kind,
    name: str,
    role: Role,
    *,
    aspect: Aspect,
    age_days: float | None = 0,
    polarity: Polarity = Polarity.AFFIRMED,
    who: str = "",
    reference: str = "",
    source: str = "northside",
    standing: Standing = Standing.ACTIVE,
    verification: Verification = Verification.NONE,
    directness: Directness = Directness.FIRST_HAND,
    certainty: Certainty = Certainty.STATED,
    form: Form = Form.STRUCTURED,
    digest: str = "",
) -> Said:
    times = () if age_days is None else (Timed(Clock.ASSERTED, parse_time(days_ago(age_days))),)
    statement = Statement(
        id=id,
        subject=LEO,
        kind=kind,
        provenance=Provenance(source, "test/1", RecordIdentity(kind.value, f"{kind.value}/{id}")),
        authorship=(AuthorshipEvidence(Part.NONE, "-"),),
        aspect=aspect,
        digest=digest or f"digest of {id}",
        concept=CodedText(name),
        polarity=polarity,
        standing=standing,
        verification=verification,
        times=times,
        form=form,
    )
    attribution = Attribution(
        KINDS.get(role, AttributionKind.SYSTEM),
        Author(role, reference, who),
        rule="test",
        directness=directness,
        certainty=certainty,
    )
    return Said(statement, attribution)


def fact(*members: Said, display: str = "", conflicts: Sequence[str] = (), **changes: object) -> Fact:
    ids = tuple(sorted(member.statement.id for member in members))
    first = members[0].statement
    values: dict[str, object] = {
        "id": fact_id(ids),
        "kind": first.kind,
        "display": display or (first.concept.display if first.concept else ""),
        "concept": first.concept,
        "members": ids,
        "polarity": first.polarity,
        "standing": first.standing,
        "currency": Currency.CURRENT,
        "conflicts": tuple(conflicts),
        **changes,
    }
    return Fact(**values)  # type: ignore[arg-type]  # a table of values for a keyword-only struct


def born(years_ago: float) -> Said:
    return said(
        "st_born", Kind.DEMOGRAPHIC, "Leo", Role.INSTITUTION, aspect=Aspect.RECORDED, age_days=100, who="front desk"
    )


def birth_fact(years_ago: float) -> Fact:
    date = parse_time((NOW - timedelta(days=365.25 * years_ago)).date().isoformat())
    return fact(born(years_ago), fields=(ResolvedField("birth_date", FieldVerdict.PICKED, date, "st_born"),))


def graph(
    statements: Sequence[Said],
    *,
    facts: Sequence[Fact] | None = None,
    conflicts: Sequence[Conflict] = (),
    memories: Sequence[Memory] = (),
    links: Sequence[Link] = (),
    age_years: float | None = None,
) -> Graph:
    statements = list(statements)
    held = list(facts) if facts is not None else [fact(one) for one in statements]
    if age_years is not None:
        statements.append(born(age_years))
        held.append(birth_fact(age_years))
    return Graph(
        subject=LEO,
        version=1,
        moment=MOMENT,
        hash="7f3c1234",
        statements={one.statement.id: one.statement for one in statements},
        passages={},
        sightings={},
        documents={},
        sessions={},
        memories={memory.id: memory for memory in memories},
        attributions={one.statement.id: one.attribution for one in statements},
        facts={one.id: one for one in sorted(held, key=lambda f: f.id)},
        fact_of={member: one.id for one in held for member in (*one.members, *(id for id, _ in one.history))},
        links={link.id: link for link in links},
        conflicts={conflict.id: conflict for conflict in conflicts},
        decisions={},
        unresolved=(),
        references={},
    )
