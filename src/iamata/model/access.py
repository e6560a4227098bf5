"""On whose behalf, and for what purpose, does a read or write happen? Every door into the engine takes this value."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from iamata.model.statement import Kind, Label


class PrincipalKind(StrEnum):
    OPERATOR = "operator"
    AGENT = "agent"
    SYSTEM = "system"


class Purpose(StrEnum):
    """HL7 v3 PurposeOfUse, the ones that policy knows."""

    TREATMENT = "TREAT"
    PAYMENT = "HPAYMT"
    OPERATIONS = "HOPERAT"
    PATIENT_REQUEST = "PATRQT"


class Seen(msgspec.Struct, frozen=True, order=True):
    """One kind of statement that a token opens, as far as it came as this FHIR resource or in no FHIR resource; with
    `category` only what has a category of this code (`code`, or `system|code`)."""

    kind: Kind
    resource: str
    category: str = ""


class Access(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who acts. `patients` limits which patients exist for this principal (None: all); `withheld` are the labels whose
    statements it may not see. A statement with a withheld label does not exist for this reader. `known_as` are the
    references by which records and consents call this principal (`Practitioner/13`). Of the roles `owner` sees
    everything, and so does who acts `for_owner`; `self` is the patient, `proxy` somebody who acts for the patient.

    With `by_relation` a patient exists only by what policy says of the roles and of the relations held as data; without
    it whoever made this value answers for the patients (a program that embeds the engine). `launch`: the issuer of the
    token answers for `patients`, to which it bound it. `seen` are the kinds of
    statement that exist for the reader (None: all, and talk and whole documents with them). `relations` are filled by
    the engine's door for the patient at hand, whatever was given; `client` is the program that the token was given to.
    """

    kind: PrincipalKind
    id: str
    on_behalf_of: str = ""
    roles: tuple[str, ...] = ()
    purpose: Purpose = Purpose.TREATMENT
    patients: frozenset[str] | None = None
    withheld: frozenset[Label] = frozenset()
    may_write: bool = True
    known_as: frozenset[str] = frozenset()
    for_owner: bool = False
    # what a token says, and what is held of the principal
    by_relation: bool = False
    launch: bool = False
    may_read: bool = True
    seen: frozenset[Seen] | None = None
    client: str = ""
    relations: tuple[str, ...] = ()

    @classmethod
    def local(cls) -> Access:
        """The person at this machine: the embedded default, sees everything. Never beyond loopback."""
        return cls(kind=PrincipalKind.OPERATOR, id="local", roles=("owner",))

    @property
    def person(self) -> str:
        """The operator behind it, `operator/dr-lee`: of an agent the one it acts for; of a system the system itself."""
        if self.kind is PrincipalKind.AGENT:
            return f"{PrincipalKind.OPERATOR}/{self.on_behalf_of}" if self.on_behalf_of else f"{self.kind}/{self.id}"
        return f"{self.kind}/{self.id}"
