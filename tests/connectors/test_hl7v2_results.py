"""Orders, reports and results: values, units, ranges, times, specimens, corrections, who stands behind them."""

from __future__ import annotations

import pytest
from hl7_small import all_of, attribution, fold, line, message, one, read, time

from iamata.model.attribution import AttributionKind, Role
from iamata.model.clinical_time import ClinicalTime, Clock
from iamata.model.coding import CodedText, Quantity, Range, Ratio
from iamata.model.document import Outcome, Reason
from iamata.model.provenance import SourceKind
from iamata.model.statement import Aspect, Kind, Standing, Statement

OBR = "OBR|1|P1^EHR|F1^LAB|24323-8^Panel^LN|||202506010700-0500|||||||||99^Order^Olga^^^^^^ND||||||20250601100000|||F"
NA = "2951-2^Sodium^LN"


def observation(obx: str) -> Statement:
    return one(read(OBR, obx), Kind.OBSERVATION)


def test_a_number_has_its_unit_range_flag_status_and_code() -> None:
    found = observation(f"OBX|1|NM|{NA}||150|mmol/L^^UCUM|135-145|H|||F|||202506010730-0500")
    assert found.field("value") == Quantity("150", "mmol/L", "mmol/L", "", "mmol/L")
    unit = Quantity("135", "mmol/L", "mmol/L", "", "mmol/L")
    assert found.field("reference_range") == Range(unit, Quantity("145", "mmol/L", "mmol/L", "", "mmol/L"))
    interpretation = found.field("interpretation")
    assert isinstance(interpretation, CodedText)
    assert interpretation.codings[0].code == "H"
    assert found.standing is Standing.FINAL
    assert found.aspect is Aspect.MEASURED
    assert found.concept is not None
    assert found.concept.keys == ("loinc|2951-2",)
    assert time(found, Clock.EFFECTIVE) == "2025-06-01T07:30-05:00"
    assert time(found, Clock.ISSUED) == "2025-06-01T10:00:00"
    assert found.provenance.record.reference == "observation/LAB|F1/LN|24323-8/LN|2951-2"


@pytest.mark.parametrize(
    ("type", "sent", "value"),
    [
        ("NM", "<5", Quantity("5", "mg/dL", "", "<", "mg/dL")),
        ("NM", "60~120", "60 mg/dL; 120 mg/dL"),
        ("NM", "pending", "pending"),
        ("SN", "^182", Quantity("182", "mg/dL", "", "", "mg/dL")),
        ("SN", ">^100", Quantity("100", "mg/dL", "", ">", "mg/dL")),
        ("SN", "^1^:^128", Ratio(Quantity("1", "mg/dL", "", "", "mg/dL"), Quantity("128", "mg/dL", "", "", "mg/dL"))),
        ("SN", "^1^-^5", Range(Quantity("1", "mg/dL", "", "", "mg/dL"), Quantity("5", "mg/dL", "", "", "mg/dL"))),
        ("SN", "^2^+", "2+"),
        ("ST", "5.4", Quantity("5.4", "mg/dL", "", "", "mg/dL")),
        ("ST", "clear", "clear"),
        ("TX", "Many seen.", "Many seen."),
        ("DT", "20250601", ClinicalTime("2025-06-01", "day", 1748685600, 1748865599)),  # type: ignore[arg-type]
        ("", "words", "words"),
    ],
)
def test_values_are_read_by_their_type(type: str, sent: str, value: object) -> None:
    assert observation(f"OBX|1|{type}|{NA}||{sent}|mg/dL|||||F").field("value") == value


def test_coded_values_keep_both_codes_and_the_text_that_was_meant() -> None:
    found = observation(f"OBX|1|CWE|{NA}||260415000^not detected^SCT^N^neg^L^^^None seen||||||F").field("value")
    assert isinstance(found, CodedText)
    assert found.text == "None seen"
    assert [(c.system, c.code, c.normal) for c in found.codings] == [
        ("SCT", "260415000", "snomed|260415000"),
        ("L", "N", ""),
    ]


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ("2025", "2025"),
        ("202506", "2025-06"),
        ("20250601", "2025-06-01"),
        ("2025060107", "2025-06-01"),
        ("202506010730", "2025-06-01T07:30"),
        ("20250601073015.25+0200", "2025-06-01T07:30:15.25+02:00"),
        ("20250601073015^D", "2025-06-01"),
        ("June", "June"),
    ],
)
def test_times_keep_the_precision_and_the_zone_they_were_given(sent: str, text: str) -> None:
    assert time(observation(f"OBX|1|NM|{NA}||1||||||F|||{sent}"), Clock.EFFECTIVE) == text


