"""How does each source write? One profile per source: code systems, drug names, units, precision, zones, identifiers.

Not here: the rendering itself (`fhir`), and which source knows what (`scatter`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

HOME = timezone(timedelta(hours=-5))


@dataclass(frozen=True)
class Profile:
    """`conditions`, `drugs`, `substances` name a style of `fhir`; `units` is `first`, `spelled` or `other`; `precision`
    the finest date it keeps for histories; `zone` is `home`, `utc`, `east` or `none`; `oids` writes systems as OIDs.
    `format` is `fhir`, or what else it sends what it can in: `ccda` or `hl7v2`."""

    name: str
    conditions: str = "snomed"
    drugs: str = "rxnorm"
    substances: int = 0
    units: str = "first"
    precision: str = "day"
    zone: str = "home"
    identifiers: bool = True
    statements: bool = False
    oids: bool = False
    format: str = "fhir"


FORMATS = {
    "copies": ("fhir",),
    "codes": ("fhir", "fhir", "ccda"),
    "values": ("fhir", "fhir", "hl7v2"),
    "all": ("fhir", "ccda", "hl7v2"),
}
NAMES = ("northside", "eastgate", "riverlab", "hillclinic", "cornerpharm")


def profiles(noise: str, count: int, chance: random.Random) -> list[Profile]:
    """The first source writes plainly; the others as the noise allows."""
    made = [Profile(NAMES[0])]
    codes, values = noise in ("codes", "all"), noise in ("values", "all")
    for name in NAMES[1:count]:
        made.append(
            Profile(
                name,
                conditions=chance.choice(["snomed", "icd10", "both", "name", "icd10_name"]) if codes else "snomed",
                drugs=chance.choice(["rxnorm", "brand_code", "ndc", "brand", "generic", "salt"]) if codes else "rxnorm",
                substances=chance.choice([0, 1, 2]) if codes else 0,
                units=chance.choice(["first", "spelled", "other", "other"]) if values else "first",
                precision=chance.choice(["day", "month", "year"]) if values else "day",
                zone=chance.choice(["home", "utc", "east", "none"]) if values else "home",
                identifiers=chance.random() < 0.5,
                statements=chance.random() < 0.4,
                oids=codes and chance.random() < 0.25,
                format=chance.choice(FORMATS[noise]),
            )
        )
    return made


def told(moment: datetime, precision: str, zone: str = "home") -> str:
    """The moment as FHIR text: `second`, `day`, `month` or `year`, in the clock of a zone. Days are those at home."""
    local = moment.astimezone(HOME)
    if precision != "second":
        return local.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[precision])
    if zone == "none":
        return local.strftime("%Y-%m-%dT%H:%M:%S")
    if zone == "utc":
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = moment.astimezone(timezone(timedelta(hours=1))) if zone == "east" else local
    return shown.isoformat()
