"""Is the gold of talk that was written apart from the extractor well formed? Nothing is learned or scored here."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from evals.assertion import SECOND
from evals.kept_apart import part_of
from evals.talks import ALLERGIES_SECOND, LABELS, allergy_turns

from evals import first_memories
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity

KINDS = {kind.value for kind in MemoryKind}
TIMES = {time.value for time in Temporality}
POLARITIES = {polarity.value for polarity in Polarity}
ROWS = first_memories.third_rows()
CASES = first_memories.third_cases()


def wanted(part: str) -> tuple[set[str], set[str], set[str], dict[str, str]]:
    """Types, names, signs and details of one expected memory as the table writes it."""
    types, names, signs, *details = part.split(":")
    pairs = [detail.partition("=") for detail in details]
    assert all(name and equals and value for name, equals, value in pairs), part
    return set(types.split("|")), set(names.split("|")), set(signs.split("|")), {n: v for n, _e, v in pairs}


def test_every_turn_of_the_third_set_has_an_id_of_its_own_and_stands_in_its_dialogue() -> None:
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    met: list[str] = []
    for row in ROWS:
        if not met or met[-1] != row["dialogue"]:
            met.append(row["dialogue"])
        assert (
            row["id"]
            == f"{row['dialogue']}-{sum(r['dialogue'] == row['dialogue'] for r in ROWS[: ROWS.index(row) + 1])}"
        )
        assert Speaker(row["speaker"]) is Speaker.CAREGIVER or not row["relationship"]
        assert row["speaker"] != "caregiver" or row["relationship"]
    assert len(met) == len(set(met)) >= 60, "a dialogue is in one piece"


def test_what_the_third_set_expects_is_written_in_its_vocabulary_and_quoted_from_its_turn() -> None:
    allowed = {"q", "t", "detail", "since", "relative", *first_memories.DETAILS}
    for row in ROWS:
        if row["expect"] == "nothing":
            assert not row["not"], row["id"]
            continue
        for part in filter(None, row["expect"].split(" ;; ")):
            types, names, signs, details = wanted(part)
            assert types <= KINDS, row["id"]
            assert all(names), row["id"]
            assert signs <= {"+", "-"}, row["id"]
            assert set(details) <= allowed, row["id"]
            assert details.get("q", "") in row["text"], row["id"]
            assert details.get("t", "current") in TIMES, row["id"]


def test_what_the_third_set_forbids_uses_only_what_the_evaluation_reads() -> None:
    for row in ROWS:
        for part in filter(None, row["not"].split(" ;; ")):
            type, concept, *details = part.split(":")
            pairs = dict(detail.split("=") for detail in details)
            assert type in KINDS, row["id"]
            assert concept, row["id"]
            assert set(pairs) <= {"t", "polarity", "detail", "dose", "value"}, row["id"]
            assert pairs.get("t", "current") in TIMES, row["id"]
            assert pairs.get("polarity", "denied") in POLARITIES, row["id"]


def test_no_turn_of_the_third_set_expects_what_it_forbids() -> None:
    for case in CASES:
        for expected in case["expect"]:
            for unwanted in case["not"]:
                if {"left", "right"} & set(unwanted["concept"].split()):
                    continue  # the evaluation tells sides apart
                clash = (
                    expected["type"] == unwanted["type"]
                    and first_memories.same_name(expected["concept"], (unwanted["concept"],))
                    and expected["polarity"] == [unwanted.get("polarity", "affirmed")]
                    and set(unwanted) <= {"type", "concept", "polarity"}
                    and expected["experiencer"] == ("family" if unwanted["type"] == "family_history" else "patient")
                )
                assert not clash, case["id"]


def test_a_dialogue_of_the_third_set_falls_whole_on_one_side_and_its_cases_become_sessions() -> None:
    sides: dict[str, set[bool]] = {}
    for case in CASES:
        dialogue = case["id"].rpartition("-")[0]
        sides.setdefault(dialogue, set()).add(case["held_out"])
        assert case["held_out"] is (part_of(f"memories/third/{dialogue}") == "unopened")
        session = first_memories.session_of(case)
        assert session.messages[-1].turn.text == case["text"]
        assert len(session.messages) == int(case["id"].rpartition("-")[2])
    assert all(len(side) == 1 for side in sides.values())
    assert 0.2 < sum(side == {True} for side in sides.values()) / len(sides) < 0.45


def test_the_third_set_asks_for_enough_of_something_and_enough_of_nothing() -> None:
    expecting = [case for case in CASES if case["expect"]]
    assert len(expecting) >= 150
    assert sum(len(case["expect"]) for case in expecting) >= 200
    assert sum(case["none"] for case in CASES) >= 50
    assert {case["speaker"] for case in CASES} == {speaker.value for speaker in Speaker}


def test_a_quote_of_the_third_set_reaches_the_evaluation_and_a_star_stands_for_any_name() -> None:
    case = next(case for case in CASES if case["id"] == "sugars-pressure-2")
    assert [(e["quote"], e["value"]) for e in case["expect"]] == [
        ("126 before breakfast", "126"),
        ("190 after", "190"),
        ("pressure was 140 over 85", "140/85"),
    ]
    assert [turn["speaker"] for turn in case["before"]] == ["clinician"]
    assert case["attribution"] == "user-reported"
    assert next(c for c in CASES if c["id"] == "goals-physio-2")["expect"][0]["concept"] == "*"


def test_the_words_asked_about_stand_once_in_their_sentence_and_each_kind_has_its_labels() -> None:
    with SECOND.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len({row["id"] for row in rows}) == len({row["text"] for row in rows}) == len(rows)
    labels = {
        "negated": ("denied", "", "patient", ""),
        "past": ("affirmed", "past", "patient", ""),
        "hypothetical": ("", "hypothetical", "", ""),
        "possible": ("affirmed", "", "patient", "uncertain"),
        "affirmed": ("affirmed", "current", "patient", ""),
    }
    for row in rows:
        assert len(re.findall(re.escape(row["target"]), row["text"], re.IGNORECASE)) == 1, row["id"]
        kind = row["id"].partition("-")[0]
        found = (row["polarity"], row["temporality"], row["experiencer"], row["certainty"])
        if kind == "other":
            assert found in {("affirmed", "", "other", ""), ("denied", "", "other", "")}, row["id"]
        else:
            assert found == labels[kind], row["id"]
    kinds = Counter(row["id"].rpartition("-")[0] for row in rows)
    assert all(kinds[f"{kind}-note"] == kinds[f"{kind}-talk"] for kind in (*labels, "other"))
    assert {row["experiencer"] for row in rows} - {""} <= {e.value for e in Experiencer}


def test_the_second_set_on_allergies_reads_as_talks_and_tempts_to_deny_all() -> None:
    talks = list(allergy_turns(ALLERGIES_SECOND, "allergy-turns-second"))
    assert len({talk.id for talk in talks}) == len(talks) >= 150
    assert len({tuple(talk.turns) for talk in talks}) == len(talks)
    refusing = re.compile(r"(?:No|Not|None|Nope|Nothing|Nil|Neither)\b")
    tempting = [
        talk for talk in talks if refusing.match(talk.turns[-1][1]) and not any(g[1] == "none" for g in talk.gold)
    ]
    assert len(tempting) >= 40
    for talk in talks:
        assert all(name and polarity in POLARITIES for _type, name, polarity in talk.gold), talk.id
        assert all((name == "none") is (polarity == "denied") for _type, name, polarity in talk.gold), talk.id
        assert talk.own, talk.id
        assert len(talk.turns) > 1, talk.id


def test_the_labels_of_mts_dialog_name_sections_of_their_type(data: Path) -> None:
    if not (data / "mts-dialog").is_dir():
        pytest.skip("no mts-dialog")
    sections = {}
    for name in ("TrainingSet", "ValidationSet"):
        with (data / "mts-dialog" / f"MTS-Dialog-{name}.csv").open(encoding="utf-8", newline="") as lines:
            sections |= {f"{name}/{row['ID']}": row["section_header"] for row in csv.DictReader(lines)}
    with LABELS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len({tuple(row.values()) for row in rows}) == len(rows)
    assert {(row["type"], sections[row["id"]]) for row in rows} == {
        ("medication", "MEDICATIONS"),
        ("allergy", "ALLERGY"),
    }
    apart = {row["id"] for row in rows if part_of(f"mts-dialog/{row['id']}") == "unopened"}
    assert len(apart) == 19


def test_who_says_nothing_fails_every_turn_with_memories_and_passes_every_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(first_memories, "learn", lambda *_given, **_named: [])
    rows = [first_memories.row_of(case, "third") for case in CASES if not case["held_out"]]
    figures = first_memories.figures(rows)
    assert figures["third tuned with memories"]["share"] == 0.0
    assert figures["third tuned with none"]["share"] == 1.0
    assert figures["third tuned with memories"]["n"] + figures["third tuned with none"]["n"] == len(rows)
