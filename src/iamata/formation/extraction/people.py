"""Who has it? The person a thing named in a clause belongs to, relative to the patient.

The speaker's "I" is the patient's only when the patient speaks; a caregiver's "my son" can be the patient and
"my sister" the patient's aunt. The words for persons and the compositions are rows of `lexicon_kinship.tsv`. When it
cannot be told, it is not the patient: another person's disease must never become the patient's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from iamata.model.memory import Experiencer
from iamata.model.session import Speaker
from iamata.terminology import lexicon

_I: Final = frozenset(("i", "i'm", "i've", "i'd", "i'll", "me", "myself", "mine"))
_WE: Final = frozenset(("we", "we're", "we've", "we'd", "we'll", "us"))
_YOU: Final = frozenset(("you", "you're", "you've", "you'd", "you'll", "your"))
_HE: Final = frozenset(("he", "he's", "he'd", "he'll", "him", "his", "himself"))
_SHE: Final = frozenset(("she", "she's", "she'd", "she'll", "her", "herself"))
_THEY: Final = frozenset(("they", "they're", "they've", "their", "them"))
_OBSERVES: Final = frozenset(
    ["noticed", "notice", "see", "saw", "found", "think", "thought", "gave", "give", "giving", "given", "seen",
     "measured", "took",
     "believe", "know", "guess", "checked", "counted", "feel", "felt", "heard", "hear", "worry", "afraid",
     "worried", "remember", "want", "wanted", "stopped", "started", "put", "hope", "say", "said", "suspect",
     "swear"]
)  # fmt: skip
_FEMALE: Final = frozenset(
    ("mother", "sister", "grandmother", "aunt", "niece", "daughter", "granddaughter", "maternal grandmother",
     "paternal grandmother", "great-aunt", "great-grandmother")
)  # fmt: skip
_MALE: Final = frozenset(
    ("father", "brother", "grandfather", "uncle", "nephew", "son", "grandson", "maternal grandfather",
     "paternal grandfather", "great-uncle", "great-grandfather")
)  # fmt: skip
_NOT_BLOOD: Final = frozenset(
    ("in-law", "spouse", "step relative", "friend", "neighbor", "colleague", "animal", "person")
)


# How often another person must be spoken of in a few turns for the talk to be about that person.
_TALK_OF: Final = 3
_CLAIMS: Final = {
    "i": frozenset(["have", "had", "feel", "felt", "take", "took", "get", "got", "am", "hurt", "suffer", "live",
                    "lived", "smoke", "smoked", "drink", "drank", "work", "worked", "weigh", "sleep", "skip", "quit"]),
    "i've": frozenset(["had", "been", "got"]),
    "i'm": frozenset(["on", "taking", "having", "feeling", "allergic", "diabetic"]),
}  # fmt: skip
_KEPT: Final = frozenset(["records", "record", "log", "logs", "notes", "diary", "chart", "charts", "list", "readings"])
_ANYBODY: Final = frozenset(["nobody", "everybody", "everyone", "somebody", "someone"])
_TAKES: Final = frozenset(["took", "killed", "claimed", "got"])
_CARED_FOR: Final = frozenset(("my", "him", "her", "them", "to"))


_THINKING: Final = frozenset(
    ["always", "never", "already", "assumed", "believed", "understood", "expected", "hoped", "imagined",
     "known"]
)  # fmt: skip


def _claims(words: Sequence[str], at: int) -> bool:
    """Does the speaker tell of the own body here ("I have", "I'm taking"), not of caring ("I had him take")?"""
    after = words[at + 1] if at + 1 < len(words) else ""
    beyond = words[at + 2] if at + 2 < len(words) else ""
    if after == "had" and (beyond in _THINKING or beyond in _OBSERVES):
        return False  # "I had always thought": a tense, nothing that is had
    return after in _CLAIMS.get(words[at], ()) and not (after in ("have", "had", "got") and beyond in _CARED_FOR)


_HAS: Final = frozenset(["has", "had", "takes", "took", "is", "was", "feels", "coughs", "gets", "got", "sleeps"])
_OWNED: Final = 4
_BODILY: Final = ("symptom", "condition", "drug", "drug_in_context", "measure")
_MEASURED: Final = frozenset(
    ["pressure", "readings", "pulse", "sugar", "sugars", "temperature", "weight", "appetite", "ankles", "breathing",
     "cough", "coughing", "sleep"]
)  # fmt: skip


def _tells_of(words: Sequence[str], at: int) -> bool:
    """Is a body told of here, of one who is only called he or she: "his morning pressure", "he has gout", "he takes
    it"? Not what a doctor says, changes or has in mind."""
    word, rest = words[at], words[at + 1 : at + 1 + _OWNED]
    if word in ("his", "her", "he's", "she's") or (word in ("he", "she") and rest[:1] and rest[0] in _HAS):
        bodily = any(hit.term.kind in _BODILY for hit in lexicon.clinical().longest(rest))
        return bodily or bool(_MEASURED & set(rest)) or rest[:2] == ["takes", "it"]
    return False


