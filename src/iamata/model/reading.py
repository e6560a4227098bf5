"""What do browsing, reading, searching and explaining answer with?"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from iamata.model.attribution import Attribution
from iamata.model.context import Authority
from iamata.model.decision import Decision
from iamata.model.provenance import Place
from iamata.model.statement import Statement


class Format(StrEnum):
    """`narrative` is prose-like markdown with citations, `compact` one line per item, `structured` JSON."""

    NARRATIVE = "narrative"
    COMPACT = "compact"
    STRUCTURED = "structured"


class Node(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of a directory. `tokens` is what reading it whole in narrative form costs (0 for a directory whose
    files cost it); `items` how many facts, events, memories or documents it leads to."""

    name: str
    address: str
    directory: bool
    hint: str
    tokens: int
    items: int = 1


class Listing(msgspec.Struct, frozen=True):
    """A directory: its lines in the order of the tree, and the stamp it was read under."""

    address: str
    nodes: tuple[Node, ...]
    stamp: str


class Citation(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a bracket in a text stands for: the item's full id, who said it, and where it stands in which document."""

    handle: str
    item: str
    attribution: Attribution
    source: str
    document: str = ""
    place: str = ""
    date: str = ""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the tree, rendered. `tokens` is exact for `text`; `shortened` says that the budget left something out
    (the text then says so too, and is whole sentences)."""

    address: str
    format: Format
    text: str
    tokens: int
    shortened: bool
    citations: tuple[Citation, ...]
    stamp: str


class Hit(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One found item. `score` orders hits of one search and means nothing across searches."""

    item: str
    kind: str
    address: str
    title: str
    snippet: str
    score: float
    matched: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One sighting, for an explanation: the document's facts, the place, and the bytes there as text."""

    document: str
    media_type: str
    source: str
    received_at: str
    place: Place
    excerpt: str = ""


class Testimony(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement behind an item: what it says, who says so by which rule, and where that stands."""

    statement: Statement
    attribution: Attribution
    seen: tuple[Seen, ...]
    role: str = "member"  # member, or why it is history


class Explanation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why does this stand here? From an item down to the bytes."""

    item: str
    what: str
    address: str
    summary: str
    testimonies: tuple[Testimony, ...] = ()
    decisions: tuple[Decision, ...] = ()
    conflicts: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    quote: str = ""
    authority: Authority | None = None
