"""Every C-CDA file of HL7, ONC, Microsoft and the vendors: read, accounted for, attributed, reconciled."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from ccda_small import graph, read

from iamata.connectors.ccda.decoding import decode
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.walking import ACTS
from iamata.errors import BadInput
from iamata.model.document import Outcome
from iamata.model.graph import Graph
from iamata.model.statement import Kind, Standing, Statement

FOLDERS = ("ccda_hl7_examples", "ccda_microsoft_samples", "ccda_onc_cert", "ccda_vendor_samples")
GOLD = Path(__file__).parents[2] / "evals" / "gold" / "attribution_ccda.csv"
# Broken on purpose by ONC, not well-formed as published by HL7, and an element that is no CDA.
# Whole documents in each folder: 168 that are well-formed as published and 5 whose prefixes have to be mended.
WHOLE = {"ccda_hl7_examples": 30, "ccda_microsoft_samples": 13, "ccda_onc_cert": 53, "ccda_vendor_samples": 77}
REFUSED = {"NT_BadXml_r11_v2.xml", "Basic_Occupation_Observation_Example.xml", "Digital_signature_Example.xml"}


def files(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [p for p in found if p.suffix not in (".md", ".pdf") and p.name.lower() != "readme.txt"]


def acts_of(entry: Node) -> list[Node]:
    return [child for child in entry.children if child.name in ACTS]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_is_read_or_refused_by_name_and_every_section_and_entry_accounted_for(
    folder: str, data: Path
) -> None:
    whole, refused = 0, {}
    for path in files(data / folder):
        body = path.read_bytes()
        try:
            parsed = read(body)
        except BadInput as refusal:
            refused[path.name] = refusal.place
            continue
        root = decode(body).root
        whole += root.name == "ClinicalDocument"
        places = [line.place for line in parsed.intake]
        for node in root.iter():
            if node.name == "section" and root.name == "ClinicalDocument":
                assert node.place in places, (path, node.place)
            if node.name == "entry" and node.parent is not None and node.parent.name == "section":
                inside = node.place
                assert any(p == inside or p.startswith(f"{inside}/") for p in places), (path, inside)
        items = {s.id for s in parsed.statements} | {p.id for p in parsed.passages}
        assert items == {sighting.item for sighting in parsed.sightings}
        keys = Counter(s.provenance.record.key for s in parsed.statements)
        assert max(keys.values()) == 1, (path, keys.most_common(1))
    assert whole == WHOLE[folder]
    assert set(refused) <= REFUSED
    assert all(refused.values())  # each refusal says where


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_act_with_a_code_becomes_a_statement_or_a_line(folder: str, data: Path) -> None:
    lost = []
    for path in files(data / folder):
        body = path.read_bytes()
        if path.name in REFUSED:
            continue
        places = {line.place for line in read(body).intake}
        for node in decode(body).root.iter():
            acts = (
                acts_of(node)
                if node.name == "entry" and node.parent is not None and node.parent.name == "section"
                else []
            )
            if acts:
                inner = [n.place for n in node.iter() if n.name in ACTS]
                if not any(place in places for place in inner):
                    lost.append((path.name, acts[0].place))
    assert lost == []


def test_a_file_read_twice_reads_the_same(data: Path) -> None:
    body = (data / "ccda_hl7_examples/Documents/CCD/CCD_1/CCD.XML").read_bytes()
    assert read(body) == read(body)


def test_hand_labelled_attributions(data: Path) -> None:
    with GOLD.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 40
    graphs: dict[str, Graph] = {}
    wrong = []
    for row in rows:
        if row["file"] not in graphs:
            graphs[row["file"]] = graph(("source", (data / row["file"]).read_bytes()))
        formed = graphs[row["file"]]
        items = [i for i, seen in formed.sightings.items() if any(s.place.pointer == row["place"] for s in seen)]
        assert items, row
        found = formed.attributions[items[0]]
        got = (str(found.kind), str(found.author.role), found.rule)
        if got != (row["expected_kind"], row["expected_role"], row["expected_rule"]):
            wrong.append((row, got))
    assert wrong == []


# ONC's reconciliation test: two documents of one patient, and what must come of them.


@pytest.fixture
def gold(data: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads((data / "recon_micro_cases" / "gold_onc.json").read_text())
    return found


def reconciled(data: Path, names: list[str]) -> Graph:
    folder = data / "ccda_onc_cert/Cures_Update_Receiver_SUT_Test_Data/170.315_b2_CIRI_Amb"
    return graph(*((f"source-{n}", (folder / name).read_bytes()) for n, name in enumerate(names)))


def facts(formed: Graph, kind: Kind) -> dict[str, int]:
    return {fact.display: len(fact.members) for fact in formed.facts.values() if fact.kind is kind}


def matched(wanted: list[str], found: dict[str, int]) -> set[str]:
    """The facts that the gold's short names stand for; a name in the gold may carry a remark in brackets."""
    short = [name.partition(" (")[0].casefold() for name in wanted]
    return {display for display in found if any(display.casefold().startswith(name) for name in short)}


def test_the_reconciled_ccd_has_exactly_onc_s_lists(data: Path, gold: dict[str, dict[str, list[str]]]) -> None:
    case = gold["ciri_r21_ccd"]
    formed = reconciled(data, case["files"])
    merged: set[str] = set()
    for name, kind in (("allergies", Kind.ALLERGY), ("medications", Kind.MEDICATION), ("problems", Kind.CONDITION)):
        found = facts(formed, kind)
        assert len(found) == len(case[name]), found
        assert matched(case[name], found) == set(found)
        merged |= {display for display, members in found.items() if members > 1}
    assert matched(case["duplicates_to_merge"], dict.fromkeys(merged, 2)) == merged
    assert len(merged) == len(case["duplicates_to_merge"])
    overweight = next(f for f in formed.facts.values() if f.display == "Overweight")
    assert overweight.standing is Standing.RESOLVED
    conflict = next(iter(formed.conflicts.values()))
    assert sorted(side.says for side in conflict.sides) == ["2015-02-22", "2015-06-22"]  # the onset of the fever


def test_the_reconciled_r11_document_adds_and_merges_as_onc_says(
    data: Path, gold: dict[str, dict[str, list[str]]]
) -> None:
    case = gold["ciri_r11_ccd"]
    formed = reconciled(data, case["files"])
    assert matched(case["allergies_added"], facts(formed, Kind.ALLERGY)) == {"Aspirin"}
    assert matched(case["problems_added"], facts(formed, Kind.CONDITION)) == {"Asthma"}
    found = facts(formed, Kind.MEDICATION)
    (albuterol,) = matched(case["medications_merged"], found)
    assert found[albuterol] == 2


def test_an_unusual_outcome_is_never_silent(data: Path) -> None:
    """Ignored lines always say why; nothing in details is longer than a place or a name."""
    for folder in FOLDERS:
        for path in files(data / folder)[:40]:
            if path.name in REFUSED:
                continue
            for line in read(path.read_bytes()).intake:
                assert line.outcome is not Outcome.IGNORED or line.detail, (path, line)
                assert len(line.detail) < 400


def test_one_id_is_one_content_over_all_files(data: Path) -> None:
    """A statement's id depends on what it says, so the same id never stands for two contents, whatever its document."""
    seen: dict[str, Statement] = {}
    for folder in FOLDERS:
        for path in files(data / folder):
            if path.name not in REFUSED:
                for statement in read(path.read_bytes()).statements:
                    assert seen.setdefault(statement.id, statement) == statement, path