_GREETS: Final = frozenset(
    ["hello", "hi", "hey", "dear", "thanks", "you", "morning", "afternoon", "evening", "yes", "no"]
)


def _is_addressed(words: Sequence[str], at: int) -> bool:
    """Is the professional named at word `at` spoken to ("Hello doctor", "Doctor, …"), not of?"""
    return words[at - 1] in _GREETS | {","} if at else words[1:2] in ([","], [])


class Person(msgspec.Struct, frozen=True):
    """Whose it is; `relation` to the patient, empty for the patient and for a family member not named."""

    experiencer: Experiencer
    relation: str = ""


PATIENT: Final = Person(Experiencer.PATIENT)
SOMEBODY: Final = Person(Experiencer.OTHER)


class People:
    """The persons of one turn, followed from clause to clause. `speaker` None: a note, whose subject is the patient."""

    def __init__(self, speaker: Speaker | None, relationship: str) -> None:
        self._speaker = speaker
        self.official = speaker in (Speaker.CLINICIAN, Speaker.COORDINATOR)
        self.orders = self.official or speaker is None  # a note orders as its clinician does
        self.relationship = _normal(relationship)
        self._carried: Person | None = None
        self._topic: Person | None = None
        self.ordering = False  # a clinician has ordered a medicine in this turn

    def talk_of(self, texts: Sequence[str]) -> None:
        """Whom the talk is about, when a patient asks about somebody they care for: the person last named, when he or
        she is spoken of far more often than the speaker's own body. Then what no "I have" claims is that person's."""
        if self._speaker is not Speaker.PATIENT:
            return
        others = own = told = 0
        named: Person | None = None
        professional = False
        for text in texts:
            words = [spot.word for spot in lexicon.split_words(text)]
            own += sum(_claims(words, at) for at in range(len(words)))
            others += sum(word in _HE or word in _SHE for word in words)
            for hit in lexicon.kinship().longest(words):
                if hit.term.kind == "relative":
                    others += 1
                    named = self._named(words, hit.first, hit.term.concept, hit.term.kind)
                professional = professional or (hit.term.kind == "informant" and not _is_addressed(words, hit.first))
            if named is None and not own:
                told += sum(_tells_of(words, at) for at in range(len(words)))
        if named is not None and others >= _TALK_OF and others > 2 * own:
            self._topic = named
        elif named is None and told >= _TALK_OF and not own and not professional:  # "The doctor …, he has …"
            self._topic = SOMEBODY  # "His readings are still high, he has gout": no word says who he is

    def owner(self, words: Sequence[str], first: int, last: int) -> Person:
        """The person whom words `first`:`last` of this clause are about."""
        subject = self._default(words)
        people = {hit.first: hit for hit in lexicon.kinship().longest(words)}
        at = 0
        while at < min(first, len(words)):
            hit = people.get(at)
            as_one = words[max(0, at - 2) : at] in (["as", "a"], ["as", "an"])  # "told as a child"
            named = (
                hit is not None
                and not as_one
                and hit.last <= first + 1
                and hit.term.kind in ("relative", "other", "patient")
            )
            if hit is not None and named and words[hit.last : hit.last + 1] != ["side"]:
                subject = self._and(subject, self._named(words, at, hit.term.concept, hit.term.kind), words, at)
                at = hit.last
                continue
            if words[at] in _ANYBODY:
                subject = SOMEBODY
            subject = self._pronoun(words, at, people, subject)
            at += 1
        held = [hit for hit in people.values() if first <= hit.first < last and words[hit.first].endswith("'s")]
        taken = [hit for hit in people.values() if hit.first >= last and _TAKES & set(words[last : hit.first])]
        for hit in held or (taken if first <= 1 else []):  # "a lump in my sister's breast", "cancer took my uncles"
            if hit.term.kind in ("relative", "other"):
                return self._named(words, hit.first, hit.term.concept, hit.term.kind)
        side = self._family_around(words, first, last)
        if side is not None and (subject.experiencer is Experiencer.PATIENT or subject == SOMEBODY):
            return side
        if side is not None and side.relation and subject.experiencer is Experiencer.FAMILY and not subject.relation:
            return side
        return self._sided(words, subject)

    def _and(self, one: Person, other: Person, words: Sequence[str], at: int) -> Person:
        """ "My dad and grandpa both had it": one thing told of two relatives."""
        before = [word for word in words[max(0, at - 3) : at] if word in ("and", "or")]
        both = one.experiencer is other.experiencer is Experiencer.FAMILY and one.relation and other.relation
        if before and both and one.relation != other.relation:
            return Person(Experiencer.FAMILY, f"{one.relation} and {other.relation}")
        return other

    @property
    def spoken_of(self) -> Person | None:
        """The person last named, whom "she" may mean."""
        return self._carried

    def follow(self, words: Sequence[str]) -> None:
        """Remember the last person named in this clause, for the pronouns of what comes."""
        for hit in lexicon.kinship().longest(words):
            if hit.term.kind in ("relative", "other") and self._is_person(words, hit.first, hit.term.concept):
                person = self._named(words, hit.first, hit.term.concept, hit.term.kind)
                self._carried = None if person == PATIENT else person

    def relative(self, words: Sequence[str]) -> Person | None:
        """The family member that this stretch names, as in an answer ("My mom.")."""
        for hit in lexicon.kinship().longest(words):
            if hit.term.kind == "relative":
                return self._sided(words, self._named(words, hit.first, hit.term.concept, hit.term.kind))
        return None

    def wisher(self, words: Sequence[str], at: int) -> Person:
        """Whose wish or worry opens at word `at`: a caregiver's own counts as spoken for the patient."""
        if self._speaker is Speaker.PATIENT and (words[at] in _HE | _SHE or any(w in _HE | _SHE for w in words[:at])):
            return SOMEBODY
        for hit in lexicon.kinship().longest(words[:at]):
            if (
                hit.term.kind in ("relative", "other")
                and self._named(words, hit.first, hit.term.concept, hit.term.kind) != PATIENT
            ):
                return SOMEBODY
        return PATIENT

    def _is_person(self, words: Sequence[str], at: int, concept: str) -> bool:
        return concept != "animal" or (at > 0 and words[at - 1] in ("my", "our", "the"))

    def _default(self, words: Sequence[str]) -> Person:
        if self._carried is not None and not any(w in _FINITE_HINT for w in words) and not any(w in _I for w in words):
            return self._carried  # "My mother has asthma. Diabetes too."
        if self._topic is not None and not any(_claims(words, at) for at in range(len(words))):
            return self._topic
        return PATIENT

    def _named(self, words: Sequence[str], at: int, relation: str, kind: str) -> Person:
        if kind == "patient":  # "the baby" is the patient's own child, unless somebody else speaks for it
            own = self._speaker is Speaker.PATIENT or (self._speaker is Speaker.INTERPRETER and words[at] == "my")
            return Person(Experiencer.FAMILY, "child") if own else PATIENT
        if self._speaker is None and any(word.endswith(("old", "yo", "y/o")) for word in words[max(0, at - 3) : at]):
            return PATIENT  # "75-year-old man with …": so a note calls its patient
        owner = words[at - 1] if at else ""
        if owner.endswith("'s") and (chained := self._chained(words, at, relation)) is not None:
            return chained
        if owner in _HE | _SHE | _THEY and self._speaker is Speaker.PATIENT and self._carried is not None:
            if kind != "other" and self._fits(owner) and (of := self._of_carried(relation)):
                return Person(Experiencer.FAMILY, of)  # "and on your mother's side?" "Her sister had …"
            return SOMEBODY if kind == "other" else Person(Experiencer.FAMILY)
        possessed = owner in ("his", "her", "their", "your", "patient's")
        if self._speaker is Speaker.CAREGIVER and not possessed:
            composed = lexicon.composed().get((self.relationship, relation))
            if composed == "patient":
                return (
                    PATIENT
                    if not (at and words[at - 1] in ("other", "older", "younger", "oldest", "youngest"))
                    else Person(Experiencer.FAMILY, "sibling")
                )
            if composed is not None:
                relation = composed
                kind = "other" if composed in _NOT_BLOOD else "relative"
            elif kind == "relative":
                return Person(Experiencer.OTHER, "")
        if kind == "other" or relation in _NOT_BLOOD:
            return Person(Experiencer.OTHER, relation)
        return Person(Experiencer.FAMILY, relation)

    def _fits(self, pronoun: str) -> bool:
        """Can this pronoun mean the person last named?"""
        of = self._carried.relation if self._carried is not None else ""
        return (pronoun in _SHE and of in _FEMALE) or (pronoun in _HE and of in _MALE)

    def _of_carried(self, relation: str) -> str:
        """What a relative of the person last named is to the patient; empty when no row composes it."""
        of = self._carried.relation if self._carried is not None else ""
        composed = lexicon.composed().get((of, relation), "")
        return "" if composed in _NOT_BLOOD or composed == "patient" else composed

    def speak_of(self, person: Person | None) -> None:
        """The other asked about this relative: a pronoun may mean him or her."""
        if person is not None and person.experiencer is Experiencer.FAMILY:
            self._carried = person

    def _chained(self, words: Sequence[str], at: int, relation: str) -> Person | None:
        """ "My brother's son": a relative's relative, composed; somebody else's when it cannot be."""
        terms = [term for term in lexicon.kinship().exact(words[at - 1]) if term.kind in ("relative", "other")]
        if not terms:
            return None
        owner = self._named(words, at - 1, terms[0].concept, terms[0].kind)
        if owner == PATIENT:
            return Person(Experiencer.FAMILY, relation)
        composed = lexicon.composed().get((owner.relation, relation), "")
        if owner.experiencer is Experiencer.OTHER or not composed or composed in _NOT_BLOOD:
            return SOMEBODY
        return Person(Experiencer.FAMILY, "" if composed == "patient" else composed)

    def _pronoun(self, words: Sequence[str], at: int, people: dict[int, lexicon.Hit], subject: Person) -> Person:
        word = words[at]
        if self._topic is not None and (word in _I or word in _WE) and not _claims(words, at):
            return subject  # "I'll give it at eight", told of a father's tablets
        if word == "mine" and words[at - 1 : at] == ["of"]:
            return subject  # "a friend of mine"
        if word in _I:
            return self._me(words, at)
        if word in _WE:
            return PATIENT
        if word == "my":
            if self._topic is not None and _KEPT & set(words[at + 1 : at + 6]):
                return subject  # "my blood pressure records", kept of somebody else
            named = people.get(at + 1)
            far = people.get(at + 2)
            if (named and named.term.kind != "informant") or (far and far.term.kind == "relative"):
                return subject
            return self._me(words, at)
        if word in _YOU:
            return PATIENT if self._speaker not in (Speaker.PATIENT, Speaker.INTERPRETER) else subject
        for group, fits in ((_HE, _MALE), (_SHE, _FEMALE), (_THEY, _MALE | _FEMALE)):
            if word in group:
                if group is _THEY and (
                    people.get(at + 1) is None and word in ("they", "they're", "they've", "they'd", "they'll")
                ):
                    return subject
                return self._third(fits, subject)
        return subject

    def _me(self, words: Sequence[str], at: int) -> Person:
        if self._speaker is not Speaker.CAREGIVER:
            return PATIENT
        rest = words[at + 1 : at + 4]
        own = _claims(words, at) and not _OBSERVES & set(rest)  # "I had preeclampsia with him"
        if not own and (any(word in _OBSERVES for word in rest) or any(w in _HE | _SHE for w in words[at:])):
            return PATIENT
        if words[at] == "me":
            return PATIENT
        relation = self.relationship
        if not relation or relation in _SPOUSES or relation in _NOT_BLOOD:
            return Person(Experiencer.OTHER, relation)
        return Person(Experiencer.FAMILY, relation)

    def _third(self, fits: frozenset[str], subject: Person) -> Person:
        if self._speaker is Speaker.PATIENT:
            if self._carried is not None:
                return self._carried
            return subject if subject != PATIENT else SOMEBODY
        if self._carried is not None and (
            self._carried.relation in fits or self._carried.experiencer is Experiencer.OTHER
        ):
            return self._carried
        if subject.relation and subject.relation in fits:
            return subject
        return PATIENT

    def _family_around(self, words: Sequence[str], first: int, last: int) -> Person | None:
        """ "… runs in the family", "nobody in my family", "… on my mom's side", "… in my father"."""
        joined = lexicon.cues().every(words)
        if any(hit.term.kind == "family_any" and (hit.last <= first or hit.first >= last) for hit in joined):
            named = self.relative(words) if "side" not in words and not _of_theirs(words) else None
            return (
                named if named is not None and named.experiencer is Experiencer.FAMILY else Person(Experiencer.FAMILY)
            )
        for hit in lexicon.kinship().longest(words):
            if hit.term.kind == "relative" and hit.first >= last and _within(words, hit.first):
                return self._named(words, hit.first, hit.term.concept, "relative")
        return None

    def _sided(self, words: Sequence[str], person: Person) -> Person:
        """ "My grandmother, on my mom's side" is the maternal one."""
        if person.experiencer is not Experiencer.FAMILY or "side" not in words:
            return person
        text = " ".join(words)
        for side, names in (
            ("maternal", ("mom's", "mother's", "maternal")),
            ("paternal", ("dad's", "father's", "paternal")),
        ):
            if any(f"{name} side" in text for name in names):
                hit = next((h for h in lexicon.kinship().longest(words) if h.term.kind == "relative"), None)
                relation = person.relation or (hit.term.concept if hit else "")
                if relation in ("mother", "father") and relation in _side_word(words):
                    return Person(Experiencer.FAMILY, f"{side} relative")
                return Person(Experiencer.FAMILY, f"{side} {relation}".strip())
        return person


