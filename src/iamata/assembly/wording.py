"""How is one value said in English, on one line, so that nothing in it can act as markup or as an instruction?

Dates keep the precision they were given, amounts their digits (one of many decimals is rounded and marked `≈`). What
is said about a whole item, and in which order, is `phrases`' business.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib import resources
from typing import Final

from iamata.model.clinical_time import ClinicalTime, Period, Precision
from iamata.model.coding import CodedText, Quantity, Range, Ratio
from iamata.model.statement import Value

# A longer name or value is a text; it is shown to here, with the number of characters left, and whole in raw.json.
_LONGEST: Final = 300
_SLUG_LONGEST: Final = 40
_DECIMALS: Final = 3
_FIGURES: Final = 4
# Beyond this power of ten digits are shown as sent, not written out.
_MAGNITUDE: Final = 30

_MARKUP = re.compile(r"([\\`*\[\]~]|<(?=[A-Za-z/!?])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_BLOCK_START = re.compile(r"\A(#{1,6}(?=\s)|[-+>](?=\s)|=+\Z|-{3,}\Z)")
_FREQUENCY = re.compile(r"(\d+(?:-\d+)?) per (\d+(?:\.\d+)?(?:-\d+)?) (s|min|h|d|wk|mo|a)\Z")
_PERIODS: Final = {"s": "second", "min": "minute", "h": "hour", "d": "day", "wk": "week", "mo": "month", "a": "year"}
_TAG = re.compile(r" \(([a-z][a-z /]+)\)\Z")


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a committed table beside this module, as {column: cell}; lines that begin with # are notes."""
    text = resources.files("iamata.assembly").joinpath("data", name).read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    columns = lines[0].split("\t")
    return tuple(dict(zip(columns, line.split("\t"), strict=True)) for line in lines[1:])


@cache
def _code_words() -> dict[tuple[str, str], str]:
    return {(row["field"], row["code"].casefold()): row["words"] for row in _rows("code_words.tsv")}


@cache
def _unit_words() -> dict[str, str]:
    return {row["unit"]: row["words"] for row in _rows("unit_words.tsv")}


@cache
def _semantic_tags() -> frozenset[str]:
    return frozenset(row["tag"] for row in _rows("semantic_tags.tsv"))


def rows(name: str) -> tuple[dict[str, str], ...]:
    """A committed table of `assembly/data`, row by row; each row names its source."""
    return _rows(name)


def one_line(text: str) -> str:
    """The text on one line: every run of blanks, line ends, control and direction characters is one blank."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split()) if "  " in text or text[:1] == " " or text[-1:] == " " else text
    return " ".join("".join(" " if unicodedata.category(c) in _BLANK else c for c in text).split())


_BLANK: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Co"})


def inert(text: str) -> str:
    """Source text as plain words on one line: markup is escaped, so no bracket, heading, list, link or tag survives."""
    line = _MARKUP.sub(r"\\\1", one_line(text))
    return _BLOCK_START.sub(r"\\\1", line)


def short(text: str) -> str:
    """At most 300 characters of one line, saying how many are left."""
    line = one_line(text)
    if len(line) <= _LONGEST:
        return line
    cut = line.rfind(" ", _LONGEST - 60, _LONGEST)
    kept = line[: cut if cut > 0 else _LONGEST]
    return f"{kept} … ({len(line) - len(kept)} more characters)"


def name(text: str) -> str:
    """The name of a thing: inert, without the semantic tag of a SNOMED CT name, and square brackets made round (they
    are common in LOINC names, and here a square bracket is a citation)."""
    plain = without_tag(one_line(text)).replace("[", "(").replace("]", ")")
    return inert(short(plain))


def without_tag(text: str) -> str:
    match = _TAG.search(text)
    return text[: match.start()] if match and match[1] in _semantic_tags() else text


def quote(text: str) -> str:
    """Someone's words, whole, inert, in quotation marks on one line."""
    return '"' + inert(text).replace('"', "'") + '"'


def day(time: ClinicalTime | None) -> str:
    """`YYYY`, `YYYY-MM` or `YYYY-MM-DD` as given; words that are no date stand in quotation marks; empty for none."""
    if time is None:
        return ""
    return quote(time.text) if time.precision is Precision.TEXT else time.day


