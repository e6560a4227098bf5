"""Allergies, diagnoses, problems, goals, procedures, medicines, vaccines, documents, visits and appointments."""

from __future__ import annotations

from base64 import b64encode

import pytest
from document_files import pdf
from hl7_small import PID, all_of, attribution, fold, line, message, one, read, segment, time

from iamata.model.attribution import AttributionKind, Certainty, Directness, Role
from iamata.model.clinical_time import Clock
from iamata.model.coding import CodedText, Quantity
from iamata.model.document import Reason
from iamata.model.statement import Aspect, Domain, Kind, Polarity, Standing, Statement, Verification
from iamata.ports import Parsed

PV1 = "PV1|1|I|4E^136^B^NORTH||||7^Attend^Ann|||SUR|||||||||V9^^^NORTH|||||||||||||||||||||||||202506010800"


def words(value: object) -> str:
    assert isinstance(value, CodedText)
    return value.display


# Allergies.


def test_an_allergy_has_its_category_severity_and_reactions_and_no_author() -> None:
    parsed = read("AL1|1|DA^Drug^HL70127|7980^Penicillin^RXNORM|SV|HIVES~ITCHING|20200301", event="ADT^A01")
    found = one(parsed, Kind.ALLERGY)
    assert found.concept is not None
    assert found.concept.keys == ("rxnorm|7980",)
    assert (found.field("category"), found.field("criticality")) == ("medication", "high")
    assert [(c.concept.text, c.value) for c in found.components] == [("HIVES", "severe"), ("ITCHING", "severe")]
    assert time(found, Clock.ASSERTED) == "2020-03-01"
    assert time(found, Clock.EFFECTIVE) == ""
    assert attribution(parsed, found).certainty is Certainty.ASSUMED


IAM = "IAM|1|FA^Food^HL70127|91935009^Peanut^SCT|MO|RASH|A|I1^NORTH||AL||201805||20201005|{who}||C||||||7^Rec^Rita"


@pytest.mark.parametrize(
    ("who", "kind", "role", "directness"),
    [
        ("Ray^Leo|SEL^Self", AttributionKind.USER, Role.PATIENT, Directness.FIRST_HAND),
        ("|SEL", AttributionKind.USER, Role.PATIENT, Directness.FIRST_HAND),
        ("Ray^Mia|MTH^Mother", AttributionKind.USER, Role.PROXY, Directness.PROXY),
        ("Ray^Mia|UNK", AttributionKind.SYSTEM, Role.CLINICIAN, Directness.FIRST_HAND),
        ("|", AttributionKind.SYSTEM, Role.CLINICIAN, Directness.FIRST_HAND),
    ],
)
def test_who_reported_an_adverse_reaction(who: str, kind: AttributionKind, role: Role, directness: Directness) -> None:
    parsed = read(IAM.replace("{who}", who), event="ADT^A60")
    found = one(parsed, Kind.ALLERGY)
    told = attribution(parsed, found)
    assert (told.kind, told.author.role, told.directness) == (kind, role, directness)
    assert told.recorder is None or told.recorder.display == "Rita Rec"
    assert (found.verification, found.standing) == (Verification.CONFIRMED, Standing.ACTIVE)
    assert time(found, Clock.EFFECTIVE) == "2018-05"


def test_a_relative_who_reported_it_is_named_with_the_relationship() -> None:
    parsed = read(IAM.replace("{who}", "Ray^Mia|MTH^Mother"), event="ADT^A60")
    assert attribution(parsed, one(parsed, Kind.ALLERGY)).author.display == "Mia Ray (Mother)"


def test_a_deleted_adverse_reaction_leaves_no_fact() -> None:
    added = IAM.replace("{who}", "|")
    graph = fold(
        message(added, event="ADT^A60"), message(added.replace("|RASH|A|", "|RASH|D|"), event="ADT^A60", at="20260101")
    )
    assert not [f for f in graph.facts.values() if f.kind is Kind.ALLERGY]


def test_no_known_allergies_is_a_denial_and_none_recorded_is_nothing() -> None:
    found = one(read("AL1|1||716186003^No known allergy^SCT", event="ADT^A01"), Kind.ALLERGY)
    assert (found.polarity, found.field("covers")) == (Polarity.DENIED, "all")
    assert one(read("AL1|1|DA|^No known drug allergies", event="ADT^A01"), Kind.ALLERGY).polarity is Polarity.DENIED


