"""What do headings, labels and signatures of narrative text mean? Lookups over
`section_headings.tsv` and `document_*.tsv`.

Not here: where in a text they stand (the documents connector finds them).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from iamata.terminology.tables import rows

_BRACKETS = re.compile(r"\(([^()]{1,60})\)")
_WORDS = re.compile(r"[a-z0-9]+")
_LONGEST = 80
_MOST_WORDS = 6


class Heading(NamedTuple):
    """What a heading begins: a `section`, or a whole `document` by its kind. `code` is a LOINC code, or empty."""

    kind: str
    section: str
    code: str


def folded(words: str) -> str:
    """A heading in the form of the table: lower case, words only, `&` as and, without a remark in brackets."""
    if len(words) > _LONGEST:
        return ""
    return _fold(_BRACKETS.sub(" ", words).replace("&", " and "))


def _fold(words: str) -> str:
    """Not `names.fold`, because that keeps every text it has seen, and these are lines of documents."""
    return " ".join(_WORDS.findall(words.casefold()))


@cache
def _headings() -> dict[str, Heading]:
    return {
        row["heading"]: Heading(row["kind"], row["section"], "" if row["code"] == "-" else row["code"])
        for row in rows("section_headings")
    }


def heading(words: str) -> Heading | None:
    """What these words begin as a heading; None if the table does not know them."""
    return _headings().get(folded(words))


@cache
def _kin() -> frozenset[str]:
    return frozenset(_fold(row["term"]) for row in rows("lexicon_kinship") if row["kind"] == "relative")


def names_relative(words: str) -> bool:
    """Do these words name a relative (as a heading within a family history does)?"""
    return any(word in _kin() for word in folded(words).split())


@cache
def relations() -> frozenset[str]:
    """Words for somebody's relatives and partners, folded."""
    return _kin() | {_fold(row["term"]) for row in rows("lexicon_kinship") if row["concept"] == "spouse"}


@cache
def labels() -> dict[str, str]:
    """The labels that name who had a hand in a text → the part each names: author, reporter, signer, verifier, enterer,
    informant, patient (whom it is about), relationship, or nobody."""
    return {row["phrase"]: row["part"] for row in rows("document_signatures")}


def label_part(words: str) -> str:
    """What a line that begins with these words names; empty if the table does not know them."""
    return labels().get(folded(words), "")


class Capacity(NamedTuple):
    """The type of person as in FHIR, and the role of the model where the type alone does not say it."""

    type: str
    capacity: str = ""


@cache
def _roles(how: str) -> dict[str, Capacity]:
    return {
        row["word"]: Capacity(row["type"], "" if row["capacity"] == "-" else row["capacity"])
        for row in rows("document_roles")
        if row["how"] == how
    }


@cache
def _credentials() -> dict[str, Capacity]:
    """By letters alone: `M.D.` is `MD`."""
    return {_letters(word): found for word, found in _roles("credential").items()}


def _letters(word: str) -> str:
    return word.replace(".", "").replace("-", "").strip()


def credential(written: str) -> Capacity | None:
    """Who bears this credential, as it is written after a name; None if it is none that the table knows."""
    return _credentials().get(_letters(written))


def title(written: str) -> Capacity | None:
    """Who is called so before a name (`Dr.`); None if the title says nothing (`Mr.`)."""
    return _roles("title").get(written.rstrip(".").capitalize())


def occupation(words: str) -> Capacity | None:
    """Who is called by these words, or by the last of them (`consultant surgeon`); None if they name no occupation."""
    said = _last(words)
    for at in range(len(said)):
        found = _roles("word").get(" ".join(said[at:]))
        if found is not None and (at == 0 or found.type == "Practitioner"):  # `Ann Patient` is a name
            return found
    return None


def _last(words: str) -> list[str]:
    """The last of these words, as many as an entry of the tables has at most."""
    return _fold(words[-_LONGEST:]).split()[-_MOST_WORDS:]


def called(words: str) -> Capacity | None:
    """Who is called by exactly these words (`the patient`)."""
    return _roles("word").get(_fold(words))


@cache
def words_of(how: str) -> dict[str, str]:
    """The words of `document_words.tsv` of this kind → what they mean."""
    return {row["word"]: row["means"] for row in rows("document_words") if row["how"] == how}


def means(how: str, words: str) -> str:
    """What these words mean (exactly these, folded); empty if the table does not know them."""
    return words_of(how).get(_fold(words), "")


def ends_with(how: str, words: str) -> str:
    """What the longest end of these words that the table knows means; empty if it knows none."""
    said = _last(words)
    known = words_of(how)
    return next((known[tail] for at in range(len(said)) if (tail := " ".join(said[at:])) in known), "")


def is_relation(words: str) -> bool:
    """Do they say what somebody is to the patient (`his daughter and caregiver`, `wife of Jan`)? `PA` does not."""
    if credential(words) is not None:
        return False
    said = _fold(words.partition(" of ")[0]).split()
    while said and said[0] in _WHOSE:
        said = said[1:]
    if said and said[-1] in _KEEPERS and len(said) > 2 and said[-2] == "and":
        said = said[:-2]
    return bool(said) and " ".join(said) in relations()


_WHOSE = frozenset(
    {"the", "patient", "patients", "child", "childs", "s", "his", "her", "their", "my", "a", "your", "by"}
)
_KEEPERS = frozenset({"caregiver", "carer", "guardian", "proxy"})
