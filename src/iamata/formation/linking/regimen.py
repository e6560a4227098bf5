"""Do a said and a recorded dose or frequency agree? Only where both tell a number in one unit."""

from __future__ import annotations

import re
from typing import Final

from iamata.formation.extraction.amounts import find_doses, find_frequencies
from iamata.formation.linking.names import Named
from iamata.model.coding import CodedText, Quantity
from iamata.model.fact import Fact

_PER_DAY: Final = {
    "once": 1.0, "twice": 2.0, "three times": 3.0, "3 times": 3.0, "four times": 4.0, "4 times": 4.0,
    "two times": 2.0, "2 times": 2.0,
}  # fmt: skip
_STATED_TIMING: Final = re.compile(r"(\d+(?:\.\d+)?) per (\d+(?:\.\d+)?) ?(h|d|wk|mo)\b")
_EVERY: Final = re.compile(r"(?:every|q)\s*(\d{1,4}|two|three|four|six|eight|twelve)\s*h")
_NUMBERS: Final = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8, "twelve": 12}


# When in the day, or how with food or made ready, a medicine is taken; "every morning" only says how often.
_MOMENT: Final = re.compile(
    r"\b(?:bedtime|before bed|at night|in the evening|in the afternoon|in the morning|empty stomach|first thing"
    r"|wak(?:e|ing) up|noon|teatime"
    r"|(?:before|after|with) (?:my |his |her |their |the |a |some )?"
    r"(?:breakfast|lunch|dinner|supper|tea|meals?|food|eating|snack|milk|juice|yogh?urt|applesauce|jam|pudding)"
    r"|crush(?:es|ed)?|dissolv(?:e|es|ed)|chew(?:s|ed)?|under (?:my|his|her|the) tongue)\b",
    re.IGNORECASE,
)


def moments(text: str) -> frozenset[str]:
    """The times of day and meals that the words tie a medicine to, as said."""
    return frozenset(re.sub(r"\s+", " ", match.group().lower()) for match in _MOMENT.finditer(text))


def fact_moments(fact: Fact) -> frozenset[str]:
    return moments(f"{text_of(fact.value('frequency'))} {text_of(fact.value('dosage_text'))}")


def text_of(value: object) -> str:
    if isinstance(value, CodedText):
        return value.display
    return str(value) if value is not None else ""


def doses(named: Named) -> list[tuple[float, str, bool]]:
    """(number, unit, is the ordered dose rather than the product's strength) that the fact tells."""
    fact = named.fact
    found: list[tuple[float, str, bool]] = []
    quantity = fact.value("dose_quantity")
    if isinstance(quantity, Quantity):
        found += _read_dose(str(quantity), True)
    for name in ("dose", "dosage_text"):
        if not found:
            found += _read_dose(text_of(fact.value(name)), True)
    if not found:
        for text in (*named.names, text_of(fact.value("strength"))):
            found += _read_dose(text, False)
    return found


def _read_dose(text: str, ordered: bool) -> list[tuple[float, str, bool]]:
    found = []
    for amount in find_doses(text, 0, len(text)):
        number, _blank, unit = amount.text.partition(" ")
        try:
            found.append((float(number.split("/")[0]), unit.rstrip("s") if amount.piece else unit, ordered))
        except ValueError:
            continue
    return found


def same_dose(said: str, named: Named) -> bool | None:
    """True or False where both tell an amount in one unit, else None. A product's strength agrees with its multiples:
    how many pieces are taken is not known."""
    read = _read_dose(said, True)
    if not read:
        return None
    number, unit, _ordered = read[0]
    comparable = [(n, ordered) for n, u, ordered in doses(named) if u == unit and n > 0]
    if not comparable:
        return None
    for held, ordered in comparable:
        if abs(held - number) < 1e-9 or (
            not ordered and (abs(number / held % 1) < 1e-9 or abs(number / held - 0.5) < 1e-9)
        ):
            return True
    return False


def per_day(text: str) -> float | None:
    """How many times a day, where the words tell a number for every day."""
    text = text.lower()
    if not text:
        return None
    every = _EVERY.search(text)
    if every:
        hours = int(every[1]) if every[1].isdigit() else _NUMBERS[every[1]]
        return 24 / hours if hours else None
    short = {"bid": 2.0, "tid": 3.0, "qid": 4.0, "qd": 1.0, "qhs": 1.0, "daily": 1.0, "nightly": 1.0}.get(text)
    if short is not None:
        return short
    for words, times in _PER_DAY.items():
        if text.startswith(words) and ("day" in text or "daily" in text):
            return times
    if text in (
        "every day",
        "every morning",
        "every night",
        "every evening",
        "at bedtime",
        "at night",
        "every single day",
        "in the morning",
        "each morning",
    ):
        return 1.0
    return None


def fact_per_day(fact: Fact) -> float | None:
    text = text_of(fact.value("frequency")).lower()
    stated = _STATED_TIMING.search(text)
    if stated:
        days = {"h": 1 / 24, "d": 1.0, "wk": 7.0, "mo": 30.0}[stated[3]] * float(stated[2])
        return float(stated[1]) / days if days else None
    for source in (text, text_of(fact.value("dosage_text"))):
        for amount in find_frequencies(source, 0, len(source)):
            times = per_day(amount.text)
            if times is not None:
                return times
    return None