# Diagnoses and problems.


@pytest.mark.parametrize(
    ("event", "type", "aspect", "verification"),
    [
        ("ADT^A01", "W", Aspect.DIAGNOSED, Verification.PROVISIONAL),
        ("ADT^A01", "F", Aspect.DIAGNOSED, Verification.CONFIRMED),
        ("ADT^A01", "A", Aspect.DIAGNOSED, Verification.NONE),
        ("DFT^P03", "F", Aspect.BILLED, Verification.NONE),
        ("BAR^P01", "W", Aspect.BILLED, Verification.NONE),
    ],
)
def test_a_diagnosis_is_working_final_or_billed(
    event: str, type: str, aspect: Aspect, verification: Verification
) -> None:
    parsed = read(PV1, f"DG1|1||I63.9^Stroke^I10C||20250601|{type}|||||||||1|5^Diag^Dan", event=event)
    found = one(parsed, Kind.CONDITION)
    assert (found.aspect, found.verification) == (aspect, verification)
    assert found.domain is (Domain.FINANCIAL if aspect is Aspect.BILLED else Domain.CLINICAL)
    assert found.concept is not None
    assert found.concept.keys == ("icd10cm|I639",)
    assert attribution(parsed, found).author.display == "Dan Diag"
    assert found.provenance.record.reference == f"condition/NORTH|V9/I10C|I63.9/{type}"


def test_a_bare_diagnosis_code_is_of_the_method_before_it_and_described_after_it() -> None:
    found = one(read("DG1|1|I9C|626.2|Heavy periods||F", event="ADT^A01"), Kind.CONDITION)
    assert found.concept is not None
    assert (found.concept.display, found.concept.keys) == ("Heavy periods", ("icd9cm|6262",))


def test_a_diagnosis_deleted_by_its_identifier_leaves_no_fact() -> None:
    added = "DG1|1||I63.9^Stroke^I10C|||F||||||||||||||DX1^NORTH|A"
    graph = fold(
        message(added, event="ADT^A08"), message(added.removesuffix("A") + "D", event="ADT^A08", at="20250702")
    )
    assert not [f for f in graph.facts.values() if f.kind is Kind.CONDITION]


PRB = "PRB|{act}|{at}|38341003^Hypertension^SCT|P7^NORTH|||20240101||{resolved}||||CONFIRMED|{life}||20230501"


def problem(act: str = "AD", at: str = "202501010900", resolved: str = "", life: str = "ACTIVE") -> bytes:
    segment = PRB.format(act=act, at=at, resolved=resolved, life=life)
    return message(segment, "NTE|1||reported by mistake" if act == "DE" else "", event="PPR^PC1")


def test_a_problem_has_its_onset_its_states_and_when_each_was_said() -> None:
    found = one(
        read(PRB.format(act="AD", at="202501010900", resolved="", life="ACTIVE"), event="PPR^PC1"), Kind.CONDITION
    )
    assert (found.standing, found.verification) == (Standing.ACTIVE, Verification.CONFIRMED)
    assert time(found, Clock.EFFECTIVE) == "2023-05-01"
    assert time(found, Clock.ASSERTED) == "2025-01-01T09:00"
    assert time(found, Clock.AUTHORED) == "2024-01-01"


def test_a_problem_updated_is_resolved_and_one_deleted_is_gone() -> None:
    (fact,) = [
        f
        for f in fold(problem(), problem("UP", "202502010900", "20250131", "RESOLVED")).facts.values()
        if f.kind is Kind.CONDITION
    ]
    assert fact.standing is Standing.RESOLVED
    gone = fold(problem(), problem("DE", "202502010900"))
    assert not [f for f in gone.facts.values() if f.kind is Kind.CONDITION]
    assert "reported by mistake" in {p.text for p in gone.passages.values()}


def test_a_role_beside_a_problem_can_name_its_author() -> None:
    parsed = read("PRB|AD|2025|1^a^L|P1", "ROL|1|AD|AU^Authoring^HL70443|8^Write^Will", event="PPR^PC1")
    assert attribution(parsed, one(parsed, Kind.CONDITION)).author.display == "Will Write"


