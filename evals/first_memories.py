"""How many of the hand-made conversation cases give the memories they should?

Reads `tests/cases/memories/first.json`, learns each case as a session of its turns, and looks at the memories of its
last turn. A case passes when every expected memory is there and none of those that must not be. Held-out cases are
learned only with `--held-out`, and then only counted.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.formation.learned import learn
from iamata.model.identifiers import IdMint
from iamata.model.memory import Memory
from iamata.model.session import Message, Session, Speaker, Turn
from iamata.terminology.lexicon import split_words, variants

CASES = Path(__file__).parents[1] / "tests" / "cases" / "memories" / "first.json"
KEY = b"first-memories-evaluation-key-32"
RECEIVED = datetime(2026, 2, 15, 15, tzinfo=UTC)
# What a case calls a detail, where a memory keeps it.
DETAILS = ("dose", "frequency", "severity", "laterality", "value", "agent", "reaction")


def cases(path: Path = CASES) -> list[dict[str, Any]]:
    """All cases, in file order."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def session_of(case: Mapping[str, Any]) -> Session:
    """The case as a session: the turns before it, then its own."""
    said_at = datetime.fromisoformat(case["said_at"]) if case.get("said_at") else None
    turns = [
        Turn(Speaker(b["speaker"]), b["text"], relationship=b.get("relationship", ""), said_at=said_at)
        for b in case.get("before", ())
    ]
    turns.append(
        Turn(Speaker(case["speaker"]), case["text"], relationship=case.get("relationship", ""), said_at=said_at)
    )
    messages = tuple(Message(f"ms_{i}", "case", i, turn, RECEIVED) for i, turn in enumerate(turns))
    return Session("case", "case", RECEIVED, messages)


def memories_of(case: Mapping[str, Any]) -> list[Memory]:
    """The memories of the case's own turn."""
    session = session_of(case)
    last = session.messages[-1].id
    return [memory for memory in learn(session, mint=IdMint(KEY)) if memory.message == last]


def misses(case: Mapping[str, Any]) -> list[str]:
    """Why the case fails; empty when it passes."""
    found = memories_of(case)
    text = case["text"]
    why = [f"memory {m.kind} is no literal quote" for m in found if text[m.start : m.end] != m.quote]
    why += [
        f"expected {e['type']} {e['concept']}: {_nearest(e, found)}"
        for e in case.get("expect", ())
        if not any(fits(e, memory) for memory in found)
    ]
    for unwanted in case.get("not", ()):
        why += [f"must not hold {unwanted['type']} {unwanted['concept']}" for m in found if is_unwanted(unwanted, m)]
    if case.get("none") and found:
        why.append(f"must hold nothing, holds {len(found)}")
    why += [f"attributed {m.attribution.kind}" for m in found if m.attribution.kind != case["attribution"]]
    return why


def fits(expected: Mapping[str, Any], memory: Memory) -> bool:
    """Is this the expected memory, with everything that the case says of it?"""
    return not _differences(expected, memory)


def _nearest(expected: Mapping[str, Any], found: Sequence[Memory]) -> str:
    if not found:
        return "no memory"
    return "; ".join(sorted((_differences(expected, memory) for memory in found), key=len)[0])


def _differences(expected: Mapping[str, Any], memory: Memory) -> list[str]:
    why = []
    if memory.kind not in (expected["type"], *expected.get("accept_types", ())):
        why.append(f"kind {memory.kind}")
    if not same_name(memory.concept.display, (expected["concept"], *expected.get("accept", ()))):
        why.append(f"concept {memory.concept.display}")
    for name in ("polarity", "experiencer", "temporality"):
        if name in expected and getattr(memory, name) != expected[name]:
            why.append(f"{name} {getattr(memory, name)}")
    if not _overlaps(expected["quote"], memory.quote):
        why.append("quote")
    if "detail" in expected and _plain(memory.change) != _plain(expected["detail"]):
        why.append(f"change {memory.change}")
    for name in ("since", "when"):
        if name in expected and memory.since != expected[name]:
            why.append(f"since {memory.since}")
    if "relative" in expected and _plain(memory.relation) != _plain(expected["relative"]):
        why.append(f"relation {memory.relation}")
    detail = dict(memory.detail)
    for name in DETAILS:
        if name in expected and not same_name(expected[name], _tellings(name, detail)):
            why.append(f"{name} {detail.get(name, '')}")
    return why