def test_without_a_time_of_its_own_a_result_is_as_of_its_order_else_its_specimen() -> None:
    assert time(observation(f"OBX|1|NM|{NA}||1||||||F"), Clock.EFFECTIVE) == "2025-06-01T07:00-05:00"
    parsed = read("OBR|1||F1|1^a^L", f"OBX|1|NM|{NA}||1||||||F", "SPM|1|||BLD^Blood^HL70487|||||||||||||202506010600")
    assert time(one(parsed, Kind.OBSERVATION), Clock.EFFECTIVE) == "2025-06-01T06:00"


def test_the_message_time_is_no_time_of_a_result() -> None:
    assert time(one(read(f"OBX|1|NM|{NA}||1||||||F"), Kind.OBSERVATION), Clock.EFFECTIVE) == ""


@pytest.mark.parametrize(
    "segments",
    [
        (OBR, f"OBX|1|NM|{NA}||1||||||F", "SPM|1|||SER^Serum^HL70487"),
        ("SPM|1|||SER^Serum^HL70487", OBR, f"OBX|1|NM|{NA}||1||||||F"),
        (OBR, "SPM|1|||SER^Serum^HL70487", f"OBX|1|NM|{NA}||1||||||F"),
        (OBR.replace("20250601100000", "20250601100000", 1), f"OBX|1|NM|{NA}||1||||||F", "SPM|1|||SER^Serum^HL70487"),
    ],
)
def test_a_specimen_belongs_to_its_results_above_or_below_them(segments: tuple[str, ...]) -> None:
    found = one(read(*segments), Kind.OBSERVATION)
    assert found.field("specimen") == "Serum"


def test_the_order_its_report_and_its_results_refer_to_each_other() -> None:
    parsed = read("PV1|1|I|||||||||||||||||V9^^^NORTH", OBR, f"OBX|1|NM|{NA}||1||||||F")
    order, report, result = one(parsed, Kind.ORDER), one(parsed, Kind.REPORT), one(parsed, Kind.OBSERVATION)
    assert order.provenance.record.reference == "order/EHR|P1/LN|24323-8"
    assert report.provenance.record.reference == "report/LAB|F1/LN|24323-8"
    assert {(r.element, r.reference) for r in result.references} == {
        ("partOf/OBR-3", report.provenance.record.reference),
        ("basedOn/OBR-2", order.provenance.record.reference),
        ("encounter/PV1-19", "encounter/NORTH|V9"),
    }
    assert {str(i) for i in order.identifiers} == {"EHR|P1", "LAB|F1"}


def test_two_results_of_one_name_are_told_apart_by_sub_id_else_by_number() -> None:
    parsed = read(OBR, *(f"OBX|{n}|ST|600-7^Bacteria^LN|{sub}|{v}||||||F" for n, sub, v in [(1, 1, "a"), (2, 2, "b")]))
    names = [s.provenance.record.reference for s in all_of(parsed, Kind.OBSERVATION)]
    assert [n.rsplit("/", 1)[-1] for n in names] == ["1", "2"]
    parsed = read(OBR, "OBX|1|ST|600-7^Bacteria^LN||a||||||F", "OBX|2|ST|600-7^Bacteria^LN||b||||||F")
    assert [s.provenance.record.reference[-2:] for s in all_of(parsed, Kind.OBSERVATION)] == ["-7", "#2"]


