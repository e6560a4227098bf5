"""Where do the sentences and clauses of a text begin and end, by exact characters? Linear in the text.

A clause is a stretch with one subject: sentences are cut before a conjunction or comma that a new subject follows,
before a repair ("sorry, …") and before ", no …". Not a parser, because talk is rarely grammatical: what cannot be
told apart stays in one clause, and a clause is only ever wider than it should be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from iamata.terminology import lexicon
from iamata.terminology.lexicon import Spot, split_words

_END: Final = re.compile(r"[.!?…]+[\"')\]”’]*(?=\s|$)|[\r\n]+")
_ABBREVIATION: Final = re.compile(r"(?:^|[\s(])(?:dr|mr|mrs|ms|st|vs|approx|e\.g|i\.e|etc|a\.m|p\.m|mg|ml|q\.d)$", re.I)
# Longer stretches without an end are cut, where a clause may begin or else at a blank, so that one endless line costs
# no more than many short ones.
_LONGEST: Final = 1200
_MAY_BEGIN: Final = re.compile(r"\s(?=(?:and|so|but|okay|ok|alright|because|then|let['’]s)\s)", re.I)
# Talk written down without marks: a sentence of so many words with fewer than one comma in twenty.
_UNMARKED: Final = 24
_RARE_COMMA: Final = 20

_SUBJECTS: Final = frozenset(
    ["i", "i'm", "i've", "i'd", "i'll", "he", "he's", "he'd", "he'll", "she", "she's", "she'd", "she'll", "we",
     "we're", "we've", "we'd", "we'll", "they", "they're", "they've", "they'd", "they'll", "it", "it's", "it'd",
     "it'll", "there", "there's", "that's", "this", "you", "you're", "you've"]
)  # fmt: skip
_DETERMINERS: Final = frozenset(
    ["both", "my", "his", "her", "their", "our", "your", "the", "this", "that", "these", "those"]
)
_FINITE: Final = frozenset(
    ["am", "is", "are", "was", "were", "have", "has", "had", "do", "does", "did", "take", "takes", "took", "get",
     "gets", "got", "feel", "feels", "felt", "hurt", "hurts", "hurting", "ache", "aches", "keeps", "keep", "kept",
     "can", "can't", "could", "will", "won't", "would", "says", "said", "say", "thinks", "gives", "gave", "makes",
     "made", "started", "stopped", "isn't", "aren't", "wasn't", "weren't", "don't", "doesn't", "didn't", "haven't",
     "hasn't", "swelled", "swells", "itches", "burns", "runs", "ran", "looks", "goes", "went", "comes", "came",
     "needs", "wants", "told", "put", "puts", "knocks", "seems", "died", "swollen", "passed", "uses", "works",
     "used"]
)  # fmt: skip
_BREAKS: Final = frozenset(["but", "because", "although", "though", "however", "whereas", "while"])
_JOINS: Final = frozenset(("and", ",", "so", "then", "plus", "or", "until", "cause", "cuz"))
_LEADING: Final = frozenset((
    "and", ",", "but", "because", "so", "then", "plus", "although", "though", "however", "-", "–", "—", ":", ";",
))  # fmt: skip
_NOES: Final = frozenset(("no", "not", "never", "neither", "denies", "without"))
_TAILS: Final = (
    (",", "by", "the", "way"), ("by", "the", "way"), (",", "you", "know"), (",", "though"), (",", "thanks"),
    (",", "thank", "you"), (",", "please"),
    (",", "she", "says"), (",", "he", "says"), (",", "she", "said"), (",", "he", "said"),
    (",", "doctor"), (",", "doc"), (",", "honestly"),
)  # fmt: skip
_INTERROGATIVE: Final = frozenset(
    ["what", "when", "where", "why", "how", "who", "which", "whose", "do", "does", "did", "are", "is", "am", "was",
     "were", "have", "has", "had", "can", "could", "should", "would", "will", "may", "any", "isn't", "aren't",
     "don't", "doesn't", "didn't", "haven't", "hasn't", "shall", "ever", "won't", "wouldn't", "couldn't",
     "shouldn't"]
)  # fmt: skip
_WH: Final = frozenset(["what", "when", "where", "why", "how", "who", "which", "whose"])
_AFTER_AUX: Final = frozenset(
    ["i", "you", "he", "she", "it", "we", "they", "my", "your", "his", "her", "their", "our", "the", "this", "that",
     "these", "those", "anyone", "anybody", "there", "any", "some", "someone"]
)  # fmt: skip


class Clause(msgspec.Struct, frozen=True):
    """Characters `start`:`end`, and the words within. `joined`: it continues the clause before it in its sentence.
    `repair`: what it says takes back what the clause before said."""

    start: int
    end: int
    spots: tuple[Spot, ...]
    joined: bool = False
    repair: bool = False

    @property
    def words(self) -> list[str]:
        return [spot.word for spot in self.spots]

    @property
    def asks(self) -> bool:
        """It is put as a question to the other, within a sentence that goes on ("… are you taking it")."""
        words = self.words
        at = 0
        while at < len(words) and words[at] in _FILLERS:
            at += 1
        return at + 2 < len(words) and _asks_other(words, at)


class Sentence(msgspec.Struct, frozen=True):
    """One sentence, its clauses, and whether it asks (`question`) or asks for assent to what it states (`tag`)."""

    start: int
    end: int
    clauses: tuple[Clause, ...]
    question: bool
    tag: bool = False

    @property
    def words(self) -> list[str]:
        return [spot.word for clause in self.clauses for spot in clause.spots]


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences in order, each with a clause or more. Stretches of blanks or bare conjunctions are left out."""
    for start, end in _stretches(text):
        spots = split_words(text[start:end], start)
        while spots and not _is_word(spots[0]):
            spots = spots[1:]
        last = len(spots)
        while last and not _is_word(spots[last - 1]) and spots[last - 1].word not in (")", "%"):
            last -= 1
        body = spots[:last]
        if not body:
            continue
        asks = any(spot.word == "?" for spot in spots[last:])
        words = [spot.word for spot in body]
        question, tag, cut = _asking(words, asks)
        question = question and (asks or not _is_unmarked(words))  # its first clause asks, and the talk runs on
        body = body[:cut]
        clauses = tuple(_clauses(body)) if body else ()
        if clauses:  # "So and." says nothing
            yield Sentence(body[0].start, body[-1].end, clauses, question, tag)


