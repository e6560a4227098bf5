"""On whose behalf, and for what purpose, does a read or write happen? Every door into the engine takes this value."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from iamata.model.statement import Label


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


class Access(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who acts. `patients` limits which patients exist for this principal (None: all); `withheld` are the labels whose
    statements it may not see. A statement with a withheld label does not exist for this reader. `known_as` are the
    references by which records and consents call this principal (`Practitioner/13`). Of the roles `owner` sees
    everything, and so does who acts `for_owner`; `self` is the patient, `proxy` somebody who acts for the patient."""

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

    @classmethod
    def local(cls) -> Access:
        """The person at this machine: the embedded default, sees everything. Never beyond loopback."""
        return cls(kind=PrincipalKind.OPERATOR, id="local", roles=("owner",))
