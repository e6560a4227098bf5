"""What is taken from the UMLS (MRCONSO)? Which codes of systems that we know share a concept, and its English names.

Only atoms that are not suppressed, of the vocabularies in `_SYSTEMS`. If MRFILES.RRF lies beside it, its size must be
what that says. Columns: UMLS Reference Manual (NLM), tables of MRCONSO.RRF and MRFILES.RRF.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from iamata.errors import BadInput
from iamata.terminology.loading.reading import Account, rrf
from iamata.terminology.names import fold
from iamata.terminology.sorted_text import SortedWriter

TABLES: Final = ("concepts", "codes", "names", "titles")
# The source abbreviation (SAB) of the UMLS → our alias in systems.tsv.
_SYSTEMS: Final = {
    "SNOMEDCT_US": "snomed",
    "ICD10CM": "icd10cm",
    "ICD9CM": "icd9cm",
    "RXNORM": "rxnorm",
    "LNC": "loinc",
}
_DOTLESS: Final = frozenset({"icd10cm", "icd9cm"})
_CONSO, _FILES = (18,), (6,)  # cells of a row


def files(folder: Path) -> dict[str, Path]:
    """MRCONSO.RRF and, if it is there, MRFILES.RRF; empty without the first."""
    found = {path.name.upper(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    if "MRCONSO.RRF" not in found:
        return {}
    return {name: found[name] for name in ("MRCONSO.RRF", "MRFILES.RRF") if name in found}


def compile(files: dict[str, Path], tables: dict[str, SortedWriter], account: Account) -> str:
    """Fill the tables: `concepts` (`system|code` → CUI), `codes` (CUI → `system|code`), `names` (folded English name →
    CUI), `titles` (`system|code` → rank and name, preferred first). The release is not said by these files: empty."""
    conso = files["MRCONSO.RRF"]
    if "MRFILES.RRF" in files:
        for row in rrf(files["MRFILES.RRF"], _FILES, account):
            if row[0] == "MRCONSO.RRF" and row[5] != str(conso.stat().st_size):
                raise BadInput("this file has not the size that MRFILES.RRF says. Nothing was loaded", place=conso.name)
    for row in rrf(conso, _CONSO, account):
        cui, language, preferred, source, code, name, suppress = (row[at] for at in (0, 1, 6, 11, 13, 14, 16))
        system = _SYSTEMS.get(source)
        if system is None or language != "ENG" or suppress != "N" or not code or not name:
            continue
        if system in _DOTLESS:
            code = code.replace(".", "").upper()
        key = f"{system}|{code}"
        tables["concepts"].add(key, cui)
        tables["codes"].add(cui, key)
        tables["titles"].add(key, f"{'0' if preferred == 'Y' else '1'}\t{name}")
        folded = fold.__wrapped__(name)
        if folded:
            tables["names"].add(folded, cui)
    return ""
