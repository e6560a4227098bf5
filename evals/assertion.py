"""Is what a sentence names asserted, denied, past, only supposed, or somebody else's?

Reads the NegEx and ConText sentences of `negex` (concept and gold are given; the report heading before the first
sentence is part of the text) and, for what those sets have no gold of (historical and hypothetical),
`tests/cases/memories/assertions.csv`, written by the extractor's author. Its negations and relatives are scored apart
(`own`), so that `negation_f1` and `experiencer_f1` are of words of others alone. `assertions_second.csv` beside it was
written apart from the extractor, in the style of notes and of talk; its four labels are scored by themselves (`apart`).
Its column `certainty` is scored by nothing yet.

Match rule: the engine is asked about the annotated words at their place (written in capitals by the annotators), in the
clause that it cuts itself; a hit is the same label on the same item. F1 is of the label that the figure names
(negated, past, hypothetical, not the patient). The baseline of negation is NegEx itself: the shipped trigger list with
its own rules (forward and backward to the next trigger or the end of the sentence), run in the same command. Of the
others it is a search of the sentence for the few words that first come to mind (`_KEYWORDS`).
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from evals import intervals
from evals.intervals import Counts
from evals.kept_apart import part_in
from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.formation.extraction import findings
from iamata.formation.extraction.people import People
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import sentences
from iamata.model.memory import Experiencer, Temporality
from iamata.model.statement import Polarity

NEGATION = "negex.python__Annotations-1-120.txt"
EXPERIENCER = "genConText__annotations-1-120-experiencer.txt"
TRIGGERS = "negex.python__negex_triggers.txt"
OWN = Path(__file__).parents[1] / "tests" / "cases" / "memories" / "assertions.csv"
SECOND = OWN.with_name("assertions_second.csv")
_KEYWORDS = {
    "past": re.compile(r"\b(?:history|hx|previous(?:ly)?|prior|past|ago|used to|had|old|last)\b", re.IGNORECASE),
    "hypothetical": re.compile(r"\b(?:if|should|may|might|could|would|in case|return|call|watch)\b", re.IGNORECASE),
    "other": re.compile(r"\b(?:mother|father|brother|sister|family|son|daughter|wife|husband|aunt)\b", re.IGNORECASE),
}


def keywords(text: str, field: str) -> str:
    """The label that a bare word of the sentence gives."""
    for label, words in _KEYWORDS.items():
        if (label == "other") is (field == "experiencer") and words.search(text):
            return label
    return "patient" if field == "experiencer" else Temporality.CURRENT.value


# Figure → the field of a row that it scores, and the label whose F1 it is.
LABELS = {
    "negation_f1": ("negation", "denied"),
    "historical_f1": ("temporality", "past"),
    "hypothetical_f1": ("temporality", "hypothetical"),
    "experiencer_f1": ("experiencer", "other"),
    "own_negation_f1": ("own negation", "denied"),
    "own_experiencer_f1": ("own experiencer", "other"),
    "apart_negation_f1": ("apart negation", "denied"),
    "apart_historical_f1": ("apart temporality", "past"),
    "apart_hypothetical_f1": ("apart temporality", "hypothetical"),
    "apart_experiencer_f1": ("apart experiencer", "other"),
}


def read_as(text: str, start: int, end: int) -> dict[str, str]:
    """What the engine says of the words at these characters: polarity, temporality, experiencer (patient or other)."""
    for sentence in sentences(text):
        for clause in sentence.clauses:
            if not clause.start <= start < clause.end:
                continue
            scene = Scene(text, clause, People(None, ""), None)
            first = scene.place(start)
            last = max(first + 1, scene.place(min(end, clause.end) - 1) + 1)
            assertion = scene.cues.assess(first, last)
            person = scene.owner(first, last)
            return {
                "negation": "denied" if assertion.polarity is Polarity.DENIED else "affirmed",
                "temporality": assertion.temporality.value,
                "experiencer": "patient" if person.experiencer is Experiencer.PATIENT else "other",
            }
    return {"negation": "affirmed", "temporality": Temporality.CURRENT.value, "experiencer": "patient"}


def asserted_as(text: str, start: int, end: int) -> dict[str, str]:
    """As `read_as`, in talk: what is asked asserts nothing, and what our tables name is read as they know it."""
    said = read_as(text, start, end)
    for sentence in sentences(text):
        if not sentence.start <= start < sentence.end:
            continue
        if sentence.question:
            return said | {"temporality": Temporality.HYPOTHETICAL.value}
        for clause in sentence.clauses:
            scene = Scene(text, clause, People(None, ""), None)
            for finding in findings.find(scene) if clause.start <= start < clause.end else ():
                first, last = scene.characters(finding.first, finding.last)
                if first < end and start < last:
                    return said | {"temporality": findings.assess(scene, finding).temporality.value}
    return said


def place(text: str, target: str) -> tuple[int, int] | None:
    """Characters of the target: in capitals, else in any case; None when it is not there."""
    words = target.split()
    capitals = r"\s+".join(re.escape(word.upper()) for word in words)
    pattern = r"\s+".join(re.escape(word) for word in words)
    found = re.search(capitals, text) or re.search(pattern, text, re.IGNORECASE)
    return (found.start(), found.end()) if found else None


def annotated(path: Path, field: str) -> Iterator[tuple[str, str, str, str]]:
    """(id, target, sentence, gold label) of one file; rows whose sentence lacks the target are left out."""
    with path.open(encoding="utf-8", errors="replace", newline="") as lines:
        for number, line in enumerate(lines):
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) != 4 or cells[3] == "Negation":
                continue
            gold = {"Negated": "denied", "Affirmed": "affirmed", "Patient": "patient"}.get(cells[3], "other")
            text = cells[2].strip('"')
            if place(text, cells[1]) is not None:
                yield f"{field}/{number}", cells[1], text, gold


def run(options: Options) -> Outcome:
    folder = options.data / "negex"
    if not (folder / NEGATION).is_file():
        return skipped("assertion", "no negex")
    rows: list[Row] = []
    texts: dict[str, str] = {}
    triggers = read_triggers(folder / TRIGGERS)
    for name, field in ((NEGATION, "negation"), (EXPERIENCER, "experiencer")):
        for id, target, text, gold in annotated(folder / name, field):
            if not options.runs(part := part_in("negex", text)):
                continue
            found = place(text, target)
            assert found is not None
            row: Row = {"id": id, "part": part, "field": field, "gold": gold}
            row["said"] = read_as(text, *found)[field]
            if field == "negation":
                row["baseline"] = negex(text, *found, triggers)
            else:
                row["baseline"] = keywords(text, field)
            rows.append(row)
            texts[id] = f"{target!r} in {_around(text, found)!r}"
    data = [f"negex/{NEGATION}", f"negex/{EXPERIENCER}"]
    for path, author in ((OWN, "own"), (SECOND, "apart")):
        if not path.is_file():
            continue
        data.append(f"tests/cases/memories/{path.name}")
        for row, told in _own_rows(path, author, options, triggers):
            rows.append(row)
            texts.setdefault(row["id"], told)
    misses = [
        f"{row['id']}: {row['field']} {row['said']}, gold {row['gold']}: {texts[row['id']]}"
        for row in rows
        if row["said"] != row["gold"] and row["part"] != "unopened"
    ]
    return Outcome("assertion", data, figures(rows, options.seed), rows, misses)


def _around(text: str, found: tuple[int, int]) -> str:
    return text[max(0, found[0] - 90) : found[1] + 60]


def _own_rows(
    path: Path, author: str, options: Options, triggers: Sequence[tuple[re.Pattern[str], str]]
) -> Iterator[tuple[Row, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        for case in csv.DictReader(lines):
            part, found = part_in(path.stem, case["text"]), place(case["text"], case["target"])
            if found is None or not options.runs(part):
                continue
            said = asserted_as(case["text"], *found)
            told = f"{case['target']!r} in {case['text']!r}"
            for field, column in (("negation", "polarity"), ("temporality",) * 2, ("experiencer",) * 2):
                if not case[column]:
                    continue
                name = field if (author, field) == ("own", "temporality") else f"{author} {field}"
                row: Row = {"id": case["id"], "part": part, "field": name, "gold": case[column], "said": said[field]}
                row["baseline"] = (
                    negex(case["text"], *found, triggers) if field == "negation" else keywords(case["text"], field)
                )
                yield row, told


def figures(rows: Sequence[Row], seed: int = 0) -> Figures:
    """F1 per label over the tuned part (all that is open), None without gold of it; each with its counts below."""
    found: Figures = {}
    detail: Figures = {}
    for part in ("tuned", "opened", "unopened"):
        of_part = [row for row in rows if row["part"] == part]
        if not of_part:
            continue
        for name, (field, label) in LABELS.items():
            mine = [row for row in of_part if row["field"] == field]
            items = [counted(row["gold"], row["said"], label) for row in mine]
            told = intervals.scored(items, seed) if items else None
            if part == "tuned":
                found[name] = told["f1"] if told else None
            if told:
                detail[f"{name[:-3]} {part}"] = {"items": len(items), **told}
                base = [counted(row["gold"], row["baseline"], label) for row in mine]
                detail[f"{name[:-3]} {part}, baseline"] = {"items": len(base), **intervals.scored(base, seed)}
    return found | detail


def counted(gold: str, said: str, label: str) -> Counts:
    return Counts(
        int(gold == said == label), int(said == label and gold != label), int(gold == label and said != label)
    )


@cache
def read_triggers(path: Path) -> tuple[tuple[re.Pattern[str], str], ...]:
    """The shipped triggers, longest first, each with its tag ([PREN] before, [POST] after, [CONJ] ends, [PSEU] none;
    [PREP] and [POSP] are of possibility)."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        phrase, _tab, tag = line.strip().rpartition("\t")
        if phrase.strip():
            words = phrase.split()
            body = r"\s+".join(map(re.escape, words))
            found.append((len(words), re.compile(rf"\b{body}\b", re.IGNORECASE), tag))
    found.sort(key=lambda entry: -entry[0])
    return tuple((pattern, tag) for _length, pattern, tag in found)


def negex(text: str, start: int, end: int, triggers: Sequence[tuple[re.Pattern[str], str]]) -> str:
    """NegEx (Chapman, Bridewell, Hanbury, Cooper, Buchanan: J Biomed Inform 2001, 34:301-310) as its shipped program
    runs it: a negation before the target without an ending trigger between, or one after it."""
    hits: list[tuple[int, int, str]] = []
    for pattern, tag in triggers:
        for found in pattern.finditer(text):
            a, b = found.span()
            if not any(a < y and x < b for x, y, _tag in hits) and not (a < end and start < b):
                hits.append((a, b, tag))
    state = ""
    for a, _b, tag in sorted(hits):
        if a < start:
            state = tag if tag in ("[PREN]", "[CONJ]", "[POST]", "[POSP]", "[PREP]") else state
    if state == "[PREN]":
        return "denied"
    for a, _b, tag in sorted(hits):
        if a >= end:
            if tag == "[POST]":
                return "denied"
            if tag in ("[CONJ]", "[PREN]", "[PREP]"):
                break
    return "affirmed"


if __name__ == "__main__":
    from evals.__main__ import main

    raise SystemExit(main(["assertion", *sys.argv[1:]]))
