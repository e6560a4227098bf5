"""Whatever arrives: read or refused, and every law of reading kept (`fuzz.laws`); a broken entry leaves the others."""

from __future__ import annotations

import re

from ccda_small import act, author, cd, concern, document, entry, inside, read, section
from fuzz.laws import MARK, lawful
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.model.statement import Kind

MEDICINE = act(
    "substanceAdministration",
    "16",
    '<effectiveTime xsi:type="IVL_TS"><low value="2026"/></effectiveTime><effectiveTime xsi:type="PIVL_TS"><period '
    'value="8" unit="h"/></effectiveTime><repeatNumber value="2"/><doseQuantity value="250" unit="mg"/><consumable>'
    "<manufacturedProduct><manufacturedMaterial>" + cd("308192", "Amoxicillin", "2.16.840.1.113883.6.88", "code")
    + "</manufacturedMaterial></manufacturedProduct></consumable>" + author(),
)  # fmt: skip
RESULT = act(
    "observation",
    "2",
    cd("718-7", "Hemoglobin", "2.16.840.1.113883.6.1", "code")
    + '<effectiveTime value="20260210"/><value xsi:type="PQ" value="10" unit="g/dL"/><referenceRange><observationRange>'
    + '<value xsi:type="IVL_PQ"><low value="1"/><high value="2"/></value></observationRange></referenceRange>',
)
WHOLE = document(
    section("11450-4", concern(act("observation", "4", cd("65363002", "Otitis media") + author()))),
    section("10160-0", entry(MEDICINE)),
    section("30954-2", entry(act("organizer", "1", f"<component>{RESULT}</component>"))),
    section(
        "10157-6", entry(act("organizer", "45", f"<component>{act('observation', '46', cd('1', 'x'))}</component>"))
    ),
    section(
        "46240-8", entry(act("encounter", "49", inside(act("act", "80", inside(act("observation", "4", cd("2")))))))
    ),
    section("8648-8", "", text='<paragraph ID="p">Words</paragraph>'),
)
ATTRIBUTE = re.compile(rb'="[^"]*"')
ELEMENT = re.compile(rb"<[a-zA-Z][^>]*>")
VALUES = st.one_of(
    st.sampled_from(
        [MARK, "", "0", "-1", "true", "99999999999999999999", "20261399", "2026", "NaN", "1e400", "#p", "|", "\u0001"]
    ),
    st.text(max_size=12),
)


def survives(body: bytes) -> None:
    lawful(body, "cda/r2")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_attribute_may_hold_anything(data: st.DataObject) -> None:
    places = list(ATTRIBUTE.finditer(WHOLE))
    found = data.draw(st.sampled_from(places))
    value = data.draw(VALUES).encode("utf-8", "replace").replace(b"<", b"").replace(b'"', b"").replace(b"&", b"")
    survives(WHOLE[: found.start()] + b'="' + value + b'"' + WHOLE[found.end() :])


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_any_element_may_be_another_or_carry_a_null_flavor(data: st.DataObject) -> None:
    found = data.draw(st.sampled_from(list(ELEMENT.finditer(WHOLE))))
    name = re.match(rb"<([a-zA-Z]+)", found.group())
    assert name is not None
    other = data.draw(
        st.sampled_from([b"value", b"code", b"act", b"text", b"author", b"id", b"entry", b"section", b"effectiveTime"])
    )
    body = WHOLE[: found.start()] + found.group().replace(name.group(), b"<" + other, 1) + WHOLE[found.end() :]
    survives(body)
    survives(body.replace(b"</" + name.group(1) + b">", b"</" + other + b">", 1))
    end = b"/>" if found.group().endswith(b"/>") else b">"
    nil = found.group()[: -len(end)] + b' nullFlavor="UNK"' + end
    survives(WHOLE[: found.start()] + nil + WHOLE[found.end() :])


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 200), st.binary(max_size=8))
@settings(max_examples=150, deadline=None)
def test_any_bytes_may_be_missing_or_others(start: int, length: int, instead: bytes) -> None:
    survives(WHOLE[:start] + instead + WHOLE[start + length :])


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_at_all(body: bytes) -> None:
    survives(body)
    survives(b"<ClinicalDocument>" + body + b"</ClinicalDocument>")


def test_one_bad_entry_spoils_only_itself() -> None:
    bad = WHOLE.replace(b'<period value="8" unit="h"/>', b'<period value="\xc2\xa0" unit="9"><low/></period>')
    kinds = {s.kind for s in read(bad).statements}
    assert {Kind.CONDITION, Kind.MEDICATION, Kind.OBSERVATION, Kind.REPORT, Kind.ENCOUNTER} <= kinds
