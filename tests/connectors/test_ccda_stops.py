"""Why a medication of a C-CDA document was stopped: the reaction inside its entry, an allergy of about that day, a
known reaction; from the document to the link."""

from __future__ import annotations

import pytest
from ccda_small import act, cd, concern, document, entry, graph, inside, only, read, section

from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.statement import Kind, Standing

RXNORM = "2.16.840.1.113883.6.88"
COUGH = cd("49727002", "Cough")


def medicine(name: str, status: str = "aborted", high: str = "20210301", more: str = "") -> str:
    code = f'<code nullFlavor="UNK"><originalText>{name}</originalText></code>'
    product = f"<consumable><manufacturedProduct><manufacturedMaterial>{code}</manufacturedMaterial>"
    product += "</manufacturedProduct></consumable>"
    time = f'<effectiveTime xsi:type="IVL_TS"><low value="20210101"/><high value="{high}"/></effectiveTime>'
    inner = f'<statusCode code="{status}"/>' + time + product + more
    return section("10160-0", entry(act("substanceAdministration", "16", inner)), title="Medications")


def problem(value: str, low: str) -> str:
    time = f'<effectiveTime><low value="{low}"/></effectiveTime>'
    return section("11450-4", concern(act("observation", "4", time + value)), title="Problems")


def allergy(name: str, low: str) -> str:
    time = f'<effectiveTime><low value="{low}"/></effectiveTime>'
    who = '<participant typeCode="CSM"><participantRole classCode="MANU"><playingEntity classCode="MMAT">'
    who += f'<code nullFlavor="UNK"><originalText>{name}</originalText></code></playingEntity>'
    who += "</participantRole></participant>"
    inner = time + cd("416098002", "Allergy to drug") + who
    return section("48765-2", concern(act("observation", "7", inner), template="30"), title="Allergies")


def reaction(value: str) -> str:
    return inside(act("observation", "9", value), "CAUS")


def links(*sections: str, type: LinkType = LinkType.STOPPED_BECAUSE_OF) -> list[Link]:
    return [link for link in graph(("eastgate", document(*sections))).links.values() if link.type is type]


def test_a_reaction_inside_a_medication_is_told_of_the_medication() -> None:
    parsed = read(document(medicine("lisinopril 10 MG Oral Tablet", more=reaction(COUGH))))
    said = only(parsed, Kind.MEDICATION)
    assert said.standing is Standing.STOPPED
    assert str(said.field("reaction").display) == "Cough"  # type: ignore[union-attr]  # a concept, as read
    assert [s.kind for s in parsed.statements if s.kind is Kind.CONDITION] == []


def test_a_stopped_medication_with_a_reaction_that_the_problem_list_has_may_have_been_stopped_for_it() -> None:
    sections = (medicine("lisinopril 10 MG Oral Tablet", more=reaction(COUGH)), problem(COUGH, "20210210"))
    [link] = links(*sections)
    assert (link.rule, link.confidence, link.source) == ("agent:reaction-and-stop", 0.5, LinkSource.RULE)
    [caused] = links(*sections, type=LinkType.ADVERSE_REACTION_TO)
    assert (caused.rule, caused.confidence) == ("agent:stated-reaction", 0.9)
    assert (caused.origin, caused.target) == (link.target, link.origin)


@pytest.mark.parametrize("status", ["active", "completed", "suspended"])
def test_a_medication_that_was_not_stopped_keeps_its_reaction_and_stops_for_nothing(status: str) -> None:
    sections = (medicine("lisinopril 10 MG Oral Tablet", status, more=reaction(COUGH)), problem(COUGH, "20210210"))
    assert links(*sections) == []
    assert [link.rule for link in links(*sections, type=LinkType.ADVERSE_REACTION_TO)] == ["agent:stated-reaction"]


def test_an_allergy_of_about_the_day_of_the_stop_may_be_why() -> None:
    [link] = links(medicine("lisinopril 10 MG Oral Tablet"), allergy("Lisinopril", "20210302"))
    assert (link.rule, link.source) == ("agent:allergy-and-stop", LinkSource.TEMPORAL_INFERENCE)
    assert links(medicine("lisinopril 10 MG Oral Tablet"), allergy("Lisinopril", "20190302")) == []


def test_a_reaction_that_labels_know_and_that_began_shortly_before_may_be_why() -> None:
    pancreatitis = cd("197456007", "Acute pancreatitis")
    [link] = links(medicine("alogliptin 25 MG Oral Tablet"), problem(pancreatitis, "20210225"))
    assert (link.rule, link.source) == ("agent:reaction-and-stop/spl-adr", LinkSource.KNOWLEDGE_BASE)
