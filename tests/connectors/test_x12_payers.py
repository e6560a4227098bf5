"""What payers, sponsors and reviewers say: payments, enrollment, eligibility, claim status, authorizations."""

from __future__ import annotations

from x12_small import interchange, lines, of, only, read, transaction

from iamata.engine import Engine
from iamata.model.clinical_time import Clock
from iamata.model.coding import Quantity
from iamata.model.statement import Aspect, Domain, Kind, Standing, Statement
from iamata.ports import Parsed

PAYER = ["N1*PR*GOOD PAYER*XV*P55", "N1*PE*RIVER CLINIC*XX*1111111112"]


def usd(value: str) -> Quantity:
    return Quantity(value, unit="USD")


def payment(*claims: str, day: str = "20260201") -> bytes:
    head = [f"BPR*I*100*C*CHK************{day}", "TRN*1*77*1999", f"DTM*405*{day}", *PAYER, "LX*1"]
    return interchange(transaction("835", "005010X221A1", *head, *claims), guide="005010X221A1")


def paid(number: str = "A1", status: str = "1", amount: str = "80", own: str = "PCN1") -> tuple[str, ...]:
    return (
        f"CLP*{number}*{status}*120*{amount}*10*12*{own}",
        "CAS*CO*45*30",
        "NM1*QC*1*REED*ANA****MI*M100",
        "DTM*232*20260105",
        f"SVC*HC:99213:25*120*{amount}",
        "DTM*472*20260105",
        "CAS*PR*3*10*1*2*5",
        "LQ*HE*N130",
    )


def test_a_payment_is_the_payers_with_amounts_and_adjustments() -> None:
    parsed = read(payment(*paid()))
    found = only(parsed, Kind.REMITTANCE)
    assert (found.aspect, found.domain, found.standing) == (Aspect.COVERED, Domain.FINANCIAL, Standing.FINAL)
    assert (found.field("total"), found.field("payment"), found.field("patient_responsibility")) == (
        usd("120"),
        usd("80"),
        usd("10"),
    )
    assert found.field("adjustments") == "contractual obligation 45: 30 USD"
    assert found.field("outcome") == "processed as primary"
    assert [(c.concept.display, c.value) for c in found.components] == [
        ("adjustment, contractual obligation 45", usd("30")),
        ("99213 25", usd("80")),
        ("adjustment, patient responsibility 3", usd("10")),
        ("adjustment, patient responsibility 2", usd("5")),
        ("remark N130", None),
    ]
    assert [(e.part.value, e.element) for e in found.authorship] == [("author", "N1*PR")]
    assert [(t.clock, str(t.at)) for t in found.times] == [
        (Clock.EFFECTIVE, "2026-01-05"),
        (Clock.PREPARED, "2026-02-01"),
    ]
    assert {i.value for i in found.identifiers} == {"A1", "PCN1"}
    assert not of(parsed, Kind.PROCEDURE)


def payments_of(*bodies: bytes) -> list[tuple[str, str]]:
    with Engine.open(":memory:") as engine:
        for body in bodies:
            engine.ingest("leo", body, source="payer")
        graph = engine.graph("leo")
        roles = {
            graph.attributions[s.id].author.role.value for s in graph.statements.values() if s.kind is Kind.REMITTANCE
        }
        assert roles == {"payer"}
        return sorted(
            (str(fact.standing), str(fact.field("payment").value))  # type: ignore[union-attr]
            for fact in graph.facts.values()
            if fact.kind is Kind.REMITTANCE
        )


def test_a_reversal_cancels_the_payment_and_a_correction_after_it_stands() -> None:
    original = payment(*paid())
    reversal = payment(*paid(status="22", amount="-80"), day="20260301")
    assert payments_of(original, reversal) == payments_of(reversal, original) == [("cancelled", "-80 USD")]
    corrected = payment(*paid(status="22", amount="-80"), *paid(amount="60"), day="20260301")
    assert payments_of(original, corrected) == payments_of(corrected, original) == [("corrected", "60 USD")]


def test_what_is_of_the_whole_payment_is_listed() -> None:
    parsed = read(payment(*paid(), "PLB*1111111112*20261231*CV:CP*-1.27"))
    assert "PLB" in {line.label for line in lines(parsed)}


def enrollment(*member: str) -> bytes:
    head = ["BGN*00*1*20260115*1200****2", "N1*P5*BIG EMPLOYER*FI*999888777", "N1*IN*GOOD PAYER*FI*654456654"]
    return interchange(transaction("834", "005010X220A1", *head, *member), guide="005010X220A1")


