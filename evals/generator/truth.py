"""What are the nouns of the generator? True things, items that tell of them, and what is expected of the items.

Not here: any chance or any rendering.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# Changes whenever the same seed would give other bytes.
VERSION = "1"
TUNED = range(1, 51)
UNOPENED = range(1001, 1026)
NOISES = ("copies", "codes", "values", "all")


@dataclass(frozen=True)
class Thing:
    """One real thing of the patient: what items of it must be one fact with, and of others not. `substance` is what a
    drug, an allergen or a vaccine is (merging two of them is the worst miss); `about` holds what renderings need."""

    id: str
    kind: str
    concept: str
    when: datetime | None = None
    until: datetime | None = None
    substance: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Marks:
    """What of an item can be compared without a table: codes as written (`SCT|44054006`), names folded, identifiers;
    `unit` is that of its value or dose as written, in small letters. `noise` says what was done to it."""

    codes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    unit: str = ""
    noise: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One item of one document. `id` is `document:index`, `place` where it stands in the document's bytes as the engine
    names places (a JSON pointer, an XPath, a segment): statements from there or below are its own. `owner` is `self`,
    or `stranger` for another person's record; `set_aside` items must come into no fact."""

    id: str
    source: str
    document: int
    place: str
    reference: str
    kind: str
    truth: str
    marks: Marks
    owner: str = "self"
    set_aside: bool = False
    open: bool = False  # the design leaves open which fact holds it


@dataclass(frozen=True)
class Document:
    """One submission, in order. `body` are the bytes."""

    source: str
    format: str
    body: bytes


@dataclass(frozen=True)
class Clash:
    """A planted conflict: its `kinds` (any of them will do) and the items on both sides. Not `required` ones may be
    raised or not."""

    kinds: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    why: str
    required: bool = True


@dataclass(frozen=True)
class World:
    """A patient over several sources, with gold. `superseded` are the items that must be history (known, no longer
    members). `open_pairs` are pairs of truth ids that may be one fact or two. `doubted` are the sources that must be
    `identity in doubt`."""

    seed: str
    noise: str
    things: Mapping[str, Thing]
    documents: tuple[Document, ...]
    items: tuple[Item, ...]
    clashes: tuple[Clash, ...] = ()
    superseded: tuple[str, ...] = ()
    open_pairs: frozenset[tuple[str, str]] = frozenset()
    doubted: frozenset[str] = frozenset()


def fhir_document(source: str, entries: list[dict[str, Any]]) -> Document:
    """A collection bundle of these resources, in this order: index n is at /entry/n/resource."""
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": entry} for entry in entries]}
    return Document(source, "fhir/r4", json.dumps(bundle, ensure_ascii=False).encode())
