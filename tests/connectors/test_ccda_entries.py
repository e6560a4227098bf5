"""What each sort of entry says, each with a small document of its own."""

from __future__ import annotations

import pytest
from ccda_small import SNOMED, act, author, cd, concern, document, entry, inside, only, read, section

from iamata.model.clinical_time import ClinicalTime, Clock, Period
from iamata.model.coding import CodedText, Quantity, Range
from iamata.model.document import Outcome, Reason
from iamata.model.statement import Aspect, Kind, Polarity, Standing, Statement, Verification
from iamata.ports import Parsed

OTITIS = cd("65363002", "Otitis media")
LOW = '<effectiveTime><low value="20260210"/></effectiveTime>'
RXNORM = "2.16.840.1.113883.6.88"


def status(code: str, template: str = "6") -> str:
    inner = f'<code code="33999-4" codeSystem="2.16.840.1.113883.6.1"/>{cd(code)}'
    return inside(act("observation", template, inner), "REFR")


def problem(inner: str = LOW + OTITIS, attributes: str = 'moodCode="EVN"') -> str:
    return act("observation", "4", inner, attributes)


def condition(body: str) -> Statement:
    return only(read(document(section("11450-4", body))), Kind.CONDITION)


def text_of(value: object) -> str:
    return value.display if isinstance(value, CodedText) else str(value)


# Problems


def test_a_problem_is_its_value_with_onset_and_the_concern_s_status() -> None:
    said = condition(concern(problem()))
    assert said.concept is not None
    assert said.concept.keys == ("snomed|65363002",)
    assert (said.standing, said.polarity, said.aspect) == (Standing.ACTIVE, Polarity.AFFIRMED, Aspect.DIAGNOSED)
    assert said.times[0].at == Period(said.times[0].start, None)
    assert text_of(said.times[0].start) == "2026-02-10"
    assert text_of(said.field("category")) == "problem-list-item"


def test_a_status_observation_counts_before_the_concern_s_status() -> None:
    assert condition(concern(problem(LOW + OTITIS + status("413322009")))).standing is Standing.RESOLVED
    assert (
        condition(concern(problem(LOW + OTITIS + status("55561003")), status="completed")).standing is Standing.ACTIVE
    )


def test_a_concern_that_is_tracked_no_more_is_inactive_and_a_nullified_one_in_error() -> None:
    assert condition(concern(problem(), status="completed")).standing is Standing.INACTIVE
    assert condition(concern(problem(), status="nullified")).standing is Standing.ENTERED_IN_ERROR


@pytest.mark.parametrize("high", ['<high value="20260215"/>', '<high nullFlavor="UNK"/>'])
def test_an_end_resolves_a_problem_also_when_its_date_is_unknown(high: str) -> None:
    said = condition(concern(problem(f'<effectiveTime><low value="2026"/>{high}</effectiveTime>{OTITIS}')))
    assert said.standing is Standing.RESOLVED


def test_a_negated_problem_is_refuted() -> None:
    said = condition(concern(problem(attributes='moodCode="EVN" negationInd="true"')))
    assert (said.polarity, said.verification) == (Polarity.DENIED, Verification.REFUTED)
    assert said.concept is not None
    assert said.concept.display == "Otitis media"


def test_a_negated_problem_of_no_kind_is_no_known_problems() -> None:
    said = condition(concern(problem(cd("55607006", "Problem"), 'moodCode="EVN" negationInd="true"')))
    assert said.concept is not None
    assert said.concept.keys == ("snomed|160245001",)
    assert said.field("covers") == "all"


def test_the_words_an_entry_points_to_are_its_concept_s_text_and_no_second_statement() -> None:
    value = cd("65363002", "Otitis media", inner='<originalText><reference value="#p1"/></originalText>')
    text = '<table><tbody><tr><td ID="p1">Left ear infection</td><td>Feb 10</td></tr></tbody></table>'
    parsed = read(document(section("11450-4", concern(problem(LOW + value)), text=text)))
    said = only(parsed, Kind.CONDITION)
    assert said.concept is not None
    assert (said.concept.text, said.concept.keys) == ("Left ear infection", ("snomed|65363002",))
    assert parsed.passages == ()


