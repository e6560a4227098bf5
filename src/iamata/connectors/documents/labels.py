"""Which persons do labelled words of a line name, and in what part: `Dictated by: …`, `Radiologist: …`, `cc: …`?

The labels are rows of `document_signatures.tsv`; an occupation as a label (`Triage nurse:`) names who performs, unless
a word before it says otherwise. Not here: for how much of a document a line speaks (`outline`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from iamata.connectors.documents.persons import Person, person
from iamata.terminology import narrative

LONGEST_LINE: Final = 240
_MARKS: Final = " \t>*_#|/(["
_LONGEST_LABEL: Final = 60
_LONGEST_NAME: Final = 160
# What may label beside a word before a colon: cells of a row, a phrase that ends in `by`.
_MAY_LABEL: Final = re.compile(r"[=\t|]|\s{3}|\bby\b", re.IGNORECASE)
_CELLS: Final = re.compile(r"\t+|\s{3,}|\s*\|\s*")
_LABELLED: Final = re.compile(
    r"[\s>*_#|/(\[-]{0,10}([^\W\d_][^:=\n]{0,70}?)\s*[*_]{0,3}[:=][*_]{0,3}(?!//)\s*(.*)", re.DOTALL
)
# What follows a name on its line: a date, a time, `on …`, `at …`.
_AFTER_NAME: Final = re.compile(
    r"\s*(?:\||;|\b(?:on|at|dated?|through|via)\b[:\s]|\b\d{1,4}[-/.]\d{1,2}|\b\d{1,2}:\d\d|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d|\b\d{1,2}\s+(?:jan|feb|mar|apr|may|jun|jul|"
    r"aug|sep|oct|nov|dec)[a-z]*\b).*",
    re.IGNORECASE | re.DOTALL,
)
# `Signed electronically on 1 May by …`
_SIGNED_ON: Final = re.compile(
    r"\bsigned(?:\s+(?:electronically|digitally))?(?:\s+(?:on|at))?\s+"
    r"(?=[\w,./: -]{0,30}\d)[\w,./: -]{4,40}?\s+by:?\s+(\S.*)",
    re.IGNORECASE,
)
# Parts that may be named by somebody who is not written like a person (`Transcribed by: jk`).
_LOOSE: Final = frozenset({"verifier", "enterer"})
_MOST_WORDS_BEFORE: Final = 3
_NO_LABEL: Final = frozenset({"doctor", "gp"})


class Label(NamedTuple):
    """`part` as in the table, or `performer` for an occupation; `hint` who is called so (`Patient signature`)."""

    part: str
    hint: narrative.Capacity | None = None
    generic: bool = False


class Field(NamedTuple):
    """A labelled naming. `who` is None where nobody is named (a blank to fill in, a box not ticked)."""

    label: Label
    who: Person | None
    written: str
    said: str


def fields(line: str) -> tuple[Field, ...]:
    """The labelled namings of a line in order; none for a line of running text."""
    if len(line) > LONGEST_LINE or (_MAY_LABEL.search(line) is None and not _begins_with_label(line)):
        return ()
    return tuple(_fields(line))


def _begins_with_label(line: str) -> bool:
    """Is what stands before the first colon a label? Most lines that have one are speech, times, values."""
    head, colon, _ = line.partition(":")
    return bool(colon) and label(head.strip(_MARKS)) is not None


def _fields(line: str) -> Iterator[Field]:
    cells = [cell for part in _sentences().split(line) for cell in _CELLS.split(part) if cell.strip()]
    waiting: tuple[Label, str] | None = None
    if (signed := _SIGNED_ON.search(line)) is not None:
        yield _field(Label("signer"), signed.group(1), "signed by")
        return
    for cell in cells:
        match = _LABELLED.match(cell)
        found = label(match.group(1)) if match is not None else None
        if match is not None and found is not None:
            waiting = None
            value = match.group(2)
            if value.strip():
                yield _field(found, value, match.group(1))
            else:
                waiting = (found, match.group(1))
        elif (by := _by(cell)) is not None:
            waiting = None
            yield by
        elif waiting is not None:
            yield _field(waiting[0], cell, waiting[1])
            waiting = None
        elif cell is cells[0] and len(cells) > 1 and match is None and (lone := label(cell)) is not None:
            waiting = (lone, cell)  # a row of a table: the label in one cell, the name in the next


def _by(cell: str) -> Field | None:
    """`Dictated by Dr. Ray`, without a colon."""
    match = _pattern().match(cell)
    found = label(match.group(1)) if match is not None else None
    return _field(found, match.group(2), match.group(1)) if match is not None and found is not None else None


@cache
def _pattern() -> re.Pattern[str]:
    """A phrase of the table that ends in `by` at the beginning, then blanks and a name."""
    phrases = sorted((p for p in narrative.labels() if p.endswith(" by")), key=lambda p: (-len(p), p))
    written = "|".join(r"[\s-]+".join(map(re.escape, phrase.split())) for phrase in phrases)
    return re.compile(rf"[\s>*_#|/(-]{{0,10}}({written})\s+(\S.*)", re.IGNORECASE | re.DOTALL)


@cache
def _sentences() -> re.Pattern[str]:
    """Where another label may begin on a line: a phrase that signs after the end of a sentence or after `This note has
    been`, a phrase that ends in `by` before its colon."""
    known = narrative.labels()
    labels = "|".join(re.escape(phrase) for phrase in known if phrase.endswith(" by"))
    signing = "|".join(re.escape(phrase) for phrase, part in known.items() if part == "signer" and " " in phrase)
    return re.compile(
        rf"(?:(?<=[.;])\s+|\A\s*this\s+\w+\s+(?:has\s+been|was|is)\s+)(?=(?:{signing})\b)|(?<=\w)\s+(?=(?:{labels})\s*:)",
        re.IGNORECASE,
    )


def _field(found: Label, value: str, written: str) -> Field:
    said = value.strip()
    name = _AFTER_NAME.sub("", said).strip(" *_,:-")
    name = name[: name.index(")")] if name.count(")") > name.count("(") else name
    who = person(name) if len(name) <= _LONGEST_NAME else None
    if who is None and found.part in _LOOSE and any(char.isalpha() for char in name):
        who = Person(name.strip(" ."))
    if (
        who is not None
        and found.hint is not None
        and (who.type == "" or found.hint.type in ("Patient", "RelatedPerson"))
    ):
        who = who._replace(type=found.hint.type, capacity=found.hint.capacity)
    return Field(found, who, written, said)


def _known(folded: str) -> Label | None:
    if part := narrative.labels().get(folded):
        return Label(part, generic=part == "performer")
    words = folded.split()
    if words[:1] in (["relationship"], ["relation"]):
        return Label("relationship")
    if "signature" in words:
        return _signature([word for word in words if word not in ("signature", "of", "the", "s")])
    for at, word in enumerate(words):
        if word != "by" or not 0 < at <= _MOST_WORDS_BEFORE + 1:
            continue
        for begin in range(at):
            part = narrative.labels().get(" ".join(words[begin : at + 1]), "")
            if part:
                rest = " ".join(words[at + 1 :])
                hint = _called(rest) if rest else None
                return Label(part, hint) if not rest or hint is not None else None
        break
    return _occupation(words)


def label(written: str) -> Label | None:
    """What a label names; None if it names nobody's part in a text."""
    if len(written) > _LONGEST_LABEL:
        return None
    return _known(narrative.folded(written.strip(" *_#.()[]")))


def _called(words: str) -> narrative.Capacity | None:
    if narrative.is_relation(words):
        return narrative.Capacity("RelatedPerson")
    return narrative.called(words) or narrative.occupation(words)


def _signature(words: list[str]) -> Label:
    hints = [found for word in [" ".join(words), *words] if (found := _called(word)) is not None]
    return Label("signer", hints[0] if hints else None)


def _occupation(words: list[str]) -> Label | None:
    """An occupation that labels who writes: `Triage nurse`; not one whose first words are unknown here."""
    for at in range(len(words)):
        tail = " ".join(words[at:])
        found = narrative.called(tail)
        if found is None or found.type != "Practitioner" or tail in _NO_LABEL:
            continue
        if all(narrative.means("modifier", word) for word in words[:at]):
            return Label("performer", found, generic=bool(narrative.means("generic", tail)) and not at)
        return None
    return None
