"""Bills (837): a claim with its lines, what was billed stays billed, replacements and voids, whose claim it is."""

from __future__ import annotations

import pytest
from x12_small import BILLER, SUBSCRIBER, claim, claims, interchange, lines, of, only, place_of, read, transaction

from iamata.engine import Engine
from iamata.model.clinical_time import Clock
from iamata.model.coding import Quantity
from iamata.model.statement import Aspect, Domain, Kind, Standing

DEPENDENT = [
    "HL*2*1*22*1",
    "SBR*P**GRP7******CI",
    "NM1*IL*1*REED*ANA****MI*M100",
    "NM1*PR*2*GOOD PAYER*****PI*P55",
    "HL*3*2*23*0",
    "PAT*19",
    "NM1*QC*1*REED*TOM",
    "DMG*D8*20150607*M",
]


def test_a_claim_says_what_was_billed_by_whom_for_how_much() -> None:
    parsed = read(interchange(claims(claim(more=("REF*G1*PA9",)))))
    found = only(parsed, Kind.CLAIM)
    assert (found.aspect, found.domain, found.standing) == (Aspect.BILLED, Domain.FINANCIAL, Standing.ACTIVE)
    assert found.concept is not None
    assert found.concept.text == "Professional claim"
    assert found.field("total") == Quantity("120", unit="USD")
    assert (found.field("insurer"), found.field("provider")) == ("GOOD PAYER", "RIVER CLINIC")
    assert found.field("diagnosis") == "icd10cm|J069; icd10cm|E119"
    assert found.field("prior_authorization") == "PA9"
    ((line, paid),) = [(c.concept.keys, c.value) for c in found.components]
    assert (line, paid) == (("cpt|99213",), Quantity("120", unit="USD"))
    assert [(e.part.value, e.element, e.type, e.identifier) for e in found.authorship] == [
        ("author", "NM1*85", "Organization", "http://hl7.org/fhir/sid/us-npi|1111111112"),
        ("transmitter", "NM1*41", "Organization", "urn:x12:66:46|S1"),
    ]
    assert [(t.clock, str(t.at)) for t in found.times] == [
        (Clock.EFFECTIVE, "2026-01-05"),
        (Clock.PREPARED, "2026-01-10T09:30"),
    ]
    assert place_of(parsed, found) == "segments/16-21"


def test_billed_diagnoses_are_conditions_as_billed_and_nobody_diagnosed_by_them() -> None:
    found = of(read(interchange(claims(claim()))), Kind.CONDITION)
    assert [(s.concept.keys if s.concept else (), s.aspect, s.standing) for s in found] == [
        (("icd10cm|J069",), Aspect.BILLED, Standing.UNKNOWN),
        (("icd10cm|E119",), Aspect.BILLED, Standing.UNKNOWN),
    ]
    assert [str(s.field("category").display) for s in found] == ["billed principal diagnosis", "billed diagnosis"]  # type: ignore[union-attr]
    assert all([(t.clock, str(t.at)) for t in s.times] == [(Clock.ASSERTED, "2026-01-05")] for s in found)


def test_a_billed_diagnosis_is_told_as_billed_and_not_as_an_active_problem() -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest("leo", interchange(claims(claim())))
        page = engine.read("/patient/leo/conditions/").text
        graph = engine.graph("leo")
    assert "J069, as billed, recorded 2026-01-05, not stated whether current" in page
    assert "## active" not in page
    roles = {graph.attributions[s.id].author.role.value for s in graph.statements.values() if s.aspect is Aspect.BILLED}
    assert roles == {"institution"}


