"""The retrieval eval counts what it says, on a conversation that is made here."""

from __future__ import annotations

import json
from pathlib import Path

from evals import retrieval


def made(folder: Path) -> Path:
    (folder / "locomo").mkdir()
    talk = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a greyhound."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely."},
        ],
        "session_2_date_time": "9:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "My boat sank.", "blip_caption": "a harbour"}],
    }
    questions = [
        {"question": "Which dog was adopted?", "evidence": ["D1:1"], "category": 4},
        {"question": "What happened to the boats in June?", "evidence": ["D2:1; D1:2"], "category": 1},
        {"question": "What about the zeppelin?", "evidence": ["D1:2"], "category": 4},
        {"question": "Nobody knows", "evidence": [], "category": 5},
    ]
    sample = {"sample_id": "s", "conversation": talk, "qa": questions}
    (folder / "locomo" / "conversations_x.json").write_text(json.dumps([sample]), "utf-8")
    return folder / "locomo"


def test_recall_is_the_mean_share_of_the_evidence_that_is_found(tmp_path: Path) -> None:
    outcome = retrieval.measure(made(tmp_path))
    assert outcome.data == ["locomo/conversations_x.json"]
    assert [round(row["turn"], 2) for row in outcome.rows] == [1.0, 0.5, 0.0]
    assert outcome.figures["questions"] == 3
    assert outcome.figures["turn_recall_at_10"] == 50.0
    assert outcome.figures["session_recall_at_10"] == 50.0
    assert outcome.figures["bm25_turn_recall_at_10"] == 50.0
    assert outcome.misses == ["s 2: What about the zeppelin?"]


def test_a_budget_of_tokens_keeps_what_fits() -> None:
    recalls = retrieval._recalls({"D1:1", "D1:2"}, ["D1:1", "D1:2"], {"D1:1": 600, "D1:2": 600})
    assert (recalls["at_1000"], recalls["at_2000"]) == (0.5, 1.0)


def test_without_the_data_it_says_so(tmp_path: Path) -> None:
    assert retrieval.measure(tmp_path / "none").skipped == "no conversations under none/"