def test_a_susceptibility_names_the_isolate_that_it_is_of() -> None:
    child = "OBR|2||F2^LAB|18769-0^Susceptibility^LN||||||||||||||||||||||600-7&Bacteria&LN^1^E. coli|||P1&EHR^F1&LAB"
    found = one(read(child, "OBX|1|ST|18862-3^Amoxicillin^LN|1|S||||||F"), Kind.OBSERVATION)
    assert found.field("parent_result") == "Bacteria E. coli"
    assert found.field("parent_sub_id") == "1"
    assert found.field("parent_order") == "F1"


def test_lines_of_text_are_one_passage_of_their_report() -> None:
    parsed = read(
        OBR, "OBX|1|TX|11502-2^Report^LN||Line one||||||F", "OBX|2|TX|11502-2^Report^LN||Line two~Line three||||||F"
    )
    (passage,) = parsed.passages
    assert (passage.text, passage.title) == ("Line one\nLine two\nLine three", "Report")
    assert passage.provenance.record.reference == "report/LAB|F1/LN|24323-8"
    assert not all_of(parsed, Kind.OBSERVATION)
    assert {line(parsed, f"/1/OBX/{n}").outcome for n in (1, 2)} == {Outcome.TEXT_ONLY}


def test_a_note_has_its_own_author_and_belongs_to_what_it_stands_below() -> None:
    parsed = read(
        OBR,
        f"OBX|1|NM|{NA}||1||||||F||||LAB1^Main Lab^L",
        "NTE|1|L|haemolysed",
        "NTE|2||seen by me||7^Note^Nora|202506020800",
    )
    assert one(parsed, Kind.OBSERVATION).field("note_count") == 2
    by_text = {p.text: p for p in parsed.passages}
    assert [e.element for e in by_text["seen by me"].authorship] == ["NTE-5"]
    assert by_text["seen by me"].authorship[0].time == "2025-06-02T08:00"
    assert [e.element for e in by_text["haemolysed"].authorship] == ["OBX-15", "MSH-4"]


def test_a_placers_note_on_a_result_is_not_the_labs() -> None:
    parsed = read(OBR, f"OBX|1|NM|{NA}||1||||||F||||LAB1^Main Lab^L", "NTE|1|P|fasting?")
    assert [(e.element, e.value) for e in parsed.passages[0].authorship] == [("NTE-2", "P")]


def test_attachments_are_kept_and_listed_and_plain_text_is_read() -> None:
    parsed = read(
        OBR,
        "OBX|1|ED|1^Scan^L||^application^pdf^Base64^JVBERi0=||||||F",
        "OBX|2|RP|2^Link^L||https://pacs.example/1^^image^JPEG||||||F",
        "OBX|3|ED|3^Letter^L||^TEXT^PLAIN^Base64^RGVhciBMZW8=||||||F",
    )
    report = one(parsed, Kind.REPORT)
    assert report.field("attachment") == "application/pdf; image/jpeg"
    assert [p.text for p in parsed.passages] == ["Dear Leo"]
    assert "not fetched" in line(parsed, "/1/OBX/2").detail
    assert not all_of(parsed, Kind.OBSERVATION)


def test_a_pending_result_says_why_it_has_no_value() -> None:
    found = observation(f"OBX|1|NM|{NA}||||||||I")
    assert (found.field("value"), found.field("absent"), found.standing) == (None, "temp-unknown", Standing.PRELIMINARY)
    assert observation(f"OBX|1|NM|{NA}||||||||X").standing is Standing.CANCELLED


@pytest.mark.parametrize(
    ("fields", "role", "reference"),
    [
        ({16: "8^See^Sam"}, Role.CLINICIAN, "Practitioner/8"),
        ({15: "L1^Main Lab^L"}, Role.LAB, "Organization/L1"),
        ({23: "West Lab^L^^^^CLIA^XX^^^55"}, Role.LAB, "Organization/CLIA|55"),
        ({16: "8^See^Sam", 23: "West Lab", 18: "DEV9^ACME"}, Role.CLINICIAN, "Practitioner/8"),
        ({18: "DEV9^ACME"}, Role.INSTRUMENT, "Device/ACME|DEV9"),
        ({25: "9^Boss^Bo"}, Role.INSTITUTION, ""),
        ({}, Role.INSTITUTION, ""),
    ],
)
def test_who_answers_for_a_result(fields: dict[int, str], role: Role, reference: str) -> None:
    sent = ["OBX", "1", "NM", NA, "", "1", "", "", "", "", "", "F", *[""] * 14]
    for number, text in fields.items():
        sent[number] = text
    parsed = read(OBR, "|".join(sent))
    found = attribution(parsed, one(parsed, Kind.OBSERVATION))
    assert (found.kind, found.author.role, found.author.reference) == (AttributionKind.SYSTEM, role, reference)
    assert found.transmitter is not None
    assert found.transmitter.display == "NORTH"


