"""How many of the hand-made conversation cases give the memories they should?

Reads `first.json`, `second.tsv`, `third.tsv` and `fourth.tsv` of `tests/cases/memories` (its README says who wrote
which, and when), learns each case as a session of its turns, and looks at the memories of its last turn. A case passes
when every expected memory is there and none of those that must not be. `expected` scores single memories: missed are
those expected and not there, wrong are those that must not be; further memories are counted (`further`) and judged by
nobody, but for the turns of which nothing may be learned: there any memory fails the case. Unopened cases are learned
only with `--held-out`, and then only counted; those opened before with `--opened` too. Each set has its own figures:
`first`, `third` and `fourth` are written apart from the code, `second` by the extractor's author. Turns of `third` and
`fourth` with and without expected memories are scored apart too.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from evals import intervals
from evals.intervals import Counts
from evals.kept_apart import part_of, standing
from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.formation.learned import learn
from iamata.model.identifiers import IdMint
from iamata.model.memory import Memory
from iamata.model.session import Message, Session, Speaker, Turn
from iamata.terminology import lexicon
from iamata.terminology.lexicon import split_words, variants

CASES = Path(__file__).parents[1] / "tests" / "cases" / "memories" / "first.json"
SECOND = CASES.parent / "second.tsv"
THIRD = CASES.parent / "third.tsv"
FOURTH = CASES.parent / "fourth.tsv"
DIALOGUES = ("third", "fourth")  # sets of whole dialogues
KEY = b"first-memories-evaluation-key-32"
RECEIVED = datetime(2026, 2, 15, 15, tzinfo=UTC)
# What a case calls a detail, where a memory keeps it.
DETAILS = ("dose", "frequency", "severity", "laterality", "value", "agent", "reaction")


def cases(path: Path = CASES) -> list[dict[str, Any]]:
    """All cases, in file order."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def second_cases(path: Path = SECOND) -> list[dict[str, Any]]:
    """The cases of the table in the shape of `first.json`, in file order."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    found = []
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        before = [turn.partition(": ") for turn in row["before"].split(" || ") if turn]
        found.append(
            {
                "id": row["id"],
                "speaker": row["speaker"],
                "relationship": row["relationship"],
                "said_at": "2026-02-15T09:30:00-05:00",
                "before": [{"speaker": who, "text": text} for who, _colon, text in before],
                "text": row["text"],
                "expect": [_expected(part, row["text"]) for part in row["expect"].split(" ;; ") if part],
                "not": [_unwanted(part) for part in row["not"].split(" ;; ") if part],
                "held_out": part_of(f"{row['before']} {row['text']}") == "unopened",
            }
        )
    return found


_NOTHING = "nothing"
_ANYTHING = "*"
# Whose word a turn is, by its speaker (design 3, Conversations).
_SPOKEN = {
    "patient": "user-reported",
    "caregiver": "user-reported",
    "interpreter": "user-reported",
    "clinician": "system-reported",
    "coordinator": "system-reported",
    "agent": "agent-reported",
}


def third_rows(path: Path = THIRD) -> list[dict[str, str]]:
    """The turns of the dialogues as the table has them, in file order."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [dict(row) for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]


def fourth_cases() -> list[dict[str, Any]]:
    """As `third_cases`, of the fourth set."""
    return third_cases(FOURTH, "fourth")


def third_cases(path: Path = THIRD, name: str = "third") -> list[dict[str, Any]]:
    """Each judged turn with the turns of its dialogue before it; a turn that asks for nothing is context only. A
    dialogue falls whole on one side, by the names of its set and itself."""
    found: list[dict[str, Any]] = []
    before: dict[str, list[dict[str, str]]] = {}
    for row in third_rows(path):
        turn = {field: row[field] for field in ("speaker", "relationship", "text")}
        earlier = before.setdefault(row["dialogue"], [])
        if row["expect"] or row["not"]:
            wanted = [part for part in row["expect"].split(" ;; ") if part and part != _NOTHING]
            found.append(
                turn
                | {
                    "id": row["id"],
                    "said_at": "2026-02-15T09:30:00-05:00",
                    "before": list(earlier),
                    "expect": [_expected(part, row["text"]) for part in wanted],
                    "not": [_unwanted(part) for part in row["not"].split(" ;; ") if part],
                    "none": row["expect"] == _NOTHING,
                    "attribution": _SPOKEN[row["speaker"]],
                    "held_out": part_of(f"memories/{name}/{row['dialogue']}") == "unopened",
                }
            )
        earlier.append(turn)
    return found


_SIGNS = {"+": "affirmed", "-": "denied"}
_NAMES = {"t": "temporality", "q": "quote"}


def _expected(part: str, text: str) -> dict[str, Any]:
    types, concepts, signs, *details = part.split(":")
    kinds, names = types.split("|"), concepts.split("|")
    found: dict[str, Any] = {"type": kinds[0], "accept_types": kinds[1:], "concept": names[0], "accept": names[1:]}
    found |= {"quote": text, "polarity": [_SIGNS[sign] for sign in signs.split("|")]}
    found["experiencer"] = "family" if kinds[0] == "family_history" else "patient"
    for detail in details:
        name, _equals, value = detail.partition("=")
        found[_NAMES.get(name, name)] = value
    return found


