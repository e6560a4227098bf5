"""What is taken from RxNorm (RRF)? Names of drugs at every level, brand → ingredients, precise ingredients, NDCs.

Only RxNorm's own atoms (SAB=RXNORM, restriction level 0) are read; suppressed ones are left out, obsolete ones kept,
because old records name them. Columns: RxNorm Technical Documentation (NLM), section 12, and the table scripts that
come with every release.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from iamata.terminology.drug_tables import fold
from iamata.terminology.loading.reading import Account, rrf
from iamata.terminology.sorted_text import SortedWriter

TABLES: Final = ("names", "ndc", "ingredients", "brands")
# The normal forms first: the name of a concept is that of its first term type here. Dose forms and synonyms are none.
_LEVELS: Final = (
    *("IN", "PIN", "MIN", "BN", "SCD", "SBD", "GPCK", "BPCK"),
    *("SCDC", "SBDC", "SCDF", "SBDF", "SCDG", "SBDG", "SCDFP", "SBDFP", "SCDGP"),
)
_SUPPRESSED: Final = frozenset({"Y", "E"})
_CONSO, _REL, _SAT = (18,), (16,), (13,)  # cells of a row
_NDC_DIGITS: Final = 11


def files(folder: Path) -> dict[str, Path]:
    """The files to read, by their names; RXNCONSO is needed, the others add to it. Empty if it is not there."""
    found = {path.name.upper(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    if "RXNCONSO.RRF" not in found:
        return {}
    return {name: found[name] for name in ("RXNCONSO.RRF", "RXNREL.RRF", "RXNSAT.RRF") if name in found}


def compile(files: dict[str, Path], tables: dict[str, SortedWriter], account: Account) -> str:
    """Fill the tables: `names` (RXCUI → rank, term type, name), `ndc` (11 digits → RXCUI), `ingredients` (folded name →
    ingredient as named, of a precise one what it is a form of), `brands` (folded name → an ingredient). The release is
    not said by these files: empty. Memory grows with the number of ingredients and brands only.
    """
    small: dict[str, dict[str, str]] = {"IN": {}, "PIN": {}, "BN": {}}
    for row in rrf(files["RXNCONSO.RRF"], _CONSO, account):
        cui, source, level, name, suppress = row[0], row[11], row[12], row[14], row[16]
        if source != "RXNORM" or level not in _LEVELS or suppress in _SUPPRESSED or not name:
            continue
        tables["names"].add(cui, f"{_LEVELS.index(level):02d}\t{level}\t{name}")
        if level in small:
            small[level].setdefault(cui, name)
    of_precise: dict[str, set[str]] = {}
    of_brand: dict[str, set[str]] = {}
    if "RXNREL.RRF" in files:
        for row in rrf(files["RXNREL.RRF"], _REL, account):
            # The two ends are told apart by their term types, so that the direction of the row does not matter.
            if row[7] in ("form_of", "has_form"):
                _join(row[0], row[4], small["PIN"], small["IN"], of_precise)
            elif row[7] in ("tradename_of", "has_tradename"):
                _join(row[0], row[4], small["BN"], small["IN"], of_brand)
    for name in small["IN"].values():
        tables["ingredients"].add(fold(name), name)
    for cui, name in small["PIN"].items():
        if len(of_precise.get(cui, ())) == 1:
            tables["ingredients"].add(fold(name), small["IN"][next(iter(of_precise[cui]))])
    for cui, name in small["BN"].items():
        for ingredient in of_brand.get(cui, ()):
            tables["brands"].add(fold(name), small["IN"][ingredient])
    if "RXNSAT.RRF" in files:
        for row in rrf(files["RXNSAT.RRF"], _SAT, account):
            cui, attribute, source, value, suppress = row[0], row[8], row[9], row[10], row[11]
            digits = value.replace("-", "")
            own = attribute == "NDC" and source == "RXNORM" and suppress not in _SUPPRESSED
            if own and digits.isdigit() and len(digits) == _NDC_DIGITS:
                tables["ndc"].add(digits, cui)
    return ""


def _join(left: str, right: str, narrow: dict[str, str], wide: dict[str, str], found: dict[str, set[str]]) -> None:
    for one, other in ((left, right), (right, left)):
        if one in narrow and other in wide:
            found.setdefault(one, set()).add(other)