def test_billed_services_are_procedures_with_modifiers_and_a_drug_is_an_event() -> None:
    parsed = read(
        interchange(
            claims(
                claim(
                    lines=(
                        "LX*1",
                        "SV1*HC:J1550*53.37*UN*1***1",
                        "DTP*472*D8*20260105",
                        "LIN**N4*00026063512",
                        "CTP****10*ML",
                        "LX*2",
                        "SV1*HC:99213:25:57*50*UN*2***1",
                        "DTP*472*RD8*20260106-20260107",
                    )
                )
            )
        )
    )
    j, visit = of(parsed, Kind.PROCEDURE)
    assert [c.system for c in j.concept.codings] == ["http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets"]  # type: ignore[union-attr]
    assert (visit.field("modifiers"), visit.field("quantity")) == ("25 57", Quantity("2", unit="UN"))
    assert str(visit.times[0].at) == "2026-01-06 to 2026-01-07"
    drug = only(parsed, Kind.MEDICATION_EVENT)
    assert (drug.aspect, drug.concept.keys if drug.concept else ()) == (Aspect.BILLED, ("ndc|00026063512",))
    assert drug.field("dose_quantity") == Quantity("10", unit="ML")
    assert str(only(parsed, Kind.CLAIM).times[0].at) == "2026-01-05 to 2026-01-07"


def test_an_institutional_claim_keeps_revenue_lines_and_ward_codes() -> None:
    body = transaction(
        "837",
        "005010X223A2",
        "BHT*0019*00*1*20260110*0930*CH",
        *BILLER,
        *SUBSCRIBER,
        "CLM*H1*900***11:A:1",
        "DTP*434*RD8*20260101-20260103",
        "DTP*435*DT*202601010800",
        "HI*ABK:J189:::::::Y",
        "HI*BBR:0BH17EZ:D8:20260102",
        "HI*BG:09*BE:A2:::15.31",
        "NM1*71*1*JONES*JO****XX*2222222221",
        "LX*1",
        "SV2*0120**900*DA*2",
    )
    parsed = read(interchange(body, guide="005010X223A2"))
    found = only(parsed, Kind.CLAIM)
    assert found.concept is not None
    assert found.concept.text == "Institutional claim"
    assert str(found.field("admitted")) == "2026-01-01T08:00"
    assert found.field("billing_codes") == "condition code 09; value A2 15.31"
    assert found.components[0].concept.codings[0].code == "0120"
    assert only(parsed, Kind.CONDITION).field("present_on_admission") == "Y"
    operation = only(parsed, Kind.PROCEDURE)
    assert [str(t.at) for t in operation.times] == ["2026-01-02"]
    assert [e.element for e in found.authorship] == ["NM1*85", "NM1*71"]


def test_a_dental_service_is_read() -> None:
    body = claims(claim(lines=("LX*1", "SV3*AD:D1110*80****1", "DTP*472*D8*20260105")))
    assert only(read(interchange(body)), Kind.PROCEDURE).concept.codings[0].system == "http://www.ada.org/cdt"  # type: ignore[union-attr]


def test_amounts_are_in_the_currency_that_the_transaction_names() -> None:
    body = claims(claim())
    body.insert(body.index(BILLER[0]) + 1, "CUR*85*CAD")
    body[-1] = f"SE*{len(body)}*0001"
    assert only(read(interchange(body)), Kind.CLAIM).field("total") == Quantity("120", unit="CAD")


def test_the_claim_of_a_dependent_is_about_the_dependent_and_the_coverage_is_the_subscribers() -> None:
    parsed = read(interchange(claims(claim(), who=DEPENDENT)))
    who = only(parsed, Kind.DEMOGRAPHIC)
    assert (who.field("name"), str(who.field("birth_date")), who.field("sex")) == ("TOM REED", "2015-06-07", "male")
    cover = only(parsed, Kind.INSURANCE)
    assert (cover.field("member_id"), cover.field("subscriber"), cover.field("payor")) == (
        "M100",
        "ANA REED",
        "GOOD PAYER",
    )
    assert cover.field("relationship").display == "child"  # type: ignore[union-attr]
    assert parsed.set_aside == 0


