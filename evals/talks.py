"""How do the public sets of talk become sessions with gold? One reader for each set; nothing is scored here.

A `Talk` has turns by labelled speakers and the gold that its set gives. What the gold is, per set:

- `simord`: medication orders of the set (what the clinician orders in this visit, so plans), by the names in the order
- `mts-dialog`: sections MEDICATIONS and ALLERGY, labelled by us from the section text (`gold/mts_dialog_labels.csv`;
  what the talk does not decide is left out)
- `aci-bench`, `primock57`: *silver*: the names our tables find in the note's lists of medicines and allergies, so what
  our tables do not know is in no gold, and what the note leaves out of the talk counts as wrong
- `allergy-turns`: turns of `tests/cases/memories/allergies.tsv`, written by the extractor's author; scored apart
- `allergy-turns-second`, `allergy-turns-third`: turns of `allergies_second.tsv` and `allergies_third.tsv` there, made
  up for this project, but apart from the extractor; scored apart too
- `medicine-turns`: turns of `medications.tsv` there, written likewise: which medicines the last turn tells of, and
  whether each is taken, over, planned or denied (`Talk.states`)
- `osce-fareez`: no gold; speakers, quotes and contradictory denials only
- `medmemorybench-sample`: the user asks about a father: whatever is told of a body there is not the patient's
- `simsum-spans`: notes with spans of five kinds of symptom, without polarity (`Note`)
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.kept_apart import Part, part_in
from iamata.model.session import Speaker
from iamata.terminology import lexicon

ALLERGIES = Path(__file__).parents[1] / "tests" / "cases" / "memories" / "allergies.tsv"
ALLERGIES_SECOND = ALLERGIES.with_name("allergies_second.tsv")
ALLERGIES_THIRD = ALLERGIES.with_name("allergies_third.tsv")
MEDICINES = ALLERGIES.with_name("medications.tsv")
STATES = ("current", "past", "planned", "denied")
LABELS = Path(__file__).parent / "gold" / "mts_dialog_labels.csv"
NONE = "none"
# What our tables read as a medicine, and no ingredient tells.
_NO_NAMES = frozenset(("Inhaler", "Supplement"))
# The sets whose turns fall on a side by their words; of the others it is by the id.
_BY_WORDS = ("allergy-turns", "allergy-turns-second")
Gold = tuple[str, str, str]  # type, name as the set writes it, polarity


@dataclass(frozen=True)
class Talk:
    """One conversation. `judged` are the types that the gold is complete for. `plans`: the gold is what is ordered.
    `all_family`: nothing told of a body in it is the patient's. `own`: made up for this project.
    `relationship`: of its caregiver to the patient. `states`: of each medicine that its last turn tells of, what may be
    said of it; with `none` among them it need not be told; None where that is not judged."""

    set: str
    id: str
    turns: Sequence[tuple[Speaker, str]]
    gold: Sequence[Gold] = ()
    judged: Sequence[str] = ()
    plans: bool = False
    silver: bool = False
    own: bool = False
    all_family: bool = False
    relationship: str = ""
    states: Mapping[str, frozenset[str]] | None = None

    @property
    def part(self) -> Part:
        words = " ".join(text for _who, text in self.turns)
        return part_in(self.set, words if self.set in _BY_WORDS else f"{self.set}/{self.id}")


@dataclass(frozen=True)
class Note:
    """One note, and the kinds of symptom that it has spans of."""

    id: str
    text: str
    spans: Sequence[tuple[str, int, int]]

    @property
    def part(self) -> Part:
        return part_in("simsum-spans", f"simsum-spans/{self.id.partition('/')[0]}")  # both wordings on one side


def names_in(text: str, *kinds: str) -> list[str]:
    """The normal names that our tables find in a text, in order, each once; words for any medicine left out."""
    found = lexicon.clinical().longest([spot.word for spot in lexicon.split_words(text)])
    return list(
        dict.fromkeys(h.term.concept for h in found if h.term.kind in kinds and h.term.concept not in _NO_NAMES)
    )


def simord(folder: Path) -> Iterator[Talk]:
    orders = _json(folder / "orders_data.json")
    texts = {talk["id"]: talk for part in _json(folder / "simord_joined_sentences.json").values() for talk in part}
    for encounter in [one for part in orders.values() for one in part]:
        turns: list[tuple[Speaker, str]] = []
        for turn in texts[encounter["id"]]["turns"]:
            speaker = Speaker.CLINICIAN if turn["speaker"].upper().startswith("DOC") else Speaker.PATIENT
            if turns and turns[-1][0] is speaker:
                turns[-1] = (speaker, f"{turns[-1][1]} {turn['text']}")
            else:
                turns.append((speaker, turn["text"]))
        gold = [
            ("medication", name, "affirmed")
            for order in encounter["expected_orders"] or ()
            if order["order_type"] == "medication"
            for name in (names_in(order["description"], "drug", "drug_in_context") or [order["description"]])
        ]
        yield Talk("simord", encounter["id"], turns, list(dict.fromkeys(gold)), ("medication",), plans=True)


_LABEL = re.compile(r"^\s*(doctor|patient|guest_family(?:_\d)?|guest_clinician)\s*:\s*", re.IGNORECASE | re.MULTILINE)


def mts_dialog(folder: Path) -> Iterator[Talk]:
    labels: dict[str, list[Mapping[str, str]]] = {}
    with LABELS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            labels.setdefault(row["id"], []).append(row)
    for name in ("TrainingSet", "ValidationSet"):
        with (folder / f"MTS-Dialog-{name}.csv").open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                mine = labels.get(id := f"{name}/{row['ID']}")
                if mine is None:
                    continue
                gold = [(label["type"], label["substance"], label["polarity"]) for label in mine if label["substance"]]
                yield Talk("mts-dialog", id, _labelled(row["dialogue"]), gold, (mine[0]["type"],))


def _labelled(text: str) -> list[tuple[Speaker, str]]:
    """Turns of a text with "Doctor:" and "Patient:". A family guest speaks for a patient, so as a caregiver."""
    pieces = _LABEL.split(text)
    turns = []
    for who, words in zip(pieces[1::2], pieces[2::2], strict=True):
        if who.lower().startswith("guest_family"):
            speaker = Speaker.CAREGIVER
        else:
            speaker = Speaker.PATIENT if who.lower() == "patient" else Speaker.CLINICIAN
        turns.append((speaker, words.strip()))
    return turns


_BRACKETED = re.compile(r"^\[(doctor|patient|patient_guest)\]\s*", re.MULTILINE)
_MEDICINES = re.compile(r"^(?:CURRENT )?MEDICATIONS?:?\s*$", re.MULTILINE)
_ALLERGIES = re.compile(r"^ALLERGIES:?\s*$", re.MULTILINE)
_HEADING = re.compile(r"^[A-Z][A-Z /&]{3,}:?\s*$", re.MULTILINE)


def aci_bench(folder: Path) -> Iterator[Talk]:
    for name in ("train", "valid"):
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                pieces = _BRACKETED.split(row["dialogue"])
                turns = [
                    (_bracketed(who), words.strip()) for who, words in zip(pieces[1::2], pieces[2::2], strict=True)
                ]
                gold, judged = _silver(_section(row["note"], _MEDICINES), _section(row["note"], _ALLERGIES))
                yield Talk("aci-bench", row["encounter_id"], turns, gold, judged, silver=True)


def _bracketed(who: str) -> Speaker:
    return {"doctor": Speaker.CLINICIAN, "patient": Speaker.PATIENT}.get(who, Speaker.CAREGIVER)


def _section(note: str, heading: re.Pattern[str]) -> str:
    found = heading.search(note)
    if not found:
        return ""
    end = _HEADING.search(note, found.end())
    return note[found.end() : end.start() if end else len(note)].strip()


_NO_ALLERGIES = re.compile(r"\b(?:nkda|nka|no known|none|no allerg|nil)", re.IGNORECASE)


def _silver(medicines: str, allergies: str) -> tuple[list[Gold], list[str]]:
    gold: list[Gold] = [("medication", name, "affirmed") for name in names_in(medicines, "drug")]
    substances = names_in(allergies, "drug", "allergen")
    gold += [("allergy", name, "affirmed") for name in substances]
    if not substances and _NO_ALLERGIES.search(allergies):
        gold.append(("allergy", NONE, "denied"))
    judged = [
        type
        for type, text in (("medication", medicines), ("allergy", allergies))
        if text and any(g[0] == type for g in gold)
    ]
    return gold, judged


def allergy_turns(path: Path = ALLERGIES, name: str = "allergy-turns") -> Iterator[Talk]:
    """Each turn with the turns before it. The gold judges the whole talk; what is asked by others asserts nothing."""
    for row, turns, parts in _turns(path):
        gold = [("allergy", part[:-1], "denied" if part.endswith("-") else "affirmed") for part in parts]
        yield Talk(name, row["id"], turns, gold, ("allergy",), own=True, relationship=row["relationship"])


def medicine_turns(path: Path = MEDICINES, name: str = "medicine-turns") -> Iterator[Talk]:
    """Each turn with the turns before it. The gold is of the last turn alone."""
    for row, turns, parts in _turns(path):
        named = (part.partition("=") for part in parts)
        states = {medicine: frozenset(told.split("|")) for medicine, _equals, told in named}
        yield Talk(name, row["id"], turns, own=True, relationship=row["relationship"], states=states)


def _turns(path: Path) -> Iterator[tuple[Mapping[str, str], list[tuple[Speaker, str]], list[str]]]:
    """The rows of a table of turns; the turns with those before; the parts of the gold."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        before = [turn.partition(": ") for turn in row["before"].split(" || ") if turn]
        turns = [(Speaker(who), text) for who, _colon, text in before] + [(Speaker(row["speaker"]), row["text"])]
        yield row, turns, [part for part in row["gold"].split(" ;; ") if part]