def test_a_whole_row_is_no_name_where_the_code_has_one() -> None:
    value = cd("65363002", "Otitis media", inner='<originalText><reference value="#r1"/></originalText>')
    text = '<table><tbody><tr ID="r1"><td>Ear infection</td><td>Feb 10</td></tr></tbody></table>'
    said = only(read(document(section("11450-4", concern(problem(value)), text=text))), Kind.CONDITION)
    assert said.concept is not None
    assert said.concept.display == "Otitis media"


def test_an_uncoded_problem_is_told_by_its_words() -> None:
    value = '<value xsi:type="CD" nullFlavor="OTH"><originalText>Growing pains</originalText></value>'
    said = condition(concern(problem(value)))
    assert said.concept == CodedText("Growing pains")


@pytest.mark.parametrize(
    "inner",
    [
        problem('<value xsi:type="CD" nullFlavor="NI"/>'),
        problem(OTITIS, 'moodCode="EVN" nullFlavor="NI"'),
        problem(
            '<value xsi:type="CD" nullFlavor="UNK"><originalText>No problem data is applicable</originalText></value>'
        ),
    ],
)
def test_an_entry_that_says_that_there_is_no_information_is_no_statement(inner: str) -> None:
    parsed = read(document(section("11450-4", concern(inner))))
    assert not [s for s in parsed.statements if s.kind is Kind.CONDITION]
    ignored = [line for line in parsed.intake if line.outcome is Outcome.IGNORED]
    assert {line.reason for line in ignored} == {Reason.EMPTY}
    assert ignored[0].place.startswith("/ClinicalDocument/component/structuredBody/component/section/entry/act")


def test_translations_are_codes_too() -> None:
    value = cd("65363002", "Otitis media", inner=cd("H66.9", "Otitis media", "2.16.840.1.113883.6.90", "translation"))
    said = condition(concern(problem(value)))
    assert said.concept is not None
    assert said.concept.keys == ("icd10cm|H669", "snomed|65363002")


def test_no_impairment_is_a_finding_and_no_problem() -> None:
    body = entry(act("observation", "68", cd("66557003", "No impairment")))
    parsed = read(document(section("47420-5", body)))
    said = only(parsed, Kind.OBSERVATION)
    assert not [s for s in parsed.statements if s.kind is Kind.CONDITION]
    assert said.concept is not None
    assert (said.concept.display, text_of(said.field("value"))) == ("Functional status", "No impairment")


# Allergies


def allergy(inner: str, attributes: str = 'moodCode="EVN"', value: str = cd("416098002", "Allergy to drug")) -> str:
    return concern(act("observation", "7", LOW + value + inner, attributes), template="30")


def substance(code: str, name: str, system: str = RXNORM) -> str:
    coded = cd(code, name, system, "code") if code else '<code nullFlavor="NA"/>'
    return (
        '<participant typeCode="CSM"><participantRole classCode="MANU"><playingEntity classCode="MMAT">'
        f"{coded}</playingEntity></participantRole></participant>"
    )


def read_allergy(body: str) -> Statement:
    return only(read(document(section("48765-2", body))), Kind.ALLERGY)


def test_an_allergy_is_its_substance_with_reactions_and_severity() -> None:
    severity = inside(act("observation", "8", cd("24484000", "Severe")))
    reaction = inside(
        act(
            "observation",
            "9",
            '<effectiveTime><low value="20260212"/></effectiveTime>' + cd("247472004", "Hives") + severity,
        ),
        "MFST",
    )
    criticality = inside(act("observation", "145", cd("CRITH", "High", "2.16.840.1.113883.5.1063")))
    said = read_allergy(allergy(substance("723", "amoxicillin") + reaction + criticality))
    assert said.concept is not None
    assert said.concept.keys == ("rxnorm|723",)
    assert [(c.concept.display, c.value) for c in said.components] == [("Hives", "severe")]
    assert (said.field("category"), said.field("type"), said.field("criticality")) == ("medication", "allergy", "high")
    occurred = said.time(Clock.OCCURRED)
    assert occurred is not None
    assert text_of(occurred.at) == "2026-02-12"


