"""Which symptoms, conditions and readings does a clause name? Names, parts of the body with what is wrong, numbers."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from iamata.formation.extraction import course
from iamata.formation.extraction.amounts import find_frequencies, find_severity
from iamata.formation.extraction.assertion import Assertion
from iamata.formation.extraction.mention import Mention
from iamata.formation.extraction.scene import Scene
from iamata.model.memory import Experiencer, MemoryKind, Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

_PREPOSITIONS: Final = frozenset((
    "in", "on", "around", "of", "to", "at", "near", "behind", "under", "inside", "along", "down", "across", "over",
    "my", "his", "her", "from",
))  # fmt: skip
_LINK: Final = re.compile(r"^(?:and|or|,|my|his|her|the|both|left|right|lower|upper|your|their|whole|entire)$")
_BETWEEN: Final = 5
_DIAGNOSED: Final = (
    "diagnosed", "found out", "born with", "live with", "living with", "told me i had", "told i had", "said i had",
    "told us he had", "told us she had", "told he had", "told she had",
)  # fmt: skip
# "My feet are cold": a part and a quality do not make a symptom when these stand between.
_BARRIERS: Final = frozenset((",", ";", "when", "if", "but", "because", "made", "makes", "gives", "gave"))


_ADJECTIVES: Final = frozenset(
    ["sore", "swollen", "itchy", "painful", "stiff", "numb", "tender", "aching", "achy", "bruised", "puffy"]
)


class Finding(msgspec.Struct, frozen=True):
    """A symptom, condition or operation (then both `condition` and `procedure`) named at words `first`:`last`; `side`
    left, right, bilateral or empty."""

    first: int
    last: int
    concept: str
    condition: bool
    side: str = ""
    procedure: bool = False


def find(scene: Scene) -> list[Finding]:
    """The symptoms and conditions named in the clause, in order; one of each concept."""
    composed = _composed(scene)
    covered = [(f.first, f.last) for f in composed]
    found = list(composed)
    for hit in scene.of("symptom", "condition", "procedure", "symptom_in_context", "condition_in_context"):
        if hit.term.kind.endswith("_in_context") and not _in_context(scene, hit):
            continue
        if any(a <= hit.first < b or hit.first <= a < hit.last for a, b in covered) and len(hit.term.words) < 3:
            continue
        overlapping = [f for f in composed if f.first < hit.last and hit.first < f.last]
        found = [f for f in found if f not in overlapping]
        found.append(
            Finding(
                hit.first,
                hit.last,
                hit.term.concept,
                not hit.term.kind.startswith("symptom"),
                _side(scene, hit.first, hit.last),
                hit.term.kind == "procedure",
            )
        )
    unique: dict[tuple[str, str], Finding] = {}
    for finding in sorted(found, key=lambda f: (f.first, f.last)):
        unique.setdefault((finding.concept, finding.side), finding)
    return list(unique.values())


# "No blood", "a bit of redness": before a word that is a symptom only where it is counted, and after it.
_COUNTED: Final = frozenset(["no", "any", "some", "of", "little", "fresh", "a", "or", "without", "nor", "and"])
_MUCH: Final = frozenset(
    ["bit", "lot", "lots", "drop", "drops", "spot", "spots", "streak", "streaks", "speck", "specks", "trace", "traces",
     "sort", "kind", "plenty"]
)  # fmt: skip
_THEN: Final = frozenset(
    [",", ";", "in", "on", "or", "and", "when", "but", "at", "yes", "no", "there", "that", "though", "after", "since"]
)
# "Sugar is there", "I have BP": how a disease is told by the name of what is measured.
_HELD: Final = frozenset(["have", "having", "has", "got", "i've"])
_NAMED_SO: Final = (
    ["is", "there"], ["is", "not", "there"], ["isn't", "there"], ["is", "also", "there"], ["also", "is", "there"],
)  # fmt: skip
_PATIENTS: Final = frozenset(["patient", "patients", "problem", "problems", "trouble"])


def _in_context(scene: Scene, hit: Hit) -> bool:
    """Does an everyday word name a symptom or disease here?"""
    words = scene.words
    if hit.term.kind == "symptom_in_context":
        before, after = words[: hit.first], words[hit.last :]
        counted = (
            before[-1:] != [] and before[-1] in _COUNTED and (before[-1] != "of" or bool(_MUCH & set(before[-2:])))
        )
        return counted and (after[:1] == [] or after[0] in _THEN)
    first, last = _joined(scene, hit)
    before, after = words[:first], words[last:]
    if before[-1:] == ["blood"]:
        return False
    if (after[:1] and after[0] in _PATIENTS) or any(after[: len(said)] == said for said in _NAMED_SO):
        return True
    return before[-1:] != [] and before[-1] in _HELD and (after[:1] == [] or after[0] in (",", "since", "also", "both"))


def _joined(scene: Scene, hit: Hit) -> tuple[int, int]:
    """The words of "BP and sugar": names that are told as one."""
    first, last = hit.first, hit.last
    alike = [h for h in scene.names if h.term.kind == hit.term.kind]
    for other in alike:
        if other.first == last + 1 and scene.words[last] in ("and", "or", ","):
            last = other.last
    for other in reversed(alike):
        if other.last == first - 1 and scene.words[first - 1] in ("and", "or", ","):
            first = other.first
    return first, last


def _side(scene: Scene, first: int, last: int) -> str:
    for hit in lexicon.body().every(scene.words):
        reach = 1 if scene.words[hit.first] == "both" else 2  # "we both have migraines" tells no side
        if hit.term.kind == "side" and (first - reach <= hit.first < last):
            return hit.term.concept
        after = scene.words[max(last, hit.first - 2) : hit.first] == ["on", "the"]
        if hit.term.kind == "side" and after and hit.first - last <= _BETWEEN:
            return hit.term.concept  # "the pain is on the right side"
    return ""


def _composed(scene: Scene) -> list[Finding]:
    """Parts of the body with a quality: "my ankles are swollen", "swelling around the left ankle"."""
    body = lexicon.body().longest(scene.words)
    qualities = [hit for hit in body if hit.term.kind == "quality"]
    parts = [hit for hit in body if hit.term.kind == "part"]
    found = []
    for quality in qualities:
        for part in _parts_of(scene, quality, parts):
            named = f"{part.term.concept} {quality.term.concept}"
            known = [t for t in lexicon.clinical().exact(named) if t.kind in ("symptom", "condition")]
            concept = known[0].concept if known else named[0].upper() + named[1:]
            first, last = min(part.first, quality.first), max(part.last, quality.last)
            found.append(Finding(first, last, concept, False, _side(scene, part.first, part.last)))
    return found


def _parts_of(scene: Scene, quality: Hit, parts: list[Hit]) -> list[Hit]:
    words = scene.words
    before = [p for p in parts if p.last <= quality.first and quality.first - p.last <= _BETWEEN]
    after = [p for p in parts if p.first >= quality.last and p.first - quality.last <= _BETWEEN]
    for part in reversed(before):
        if not any(w in _BARRIERS or w in _PREPOSITIONS - {"my"} for w in words[part.last : quality.first]):
            chain = [part]
            for other in reversed(before[: before.index(part)]):
                if all(_LINK.match(w) for w in words[other.last : chain[-1].first]):
                    chain.append(other)
            return chain
    if after:
        gap = words[quality.last : after[0].first]
        if words[quality.first] in _ADJECTIVES and all(_LINK.match(word) for word in gap):
            return [after[0]]  # "a sore toe", "swollen left ankle"
        if gap and gap[0] in _PREPOSITIONS and not any(w in _BARRIERS for w in gap):
            chain = [after[0]]
            for other in after[1:]:
                if all(_LINK.match(w) for w in words[chain[-1].last : other.first]):
                    chain.append(other)
            return chain
    return []


def repaired_part(scene: Scene, before: Mention) -> Mention | None:
    """ "…, sorry, the left knee": the finding before, at the part or side that is named now."""
    body = lexicon.body().longest(scene.words)
    parts = [hit for hit in body if hit.term.kind == "part"]
    sides = [hit for hit in body if hit.term.kind == "side"]
    if not parts and not sides:
        return None
    anchor = parts[0] if parts else sides[0]
    concept = before.concept.text
    if parts:
        quality = concept.rsplit(" ", 1)[-1].lower()
        named = f"{parts[0].term.concept} {quality}"
        known = [t for t in lexicon.clinical().exact(named) if t.kind in ("symptom", "condition")]
        concept = known[0].concept if known else named[0].upper() + named[1:]
    side = sides[0].term.concept if sides else ""
    return scene.mention(
        before.kind, concept, anchor.first, anchor.last,
        polarity=before.polarity, temporality=before.temporality,
        detail={"laterality": side, "severity": before.get("severity")},
    )  # fmt: skip


def read(scene: Scene) -> list[Mention]:
    """The symptoms and conditions of the clause as it asserts them."""
    mentions = []
    for finding in find(scene):
        made = mention_of(scene, finding)
        if made is not None:
            mentions.append(made)
    return mentions or _treated(scene)


def _treated(scene: Scene) -> list[Mention]:
    """ "Both my brothers are on tablets for blood pressure": the disease that a relative is treated for."""
    mentions = []
    for hit in scene.cues.of("treated"):
        person = scene.owner(hit.first, hit.last)
        if person.experiencer is Experiencer.FAMILY and not scene.cues.hypothetical(hit.first):
            made = scene.mention(MemoryKind.CONDITION, hit.term.concept, hit.first, hit.last, person=person)
            mentions += [made] if made is not None else []
    return mentions


def mention_of(scene: Scene, finding: Finding) -> Mention | None:
    """One finding as the clause asserts it."""
    kind = MemoryKind.CONDITION if finding.condition else MemoryKind.SYMPTOM
    if finding.concept == "Side effects":
        kind = MemoryKind.SIDE_EFFECT
    if finding.condition and any(_HISTORY.search(" ".join(h.term.words)) for h in scene.cues.of("historical")):
        kind = MemoryKind.HISTORY  # "history of hypertension": told of the past, and not thereby over
    assertion = assess(scene, finding)
    temporality = assertion.temporality
    if temporality is Temporality.HYPOTHETICAL:
        return None  # a supposed symptom says nothing of the patient
    if finding.procedure:  # "I had my appendix out" is of the past, "I'm getting my knee replaced" a plan
        ahead = scene.planned_ahead or scene.cues.planned(finding.first)
        planned = ahead or bool(_AWAITED & set(scene.words[: finding.last]))
        kind = MemoryKind.PLAN if planned else MemoryKind.HISTORY
        temporality = Temporality.PLANNED if planned else temporality
    affirmed = assertion.polarity is Polarity.AFFIRMED
    if finding.condition and affirmed:
        severity, often, runs = _degree(scene, finding), [], course.running(scene, finding.last)
    else:
        severity = find_severity(scene.text, scene.clause.start, scene.clause.end) if affirmed else ""
        often = find_frequencies(scene.text, scene.clause.start, scene.clause.end) if affirmed else []
        runs = ""
    side = "" if finding.condition and finding.side == "bilateral" else finding.side
    return scene.mention(
        kind, finding.concept, finding.first, finding.last,
        temporality=temporality, began=_began(scene, finding),
        detail={
            "severity": severity, "laterality": side, "frequency": often[0].text if often else "", "course": runs,
            "reason": course.reason_ill(scene, finding.last) if finding.condition and affirmed else "",
        },
    )  # fmt: skip


def _degree(scene: Scene, finding: Finding) -> str:
    """How bad a disease is said to be: right before its name ("severe gout"), or after it ("my gout is terrible")."""
    begin = _begin(scene, finding)
    start = scene.clause.spots[max(0, finding.first - 2)].start if finding.first else begin
    before = find_severity(scene.text, start, begin)
    return before or course.degree(scene, finding.last)


def _began(scene: Scene, finding: Finding) -> str:
    return course.onset(scene, finding.first, finding.last) if finding.condition and not finding.procedure else ""


def _begin(scene: Scene, finding: Finding) -> int:
    return scene.clause.spots[finding.first].start


def assess(scene: Scene, finding: Finding) -> Assertion:
    """How the clause asserts a finding: by its cues, and past where a simple past and a time say so."""
    found = scene.cues.assess(finding.first, finding.last)
    now = found.polarity is Polarity.AFFIRMED and found.temporality is Temporality.CURRENT
    if found.temporality is Temporality.PAST and found.polarity is Polarity.AFFIRMED and _began(scene, finding):
        return msgspec.structs.replace(found, temporality=Temporality.CURRENT)  # "started when I was six": and goes on
    if now and not _began(scene, finding) and _past(scene, finding, " ".join(scene.words)):
        return msgspec.structs.replace(found, temporality=Temporality.PAST)
    return found


def _past(scene: Scene, finding: Finding, text: str) -> bool:
    if any(word in text for word in _DIAGNOSED):
        return False
    if any(when.begins and not (scene.words[:1] == ["i'd"] and _BRIEF.match(when.said)) for when in scene.times):
        return False
    if not scene.cues.past_tense(finding.first):
        return False
    if finding.condition or scene.cues.earlier(finding.last):
        return True
    today = scene.said_at.date().isoformat() if scene.said_at else None
    return any(when.date != today for when in scene.times)


_BRIEF: Final = re.compile(r"for (?:a|an|one|two|three|a couple of|a few) (?:minute|hour|day|night)s?\b", re.IGNORECASE)
_AWAITED: Final = frozenset(["getting", "having", "scheduled", "waiting", "awaiting", "listed", "booked", "due"])
_HISTORY: Final = re.compile(r"history|hx|h / o")
_NUMBER: Final = r"(\d{1,3}(?:\.\d{1,2})?)"
_PRESSURE: Final = re.compile(r"(?<![\d/.])(\d{2,3})\s*(?:/|over)\s*(\d{2,3})(?![\d/])", re.IGNORECASE)
_PRESSURE_WORDS: Final = re.compile(
    r"\b(?:blood pressure|bp|b\.p\.|pressure|pressures|systolic|cuff|readings?|numbers)\b", re.IGNORECASE
)
_FILL: Final = r"(?:\W+(?!but\b)[\w'’]+){0,7}?\W+"
_NOT_THEN: Final = r"(?![\d/])(?!\s*(?:times?|pills?|tablets?|days?|weeks?|months?|units?|hours?|lit|l\b|a\b))"


def _pattern(names: str, number: str, unit: str) -> re.Pattern[str]:
    """A reading: one of these names, within a few words a number, and its unit if it is said."""
    return re.compile(rf"\b(?:{names})\b{_FILL}{number}(?:\s*({unit})(?!\w))?{_NOT_THEN}", re.IGNORECASE)


_READINGS: Final = (
    (
        "Blood glucose",
        _pattern(r"blood sugars?|blood glucose|glucose|sugars?(?! pill)|fasting", _NUMBER, "mg/dl|mmol/l|mmol"),
    ),
    (
        "Body temperature",
        _pattern("temperature|temp|fever", r"(\d{2,3}(?:\.\d)?)", "°|degrees?|fahrenheit|celsius|f|c"),
    ),
    (
        "Body weight",
        _pattern(
            "weigh|weighs|weighed|weighing|weight|scale(?! (?:of|from|is))",
            _NUMBER,
            "pounds?|lbs?|kilos?|kgs?|kilograms?|stone",
        ),
    ),
    ("Peak flow", _pattern("peak flows?(?:['’]s)?", r"(\d{2,3})", "l/min")),
    ("Heart rate", _pattern("pulse(?! ox)|heart rate|heartbeat", r"(\d{2,3})", "bpm|beats")),
    ("Oxygen saturation", _pattern("oxygen|o2|sats?|pulse ox|spo2|saturation", r"(\d{2,3})", "%|percent")),
    ("HbA1c", _pattern("a1c|hba1c|hemoglobin a1c", r"(\d{1,2}(?:\.\d)?)", "%|percent")),
)
# What a bare number after a question about a reading may be, by what the question names.
_ASKED: Final = (
    ("Blood glucose", re.compile(r"\b(?:sugars?|glucose)\b", re.IGNORECASE), 2, 700),
    ("Body temperature", re.compile(r"\b(?:temperature|temp)\b", re.IGNORECASE), 34, 110),
    ("Body weight", re.compile(r"\b(?:weigh|weight)\b", re.IGNORECASE), 2, 700),
    ("Heart rate", re.compile(r"\b(?:pulse(?! ox)|heart rate)\b", re.IGNORECASE), 25, 230),
    ("Oxygen saturation", re.compile(r"\b(?:oxygen|pulse ox|oximeter|sats?|saturation)\b", re.IGNORECASE), 50, 100),
    ("HbA1c", re.compile(r"\b(?:a1c|hba1c)\b", re.IGNORECASE), 4, 20),
    ("Peak flow", re.compile(r"\bpeak flow\b", re.IGNORECASE), 50, 900),
)
_BARE: Final = re.compile(
    r"^(?:(?:yeah|yes|yep|um+|uh|well|oh|so|i think|let me see|let's see)\W+)*"
    r"(?:(?:it|that)(?:['’]s| is| was| came back(?: at)?)\s+|i(?:['’]m| am| was)(?: at)?\s+|was\s+|at\s+)?"
    rf"(?:about|around|like|maybe|at|roughly|just|only)?\s*{_NUMBER}"
    r"(?:\s*(mg/dl|mmol/l|mmol|pounds?|lbs?|kilos?|kgs?|percent|%|degrees?|bpm))?" + _NOT_THEN,
    re.IGNORECASE,
)
_ON_SCALE: Final = re.compile(
    rf"\b(?:i['’]m|i am|(?:he|she)['’]s|at|to)\s+(?:now\s+)?(?:at\s+|about\s+)?{_NUMBER}\s*"
    r"(pounds?|lbs?|kilos?|kgs?|kilograms?)\b",
    re.IGNORECASE,
)
_CHANGE_WORDS: Final = re.compile(r"\b(?:lost|gained|lose|gain|losing|gaining|put on|drop|dropped)\b", re.IGNORECASE)


def read_readings(scene: Scene, *, context: str = "", asked: str = "") -> list[Mention]:
    """Home readings as told: the value as said (142/88, 39.2), and the unit if it is said. `context` is the question
    or sentence that says what the numbers are; `asked` the question that this clause answers, when it does. Several
    of one kind in a clause have each a stretch of their own."""
    text, start, end = scene.text, scene.clause.start, scene.clause.end
    stretch = text[start:end]
    if _GOAL.search(stretch):
        return []  # "get it under seven": no reading
    found: list[_Told] = []
    for match in _PRESSURE.finditer(stretch):
        over = "over" in match.group().lower()
        if (_PRESSURE_WORDS.search(stretch) or _PRESSURE_WORDS.search(context)) and (over or "/" in match.group()):
            found.append(_Told("Blood pressure", match.start(), match.end(), f"{match[1]}/{match[2]}", ""))
    for concept, pattern in _READINGS:
        named = pattern.search(stretch)
        if not named or _PRESSURE.search(named.group()):
            continue
        if concept == "Body weight" and _CHANGE_WORDS.search(stretch):
            continue
        found.append(_Told(concept, named.start(), named.end(), named[1], named[2] or ""))
    for concept, pattern, least, most in _BESIDE:
        if not any(told.concept == concept for told in found):
            found += [
                _Told(concept, match.start(), match.end(), match[1], "")
                for match in pattern.finditer(stretch)
                if least <= float(match[1]) <= most and (least > _PLAIN or "." in match[1] or float(match[1]) > _PLAIN)
            ]
    scale = _ON_SCALE.search(stretch)
    weighed = scale and re.search(r"\b(?:scale|weigh\w*)\b", f"{context} {text[:end][-200:]}")
    if not found and scale and weighed and not _CHANGE_WORDS.search(stretch):
        found.append(_Told("Body weight", scale.start(), scale.end(), scale[1], scale[2]))
    bare = _BARE.search(stretch) if asked and not found else None
    for concept, names, least, most in _ASKED if bare else ():
        if bare and names.search(asked) and least <= float(bare[1]) <= most:
            found.append(_Told(concept, bare.start(), bare.end(), bare[1], bare[2] or ""))
            break
    found = [*found, *_further(stretch, found)]
    return [m for m in (_reading(scene, told, found) for told in found) if m is not None]


class _Told(msgspec.Struct, frozen=True):
    """A reading at characters `start`:`end` of its clause."""

    concept: str
    start: int
    end: int
    value: str
    unit: str


# A whole number up to here, before "breakfast", may count tablets as well.
_PLAIN: Final = 20
_GOAL: Final = re.compile(
    r"\b(?:get|bring|want|keep|like|aim\w*|goal|target)\b.{0,40}\b(?:under|below|down to)\b", re.I
)
# What a number just before these words is, where no name stands before it ("118 fasting", "39.4 on the thermometer").
_BESIDE: Final = (
    (
        "Blood glucose",
        re.compile(
            rf"(?<![\d/.]){_NUMBER}(?:,|\s)\s*(?:(?:was|when|this morning)\s+)?"
            r"(?:fasting|(?:before|after)\s+(?:my\s+|the\s+)?(?:breakfast|lunch|dinner|tea|supper|food|meals?|eating))\b",
            re.IGNORECASE,
        ),
        2, 700,
    ),
    (
        "Body temperature",
        re.compile(r"(?<![\d/.])(\d{2,3}(?:\.\d)?)\s+(?:degrees\s+)?(?:on|by|with|in)\s+(?:the|his|her|my)\s+"
                   r"(?:ear|thermometer|forehead|armpit|strip)", re.IGNORECASE),
        34, 110,
    ),
)  # fmt: skip
_ALSO: Final = re.compile(
    r"(?:,|\band|\bthen|\bbut)\s+(?:(?:it was|was|about|around|like|up to|down to)\s+)?"
    + _NUMBER
    + r"(?=\s*(?:$|[,.]|(?:at|in|after|before|when|on|by|this|most|last|first|sitting|lying|standing|yesterday|today"
    r"|tonight|overnight)\b))",
    re.IGNORECASE,
)


def _further(stretch: str, found: list[_Told]) -> list[_Told]:
    """More values of the one kind that was read: "320 most mornings, 410 at night"."""
    if len({told.concept for told in found}) != 1 or found[0].concept == "Blood pressure":
        return []
    first = float(found[0].value)
    return [
        _Told(found[0].concept, match.start(1), match.end(1), match[1], found[0].unit)
        for match in _ALSO.finditer(stretch, max(told.end for told in found))
        if first / 3 <= float(match[1]) <= 3 * first
    ]


def _reading(scene: Scene, told: _Told, found: list[_Told]) -> Mention | None:
    begin, stop = scene.clause.start, scene.clause.end
    first = scene.place(begin + told.start)
    last = max(first + 1, scene.place(begin + told.end))
    last = min(last, len(scene.words))
    if scene.cues.hypothetical(first):
        return None  # "if it goes over 38"
    made = scene.mention(
        MemoryKind.OBSERVATION,
        told.concept,
        first,
        last,
        polarity=Polarity.AFFIRMED,
        detail={"value": told.value, "unit": told.unit.lower()},
    )
    alike = sorted(other.start for other in found if other.concept == told.concept)
    if made is None or len(alike) < 2:
        return made
    after = [start for start in alike if start > told.start]
    start = begin if told.start == alike[0] else begin + told.start
    end = len(scene.text[: begin + after[0]].rstrip(" ,;")) if after else stop
    end = _before_and(scene.text, start, end) if after else end
    return msgspec.structs.replace(made, start=min(start, made.anchor_start), end=max(end, made.anchor_end))


def _before_and(text: str, start: int, end: int) -> int:
    """The end without a conjunction that leads to the next."""
    for word in (" and", " then", " but"):
        if text[start:end].lower().endswith(word):
            return start + len(text[start : end - len(word)].rstrip(" ,;"))
    return end