def span(at: ClinicalTime | Period | None) -> str:
    """`2019-03-02`, `2019-03-02 to 2019-04-01`, `since 2019-03-02`, `until 2019-04-01`; empty for none."""
    if at is None:
        return ""
    if isinstance(at, ClinicalTime):
        return day(at)
    start, end = day(at.start), day(at.end)
    if start and end:
        return start if start == end else f"{start} to {end}"
    return f"since {start}" if start else f"until {end}" if end else ""


def number(digits: str) -> str:
    """The digits as sent; with more than three decimals rounded to four significant figures and marked `≈`."""
    if len(digits.rpartition(".")[2]) <= _DECIMALS or "." not in digits:
        return inert(digits)
    try:
        value = Decimal(digits)
    except InvalidOperation:
        return inert(digits)
    if (
        not value.is_finite()
        or abs(value.adjusted()) > _MAGNITUDE
        or len(value.normalize().as_tuple().digits) <= _FIGURES
    ):
        return inert(digits)
    places = max(0, _FIGURES - 1 - value.adjusted())
    return f"≈{value:.{places}f}"


def unit(text: str) -> str:
    """A unit as a person writes it (`mm[Hg]` → `mmHg`); one in braces is a UCUM annotation and counts nothing."""
    words = _unit_words().get(text)
    if words is not None:
        return words
    if text.startswith("{") and text.endswith("}"):
        inner = text[1:-1].replace("_", " ")
        return _unit_words().get(text, inert(inner))
    return inert(text.replace("[", "").replace("]", "")) if "[" in text else inert(text)


def quantity(amount: Quantity) -> str:
    words = unit(amount.unit or amount.code)
    gap = "" if words in ("", "%") else " "
    return f"{amount.comparator}{number(amount.value)}{gap}{words}"


def interval(reference: Range) -> str:
    """`4.0–5.6 %`, `above 60 mL/min`, `below 200 mg/dL` (at the limits as sent)."""
    low, high = reference.low, reference.high
    if low and high:
        if unit(low.unit or low.code) == unit(high.unit or high.code):
            return f"{number(low.value)}–{quantity(high)}"
        return f"{quantity(low)}–{quantity(high)}"
    return f"from {quantity(low)}" if low else f"up to {quantity(high)}" if high else ""


def coded(value: CodedText, field: str = "") -> str:
    """The words of a concept: its text, else a display, else the words for this field's code, else the code."""
    if value.text:
        known = _code_words().get((field, value.text.casefold()))
        return known or name(value.text)
    for coding in value.codings:
        if coding.display:
            return name(coding.display)
    for coding in value.codings:
        words = _code_words().get((field, coding.code.casefold()))
        if words:
            return words
    return name(value.display)


def value_words(value: Value, field: str = "") -> str:
    """Any value in words; an empty string only for an empty value. `field` helps to read bare codes."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return str(value)
        case str():
            known = _code_words().get((field, value.casefold()))
            return known or inert(short(value))
        case CodedText():
            return coded(value, field)
        case Quantity():
            return quantity(value)
        case Range():
            return interval(value)
        case Ratio():
            if not (value.numerator.unit or value.denominator.unit):
                return f"{quantity(value.numerator)}:{quantity(value.denominator)}"
            return f"{quantity(value.numerator)} / {quantity(value.denominator)}"
        case ClinicalTime() | Period():
            return span(value)


def frequency(text: str) -> str:
    """`3 per 1 d` → `3 times a day`, `1 per 8 h` → `every 8 hours`; other wording is left as it is."""
    match = _FREQUENCY.match(text)
    if not match:
        return inert(short(text))
    times, every, period = match[1], match[2], _PERIODS[match[3]]
    often = {"1": "once", "2": "twice"}.get(times, f"{times} times")
    if every == "1":
        return f"{often} {'an' if period == 'hour' else 'a'} {period}"
    return f"every {every} {period}s" if times == "1" else f"{often} every {every} {period}s"


def slug(text: str, fallback: str) -> str:
    """Lower-case ASCII words joined by `-`, at most 40 characters, whole words; `fallback` when nothing remains."""
    folded = unicodedata.normalize("NFKD", without_tag(one_line(text))).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", folded)
    kept = ""
    for word in words:
        longer = f"{kept}-{word}" if kept else word[:_SLUG_LONGEST]
        if len(longer) > _SLUG_LONGEST:
            break
        kept = longer
    return kept or fallback


def counted(n: int, one: str, many: str = "") -> str:
    """`1 item`, `2 items`."""
    return f"{n} {one if n == 1 else many or one + 's'}"