@pytest.mark.parametrize(
    ("value", "named", "code", "covers"),
    [
        (cd("419199007", "Allergy to substance"), substance("", ""), "716186003", "all"),
        (cd("416098002", "Allergy to drug"), substance("", ""), "409137002", "medication"),
        (cd("414285001", "Allergy to food"), "", "429625007", "food"),
        (cd("419199007"), substance("410942007", "Drug or medicament", SNOMED), "409137002", "medication"),
    ],
)
def test_a_negated_allergy_without_a_substance_is_a_no_known(value: str, named: str, code: str, covers: str) -> None:
    said = read_allergy(allergy(named, 'moodCode="EVN" negationInd="true"', value))
    assert said.concept is not None
    assert said.concept.keys == (f"snomed|{code}",)
    assert (said.polarity, said.field("covers")) == (Polarity.DENIED, covers)


def test_a_negated_allergy_to_something_denies_only_that() -> None:
    said = read_allergy(
        allergy(substance("QE1QX6B99R", "Peanut", "2.16.840.1.113883.4.9"), 'moodCode="EVN" negationInd="true"')
    )
    assert said.concept is not None
    assert (said.concept.display, said.polarity, said.field("covers")) == ("Peanut", Polarity.DENIED, None)


# Medicines


AMOXICILLIN = cd("308192", "Amoxicillin 250 MG", RXNORM, "code")


def medicine(inner: str, attributes: str = 'moodCode="EVN"', template: str = "16", code: str = AMOXICILLIN) -> str:
    product = "<consumable><manufacturedProduct><manufacturedMaterial>"
    product += f"{code}</manufacturedMaterial></manufacturedProduct></consumable>"
    return act("substanceAdministration", template, inner + product, attributes)


def read_medicines(body: str) -> Parsed:
    return read(document(section("10160-0", entry(body))))


def test_a_medicine_has_dose_route_period_and_frequency_in_words() -> None:
    inner = (
        '<statusCode code="active"/><effectiveTime xsi:type="IVL_TS"><low value="20260210"/><high nullFlavor="NA"/>'
        '</effectiveTime><effectiveTime xsi:type="PIVL_TS" operator="A"><period value="8" unit="h"/></effectiveTime>'
        '<routeCode code="C38288" displayName="Oral" codeSystem="2.16.840.1.113883.3.26.1.1"/>'
        '<doseQuantity value="250" unit="mg"/>'
    )
    said = only(read_medicines(medicine(inner)), Kind.MEDICATION)
    assert said.concept is not None
    assert said.concept.keys == ("rxnorm|308192",)
    assert (said.field("dose"), said.field("dose_quantity")) == ("250 mg", Quantity("250", "mg", ucum="mg"))
    assert said.field("frequency") == "1 per 8 h"
    assert text_of(said.field("route")) == "Oral"
    assert (said.aspect, said.standing) == (Aspect.TAKEN, Standing.ACTIVE)
    start = said.times[0].start
    assert start is not None
    assert start.text == "2026-02-10"


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ('"PIVL_TS" institutionSpecified="true"><period value="8" unit="h"/>', "3 per 1 d"),
        ('"PIVL_TS"><period><low value="4" unit="h"/><high value="6" unit="h"/></period>', "1 per 4-6 h"),
        ('"EIVL_TS"><event code="HS"/>', "HS"),
    ],
)
def test_how_often_is_told_in_words(time: str, words: str) -> None:
    inner = f"<effectiveTime xsi:type={time}</effectiveTime>"
    assert only(read_medicines(medicine(inner)), Kind.MEDICATION).field("frequency") == words


def test_a_single_time_is_a_point() -> None:
    said = only(read_medicines(medicine('<effectiveTime value="201305011200+0100"/>')), Kind.MEDICATION)
    assert isinstance(said.times[0].at, ClinicalTime)
    assert said.times[0].at.text == "2013-05-01T12:00+01:00"


@pytest.mark.parametrize(("mood", "aspect"), [("EVN", Aspect.TAKEN), ("INT", Aspect.ORDERED), ("PRP", Aspect.PROPOSED)])
def test_the_mood_tells_taken_from_ordered(mood: str, aspect: Aspect) -> None:
    assert only(read_medicines(medicine("", f'moodCode="{mood}"')), Kind.MEDICATION).aspect is aspect


