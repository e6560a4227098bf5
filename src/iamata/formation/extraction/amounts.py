"""Which doses, frequencies and severities does a stretch of text say? As said, with numbers and units made alike."""

from __future__ import annotations

import re
from typing import Final

import msgspec

_WORDS: Final = {
    "half": "0.5", "a": "1", "an": "1", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6",
    "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "fifteen": "15",
    "twenty": "20", "twenty-five": "25", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60",
    "seventy-five": "75",
    "eighty": "80", "ninety": "90", "a hundred": "100", "one hundred": "100", "two hundred": "200", "two-fifty": "250",
    "five hundred": "500", "a thousand": "1000", "one thousand": "1000",
}  # fmt: skip
_NUM: Final = (
    r"(?P<n>\d+(?:,\d{3})+|\d+(?:\.\d+)?(?:\s?/\s?\d+)?|" + "|".join(sorted(_WORDS, key=lambda w: -len(w))) + r")"
)
# Spellings of units of dose → the form kept. Masses, volumes and activities come before counts of pieces.
_UNITS: Final = {
    r"mg|milligrams?|mgs": "mg", r"mcg|ug|µg|micrograms?|mikes": "mcg", r"g|grams?|gm": "g",
    r"ml|mls|mils?|millilit(?:er|re)s?|cc": "ml", r"iu|international units?": "IU", r"units?": "units", r"meq": "meq",
    r"teaspoons?|tsp": "teaspoon", r"tablespoons?|tbsp": "tablespoon",
    r"%|percent": "%",
}  # fmt: skip
_PIECES: Final = {
    r"tablets?|tabs?": "tablet", r"pills?": "pill", r"capsules?|caps?": "capsule", r"puffs?": "puff", r"drops?": "drop",
    r"patch(?:es)?": "patch", r"sprays?": "spray", r"doses?": "dose", r"spoonfuls?": "spoonful", r"shots?": "shot",
}  # fmt: skip
_MASS: Final = re.compile(r"(?<![\w.])" + _NUM + r"[\s-]?(?P<u>" + "|".join(_UNITS) + r")(?![a-z])", re.IGNORECASE)
_COUNT: Final = re.compile(
    r"(?<![\w.])" + _NUM + r"\s+(?:of\s+)?(?:an?\s+)?(?:extra\s+)?(?P<u>" + "|".join(_PIECES) + r")(?![a-z])",
    re.IGNORECASE,
)
_N: Final = (
    r"(?:once|twice|thrice|(?:\d+|one|two|three|four|five|six|a couple of|a couple|a few|several)"
    r"(?:\s+or\s+(?:\d+|three|four|five))?\s+times?|times)"
)
_PERIOD: Final = r"(?:day|night|week|month|year|hour|morning|evening)"
_MEAL: Final = (
    r"(?:breakfast|lunch|dinner|supper|meals?|food|bed|bedtime|eating|each meal|every meal|school|work|exercise)"
)
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_FREQUENCY: Final = re.compile(
    r"\b(?:"
    rf"{_N}\s+(?:an?|per|each|every)\s+{_PERIOD}"
    r"|(?:once|twice|three times|four times)\s+(?:daily|weekly|monthly|nightly)"
    r"|every\s+(?:other\s+|single\s+|second\s+)?(?:day|morning|night|evening|week|month|hour|afternoon"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?(?:\s+and\s+(?:every\s+)?(?:night"
    r"|evening|morning))?"
    r"|every\s+(?:\d+|two|three|four|six|eight|twelve|few)(?:\s*(?:to|-|or)\s*(?:\d+|four|six"
    r"|eight))?\s+(?:hours?|days?|weeks?|months?)"
    r"|(?:in the|each)\s+(?:mornings?|evenings?|afternoons?)(?:\s+and\s+(?:(?:at|in the)\s+)?(?:night"
    r"|evening|bedtime))?"
    r"|mornings?\s+and\s+(?:nights?|evenings?)"
    rf"|(?:at|before|after|with)\s+(?:night|noon|teatime|(?:my|his|her|their)\s+{_MEAL}|{_MEAL})"
    r"|as\s+needed|when\s+needed|when\s+(?:i|he|she)\s+needs?\s+(?:it|one)|if\s+needed|as\s+required"
    r"|when\s+necessary|prn"
    rf"|(?:on\s+)?(?:a|the|every)\s+{_DAY}|on\s+{_DAY}s|nocte|mane|bd|tds|qds|od|most\s+(?:days|mornings|evenings)"
    r"|bid|tid|qid|qhs|qd|qod|q\d{1,2}h|daily|nightly|weekly|monthly|all the time|sometimes|occasionally"
    r"|now and (?:then|again)|once in a blue moon|hardly ever|rarely"
    r"|every once in a while|most nights|once in a while|from time to time|on weekends"
    r")\b",
    re.IGNORECASE,
)
_OUT_OF_TEN: Final = re.compile(
    r"\b(?P<n>\d{1,2}(?:\.\d)?|one|two|three|four|five|six|seven|eight|nine|ten)\s*(?:out\s+of|/|on\s+a\s+scale\s+of\s+(?:one|1)\s+to)\s*(?:a\s+)?(?:10|ten)\b",
    re.IGNORECASE,
)
_SEVERITY: Final = re.compile(
    r"\b(severe|terrible|awful|excruciating|unbearable|horrible|intense|the worst|really bad|very bad"
    r"|pretty bad|so bad|bad|"
    r"moderate|mild|slight|a little|a bit of|a touch of|minor|killing (?:me|him|her)|extreme)\b",
    re.IGNORECASE,
)


class Amount(msgspec.Struct, frozen=True):
    """An amount at characters `start`:`end`, made alike (`20 mg`, `8/10`), or as said for a frequency."""

    start: int
    end: int
    text: str
    piece: bool = False


def find_doses(text: str, start: int, end: int) -> list[Amount]:
    """Masses, volumes, units; and counts of tablets, puffs … (`piece`), in order of place."""
    found = [_amount(m, _UNITS, False) for m in _MASS.finditer(text, start, end) if m["n"].lower() not in ("a", "an")]
    taken = [(a.start, a.end) for a in found]
    for match in _COUNT.finditer(text, start, end):
        if not any(s < match.end() and match.start() < e for s, e in taken) and match["n"].lower() not in ("a", "an"):
            found.append(_amount(match, _PIECES, True))
    return sorted(found, key=lambda amount: amount.start)


def _amount(match: re.Match[str], units: dict[str, str], piece: bool) -> Amount:
    number = match["n"].lower().replace(",", "").replace(" ", "")
    number = _WORDS.get(number, _WORDS.get(match["n"].lower(), number))
    unit = next(kept for spelling, kept in units.items() if re.fullmatch(spelling, match["u"], re.IGNORECASE))
    if piece and number not in ("1", "0.5"):
        unit += "es" if unit == "patch" else "s"
    if piece and number == "0.5":
        number = "half"
    return Amount(match.start(), match.end(), f"{number}{'' if unit == '%' else ' '}{unit}", piece)


def find_frequencies(text: str, start: int, end: int) -> list[Amount]:
    """How often, as said (one form of blank, lower case), in order of place."""
    return [
        Amount(m.start(), m.end(), re.sub(r"\s+", " ", m.group().lower()))
        for m in _FREQUENCY.finditer(text, start, end)
    ]


def find_severity(text: str, start: int, end: int) -> str:
    """`8/10` where a number out of ten is said, else the first word of degree, else empty."""
    match = _OUT_OF_TEN.search(text, start, end)
    if match:
        return f"{_WORDS.get(match['n'].lower(), match['n'])}/10"
    word = _SEVERITY.search(text, start, end)
    return word.group().lower() if word else ""
