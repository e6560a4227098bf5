"""What do headings and signatures of narrative text mean? Lookups over `section_headings.tsv` and `document_*.tsv`.

Not here: where in a text they stand (the documents connector finds them).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from iamata.terminology.tables import rows

_BRACKETS = re.compile(r"\(([^()]{1,60})\)")
_CREDENTIAL = re.compile(r"(?<![\w.-])[A-Za-z][A-Za-z.-]{1,8}(?![\w-])")
_WORDS = re.compile(r"[a-z0-9]+")
_LONGEST = 80


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
def _signatures() -> dict[str, str]:
    return {row["phrase"]: row["part"] for row in rows("document_signatures")}


def signature(words: str) -> str:
    """What a line that begins with these words names: author, signer, verifier or enterer; empty if nothing."""
    return _signatures().get(folded(words), "")


@cache
def signature_phrases() -> tuple[str, ...]:
    """The phrases of the table, the longest first."""
    return tuple(sorted(_signatures(), key=lambda phrase: (-len(phrase), phrase)))


@cache
def _roles(how: str) -> dict[str, str]:
    return {row["word"]: row["type"] for row in rows("document_roles") if row["how"] == how}


@cache
def _credentials() -> dict[str, str]:
    """By letters alone: `M.D.` is `MD`."""
    return {word.replace(".", "").replace("-", ""): type for word, type in _roles("credential").items()}


def role(signed: str) -> str:
    """The type of person that a signature names by a credential, title or word; empty if it names none."""
    after = [signed, *_BRACKETS.findall(signed), *signed.split(",")[1:]]
    for words in after:
        if found := _roles("word").get(_fold(words)):
            return found
    first = signed.split(maxsplit=1)[0].rstrip(".") if signed.strip() else ""
    if found := _roles("title").get(first):
        return found
    tail = signed.partition(",")[2] or signed.partition("(")[2] or " ".join(signed.split()[2:])
    for match in _CREDENTIAL.finditer(tail[:200]):
        written = match.group().strip(".").replace(".", "").replace("-", "")
        if found := _credentials().get(written):
            return found
    return ""