def test_a_negated_medicine_was_not_taken_and_of_no_kind_none_is_known() -> None:
    said = only(read_medicines(medicine("", 'moodCode="EVN" negationInd="true"')), Kind.MEDICATION)
    assert (said.polarity, said.standing) == (Polarity.DENIED, Standing.NOT_DONE)
    none = '<code nullFlavor="OTH">' + cd("410942007", "Drug or medicament", SNOMED, "translation") + "</code>"
    said = only(read_medicines(medicine("", 'moodCode="EVN" negationInd="true"', code=none)), Kind.MEDICATION)
    assert said.concept is not None
    assert said.concept.keys == ("snomed|787481004",)


def test_indication_instruction_precondition_and_supply_are_fields_and_a_dispense_an_event() -> None:
    inner = (
        inside(act("observation", "19", '<id root="i1"/>' + OTITIS), "RSON")
        + inside(act("act", "20", '<code code="409073007" codeSystem="x"/><text>With food</text>', 'moodCode="INT"'))
        + (
            '<precondition><criterion><value xsi:type="CD" code="1" codeSystem="x" displayName="Pain"/>'
            "</criterion></precondition>"
        )
        + inside(act("supply", "17", '<repeatNumber value="2"/><quantity value="30"/>', 'moodCode="INT"'), "REFR")
        + inside(act("supply", "18", '<id root="f1"/><effectiveTime value="20260211"/><quantity value="15"/>'), "REFR")
    )
    parsed = read_medicines(medicine('<id root="m1"/>' + inner))
    said = only(parsed, Kind.MEDICATION)
    assert text_of(said.field("reason")) == "Otitis media"
    assert (said.field("instruction"), said.field("as_needed"), said.field("as_needed_for")) == (
        "With food",
        True,
        "Pain",
    )
    assert (said.field("refills"), said.field("supply")) == (2, Quantity("30"))
    handed = only(parsed, Kind.MEDICATION_EVENT)
    assert (handed.aspect, handed.field("supply")) == (Aspect.DISPENSED, Quantity("15"))
    assert handed.concept == said.concept
    assert [(r.element, r.reference) for r in handed.references] == [
        ("authorizingPrescription/0", said.provenance.record.reference)
    ]


def test_medications_administered_were_given() -> None:
    parsed = read(document(section("29549-3", entry(medicine('<statusCode code="completed"/>')))))
    assert only(parsed, Kind.MEDICATION_EVENT).aspect is Aspect.GIVEN


def test_directions_that_stand_only_in_words_are_kept_as_words() -> None:
    text = '<table><tbody><tr ID="m"><td>Amoxicillin 250 MG</td><td>one spoon at bedtime</td></tr></tbody></table>'
    body = entry(medicine('<text><reference value="#m"/></text>'))
    said = only(read(document(section("10160-0", body, text=text))), Kind.MEDICATION)
    assert said.field("dosage_text") == "Amoxicillin 250 MG; one spoon at bedtime"
    alone = entry(medicine("<text>Amoxicillin 250 MG</text>"))
    assert only(read(document(section("10160-0", alone))), Kind.MEDICATION).field("dosage_text") is None


# Vaccines


def test_a_vaccine_given_refused_and_planned() -> None:
    def vaccine(attributes: str, inner: str = "") -> Parsed:
        code = cd("08", "Hep B", "2.16.840.1.113883.12.292", "code")
        body = medicine('<effectiveTime value="20220104"/>' + inner, attributes, "52", code)
        return read(document(section("11369-6", entry(body))))

    given = only(vaccine('moodCode="EVN"', '<statusCode code="completed"/>'), Kind.IMMUNIZATION)
    assert (given.aspect, given.standing) == (Aspect.GIVEN, Standing.COMPLETED)
    reason = inside(
        act("observation", "53", '<code code="PATOBJ" displayName="patient objection" codeSystem="x"/>'), "RSON"
    )
    refused = only(vaccine('moodCode="EVN" negationInd="true"', reason), Kind.IMMUNIZATION)
    assert (refused.polarity, refused.standing) == (Polarity.DENIED, Standing.NOT_DONE)
    assert text_of(refused.field("status_reason")) == "patient objection"
    planned = vaccine('moodCode="INT"')
    assert not [s for s in planned.statements if s.kind is Kind.IMMUNIZATION]
    assert only(planned, Kind.ORDER).standing is Standing.PLANNED


# Results and vital signs