def test_a_lab_feed_without_an_author_is_the_labs_and_the_orderer_wrote_only_the_order() -> None:
    parsed = read(OBR, f"OBX|1|NM|{NA}||1||||||F")
    result = attribution(parsed, one(parsed, Kind.OBSERVATION), SourceKind.LAB)
    assert (result.author.role, result.rule) == (Role.LAB, "source-default")
    order = attribution(parsed, one(parsed, Kind.ORDER), SourceKind.LAB)
    assert (order.author.role, order.author.display, order.because) == (
        Role.CLINICIAN,
        "Olga Order",
        "OBR-16=Practitioner/ND|99",
    )
    assert all("OBR-16" not in e.element for e in one(parsed, Kind.REPORT).authorship)


# What a later message of the same filler number does to a result.


def sodium(value: str, status: str, *, at: str = "20250601083000", issued: str = "") -> bytes:
    obr = f"OBR|1||F1^LAB|24323-8^Panel^LN|||202506010700|||||||||||||||{issued}|||F"
    return message(obr, f"OBX|1|NM|{NA}||{value}|mmol/L|||||{status}", at=at)


def sodium_facts(*bodies: bytes) -> list[str]:
    """The values that stand after these messages."""
    facts = [fact for fact in fold(*bodies).facts.values() if fact.kind is Kind.OBSERVATION]
    return [str(field.value) for fact in facts for field in fact.fields if field.name == "value"]


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (sodium("139", "F", at="20250602"), ["139 mmol/L"]),
        (sodium("141", "C", at="20250602"), ["141 mmol/L"]),
        (sodium("150", "D", at="20250602"), []),
        (sodium("150", "W", at="20250602"), []),
        (sodium("", "D", at="20250602"), []),
    ],
)
def test_a_later_message_of_the_filler_number_corrects_or_deletes(later: bytes, left: list[str]) -> None:
    assert sodium_facts(sodium("150", "P"), later) == left


def test_a_delete_counts_in_whichever_order_the_messages_arrive() -> None:
    first, gone = (
        sodium("150", "F", issued="20250601090000"),
        sodium("150", "D", at="20250602", issued="20250601090000"),
    )
    assert sodium_facts(first, gone) == sodium_facts(gone, first) == []


def test_a_result_reported_anew_after_its_delete_stands() -> None:
    gone = sodium("150", "D", at="20250602")
    assert sodium_facts(sodium("150", "F"), gone, sodium("148", "F", issued="20250603")) == ["148 mmol/L"]


@pytest.mark.parametrize(
    ("control", "status", "standing"),
    [
        ("NW", "", Standing.ACTIVE),
        ("NW", "CM", Standing.COMPLETED),
        ("CA", "", Standing.CANCELLED),
        ("OC", "CM", Standing.CANCELLED),
        ("DC", "", Standing.STOPPED),
        ("HD", "", Standing.ON_HOLD),
        ("SC", "IP", Standing.ACTIVE),
        ("UC", "", Standing.UNKNOWN),
    ],
)
def test_the_order_stands_where_its_control_and_status_say(control: str, status: str, standing: Standing) -> None:
    parsed = read(f"ORC|{control}|P1^EHR|||{status}", "OBR|1|||1^a^L", event="ORM^O01")
    assert one(parsed, Kind.ORDER).standing is standing
    assert not all_of(parsed, Kind.REPORT)