MEMBER = (
    "INS*Y*18*021*20*A***FT",
    "REF*0F*M100",
    "REF*1L*GRP7",
    "NM1*IL*1*REED*ANA****34*123456789",
    "DMG*D8*19800102*F*M",
)


def test_an_enrollment_is_the_sponsors_one_coverage_an_insurance_line() -> None:
    parsed = read(enrollment(*MEMBER, "HD*021**HLT*GOLD", "DTP*348*D8*20260101", "HD*021**VIS", "DTP*348*D8*20260201"))
    health, vision = of(parsed, Kind.INSURANCE)
    assert (health.concept.text if health.concept else "", health.field("plan")) == ("Health coverage", "GOLD")
    assert (health.field("member_id"), health.field("group"), health.field("payor")) == ("M100", "GRP7", "GOOD PAYER")
    assert health.field("relationship").display == "self"  # type: ignore[union-attr]
    assert (health.standing, health.aspect) == (Standing.ACTIVE, Aspect.COVERED)
    assert str(vision.times[0].at) == "2026-02-01 to"
    assert [(e.element, e.display) for e in health.authorship] == [("N1*P5", "BIG EMPLOYER")]
    person = only(parsed, Kind.DEMOGRAPHIC)
    assert (person.field("name"), person.field("marital_status")) == ("ANA REED", "married")


def test_a_termination_ends_the_coverage_of_the_same_line() -> None:
    begun = enrollment(*MEMBER, "HD*021**HLT", "DTP*348*D8*20260101")
    ended = enrollment("INS*Y*18*024*08*A***TE", *MEMBER[1:], "HD*024**HLT", "DTP*349*D8*20260131").replace(
        b"BGN*00*1*20260115", b"BGN*00*2*20260201"
    )
    with Engine.open(":memory:") as engine:
        for body in (ended, begun):
            engine.ingest("leo", body, source="sponsor")
        facts = [f for f in engine.graph("leo").facts.values() if f.kind is Kind.INSURANCE]
    assert [(str(f.standing), len(f.members), len(f.history)) for f in facts] == [("inactive", 1, 1)]


def levels(source: str, asker: str, *patient: str, begin: str) -> list[str]:
    return [begin, "HL*1**20*1", source, "HL*2*1*21*1", asker, "HL*3*2*22*0", *patient]


def eligibility(type: str, *patient: str) -> Parsed:
    begin = f"BHT*0022*{'11' if type == '271' else '13'}*1*20260301*1319"
    body = levels("NM1*PR*2*GOOD PAYER*****PI*P55", "NM1*1P*2*RIVER CLINIC*****XX*1111111112", *patient, begin=begin)
    return read(interchange(transaction(type, "005010X279A1", *body), guide="005010X279A1"))


ANA = ("NM1*IL*1*REED*ANA****MI*M100", "DMG*D8*19800102*F")


def test_an_eligibility_answer_is_coverage_with_benefits() -> None:
    parsed = eligibility(
        "271", *ANA, "DTP*346*D8*20260101", "EB*1**30**GOLD 123", "EB*B**98*HM**27*10.00*****Y", "MSG*CALL FIRST"
    )
    found = only(parsed, Kind.INSURANCE)
    assert (found.standing, found.field("plan"), found.field("member_id")) == (Standing.ACTIVE, "GOLD 123", "M100")
    assert [(c.concept.text, c.value) for c in found.components] == [
        ("active coverage, services 30", None),
        ("co-payment, services 98, visit, in network", usd("10.00")),
    ]
    assert [e.element for e in found.authorship] == ["NM1*PR"]
    assert [p.text for p in parsed.passages] == ["CALL FIRST"]


def test_inactive_coverage_is_inactive_and_a_rejected_request_says_nothing_of_coverage() -> None:
    assert only(eligibility("271", *ANA, "EB*6**30"), Kind.INSURANCE).standing is Standing.INACTIVE
    rejected = eligibility("271", *ANA, "AAA*N**75*C")
    assert not of(rejected, Kind.INSURANCE)
    assert any("rejects the request (AAA)" in line.detail for line in rejected.intake)


def test_an_eligibility_inquiry_only_says_that_a_provider_asked() -> None:
    parsed = eligibility("270", *ANA, "DTP*291*D8*20260301", "EQ*30")
    found = only(parsed, Kind.COMMUNICATION)
    assert (found.aspect, found.domain) == (Aspect.RECORDED, Domain.ADMINISTRATIVE)
    assert [e.element for e in found.authorship] == ["NM1*1P"]
    assert not of(parsed, Kind.INSURANCE)


