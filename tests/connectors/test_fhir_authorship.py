"""Who wrote or said it: every element that bears on it is evidence, as sent; no author is decided here."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from fhir_small import OF_P, PATIENT, condition, line, named, observation, only, read, request, when, who

from iamata.model.attribution import Part
from iamata.model.clinical_time import Clock
from iamata.model.statement import Kind

P = {"reference": "Patient/p"}
DR = {"reference": "Practitioner/dr"}
ORG = {"reference": "Organization/org"}


def coded(code: str) -> dict[str, Any]:
    return {"coding": [{"code": code}]}


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (condition(), [("none", "Condition", "")]),
        (
            condition(asserter=P, recorder=DR),
            [("informant", "asserter", "Patient/p"), ("recorder", "recorder", "Practitioner/dr")],
        ),
        (
            request(requester=DR, recorder=DR, reportedBoolean=True, category=[coded("patientspecified")]),
            [
                ("author", "requester", "Practitioner/dr"),
                ("enterer", "recorder", "Practitioner/dr"),
                ("flag", "reportedBoolean", "true"),
                ("flag", "intent", "order"),
                ("flag", "category/0", "patientspecified"),
            ],
        ),
        (request(reportedReference=P), [("informant", "reportedReference", "Patient/p"), ("flag", "intent", "order")]),
        (
            {
                "resourceType": "MedicationStatement",
                "subject": OF_P,
                "medicationCodeableConcept": {"text": "x"},
                "informationSource": P,
                "category": coded("patientspecified"),
            },
            [("informant", "informationSource", "Patient/p"), ("flag", "category", "patientspecified")],
        ),
        (
            observation(
                performer=[P, ORG], device={"reference": "Device/d"}, category=[coded("survey"), coded("exam")]
            ),
            [
                ("performer", "performer/0", "Patient/p"),
                ("performer", "performer/1", "Organization/org"),
                ("instrument", "device", "Device/d"),
                ("flag", "category/0", "survey"),
            ],
        ),
        (
            {
                "resourceType": "Procedure",
                "subject": OF_P,
                "code": {"text": "x"},
                "performer": [{"actor": DR, "onBehalfOf": ORG}],
            },
            [
                ("performer", "performer/0/actor", "Practitioner/dr"),
                ("on-behalf-of", "performer/0/onBehalfOf", "Organization/org"),
            ],
        ),
        (
            {
                "resourceType": "Immunization",
                "patient": OF_P,
                "vaccineCode": {"text": "x"},
                "primarySource": False,
                "reportOrigin": coded("recall"),
            },
            [("flag", "primarySource", "false"), ("flag", "reportOrigin", "recall")],
        ),
        (
            {
                "resourceType": "DocumentReference",
                "subject": OF_P,
                "author": [P],
                "authenticator": DR,
                "custodian": ORG,
            },
            [
                ("author", "author/0", "Patient/p"),
                ("verifier", "authenticator", "Practitioner/dr"),
                ("custodian", "custodian", "Organization/org"),
            ],
        ),
        (
            {
                "resourceType": "QuestionnaireResponse",
                "subject": OF_P,
                "source": P,
                "author": DR,
                "item": [{"linkId": "1", "answer": [{"valueInteger": 1}]}],
            },
            [("informant", "source", "Patient/p"), ("recorder", "author", "Practitioner/dr")],
        ),
        (
            {"resourceType": "Goal", "subject": OF_P, "description": {"text": "x"}, "expressedBy": P},
            [("informant", "expressedBy", "Patient/p")],
        ),
        (
            {"resourceType": "Communication", "subject": OF_P, "sender": P, "topic": {"text": "x"}},
            [("informant", "sender", "Patient/p")],
        ),
        (
            {"resourceType": "CarePlan", "subject": OF_P, "title": "x", "author": DR},
            [("author", "author", "Practitioner/dr")],
        ),
        ({"resourceType": "Consent", "patient": OF_P, "performer": [P]}, [("performer", "performer/0", "Patient/p")]),
        (
            {"resourceType": "AdverseEvent", "subject": OF_P, "event": {"text": "x"}, "recorder": P},
            [("recorder", "recorder", "Patient/p")],
        ),
        ({"resourceType": "List", "subject": OF_P, "source": P}, [("informant", "source", "Patient/p")]),
        (
            {"resourceType": "DeviceUseStatement", "subject": OF_P, "device": {"reference": "Device/d"}, "source": P},
            [("informant", "source", "Patient/p")],
        ),
        (
            {
                "resourceType": "Claim",
                "patient": OF_P,
                "provider": ORG,
                "enterer": DR,
                "insurer": {"reference": "Organization/i"},
            },
            [("author", "provider", "Organization/org"), ("enterer", "enterer", "Practitioner/dr")],
        ),
        (
            {
                "resourceType": "ExplanationOfBenefit",
                "patient": OF_P,
                "provider": ORG,
                "insurer": {"reference": "Organization/i"},
            },
            [("author", "insurer", "Organization/i"), ("performer", "provider", "Organization/org")],
        ),
        (
            {"resourceType": "Encounter", "subject": OF_P, "participant": [{"individual": DR}]},
            [("none", "Encounter", "")],
        ),
        (
            {
                "resourceType": "FamilyMemberHistory",
                "patient": OF_P,
                "relationship": {"text": "mother"},
                "extension": [
                    {
                        "url": "http://hl7.org/fhir/us/core/StructureDefinition/us-core-familymemberhistory-recorder",
                        "valueReference": P,
                    }
                ],
            },
            [("recorder", "extension/0/valueReference", "Patient/p")],
        ),
        (
            condition(
                asserter={"display": "Patient's daughter"},
                recorder={"identifier": {"system": "npi", "value": "1"}, "type": "Practitioner"},
            ),
            [("informant", "asserter", "Patient's daughter"), ("recorder", "recorder", "npi|1")],
        ),
        (
            condition(
                meta={
                    "security": [
                        {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "PATAST"},
                        {"system": "x", "code": "R"},
                    ]
                }
            ),
            [("label", "meta/security/0", "PATAST")],
        ),
    ],
)
def test_each_element_is_evidence_as_sent(resource: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert who(only(read(resource))) == expected


def test_an_origin_in_words_is_kept_in_words() -> None:
    given = {
        "resourceType": "Immunization",
        "patient": OF_P,
        "vaccineCode": {"text": "x"},
        "primarySource": False,
        "reportOrigin": {"text": "Mother's recollection"},
    }
    (_, origin) = only(read(given)).authorship
    assert (origin.value, origin.display) == ("", "Mother's recollection")


def test_the_agents_of_a_provenance_keep_their_codes_and_targets() -> None:
    found = only(
        read(
            {
                "resourceType": "Provenance",
                "target": [{"reference": "Condition/c/_history/2"}],
                "recorded": "2026-02-14T10:00:00Z",
                "activity": coded("CREATE"),
                "agent": [
                    {"type": coded("author"), "who": P, "onBehalfOf": ORG},
                    {"type": coded("transmitter"), "who": ORG},
                    {"type": coded("assembler"), "who": {"reference": "Device/d"}},
                    {"role": [coded("AUT")], "who": DR},
                    {"who": DR},
                ],
                "entity": [{"role": "source", "what": {"reference": "DocumentReference/d"}}],
            }
        )
    )
    assert [(e.part.value, e.element, e.reference, e.value) for e in found.authorship] == [
        ("author", "agent/0/who", "Patient/p", "author"),
        ("on-behalf-of", "agent/0/onBehalfOf", "Organization/org", ""),
        ("transmitter", "agent/1/who", "Organization/org", "transmitter"),
        ("instrument", "agent/2/who", "Device/d", "assembler"),
        ("author", "agent/3/who", "Practitioner/dr", "AUT"),
        ("performer", "agent/4/who", "Practitioner/dr", ""),
    ]
    assert found.kind is Kind.PROVENANCE
    assert {(r.element, r.reference) for r in found.references} >= {
        ("target/0", "Condition/c/_history/2"),
        ("entity/0/what", "DocumentReference/d"),
    }
    assert str(found.field("recorded")) == "2026-02-14T10:00:00Z"


COMPOSITION = {
    "resourceType": "Composition",
    "id": "cm",
    "status": "final",
    "type": {"text": "Summary"},
    "subject": OF_P,
    "date": "2024-05-01",
    "author": [DR],
    "title": "Summary",
    "confidentiality": "R",
    "attester": [{"mode": "legal", "time": "2024-05-02", "party": ORG}],
    "custodian": ORG,
    "section": [
        {
            "title": "Allergies",
            "author": [P],
            "entry": [{"reference": "AllergyIntolerance/a"}],
            "text": {"status": "generated", "div": "<div>listed</div>"},
            "section": [{"title": "Old", "entry": [{"reference": "Condition/c"}]}],
        },
        {"title": "Plan", "text": {"status": "generated", "div": "<div><p>Walk.</p><p>Rest.</p></div>"}},
    ],
}


def test_a_composition_lends_its_authors_section_by_section() -> None:
    parsed = read(COMPOSITION)
    found = only(parsed)
    assert found.kind is Kind.LIST
    assert who(found) == [
        ("author", "author/0", "Practitioner/dr"),
        ("author", "section/0/author/0", "Patient/p"),
        ("verifier", "attester/0/party", "Organization/org"),
        ("custodian", "custodian", "Organization/org"),
    ]
    assert {r.element for r in found.references} >= {"section/0/entry/0", "section/0/section/0/entry/0"}
    assert (when(found, Clock.AUTHORED), when(found, Clock.VERIFIED)) == (["2024-05-01"], ["2024-05-02"])


def test_a_section_told_only_in_words_is_a_passage_by_the_nearest_author() -> None:
    (passage,) = read(COMPOSITION).passages
    assert (passage.part, passage.title, passage.text) == ("section/1/text", "Plan", "Walk.\nRest.")
    assert [(e.part, named(e)) for e in passage.authorship][:1] == [(Part.AUTHOR, "Practitioner/dr")]
    assert not [e for e in passage.authorship if e.element.startswith("section/")]
    assert [str(label) for label in passage.labels] == ["http://terminology.hl7.org/CodeSystem/v3-Confidentiality|R"]


# Narrative


def test_a_patients_note_in_a_clinicians_item_is_the_patients() -> None:
    parsed = read(
        PATIENT,
        condition(
            recorder=DR,
            onsetDateTime="2020",
            note=[
                {"text": "It hurts at night.", "authorReference": P, "time": "2026-01-02"},
                {"text": "Stable.", "authorString": "Dr Grey"},
                {"text": "No author here."},
                {"text": "  "},
            ],
        ),
    )
    found = only(parsed, Kind.CONDITION)
    assert who(found) == [("recorder", "recorder", "Practitioner/dr")]
    assert found.field("note_count") == 3
    assert [(p.part, p.text, [(e.part.value, e.element, named(e)) for e in p.authorship]) for p in parsed.passages] == [
        ("note/0", "It hurts at night.", [("author", "note/0/authorReference", "Patient/p")]),
        ("note/1", "Stable.", [("author", "note/1/authorString", "Dr Grey")]),
        ("note/2", "No author here.", [("recorder", "recorder", "Practitioner/dr")]),
    ]
    assert [(t.clock, str(t.at)) for t in parsed.passages[0].times] == [
        (Clock.AUTHORED, "2026-01-02"),
        (Clock.EFFECTIVE, "2020"),
    ]
    assert "/entry/1/resource/note/0" in {s.place.pointer for s in parsed.sightings}


def attachment(text: bytes, type: str, **more: str) -> dict[str, Any]:
    return {"attachment": {"contentType": type, "data": base64.b64encode(text).decode(), **more}}


def test_text_attachments_are_passages_and_others_stay_in_the_document() -> None:
    parsed = read(
        {
            "resourceType": "DocumentReference",
            "id": "d",
            "subject": OF_P,
            "author": [DR],
            "content": [
                attachment(b"Seen today.\nWell.", "text/plain", title="Note", creation="2026-01-03"),
                attachment(
                    b"<html><style>x</style><body><h1>Plan</h1>a &lt; b<ul><li>rest</li></ul></body></html>",
                    "text/html",
                ),
                attachment("Größe".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
                attachment(b"%PDF", "application/pdf"),
                attachment(b"\xff", "text/plain"),
                {"attachment": {"contentType": "text/plain", "data": "*"}},
                {"attachment": {"contentType": "text/plain", "url": "http://files.example/1"}},
            ],
        }
    )
    assert [(p.part, p.title, p.text) for p in parsed.passages] == [
        ("content/0/attachment", "Note", "Seen today.\nWell."),
        ("content/1/attachment", "", "Plan\na < b\nrest"),
        ("content/2/attachment", "", "Größe"),
    ]
    assert [str(t.at) for t in parsed.passages[0].times] == ["2026-01-03"]
    assert line(parsed, "").detail == (
        "content/3/attachment (application/pdf): the PDF cannot be opened: it is damaged or cut off; "
        "content/4/attachment/data is not in the charset it declares (utf-8); "
        "content/5/attachment/data is no base64; "
        "content/6/attachment/url is not fetched"
    )


def test_a_conclusion_is_a_field_and_a_presented_form_a_passage() -> None:
    parsed = read(
        {
            "resourceType": "DiagnosticReport",
            "id": "r",
            "subject": OF_P,
            "code": {"text": "Chest X-ray"},
            "conclusion": "No consolidation.",
            "presentedForm": [attachment(b"Lungs clear.", "text/plain")["attachment"]],
        }
    )
    assert only(parsed).field("conclusion") == "No consolidation."
    assert [(p.part, p.text) for p in parsed.passages] == [("presentedForm/0", "Lungs clear.")]


@pytest.mark.parametrize(("status", "passages"), [("generated", 0), ("extensions", 0), ("additional", 1)])
def test_an_items_own_narrative_counts_only_if_it_says_more(status: str, passages: int) -> None:
    parsed = read(condition(text={"status": status, "div": "<div>More about it</div>"}))
    assert len(parsed.passages) == passages


def test_messages_are_read_as_text_of_their_sender() -> None:
    parsed = read(
        {
            "resourceType": "Communication",
            "id": "x",
            "subject": OF_P,
            "sender": P,
            "payload": [{"contentString": "The rash is back."}],
        }
    )
    assert only(parsed).field("text") == "The rash is back."
    assert [(p.part, p.text, named(p.authorship[0])) for p in parsed.passages] == [
        ("payload/0/contentString", "The rash is back.", "Patient/p")
    ]


def test_a_composition_with_an_object_for_a_list_and_a_list_for_an_object_is_read() -> None:
    """Found in a public patient summary (NL_Drimpy_01): `author` is an object, `type.coding` a list of lists."""
    composition = {
        "resourceType": "Composition",
        "id": "s",
        "status": "final",
        "type": {"coding": [[{"system": "http://loinc.org", "code": "60591-5"}]]},
        "subject": OF_P,
        "author": OF_P,
        "title": "Summary",
    }
    found = only(read(composition))
    assert who(found) == [("author", "author/0", "Patient/p")]
    assert found.concept is not None
    assert found.concept.keys == ("loinc|60591-5",)
