"""Which vaccine groups does a concept have? A combination has all of its parts, so that MMR is not measles alone.

Names come from `data/vaccine_names.tsv`, CVX codes from `data/vaccine_codes.tsv` (a code only with the name that files
give it, and only if they agree). Not here: schedules, doses, manufacturers.
"""

from __future__ import annotations

from functools import cache, lru_cache

from iamata.model.coding import CodedText
from iamata.terminology.drug_tables import fold
from iamata.terminology.systems import normal
from iamata.terminology.tables import rows

_LONGEST_NAME_WORDS = 8
# Not a vaccine although it names one, or the carrier protein of a conjugate.
_NOT_VACCINE = ("immune globulin", "immunoglobulin", "antibody", "titer", "no vaccine", "not administered")
_CARRIERS = ("diphtheria toxoid conjugate", "tetanus toxoid conjugate", "diphtheria crm197", "diphtheria conjugate")


@cache
def _names() -> dict[str, frozenset[str]]:
    kept = (row for row in rows("vaccine_names") if row["source"] != "unreviewed")
    return {row["name"]: frozenset(row["groups"].split(" / ")) for row in kept}


@cache
def _codes() -> dict[str, str]:
    return {row["code"]: row["name"] for row in rows("vaccine_codes") if row["source"] != "unreviewed"}


@lru_cache(maxsize=4_000)
def group(concept: CodedText) -> frozenset[str]:
    """The groups, or empty: not a vaccine that we know, or its codes, displays and text name different ones.

    A less specific reading (pneumococcal) yields to a more specific one (pneumococcal conjugate).
    """
    found: list[frozenset[str]] = []
    for coding in concept.codings:
        name = _codes().get(coding.normal or normal(coding.system, coding.code))
        found += [groups for groups in (of_name(name or ""), of_name(coding.display)) if groups]
    said = of_name(concept.text)
    if said:
        found.append(said)
    if not found:
        return frozenset()
    most = max(found, key=lambda groups: (len(" ".join(groups)), sorted(groups)))
    return most if all(other == most or _wider(other, most) for other in found) else frozenset()


def _wider(wide: frozenset[str], narrow: frozenset[str]) -> bool:
    """Each group of the one begins a group of the other, and each of the other has its beginning there."""
    return all(any(b.startswith(a) for b in narrow) for a in wide) and all(
        any(b.startswith(a) for a in wide) for b in narrow
    )


@lru_cache(maxsize=4_000)
def of_name(name: str) -> frozenset[str]:
    """The groups that a name names; empty if none."""
    text = fold(name)
    if not text or any(phrase in text for phrase in _NOT_VACCINE):
        return frozenset()
    for carrier in _CARRIERS:
        text = text.replace(carrier, " ")
    words = text.split()
    groups: set[str] = set()
    at = 0
    while at < len(words):
        for length in range(min(_LONGEST_NAME_WORDS, len(words) - at), 0, -1):
            found = _names().get(" ".join(words[at : at + length]))
            if found:
                groups |= found
                at += length
                break
        else:
            at += 1
    return frozenset(one for one in groups if not any(other != one and other.startswith(f"{one} ") for other in groups))