def result(value: str, more: str = "", attributes: str = 'moodCode="EVN"') -> str:
    code = cd("718-7", "Hemoglobin", "2.16.840.1.113883.6.1", "code")
    return act("observation", "2", code + '<statusCode code="completed"/>' + value + more, attributes)


def panel(*members: str, when: str = "") -> str:
    code = cd("58410-2", "CBC", "2.16.840.1.113883.6.1", "code")
    inner = "".join(f"<component>{member}</component>" for member in members)
    return entry(act("organizer", "1", f'<id root="o1"/>{code}<statusCode code="completed"/>{when}{inner}'))


def observation(body: str) -> Statement:
    return only(read(document(section("30954-2", body))), Kind.OBSERVATION)


def test_a_result_has_value_unit_interpretation_and_range() -> None:
    more = (
        '<interpretationCode code="L" codeSystem="2.16.840.1.113883.5.83" displayName="Low"/><referenceRange>'
        '<observationRange><value xsi:type="IVL_PQ"><low value="12" unit="g/dL"/><high value="15.5" '
        'unit="g/dL"/></value>'
        "</observationRange></referenceRange>"
    )
    said = observation(panel(result('<value xsi:type="PQ" value="10.20" unit="g/dL"/>', more)))
    assert said.field("value") == Quantity("10.20", "g/dL", ucum="g/dL")
    assert text_of(said.field("interpretation")) == "Low"
    assert said.field("reference_range") == Range(
        Quantity("12", "g/dL", ucum="g/dL"), Quantity("15.5", "g/dL", ucum="g/dL")
    )
    assert (said.standing, text_of(said.field("category"))) == (Standing.FINAL, "laboratory")


@pytest.mark.parametrize(
    ("value", "read_as"),
    [
        ('<value xsi:type="ST">clear</value>', "clear"),
        ('<value xsi:type="INT" value="0"/>', 0),
        ('<value xsi:type="BL" value="false"/>', False),
        (
            ('<value xsi:type="IVL_PQ"><high value="5" unit="mg" inclusive="false"/></value>'),
            Quantity("5", "mg", "", "<", "mg"),
        ),
        ('<value xsi:type="IVL_PQ"><low value="5" unit="mg"/></value>', Quantity("5", "mg", "", ">=", "mg")),
        ('<value xsi:type="PQ" value="3" unit="1"/>', Quantity("3")),
    ],
)
def test_values_of_every_type(value: str, read_as: object) -> None:
    assert observation(panel(result(value))).field("value") == read_as


def test_a_missing_value_says_why() -> None:
    said = observation(panel(result('<value xsi:type="PQ" nullFlavor="ASKU"/>')))
    assert (said.field("value"), said.field("absent")) == (None, "ASKU")


def test_an_organizer_is_a_report_with_its_members_and_lends_them_its_time() -> None:
    time = '<effectiveTime value="20260210"/>'
    parsed = read(document(section("30954-2", panel(result('<value xsi:type="PQ" value="10"/>'), when=time))))
    report, member = only(parsed, Kind.REPORT), only(parsed, Kind.OBSERVATION)
    assert [(r.element, r.reference) for r in report.references] == [("result/0", member.provenance.record.reference)]
    effective = member.time(Clock.EFFECTIVE)
    assert effective is not None
    assert text_of(effective.at) == "2026-02-10"


# Care


def test_a_procedure_done_and_one_not_done() -> None:
    code = cd("80146002", "Appendectomy", SNOMED, "code")
    done = act("procedure", "14", code + '<statusCode code="completed"/><effectiveTime value="2012"/>')
    said = only(read(document(section("47519-4", entry(done)))), Kind.PROCEDURE)
    assert (said.aspect, said.standing, text_of(said.times[0].at)) == (Aspect.DONE, Standing.COMPLETED, "2012")
    not_done = act("procedure", "14", code, 'moodCode="EVN" negationInd="true"')
    said = only(read(document(section("47519-4", entry(not_done)))), Kind.PROCEDURE)
    assert (said.polarity, said.standing) == (Polarity.DENIED, Standing.NOT_DONE)


