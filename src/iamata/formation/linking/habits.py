"""Does what was said of a habit agree with what the record says of it? Of smoking: never, former or current.

The words that tell which are rows of `habit_words.tsv`. A denial now ("I don't smoke") agrees with never and with
former; only a denial for ever says never.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from iamata.formation.linking.names import Named, sameness
from iamata.formation.linking.regimen import text_of
from iamata.formation.linking.rules import Verdict, rule
from iamata.model.fact import Fact
from iamata.model.memory import Memory, Temporality
from iamata.model.statement import Polarity
from iamata.terminology.tables import rows

_NUMBER: Final = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|half|pack|packs)\b"
)
_FOR_EVER: Final = re.compile(r"\b(?:never|ever|life[- ]?long|(?:all|in) (?:my|his|her) life)\b")
_MORE: Final = re.compile(r"\b(?:when|until|since|after|before) (?:i|he|she|my|his|her|the)\b")


def judge_habit(memory: Memory, named: Named) -> Verdict | None:
    """The verdict on one fact of the same habit; `same-name` where either side does not tell which it is."""
    same = sameness(memory.concept.display, named)
    if same is None:
        return None
    held, said = _held(named.fact), _said(memory)
    if not held or not said:
        return rule("same-name")
    if said == "not-now":
        if held == "current":
            return rule("habit-denied")
        more = held == "former" and bool(memory.since or memory.since_said)  # "I haven't smoked since he was born"
        return rule("habit-with-more-detail") if more else rule("both-tell-habit")
    if said != held:
        return rule("habit-never-but-told" if "never" in (said, held) else "habit-other-status")
    return rule("habit-with-more-detail") if said != "never" and _tells_more(memory) else rule("both-tell-habit")


@cache
def _words() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rf"\b{re.escape(row['words'])}\b"), row["status"]) for row in rows("habit_words"))


def _held(fact: Fact) -> str:
    """What the record tells: never, former, current, or empty."""
    texts = [text_of(fact.value("value")), fact.display, fact.concept.display if fact.concept else ""]
    for text in texts:
        for pattern, status in _words():
            if pattern.search(text.lower()):
                return "" if status == "unknown" else status
    return ""


def _said(memory: Memory) -> str:
    if memory.temporality in (Temporality.PLANNED, Temporality.HYPOTHETICAL):
        return ""
    if memory.polarity is Polarity.DENIED:
        return "never" if _FOR_EVER.search(memory.quote.lower()) else "not-now"
    return "former" if memory.temporality is Temporality.PAST else "current"


def _tells_more(memory: Memory) -> bool:
    """An amount, a beginning or an end."""
    quote = memory.quote.lower()
    return bool(memory.since or memory.since_said or _NUMBER.search(quote) or _MORE.search(quote))
