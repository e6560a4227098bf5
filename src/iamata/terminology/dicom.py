"""What do codes in DICOM headers and structured reports mean? Lookups over `data/dicom_words.tsv`."""

from __future__ import annotations

from functools import cache

from iamata.terminology.tables import rows


@cache
def _words() -> dict[tuple[str, str], str]:
    return {(row["element"], row["code"]): row["meaning"] for row in rows("dicom_words")}


def word(element: str, code: str) -> str:
    """The meaning of a code of this element (by its DICOM keyword); empty if it is not listed."""
    return _words().get((element, code), "")
