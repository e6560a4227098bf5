"""Whose paper is it? A letter by its closing, a payer's or laboratory's by its head, a diary, form or directive by its
title and voice, a draft by the software that wrote it.

Nobody is taken for the patient because they say `I`: the paper must be of a kind that patients write, or speak of what
is the writer's own. Not here: labelled lines (`labels`), which count before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from iamata.connectors.documents.labels import LONGEST_LINE, fields
from iamata.connectors.documents.persons import Person, person
from iamata.terminology import narrative

TITLE_LINES: Final = 12
_HEAD_LINES: Final = 4
_LONGEST_TITLE: Final = 90
_SALUTATION_WITHIN: Final = 25
_CLOSING_WITHIN: Final = 12
_CLOSING_LINES: Final = 4
_OPENING_CHARACTERS: Final = 600
_FEWEST_OWN: Final = 2
_I_NAME: Final = re.compile(r"\bI,\s+([^,\n]{3,60}),")
_FIRST_PERSON: Final = re.compile(r"\bI\b(?!\.)|\b(?:my|me|mine)\b", re.IGNORECASE)
_THIRD_PERSON: Final = re.compile(r"\b(?:he|she|him|her|his|hers|they|them)\b", re.IGNORECASE)
_MY: Final = re.compile(
    r"\bmy\s+(?:own\s+|dear\s+|late\s+|elderly\s+|little\s+|left\s+|right\s+|last\s+|new\s+)?([\w'-]+(?:\s+\w+)?)", re.I
)
_GENERATED: Final = re.compile(
    r"\b(?:generated|drafted|written|prepared|created|composed|produced|summari[sz]ed)\s+(?:automatically\s+)?"
    r"(?:by|with|using)\s+(?:an?\s+|the\s+)?([^.;\n]{2,100})",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"\b(?:not|never|no|nothing|without)\b[^.;\n]{0,40}\Z", re.IGNORECASE)
_TOLD_BY_KIN: Final = re.compile(
    r"\s+(?:says?|said|thinks?|told|tells?|noticed?|notices|drove|brought|helps?|is worried)\b"
)
# `Pain diary of Ann Lee`: what it is, and whose.
_KEPT_OF: Final = re.compile(r"(?i)\b(diary|journal|log|questionnaire|history form)\s+(?:of|for|kept by)\s+(.{3,60})\Z")
_INCORPORATED: Final = re.compile(
    r"(?:\s+(?:group|company|co|inc|llc|ltd|plc|corporation|corp|services|network|partners|center|centre)\.?)+\Z",
    re.IGNORECASE,
)
_MAIL: Final = re.compile(r"\s*(from|to|subject|date|sent|cc)\s*:\s*(.*)", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"<[^<>\s]{3,80}>|\S+@\S+")
_TO_BE_COMPLETED: Final = re.compile(
    r"\b(?:to be )?(?:completed|filled (?:in|out)|answered)\s+by\s+(?:the\s+)?(patient|parent|guardian|caregiver)\b",
    re.I,
)


class Paper(NamedTuple):
    """`genre` as in the table, empty if the title says none; `author` whose paper it is, with where that stands
    (`letterhead`, `closing`, `voice`, `generated`); `signs` whether a signature is the writer's own hand."""

    genre: str
    author: Person | None
    element: str
    patient: str
    is_letter: bool


def paper(lines: Sequence[str]) -> Paper:
    """What the lines of a document (those that are not blank, in order) are."""
    genre = _genre(lines[:TITLE_LINES])
    patient = _patient(lines)
    body = "\n".join(lines)
    closing = _closing(lines)
    is_letter = closing is not None or any(_salutes(line) for line in lines[:_SALUTATION_WITHIN])
    mail = _mail(lines)
    if (software := _generated(body)) is not None:
        return Paper(genre, software, "generated", patient, is_letter)
    signer = _signer(lines, closing)
    if (official := _official(lines, genre, closing, signer)) is not None:
        return Paper(genre, official, "letterhead", patient, is_letter)
    if genre == "consent":
        return Paper(genre, None, "", patient, is_letter)
    if genre == "directive":
        return Paper(genre, _declarant(body, patient), "voice", patient, is_letter)
    if (is_letter and closing is not None) or mail is not None:
        writer = signer if signer is not None and (signer.type or mail is None) else mail or signer
        return Paper(genre, _writer(writer, lines, body, patient), "closing", patient, True)
    if genre == "own":
        return Paper(genre, _keeper(lines, body, patient), "voice", patient, is_letter)
    if genre == "form":
        return Paper(genre, _answerer(lines, patient), "voice", patient, is_letter)
    return Paper(genre, None, "", patient, is_letter)