_SPOUSES: Final = frozenset(("wife", "husband", "spouse", "partner", "girlfriend", "boyfriend"))
_FINITE_HINT: Final = frozenset(
    ["am", "is", "are", "was", "were", "have", "has", "had", "do", "does", "did", "i'm", "i've", "he's", "she's",
     "take", "takes", "took", "get", "gets", "got", "feel", "feels", "it's", "we", "don't", "doesn't", "didn't",
     "haven't", "hasn't", "isn't", "wasn't", "stopped", "started", "hurts", "hurt", "can't", "keeps", "no"]
)  # fmt: skip


def _of_theirs(words: Sequence[str]) -> bool:
    """ "… is all over my mother's family": of no relative that is named."""
    return any(words[hit.last : hit.last + 1] == ["family"] for hit in lexicon.kinship().longest(words))


def _within(words: Sequence[str], at: int) -> bool:
    """ "… in my father": the relative is the one who has it."""
    return words[max(0, at - 2) : at - 1] == ["in"] and words[at - 1] in ("my", "his", "her", "our", "your", "a")


def _side_word(words: Sequence[str]) -> str:
    at = len(words) - 1 - list(reversed(words)).index("side")
    return {"mom's": "mother", "mother's": "mother", "dad's": "father", "father's": "father"}.get(words[at - 1], "")


def _normal(relationship: str) -> str:
    """A caregiver's relationship in the words of the table (`Mom` → mother); as sent if no row knows it."""
    text = relationship.strip().lower()
    terms = [term for term in lexicon.kinship().exact(text) if term.kind == "relative"] if text else []
    return terms[0].concept if terms else text