def test_another_patients_claims_are_set_aside() -> None:
    other = [part.replace("REED", "OTHER").replace("M100", "M200").replace("HL*2*1", "HL*3*1") for part in SUBSCRIBER]
    body = claims(claim("A1"), claim("A2"), other, claim("B1"))
    parsed = read(interchange(body))
    assert {s.field("name") for s in of(parsed, Kind.DEMOGRAPHIC)} == {"ANA M REED"}
    assert len(of(parsed, Kind.CLAIM)) == 2
    assert parsed.set_aside == 3
    assert {line.detail for line in lines(parsed) if line.reason == "unusable"} == {"of another patient"}
    named = read(interchange(body), subject="M200")
    assert {s.field("name") for s in of(named, Kind.DEMOGRAPHIC)} == {"ANA M OTHER"}


def test_patients_named_equally_often_are_all_set_aside_and_a_warning_says_what_to_do() -> None:
    other = [part.replace("REED", "OTHER").replace("M100", "M200").replace("HL*2*1", "HL*3*1") for part in SUBSCRIBER]
    parsed = read(interchange(claims(claim("A1"), other, claim("B1"))))
    assert not of(parsed, Kind.CLAIM)
    assert "2 patients are named equally often" in parsed.warnings[0]


def graph_of(*bodies: bytes) -> dict[str, str]:
    """Display and standing of every fact of a claim or condition."""
    with Engine.open(":memory:") as engine:
        for body in bodies:
            engine.ingest("leo", body, source="clearing")
        graph = engine.graph("leo")
        return {
            f"{fact.kind} {fact.field('total').value if fact.field('total') else fact.display}": str(fact.standing)  # type: ignore[union-attr]
            for fact in graph.facts.values()
            if fact.kind in (Kind.CLAIM, Kind.CONDITION)
        }


ORIGINAL = interchange(claims(claim()))
REPLACEMENT = interchange(
    claims(claim(frequency="7", total="90", more=("REF*F8*PCN1",)), begin="BHT*0019*00*2*20260120*0900*CH")
)
VOID = interchange(claims(claim(frequency="8", more=("REF*F8*PCN1",)), begin="BHT*0019*00*3*20260121*0900*CH"))


@pytest.mark.parametrize("order", [(ORIGINAL, REPLACEMENT), (REPLACEMENT, ORIGINAL)])
def test_a_replacement_supersedes_the_claim_whatever_comes_first(order: tuple[bytes, bytes]) -> None:
    assert graph_of(*order) == {
        "claim 90 USD": "active",
        "condition J069": "unknown",
        "condition E119": "unknown",
    }


@pytest.mark.parametrize("order", [(ORIGINAL, REPLACEMENT, VOID), (VOID, ORIGINAL, REPLACEMENT)])
def test_a_void_cancels_the_claim_and_what_it_billed(order: tuple[bytes, ...]) -> None:
    assert graph_of(*order) == {"claim 120 USD": "cancelled"}


def test_interim_bills_of_one_account_are_claims_of_their_own() -> None:
    first = claim(frequency="2", lines=("LX*1", "SV1*HC:99221*50*UN*1***1", "DTP*472*D8*20260101"))
    second = claim(frequency="3", total="70", lines=("LX*1", "SV1*HC:99222*70*UN*1***1", "DTP*472*D8*20260201"))
    references = {s.provenance.record.reference for s in of(read(interchange(claims(first, second))), Kind.CLAIM)}
    assert len(references) == 2


def test_a_claim_note_is_a_passage_of_its_claim() -> None:
    parsed = read(interchange(claims(claim(more=("NTE*ADD*SEEN AFTER A FALL",)))))
    (passage,) = parsed.passages
    found = only(parsed, Kind.CLAIM)
    assert passage.text == "SEEN AFTER A FALL"
    assert passage.provenance.record == found.provenance.record
    assert found.field("note_count") == 1


def test_the_same_claim_in_another_interchange_is_the_same_statement() -> None:
    again = read(interchange(claims(claim()), end="\r\n"), document="en_2")
    assert {s.id for s in again.statements} == {s.id for s in read(ORIGINAL).statements}
