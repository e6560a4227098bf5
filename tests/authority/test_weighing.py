"""What must always hold of a weight, and the examples the design names."""

from __future__ import annotations

import json
import math
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import MOMENT, Said, fact, graph, said

from iamata import authority
from iamata.errors import NotFound
from iamata.model.attribution import Certainty, Directness, Role
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.context import Authority
from iamata.model.graph import Graph
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.statement import Aspect, Form, Kind, Polarity, Standing, Verification

GENERAL = authority.profiles.load("general")
ROLES = (Role.CLINICIAN, Role.INSTITUTION, Role.LAB, Role.PAYER, Role.PHARMACY, Role.PATIENT, Role.PROXY, Role.UNKNOWN)
KINDS = {
    Kind.MEDICATION: (Aspect.TAKEN, Aspect.ORDERED, Aspect.DISPENSED),
    Kind.CONDITION: (Aspect.DIAGNOSED, Aspect.EXPERIENCED, Aspect.BILLED),
    Kind.ALLERGY: (Aspect.REACTED,),
    Kind.OBSERVATION: (Aspect.MEASURED,),
}

drawn = settings(max_examples=40, deadline=None)


def weigh(g: Graph, id: str, *, task: str = "general", aspect: Aspect | None = None) -> Authority:
    return authority.weigh(g, id, profile=authority.profiles.load(task), aspect=aspect, moment=MOMENT)


