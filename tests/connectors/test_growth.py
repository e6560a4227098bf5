"""The work of reading grows with the document, not with its square: counted in steps, without a clock."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import ccda_small as cda
import hl7_small as hl7
import pytest
import x12_small as x12
from fuzz.laws import parse

FEW, TIMES = 150, 4


def steps(body: bytes, format: str) -> int:
    """How many instructions of ours run while the document is read."""
    count = 0

    def each(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        return each

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "iamata" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return each

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        parse(body, format)
    finally:
        sys.settrace(before)
    return count


def result(number: int) -> str:
    return cda.act("observation", "2", cda.cd(str(number), "x", element="code") + '<value xsi:type="INT" value="1"/>')


def observation(**more: Any) -> dict[str, Any]:
    code = {"text": "Heart rate"}
    return {"resourceType": "Observation", "id": "o", "status": "final", "code": code, "valueString": "a", **more}


def bundle(*resources: dict[str, Any]) -> bytes:
    return json.dumps({"resourceType": "Bundle", "entry": [{"resource": each} for each in resources]}).encode()


GROWING: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "CDA entries": (
        "cda/r2",
        lambda n: cda.document(cda.section("30954-2", "".join(map(cda.entry, map(result, range(n)))))),
    ),
    "CDA sections": (
        "cda/r2",
        lambda n: cda.document(*[cda.section("8648-8", "", text="<paragraph>x</paragraph>")] * n),
    ),
    "CDA acts inside one": (
        "cda/r2",
        lambda n: cda.document(
            cda.section(
                "30954-2",
                cda.entry(cda.act("organizer", "1", "".join(f"<component>{result(i)}</component>" for i in range(n)))),
            )
        ),
    ),
    "CDA authors": (
        "cda/r2",
        lambda n: cda.document(authors="".join(cda.author(cda.AMES.replace("111", str(i))) for i in range(n))),
    ),
    "FHIR entries": ("fhir/r4", lambda n: bundle(*(observation(id=f"o{i}") for i in range(n)))),
    "FHIR contained": (
        "fhir/r4",
        lambda n: bundle(observation(contained=[{"resourceType": "Practitioner", "id": f"c{i}"} for i in range(n)])),
    ),
    "FHIR keys that stand twice": (
        "fhir/r4",
        lambda n: b'{"resourceType":"Basic",%s}' % b",".join(b'"a%d":1,"a%d":2' % (i, i) for i in range(n)),
    ),
    "HL7 v2 results": ("hl7v2", lambda n: hl7.message(*(f"OBX|{i}|NM|{i}^x^L||{i}|g" for i in range(n)))),
    "HL7 v2 identifiers": (
        "hl7v2",
        lambda n: hl7.message(pid="PID|1||" + "~".join(f"{i}^^^N^MR" for i in range(n)), event="ADT^A08"),
    ),
    "X12 members": (
        "x12",
        lambda n: x12.interchange(
            x12.transaction(
                "834",
                "005010X220A1",
                "BGN*00*1*20260101",
                *(s for i in range(n) for s in ("INS*Y*18*030", f"REF*0F*{i}", f"NM1*IL*1*A{i}*B")),
            )
        ),
    ),
    "X12 claims": ("x12", lambda n: x12.interchange(x12.claims(*(x12.claim(f"A{i}") for i in range(n))))),
}


@pytest.mark.parametrize("what", GROWING)
def test_four_times_as_much_takes_about_four_times_the_steps(what: str) -> None:
    format, made = GROWING[what]
    parse(made(2), format)  # tables are loaded once
    few, many = steps(made(FEW), format), steps(made(FEW * TIMES), format)
    assert few > FEW, "the steps are counted"
    assert many < few * TIMES * 1.5, f"{few} steps became {many}"