_INTERVAL = re.compile(r'xmin = ([\d.]+)\s+xmax = [\d.]+\s+text = "((?:[^"]|"")*)"')
_UNSURE = re.compile(r"</?[A-Z_]+/?>\s*\.?")
_HISTORY_OF_DRUGS = re.compile(
    r"^\s*(?:DHx?|Drug history|Meds?|Medications?)\s*:?\s*(.+)$", re.IGNORECASE | re.MULTILINE
)
_ALLERGY_LINE = re.compile(r"^.*(?:NKDA|NKA\b|allerg).*$", re.IGNORECASE | re.MULTILINE)


def _before_nkda(line: str) -> str:
    """ "DH Salbutamol NKDA": what stands before the letters is a medicine that is taken, no allergy."""
    return line.partition("NKDA")[0] if "NKDA" in line and "allerg" not in line.lower() else ""


def primock57(folder: Path) -> Iterator[Talk]:
    for path in sorted((folder / "notes").glob("*.json")):
        turns: list[tuple[float, Speaker, str]] = []
        for who, speaker in (("doctor", Speaker.CLINICIAN), ("patient", Speaker.PATIENT)):
            grid = folder / "transcripts" / f"{path.stem}_{who}.TextGrid"
            text = grid.read_text(encoding="utf-8") if grid.is_file() else ""
            for start, said in _INTERVAL.findall(text):
                words = " ".join(_UNSURE.sub(" ", said.replace('""', '"')).split())
                if words:
                    turns.append((float(start), speaker, words))
        note = _json(path)["note"]
        lines = [_before_nkda(line) or line for line in _HISTORY_OF_DRUGS.findall(note)]
        medicines = " ".join(line for line in lines if not _ALLERGY_LINE.match(line))
        allergies = (line.removeprefix(_before_nkda(line)) for line in _ALLERGY_LINE.findall(note))
        gold, judged = _silver(medicines, " ".join(allergies))
        yield Talk("primock57", path.stem, [turn[1:] for turn in sorted(turns)], gold, judged, silver=True)