def _tellings(name: str, detail: Mapping[str, str]) -> list[str]:
    return [value for value in (detail.get(name, ""), detail.get(f"{name}_said", "")) if value]


def is_unwanted(unwanted: Mapping[str, Any], memory: Memory) -> bool:
    """Does a memory say what the case must not yield? Unless the case says otherwise, that means asserted of the
    patient; a temporality counts only where the case names one."""
    return (
        memory.kind == unwanted["type"]
        and same_name(memory.concept.display, (unwanted["concept"],))
        and not _other_side(unwanted["concept"], memory)
        and memory.polarity == unwanted.get("polarity", "affirmed")
        and memory.experiencer
        == unwanted.get("experiencer", "family" if memory.kind == "family_history" else "patient")
        and ("temporality" not in unwanted or memory.temporality == unwanted["temporality"])
        and ("dose" not in unwanted or dict(memory.detail).get("dose") == unwanted["dose"])
    )


def _other_side(concept: str, memory: Memory) -> bool:
    side = dict(memory.detail).get("laterality", "")
    return side in ("left", "right") and bool({"left", "right"} & _words(concept)) and side not in _words(concept)


def same_name(name: str, others: Iterable[str]) -> bool:
    """Equal but for case, plurals and order; or one within the other ("diabetes", "diabetes mellitus")."""
    mine = _words(name)
    return any(bool(theirs := _words(other)) and (mine <= theirs or theirs <= mine) for other in others) and bool(mine)


def _words(name: str) -> frozenset[str]:
    spots = [spot.word for spot in split_words(name) if spot.word[0].isalnum()]
    return frozenset(sorted(variants(word), key=len)[0] for word in spots)


def _plain(text: str) -> str:
    return re.sub(r"[\s-]+", " ", text.lower()).strip()


def _overlaps(expected: str, quote: str) -> bool:
    """The quote holds the expected words, or is a clause within them."""
    one, two = _plain(expected).strip(" .,!?"), _plain(quote).strip(" .,!?")
    return bool(two) and (one in two or two in one)


def score(which: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How many there are, how many pass, and the share."""
    passed = sum(not misses(case) for case in which)
    return {"n": len(which), "passed": passed, "score": round(passed / len(which), 3) if which else None}


def run(options: Options) -> Outcome:
    if not CASES.is_file():
        return skipped("memories", "no first.json")
    rows: list[Row] = []
    told = []
    for case in cases():
        held_out = bool(case.get("held_out"))
        if held_out and not options.held_out:
            continue
        why = misses(case)
        rows.append({"id": case["id"], "held_out": held_out, "passed": not why})
        if why and not held_out:
            told.append(f"{case['id']}: {'; '.join(why)}")
    return Outcome("memories", ["tests/cases/memories/first.json"], figures(rows), rows, told)


def figures(rows: Sequence[Row]) -> Figures:
    """How many cases, how many pass, and the share: all, and held-out ones apart."""
    found = _count(rows)
    for name, held_out in (("tuned", False), ("held_out", True)):
        if some := [row for row in rows if row["held_out"] is held_out]:
            found[name] = _count(some)
    return found


def _count(rows: Sequence[Row]) -> Figures:
    passed = sum(row["passed"] for row in rows)
    return {"n": len(rows), "passed": passed, "score": round(passed / len(rows), 3) if rows else None}


if __name__ == "__main__":
    from evals.__main__ import main

    raise SystemExit(main(["memories", *sys.argv[1:]]))
