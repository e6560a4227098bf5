"""How what was said is put beside the record: supports, conflicts, refines, about, new; the fact is never touched."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import msgspec
import pytest

from iamata.formation import linking
from iamata.formation.learned import learn
from iamata.model.clinical_time import Clock, Timed, parse_time
from iamata.model.coding import CodedText, Coding
from iamata.model.fact import Currency, Fact, FieldVerdict, ResolvedField
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.memory import Memory
from iamata.model.session import Message, Session, Speaker, Turn
from iamata.model.statement import Component, Kind, Polarity, Standing

MINT = IdMint(b"k" * 32)
NOW = datetime(2026, 2, 15, 9, tzinfo=UTC)
SNOMED = "http://snomed.info/sct"


def fact(kind: Kind, display: str, standing: Standing = Standing.ACTIVE, **changes: object) -> Fact:
    members = (f"st_{content_digest(kind, display, standing, repr(sorted(changes)))[:20]}",)
    made = Fact(
        id="fa_" + members[0][3:], kind=kind, display=display, members=members, standing=standing,
        concept=CodedText(text=display), digest=content_digest(kind, display, standing),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


def field(name: str, value: str) -> ResolvedField:
    return ResolvedField(name, FieldVerdict.AGREED, value, "st_x")


def said(text: str, speaker: Speaker = Speaker.PATIENT, relationship: str = "", before: str = "") -> tuple[Memory, ...]:
    turns = [Turn(Speaker.AGENT, before)] if before else []
    turns.append(Turn(speaker, text, relationship=relationship, said_at=NOW))
    return learn(
        Session("s", "p", NOW, tuple(Message(f"ms_{i}", "s", i, t, NOW) for i, t in enumerate(turns))), mint=MINT
    )


def only(text: str, *facts: Fact, **how: str) -> Link:
    (link,) = linking.link(said(text, **how), facts, mint=MINT)  # type: ignore[arg-type]  # only `before` is passed
    return link


def of_relative(relation: str) -> Fact:
    diabetes = (Component(CodedText(text="Diabetes mellitus")),)
    return fact(Kind.FAMILY_HISTORY, relation, fields=(field("relationship", relation),), components=diabetes)


AMOXICILLIN = fact(Kind.MEDICATION, "Amoxicillin 250 MG Oral Tablet")
METFORMIN = fact(Kind.MEDICATION, "Metformin hydrochloride 500 MG Oral Tablet")
PEANUT = fact(Kind.ALLERGY, "Peanut allergy")
HIVES = fact(Kind.ALLERGY, "Amoxicillin", components=(Component(CodedText(text="Hives")),))
ONCE_A_DAY = fact(Kind.MEDICATION, "metFORMIN 500 mg", fields=(field("frequency", "1 per 1 d"),))
EVERY_12_HOURS = fact(Kind.MEDICATION, "Metformin", fields=(field("frequency", "1 per 12 h"),))
OF_500_MG = fact(Kind.MEDICATION, "Metformin", fields=(field("dose", "500 mg"),))
AUGMENTIN = fact(Kind.MEDICATION, "Amoxicillin 250 MG / Clavulanate 125 MG Oral Tablet")
DIABETES = fact(Kind.CONDITION, "Diabetes mellitus type 2 (disorder)")
NO_ALLERGIES = fact(
    Kind.ALLERGY, "No known allergy", polarity=Polarity.DENIED,
    concept=CodedText(text="No known allergy", codings=(Coding(SNOMED, "716186003"),)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "held", "type", "conflict"),
    [
        ("We stopped the amoxicillin.", AMOXICILLIN, LinkType.CONFLICTS, "status"),
        ("We stopped the amoxicillin.", fact(Kind.MEDICATION, "Amoxicillin", Standing.STOPPED), LinkType.SUPPORTS, ""),
        (
            "I take metformin every day.",
            ONCE_A_DAY,
            LinkType.SUPPORTS,
            "",
        ),
        ("I take metformin.", fact(Kind.MEDICATION, "Metformin", Standing.STOPPED), LinkType.CONFLICTS, "status"),
        ("I take Glucophage.", METFORMIN, LinkType.SUPPORTS, ""),
        ("I don't take metformin.", METFORMIN, LinkType.CONFLICTS, "status"),
        (
            "I take 850 mg of metformin.",
            OF_500_MG,
            LinkType.CONFLICTS,
            "dose",
        ),
        ("I take 1000 mg of metformin.", METFORMIN, LinkType.SUPPORTS, ""),
        (
            "I take metformin twice a day.",
            ONCE_A_DAY,
            LinkType.CONFLICTS,
            "frequency",
        ),
        (
            "I take metformin twice a day.",
            EVERY_12_HOURS,
            LinkType.SUPPORTS,
            "",
        ),
        ("I take metformin twice a day.", METFORMIN, LinkType.REFINES, ""),
        ("I keep forgetting my metformin.", METFORMIN, LinkType.REFINES, ""),
        ("I've been cutting my metformin in half.", METFORMIN, LinkType.CONFLICTS, "dose"),
        ("I ran out of metformin.", METFORMIN, LinkType.CONFLICTS, "status"),
        ("I used to take metformin.", METFORMIN, LinkType.ABOUT, ""),
        (
            "I take amoxicillin.",
            AUGMENTIN,
            LinkType.ABOUT,
            "",
        ),
        (
            "I take Augmentin.",
            AUGMENTIN,
            LinkType.SUPPORTS,
            "",
        ),
        ("I don't have any allergies.", PEANUT, LinkType.CONFLICTS, "existence"),
        ("I don't have any allergies.", NO_ALLERGIES, LinkType.SUPPORTS, ""),
        ("I'm allergic to latex.", NO_ALLERGIES, LinkType.CONFLICTS, "existence"),
        ("I'm allergic to peanuts.", PEANUT, LinkType.SUPPORTS, ""),
        ("I'm not allergic to peanuts.", PEANUT, LinkType.CONFLICTS, "existence"),
        ("I was allergic to peanuts as a kid.", PEANUT, LinkType.CONFLICTS, "status"),
        ("Peanuts give me hives.", PEANUT, LinkType.REFINES, ""),
        ("I'm allergic to amoxicillin.", AMOXICILLIN, LinkType.ABOUT, ""),
        ("I've had hives since Monday.", HIVES, LinkType.SUPPORTS, ""),
        ("The amoxicillin gave me diarrhea.", HIVES, LinkType.REFINES, ""),
        ("I have high blood pressure.", fact(Kind.CONDITION, "Hypertension"), LinkType.SUPPORTS, ""),
        ("I have diabetes.", DIABETES, LinkType.SUPPORTS, ""),
        (
            "I've never had diabetes.",
            DIABETES,
            LinkType.CONFLICTS,
            "existence",
        ),
        ("I have asthma.", fact(Kind.CONDITION, "Asthma", Standing.RESOLVED), LinkType.CONFLICTS, "status"),
        ("I don't have asthma.", fact(Kind.CONDITION, "Asthma", Standing.RESOLVED), LinkType.SUPPORTS, ""),
        (
            "My mother has diabetes.",
            of_relative("mother"),
            LinkType.SUPPORTS,
            "",
        ),
        ("My blood pressure was 142 over 88.", fact(Kind.OBSERVATION, "Blood pressure panel"), LinkType.ABOUT, ""),
    ],
)
def test_what_is_said_is_put_beside_the_fact_of_the_same_thing(
    text: str, held: Fact, type: LinkType, conflict: str
) -> None:
    link = only(text, held)
    assert (link.type, link.conflict_kind) == (type, conflict)
    assert link.target == held.id
    assert link.source is LinkSource.RULE
    assert 0 < link.confidence <= 1
    assert link.reasoning


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("My mother has diabetes.", fact(Kind.CONDITION, "Diabetes mellitus")),
        ("My sister is allergic to peanuts.", PEANUT),
        ("I take metformin.", AMOXICILLIN),
        (
            "My mother has diabetes.",
            of_relative("father"),
        ),
        ("I take a water pill.", AMOXICILLIN),
        ("I'm allergic to latex.", PEANUT),
        ("I have a headache.", fact(Kind.CONDITION, "Migraine")),
        ("I'm allergic to peanuts.", fact(Kind.ALLERGY, "Peanut", members=(), history=(("st_a", "entered in error"),))),
    ],
)
def test_what_the_record_does_not_hold_is_new(text: str, held: Fact) -> None:
    (memory,) = said(text)
    link = only(text, held)
    assert link.type is LinkType.NEW
    assert (link.origin, link.target) == (memory.id, memory.id)


def test_leos_mother_conflicts_with_the_active_order_and_supports_the_allergy() -> None:
    """The worked example of the design."""
    text = (
        "We stopped the amoxicillin on Thursday, he was covered in hives. My sister is allergic to peanuts, by the way."
    )
    stopped, hives, sister = said(text, Speaker.CAREGIVER, "mother")
    order = fact(Kind.MEDICATION, "Amoxicillin 250 MG / 5 ML Oral Suspension")
    links = linking.link([stopped, hives, sister], [order, HIVES, PEANUT], mint=MINT)
    found = {(link.origin, link.target): (link.type, link.conflict_kind) for link in links}
    assert found[stopped.id, order.id] == (LinkType.CONFLICTS, "status")
    assert found[hives.id, HIVES.id] == (LinkType.SUPPORTS, "")
    assert found[hives.id, order.id] == (LinkType.ABOUT, "")
    assert found[sister.id, sister.id] == (LinkType.NEW, "")
    assert len(found) == 4


def test_doubt_lowers_the_confidence() -> None:
    sure, unsure = only("I'm allergic to peanuts.", PEANUT), only("I might be allergic to peanuts.", PEANUT)
    assert unsure.type is sure.type
    assert unsure.confidence < sure.confidence


def test_only_the_latest_measurement_stands_beside_a_home_reading() -> None:
    older, newer = (
        fact(
            Kind.OBSERVATION,
            "Blood pressure",
            digest=day,
            when=Timed(Clock.EFFECTIVE, parse_time(day)),
            members=(f"st_{day}",),
            id=f"fa_{day}",
        )
        for day in ("2025-01-01", "2026-01-01")
    )
    assert only("My blood pressure was 142 over 88.", newer, older).target == newer.id


def test_an_ended_denial_does_not_conflict() -> None:
    past = msgspec.structs.replace(NO_ALLERGIES, currency=Currency.PAST)
    assert only("I'm allergic to latex.", past).type is LinkType.NEW


TOLD = ("I stopped metformin in May.", "I'm allergic to peanuts, I take amoxicillin.", "I don't have any allergies.")


def test_memories_and_facts_in_any_order_give_the_same_links_and_leave_the_facts_alone() -> None:
    memories = [
        m
        for text in (
            "I stopped metformin in May.",
            "I'm allergic to peanuts, I take amoxicillin.",
            "I don't have any allergies.",
        )
        for m in said(text)
    ]
    facts = [AMOXICILLIN, METFORMIN, PEANUT, HIVES, NO_ALLERGIES]
    before = msgspec.json.encode(facts)
    links = linking.link(memories, facts, mint=MINT)
    shuffle = random.Random(7)
    for _ in range(10):
        shuffle.shuffle(memories)
        shuffle.shuffle(facts)
        assert linking.link(memories, facts, mint=MINT) == links
    assert len({link.id for link in links}) == len(links)
    assert msgspec.json.encode([AMOXICILLIN, METFORMIN, PEANUT, HIVES, NO_ALLERGIES]) == before


def test_the_digest_is_of_content_and_not_of_ids() -> None:
    (link,) = linking.link(said("I take metformin."), [METFORMIN], mint=MINT)
    renamed = msgspec.structs.replace(METFORMIN, id="fa_other", members=("st_other",))
    (other,) = linking.link(said("I take metformin."), [renamed], mint=IdMint(b"o" * 32))
    assert other.id != link.id
    assert other.digest == link.digest
    assert "metformin" not in link.reasoning.lower()


def smoking(status: str) -> Fact:
    return fact(Kind.SOCIAL_HISTORY, "Tobacco smoking status", fields=(field("value", status),))


@pytest.mark.parametrize(
    ("text", "status", "type", "conflict"),
    [
        ("I have never smoked.", "Never smoker", LinkType.SUPPORTS, ""),
        ("I don't smoke.", "Former smoker", LinkType.SUPPORTS, ""),
        ("I don't smoke.", "Current every day smoker", LinkType.CONFLICTS, "status"),
        ("I smoke half a pack a day.", "Never smoker", LinkType.CONFLICTS, "existence"),
        ("I quit smoking in 2010.", "Former smoker", LinkType.REFINES, ""),
        ("I quit smoking in 2010.", "Current every day smoker", LinkType.CONFLICTS, "status"),
        ("I smoke.", "Smoker, current status unknown", LinkType.SUPPORTS, ""),
        ("I smoke.", "Unknown if ever smoked", LinkType.ABOUT, ""),
    ],
)
def test_a_habit_told_is_held_against_never_former_and_current(
    text: str, status: str, type: LinkType, conflict: str
) -> None:
    link = only(text, smoking(status))
    assert (link.type, link.conflict_kind) == (type, conflict)


def test_a_time_of_day_a_severity_and_a_vague_beginning_refine() -> None:
    assert only("I take metformin at bedtime.", ONCE_A_DAY).rule == "taken-with-more-detail"
    assert only("I take metformin every morning.", ONCE_A_DAY).rule == "taken-and-recorded"
    gout = fact(Kind.CONDITION, "Gout")
    assert only("I have severe gout.", gout).rule == "same-with-severity"
    assert only("I've had gout since I was a child.", gout).rule == "same-with-beginning"
    assert only("I have gout.", gout).rule == "same-condition"


def test_how_a_medicine_is_taken_when_a_disease_is_worse_and_a_life_without_smoking_are_held_against_the_record() -> (
    None
):
    assert only("I take the metformin with my supper.", ONCE_A_DAY).rule == "taken-with-more-detail"
    assert only("I crush the metformin in the mornings.", ONCE_A_DAY).rule == "taken-with-more-detail"
    gout = fact(Kind.CONDITION, "Gout")
    assert only("My gout plays up in the cold.", gout).rule == "same-with-course"
    assert only("My gout started when I was thirty.", gout).rule == "same-with-beginning"
    assert only("I'm a lifelong non-smoker.", smoking("Never smoker")).rule == "both-tell-habit"


def test_why_a_medicine_is_taken_explains_beside_the_support_and_a_worry_is_about_what_it_names() -> None:
    links = linking.link(said("I take metformin for my sugar."), [METFORMIN], mint=MINT)
    assert {(link.type, link.rule) for link in links} == {
        (LinkType.SUPPORTS, "taken-and-recorded"), (LinkType.EXPLAINS, "told-why"),
    }  # fmt: skip
    worry = linking.link(said("I'm worried about what metformin does to my kidneys."), [METFORMIN], mint=MINT)
    assert [(link.type, link.target) for link in worry] == [(LinkType.ABOUT, METFORMIN.id)]


def test_a_beginning_before_the_records_refines_a_medicine_and_an_allergy() -> None:
    assert only("I've been on metformin for nine years.", METFORMIN).rule == "taken-since"
    assert only("I've been allergic to peanuts since I was a child.", PEANUT).rule == "allergy-with-beginning"
    assert only("I haven't smoked since my son was born.", smoking("Former smoker")).rule == "habit-with-more-detail"