_D_OR_P = re.compile(r"^\s*﻿?([DP])\s*[:;]\s*", re.MULTILINE)


def osce_fareez(folder: Path) -> Iterator[Talk]:
    for path in sorted(folder.glob("*.txt")):
        pieces = _D_OR_P.split(path.read_text(encoding="utf-8", errors="replace"))
        turns = [
            (Speaker.PATIENT if who == "P" else Speaker.CLINICIAN, words.strip())
            for who, words in zip(pieces[1::2], pieces[2::2], strict=True)
            if words.strip()
        ]
        yield Talk("osce-fareez", path.stem, turns)


def medmemorybench(folder: Path) -> Iterator[Talk]:
    for session in _json(folder / "generated_dialogues.json")["sessions"]:
        turns = [
            (Speaker.PATIENT if message["role"] == "user" else Speaker.AGENT, message["content"])
            for message in session["messages"]
        ]
        family = session["noise_type"] == "family_health_consultation"
        yield Talk("medmemorybench-sample", str(session["session_id"]), turns, all_family=family)


_NOTE = re.compile(r"^Note (\d+)\n-+\n", re.MULTILINE)
_RULE = re.compile(r"^-{10,}$\n?", re.MULTILINE)


def simsum(folder: Path) -> Iterator[Note]:
    """Each note as it is and in the set's terse wording ("Pt c/o …")."""
    pieces = _NOTE.split((folder / "span_eval_dataset.txt").read_text(encoding="utf-8"))
    for id, body in zip(pieces[1::2], pieces[2::2], strict=True):
        parts = _RULE.split(body)
        for text, listed, wording in zip(parts[0::2], parts[1::2], ("whole", "terse"), strict=False):
            spans = [ast.literal_eval(line) for line in listed.splitlines() if line.startswith("{")]
            told = [(span["symptom"], span["start"], span["end"]) for span in spans]
            yield Note(f"{id}/{wording}", text, told)


TALKS = {
    "simord": simord,
    "mts-dialog": mts_dialog,
    "aci-bench": aci_bench,
    "primock57": primock57,
    "osce-fareez": osce_fareez,
    "medmemorybench-sample": medmemorybench,
}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