def test_goals_and_procedures_are_read() -> None:
    goal = one(
        read(
            segment("GOL", _1="AD", _2="20250101", _3="^Walk daily^L", _4="G1^NORTH", _8="20260101", _18="ACTIVE"),
            event="PGL^PC6",
        ),
        Kind.GOAL,
    )
    assert (goal.field("description"), str(goal.field("due")), goal.standing) == (
        "Walk daily",
        "2026-01-01",
        Standing.ACTIVE,
    )
    done = one(
        read(PV1, segment("PR1", _3="44950^Appendectomy^C4", _5="20250601", _11="9^Cut^Carl"), event="ADT^A01"),
        Kind.PROCEDURE,
    )
    assert (done.aspect, time(done, Clock.EFFECTIVE)) == (Aspect.DONE, "2025-06-01")
    assert [e.element for e in done.authorship] == ["PR1-11", "MSH-4"]


# Medicines and vaccines.

ORC = "ORC|NW|P5^EHR|F5^PHARM||||||20250601|1^En^Ed|2^Ve^Vi|3^Order^Ora"


def test_an_order_of_a_medicine_has_dose_route_frequency_and_supply() -> None:
    parsed = read(
        ORC,
        "TQ1|1||BID|||||20250610|20250601",
        segment(
            "RXE",
            _2="723^Amoxicillin^RXNORM",
            _3="500",
            _5="mg^^UCUM",
            _6="CAP^Capsule",
            _7="^with food",
            _10="20",
            _11="CAP^Capsule",
            _12="2",
            _27="^sinusitis",
        ),
        "RXR|PO^Oral^HL70162",
        "NTE|1||generic is fine",
        event="RDE^O11",
    )
    found = one(parsed, Kind.MEDICATION)
    assert (found.aspect, found.standing) == (Aspect.ORDERED, Standing.ACTIVE)
    assert (found.field("dose"), found.field("frequency"), found.field("dosage_text")) == ("500 mg", "BID", "with food")
    assert (words(found.field("route")), words(found.field("form")), found.field("refills")) == ("Oral", "Capsule", 2)
    assert found.field("supply") == Quantity("20", "CAP", "", "", "")
    assert attribution(parsed, found).author.display == "Ora Order"
    assert [p.text for p in parsed.passages] == ["generic is fine"]
    assert time(found, Clock.ORDERED) == "2025-06-01"


def test_an_order_that_is_encoded_is_one_order() -> None:
    parsed = read(
        ORC, "RXO|723^Amoxicillin^RXNORM|250|500|mg|||^asked", "RXE||723^Amoxicillin^RXNORM|500||mg", event="RDE^O11"
    )
    found = one(parsed, Kind.MEDICATION)
    assert (found.field("dose"), found.field("dosage_text")) == ("500 mg", "asked")
    asked = one(read(ORC, "RXO|723^Amoxicillin^RXNORM|250|500|mg", event="OMP^O09"), Kind.MEDICATION)
    assert asked.field("dose") == "250-500 mg"


def test_a_dispense_and_a_dose_given_are_events_of_the_order() -> None:
    dispensed = read(ORC, "RXD|1|723^Amoxicillin^RXNORM|20250602|20|CAP^Capsule||RX88|1||9^Phil^Pam", event="RDS^O13")
    event = one(dispensed, Kind.MEDICATION_EVENT)
    assert (event.aspect, time(event, Clock.HANDED_OVER), event.field("supply")) == (
        Aspect.DISPENSED,
        "2025-06-02",
        Quantity("20", "CAP", "", "", ""),
    )
    assert attribution(dispensed, event).author.display == "Pam Phil"
    assert ("authorizingPrescription/ORC-2", "medication/EHR|P5/RXNORM|723") in {
        (r.element, r.reference) for r in event.references
    }
    given = read(
        ORC, "RXA|0|1|202506020800|202506020800|723^Amoxicillin^RXNORM|500|mg|||9^Give^Gus", "RXR|PO", event="RAS^O17"
    )
    dose = one(given, Kind.MEDICATION_EVENT)
    assert (dose.aspect, time(dose, Clock.EFFECTIVE), dose.field("dose")) == (
        Aspect.GIVEN,
        "2025-06-02T08:00",
        "500 mg",
    )