def _salutes(line: str) -> bool:
    """Does a letter begin with this line?"""
    words = line.split()
    return len(line) <= _LONGEST_TITLE and any(narrative.means("salutation", " ".join(words[:n])) for n in (1, 2, 5))


def _genre(lines: Sequence[str]) -> str:
    """What the first line that is a title is; `My …` is somebody's own paper."""
    for line in lines:
        words = line.strip(" \t#*_=").split(":")[0].split(" - ")
        if len(line) > _LONGEST_TITLE or (":" in line and not line.rstrip().endswith(":")):
            continue
        for part in (line, *reversed(words)):
            bare = re.sub(r"\([^()]*\)", " ", part).strip(" .:")
            if bare.lower().startswith("my ") and len(bare.split()) <= 5:
                return "own"
            bare = _KEPT_OF.sub(lambda match: match.group(1), bare)
            if bare[:1].isupper() and len(bare.split()) <= 9 and (found := narrative.ends_with("title", bare)):
                return found
    return ""


def _patient(lines: Sequence[str]) -> str:
    """The name of whom the paper is about, by its label."""
    for line in lines[:_SALUTATION_WITHIN]:
        for field in fields(line):
            if field.label.part == "patient" and field.who is not None and field.who.name:
                return field.who.name
        whose = _KEPT_OF.search(line.strip(" .:")) if len(line) <= _LONGEST_TITLE else None
        who = person(whose.group(2)) if whose is not None else None
        if who is not None and not who.type:
            return who.name
    return ""


def _closing(lines: Sequence[str]) -> int | None:
    """At which line the closing of a letter stands, near its end."""
    for at in range(len(lines) - 1, max(-1, len(lines) - 1 - _CLOSING_WITHIN), -1):
        if len(lines[at]) <= _LONGEST_TITLE and narrative.means("closing", lines[at].strip(" ,.!")):
            return at
    return None


def _signer(lines: Sequence[str], closing: int | None) -> Person | None:
    """Who stands below the closing: a name, and lines that say who they are."""
    if closing is None:
        return None
    below: list[str] = []
    for line in lines[closing + 1 : closing + 1 + _CLOSING_LINES]:
        if fields(line) or len(line) > _LONGEST_TITLE:
            break
        below.append(line.strip(" ,."))
    for size in range(len(below), 0, -1):
        found = person(", ".join(below[:size]))
        if found is not None and found.type:
            return found
    return person(below[0]) if below else None


def _mail(lines: Sequence[str]) -> Person | None:
    """Who an e-mail is from, where its head has a line for the sender and one for a receiver."""
    head: dict[str, str] = {}
    for line in lines[:8]:
        match = _MAIL.match(line)
        if match is not None:
            head.setdefault(match.group(1).lower(), match.group(2))
    if "from" not in head or not ({"to", "subject"} & head.keys()):
        return None
    return person(_ADDRESS.sub("", head["from"]))


def _generated(body: str) -> Person | None:
    """The software that reasons by which the text says that it was written."""
    for match in _GENERATED.finditer(body):
        if _NOT.search(body[max(0, match.start() - 60) : match.start()]):
            continue
        who = person(match.group(1).split(" and ")[0].strip())
        if who is not None and who.capacity == "reasoning":
            return who
    return None