def test_a_procedure_that_was_not_done_put_no_device_in() -> None:
    device = (
        '<participant typeCode="DEV"><participantRole><playingDevice><code code="40388003" displayName="Implant" '
        f'codeSystem="{SNOMED}"/></playingDevice></participantRole></participant>'
    )
    code = cd("71388002", "Implantation", SNOMED, "code")
    done = read(document(section("47519-4", entry(act("procedure", "14", code + device)))))
    assert only(done, Kind.DEVICE).concept is not None
    negated = 'moodCode="EVN" negationInd="true"'
    not_done = read(document(section("47519-4", entry(act("procedure", "14", code + device, negated)))))
    assert not [s for s in not_done.statements if s.kind is Kind.DEVICE]


def test_a_visit_has_class_type_place_and_its_diagnosis_as_a_condition() -> None:
    diagnosis = inside(
        act("act", "80", '<code code="29308-4" codeSystem="2.16.840.1.113883.6.1"/>' + inside(problem()))
    )
    inner = (
        cd(
            "99213",
            "Office visit",
            "2.16.840.1.113883.6.12",
            "code",
            cd("AMB", "Ambulatory", "2.16.840.1.113883.5.4", "translation"),
        )
        + '<effectiveTime value="20260210"/><participant typeCode="LOC"><participantRole><playingEntity><name>Northside'
        + f"</name></playingEntity></participantRole></participant>{diagnosis}"
    )
    parsed = read(document(section("46240-8", entry(act("encounter", "49", inner)))))
    visit, found = only(parsed, Kind.ENCOUNTER), only(parsed, Kind.CONDITION)
    assert visit.concept is not None
    assert (visit.concept.display, text_of(visit.field("class")), visit.field("location")) == (
        "Office visit",
        "Ambulatory",
        "Northside",
    )
    assert text_of(found.field("category")) == "encounter-diagnosis"
    assert [(r.element, r.reference) for r in visit.references] == [("diagnosis/0", found.provenance.record.reference)]


def test_what_is_planned_is_an_order_and_an_appointment_one() -> None:
    code = cd("73761001", "Colonoscopy", SNOMED, "code")
    plan = entry(act("procedure", "41", code + '<effectiveTime value="20270101"/>', 'moodCode="RQO"'))
    said = only(read(document(section("18776-5", plan))), Kind.ORDER)
    assert (said.aspect, said.times[0].clock) == (Aspect.ORDERED, Clock.PLANNED)
    visit = entry(act("encounter", "40", code, 'moodCode="APT"'))
    assert only(read(document(section("18776-5", visit))), Kind.APPOINTMENT).standing is Standing.PLANNED


def test_the_details_of_a_plan_have_not_happened_either() -> None:
    detail = act(
        "encounter", "49", '<id root="9" extension="v"/><effectiveTime value="20270101"/><text>Follow-up</text>'
    )
    plan = act("encounter", "40", '<id root="9" extension="v"/>' + inside(detail, "REFR"), 'moodCode="ARQ"')
    parsed = read(document(section("18776-5", entry(plan))))
    found = [s for s in parsed.statements if s.kind in (Kind.ENCOUNTER, Kind.APPOINTMENT)]
    assert {(s.kind, s.standing) for s in found} == {(Kind.APPOINTMENT, Standing.PLANNED)}
    assert len({s.identifiers for s in found}) == 1  # plan and details meet by their id


def test_a_goal_has_a_target_and_a_due_date() -> None:
    code = cd("59408-5", "Oxygen saturation", "2.16.840.1.113883.6.1", "code")
    value = (
        '<effectiveTime><high value="20261231"/></effectiveTime><value xsi:type="IVL_PQ"><low '
        'value="92" unit="%"/></value>'
    )
    said = only(
        read(document(section("61146-7", entry(act("observation", "121", code + value, 'moodCode="GOL"'))))), Kind.GOAL
    )
    assert (said.field("target"), text_of(said.field("due"))) == (Quantity("92", "%", "", ">=", "%"), "2026-12-31")


def test_smoking_status_has_a_name_where_its_code_only_asserts() -> None:
    code = '<code code="ASSERTION" codeSystem="2.16.840.1.113883.5.4"/>'
    said = only(
        read(document(section("29762-2", entry(act("observation", "78", code + cd("8517006", "Former smoker")))))),
        Kind.SOCIAL_HISTORY,
    )
    assert said.concept is not None
    assert (said.concept.keys, text_of(said.field("value"))) == (("loinc|72166-2",), "Former smoker")