def _is_word(spot: Spot) -> bool:
    return spot.word[0].isalnum()


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        if match.group()[0] == "." and _ABBREVIATION.search(text[max(start, match.start() - 8) : match.start()]):
            continue
        yield from _bounded(text, start, match.end())
        start = match.end()
    yield from _bounded(text, start, len(text))


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _LONGEST:
        begins = [m.start() for m in _MAY_BEGIN.finditer(text, start + _LONGEST // 2, start + _LONGEST)]
        cut = begins[-1] if begins else text.rfind(" ", start + 1, start + _LONGEST)
        cut = cut if cut > start else start + _LONGEST
        yield start, cut
        start = cut
    if start < end:
        yield start, end


def _asking(words: Sequence[str], asks: bool) -> tuple[bool, bool, int]:
    """(is a question, is a statement with a tag, how many words belong to it without the tag)."""
    first = next((i for i, word in enumerate(words) if word[0].isalnum() and word not in _FILLERS), 0)
    rest = words[first:]
    if not asks and _gropes(rest, 0):
        return False, False, len(words)
    inverted = bool(rest) and (
        (rest[0] in _WH and (asks or _inverted_wh(rest)))
        or (
            rest[0] in _INTERROGATIVE
            and rest[0] not in _WH  # "what I want to do is prescribe …" asks nothing
            and len(rest) > 1
            and rest[1] in _AFTER_AUX
            and (asks or rest[1] in ("you", "your", "i", "we", "he", "she", "they", "it"))
        )
        or (rest[0] in ("any", "ever") and asks)
    )
    if not asks:
        return inverted and rest[0] not in ("had", "any"), False, len(words)
    if not inverted and "," in words:
        comma = len(words) - 1 - list(reversed(words)).index(",")
        tail = " ".join(words[comma + 1 :])
        if tail and any(" ".join(term.words) == tail for term in _tags()):
            return False, True, comma
    return True, False, len(words)


_FILLERS: Final = frozenset(
    ["so", "and", "well", "um", "uh", "oh", "ok", "okay", "hi", "hello", "hey", "but", "now", "also", "then",
     "actually", "sorry", "yes", "no"]
)  # fmt: skip


def _gropes(words: Sequence[str], at: int) -> bool:
    """ "What do you call it, metronidazole": a name is looked for, nothing is asked."""
    said = words[at : at + 6]
    return said[:4] == ["what", "do", "you", "call"] and "," in said[4:] and len(words) > at + 6


def _inverted_wh(words: Sequence[str]) -> bool:
    return len(words) > 2 and words[1] in _INTERROGATIVE and words[2] in _AFTER_AUX


def _tags() -> list[lexicon.Term]:
    return lexicon.cues().of("tag_question")


def _clauses(spots: Sequence[Spot]) -> Iterator[Clause]:
    words = [spot.word for spot in spots]
    cuts = [0]
    repairs: set[int] = set()
    mended = _repairs(words)
    opening = _opening_repair(words)
    if opening:
        cuts = [opening]
        repairs.add(opening)
    at = 1
    unmarked = _is_unmarked(words)
    while at < len(words):
        if at in mended:
            cuts.append(mended[at])
            repairs.add(mended[at])
            at = mended[at]
        elif (unmarked and _opens_unmarked(words, at)) or (_starts(words, at) and not _continues(words, cuts[-1], at)):
            cuts.append(at)
        at += 1
    cuts = sorted({cut for cut in cuts if cut < len(words)})
    for place, cut in enumerate(cuts):
        end = cuts[place + 1] if place + 1 < len(cuts) else len(words)
        for begin, stop in mended.items():  # the repair words themselves belong to no clause
            if cut < stop <= end and begin < end and cut <= begin:
                end = min(end, begin)
        first = cut
        while first < end and (words[first] in _LEADING or not _is_word(spots[first])):
            first += 1
        end = _without_tail(words, first, end)
        while end > first and not _is_word(spots[end - 1]) and words[end - 1] not in (")", "%"):
            end -= 1
        if end > first and words[end - 1] in ("and", "but", "because"):
            end -= 1
        while end > first and words[end - 1] == ",":
            end -= 1
        if end > first:
            yield Clause(spots[first].start, spots[end - 1].end, tuple(spots[first:end]), place > 0, cut in repairs)


def _without_tail(words: Sequence[str], first: int, end: int) -> int:
    for tail in _TAILS:
        if end - len(tail) > first and tuple(words[end - len(tail) : end]) == tail:
            return end - len(tail)
    return end


def _repairs(words: Sequence[str]) -> dict[int, int]:
    """Begin and end of each run of repair words inside a sentence ("…, no, sorry, …")."""
    found: dict[int, int] = {}
    hits = {hit.first: hit.last for hit in lexicon.cues().every(words) if hit.term.kind == "repair"}
    for first, last in sorted(hits.items()):
        begin, end = first, last
        while end < len(words) and (words[end] in (",", "-", "—") or end in hits):
            end = hits.get(end, end + 1)
        while begin > 0 and words[begin - 1] in (",", "no", "-", "—"):
            begin -= 1
        if begin > 0 and end < len(words) and not any(b <= begin < e for b, e in found.items()):
            found[begin] = end
    return found


_SUBORDINATE: Final = frozenset(["since", "when", "whenever", "after", "if", "once", "ever", "every", "as"])


def _continues(words: Sequence[str], first: int, at: int) -> bool:
    """What stands before this place is no clause of its own yet: "My mother and | my aunt had …", "When I …, | I …"."""
    segment = [word for word in words[first:at] if word not in _LEADING]
    if not segment:
        return True
    if words[at] in (",", "and") and segment[0] in _SUBORDINATE and "," not in words[first + 1 : at]:
        return words[at] == ","
    nxt = words[at + 1] if at + 1 < len(words) else ""
    listed = words[at] in (",", "and", "or") and (nxt in _DETERMINERS or bool(lexicon.kinship().exact(nxt)))
    return listed and not any(word in _FINITE or word in _SUBJECTS for word in segment)


def _opening_repair(words: Sequence[str]) -> int:
    """The word after repair words that open a sentence ("Sorry, I mean …"), or 0."""
    at = 0
    hits = {hit.first: hit.last for hit in lexicon.cues().every(words[:8]) if hit.term.kind == "repair"}
    while at < len(words) and (at in hits or (at and words[at] == ",")):
        at = hits.get(at, at + 1)
    return at if 0 < at < len(words) else 0


# Not a question where these stand before: "what do you", "so do you", "than are you".
_NO_QUESTION: Final = _WH | {"so", "nor", "neither", "as", "than", "or", "and", "but", "well", "then", "like"}
_ASKING: Final = frozenset(["do", "does", "did", "are", "is", "have", "has", "were", "was"])
# In talk without marks, these open a clause wherever they stand.
_OPENINGS: Final = (
    ("i", "want"), ("i", "wan"), ("i'm", "gon"), ("i'm", "gonna"), ("i'm", "going"), ("i", "will"), ("i'd", "like"),
    ("i", "would"), ("i", "recommend"), ("i", "suggest"), ("we", "will"), ("we're", "going"), ("we're", "gon"),
    ("you", "can"), ("i", "have"), ("i", "take"), ("i", "took"), ("i'm", "taking"), ("i've", "been"),
    ("i", "know"), ("i", "see"), ("i", "do"), ("i", "did"), ("i", "think"),
)  # fmt: skip
_ALONE: Final = frozenset(["i'll", "we'll", "let's"])
_HELD: Final = frozenset(
    ["that", "which", "who", "what", "as", "than", "if", "when", "whenever", "where", "how", "why", "said", "say",
     "think", "know", "until", "till", "before", "after", "since", "while", "cause", "and", "or", "but", "so", "then",
     "because", "everything", "anything", "something", "all", "like", "mean", "guess", "unless", "whether", "not",
     ",", "the", "maybe", "probably", "once", "though", "believe", "hope", "see", "now"]
)  # fmt: skip


_MADE_TO: Final = frozenset(
    ["to", "na", "gonna", "let's", "we'll", "i'll", "will", "would", "can", "we", "they", "i", "just"]
)


def _asks_other(words: Sequence[str], at: int) -> bool:
    if words[at] not in _ASKING or words[at + 1 : at + 2] != ["you"] or len(words) - at < 3:
        return False
    if at and _gropes(words, at - 1):
        return False
    if words[at] == "have" and at and words[at - 1] in _MADE_TO:
        return False  # "let's have you take it"
    return words[at + 2] not in ("know", "see", "so", "come", "take", "start", "use") or words[at] == "do"


def _is_unmarked(words: Sequence[str]) -> bool:
    return len(words) > _UNMARKED and _RARE_COMMA * words.count(",") < len(words)


def _opens_unmarked(words: Sequence[str], at: int) -> bool:
    """Does a clause open here although no word and no sign says so?"""
    word = words[at]
    if _asks_other(words, at):
        return words[at - 1] not in _NO_QUESTION
    if words[at - 1] in _HELD:
        return False
    return word in _ALONE or tuple(words[at : at + 2]) in _OPENINGS


def _marks_turn(words: Sequence[str], at: int) -> bool:
    """ "Okay" or "alright" that turns to the next thing, not "I feel okay"."""
    after = words[at + 1] if at + 1 < len(words) else ""
    if words[at] not in ("okay", "alright") or words[at - 1] in ("is", "are", "was", "feel", "be", "it's", "i'm"):
        return False
    return after in _SUBJECTS or after in _DETERMINERS or after in _TURNS


_ELIDED: Final = frozenset(["do", "does", "did", "am", "is", "are", "has", "have", "was"])
_TURNS: Final = frozenset(
    ["and", "so", "well", "let's", "now", "um", "then", "but", "any", "for", "okay", "alright", "great", "good", "do",
     "are", "have", "did", "what", "how"]
)  # fmt: skip


_SAYS: Final = frozenset(["says", "said", "reckons", "thinks"])
# After a comma, these begin an order of their own: "… stop clopidogrel on 1 March, continue aspirin".
_ORDERED: Final = frozenset(["continue", "start", "stop", "hold", "restart", "discontinue", "increase", "reduce"])


def _starts(words: Sequence[str], at: int) -> bool:
    """Does a new clause start at this word (a conjunction, a comma, a dash)?"""
    word = words[at]
    nxt = words[at + 1] if at + 1 < len(words) else ""
    said = word == "," and words[at + 2 : at + 3] != [] and words[at + 2] in _SAYS
    if said and words[at + 3 : at + 4] in ([","], []):
        return False  # "Only thyroxine, she says, 75 micrograms": said in between
    if word == "," and nxt in _ORDERED and _ORDERED & set(words[max(0, at - 10) : at]):
        return at + 2 < len(words) and words[at + 2] not in ("taking", "using", "to")
    if _marks_turn(words, at):
        return True
    if word in (",", "and") and words[at - 1] == "there" and nxt and nxt not in ("and", "or", "in", "at", "on"):
        return at + 2 < len(words) and "there" in words[at + 2 : at + 7]  # "Fever is there, cough is not there"
    if word in (";", "–", "—") or (word == "-" and words[at - 1][0].isalnum() and nxt in _SUBJECTS):
        return True
    if word in _BREAKS:
        return not (word == "because" and nxt == "of") and not (
            word == "but" and words[at - 1] in ("nothing", "all", "anything")
        )
    if word not in _JOINS:
        return False
    elided = at + 1 if nxt in ("so", "neither", "nor") else at
    follows = words[elided + 1] if elided + 2 < len(words) else ""
    if words[elided] in ("so", "neither", "nor") and follows in _ELIDED:
        return True  # "… and so do I"
    if word == "," and nxt in ("and", "so", "then", "or", "but", "because") and at + 2 < len(words):
        return nxt in ("and", "so", "then", "or") and _starts(words, at + 1)
    if word == "so" and nxt not in _SUBJECTS:
        return False
    if (
        word in (",", "and", "or")
        and nxt in _NOES
        and at + 2 < len(words)
        and words[at + 2] not in (",", "sorry", "actually")
    ):
        return nxt != "not" or word == ","
    if nxt in _SUBJECTS:
        follows = words[at + 2] if at + 2 < len(words) else ""
        if nxt in ("it", "this", "you", "they") and not follows:
            return False
        return not (nxt == "this" and follows not in _FINITE)
    if nxt in _DETERMINERS:
        return _finite_soon(words, at + 2)
    if word in (",", "and") and nxt and lexicon.kinship().exact(nxt):
        return _finite_soon(words, at + 2)
    return word == "," and nxt in ("yes", "yeah") and at + 2 < len(words) and words[at + 2] == "to"


def _finite_soon(words: Sequence[str], at: int) -> bool:
    for place in range(at, min(at + 5, len(words))):
        if words[place] in (",", ";", "and", "or", "but", "because"):
            return False
        if words[place] in _FINITE:
            return True
    return False
