"""How did a disease begin, and how does it run? "Started when I was six", "much worse at night", "flares up in winter".

Said of a disease that the clause names, or of "it" in the clause after. What a beginning is dated to is for `times`;
here it is told by the age or the time of life, as said.
"""

from __future__ import annotations

import re
from typing import Final

from iamata.formation.extraction.amounts import find_severity
from iamata.formation.extraction.scene import Scene
from iamata.formation.extraction.segmentation import Clause
from iamata.terminology import lexicon

_AGE: Final = (
    r"(?:\d{1,2}|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    r"|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_YOUNG: Final = r"(?:child|kid|baby|toddler|infant|boy|girl|teen|teenager|youngster|student|young (?:man|woman|adult))"
_LIFE: Final = re.compile(
    rf"\b(?:when (?:i|he|she) (?:was|were) (?:only |just |about |around |still )?"
    rf"(?:(?:{_AGE}|one|two|three|four)(?:[- ]years?[- ]old| or (?:so|{_AGE}))?|little|small|young"
    rf"|a (?:little |small )?{_YOUNG}|pregnant"
    r"|at school|in school|at college|at university|carrying)"
    rf"|(?:i|he|she) (?:was|were) (?:only |just |about |around )?(?:{_AGE}|one|two|three|four) when\b"
    rf"|as an? (?:little |small |young )?{_YOUNG}"
    r"|in (?:my|his|her) (?:early |mid[- ]?|late )?"
    r"(?:childhood|youth|teens|twenties|thirties|forties|fifties|sixties|seventies|[2-7]0s)"
    rf"|(?:at|from|around) (?:the age of |age |about |around )?{_AGE}"
    r"(?! ?(?:am|pm|o'clock|%|percent|mg|:|/|days?|weeks?))"
    r"|after (?:the|my|his|her|an|a) (?:accident|fall|crash|stroke|surgery|operation|pregnancy|birth|divorce|move"
    r"|menopause|change|chemo|covid|heart attack))\b",
    re.IGNORECASE,
)
_BEGINS: Final = re.compile(
    r"\b(?:started|began|begun|came on|come on|set in|showed up|appeared|developed|picked up|diagnosed|found out"
    r"|first (?:got|had|noticed)|(?:i|he|she) (?:first )?got)\b",
    re.IGNORECASE,
)
# "I got my asthma under control in my twenties": it was there.
_MANAGED: Final = re.compile(
    r"\bgot\b.*\b(?:under control|sorted|treated|checked|tested|removed|out|better|rid of|over|through)\b",
    re.IGNORECASE,
)
# How it runs: a verb of its own, or a degree after the verb "to be".
_FLARES: Final = re.compile(
    r"\b(?:flares?(?: up)?|flaring(?: up)?|plays? up|playing up|acts? up|acting up|kicks? off|kicks? in|gets? going"
    r"|comes? and goes?|comes? back|settles?(?: down)?"
    r"|gets? (?:much |a lot |so |really |a bit )?(?:worse|better|bad))\b",
    re.IGNORECASE,
)
_DEGREE: Final = (
    r"(?:much |a lot |far |a bit |very |really |so |pretty |quite |always |usually |often |a little )*"
    r"(?:worse|worst|better|bad|terrible|awful|dreadful|horrible|severe|mild|moderate|milder|a nightmare|brutal)"
)
_IS: Final = re.compile(
    r"^\W*(?:is|are|'s|’s|was|were|(?:has|have|had) been|has|have)? ?(?:getting |gotten |become |becoming )?"
    rf"(?P<how>{_DEGREE})\b",
    re.IGNORECASE,
)
_WHEN: Final = re.compile(
    r"\b(?:(?:at|in|on|during|around|after|before|with|when|whenever|every|if|most|once|twice|each)\b[^,.;]*"
    r"|(?:this|these) (?:morning|week|month|days))",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"\b(?:not|never|no|hardly|barely)\b|n['’]t\b", re.IGNORECASE)
_IT: Final = frozenset(["it", "they", "it's", "they're", "that", "which"])


def onset(scene: Scene, first: int, last: int) -> str:
    """The age or time of life at which the disease named at words `first`:`last` began, as said; empty if none is told.
    "I had it as a child" tells no beginning."""
    text = scene.text[scene.clause.start : scene.clause.end]
    life = _LIFE.search(text)
    begins = None if _MANAGED.search(text) else _BEGINS.search(text)
    if life is None or begins is None or (life.start() < begins.end() and begins.start() < life.end()):
        return ""
    start, end = scene.characters(first, last)
    named_in_it = life.start() < end - scene.clause.start and start - scene.clause.start < life.end()
    return "" if named_in_it or _over(scene, last) else re.sub(r"\s+", " ", life.group()).strip()


def _over(scene: Scene, last: int) -> bool:
    return scene.cues.over(last, last) or any(hit.first >= last for hit in scene.cues.of("retraction"))


def running(scene: Scene, last: int) -> str:
    """How a disease named up to word `last` runs, as said ("much worse at night"); empty if nothing is told."""
    end = scene.clause.spots[last - 1].end
    return _run(scene.text[end : scene.clause.end])


def degree(scene: Scene, last: int) -> str:
    """How bad a disease named up to word `last` is said to be; empty if nothing is told."""
    end = scene.clause.spots[last - 1].end
    found = _IS.match(scene.text[end : scene.clause.end])
    return find_severity(scene.text, end, end + found.end()) if found else ""


_WHY_TAKEN: Final = re.compile(
    r"\b(?:for|because of|due to|on account of|to (?:treat|control|lower|prevent|help(?: with)?|keep down|bring down))"
    r" (?P<why>(?:my |the |his |her |a |an )?[^,.;]+)",
    re.IGNORECASE,
)
_WHY_ILL: Final = re.compile(
    r"\b(?:because of|due to|on account of|caused by|brought on by|comes from|came from|is from|was from|are from"
    r"|(?:got|have|had) [^,.;]{1,30}? from) (?P<why>[^,.;]+)",
    re.IGNORECASE,
)
_ILLS: Final = ("symptom", "condition", "measure")
_EVERYDAY: Final = frozenset(
    ["pressure", "cholesterol", "sugar", "sugars", "fluid", "water", "sleep", "mood", "nerves", "breathing", "bones",
     "circulation", "thyroid", "appetite"]
)  # fmt: skip
_NO_REASON: Final = re.compile(
    r"^(?:about |around |over |nearly |almost |the (?:last|past) |a few |a couple |a )?(?:\d+|[a-z]+)?[- ]?"
    r"(?:minutes?|hours?|days?|weeks?|months?|years?|while|long|ages|now|me|him|her|us|you|it|ever|life|good|sure)\b",
    re.IGNORECASE,
)


def reason_taken(scene: Scene, last: int) -> str:
    """What the medicine named up to word `last` is taken for, as said ("my blood pressure"); empty if it is not told.
    It must name a disease, a symptom or a part of the body."""
    return _why(_WHY_TAKEN, scene, last, clinical=True)


def reason_ill(scene: Scene, last: int) -> str:
    """What the disease named up to word `last` is said to come from ("the paint fumes at work"), as said."""
    return _why(_WHY_ILL, scene, last, clinical=False)


def _why(pattern: re.Pattern[str], scene: Scene, last: int, *, clinical: bool) -> str:
    end = scene.clause.spots[last - 1].end
    start = end if clinical else scene.clause.start
    found = pattern.search(scene.text, start, scene.clause.end)
    if found is None or _NO_REASON.match(found["why"]) or _NOT.search(found["why"]) or found.start("why") < end:
        return ""
    words = [spot.word for spot in lexicon.split_words(found["why"])]
    named = any(hit.term.kind in _ILLS for hit in lexicon.clinical().longest(words))
    named = (
        named or bool(_EVERYDAY & set(words)) or any(hit.term.kind == "part" for hit in lexicon.body().longest(words))
    )
    return re.sub(r"\s+", " ", found["why"]).strip().lower() if named or not clinical else ""


def goes_on(text: str, clause: Clause) -> str:
    """How "it" runs, in a clause that begins with the pronoun and tells nothing else; empty if it does not."""
    if clause.words[:1] == [] or clause.words[0] not in _IT:
        return ""
    return _run(text[clause.spots[0].end : clause.end])


def _run(rest: str) -> str:
    found = _FLARES.search(rest)
    if _NOT.search(rest):
        return ""
    if found and len(rest[: found.start()].split()) <= 3:
        said = rest[found.start() :]
    elif (degree := _IS.match(rest)) and _WHEN.search(rest[degree.end() :]):
        said = rest[degree.start("how") :]
    else:
        return ""
    return re.sub(r"\s+", " ", said).strip(" .,;!").lower()
