"""Does a question find the turns in which its answer was said? Over conversations of many sessions, without a model.

    python -m evals.retrieval [--data DIR] [--json]      also: python -m evals retrieval

Data: LoCoMo (`locomo/conversations*.json`): two speakers, their sessions with dates, questions with the turns that hold
the answer. One speaker is the patient, the other a caregiver; names are not searched for. What `Engine.search` gives
for the question, turns only, is the ranking; the sessions are ranked by their first turn in it. `turn_recall_at_10` is
the mean share of a question's evidence among the first ten turns, `session_recall_at_10` of its sessions among the
first ten, `recall_at_1000_tokens` the share in the first turns that fit (o200k, `speaker: text`). Questions without
evidence in the conversation are left out. The baseline is BM25 over single turns. Times are of the wall clock, for
ten hits.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.shape import DATA, Figures, Options, Outcome, Row, skipped
from iamata import Engine, Speaker, Turn, patient
from iamata.assembly.postings import Postings
from iamata.assembly.words import STOP, fold
from iamata.language.tokens import token_counter

BUDGETS = (1000, 2000)
TOP = 10
_TURN = re.compile(r"D\d+:\d+")
_MOST = 1000


def run(options: Options) -> Outcome:
    return measure(options.data / "locomo")


def measure(folder: Path) -> Outcome:
    files = sorted(folder.glob("conversations*.json"))
    if not files:
        return skipped("retrieval", f"no conversations under {folder.name}/")
    rows: list[Row] = []
    for file in files:
        for number, sample in enumerate(json.loads(file.read_bytes())):
            rows += ask(sample, str(sample.get("sample_id", number)))
    read = [f"locomo/{file.name}" for file in files]
    misses = [f"{row['id']}: {row['question']}" for row in rows if row["turn"] == 0]
    return Outcome("retrieval", read, figures(rows), rows, misses)


def ask(sample: dict[str, Any], name: str) -> Iterator[Row]:
    """Every question of a conversation, put to an engine that holds it."""
    talk = sample["conversation"]
    texts: dict[str, str] = {}  # turn → what was said, in the order in which it was said
    count = token_counter()
    with Engine.open(":memory:") as engine:
        engine.put_patient("p")
        ids: dict[str, str] = {}
        for session in sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])):
            at = datetime.strptime(talk[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            turns = []
            for each in talk[session]:
                shown = f" [shows: {each['blip_caption']}]" if each.get("blip_caption") else ""
                speaker = Speaker.PATIENT if each["speaker"] == talk["speaker_a"] else Speaker.CAREGIVER
                turns.append(Turn(speaker, each["text"] + shown, name=each["speaker"], said_at=at))
                texts[each["dia_id"]] = f"{each['speaker']}: {each['text']}{shown}"
            engine.append("p", session, turns)
            held = engine.session("p", session)
            ids.update((m.id, each["dia_id"]) for m, each in zip(held.messages, talk[session], strict=True))
        plain = Postings(Counter(_words(text)) for text in texts.values())
        order = list(texts)
        tokens = {turn: count.count(text) for turn, text in texts.items()}
        engine.search(patient("p"), "anything", kinds=["message"])  # the index is built once
        for number, question in enumerate(sample["qa"]):
            evidence = {turn for each in question["evidence"] for turn in _TURN.findall(each)} & texts.keys()
            if not evidence:
                continue
            began = time.perf_counter()
            engine.search(patient("p"), question["question"], kinds=["message"], limit=TOP)
            took = (time.perf_counter() - began) * 1000
            hits = engine.search(patient("p"), question["question"], kinds=["message"], limit=_MOST)
            scores = plain.scores([(word, 1.0) for word in dict.fromkeys(_words(question["question"]))])
            words_only = [order[number] for number in sorted(scores, key=lambda n: (-scores[n], n))]
            found = [ids[hit.item] for hit in hits]
            yield {
                "id": f"{name} {number}",
                "question": question["question"],
                "category": question["category"],
                "ms": took,
                **_recalls(evidence, found, tokens),
                **{f"bm25_{key}": value for key, value in _recalls(evidence, words_only, tokens).items()},
            }


def _recalls(evidence: set[str], found: list[str], tokens: dict[str, int]) -> dict[str, float]:
    sessions = list(dict.fromkeys(turn.partition(":")[0] for turn in found))[:TOP]
    wanted = {turn.partition(":")[0] for turn in evidence}
    recalls = {"turn": _share(evidence, found[:TOP]), "session": _share(wanted, sessions)}
    for budget in BUDGETS:
        spent, kept = 0, []
        for turn in found:
            if spent + tokens[turn] <= budget:
                spent += tokens[turn]
                kept.append(turn)
        recalls[f"at_{budget}"] = _share(evidence, kept)
    return recalls


def _share(wanted: set[str], found: Sequence[str]) -> float:
    return len(wanted & set(found)) / len(wanted)


def _words(text: str) -> list[str]:
    return [word for word in fold(text) if word not in STOP]


def figures(rows: Sequence[Row]) -> Figures:
    if not rows:
        return {"questions": 0}
    took = sorted(row["ms"] for row in rows)
    found: Figures = {"questions": len(rows)}
    for key, name in (("", ""), ("bm25_", "bm25_")):
        found[f"{name}turn_recall_at_10"] = _mean(rows, f"{key}turn")
        found[f"{name}session_recall_at_10"] = _mean(rows, f"{key}session")
        for budget in BUDGETS:
            found[f"{name}recall_at_{budget}_tokens"] = _mean(rows, f"{key}at_{budget}")
    found["p50_ms"] = round(statistics.median(took), 2)
    found["p95_ms"] = round(took[int(0.95 * (len(took) - 1))], 2)
    for category in sorted({row["category"] for row in rows}):
        some = [row for row in rows if row["category"] == category]
        found[f"category {category}"] = {"questions": len(some), "turn_recall_at_10": _mean(some, "turn")}
    return found


def _mean(rows: Sequence[Row], key: str) -> float:
    return round(100 * sum(row[key] for row in rows) / len(rows), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    outcome = run(Options(data=given.data))
    print(json.dumps(outcome.as_json(), default=str) if given.json else json.dumps(outcome.figures, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
