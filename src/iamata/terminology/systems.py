"""Which code system is meant, and what is the one form of a code in it? URL, OID and URN of one system are equal.

Not here: what codes mean (`concepts`), or a validity check; a code we do not know keeps the form it was sent in.
"""

from __future__ import annotations

from functools import cache, lru_cache

from iamata.terminology.tables import rows

# Systems whose codes are written with and without a dot: ICD (E11.9 = E119).
_DOTLESS = frozenset({"icd10cm", "icd9cm"})


@cache
def _aliases() -> dict[str, str]:
    return {row["name"].lower(): row["alias"] for row in rows("systems")}


def alias(system: str) -> str:
    """The short name of a system given by URL, OID or `urn:oid:`; empty if we do not know it."""
    name = system.strip().lower().rstrip("/")
    names = _aliases()
    return names.get(name) or names.get(name.removeprefix("urn:oid:")) or names.get(f"urn:oid:{name}") or ""


@lru_cache(maxsize=200_000)
def normal(system: str, code: str) -> str:
    """`alias|code` in the one form of its system, or empty when the system or the code is missing or unknown."""
    known = alias(system)
    code = code.strip()
    if not known or not code:
        return ""
    if known in _DOTLESS:
        code = code.replace(".", "").upper()
    return f"{known}|{code}"
