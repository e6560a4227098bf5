"""Who wrote, signed, verified or typed a document, by lines of its own text such as `Electronically signed by: …`?

Names are kept as evidence. A name alone decides nothing: only a credential, title or word for a role says what sort of
person signs (`document_roles.tsv`). Nobody is recognised as the patient by their name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from iamata.model.attribution import AuthorshipEvidence, Part
from iamata.terminology.narrative import role, signature, signature_phrases

LIMIT_SIGNATURES: Final = 40
_LONGEST_LINE: Final = 200
_LONGEST_NAME: Final = 120
# What follows a name on a line of a signature: a date, a time, `on …`, `at …`, a bar.
_AFTER_NAME: Final = re.compile(
    r"\s*(?:\||;|\t|\s{3,}|\b(?:on|at|dated?)\b[:\s]|\b\d{1,4}[-/.]\d{1,2}|\b\d{1,2}:\d\d|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d).*",
    re.IGNORECASE | re.DOTALL,
)
_LINE: Final = re.compile(r"[^\r\n]+")
_PARTS: Final = {"author": Part.AUTHOR, "verifier": Part.VERIFIER, "enterer": Part.ENTERER}
_CLINICIAN: Final = "Practitioner"


@cache
def _pattern() -> re.Pattern[str]:
    """A phrase of the table at the beginning of a line, then a colon, or blanks after a word such as `by`."""
    phrases = "|".join(r"[\s-]+".join(map(re.escape, phrase.split())) for phrase in signature_phrases())
    return re.compile(
        rf"[\s>*_#|/-]{{0,10}}({phrases})\s*(?:[*_]{{0,3}}[:=][*_]{{0,3}}\s*|(?<=by)\s+)(\S.*)", re.IGNORECASE
    )


def signatures(texts: Iterable[tuple[str, str]]) -> tuple[AuthorshipEvidence, ...]:
    """The evidence of pages given as pointer and text, in their order, at most LIMIT_SIGNATURES; equal ones once.

    A signature is that of the author where no line names one and the signer is a clinician; else it verifies.
    """
    found: list[tuple[str, str, str, str]] = []
    for pointer, text in texts:
        for match in _LINE.finditer(text):
            if len(match.group()) > _LONGEST_LINE:
                continue
            line = _pattern().match(match.group())
            if line is None:
                continue
            name = _AFTER_NAME.sub("", line.group(2)).strip(" *_.,:-").strip()
            part = signature(line.group(1))
            if name and part and len(name) <= _LONGEST_NAME and any(char.isalpha() for char in name):
                found.append((part, f"{pointer.strip('/')}/signature", name, role(name)))
    authored = any(part == "author" for part, *_ in found)
    evidence: list[AuthorshipEvidence] = []
    seen: set[tuple[Part, str]] = set()
    for said, element, name, type in found:
        wrote = said == "signer" and not authored and type == _CLINICIAN
        part = Part.AUTHOR if wrote else _PARTS.get(said, Part.VERIFIER)
        if (part, name) not in seen and len(evidence) < LIMIT_SIGNATURES:
            seen.add((part, name))
            evidence.append(AuthorshipEvidence(part, f"{element}/{len(evidence)}", type=type, display=name))
    return tuple(evidence)
