"""What is held of one patient, and what it comes to for one reader at one moment."""

from __future__ import annotations

import msgspec

from iamata.model.attribution import Attribution
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.decision import Decision
from iamata.model.document import Document
from iamata.model.entry import Entry
from iamata.model.fact import Fact
from iamata.model.link import Link, LinkType
from iamata.model.memory import Memory, Relearning
from iamata.model.model_answers import Adjudication, ModelReading
from iamata.model.passage import Passage
from iamata.model.provenance import SourceKind
from iamata.model.ruling import Ruling
from iamata.model.scope import Subject
from iamata.model.session import Session
from iamata.model.sighting import Rereading, Retraction, Sighting
from iamata.model.stamp import Moment
from iamata.model.statement import Reference, Statement


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Everything stored of one patient: the set that the fold is a function of. Orders carry no meaning, but for the
    messages of a session. `version` counts accepted changes, `sequence` is the submission that brought the last item;
    `sources` says what sort of system each source is.

    `statements`, `passages` and `sightings` are as first read; what became of them since is in `rereadings`, by number.
    So are `memories`, and `relearnings`. `erasures` counts how often something of the patient was erased.
    """

    subject: Subject
    version: int = 0
    sequence: int = 0
    statements: tuple[Statement, ...] = ()
    passages: tuple[Passage, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    documents: tuple[Document, ...] = ()
    sessions: tuple[Session, ...] = ()
    memories: tuple[Memory, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    retractions: tuple[Retraction, ...] = ()
    rereadings: tuple[Rereading, ...] = ()
    adjudications: tuple[Adjudication, ...] = ()
    readings: tuple[ModelReading, ...] = ()
    relearnings: tuple[Relearning, ...] = ()
    sources: tuple[tuple[str, SourceKind], ...] = ()
    erasures: int = 0
    entries: tuple[Entry, ...] = ()  # what agents inferred, every version; no part of what is folded

    @property
    def ever_learned(self) -> tuple[Memory, ...]:
        """Every content of every memory, also of one that was learned otherwise since, or is found no more."""
        return (*self.memories, *(memory for again in self.relearnings for memory in again.memories))


class Unresolved(msgspec.Struct, frozen=True, order=True, gc=False):
    """A reference that leads nowhere in what its source has sent so far."""

    statement: str
    element: str
    reference: str


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """One patient's graph for one reader at one moment: what this reader may see, folded. Treat it as frozen whole.

    `facts` holds facts and events, sorted by id; `fact_of` maps every statement id to the fact that holds it now
    (members and history). `statements` holds only what is visible and known at the moment. `hash` is canonical over
    the content of facts, memories and links, not over ids: two patients with the same content have the same hash.
    """

    subject: Subject
    version: int
    moment: Moment
    hash: str
    statements: dict[str, Statement]
    passages: dict[str, Passage]
    sightings: dict[str, tuple[Sighting, ...]]
    documents: dict[str, Document]
    sessions: dict[str, Session]
    memories: dict[str, Memory]
    attributions: dict[str, Attribution]
    facts: dict[str, Fact]
    fact_of: dict[str, str]
    links: dict[str, Link]
    conflicts: dict[str, Conflict]
    decisions: dict[str, Decision]
    unresolved: tuple[Unresolved, ...]
    hidden: dict[str, str] = {}  # memory id → the ruling that refused or hid it
    references: dict[str, tuple[tuple[Reference, str], ...]]  # statement id → (reference as sent, statement id found)

    def spoken_conflicts(self) -> list[Conflict]:
        """The conflicts of a memory with a fact, by link id, which is their id: the record on one side, the quote on
        the other."""
        found = []
        for link in self.links.values():
            memory, fact = self.memories.get(link.origin), self.resolve(link.target)
            if link.type is LinkType.CONFLICTS and memory is not None and fact is not None:
                sides = (Side(f"{fact.display}, {fact.standing}", fact.members), Side(memory.quote, (memory.id,)))
                kind = ConflictKind(link.conflict_kind or ConflictKind.EXISTENCE)
                found.append(Conflict(link.id, kind, fact.id, "said", sides, link.rule))
        return sorted(found, key=lambda conflict: conflict.id)

    def resolve(self, id: str) -> Fact | None:
        """The fact with this id, or the one that now holds this member (`st_x`, a former `fa_x`), or None."""
        fact = self.facts.get(id)
        if fact is None:
            fact = self.facts.get(self.fact_of.get("st_" + id.partition("_")[2], ""))
        return fact