def test_a_pharmacy_order_is_stopped_by_its_number_alone() -> None:
    new = message(ORC, "RXE||723^Amoxicillin^RXNORM|500||mg", event="RDE^O11")
    stop = message("ORC|DC|P5^EHR|F5^PHARM||||||20250605", event="RDE^O11")
    (fact,) = [f for f in fold(new, stop).facts.values() if f.kind is Kind.MEDICATION]
    assert (fact.display, fact.standing) == ("Amoxicillin", Standing.STOPPED)


RXA = segment(
    "RXA",
    _3="20141012",
    _5="88^influenza^CVX",
    _6="{dose}",
    _7="mL^^UCUM",
    _9="{note}^x^NIP001",
    _10="{who}",
    _15="LOT1",
    _18="{refusal}",
    _20="{done}",
    _21="{act}",
)


def vaccine(note: str, who: str = "", dose: str = "0.5", done: str = "CP", act: str = "A", refusal: str = "") -> Parsed:
    rxa = RXA.format(note=note, who=who, dose=dose, done=done, act=act, refusal=refusal)
    return read("ORC|RE||F1^IIS|||||||7^Enter^Eve", rxa, "RXR|IM^Intramuscular|LD^Left deltoid", event="VXU^V04")


@pytest.mark.parametrize(
    ("note", "who", "kind", "role", "directness"),
    [
        ("00", "7^Give^Gina", AttributionKind.SYSTEM, Role.CLINICIAN, Directness.FIRST_HAND),
        ("01", "", AttributionKind.SYSTEM, Role.INSTITUTION, Directness.SECOND_HAND),
        ("02", "", AttributionKind.SYSTEM, Role.INSTITUTION, Directness.SECOND_HAND),
        ("03", "", AttributionKind.SYSTEM, Role.INSTITUTION, Directness.SECOND_HAND),
        ("04", "", AttributionKind.USER, Role.PROXY, Directness.PROXY),
        ("05", "", AttributionKind.SYSTEM, Role.INSTITUTION, Directness.SECOND_HAND),
        ("07", "", AttributionKind.SYSTEM, Role.INSTITUTION, Directness.SECOND_HAND),
    ],
)
def test_where_an_immunization_report_comes_from(
    note: str, who: str, kind: AttributionKind, role: Role, directness: Directness
) -> None:
    parsed = vaccine(note, who)
    found = one(parsed, Kind.IMMUNIZATION)
    told = attribution(parsed, found)
    assert (told.kind, told.author.role, told.directness) == (kind, role, directness)
    assert found.field("primary_source") is (note == "00")
    assert (found.field("lot"), words(found.field("site"))) == ("LOT1", "Left deltoid")


def test_a_refused_vaccine_is_a_denial_and_a_deleted_one_an_error() -> None:
    refused = one(vaccine("00", done="RE", refusal="00^Parental decision^NIP002"), Kind.IMMUNIZATION)
    assert (refused.standing, refused.polarity) == (Standing.NOT_DONE, Polarity.DENIED)
    assert words(refused.field("status_reason")) == "Parental decision"
    assert one(vaccine("00", act="D"), Kind.IMMUNIZATION).standing is Standing.ENTERED_IN_ERROR


def test_an_unknown_amount_is_no_dose_and_no_vaccine_is_no_immunization() -> None:
    assert one(vaccine("01", dose="999"), Kind.IMMUNIZATION).field("dose") is None
    parsed = read(
        "ORC|RE||9999^IIS", "RXA|0|1|20250101||998^none^CVX|999", "OBX|1|CE|59784-9^Immunity^LN||1^x^SCT||||||F"
    )
    assert not all_of(parsed, Kind.IMMUNIZATION)
    assert one(parsed, Kind.OBSERVATION)


# Documents.

TXA = segment(
    "TXA",
    _1="1",
    _2="DS",
    _3="TX",
    _4="20250601",
    _5="5^Act^Al",
    _6="202506020800",
    _8="202506030800",
    _9="6^Orig^Olive",
    _10="7^Auth^Ava",
    _11="8^Type^Ty",
    _12="D1^NORTH",
    _13="{parent}",
    _17="{state}",
    _18="{secret}",
    _19="{avail}",
    _22="9^Sign^Sy^^^^^^^^^^^^202506040800",
)