def _official(lines: Sequence[str], genre: str, closing: int | None, signer: Person | None) -> Person | None:
    """A payer or laboratory whose paper it is: by a line of the head that names it and something more of theirs."""
    if genre in ("form", "own", "directive", "consent", "card"):
        return None
    for line in lines[:_HEAD_LINES]:
        name = line.strip(" \t#*_=")
        if len(name) > _LONGEST_TITLE or fields(name) or ":" in name or len(name.split()) < _FEWEST_OWN:
            continue
        if narrative.heading(name) is not None or narrative.ends_with("title", name):
            continue
        whose = narrative.ends_with("letterhead", _INCORPORATED.sub("", name.split(" - ")[0].split(",")[0]))
        if whose and _is_theirs(lines, name, whose, genre, closing, signer):
            return Person(" ".join(name.split()), "Organization", whose)
    return None


def _is_theirs(
    lines: Sequence[str], name: str, whose: str, genre: str, closing: int | None, signer: Person | None
) -> bool:
    labelled = any(_has_label(line, whose) for line in lines[1:])
    if whose == "payer" and genre == "payer":
        return True
    if closing is None:
        return labelled
    signed = any(narrative.folded(name) in narrative.folded(line) for line in lines[closing + 1 :])
    return signed or (labelled and (signer is None or signer.type != "Practitioner"))


def _has_label(line: str, whose: str) -> bool:
    if len(line) > LONGEST_LINE:
        return False
    cells = re.split(r"\s{3,}|\t|·", line)
    return any(narrative.means("evidence", cell.partition(":")[0]) == whose and (":" in cell) for cell in cells) or any(
        narrative.folded(cell).startswith("clia ") and whose == "lab" for cell in cells
    )


def _declarant(body: str, patient: str) -> Person | None:
    """Who declares in the first person (`I, Ann Lee, …`); not somebody with a title or credential, who certifies."""
    match = _I_NAME.search(body[: 4 * _OPENING_CHARACTERS])
    if match is not None:
        who = person(match.group(1))
        return Person(who.name, "Patient") if who is not None and who.type in ("", "Patient") else None
    if patient and len(_FIRST_PERSON.findall(body)) >= _FEWEST_OWN:
        return Person(patient, "Patient")
    return None


def _writer(writer: Person | None, lines: Sequence[str], body: str, patient: str) -> Person | None:
    """Who wrote a letter: by their own words about themselves, else by what they call their own."""
    if writer is None or writer.type:
        return writer
    voice = _voice(body)
    return writer._replace(type=voice) if voice else writer


def _voice(body: str) -> str:
    """Patient or RelatedPerson if the writer speaks of what is a patient's own, or of a relative as the matter."""
    own = kin = clinical = 0
    for match in _MY.finditer(body):
        words = match.group(1)
        first = words.split()[0]
        if narrative.is_relation(words) or narrative.is_relation(first):
            if match.start() <= _OPENING_CHARACTERS and not _TOLD_BY_KIN.match(body, match.start(1) + len(first)):
                kin += 1
        elif "patient" in (narrative.means("voice", words), narrative.means("voice", first)):
            own += 1
        elif "clinician" in (narrative.means("voice", words), narrative.means("voice", first)):
            clinical += 1
    if clinical:
        return ""
    said = len(_FIRST_PERSON.findall(body))
    others = len(_THIRD_PERSON.findall(body))
    if kin and (not own or others > 2 * own):
        return "RelatedPerson"
    return "Patient" if own and said >= _FEWEST_OWN else ""


def _keeper(lines: Sequence[str], body: str, patient: str) -> Person | None:
    """Who keeps a diary: the person in whose first person it is."""
    mine = any(line.strip(" \t#*_=").lower().startswith("my ") for line in lines[:2])
    if not mine and not _FIRST_PERSON.search(body):
        return None
    if _voice(body) == "RelatedPerson":
        return Person("", "RelatedPerson")
    return Person(patient, "Patient")


def _answerer(lines: Sequence[str], patient: str) -> Person | None:
    """Who a form is to be filled in by, where it says so and nothing says who did."""
    for line in lines[:TITLE_LINES]:
        match = _TO_BE_COMPLETED.search(line)
        if match is not None:
            if match.group(1).lower() == "patient":
                return Person(patient, "Patient")
            return Person("", "RelatedPerson")
    return None
