"""Where a piece of information came from: system, record, document, and the place in its bytes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from iamata.errors import InvalidValue
from iamata.model.coding import BusinessIdentifier

# What the reader of a mention begins with: the extractor of texts and its version (`offline/1`).
EXTRACTOR: Final = "offline/"


class SourceKind(StrEnum):
    """What sort of system a source is; decides the default author of what it sends without one."""

    EHR = "ehr"
    LAB = "lab"
    PHARMACY = "pharmacy"
    PAYER = "payer"
    PATIENT_APP = "patient_app"
    CONVERSATION = "conversation"


class RecordIdentity(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The item's own identity in its source, as sent.

    `reference` is `Type/id` (or the contained form `Type/id#x`), `url` its full URL (absolute or `urn:uuid:`) if it has
    no reference (else the sightings say what it was called), `version` its version there. All empty for an item that
    names itself nowhere: then its content is its identity.
    """

    type: str
    reference: str = ""
    url: str = ""
    version: str = ""
    updated: str = ""
    identifiers: tuple[BusinessIdentifier, ...] = ()

    @property
    def key(self) -> str:
        """What tells this record from others of its source: its reference, else its URL, else empty."""
        return self.reference or self.url


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a statement came from. The document and the place in it belong to each sighting.

    `source` names the system of record, `reader` the connector and its version (`fhir-r4/1`).
    """

    source: str
    reader: str
    record: RecordIdentity

    def __post_init__(self) -> None:
        if not self.source or not self.reader:
            raise InvalidValue("provenance names its source and its reader")


class Place(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
    """A place in a document's bytes: a JSON pointer, XPath or segment.field, and a span of characters in a text."""

    pointer: str
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        if (self.start is None) != (self.end is None) or (self.start or 0) > (self.end or 0):
            raise InvalidValue("a span has a start and an end, in this order")

    def __str__(self) -> str:
        return self.pointer if self.start is None else f"{self.pointer} [{self.start}:{self.end}]"
