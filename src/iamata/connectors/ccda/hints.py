"""Whose is a CDA document, by its own word? The ids of its record target."""

from __future__ import annotations

from typing import Final

from iamata.connectors.ccda.decoding import decode
from iamata.errors import BadInput

# US Social Security numbers (HL7 OID registry): a number of the state is no name for a record.
_WITHHELD: Final = frozenset({"2.16.840.1.113883.4.1"})


def patients_named(body: bytes) -> tuple[int, tuple[str, ...]]:
    """How many record targets there are, and the extensions of the ids of the one if there is one (CDA R2 4.2.2.11)."""
    try:
        root = decode(body).root
    except BadInput:
        return 0, ()
    targets = [root] if root.name == "recordTarget" else root.all("recordTarget")
    if len(targets) != 1:
        return len(targets), ()
    role = targets[0].one("patientRole")
    ids = role.all("id") if role is not None else []
    found = {each.get("extension") for each in ids if not each.nil and each.get("root") not in _WITHHELD}
    return 1, tuple(sorted(found - {""}))
