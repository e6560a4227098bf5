"""When and where was it seen? One statement (or passage) in one document, at one place, at one moment."""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import check_aware
from iamata.model.provenance import Place


class Sighting(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """One time an item was seen. `received_at` is ours (UTC, aware); `item` is the id of a statement or passage.

    `url` is what this document called the item (a bundle's fullUrl): references in it lead there. It is no part of the
    item's identity where the item has an id: another bundle may call the same item otherwise.
    """

    item: str
    document: str
    place: Place
    received_at: datetime
    url: str = ""

    def __post_init__(self) -> None:
        check_aware("received_at", self.received_at)


class Retraction(msgspec.Struct, frozen=True, order=True, gc=False):
    """A source was taken out: its sightings up to `at` count no longer, as if they had never been. What it sends later
    counts again. Itself known only from `at` on: a read with an earlier `known_at` still sees what was then known."""

    source: str
    at: datetime

    def __post_init__(self) -> None:
        check_aware("at", self.at)