def letter(parent: str = "", state: str = "AU", secret: str = "", avail: str = "AV", event: str = "MDM^T02") -> Parsed:
    txa = TXA.format(parent=parent, state=state, secret=secret, avail=avail)
    return read(txa, "OBX|1|TX|11^Course||Came in well.||||||F", "OBX|2|TX|11^Course||Went home.||||||F", event=event)


def test_a_document_has_its_text_its_writers_and_its_clocks() -> None:
    parsed = letter()
    found = one(parsed, Kind.DOCUMENT)
    assert (found.standing, found.provenance.record.reference) == (Standing.FINAL, "document/NORTH|D1")
    assert words(found.concept) == "discharge summary"
    told = attribution(parsed, found)
    assert (told.author.display, told.verifier and told.verifier.display) == ("Olive Orig", "Ava Auth")
    assert [(e.element, e.time) for e in found.authorship if e.time] == [("TXA-22", "2025-06-04T08:00")]
    (passage,) = parsed.passages
    assert (passage.text, passage.title) == ("Came in well.\nWent home.", "Course")
    assert {s.place.pointer for s in parsed.sightings if s.item == passage.id} == {"/1/OBX/1-2/5"}
    assert time(found, Clock.AUTHORED) == "2025-06-02T08:00"


def test_a_document_is_replaced_withdrawn_or_restricted() -> None:
    replacing = one(letter(parent="D0^NORTH", event="MDM^T10"), Kind.DOCUMENT)
    assert ("relatesTo:replaces/TXA-13", "document/NORTH|D0") in {
        (r.element, r.reference) for r in replacing.references
    }
    assert one(letter(avail="CA"), Kind.DOCUMENT).standing is Standing.ENTERED_IN_ERROR
    assert one(letter(event="MDM^T11"), Kind.DOCUMENT).standing is Standing.ENTERED_IN_ERROR
    assert one(letter(avail="OB"), Kind.DOCUMENT).standing is Standing.INACTIVE
    assert [str(label) for label in one(letter(secret="R"), Kind.DOCUMENT).labels] == [
        "http://terminology.hl7.org/CodeSystem/v3-Confidentiality|R"
    ]


def test_text_that_is_withdrawn_line_by_line_is_no_text_of_its_document() -> None:
    parsed = read(
        TXA.format(parent="", state="AU", secret="", avail="AV"), "OBX|1|TX|1||kept||||||F", "OBX|2|TX|1||gone||||||D"
    )
    assert [p.text for p in parsed.passages] == ["kept"]
    assert line(parsed, "/1/OBX/2").reason is Reason.UNSUPPORTED


# Visits and appointments.


def visit(event: str, *, discharged: str = "", at: str = "20250601083000") -> bytes:
    return message(f"EVN||{at}|||77^Op^Otto", PV1 + (f"|{discharged}" if discharged else ""), event=event, at=at)


def visits(*bodies: bytes) -> list[tuple[Standing, str]]:
    return [
        (fact.standing, str(fact.when.at) if fact.when else "")
        for fact in fold(*bodies).facts.values()
        if fact.kind is Kind.ENCOUNTER
    ]


def test_a_visit_has_its_class_place_clinicians_and_times() -> None:
    found = one(read("EVN||20250601", PV1, "PV2|||140004^Sore throat^SCT", event="ADT^A01"), Kind.ENCOUNTER)
    assert (found.concept and found.concept.display, found.field("location")) == ("inpatient", "4E, room 136, B, NORTH")
    assert (found.field("attending"), words(found.field("reason"))) == ("Ann Attend", "Sore throat")
    assert (found.standing, found.provenance.record.reference) == (Standing.ACTIVE, "encounter/NORTH|V9")
    assert time(found, Clock.EFFECTIVE) == "2025-06-01T08:00"


IN, OUT, UNDO = visit("ADT^A01"), visit("ADT^A03", discharged="20250603", at="20250603"), "20250604"