def test_an_order_control_without_a_detail_cancels_the_order_of_its_number() -> None:
    new = message("ORC|NW|P1^EHR|||||||202506010800", "OBR|1|||30746-2^Chest CT^LN", event="ORM^O01")
    cancel = message("ORC|CA|P1^EHR|||||||202506020800", event="ORM^O01")
    (order,) = [f for f in fold(new, cancel).facts.values() if f.kind is Kind.ORDER]
    assert order.standing is Standing.CANCELLED
    assert order.display == "Chest CT"


def test_who_entered_and_verified_an_order_is_kept_beside_its_author() -> None:
    parsed = read("ORC|NW|P1|||||||20250601|1^Enter^Eve|2^Verify^Val|3^Order^Ora", "OBR|1|||1^a^L", event="OML^O21")
    found = attribution(parsed, one(parsed, Kind.ORDER))
    assert found.author.display == "Ora Order"
    assert found.verifier is not None
    assert found.verifier.display == "Val Verify"
    assert time(one(parsed, Kind.ORDER), Clock.ORDERED) == "2025-06-01"


def test_a_smoking_status_is_social_history_as_in_fhir() -> None:
    parsed = read("OBX|1|CWE|72166-2^Tobacco smoking status^LN||8517006^Ex-smoker^SCT||||||F")
    assert one(parsed, Kind.SOCIAL_HISTORY).aspect is Aspect.LIVED


def test_a_neighbour_that_changes_leaves_a_result_the_same_statement() -> None:
    first = f"OBX|1|NM|{NA}||1||||||F"
    a = read(OBR, first, "OBX|2|ST|2^b^L||x||||||F", "OBX|3|TX|3^c^L||y||||||F")
    b = read(OBR, first, "OBX|2|ST|2^b^L||z||||||C", "OBX|3|TX|3^c^L||w||||||F")
    same = {s.id for s in all_of(a, Kind.OBSERVATION)} & {s.id for s in all_of(b, Kind.OBSERVATION)}
    assert len(same) == 1


def test_a_change_to_final_without_a_value_takes_no_value_away() -> None:
    assert sodium_facts(sodium("150", "P"), sodium("", "U", at="20250602")) == ["150 mmol/L"]
    parsed = read(OBR, f"OBX|1|NM|{NA}||||||||U")
    assert line(parsed, "/1/OBX/1").reason is Reason.EMPTY
    assert sodium_facts(sodium("150", "F"), sodium('""', "C", at="20250602")) == []


@pytest.mark.parametrize(
    ("segments", "event", "category"),
    [
        (("OBX|1|NM|8867-4^Heart rate^LN||72||||||F",), "ADT^A01", "vital-signs"),
        ((OBR.replace("|||F", "||LAB|F"), f"OBX|1|NM|{NA}||1||||||F"), "ORU^R01", "laboratory"),
        ((OBR, f"OBX|1|NM|{NA}||1||||||F", "SPM|1|||BLD"), "ORU^R01", "laboratory"),
        ((OBR, f"OBX|1|NM|{NA}||1||||||F"), "OUL^R22", "laboratory"),
        ((OBR.replace("|||F", "||RAD|F"), "OBX|1|ST|1^Finding^L||none||||||F"), "ORU^R01", "imaging"),
    ],
)
def test_what_sort_of_result_it_is_where_the_message_says_so(
    segments: tuple[str, ...], event: str, category: str
) -> None:
    found = one(read(*segments, event=event), Kind.OBSERVATION).field("category")
    assert isinstance(found, CodedText)
    assert found.codings[0].code == category


def test_nothing_is_guessed_of_the_sort_of_a_result() -> None:
    assert one(read(OBR, f"OBX|1|NM|{NA}||1||||||F"), Kind.OBSERVATION).field("category") is None


def test_a_clinician_with_the_number_of_the_patient_is_still_the_clinician() -> None:
    sent = ["OBX", "1", "NM", NA, "", "1", "", "", "", "", "", "F", "", "", "", "", "77^See^Sam^^^^^^NORTH"]
    parsed = read(OBR, "|".join(sent))
    told = attribution(parsed, one(parsed, Kind.OBSERVATION))
    assert (told.kind, told.author.role, told.author.display) == (AttributionKind.SYSTEM, Role.CLINICIAN, "Sam See")
