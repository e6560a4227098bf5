"""Is a thing named in a clause asserted, denied, doubted, past, planned or only supposed?

In the tradition of ConText (Harkema, Dowling, Thornblade, Chapman: J Biomed Inform 2009, 42:839-851): cue words with
a direction and a scope that ends at terminating words, and pseudo-cues that hide a cue. The cues are rows of
`lexicon_cues.tsv`. Who has it is `people`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from iamata.model.memory import Temporality
from iamata.model.statement import Polarity
from iamata.terminology import lexicon
from iamata.terminology.lexicon import Hit

# How many words a negation reaches; ConText lets it run to the end of the sentence, which talk makes too long.
_REACH: Final = 9
_FRESH: Final = frozenset(
    ("a", "an", "some", "just", "only", "my", "the", "mostly", "i", "lots", "mainly", "occasional")
)
_PAST_VERBS: Final = frozenset(("had", "was", "were", "got", "came", "did", "broke", "went"))
# What may stand between a finding and the verb that ends it: "the rash has finally cleared".
_ENDING: Final = frozenset(
    ("has", "have", "had", "just", "finally", "all", "since", "then", "both", "is", "are", "now", "completely")
)
# These deny what stands before them only at the end of a clause: "numbness, none", not "asthma, none of the others".
_FINAL: Final = frozenset(("none", "nil", "absent"))
_RECURS: Final = frozenset(
    ("recur", "recurs", "develop", "occur", "worsen", "happen", "return", "come", "start", "persist", "arise", "get")
)
# After a comma these begin what is no list: a subject, or the verb of what to do then.
_ANEW: Final = frozenset(
    ["i", "he", "she", "it", "we", "they", "you", "i'm", "i've", "he's", "she's", "it's", "i'd", "i'll", "my", "his",
     "her", "the", "then", "take", "call", "go", "come", "use", "give", "try", "stop", "ring", "please", "do", "have",
     "is", "are", "was", "there", "there's", "that", "this", "don't", "let"]
)  # fmt: skip
_PERFECT: Final = frozenset(("i've", "have", "has", "he's", "she's", "'ve", "haven't", "hasn't", "been", "we've"))


class Assertion(msgspec.Struct, frozen=True):
    polarity: Polarity
    certain: bool
    temporality: Temporality


class Cues:
    """The cues of one clause, found once and asked for each thing named in it. `supposed`: a clause before it says
    that it is only supposed."""

    def __init__(self, words: Sequence[str], *, supposed: bool = False) -> None:
        self.words = words
        self.supposed = supposed
        self.hits = lexicon.cues().every(words)

    def of(self, kind: str) -> list[Hit]:
        return [hit for hit in self.hits if hit.term.kind == kind]

    def concepts(self, kind: str) -> list[str]:
        return [hit.term.concept for hit in self.hits if hit.term.kind == kind]

    def masked(self, hit: Hit) -> bool:
        """Does a pseudo-cue lie over this cue?"""
        return any(p.first <= hit.first and hit.last <= p.last for p in self.of("pseudo_negation"))

    def negated(self, first: int, last: int) -> bool:
        """Is what stands at words `first`:`last` within a negation?"""
        for hit in self.of("negation"):
            if self.masked(hit) or (first <= hit.first and hit.last <= last) or self._particle(hit):
                continue
            if hit.last <= first and self._distance(hit.last, first) <= _REACH and self._open(hit.last, first):
                return True
        return any(
            hit.first >= last and hit.first - last <= 4 and self._open(last, hit.first)
            for hit in self.of("negation_after")
            if self.words[hit.first] not in _FINAL or hit.last == len(self.words)
        )

    def _distance(self, start: int, end: int) -> int:
        """Words between, without the signs: a list of denials is as long as its words."""
        return sum(word[0].isalnum() for word in self.words[start:end])

    def _particle(self, hit: Hit) -> bool:
        """A "no" that answers ("No, …", "Not really, …") negates nothing after it."""
        after = self.words[hit.last] if hit.last < len(self.words) else ","
        if self.words[hit.first : hit.last] == ["no"] and after == ",":
            return True
        opening = [no for no in self.of("no") if no.first == hit.first == 0 and no.last > hit.last]
        return any(self.words[no.last : no.last + 1] == [","] for no in opening)

    def is_open(self, start: int, end: int) -> bool:
        """Does nothing that ends a scope lie between these words?"""
        return self._open(start, end)

    def _open(self, start: int, end: int) -> bool:
        """No terminating word, and no comma that begins something new, lies between."""
        for hit in self.of("end"):
            if start <= hit.first < end:
                return False
        # "COMPLICATIONS: None POSTOPERATIVE DIAGNOSIS: hernia": a heading ends what the cue before it denies
        if any(self.words[at] == ":" for at in range(start + 1, end)):
            return False
        return not any(self._begins_anew(at) for at in range(start, end))

    def _begins_anew(self, at: int) -> bool:
        """A comma or "and" with a determiner after it: what follows is no longer part of a list of denials."""
        if self.words[at] not in (",", "and"):
            return False
        after = at + 1
        if self.words[at] == "," and self.words[after : after + 1] in (["and"], ["or"]):
            after += 1
        if self.words[after - 1] == "or" and self.words[after : after + 1] in (["a"], ["an"]):
            return False  # "he hasn't had a fever, or a rash": the list goes on
        return self.words[after : after + 1] != [] and self.words[after] in _FRESH

    def _before(self, kind: str, first: int) -> bool:
        return any(hit.last <= first and self._comma_free(hit.last, first) for hit in self.of(kind))

    def _comma_free(self, start: int, end: int) -> bool:
        return "," not in self.words[start:end] or (end - start) <= 6

    def hypothetical(self, first: int) -> bool:
        """Only supposed: after "if", "in case", "watch for" … and before the comma that ends the supposition."""
        if self.supposed:
            return True
        if any(hit.last <= first and self._listed(hit.last, first) for hit in self.of("hypothetical")):
            return True
        if any(
            word == "should" and at < first and _RECURS & set(self.words[first : first + 5])
            for at, word in enumerate(self.words)
        ):
            return True  # "attend should chest pain recur"
        # "I would stop it if I could": the condition stands behind
        return bool({"would", "could", "i'd", "he'd", "she'd"} & set(self.words[:first])) and "if" in self.words[first:]

    def _listed(self, start: int, end: int) -> bool:
        """No comma between these words but those of a list: "return if fever, vomiting or pain"."""
        between = self.words[start:end]
        if "," not in between:
            return True
        after = between[between.index(",") + 1 :]
        if after[:1] == ["or"]:
            return True
        return not _ANEW & set(after) and self.words[start : start + 1] != [] and self.words[start] not in _ANEW

    def planned(self, first: int) -> bool:
        """Before it, or around it, stands that it is to come."""
        return any(hit.last <= first or hit.first <= first < hit.last for hit in self.of("planned"))

    def over(self, first: int, last: int) -> bool:
        """Said to have ended: "… went away", "I got over …"."""
        return (
            any(hit.first >= last and not self.masked(hit) for hit in self.of("over"))
            or any(
                hit.first >= last and set(self.words[last : hit.first]) <= _ENDING and not self.masked(hit)
                for hit in self.of("over_verb")
            )
            or self._before("over_before", first)
        )

    def historical(self, first: int, last: int) -> bool:
        if any(not (first <= hit.first < last) for hit in self.of("historical")):
            return True
        if any(0 <= first - hit.last <= 1 for hit in self.of("historical_adjective")):
            return True  # "an old fracture"; not "65 years old with a cough"
        return self.words[-1:] == ["before"] and any(word in _PERFECT for word in self.words[:first])

    def uncertain(self, first: int, last: int) -> bool:
        return any(hit.last <= first and first - hit.last <= _REACH + 3 for hit in self.of("uncertain"))

    def past_tense(self, first: int) -> bool:
        """A simple past governs it ("I had", "he was"), no perfect and no "since"."""
        before = self.words[:first]
        if any(word in _PERFECT for word in before) or "since" in self.words:
            return False
        # "I'd a sore arm", "I'd glandular fever": had
        had = "i'd" in before and (before[-1] == "i'd" or before[before.index("i'd") + 1] in ("a", "an", "the", "some"))
        return had or any(word in _PAST_VERBS for word in before)

    def earlier(self, last: int) -> bool:
        """Told of a time before another that is told after it: "… before he moved here", "… until the stent"."""
        after = self.words[last:]
        return "until" in after or any(
            word == "before" and after[at + 1 : at + 2] and after[at + 1] in ("i", "he", "she", "we", "they")
            for at, word in enumerate(after)
        )

    def assess(self, first: int, last: int) -> Assertion:
        """The assertion of what stands at words `first`:`last`."""
        denied = self.negated(first, last)
        if self.hypothetical(first):
            temporality = Temporality.HYPOTHETICAL
        elif not denied and (self.over(first, last) or self.historical(first, last)):
            temporality = Temporality.PAST
        else:
            temporality = Temporality.CURRENT
        polarity = Polarity.DENIED if denied else Polarity.AFFIRMED
        return Assertion(polarity, not self.uncertain(first, last), temporality)
