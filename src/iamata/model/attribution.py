"""Who wrote or said it: the evidence as the source sent it, and the attribution resolved from it.

Evidence is part of a statement and never changes. Attribution is worked out in the fold from that evidence and from
everything else the same source has said about persons and provenance, so it is not stored with the statement.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from iamata.errors import InvalidValue

# So begins the element of evidence that an item does not carry itself: it stands in the document that holds it.
ENCLOSING: Final = "document/"


class AttributionKind(StrEnum):
    """About the author, never about the system that stored or sent it."""

    SYSTEM = "system-reported"
    USER = "user-reported"
    AGENT = "agent-reported"
    # Not a column of the model: the standard forbids an inference (a QuestionnaireResponse without `source`).
    UNDETERMINED = "undetermined"


class Role(StrEnum):
    """In what capacity the author speaks."""

    PATIENT = "patient"
    PROXY = "proxy"
    CLINICIAN = "clinician"
    COORDINATOR = "coordinator"
    PHARMACY = "pharmacy"
    LAB = "lab"
    INSTRUMENT = "instrument"
    PAYER = "payer"
    INSTITUTION = "institution"
    STAFF = "staff"
    OPERATOR = "operator"
    AGENT = "agent"
    SOFTWARE = "software"
    UNKNOWN = "unknown"


class Directness(StrEnum):
    """How far the author is from what is asserted."""

    FIRST_HAND = "first-hand"
    PROXY = "proxy"
    SECOND_HAND = "second-hand"
    UNKNOWN = "unknown"


class Certainty(StrEnum):
    """How it is known: the source states it, it follows from a flag, or it is the source kind's default."""

    STATED = "stated"
    INFERRED = "inferred"
    ASSUMED = "assumed"


class Part(StrEnum):
    """What an element says about authorship. An informant is the source of the information (S in the design)."""

    AUTHOR = "author"
    INFORMANT = "informant"  # S: the source of the information
    PERFORMER = "performer"
    RECORDER = "recorder"
    ENTERER = "enterer"
    VERIFIER = "verifier"
    TRANSMITTER = "transmitter"
    CUSTODIAN = "custodian"
    INSTRUMENT = "instrument"
    ON_BEHALF_OF = "on-behalf-of"
    LABEL = "label"  # an integrity label
    FLAG = "flag"  # a boolean or code that hints at the author
    SPEAKER = "speaker"
    NONE = "none"  # the item has no authorship element at all; its source's default decides


class AuthorshipEvidence(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One element that bears on who the author is, exactly as sent.

    `element` is the element's path inside its item (`asserter`, `agent/0/who`), and begins with `document/` where a
    passage only inherits it from its document; `reference` a reference as sent; `type` the type of its target if the
    source states it; `identifier` a `system|value`; `value` the code or boolean of a flag or label (`true`, `PATAST`,
    `patientspecified`), of a person in a free document the capacity that words name (`staff`, `payer`).
    """

    part: Part
    element: str
    reference: str = ""
    type: str = ""
    identifier: str = ""
    display: str = ""
    value: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        if not self.element:
            raise InvalidValue("authorship evidence names its element")

    @property
    def inherited(self) -> bool:
        """Does it stand in what holds the item, not in the item?"""
        return self.element.startswith(ENCLOSING)


class Author(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A person, institution, instrument or agent. `reference` and `display` are as the source gave them."""

    role: Role
    reference: str = ""
    display: str = ""


class Attribution(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Who wrote or said it, why we think so, and who else had a hand in it.

    `rule` is the id of the rule that decided (docs/reference/attribution.md lists them), `because` the element and
    value it read (`asserter=RelatedPerson/mom`). Transmitter and custodian are provenance and never the author.
    """

    kind: AttributionKind
    author: Author
    rule: str
    because: str = ""
    directness: Directness = Directness.UNKNOWN
    certainty: Certainty = Certainty.STATED
    informant: Author | None = None
    recorder: Author | None = None
    performer: Author | None = None
    verifier: Author | None = None
    transmitter: Author | None = None
    custodian: Author | None = None
    instrument: Author | None = None
    on_behalf_of: Author | None = None

    def __post_init__(self) -> None:
        if not self.rule:
            raise InvalidValue("an attribution names the rule that decided it")