@pytest.mark.parametrize(
    ("bodies", "standing", "when"),
    [
        ((IN,), Standing.ACTIVE, "2025-06-01T08:00"),
        ((IN, OUT), Standing.COMPLETED, "2025-06-01T08:00 to 2025-06-03"),
        ((OUT, IN), Standing.COMPLETED, "2025-06-01T08:00 to 2025-06-03"),
        ((IN, OUT, visit("ADT^A13", discharged="20250603", at=UNDO)), Standing.ACTIVE, "2025-06-01T08:00"),
        ((IN, visit("ADT^A11", at=UNDO)), Standing.CANCELLED, "2025-06-01T08:00"),
        ((IN, visit("ADT^A12", at=UNDO)), Standing.ACTIVE, "2025-06-01T08:00"),
    ],
)
def test_the_latest_event_of_a_visit_says_how_it_stands(
    bodies: tuple[bytes, ...], standing: Standing, when: str
) -> None:
    assert visits(*bodies) == [(standing, when)]


def test_a_deleted_visit_leaves_no_fact() -> None:
    assert visits(IN, visit("ADT^A23", at=UNDO)) == []


def test_a_result_message_says_nothing_new_of_the_state_of_its_visit() -> None:
    assert visits(IN, message(PV1, "OBX|1|ST|1^a^L||x||||||F", at="20250605")) == [
        (Standing.ACTIVE, "2025-06-01T08:00")
    ]


SCH = segment("SCH", _1="P1^CLINIC", _2="F1^CLINIC", _7="^Check-up", _9="30", _10="min^^UCUM", _25="{status}")


def appointment(event: str, status: str = "Booked") -> Statement:
    sch = [SCH.format(status=status), "TQ1|1||||||202507010900|202507010930"]
    lines = [*sch, PID, "AIS|1||99^Eye exam^L", "AIP|1||4^Look^Lu", "NTE|1||bring glasses"]
    return one(read(*lines, event=f"SIU^{event}", pid=""), Kind.APPOINTMENT)


@pytest.mark.parametrize(
    ("event", "status", "standing"),
    [
        ("S12", "Booked", Standing.PLANNED),
        ("S13", "", Standing.PLANNED),
        ("S15", "Booked", Standing.CANCELLED),
        ("S17", "", Standing.ENTERED_IN_ERROR),
        ("S26", "", Standing.NOT_DONE),
        ("S14", "Complete", Standing.COMPLETED),
        ("S14", "Noshow", Standing.NOT_DONE),
    ],
)
def test_an_appointment_is_booked_cancelled_or_missed(event: str, status: str, standing: Standing) -> None:
    found = appointment(event, status)
    assert found.standing is standing
    assert (found.concept and found.concept.display, found.field("with")) == ("Eye exam", "Lu Look")
    assert time(found, Clock.PLANNED) == "2025-07-01T09:00 to 2025-07-01T09:30"
    assert found.field("note_count") == 1


def enclosed(kind: str, body: bytes, encoding: str = "Base64") -> Parsed:
    data = b64encode(body).decode() if encoding == "Base64" else body.decode()
    txa = TXA.format(parent="", state="AU", secret="", avail="AV")
    return read(txa, f"OBX|1|ED|11^Echo||^{kind}^{encoding}^{data}||||||F", event="MDM^T02")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("Application^PDF", pdf(["Left ventricle is normal."])),
        ("Application^RTF", rb"{\rtf1\ansi Left ventricle is normal.}"),
        ("TEXT^HTML", b"<html><body><p>Left ventricle is normal.</p><script>x()</script></body></html>"),
        ("TEXT^PLAIN", b"Left ventricle is normal."),
    ],
    ids=["pdf", "rtf", "html", "plain"],
)
def test_an_enclosed_file_is_read_as_the_text_of_its_document(kind: str, body: bytes) -> None:
    (passage,) = enclosed(kind, body).passages
    assert (passage.text.strip(), passage.title) == ("Left ventricle is normal.", "Echo")


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("Application^PDF", b"no such file", "1/OBX/1/5 (application/pdf) "),
        ("IM^JPEG", b"\xff\xd8\xff picture", "1/OBX/1/5 (image/jpeg) is kept in the document, not read"),
        ("App^Patient Jones", b"x", "1/OBX/1/5 (a file) is kept in the document, not read"),
    ],
)
def test_an_enclosed_file_that_cannot_be_read_is_told_with_its_place_and_nothing_of_it(
    kind: str, body: bytes, why: str
) -> None:
    parsed = enclosed(kind, body)
    assert parsed.passages == ()
    told = " ".join(line.detail for line in parsed.intake)
    assert why in told
    assert "Jones" not in told
