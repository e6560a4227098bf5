"""Does a context tell what a task needs, within its budget? Over charts that are made here, beside three baselines.

    python -m evals context [--seed N] [--json] [--misses] [--unopened]

Charts, questions and their gold come from `generator/charts` and `generator/questions`, where each kind of question
has its reason. A gold fact is told if one line holds its words (a concept under its own or the record's name, and the
value or dose where that is the gold); a conflict if both its sides are told, in one line or in two. The repeated
question is no answer. `gold_at_N` is the share of all gold facts told at N tokens, `conflicts_both_sides` the share of
conflicts (counted whole) at the budget of 2,000, `stale_as_current` how many stale items were told as if they held, at
any budget, `over_budget` how many texts were longer than asked. Stale is told as current unless its line carries a word
that says so, the date on which it ended, or what replaced it; a dated result or turn is honest if what replaced it is
told somewhere. `current_as_past` counts medicines in force that
every line which names them calls ended, at 2,000. The baselines are `raw` (the bundles as JSON, a resource a line,
then the talk, cut at the budget), `bm25` (the resources as plain words and the turns, in the order in which they answer
the question, or else the name of the task; then those without any of its words, newest first) and `recent` (the same,
newest first). No model, no network; tokens are those of o200k. Charts and questions repeat; which of two equal lines
fits does not (ids are drawn with the keys of a database): `gold_at_500` moved by 0.004 between runs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from evals import intervals
from evals.generator.chart_items import NOW, Chart, Gold, Said, Stale, Words
from evals.generator.questions import Question, charts, part_of, questions
from evals.shape import Figures, Options, Outcome, Row
from iamata import ContextRequest, Engine, Speaker, Turn, patient
from iamata.assembly.postings import Postings
from iamata.assembly.words import STOP, fold
from iamata.language.tokens import token_counter

BUDGETS = (500, 1000, 2000, 4000)
CONFLICTS_AT = 2000
METHODS = ("", "raw", "bm25", "recent")
ADULTS, CHILDREN = 12, 8
# Words of a line, or of its heading, that say that a thing holds no longer or never did.
MARKS = (
    *("stopped", "stop", "discontinued", "completed", "ended", "resolved", "inactive", "refuted", "ruled out"),
    *("entered in error", "corrected", "preliminary", "superseded", "replaced", "cancelled", "former", "formerly"),
    *("past", "previous", "previously", "until", "earlier", "over by", "no longer", "any more", "anymore"),
)
ENDED = ("stopped", "discontinued", "completed", "ended", "over by", "inactive")
_CURRENT = ("medicines", "changed dose")
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_MISSES = 200


def run(options: Options) -> Outcome:
    """The tuned half; with `held_out` the unopened half instead, of which no miss is named."""
    return measure(options.seed, unopened=options.held_out)


def measure(seed: int, *, unopened: bool = False, adults: int = ADULTS, children: int = CHILDREN) -> Outcome:
    part = "unopened" if unopened else "tuned"
    rows: list[Row] = []
    for chart in charts(seed, adults, children):
        asked = [question for question in questions(chart) if part_of(question.kind) == part]
        rows += _rows(chart, asked)
    misses = [] if unopened else list(_misses(rows))[:_MISSES]
    return Outcome("context", [f"generated: {adults} adults, {children} children, {part}"], figures(rows), rows, misses)


# ---- is it told?


@lru_cache(maxsize=200_000)
def plain(text: str) -> str:
    """The words of a text between blanks: without case, accents, plurals, and zeros after a point."""
    folded = "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if not unicodedata.combining(c))
    return f" {' '.join(_form(word) for word in _WORD.findall(folded))} "


def _form(word: str) -> str:
    if word[0].isdigit():
        return word.rstrip("0").rstrip(".") if "." in word else word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def tells(line: str, words: Words) -> bool:
    """Whether one line (as `plain` gives it) holds each group."""
    return all(any(plain(way) in line for way in group) for group in words)


def places(text: str) -> list[tuple[str, str]]:
    """The lines that tell something, each with its heading, as `plain` gives them, but for the repeated question."""
    found, heading = [], ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = plain(line)
        elif heading not in (" question ", " left out "):
            found.append((plain(line), heading))
    return found


def told(gold: Gold, lines: Sequence[tuple[str, str]]) -> list[bool]:
    """For each side whether it is told."""
    return [any(tells(line, side) for line, _ in lines) for side in gold.sides]


def as_current(stale: Stale, lines: Sequence[tuple[str, str]]) -> bool:
    """Whether any line tells it as if it still held."""
    followed = bool(stale.now) and any(tells(line, stale.now) for line, _ in lines)
    for line, heading in lines:
        if not tells(line, stale.words) or (stale.now and tells(line, stale.now)):
            continue
        dates = any(plain(date) in line for date in stale.until)
        marked = any(plain(mark) in line or plain(mark) in heading for mark in MARKS)
        if not marked and not (dates and (followed or not stale.dated)):
            return True
    return False


def as_past(gold: Gold, lines: Sequence[tuple[str, str]]) -> bool:
    """Whether a medicine in force is told, and each time as one that has ended."""
    telling = [line for line, _ in lines if tells(line, gold.sides[0])]
    return bool(telling) and all(any(plain(word) in line for word in ENDED) for line in telling)


# ---- the answers


Texts = dict[tuple[str, int], tuple[str, int]]  # method and budget → text and its tokens


@dataclass(frozen=True)
class Chunk:
    """What the baselines cut, match and sort: a resource or a turn."""

    raw: str
    words: str
    when: str


def answers(chart: Chart, asked: Sequence[Question]) -> Iterator[tuple[Question, Texts]]:
    """For each question the text and its tokens, by method and budget."""
    count = token_counter()
    chunks = list(_chunks(chart))
    index = Postings(Counter(_words(chunk.words)) for chunk in chunks)
    tokens = [count.count(chunk.words + "\n") for chunk in chunks]
    newest = sorted(range(len(chunks)), key=lambda number: (chunks[number].when, -number), reverse=True)
    fixed: Texts = {}
    for budget in BUDGETS:
        fixed["raw", budget] = _cut("\n".join(chunk.raw for chunk in chunks), budget)
        fixed["recent", budget] = _filled(chunks, tokens, newest, budget)
    with Engine.open(":memory:", clock=lambda: NOW) as engine:
        fill(engine, chart)
        for question in asked:
            texts = dict(fixed)
            words = _words(question.query or question.task.replace("_", " "))
            scores = index.scores([(word, 1.0) for word in dict.fromkeys(words)])
            ranked = sorted(scores, key=lambda number: (-scores[number], number))
            ranked += [number for number in newest if number not in scores]
            for budget in BUDGETS:
                request = ContextRequest(
                    subjects=(patient("p"),), task=question.task, query=question.query, budget_tokens=budget
                )
                text = engine.context(request).text
                texts["", budget] = text, count.count(text)
                texts["bm25", budget] = _filled(chunks, tokens, ranked, budget)
            yield question, texts


def fill(engine: Engine, chart: Chart) -> None:
    """Both sources and the talk of a chart, as the patient `p`."""
    engine.put_patient("p")
    for source, bundles in chart.sources.items():
        for bundle in bundles:
            body = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in bundle]}
            engine.ingest("p", json.dumps(body).encode(), source=source)
    for session in dict.fromkeys(said.session for said in chart.talk):
        turns = [_turn(said) for said in chart.talk if said.session == session]
        engine.append("p", session, turns)


def _turn(said: Said) -> Turn:
    speaker = Speaker(said.speaker)
    return Turn(speaker, said.text, "mother" if speaker is Speaker.CAREGIVER else "", said_at=said.at)


def _chunks(chart: Chart) -> Iterator[Chunk]:
    for bundles in chart.sources.values():
        for bundle in bundles:
            for resource in bundle:
                words = " ".join(_leaves(resource, resource["resourceType"]))
                raw = json.dumps(resource, ensure_ascii=False, separators=(",", ":"))
                dates = [date for date in re.findall(r"\d{4}-\d\d-\d\d", words) if date <= f"{NOW:%Y-%m-%d}"]
                yield Chunk(raw, words, max(dates, default=""))
    for said in chart.talk:
        line = f"{said.at:%Y-%m-%d} {said.speaker}: {said.text}"
        yield Chunk(line, line, f"{said.at:%Y-%m-%d}")


def _leaves(value: Any, name: str) -> Iterator[str]:
    """The words of a resource: names of fields and what they hold; of a coding its display alone."""
    if isinstance(value, Mapping):
        if "value" in value and "unit" in value:
            yield f"{name} {value['value']:g} {value['unit']}"
        elif isinstance(value.get("coding"), list) and value.get("text"):
            yield f"{name} {value['text']}"
        else:
            yield from (
                word
                for key, each in value.items()
                if key not in ("id", "system", "reference", "code" if "display" in value else "")
                for word in _leaves(each, key)
            )
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, name)
    else:
        yield f"{name} {value}"


def _words(text: str) -> list[str]:
    return [word for word in fold(text) if word not in STOP]


def _filled(chunks: Sequence[Chunk], tokens: Sequence[int], order: Sequence[int], budget: int) -> tuple[str, int]:
    """What fits, in this order; what is too long is passed over."""
    spent, kept = 0, []
    for number in order:
        if spent + tokens[number] <= budget:
            spent += tokens[number]
            kept.append(chunks[number].words)
    return "\n".join(kept), spent


def _cut(text: str, budget: int) -> tuple[str, int]:
    """The longest beginning that fits, within a few characters."""
    count = token_counter()
    low, high = 0, min(len(text), 12 * budget)
    while high - low > 3:
        middle = (low + high) // 2
        low, high = (middle, high) if count.count(text[:middle]) <= budget else (low, middle)
    return text[:low], count.count(text[:low])


# ---- rows and figures


def _rows(chart: Chart, asked: Sequence[Question]) -> Iterator[Row]:
    for question, texts in answers(chart, asked):
        row: Row = {
            "id": question.id,
            "kind": question.kind,
            "task": question.task,
            "query": question.query,
            "gold": [gold.key for gold in question.golds],
            "conflicts": [gold.key for gold in question.golds if gold.conflict],
        }
        for (method, budget), (text, tokens) in texts.items():
            lines = places(text)
            sides = {gold.key: told(gold, lines) for gold in question.golds}
            row[_named(method, f"told_at_{budget}")] = [key for key, found in sides.items() if all(found)]
            row[_named(method, f"one_side_at_{budget}")] = [
                key for key, found in sides.items() if any(found) and not all(found)
            ]
            row[_named(method, f"stale_at_{budget}")] = [each.key for each in chart.stale if as_current(each, lines)]
            if budget == CONFLICTS_AT:
                current = [gold for gold in question.golds if gold.key.split("/")[0] in _CURRENT]
                row[_named(method, "as_past")] = [gold.key for gold in current if as_past(gold, lines)]
            row[_named(method, f"tokens_at_{budget}")] = tokens
        yield row


def _named(method: str, figure: str) -> str:
    return f"{method}_{figure}" if method else figure


def figures(rows: Sequence[Row]) -> Figures:
    """From the rows alone. Intervals are Wilson's over gold facts, as if they were independent; facts of one chart are
    not quite."""
    found: Figures = {"questions": len(rows)}
    for method in METHODS:
        for budget in BUDGETS:
            found[_named(method, f"gold_at_{budget}")] = _covered(rows, method, budget)["share"]
        found[_named(method, "conflicts_both_sides")] = _conflicts(rows, method)["share"]
        stale = {(row["id"], key) for row in rows for b in BUDGETS for key in row[_named(method, f"stale_at_{b}")]}
        found[_named(method, "stale_as_current")] = len(stale)
        found[_named(method, "current_as_past")] = sum(len(row[_named(method, "as_past")]) for row in rows)
        found[_named(method, "over_budget")] = sum(
            row[_named(method, f"tokens_at_{b}")] > b for row in rows for b in BUDGETS
        )
    for method in METHODS:
        for budget in BUDGETS:
            found[f"{method or 'iamata'}, {budget} tokens"] = _covered(rows, method, budget)
        found[f"{method or 'iamata'}, conflicts"] = _conflicts(rows, method)
    for task in sorted({row["task"] for row in rows}):
        some = [row for row in rows if row["task"] == task]
        found[f"task {task}"] = {
            "questions": len(some),
            **{f"gold_at_{budget}": _covered(some, "", budget)["share"] for budget in BUDGETS},
            **{f"{m}_gold_at_2000": _covered(some, m, 2000)["share"] for m in METHODS if m},
        }
    for name, asks in (("with a query", True), ("without a query", False)):
        some = [row for row in rows if bool(row["query"]) is asks]
        found[name] = {"questions": len(some), **{f"gold_at_{b}": _covered(some, "", b)["share"] for b in BUDGETS}}
    return found


def _covered(rows: Sequence[Row], method: str, budget: int) -> dict[str, Any]:
    got = sum(len(row[_named(method, f"told_at_{budget}")]) for row in rows)
    return intervals.share(got, sum(len(row["gold"]) for row in rows))


def _conflicts(rows: Sequence[Row], method: str) -> dict[str, Any]:
    both = sum(key in row[_named(method, f"told_at_{CONFLICTS_AT}")] for row in rows for key in row["conflicts"])
    return intervals.share(both, sum(len(row["conflicts"]) for row in rows))


def _misses(rows: Sequence[Row]) -> Iterator[str]:
    """Kinds of miss at 2,000 tokens, the most frequent first; then what was told as current."""
    missed: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        for key in row["gold"]:
            if key not in row["told_at_2000"]:
                half = " (one side told)" if key in row["one_side_at_2000"] else ""
                what = key.split("/")[0] + half, row["kind"]
                missed[what] += 1
                first.setdefault(what, f"{row['id']}, {key}")
    for (topic, kind), times in sorted(missed.items(), key=lambda each: (-each[1], each[0])):
        yield f"{times} x {topic}, asked by '{kind}' (first: {first[topic, kind]})"
    stale = Counter(key for row in rows for key in {key for b in BUDGETS for key in row[f"stale_at_{b}"]})
    for key, times in stale.most_common():
        yield f"{times} x told as current: {key}"
    past = Counter(key for row in rows for key in row["as_past"])
    for key, times in past.most_common():
        yield f"{times} x in force, told as ended: {key}"
