"""What do the documents say as they were read by then? The newest reading of each, in place of those before it.

Not here: reading (`connectors`), and what is said comes to (`pipeline`).
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.graph import Held


def as_read(held: Held, known_at: datetime | None) -> Held:
    """What is held with the readings in force at `known_at` (now if None) as its only ones; itself if nothing was read
    again by then. One statement an id, and for each document the sightings of its last reading."""
    since = [again for again in held.rereadings if known_at is None or again.at <= known_at]
    if not since:
        return held if not held.rereadings else msgspec.structs.replace(held, rereadings=())
    statements = {s.id: s for s in held.statements}
    passages = {p.id: p for p in held.passages}
    sightings = held.sightings
    for again in sorted(since, key=lambda again: again.number):
        statements |= {s.id: s for s in again.statements}
        passages |= {p.id: p for p in again.passages}
        sightings = (*(s for s in sightings if s.document not in again.documents), *again.sightings)
    return msgspec.structs.replace(
        held,
        statements=tuple(statements.values()),
        passages=tuple(passages.values()),
        sightings=sightings,
        rereadings=(),
    )