def status(type: str, *claim: str) -> Parsed:
    body = [
        "BHT*0010*08*1*20260310*0810*DG",
        "HL*1**20*1",
        "NM1*PR*2*GOOD PAYER*****PI*P55",
        "HL*2*1*21*1",
        "NM1*41*2*BILLING HOUSE*****46*S1",
        "HL*3*2*19*1",
        "NM1*1P*2*RIVER CLINIC*****XX*1111111112",
        "HL*4*3*22*0",
        "NM1*IL*1*REED*ANA****MI*M100",
        *claim,
    ]
    return read(interchange(transaction(type, "005010X212", *body), guide="005010X212"))


def test_a_claim_status_is_the_payers() -> None:
    parsed = status(
        "277",
        "TRN*2*T1",
        "STC*F1:65*20260309**120*80",
        "REF*1K*PCN1",
        "REF*EJ*A1",
        "DTP*472*D8*20260105",
        "SVC*HC:99213*120*80",
    )
    found = only(parsed, Kind.CLAIM)
    assert (found.standing, found.status, found.aspect) == (Standing.COMPLETED, "F1", Aspect.COVERED)
    assert found.field("outcome").display == "finalized (F1:65)"  # type: ignore[union-attr]
    assert (found.field("total"), found.field("payment")) == (usd("120"), usd("80"))
    assert [e.element for e in found.authorship] == ["NM1*PR"]
    assert {i.value for i in found.identifiers} == {"A1", "PCN1"}


def test_a_status_request_is_the_providers() -> None:
    found = only(status("276", "TRN*1*T1", "REF*EJ*A1", "AMT*T3*120", "DTP*472*D8*20260105"), Kind.COMMUNICATION)
    assert [(e.part.value, e.element) for e in found.authorship] == [("author", "NM1*1P"), ("transmitter", "NM1*41")]
    assert found.field("total") == usd("120")


def authorization(purpose: str, *event: str) -> tuple[Parsed, Statement]:
    body = [
        *levels(
            "NM1*X3*2*GOOD PAYER UM*****PI*P55",
            "NM1*1P*1*GRAY*LEE****XX*3333333338",
            *ANA,
            begin=f"BHT*0007*{purpose}*1*20260320*1000",
        ),
        "HL*4*3*EV*1",
        *event,
        "HL*5*4*SS*0",
        "SV1*HC:70551",
        "HSD*VS*2",
    ]
    parsed = read(interchange(transaction("278", "005010X217", *body), guide="005010X217"))
    return parsed, only(parsed, Kind.AUTHORIZATION)


def test_a_request_for_authorization_is_the_providers_and_only_proposes() -> None:
    parsed, found = authorization("13", "TRN*1*T9*9TRACE", "UM*HS*I*2", "HI*ABK:G439", "DTP*AAH*D8*20260401")
    assert (found.aspect, found.standing) == (Aspect.PROPOSED, Standing.UNKNOWN)
    assert [(e.element, e.type) for e in found.authorship] == [("NM1*1P", "Practitioner")]
    assert found.field("diagnosis") == "icd10cm|G439"
    assert not of(parsed, Kind.CONDITION)
    assert [(c.concept.keys, c.value) for c in found.components] == [(("cpt|70551",), Quantity("2", unit="VS"))]


def test_an_answer_is_the_reviewers_and_certifies_pends_or_refuses() -> None:
    for code, standing in (("A1", Standing.ACTIVE), ("A3", Standing.INACTIVE), ("A4", Standing.PRELIMINARY)):
        parsed, found = authorization("11", "TRN*2*T9*9TRACE", "UM*HS*I", f"HCR*{code}*AUTH5")
        assert (found.aspect, found.standing) == (Aspect.COVERED, standing)
        assert found.field("authorization_number") == "AUTH5"
        with Engine.open(":memory:") as engine:
            del parsed
            body = interchange(
                transaction(
                    "278",
                    "005010X217",
                    *levels("NM1*X3*2*UM*****PI*P5", "NM1*1P*1*GRAY*LEE", *ANA, begin="BHT*0007*11*1*20260320*1000"),
                    "HL*4*3*EV*0",
                    f"HCR*{code}*AUTH5",
                ),
                guide="005010X217",
            )
            engine.ingest("leo", body)
            graph = engine.graph("leo")
            (held,) = [s for s in graph.statements.values() if s.kind is Kind.AUTHORIZATION]
            assert graph.attributions[held.id].author.role == "payer"
