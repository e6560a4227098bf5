"""What passages mention: statements of the passage's author that point to their words, on small and on real files."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from iamata.connectors import ccda, fhir
from iamata.errors import IamataError
from iamata.formation.attribution import Resolver
from iamata.formation.extraction.passages import READER, statements_of, words_of
from iamata.formation.references import Directory
from iamata.model.attribution import Attribution, AttributionKind, Author, AuthorshipEvidence, Part, Role
from iamata.model.clinical_time import Clock, Period, Timed, parse_time
from iamata.model.identifiers import IdMint
from iamata.model.passage import Passage
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.statement import Aspect, Form, Kind, Polarity, Standing, Statement, Verification

MINT = IdMint(b"k" * 32)
RECEIVED = datetime(2026, 2, 15, 9, tzinfo=UTC)
DOCTOR = Attribution(AttributionKind.SYSTEM, Author(Role.CLINICIAN, "practitioner/1"), rule="test")
LEO = Attribution(AttributionKind.USER, Author(Role.PATIENT, "patient/leo"), rule="test")


def passage(text: str, title: str = "", start: int = 0) -> Passage:
    return Passage(
        id="np_1",
        subject=patient("leo"),
        provenance=Provenance("eastgate", "ccda/1", RecordIdentity("section", "section/7")),
        authorship=(AuthorshipEvidence(Part.AUTHOR, "author/0"),),
        part="text",
        text=text,
        title=title,
        start=start,
        times=(Timed(Clock.AUTHORED, parse_time("2026-02-10")),),
    )


def told(text: str, title: str = "", by: Attribution = DOCTOR) -> list[Statement]:
    return list(statements_of(passage(text, title), by, mint=MINT))


def named(statement: Statement) -> str:
    return statement.concept.display if statement.concept else ""


def words(of: Passage, statement: Statement) -> str:
    start, end = words_of(statement)
    return of.text[start - of.start : end - of.start]


def test_a_mention_is_the_authors_and_points_to_its_words() -> None:
    note = passage("Seen today. She has asthma and takes metformin 500 mg twice a day.", start=40)
    found = statements_of(note, DOCTOR, mint=MINT)
    assert [(s.kind, named(s)) for s in found] == [(Kind.CONDITION, "Asthma"), (Kind.MEDICATION, "Metformin")]
    taken = found[1]
    assert words(note, taken) == "She has asthma and takes metformin 500 mg twice a day"
    assert (taken.field("dose"), taken.field("frequency")) == ("500 mg", "twice a day")
    assert taken.provenance == Provenance("eastgate", READER, note.provenance.record)
    assert (taken.authorship, taken.form, taken.is_mention) == (note.authorship, Form.UNSTRUCTURED, True)
    assert taken.times == (Timed(Clock.ASSERTED, parse_time("2026-02-10")),)
    assert taken.part == "text@52:105/medication/77"
    assert taken.aspect is Aspect.TAKEN


def test_what_is_denied_doubted_or_over_says_so() -> None:
    denied = told("Patient denies chest pain.")
    assert [(named(s), s.polarity) for s in denied] == [("Chest pain", Polarity.DENIED)]
    doubted = told("Possible pneumonia.")
    assert [(named(s), s.verification) for s in doubted] == [("Pneumonia", Verification.UNCONFIRMED)]
    over = told("His cellulitis has resolved.")
    assert [(named(s), s.standing) for s in over] == [("Cellulitis", Standing.RESOLVED)]


def test_a_relatives_disease_is_family_history() -> None:
    found = told("Her mother has breast cancer.")
    assert [s.kind for s in found] == [Kind.FAMILY_HISTORY]
    assert [c.concept.display for s in found for c in s.components] == ["Breast cancer"]


@pytest.mark.parametrize("title", ["FAMILY HISTORY", ""])
def test_a_bare_disease_under_the_heading_family_history_is_no_patients(title: str) -> None:
    text = "Diabetes. Hypertension." if title else "HPI: Fever.\nFamily History: Diabetes. Hypertension."
    found = told(text, title)
    assert [named(s) for s in found if s.kind is Kind.CONDITION] == ([] if title else ["Fever"])
    assert {c.concept.display for s in found for c in s.components} == {"Diabetes mellitus", "Hypertension"}


def test_a_medicine_in_a_plan_is_to_come_and_not_taken() -> None:
    found = told("Start lisinopril 10 mg daily.", "PLAN OF TREATMENT")
    assert [(named(s), s.standing, s.aspect) for s in found] == [("Lisinopril", Standing.PLANNED, Aspect.ORDERED)]


def test_advice_and_what_is_only_supposed_assert_nothing() -> None:
    assert told("For fever or chest pain contact emergency.", "HOSPITAL DISCHARGE INSTRUCTIONS") == []
    assert told("If he gets a fever, call.") == []
    assert told("Tell us if there is reason to believe that you may be pregnant.") == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("No information about allergies.", "Allergies"),
        ("No Information", "ALLERGIES"),
        ("Allergies not on file.", ""),
        ("Inpatient Diabetes Care Team", ""),
        ("Cardiology; asthma nurse", "Patient Care Teams"),
        ("Alzheimer's disease", "Living Will (PDF)"),
        ("Anti Embolism Stockings (TED Stockings)", "DVT Prophylaxis"),
        ("Screening for colon cancer is due.", ""),
        ("Goal: weight loss", "Assessment and Plan"),
        ("Laparoscopic Appendectomy", "Surgical Procedure"),
        ("Test positive. Infection indicates presence of ulcer.", ""),
        ("A score of 4 or more is considered positive for alcohol use disorder.", ""),
        ("She takes less of the medication and has no side effects.", ""),
        ("Hold lisinopril if SBP < 100.", "Assessment and Plan"),
        ("Watch Weight\tResolved\tJune 1, 2007", ""),
        ("Stable, with controlled blood sugar levels and a pain score below 3.", ""),
    ],
)
def test_what_is_not_told_of_the_patient_is_no_statement(text: str, title: str) -> None:
    assert told(text, title) == []


def test_a_duration_and_a_history_do_not_say_that_it_is_over() -> None:
    found = told("A two week history of nasal congestion and fever.")
    assert {s.standing for s in found} == {Standing.UNKNOWN}
    assert {named(s) for s in found} == {"Nasal congestion", "Fever"}


def test_what_there_is_only_concern_of_is_in_doubt() -> None:
    found = told("Concern for oral cancer.")
    assert [(named(s), s.verification) for s in found] == [("Cancer", Verification.UNCONFIRMED)]


def test_what_cannot_be_ruled_out_is_in_doubt_and_not_denied() -> None:
    found = told("Cannot rule out unstable angina.")
    assert [(named(s), s.polarity, s.verification) for s in found] == [
        ("Unstable angina", Polarity.AFFIRMED, Verification.UNCONFIRMED)
    ]


def test_a_note_calls_its_patient_a_man_of_so_many_years() -> None:
    found = told("75-year-old man with hypertension. He denies fever.")
    assert [(named(s), s.polarity) for s in found] == [
        ("Hypertension", Polarity.AFFIRMED), ("Fever", Polarity.DENIED)
    ]  # fmt: skip


def test_no_allergies_has_the_words_of_the_record() -> None:
    found = told("None", "Allergies")
    assert [(named(s), s.polarity) for s in found] == [("No known allergies", Polarity.DENIED)]


def test_dates_in_words_are_those_of_the_thing() -> None:
    stopped = told("She stopped lisinopril last Thursday.")
    assert [s.time(Clock.STATUS_CHANGED) for s in stopped] == [Timed(Clock.STATUS_CHANGED, parse_time("2026-02-05"))]
    known = told("Diabetes since 2011.")
    assert [s.time(Clock.EFFECTIVE) for s in known] == [Timed(Clock.EFFECTIVE, Period(parse_time("2011")))]
    vague = told("Diabetes for ten years.")
    assert [s.time(Clock.EFFECTIVE) for s in vague] == [None]
    reading = told("BP 142/88.")
    assert [s.time(Clock.EFFECTIVE) for s in reading] == [Timed(Clock.EFFECTIVE, parse_time("2026-02-10"))]


def test_two_things_by_the_same_words_are_two_parts() -> None:
    found = told("Fever, chills and asthma. Fever again.")
    assert len({s.part for s in found}) == len(found)


def test_a_patients_own_note_is_read_as_the_patients_words() -> None:
    found = told("I stopped the lisinopril in May.", by=LEO)
    assert [(named(s), s.standing) for s in found] == [("Lisinopril", Standing.STOPPED)]


def test_the_same_passage_gives_the_same_statements() -> None:
    text = "She has asthma. No fever. Allergic to penicillin (hives)."
    assert told(text) == told(text)
    assert len({s.id for s in told(text)}) == len(told(text))
    assert len({s.digest for s in told(text)}) == len(told(text))


def _files(data: Path) -> list[Path]:
    found = [
        *sorted((data / "ccda_hl7_examples").rglob("*.xml"))[::3],
        *sorted((data / "ccda_onc_cert").rglob("*.xml"))[::6],
    ]
    return [*found, *sorted((data / "us_core_examples").rglob("*.json"))[::2]]


def test_on_real_files_every_mention_is_literal_and_no_relatives_disease_is_the_patients(data: Path) -> None:
    read = mentioned = 0
    for path in _files(data):
        reader = ccda if path.suffix == ".xml" else fhir
        try:
            parsed = reader.read(
                path.read_bytes(), subject=patient("p"), source="s", mint=MINT, document="d", received_at=RECEIVED
            )
        except IamataError:
            continue
        resolver = Resolver(parsed.statements, Directory(parsed.statements), {})
        for note in parsed.passages:
            read += 1
            stand_in = next(iter(parsed.statements), None)
            attribution = resolver.resolve(stand_in) if stand_in else DOCTOR
            for statement in statements_of(note, attribution, mint=MINT):
                mentioned += 1
                literal = words(note, statement)
                assert literal.strip()
                assert literal in note.text
                assert statement.authorship == note.authorship
                assert statement.provenance.reader == READER
                assert statement.form is Form.UNSTRUCTURED
                if "family" in note.title.lower():
                    assert statement.kind in (Kind.FAMILY_HISTORY, Kind.SOCIAL_HISTORY)
    assert read > 30
    assert mentioned > 20


def test_a_medications_or_allergies_section_reads_bare_names() -> None:
    listed = told("Lipitor, metformin 500 mg.\nLisinopril.", "Medications")
    assert [named(s) for s in listed] == ["Atorvastatin", "Metformin", "Lisinopril"]
    assert {(s.kind, s.polarity) for s in listed} == {(Kind.MEDICATION, Polarity.AFFIRMED)}
    assert [named(s) for s in told("Penicillin and sulfa.", "Allergies")] == ["Penicillin", "Sulfonamides"]
    assert [(named(s), s.polarity) for s in told("None.", "Allergies")] == [("No known allergies", Polarity.DENIED)]
    assert told("Lipitor.", "Assessment") == []


def test_a_bare_name_in_a_section_points_to_its_own_words() -> None:
    note = passage("No changes.\nLipitor.", "Medications", start=10)
    (found,) = statements_of(note, DOCTOR, mint=MINT)
    assert words(note, found) == "Lipitor"
