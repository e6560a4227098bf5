"""Every law of reading, on documents of every family that were changed at random, and shown to find what breaks it."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from evals.accounting import unaccounted
from fuzz.changes import CHANGES, changed
from fuzz.doors import DOORS
from fuzz.laws import DOCUMENT, MARK, RECEIVED, judge, parse
from fuzz.seeds import seeds
from hl7_small import message
from hypothesis import given, settings
from hypothesis import strategies as st

from iamata.connectors import registry
from iamata.errors import BadInput
from iamata.model.document import Outcome
from iamata.model.provenance import Place
from iamata.model.sighting import Sighting
from iamata.ports import Parsed

NOWHERE = Path("no folder of real files")
SEEDS = {target: list(seeds(target, NOWHERE)) for target in DOORS}
BODY = message("OBR|1|P1|F1|24323-8^Panel^LN", "OBX|1|NM|2951-2^Sodium^LN||140|mmol/L|||||F", "NTE|1||slept badly")


@pytest.mark.parametrize("target", DOORS)
@settings(max_examples=120, deadline=None)
@given(chosen=st.integers(0, 2**32))
def test_a_document_changed_at_random_keeps_every_law(target: str, chosen: int) -> None:
    chance = random.Random(chosen)
    body = changed(CHANGES[target], chance.choice(SEEDS[target]), chance)
    if body is not None:
        assert not DOORS[target](body)


@pytest.mark.parametrize("target", DOORS)
def test_changes_make_other_documents_and_the_same_by_the_same_chance(target: str) -> None:
    for seed in SEEDS[target][:3]:
        made = [changed(CHANGES[target], seed, random.Random(n)) for n in range(20)]
        assert len({body for body in made if body is not None} - {seed}) > 5
        assert made == [changed(CHANGES[target], seed, random.Random(n)) for n in range(20)]


def plant(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Parsed], Parsed]) -> None:
    """The HL7 v2 reader with a fault."""
    sound = registry.READERS["hl7v2"]

    def read(body: bytes, **more: Any) -> Parsed:
        return fault(sound(body, **more))

    monkeypatch.setitem(registry.READERS, "hl7v2", read)


def _raises(parsed: Parsed) -> Parsed:
    raise KeyError(parsed.format)


def _silent_refusal(parsed: Parsed) -> Parsed:
    raise BadInput("a segment is wrong")


def _telling_refusal(parsed: Parsed) -> Parsed:
    raise BadInput(f"{MARK} is wrong", place="/1/PID/1")


def _line(parsed: Parsed, **more: Any) -> Parsed:
    return msgspec.structs.replace(
        parsed, intake=(msgspec.structs.replace(parsed.intake[0], **more), *parsed.intake[1:])
    )


def _sightings(parsed: Parsed, *sightings: Sighting) -> Parsed:
    return msgspec.structs.replace(parsed, sightings=sightings)


def _first(parsed: Parsed, **more: Any) -> Parsed:
    changed = msgspec.structs.replace(parsed.statements[0], **more)
    return msgspec.structs.replace(parsed, statements=(changed, *parsed.statements[1:]))


TICKS = itertools.count()
PLANTED: dict[str, tuple[Callable[[Parsed], Parsed], str]] = {
    "another exception": (_raises, "refused by us: KeyError"),
    "a refusal without a place": (_silent_refusal, "placed and silent: BadInput without a place"),
    "a refusal that tells a value": (_telling_refusal, "placed and silent: BadInput tells a value"),
    "a line that is left out": (
        lambda p: msgspec.structs.replace(p, intake=p.intake[:-1]),
        "nothing lost: /N/NTE/N (/1/NTE/1)",
    ),
    "no lines at all": (lambda p: msgspec.structs.replace(p, intake=()), "nothing lost: intake"),
    "a line that tells a value": (lambda p: _line(p, detail=f"not read: {MARK}"), "tells a value"),
    "a line without a place": (lambda p: _line(p, place="", outcome=Outcome.STRUCTURED), "without a place"),
    "a warning that tells a value": (
        lambda p: msgspec.structs.replace(p, warnings=(MARK.lower(),)),
        "a warning tells a value",
    ),
    "a reading by the clock": (lambda p: msgspec.structs.replace(p, set_aside=next(TICKS)), "another reading"),
    "a statement that is not sighted": (lambda p: _sightings(p, *p.sightings[1:]), "that is not sighted"),
    "a sighting of nothing": (
        lambda p: _sightings(p, *p.sightings, Sighting("st_x", DOCUMENT, Place("/1/PID/1"), RECEIVED)),
        "whole: a sighting of nothing",
    ),
    "a place that does not open": (
        lambda p: _sightings(p, *(msgspec.structs.replace(s, place=Place("/9/OBX/9")) for s in p.sightings)),
        "whole: a place that does not open",
    ),
    "an id that stands twice": (
        lambda p: msgspec.structs.replace(p, statements=(*p.statements, p.statements[0])),
        "whole: an id stands twice",
    ),
    "a text that is no Unicode": (lambda p: _first(p, status="\ud800"), "storable: a statement"),
    "far more out than in": (lambda p: _first(p, status="x" * 1_000_000), "bounded: more comes out than may"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(BODY, "hl7v2").faults == ()
    fault, found = PLANTED[planted]
    plant(monkeypatch, fault)
    assert any(found in str(each) for each in judge(BODY, "hl7v2").faults)


@pytest.mark.parametrize(
    ("target", "format", "place"),
    [
        ("fhir-r4", "fhir/r4", "/entry/0/resource"),
        ("fhir-r5", "fhir/r5", "/entry/4"),
        ("cda", "cda/r2", "/ClinicalDocument/component/structuredBody/component/section"),
        ("hl7v2", "hl7v2", "/1/NTE/1"),
        ("x12", "x12", "segments/10-14"),
    ],
)
def test_an_item_without_a_line_is_found_in_every_family(target: str, format: str, place: str) -> None:
    body = SEEDS[target][0]
    parsed = parse(body, format)
    assert unaccounted(body, format, parsed) == []
    kept = tuple(line for line in parsed.intake if not line.place.startswith(place))
    assert len(kept) < len(parsed.intake)
    missing = unaccounted(body, format, msgspec.structs.replace(parsed, intake=kept))
    assert missing
    assert format == "x12" or missing[0].startswith(place)


def test_words_that_a_passage_leaves_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"PLAN:\nCome back in two weeks.\n\nALLERGIES:\nPenicillin, hives as a child.\n"
    assert judge(body, "document/text").faults == ()
    sound = registry.READERS["document/text"]

    def read(body: bytes, **more: Any) -> Parsed:
        parsed = sound(body, **more)
        lost = parsed.passages[0].id
        kept = tuple(sighting for sighting in parsed.sightings if sighting.item != lost)
        return msgspec.structs.replace(parsed, passages=parsed.passages[1:], sightings=kept)

    monkeypatch.setitem(registry.READERS, "document/text", read)
    assert [str(each).partition(" (")[0] for each in judge(body, "document/text").faults] == [
        "nothing lost: words of a page"
    ]


_DIGESTS = """
import sys
from pathlib import Path
from fuzz.laws import digest, parse
from fuzz.seeds import seeds
formats = {"fhir-r4": "fhir/r4", "fhir-r5": "fhir/r5", "cda": "cda/r2", "hl7v2": "hl7v2", "x12": "x12"}
for target, format in formats.items():
    print(*(digest(parse(body, format)) for body in seeds(target, Path("none"))))
"""


def test_another_process_reads_the_same() -> None:
    """Sets of texts stand in another order in each process: none of that order is in a reading."""
    read = []
    for hashing in ("1", "2", "3"):
        given = {**os.environ, "PYTHONHASHSEED": hashing, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run([sys.executable, "-c", _DIGESTS], env=given, capture_output=True, text=True, check=True)
        read.append(done.stdout)
    assert len(read[0].split()) >= 5
    assert read[0] == read[1] == read[2]


def test_the_command_judges_one_input_and_says_what_it_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fuzz.__main__ import TARGETS, main

    assert set(TARGETS) == set(DOORS) == set(CHANGES)
    kept = tmp_path / "x.json"
    kept.write_text(json.dumps({"resourceType": "Patient", "id": "p"}))
    assert main(["fhir-r4", "--input", str(kept)]) == 0
    assert capsys.readouterr().out == "fhir-r4  1 inputs, 0 faults\n"