def test_a_relative_s_disease_is_never_the_patient_s() -> None:
    subject = (
        '<subject><relatedSubject><code code="FTH" displayName="father" '
        'codeSystem="2.16.840.1.113883.5.111"/></relatedSubject></subject>'
    )
    age = inside(act("observation", "31", '<value xsi:type="PQ" value="57" unit="a"/>'))
    body = entry(act("organizer", "45", f"{subject}<component>{act('observation', '46', OTITIS + age)}</component>"))
    parsed = read(document(section("10157-6", body)))
    said = only(parsed, Kind.FAMILY_HISTORY)
    assert text_of(said.field("relationship")) == "father"
    assert [(c.concept.display, c.value) for c in said.components] == [("Otitis media", Quantity("57", "a", ucum="a"))]
    assert not [s for s in parsed.statements if s.kind is Kind.CONDITION]
    bare = read(document(section("10157-6", entry(problem()))))
    assert [c.concept.display for c in only(bare, Kind.FAMILY_HISTORY).components] == ["Otitis media"]
    assert not [s for s in bare.statements if s.kind is Kind.CONDITION]


def test_an_entry_about_somebody_else_is_set_aside() -> None:
    subject = '<subject><relatedSubject><code code="CHILD"/></relatedSubject></subject>'
    parsed = read(document(section("30954-2", entry(result(subject + '<value xsi:type="PQ" value="1"/>')))))
    assert not [s for s in parsed.statements if s.kind is Kind.OBSERVATION]
    assert [line.reason for line in parsed.intake if line.kind == "observation"] == [Reason.UNUSABLE]


def test_a_note_is_a_document_and_its_words_a_passage_of_its_author() -> None:
    code = cd("11506-3", "Progress note", "2.16.840.1.113883.6.1", "code")
    body = entry(act("act", "202", code + "<text>Leo is better.</text>" + author(time="20260211")))
    parsed = read(document(section("11506-3", body)))
    assert only(parsed, Kind.DOCUMENT).field("title") == "Progress note"
    passage = next(p for p in parsed.passages if p.text == "Leo is better.")
    assert passage.authorship[0].display == "Dr Ames"
    assert text_of(passage.times[0].at) == "2026-02-11"


def test_a_note_in_rtf_that_is_cut_off_is_kept_and_said_to_be_cut_off() -> None:
    code = cd("11506-3", "Progress note", "2.16.840.1.113883.6.1", "code")
    text = '<text mediaType="application/rtf" representation="B64">e1xydGYx</text>'
    parsed = read(document(section("11506-3", entry(act("act", "202", code + text)))))
    line = next(line for line in parsed.intake if line.kind == "document")
    assert "application/rtf" in line.detail
    assert "cut off" in line.detail


def test_cover_and_an_advance_directive() -> None:
    payer = (
        '<performer><assignedEntity><id root="1.2" extension="9"/><code code="PAYOR" '
        'codeSystem="2.16.840.1.113883.5.110"/>'
        "<representedOrganization><name>Good Health</name></representedOrganization></assignedEntity></performer>"
        '<participant typeCode="COV"><participantRole><id root="1.3" extension="M-7"/>'
        '<code code="SELF" displayName="self" codeSystem="2.16.840.1.113883.5.111"/></participantRole></participant>'
    )
    wrapper = entry(act("act", "60", inside(act("act", "61", cd("12", "HMO", "1.9", "code") + payer), "COMP")))
    said = only(read(document(section("48768-6", wrapper))), Kind.INSURANCE)
    assert (said.field("payor"), said.field("member_id"), text_of(said.field("relationship"))) == (
        "Good Health",
        "M-7",
        "self",
    )
    code = cd("304251008", "Resuscitation status", SNOMED, "code")
    body = entry(act("observation", "48", code + cd("304253006", "Not for resuscitation")))
    said = only(read(document(section("42348-3", body))), Kind.DIRECTIVE)
    assert said.field("decision") == "Not for resuscitation"


def test_an_unknown_template_is_read_by_its_section_and_element() -> None:
    body = entry(act("observation", "9999", OTITIS))
    assert only(read(document(section("11450-4", body))), Kind.CONDITION).concept is not None
    assert only(
        read(document(section("30954-2", entry(act("observation", "9999", cd("1", "X", element="code")))))),
        Kind.OBSERVATION,
    )