@st.composite
def a_question(draw: st.DrawFn) -> tuple[Kind, Aspect, list[Said], list[Said]]:
    """Some independent authors for and some against one thing."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    aspect = draw(st.sampled_from(KINDS[kind]))

    def voice(n: int, polarity: Polarity) -> Said:
        role = draw(st.sampled_from(ROLES))
        return said(
            f"st_{polarity[:1]}{n}",
            kind,
            "thing",
            role,
            aspect=aspect,
            polarity=polarity,
            reference="" if role is Role.PATIENT else f"{role}/{polarity}{n}",
            who=f"{role} {polarity} {n}",
            source=f"source {n} {polarity}",
            age_days=draw(st.one_of(st.none(), st.integers(0, 4000))),
            verification=draw(st.sampled_from((Verification.NONE, Verification.CONFIRMED, Verification.PROVISIONAL))),
            directness=draw(st.sampled_from(list(Directness))),
            certainty=draw(st.sampled_from(list(Certainty))),
            form=draw(st.sampled_from(list(Form))),
        )

    stands = [voice(n, Polarity.AFFIRMED) for n in range(draw(st.integers(1, 4)))]
    against = [voice(n, Polarity.DENIED) for n in range(draw(st.integers(0, 3)))]
    return kind, aspect, stands, against


def asked(stands: list[Said], against: list[Said]) -> Graph:
    """One fact that the first list supports and the second denies."""
    held = fact(*stands)
    conflicts = []
    if against:
        sides = (Side("so", held.members), Side("not so", tuple(sorted(s.statement.id for s in against))))
        conflicts.append(Conflict("cf_1", ConflictKind.EXISTENCE, held.id, "", sides, "test"))
        held = msgspec.structs.replace(held, conflicts=("cf_1",))
    return graph([*stands, *against], facts=[held, *(fact(one) for one in against)], conflicts=conflicts)


def the_fact(g: Graph, stands: list[Said]) -> str:
    return g.fact_of[stands[0].statement.id]


@drawn
@given(a_question())
def test_the_factors_add_up_to_the_log_odds_and_the_weight_is_its_logistic(question) -> None:
    _, aspect, stands, against = question
    g = asked(stands, against)
    for id in (the_fact(g, stands), *g.statements):
        weighed = weigh(g, id, aspect=aspect)
        assert abs(math.fsum(f.log_odds for f in weighed.factors) - weighed.log_odds) < 1e-9
        assert weighed.weight == pytest.approx(1 / (1 + math.exp(-weighed.log_odds)), abs=1e-12)
        assert 0 <= weighed.weight <= 1
        assert [f.name for f in weighed.factors] == list(authority.weighing._ORDER)
        assert all(f.why for f in weighed.factors)
        assert weighed.aspect is aspect


@drawn
@given(a_question(), st.sampled_from((Role.CLINICIAN, Role.LAB, Role.PAYER, Role.AGENT)), st.integers(0, 3000))
def test_one_more_independent_witness_who_agrees_never_lowers_and_one_who_disagrees_never_raises(
    question, role: Role, age_days: int
) -> None:
    kind, aspect, stands, against = question
    before = weigh(asked(stands, against), the_fact(asked(stands, against), stands), aspect=aspect)
    for polarity in (Polarity.AFFIRMED, Polarity.DENIED):
        more = said(
            "st_x",
            kind,
            "thing",
            role,
            aspect=aspect,
            polarity=polarity,
            reference="Practitioner/new",
            who="someone new",
            source="elsewhere",
            age_days=age_days + 0.4,
        )
        agree = polarity is Polarity.AFFIRMED
        g = asked([*stands, more] if agree else stands, against if agree else [*against, more])
        after = weigh(g, the_fact(g, stands), aspect=aspect)
        if agree:
            assert after.log_odds >= before.log_odds - 1e-12
        else:
            assert after.log_odds <= before.log_odds + 1e-12


@drawn
@given(a_question(), st.data())
def test_a_copy_changes_nothing(question, data) -> None:
    _, aspect, stands, against = question
    g = asked(stands, against)
    before = weigh(g, the_fact(g, stands), aspect=aspect)
    one = data.draw(st.sampled_from(stands))
    copy = Said(
        msgspec.structs.replace(
            one.statement,
            id="st_zcopy",
            provenance=msgspec.structs.replace(one.statement.provenance, source="another system"),
        ),
        one.attribution,
    )
    g = asked([*stands, copy], against)
    assert weigh(g, the_fact(g, stands), aspect=aspect).log_odds == pytest.approx(before.log_odds, abs=1e-12)


@drawn
@given(
    st.sampled_from(ROLES),
    st.sampled_from(
        [(Kind.MEDICATION, Aspect.TAKEN), (Kind.CONDITION, Aspect.EXPERIENCED), (Kind.CONDITION, Aspect.DIAGNOSED)]
    ),
    st.integers(0, 5000),
    st.integers(0, 5000),
    st.sampled_from(list(Polarity)),
)
def test_of_two_otherwise_equal_statements_about_a_changing_state_the_older_never_outweighs(
    role: Role, what: tuple[Kind, Aspect], one: int, other: int, polarity: Polarity
) -> None:
    kind, aspect = what
    newer, older = sorted((one, other))
    weights = []
    for age in (newer, older, None):
        g = graph([said("st_a", kind, "thing", role, aspect=aspect, age_days=age, polarity=polarity)])
        weights.append(weigh(g, "st_a", aspect=aspect).weight)
    assert weights[0] >= weights[1] >= weights[2], "and an undated one never wins on time"


@drawn
@given(a_question(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(question, chance: random.Random) -> None:
    _, aspect, stands, against = question
    g = asked(stands, against)
    first = {id: weigh(g, id, aspect=aspect) for id in (*g.facts, *g.statements)}
    mixed_for, mixed_against = list(stands), list(against)
    chance.shuffle(mixed_for)
    chance.shuffle(mixed_against)
    g2 = asked(mixed_for, mixed_against)
    g2 = msgspec.structs.replace(g2, statements=dict(sorted(g2.statements.items(), key=lambda _: chance.random())))
    assert {id: weigh(g2, id, aspect=aspect) for id in (*g2.facts, *g2.statements)} == first


@drawn
@given(a_question())
def test_reading_changes_nothing_and_gives_the_same_twice(question) -> None:
    _, aspect, stands, against = question
    g = asked(stands, against)
    before = msgspec.json.encode(g)
    first = weigh(g, the_fact(g, stands), aspect=aspect)
    assert weigh(g, the_fact(g, stands), aspect=aspect) == first
    assert msgspec.json.encode(g) == before


def test_a_better_eye_for_the_disease_never_lowers_a_denial() -> None:
    """An affirmation enters with ln(se/(1-sp)), a denial with ln(sp/(1-se)) (design 06)."""
    yes, no = authority.profiles.nats(0.877, 0.92)
    assert yes == pytest.approx(math.log(0.877 / 0.08))
    assert no == pytest.approx(math.log(0.92 / 0.123))
    assert authority.profiles.nats(0.95, 0.92)[1] > no


def test_entered_in_error_counts_nothing_and_is_valid_json() -> None:
    for changes in ({"standing": Standing.ENTERED_IN_ERROR}, {"verification": Verification.ENTERED_IN_ERROR}):
        g = graph([said("st_a", Kind.ALLERGY, "penicillin", Role.CLINICIAN, aspect=Aspect.REACTED, **changes)])
        for id in ("st_a", "fa_a"):
            weighed = weigh(g, id)
            assert weighed.weight == 0.0
            assert weighed.log_odds == authority.IN_ERROR == sum(f.log_odds for f in weighed.factors)
            assert json.loads(msgspec.json.encode(weighed))["weight"] == 0


def test_an_entry_in_error_is_neither_witness_nor_opponent() -> None:
    stands = [said("st_a", Kind.ALLERGY, "penicillin", Role.PATIENT, aspect=Aspect.REACTED)]
    wrong = said(
        "st_b",
        Kind.ALLERGY,
        "penicillin",
        Role.CLINICIAN,
        aspect=Aspect.REACTED,
        polarity=Polarity.DENIED,
        standing=Standing.ENTERED_IN_ERROR,
        reference="Practitioner/b",
    )
    alone = weigh(asked(stands, []), "fa_a")
    assert weigh(asked(stands, [wrong]), "fa_a").log_odds == alone.log_odds


def test_the_mothers_word_outweighs_an_old_no_known_allergies_in_pediatric_history() -> None:
    mother = said(
        "st_6",
        Kind.ALLERGY,
        "amoxicillin",
        Role.PROXY,
        who="mother",
        aspect=Aspect.REACTED,
        age_days=1,
        directness=Directness.PROXY,
    )
    none_known = said(
        "st_1",
        Kind.ALLERGY,
        "no known allergies",
        Role.CLINICIAN,
        who="Dr Ames",
        reference="Practitioner/ames",
        aspect=Aspect.REACTED,
        polarity=Polarity.DENIED,
        age_days=715,
    )
    sides = (Side("hives after amoxicillin", ("st_6",)), Side("no known allergies", ("st_1",)))
    conflict = Conflict("cf_1", ConflictKind.EXISTENCE, "fa_6", "", sides, "test")
    g = graph(
        [mother, none_known],
        facts=[fact(mother, conflicts=["cf_1"]), fact(none_known)],
        conflicts=[conflict],
        age_years=4,
    )
    profile = authority.profiles.load("pediatric_history")
    ordered = authority.sides(g, "cf_1", profile=profile, aspect=None, moment=MOMENT)
    assert [side.says for side, _ in ordered] == ["hives after amoxicillin", "no known allergies"]
    assert ordered[0][1].weight > 0.8 > 0.2 > ordered[1][1].weight
    assert "E146" in ordered[0][1].factors[1].why


def test_a_parent_steps_back_as_the_child_grows() -> None:
    weights = []
    for age in (2, 6, 10, 14, 18):
        mother = said("st_a", Kind.CONDITION, "cough", Role.PROXY, who="mother", aspect=Aspect.EXPERIENCED)
        own = said("st_b", Kind.CONDITION, "cough", Role.PATIENT, aspect=Aspect.EXPERIENCED)
        g = graph([mother, own], age_years=age + 0.01)
        weights.append(
            (weigh(g, "st_a", aspect=Aspect.EXPERIENCED).weight, weigh(g, "st_b", aspect=Aspect.EXPERIENCED).weight)
        )
    parents, children = zip(*weights, strict=True)
    assert list(parents) == sorted(parents, reverse=True)
    assert list(children) == sorted(children)
    assert parents[0] > children[0]
    assert parents[-1] < children[-1]


def test_two_tasks_rank_one_conflict_differently_and_the_standing_says_why() -> None:
    order = said("st_o", Kind.MEDICATION, "lisinopril", Role.CLINICIAN, aspect=Aspect.ORDERED, age_days=60)
    stopped = said(
        "st_s", Kind.MEDICATION, "lisinopril", Role.PATIENT, aspect=Aspect.TAKEN, polarity=Polarity.DENIED, age_days=5
    )
    sides = (Side("active", ("st_o",)), Side("stopped", ("st_s",)))
    conflict = Conflict("cf_1", ConflictKind.STATUS, "fa_o", "", sides, "test")
    g = graph(
        [order, stopped],
        facts=[fact(order, stopped, polarity=Polarity.AFFIRMED, conflicts=["cf_1"])],
        conflicts=[conflict],
    )
    first = {}
    for task in ("medication_reconciliation", "claims_adjudication"):
        ordered = authority.sides(g, "cf_1", profile=authority.profiles.load(task), aspect=None, moment=MOMENT)
        first[task] = ordered[0][0].says
        why = {f.name: f.why for f in ordered[0][1].factors}["standing"]
        assert ("on taken" if task == "medication_reconciliation" else "on ordered") in why
    assert first == {"medication_reconciliation": "stopped", "claims_adjudication": "active"}


def test_an_earlier_word_of_the_same_author_is_no_witness_against_the_later_one() -> None:
    earlier = said(
        "st_a",
        Kind.MEDICATION,
        "lisinopril",
        Role.CLINICIAN,
        reference="Practitioner/1",
        aspect=Aspect.TAKEN,
        age_days=90,
    )
    later = said(
        "st_b",
        Kind.MEDICATION,
        "lisinopril",
        Role.CLINICIAN,
        reference="Practitioner/1",
        aspect=Aspect.TAKEN,
        polarity=Polarity.DENIED,
        age_days=2,
    )
    sides = (Side("active", ("st_a",)), Side("stopped", ("st_b",)))
    g = graph(
        [earlier, later],
        facts=[fact(earlier, later)],
        conflicts=[Conflict("cf_1", ConflictKind.STATUS, "fa_a", "", sides, "t")],
    )
    by_side = {
        side.says: weighed for side, weighed in authority.sides(g, "cf_1", profile=GENERAL, aspect=None, moment=MOMENT)
    }
    assert {f.name: f.log_odds for f in by_side["stopped"].factors}["contradiction"] == 0
    assert {f.name: f.log_odds for f in by_side["active"].factors}["contradiction"] < 0


def test_an_agent_carries_at_most_its_sources_weight() -> None:
    source = said("st_a", Kind.CONDITION, "asthma", Role.CLINICIAN, reference="Practitioner/1", aspect=Aspect.DIAGNOSED)
    summary = said(
        "st_b", Kind.CONDITION, "asthma", Role.AGENT, who="summarizer", aspect=Aspect.DIAGNOSED, source="bot"
    )
    link = Link("li_1", LinkType.DERIVED_FROM, "st_b", "st_a", LinkSource.EXPLICIT_REFERENCE, "test", 1.0)
    g = graph([source, summary], links=[link])
    assert weigh(g, "st_b").log_odds == pytest.approx(0.95 * weigh(g, "st_a").log_odds)
    alone = graph([summary])
    assert weigh(alone, "st_b").log_odds < weigh(g, "st_b").log_odds


def test_no_aspect_borrows_its_neighbours_standing() -> None:
    order = said("st_a", Kind.MEDICATION, "lisinopril", Role.CLINICIAN, aspect=Aspect.ORDERED)
    g = graph([order])
    by_aspect = {
        aspect: weigh(g, "st_a", aspect=aspect).log_odds for aspect in (Aspect.ORDERED, Aspect.DISPENSED, Aspect.TAKEN)
    }
    assert by_aspect[Aspect.ORDERED] > by_aspect[Aspect.DISPENSED] > by_aspect[Aspect.TAKEN]
    claim = said("st_b", Kind.CONDITION, "asthma", Role.CLINICIAN, aspect=Aspect.BILLED)
    assert "not to this" in weigh(graph([claim]), "st_b", aspect=Aspect.DIAGNOSED).factors[1].why


def test_an_unknown_id_is_not_found() -> None:
    with pytest.raises(NotFound):
        weigh(graph([]), "st_nothing")


def test_no_single_word_weighs_more_than_four_nats() -> None:
    for task in authority.profiles.names():
        profile = authority.profiles.load(task)
        assert all(abs(row.yes) <= 4 and abs(row.no) <= 4 for row in profile.standing)
        lab = said(
            "st_a",
            Kind.OBSERVATION,
            "potassium",
            Role.LAB,
            aspect=Aspect.MEASURED,
            verification=Verification.CONFIRMED,
            standing=Standing.CORRECTED,
        )
        assert weigh(graph([lab]), "st_a", task=task).log_odds <= 4 + 1e-9
