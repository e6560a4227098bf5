"""What is read out of notes: medicines and allergies of MTS-Dialog's sections, symptoms of simsum-spans?

Each section or note is a passage by a clinician, read by `statements_of` (nothing is wired into the fold for it). Gold
and match rule are those of `evals.learned`: of the sections the labels of `gold/mts_dialog_labels.csv` (only tuned ones
are labelled), which were written from these texts; of the notes one of five kinds of symptom, polarity not compared.
`located` counts statements whose clause stands literally at their place. The baseline takes every name of our tables.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evals import intervals
from evals.intervals import Counts
from evals.kept_apart import part_in
from evals.learned import MINT, key_of, kinds_of_names
from evals.shape import Figures, Options, Outcome, Row, skipped
from evals.talks import LABELS, NONE, simsum
from iamata.formation.extraction.passages import statements_of, words_of
from iamata.model.attribution import Attribution, AttributionKind, Author, AuthorshipEvidence, Part, Role
from iamata.model.passage import Passage
from iamata.model.provenance import Provenance, RecordIdentity
from iamata.model.scope import patient
from iamata.model.statement import Kind, Polarity, Statement
from iamata.terminology import lexicon

BY = Attribution(AttributionKind.SYSTEM, Author(Role.CLINICIAN, "practitioner/1"), rule="evaluation")
_TITLES = {"ALLERGY": "Allergies", "MEDICATIONS": "Medications"}
_SYMPTOMS = (Kind.CONDITION, Kind.ADVERSE_EVENT)


def passage_of(text: str, title: str = "") -> Passage:
    return Passage(
        id="np_1",
        subject=patient("p"),
        provenance=Provenance("notes", "evaluation", RecordIdentity("section", "section/1")),
        authorship=(AuthorshipEvidence(Part.AUTHOR, "author/0"),),
        part="text",
        text=text,
        title=title,
    )


def sections(folder: Path) -> Iterator[tuple[str, str, str, set[tuple[str, str]]]]:
    """(id, type, section text, gold pairs of name and polarity) of the labelled sections."""
    labels: dict[str, list[Mapping[str, str]]] = {}
    with LABELS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            labels.setdefault(row["id"], []).append(row)
    for name in ("TrainingSet", "ValidationSet"):
        with (folder / f"MTS-Dialog-{name}.csv").open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                if mine := labels.get(id := f"{name}/{row['ID']}"):
                    gold = {(key_of(label["substance"]), label["polarity"]) for label in mine if label["substance"]}
                    yield id, mine[0]["type"], row["section_text"], gold


def said_in(found: Sequence[Statement], type: str) -> set[tuple[str, str]]:
    kind = Kind.MEDICATION if type == "medication" else Kind.ALLERGY
    pairs = set()
    for statement in found:
        name = statement.concept.display if statement.concept else ""
        if statement.kind is not kind or not name or name == "Medication":
            continue
        of_all = name.startswith("No known ")
        if statement.polarity is Polarity.AFFIRMED or of_all:
            pairs.add((NONE if of_all else key_of(name), statement.polarity.value))
    return pairs


def names_said(text: str, type: str) -> set[tuple[str, str]]:
    kinds = ("drug", "drug_in_context") if type == "medication" else ("drug", "allergen")
    hits = lexicon.clinical().longest([spot.word for spot in lexicon.split_words(text)])
    return {(key_of(hit.term.concept), "affirmed") for hit in hits if hit.term.kind in kinds}


def counted(gold: set[tuple[str, str]], said: set[tuple[str, str]]) -> list[int]:
    return [len(gold & said), len(said - gold), len(gold - said)]


def located(passage: Passage, found: Sequence[Statement]) -> int:
    places = [words_of(statement) for statement in found]
    return sum(bool(passage.text[start:end].strip()) for start, end in places)


def run(options: Options) -> Outcome:
    talk, notes = options.data / "mts-dialog", options.data / "simsum-spans"
    if not talk.is_dir() and not notes.is_dir():
        return skipped("passages", "none of its sets")
    rows: list[Row] = []
    misses: list[str] = []
    for id, type, text, gold in sections(talk) if talk.is_dir() else ():
        part = part_in("mts-dialog", f"mts-dialog/{id}")
        if not options.runs(part):
            continue
        passage = passage_of(text, _TITLES["ALLERGY" if type == "allergy" else "MEDICATIONS"])
        found = statements_of(passage, BY, mint=MINT)
        said = said_in(found, type)
        row: Row = {"id": f"mts-dialog/{id}", "set": "mts-dialog", "part": part, "type": type}
        row |= {"counts": counted(gold, said), "baseline": counted(gold, names_said(text, type))}
        row |= {"statements": len(found), "located": located(passage, found)}
        rows.append(row)
        if said != gold:
            misses.append(f"{row['id']}: missed {sorted(gold - said)}, wrong {sorted(said - gold)}")
    for note in simsum(notes) if notes.is_dir() else ():
        if not options.runs(note.part):
            continue
        passage = passage_of(note.text)
        found = statements_of(passage, BY, mint=MINT)
        told = kinds_of_names(s.concept.display for s in found if s.kind in _SYMPTOMS and s.concept)
        every = kinds_of_names(
            hit.term.concept
            for hit in lexicon.clinical().longest([spot.word for spot in lexicon.split_words(note.text)])
            if hit.term.kind == "symptom"
        )
        gold_kinds = {(kind, "") for kind, _start, _end in note.spans}
        row = {"id": f"simsum-spans/{note.id}", "set": "simsum-spans", "part": note.part, "type": "symptom"}
        row |= {"counts": counted(gold_kinds, {(kind, "") for kind in told})}
        row |= {"baseline": counted(gold_kinds, {(kind, "") for kind in every})}
        row |= {"statements": len(found), "located": located(passage, found)}
        rows.append(row)
    read = [path.name for path in (talk, notes) if path.is_dir()]
    return Outcome("passages", read, figures(rows, options.seed), rows, misses)


def figures(rows: Sequence[Row], seed: int = 0) -> Figures:
    """F1 of each type and part with its interval, the baseline beside it; then statements at their place."""
    found: Figures = {}
    for part in ("tuned", "opened", "unopened"):
        for type in ("medication", "allergy", "symptom"):
            some = [row for row in rows if row["part"] == part and row["type"] == type]
            for name, field in ((f"{type} {part}", "counts"), (f"{type} {part}, baseline", "baseline")):
                if some:
                    items = [Counts(*row[field]) for row in some]
                    found[name] = {"items": len(items), **intervals.scored(items, seed)}
    statements = sum(row["statements"] for row in rows)
    found["located"] = intervals.share(sum(row["located"] for row in rows), statements)
    return found


if __name__ == "__main__":
    from evals.__main__ import main

    raise SystemExit(main(["passages", *sys.argv[1:]]))
