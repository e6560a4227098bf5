"""How do archives read on the wire? Their manifest in short, and what became of one that was taken in."""

from __future__ import annotations

from typing import Any

from iamata.model.archive import Manifest, Moved


def manifest(held: Manifest) -> dict[str, Any]:
    """What was written, without the list of its parts."""
    return {
        "kind": held.kind.value,
        "version": held.version,
        "madeAt": held.made_at.isoformat(),
        "patients": [patient.id for patient in held.patients],
        "parts": len(held.parts),
        "sizeBytes": sum(part.size_bytes for part in held.parts),
    }


def moved(held: Moved) -> dict[str, Any]:
    return {"patients": list(held.patients), "hereAlready": list(held.here_already), "entries": held.entries}
