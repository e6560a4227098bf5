"""What published figure does a number rest on, and what class of item is this? Reads the tables of `data/`."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

import msgspec


class EvidenceRow(msgspec.Struct, frozen=True):
    """One published figure: who was right about what, against which comparator, in whom, and where it was read."""

    id: str
    what: str
    population: str
    figure: str
    n: str
    source: str


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of `data/{name}.tsv` in file order. Lines that begin with `#` are comments.

    Raises ValueError, naming the line, for a row of another length or without a source.
    """
    text = files("iamata.authority").joinpath("data", f"{name}.tsv").read_text(encoding="utf-8")
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")]
    header = lines[0][1].split("\t")
    found = []
    for number, line in lines[1:]:
        cells = line.split("\t")
        if len(cells) != len(header):
            raise ValueError(f"{name}.tsv line {number}: {len(cells)} cells for {len(header)} columns")
        row = dict(zip(header, cells, strict=True))
        if not row["source"]:
            raise ValueError(f"{name}.tsv line {number}: no source")
        found.append(row)
    return tuple(found)


@cache
def evidence() -> dict[str, EvidenceRow]:
    """All rows of `data/evidence.tsv` by id."""
    return {row["id"]: EvidenceRow(**row) for row in rows("evidence")}


_WORD = re.compile(r"[^\W_]+")


def folded(text: str) -> str:
    """Lower-case words with single blanks and a blank at both ends, so that ` word ` finds a whole word."""
    return " " + " ".join(_WORD.findall(text.casefold())) + " "


@cache
def _class_words() -> tuple[tuple[str, str, str], ...]:
    """(kind or *, ` words `, class), longest words first so that the finer class wins."""
    found = [(row["kind"], folded(row["words"]), row["class"]) for row in rows("classes")]
    return tuple(sorted(found, key=lambda row: (-len(row[1]), row)))


@cache
def item_class(kind: str, name: str) -> str:
    """The class of an item by its kind and name (`chronic-clear`, `screening`, …); empty if no row names it."""
    text = folded(name)
    for row_kind, words, klass in _class_words():
        if row_kind in ("*", kind) and (words.strip() == "" or words in text):
            return klass
    return ""


@cache
def _question_words() -> tuple[tuple[str, str], ...]:
    found = [(folded(row["words"]), row["aspect"]) for row in rows("questions")]
    return tuple(sorted(found, key=lambda row: (-len(row[0]), row)))


def asked_aspect(question: str) -> str:
    """The aspect a question asks for ("was it ordered?"), by the longest wording of `questions.tsv`; empty if none."""
    text = folded(question)
    for words, aspect in _question_words():
        if words in text:
            return aspect
    return ""


@cache
def relation(word: str) -> str:
    """What a proxy is to the patient, in one word (`mom`, `MTH` → `mother`); the folded word itself if unknown."""
    text = folded(word).strip()
    for row in rows("relations"):
        if text == folded(row["word"]).strip():
            return row["relation"]
    return text
