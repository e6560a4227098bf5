"""When and where was it seen? One statement (or passage) in one document, at one place, at one moment.

And what ends that: a source that is taken out, a document that is read again."""

from __future__ import annotations

from datetime import datetime

import msgspec

from iamata.model.clinical_time import check_aware
from iamata.model.passage import Passage
from iamata.model.provenance import Place
from iamata.model.statement import Statement


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


class Rereading(msgspec.Struct, frozen=True, kw_only=True):
    """Documents of a patient were read again, by readers that say something else of them than those before.

    `number` counts from 1. For `documents` the `sightings` here stand in place of all earlier ones; `statements` and
    `passages` are the items that say something else than before, or are new. Known from `at` on.
    """

    number: int
    at: datetime
    documents: frozenset[str]
    statements: tuple[Statement, ...] = ()
    passages: tuple[Passage, ...] = ()
    sightings: tuple[Sighting, ...] = ()

    def __post_init__(self) -> None:
        check_aware("at", self.at)
