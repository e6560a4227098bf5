"""The generator: the same seed gives the same bytes, gold contradicts itself nowhere, the reader takes every item."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from evals.generator import NOISES, UNOPENED, World, make, synthea, tables
from evals.generator.gold import KINDS, pairs
from evals.generator.plants import PAIRS_A_PATIENT, look_alike_pairs
from evals.generator.talk import TYPES, cases
from evals.kept_apart import Part
from evals.reconciliation_pairs import figures_of, form, judge, measure
from evals.shape import Options

from evals import links
from iamata import Engine
from iamata.model.document import Outcome

SEEDS = (1, 2, 3, 4, 5, 6)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [make(seed) for seed in SEEDS]


def test_the_same_seed_gives_the_same_bytes(worlds: list[World]) -> None:
    again = [make(seed) for seed in SEEDS]
    assert [[d.body for d in world.documents] for world in worlds] == [[d.body for d in w.documents] for w in again]
    assert worlds == again


def test_another_seed_and_another_noise_give_other_bytes(worlds: list[World]) -> None:
    assert len({world.documents[0].body for world in worlds}) == len(worlds)
    assert make(1, "copies").documents[0].body != make(1, "all").documents[0].body
    assert {make(seed).noise for seed in range(1, 5)} == set(NOISES)


def test_every_item_has_a_truth_and_a_place_of_its_own(worlds: list[World]) -> None:
    for world in worlds:
        assert all(item.truth in world.things for item in world.items if item.kind != "demographic")
        places = Counter((item.document, item.place) for item in world.items)
        assert set(places.values()) == {1}
        assert len({item.id for item in world.items}) == len(world.items)


def test_every_place_is_in_its_document(worlds: list[World]) -> None:
    for world in worlds:
        for item in world.items:
            document = world.documents[item.document]
            assert item.source == document.source
            if document.format == "fhir/r4":
                resource = json.loads(document.body)["entry"][int(item.place.split("/")[2])]["resource"]
                assert f"{resource['resourceType']}/{resource['id']}" == item.reference


def test_no_pair_is_both_one_fact_and_two(worlds: list[World]) -> None:
    for world in worlds:
        same: dict[str, set[str]] = {}
        apart = []
        for pair in pairs(world):
            assert pair.relation in ("same", "apart", "open")
            if pair.relation == "same":
                same.setdefault(pair.left.id, set()).add(pair.right.id)
            elif pair.relation == "apart":
                apart.append((pair.left.id, pair.right.id))
        # Sameness is transitive: what two items are both the same as keeps them from being apart.
        forbidden = {pair for mates in same.values() for pair in combinations(sorted(mates), 2)}
        assert not forbidden & {tuple(sorted(pair)) for pair in apart}


def test_planted_conflicts_and_corrections_name_items_of_one_kind(worlds: list[World]) -> None:
    for world in worlds:
        kinds = {item.id: item.kind for item in world.items}
        for clash in world.clashes:
            assert clash.left
            assert clash.right
            assert not set(clash.left) & set(clash.right)
            assert len({kinds[id] for id in (*clash.left, *clash.right)}) == 1
        assert set(world.superseded) <= kinds.keys()


def test_the_reader_takes_every_item(worlds: list[World]) -> None:
    for world in worlds:
        assert form(world).lost == []
        with Engine.open(":memory:") as engine:
            for document in world.documents:
                receipt = engine.ingest("p", document.body, source=document.source, format=document.format)
                ignored = [line.place for line in receipt.intake if line.outcome is Outcome.IGNORED]
                aside = [i.place for i in world.items if i.set_aside and document is world.documents[i.document]]
                assert sorted(ignored) == sorted(aside)


def test_an_item_becomes_a_statement_of_its_kind_or_is_set_aside(worlds: list[World]) -> None:
    for world in worlds:
        formed = form(world)
        for item in world.items:
            kinds = {str(formed.graph.statements[id].kind) for id in formed.statements[item.id]}
            assert kinds == (set() if item.set_aside else {item.kind}), item.id


def test_twenty_seeds_plant_every_look_alike_pair_and_every_format() -> None:
    planted = {pair for turn in range(20) for pair in look_alike_pairs(turn)}
    assert planted == set(tables.look_alikes())
    assert len(planted) >= 60
    assert len(planted) <= PAIRS_A_PATIENT * 20
    formats = {document.format for seed in range(1, 21) for document in make(seed).documents}
    assert formats == {"fhir/r4", "cda/r2", "hl7v2"}
    why = {clash.why for seed in range(1, 21) for clash in make(seed).clashes}
    assert len(why) >= 9


def test_look_alike_names_are_ordered_and_never_one_truth() -> None:
    world = make(1)
    for left, right in look_alike_pairs(0):
        truths = {item.truth for item in world.items if item.truth.startswith("look-alike/")}
        assert {f"look-alike/{left.casefold()}", f"look-alike/{right.casefold()}"} <= truths


def test_every_row_names_its_source() -> None:
    for path in sorted(tables.DATA.glob("*.tsv")):
        rows = tables.read(path)
        assert rows
        if path.stem not in ("phrasings", "phrasings_second"):
            assert all(row["source"] for row in rows), path.stem
    assert all(row["factor_source"] for row in tables.table("analytes") if row["factor"])


def test_codes_stand_in_the_files_they_were_seen_in(data: Path) -> None:
    """The first file named for a column holds its code; what is named by package or page is not looked up here."""
    labels = {
        "snomed": "SNOMED CT code and name: ",
        "rxnorm": "RxNorm: ",
        "ndc": "NDC: ",
        "brand_rxnorm": "RxNorm brand: ",
    }
    checked, missing = 0, []
    for name in ("conditions", "drugs", "allergens", "vaccines", "procedures", "reactions", "analytes", "single_codes"):
        for row in tables.table(name):
            for column in ("snomed", "rxnorm", "ndc", "brand_rxnorm", "loinc", "code", "cvx"):
                label = labels.get(column, "") if name in ("conditions", "drugs") else ""
                named = [part.removeprefix(label) for part in row["source"].split("; ") if part.startswith(label)]
                if not row.get(column) or not named or not (data / named[0]).is_file():
                    continue
                checked += 1
                pattern = rb"(?<![0-9])" + re.escape(row[column]).encode() + rb"(?![0-9])"
                if not re.search(pattern, (data / named[0]).read_bytes()):
                    missing.append((name, row[column], named[0]))
    assert missing == []
    assert checked >= 120


def test_conversions_are_those_of_their_source() -> None:
    rows = {row["key"]: row for row in tables.table("analytes")}
    assert float(rows["glucose"]["factor"]) == 0.05551
    assert round(float(rows["a1c"]["factor"]) * 7 + float(rows["a1c"]["offset"])) == 53
    assert round(float(rows["body-temperature"]["factor"]) * 37 + float(rows["body-temperature"]["offset"]), 1) == 98.6


def test_figures_can_be_recomputed_from_the_rows() -> None:
    outcome = measure(3, 2, Path("nowhere"))
    assert outcome.figures == figures_of(json.loads(json.dumps(list(outcome.rows))))
    assert outcome.figures["patients"] == 2
    assert outcome.figures["lost"] == 0
    assert set(KINDS) >= {row["kind"] for row in outcome.rows if row["what"] == "pairs"}


def test_seeds_that_are_kept_apart_are_not_run_by_accident() -> None:
    with pytest.raises(ValueError, match="unopened"):
        measure(UNOPENED[0], 1, Path("nowhere"))


def test_a_perfect_graph_would_score_one() -> None:
    """The judge itself: with facts taken from the truth there is no miss of a pair."""
    world = make(2)
    formed = form(world)
    formed.facts = {i.id: frozenset() if i.set_aside else frozenset({i.truth}) for i in world.items}
    rows, _ = judge(world, formed)
    figures: dict[str, Any] = figures_of(rows)
    assert (figures["pairs_precision"], figures["pairs_recall"], figures["bcubed_f1"]) == (1.0, 1.0, 1.0)


def test_one_great_fact_is_a_wrong_merge_of_drugs_and_of_patients() -> None:
    world = make(2)
    formed = form(world)
    formed.facts = {item.id: frozenset({item.kind}) for item in world.items}
    rows, misses = judge(world, formed)
    patient = next(row for row in rows if row["what"] == "patient")
    assert patient["wrong_drug_merges"] > 100
    assert patient["wrong_patient_merges"] > 0
    assert figures_of(rows)["pairs_recall"] == 1.0
    assert any(miss.startswith("seed 2 values wrongly merged") for miss in misses)


def test_a_synthea_bundle_is_scattered_with_gold(data: Path) -> None:
    path = synthea.bundles(data)[0]
    world = synthea.make(path, 1)
    assert world == synthea.make(path, 1)
    assert len(world.documents) == 3
    relations = Counter(pair.relation for pair in pairs(world))
    assert relations["same"] > 20
    assert relations["apart"] > relations["open"] > 0


def test_each_kind_and_link_has_twelve_phrasings_and_half_are_kept_apart() -> None:
    rows = tables.table("phrasings")
    counts = Counter((row["kind"], row["link"]) for row in rows if row["link"] in TYPES)
    assert set(counts) == {(kind, type) for kind in links.KINDS for type in TYPES}
    assert min(counts.values()) >= 12
    halves = Counter((row["kind"], row["link"], row["set"]) for row in rows)
    assert all(halves[kind, link, "tuned"] == halves[kind, link, "unopened"] for kind, link in counts)
    assert len({row["text"] for row in rows}) == len(rows)


def test_the_second_set_of_phrasings_has_all_links_and_both_parts_of_each() -> None:
    rows = tables.table("phrasings_second")
    assert len({row["id"] for row in rows}) == len({row["text"] for row in rows}) == len(rows)
    assert not {row["text"] for row in rows} & {row["text"] for row in tables.table("phrasings")}
    counts = Counter((row["kind"], row["link"]) for row in rows)
    assert all(counts[kind, "refines"] >= 20 for kind in links.KINDS)
    assert all(counts[kind, link] >= 12 for kind in links.KINDS for link in ("supports", "conflicts"))
    assert all(sum(row["link"] == link for row in rows) >= 12 for link in ("explains", "about", "new"))
    parts: tuple[Part, ...] = ("tuned", "unopened")
    made = {part: cases(1, set="phrasings_second", part=part) for part in parts}
    assert sorted(case.id for some in made.values() for case in some) == sorted(f"second-{row['id']}" for row in rows)
    for part, some in made.items():
        assert {case.link for case in some} == {row["link"] for row in rows}, part
        assert not any("{" in case.text for case in some)
        assert {case.part for case in some} == {part}
    assert 0.25 < len(made["unopened"]) / len(rows) < 0.42
    for row in rows:
        assert (row["link"] == "conflicts") is bool(row["conflict"]), row["id"]
        assert (row["speaker"] == "caregiver") is bool(row["relationship"]), row["id"]
        assert row["fact"] in (("never", "former") if row["kind"] == "social_history" else ("",)), row["id"]


def test_a_phrasing_that_fits_some_facts_only_is_about_one_of_them() -> None:
    wanted = {f"second-{row['id']}": row["keys"].split(",") for row in tables.table("phrasings_second") if row["keys"]}
    some = [case for seed in range(5) for case in cases(seed, set="phrasings_second") if case.id in wanted]
    assert len({case.id for case in some}) >= 10
    assert all(any(key in case.text.lower() for key in wanted[case.id]) for case in some)


def test_talk_is_the_same_for_a_seed_and_fills_every_gap() -> None:
    assert cases(7) == cases(7)
    assert cases(7) != cases(8)
    assert not any("{" in case.text for seed in range(3) for case in cases(seed))
    assert {case.id for case in cases(1)}.isdisjoint(case.id for case in cases(1, part="opened"))
    assert cases(1, part="unopened") == [], "the half kept apart was opened"


def test_link_figures_count_each_type() -> None:
    outcome = links.run(Options(seed=1))
    assert outcome.figures["cases"] == len(cases(1))
    second = cases(1, set="phrasings_second")
    assert outcome.figures["phrasings_second tuned cases"] == len(second) == len(outcome.rows) - len(cases(1))
    assert outcome.figures == links.figures(json.loads(json.dumps(list(outcome.rows))), 1)
    assert len(outcome.misses) == sum(not row["right"] for row in outcome.rows)