def _unwanted(part: str) -> dict[str, Any]:
    type, concept, *details = part.split(":")
    pairs = [detail.partition("=") for detail in details]
    return {"type": type, "concept": concept} | {_NAMES.get(name, name): value for name, _equals, value in pairs}


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
    if "attribution" in case:
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
    names = (expected["concept"], *expected.get("accept", ()))
    if names != (_ANYTHING,) and not same_name(memory.concept.display, names):
        why.append(f"concept {memory.concept.display}")
    for name in ("polarity", "experiencer", "temporality"):
        if name in expected and getattr(memory, name) not in _any(expected[name]):
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
        if name in expected and not any(same_name(v, _tellings(name, detail)) for v in expected[name].split("|")):
            why.append(f"{name} {detail.get(name, '')}")
    return why


def _any(allowed: str | Sequence[str]) -> Sequence[str]:
    return (allowed,) if isinstance(allowed, str) else allowed


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
        and ("detail" not in unwanted or _plain(memory.change) == _plain(unwanted["detail"]))
        and all(dict(memory.detail).get(name) == unwanted[name] for name in ("dose", "value") if name in unwanted)
    )


def _other_side(concept: str, memory: Memory) -> bool:
    side = dict(memory.detail).get("laterality", "")
    return side in ("left", "right") and bool({"left", "right"} & _words(concept)) and side not in _words(concept)


def same_name(name: str, others: Iterable[str]) -> bool:
    """Equal but for case, plurals and order; or one within the other ("diabetes", "diabetes mellitus"); or one name for
    both in our tables ("syncope", "fainting"), as the conventions of the cases say."""
    mine = _words(name)
    return bool(mine) and any(
        bool(theirs := _words(other)) and (mine <= theirs or theirs <= mine or _one_thing(name, other))
        for other in others
    )


def _one_thing(name: str, other: str) -> bool:
    return bool(_called(name) & _called(other))


@cache
def _called(name: str) -> frozenset[str]:
    """What our tables call a symptom or disease of this name."""
    kinds = ("symptom", "condition")
    return frozenset(term.concept for term in lexicon.clinical().exact(name) if term.kind in kinds)


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


def row_of(case: Mapping[str, Any], name: str) -> Row:
    """Whether the case passes, and its memories counted: right, wrong, missed, further; quotes there; for each type."""
    found = memories_of(case)
    expected = case.get("expect", ())
    hits = [item for item in expected if any(fits(item, memory) for memory in found)]
    wrong = [u for u in case.get("not", ()) if any(is_unwanted(u, memory) for memory in found)]
    types: dict[str, list[int]] = {}
    for place, items in enumerate((hits, wrong, [item for item in expected if item not in hits])):
        for item in items:
            types.setdefault(item["type"], [0, 0, 0])[place] += 1
    fitting = [memory for memory in found if any(fits(item, memory) for item in expected)]
    return {
        "id": case["id"],
        "set": name,
        "part": standing(name, kept_apart=bool(case.get("held_out"))),
        "held_out": bool(case.get("held_out")),
        "passed": not misses(case),
        "expects": bool(expected),
        "memories": len(found),
        "quoted": sum(case["text"][m.start : m.end] == m.quote and bool(m.quote) for m in found),
        "further": len(found) - len(fitting),
        "types": types,
    }


def run(options: Options) -> Outcome:
    if not CASES.is_file():
        return skipped("memories", "no first.json")
    rows: list[Row] = []
    told = []
    every = (("first", cases()), ("second", second_cases()), ("third", third_cases()), ("fourth", fourth_cases()))
    for name, case in ((name, case) for name, some in every for case in some):
        part = standing(name, kept_apart=bool(case.get("held_out")))
        if not options.runs(part):
            continue
        rows.append(row_of(case, name))
        if part != "unopened" and (why := misses(case)):
            told.append(f"{case['id']}: {'; '.join(why)}")
    read = [f"tests/cases/memories/{path.name}" for path in (CASES, SECOND, THIRD, FOURTH)]
    return Outcome("memories", read, figures(rows, options.seed), rows, told)


def figures(rows: Sequence[Row], seed: int = 0) -> Figures:
    """For each set and part: how many cases, how many pass, the share with its interval; then the single memories."""
    quoted, memories = sum(row["quoted"] for row in rows), sum(row["memories"] for row in rows)
    found: Figures = {"quotes_present": intervals.share(quoted, memories)["share"]}
    for name in ("first", "second", *DIALOGUES):
        for part in ("tuned", "opened", "unopened"):
            some = [row for row in rows if row["set"] == name and row["part"] == part]
            if not some:
                continue
            passed = intervals.share(sum(row["passed"] for row in some), len(some))
            found[f"{name} {part}"] = {"passed": sum(row["passed"] for row in some), **passed}
            if name in DIALOGUES:  # an extractor that is silent passes where nothing is expected
                for expects, told in ((True, "with memories"), (False, "with none")):
                    these = [row for row in some if row["expects"] is expects]
                    right = sum(row["passed"] for row in these)
                    found[f"{name} {part} {told}"] = {"passed": right, **intervals.share(right, len(these))}
            every = [Counts(*map(sum, zip((0, 0, 0), *row["types"].values(), strict=True))) for row in some]
            further = {"further": sum(row["further"] for row in some)}
            found[f"{name} {part} expected"] = intervals.scored(every, seed) | further
            if name != "first":
                for type in sorted({type for row in some for type in row["types"]}):
                    items = [Counts(*row["types"][type]) for row in some if type in row["types"]]
                    found[f"{name} {part} {type}"] = intervals.scored(items, seed)
    return found


if __name__ == "__main__":
    from evals.__main__ import main

    raise SystemExit(main(["memories", *sys.argv[1:]]))
