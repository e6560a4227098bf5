"""Is the gold of talk that was written apart from the extractor well formed? Nothing is learned or scored here."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from evals.assertion import SECOND
from evals.kept_apart import OPENED, Part, part_in, part_of, standing
from evals.learned import states_counted
from evals.shape import Options
from evals.talks import ALLERGIES_SECOND, ALLERGIES_THIRD, LABELS, STATES, allergy_turns, medicine_turns

from evals import first_memories
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.session import Speaker
from iamata.model.statement import Polarity

KINDS = {kind.value for kind in MemoryKind}
TIMES = {time.value for time in Temporality}
POLARITIES = {polarity.value for polarity in Polarity}
ROWS = {"third": first_memories.third_rows(), "fourth": first_memories.third_rows(first_memories.FOURTH)}
CASES = {"third": first_memories.third_cases(), "fourth": first_memories.fourth_cases()}
DIALOGUES = pytest.mark.parametrize("name", ROWS)


def wanted(part: str) -> tuple[set[str], set[str], set[str], dict[str, str]]:
    """Types, names, signs and details of one expected memory as the table writes it."""
    types, names, signs, *details = part.split(":")
    pairs = [detail.partition("=") for detail in details]
    assert all(detail and equals and value for detail, equals, value in pairs), part
    return set(types.split("|")), set(names.split("|")), set(signs.split("|")), {n: v for n, _e, v in pairs}


@DIALOGUES
def test_every_turn_of_a_set_of_dialogues_has_an_id_of_its_own_and_stands_in_its_dialogue(name: str) -> None:
    assert len({row["id"] for row in ROWS[name]}) == len(ROWS[name])
    met: list[str] = []
    for row in ROWS[name]:
        if not met or met[-1] != row["dialogue"]:
            met.append(row["dialogue"])
        place = sum(each["dialogue"] == row["dialogue"] for each in ROWS[name][: ROWS[name].index(row) + 1])
        assert row["id"] == f"{row['dialogue']}-{place}"
        assert Speaker(row["speaker"]) is Speaker.CAREGIVER or not row["relationship"]
        assert row["speaker"] != "caregiver" or row["relationship"]
    assert len(met) == len(set(met)) >= (60 if name == "third" else 45), "a dialogue is in one piece"


@DIALOGUES
def test_what_a_set_of_dialogues_expects_is_written_in_its_vocabulary_and_quoted_from_its_turn(name: str) -> None:
    allowed = {"q", "t", "detail", "since", "relative", *first_memories.DETAILS}
    for row in ROWS[name]:
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


@DIALOGUES
def test_what_a_set_of_dialogues_forbids_uses_only_what_the_evaluation_reads(name: str) -> None:
    for row in ROWS[name]:
        for part in filter(None, row["not"].split(" ;; ")):
            type, concept, *details = part.split(":")
            pairs = dict(detail.split("=") for detail in details)
            assert type in KINDS, row["id"]
            assert concept, row["id"]
            assert set(pairs) <= {"t", "polarity", "detail", "dose", "value"}, row["id"]
            assert pairs.get("t", "current") in TIMES, row["id"]
            assert pairs.get("polarity", "denied") in POLARITIES, row["id"]


@DIALOGUES
def test_no_turn_of_a_set_of_dialogues_expects_what_it_forbids(name: str) -> None:
    for case in CASES[name]:
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


@DIALOGUES
def test_a_dialogue_of_a_set_of_dialogues_falls_whole_on_one_side_and_its_cases_become_sessions(name: str) -> None:
    sides: dict[str, set[bool]] = {}
    for case in CASES[name]:
        dialogue = case["id"].rpartition("-")[0]
        sides.setdefault(dialogue, set()).add(case["held_out"])
        assert case["held_out"] is (part_of(f"memories/{name}/{dialogue}") == "unopened")
        session = first_memories.session_of(case)
        assert session.messages[-1].turn.text == case["text"]
        assert len(session.messages) == int(case["id"].rpartition("-")[2])
    assert all(len(side) == 1 for side in sides.values())
    assert 0.2 < sum(side == {True} for side in sides.values()) / len(sides) < 0.45


@DIALOGUES
def test_a_set_of_dialogues_asks_for_enough_of_something_and_enough_of_nothing(name: str) -> None:
    expecting = [case for case in CASES[name] if case["expect"]]
    assert len(expecting) >= (150 if name == "third" else 80)
    assert sum(len(case["expect"]) for case in expecting) >= (200 if name == "third" else 100)
    assert sum(case["none"] for case in CASES[name]) >= 50
    assert {case["speaker"] for case in CASES[name]} == {speaker.value for speaker in Speaker}


def test_a_quote_of_the_third_set_reaches_the_evaluation_and_a_star_stands_for_any_name() -> None:
    case = next(case for case in CASES["third"] if case["id"] == "sugars-pressure-2")
    assert [(e["quote"], e["value"]) for e in case["expect"]] == [
        ("126 before breakfast", "126"),
        ("190 after", "190"),
        ("pressure was 140 over 85", "140/85"),
    ]
    assert [turn["speaker"] for turn in case["before"]] == ["clinician"]
    assert case["attribution"] == "user-reported"
    assert next(c for c in CASES["third"] if c["id"] == "goals-physio-2")["expect"][0]["concept"] == "*"


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


@pytest.mark.parametrize(
    ("path", "name", "size", "tempted"),
    [(ALLERGIES_SECOND, "allergy-turns-second", 150, 40), (ALLERGIES_THIRD, "allergy-turns-third", 100, 30)],
)
def test_a_set_on_allergies_reads_as_talks_and_tempts_to_deny_all(
    path: Path, name: str, size: int, tempted: int
) -> None:
    talks = list(allergy_turns(path, name))
    assert len({talk.id for talk in talks}) == len(talks) >= size
    assert len({tuple(talk.turns) for talk in talks}) == len(talks)
    refusing = re.compile(r"(?:No|Not|None|Nope|Nothing|Nil|Neither)\b")
    tempting = [
        talk for talk in talks if refusing.match(talk.turns[-1][1]) and not any(g[1] == "none" for g in talk.gold)
    ]
    assert len(tempting) >= tempted
    for talk in talks:
        assert all(name and polarity in POLARITIES for _type, name, polarity in talk.gold), talk.id
        assert all((name == "none") is (polarity == "denied") for _type, name, polarity in talk.gold), talk.id
        assert talk.own, talk.id
        assert len(talk.turns) > 1, talk.id


def test_the_substances_of_the_third_set_on_allergies_stand_in_its_talks() -> None:
    written = {"told-14": "keflex"}  # by its ingredient
    for talk in allergy_turns(ALLERGIES_THIRD, "allergy-turns-third"):
        said = " ".join(text for _who, text in talk.turns).lower()
        for _type, substance, _polarity in talk.gold:
            assert substance == "none" or written.get(talk.id, substance.lower()) in said, talk.id


def test_the_turns_about_medicines_name_what_is_judged_and_say_each_state() -> None:
    talks = list(medicine_turns())
    assert len({talk.id for talk in talks}) == len({tuple(talk.turns) for talk in talks}) == len(talks) >= 80
    told: Counter[str] = Counter()
    for talk in talks:
        assert talk.states is not None
        said = " ".join(text for _who, text in talk.turns).lower()
        for name, states in talk.states.items():
            assert states, talk.id
            assert states <= {*STATES, "none"}, talk.id
            told.update(states)
            if not talk.id.startswith("misheard") and talk.id != "current-17":  # "hctz" is written out
                assert name.lower() in said, talk.id
    assert all(told[state] >= 8 for state in STATES)
    assert sum(not talk.states for talk in talks) >= 15


def test_no_two_rows_of_the_sets_on_allergies_and_medicines_say_the_same() -> None:
    sets = (
        allergy_turns(),
        allergy_turns(ALLERGIES_SECOND, "allergy-turns-second"),
        allergy_turns(ALLERGIES_THIRD, "allergy-turns-third"),
        medicine_turns(),
    )
    ids = [(talk.id, talk.set) for turns in sets for talk in turns]
    assert len(set(ids)) == len(ids)
    texts = [tuple(talk.turns) for turns in (allergy_turns(ALLERGIES_THIRD), allergy_turns()) for talk in turns]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", ["allergy-turns-third", "medicine-turns"])
def test_a_new_set_of_turns_is_split_by_its_ids_and_both_parts_have_some(name: str) -> None:
    talks = list(medicine_turns() if name == "medicine-turns" else allergy_turns(ALLERGIES_THIRD, name))
    parts = Counter(talk.part for talk in talks)
    assert set(parts) == {"tuned", "unopened"}
    assert 0.2 < parts["unopened"] / len(talks) < 0.45
    assert all((talk.part == "unopened") is (part_of(f"{name}/{talk.id}") == "unopened") for talk in talks)


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ([("metformin", "current"), ("ramipril", "past")], (2, [], [])),
        ([("metformin", "past"), ("ramipril", "denied")], (1, ["metformin past"], ["metformin"])),
        ([("atorvastatin", "denied"), ("warfarin", "current")], (1, ["warfarin current"], ["metformin", "ramipril"])),
        ([("atorvastatin", "planned")], (0, ["atorvastatin planned"], ["metformin", "ramipril"])),
    ],
)
def test_a_medicine_is_a_hit_only_with_what_is_said_of_it(
    said: list[tuple[str, str]], counts: tuple[int, list[str], list[str]]
) -> None:
    gold = {"metformin": {"current"}, "ramipril": {"past", "denied"}, "atorvastatin": {"denied", "none"}}
    assert states_counted({name: frozenset(states) for name, states in gold.items()}, said) == counts


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


@DIALOGUES
def test_who_says_nothing_fails_every_turn_with_memories_and_passes_every_other(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_memories, "learn", lambda *_given, **_named: [])
    rows = [first_memories.row_of(case, name) for case in CASES[name] if not case["held_out"]]
    figures = first_memories.figures(rows)
    assert figures[f"{name} tuned with memories"]["share"] == 0.0
    assert figures[f"{name} tuned with none"]["share"] == 1.0
    assert figures[f"{name} tuned with memories"]["n"] + figures[f"{name} tuned with none"]["n"] == len(rows)


def test_what_was_opened_is_called_so_with_the_day_and_the_new_sets_are_not() -> None:
    opened = {"first", "second", "third", "allergy-turns", "allergy-turns-second", "negex", "mts-dialog", "phrasings"}
    assert {OPENED[name].isoformat() for name in opened} == {"2026-11-30"}
    assert not {"fourth", "allergy-turns-third", "medicine-turns", "phrasings_second"} & set(OPENED)
    assert [standing("third", kept_apart=apart) for apart in (False, True)] == ["tuned", "opened"]
    assert [standing("fourth", kept_apart=apart) for apart in (False, True)] == ["tuned", "unopened"]
    for key in (f"item/{n}" for n in range(30)):
        assert part_in("fourth", key) == part_of(key)
        assert part_in("third", key) == {"tuned": "tuned", "unopened": "opened"}[part_of(key)]


@pytest.mark.parametrize(
    ("options", "run"),
    [
        (Options(), {"tuned"}),
        (Options(opened=True), {"tuned", "opened"}),
        (Options(held_out=True), {"tuned", "opened", "unopened"}),
    ],
)
def test_a_part_kept_apart_is_run_only_when_it_is_asked_for(options: Options, run: set[str]) -> None:
    parts: tuple[Part, ...] = ("tuned", "opened", "unopened")
    assert {part for part in parts if options.runs(part)} == run


@pytest.mark.parametrize("opened", [False, True])
def test_the_figures_of_a_set_opened_before_are_called_opened(
    opened: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_memories, "learn", lambda *_given, **_named: [])
    figures = first_memories.run(Options(data=tmp_path, opened=opened)).figures
    sets = ("first", "second", "third", "fourth")
    assert all(f"{name} tuned" in figures for name in sets)
    assert [f"{name} opened" in figures for name in sets] == [opened, opened, opened, False]
    assert not any("unopened" in name or "held" in name for name in figures)
