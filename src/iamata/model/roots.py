"""By which name is a thing recognised that left as an export and comes back? Its root: a hash of what was first said.

A root is installation-independent: it is made of content, of the source and of the record's own identity there, never
of keys or ids of ours. A copy of a copy keeps the roots of the first.
"""

from __future__ import annotations

from typing import Final

from iamata.model.identifiers import canonical_bytes, content_digest
from iamata.model.memory import Memory
from iamata.model.statement import Statement

# The system of the identifiers that carry roots in exported FHIR resources.
ROOT_SYSTEM: Final = "urn:iamata:root"
# The system of `meta.tag` in exported FHIR resources, and its codes.
EXPORT_TAG: Final = "urn:iamata:export"
RECORD_TAG: Final = "record"  # carries roots: what sources or speakers said, resolved
ASSEMBLED_TAG: Final = "assembled"  # made for the export (conflicts, compositions, outcomes): nobody's statement

# How the engine is named where an export says something of its own.
ENGINE: Final = "iamata"


def copied(statement: Statement) -> frozenset[str]:
    """The roots that its record names as an identifier: of what it is a copy. Empty for what is said here first."""
    return frozenset(each.value for each in statement.identifiers if each.system == ROOT_SYSTEM)


def roots_of(statement: Statement) -> frozenset[str]:
    """Those it names as a copy, else its own."""
    return copied(statement) or frozenset((statement.digest,))


def root_of_memory(memory: Memory) -> str:
    """Of what was said, by what sort of speaker and when; not of the session, which only this installation knows."""
    said_at = memory.said_at.isoformat() if memory.said_at else ""
    content = (memory.quote, memory.kind, memory.concept.display, memory.polarity, memory.experiencer)
    return content_digest("memory", canonical_bytes(content), memory.attribution.author.role, said_at)
