"""What does a consent permit and deny? Its base and the provisions that are exceptions to it, as its source wrote them.

A consent is a statement like any other; this is what its field `provisions` holds. What it decides for a reader is
`policy.consent`.
"""

from __future__ import annotations

import msgspec

from iamata.model.statement import Label

# The field of a statement that holds its `ConsentRules`, as JSON.
RULES_FIELD = "provisions"


class Within(msgspec.Struct, frozen=True, omit_defaults=True):
    """A period as sent: ISO 8601 texts of any precision, empty where it is open."""

    start: str = ""
    end: str = ""

    def __bool__(self) -> bool:
        return bool(self.start or self.end)


class Named(msgspec.Struct, frozen=True, omit_defaults=True):
    """Somebody or something that a provision names: `role` or `meaning` as a code, the reference as sent."""

    role: str = ""
    reference: str = ""


class Provision(msgspec.Struct, frozen=True, omit_defaults=True):
    """One exception to what is around it, for what meets all that it names; empty lists name nothing.

    `type` is `permit`, `deny` or empty as sent. `classes` are types of resources or documents, `purposes` and `actions`
    codes. `unknown` says that it names something that we do not understand (an extension, an expression).
    """

    type: str = ""
    period: Within = Within()
    actors: tuple[Named, ...] = ()
    actions: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    purposes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    codes: tuple[Label, ...] = ()
    data_period: Within = Within()
    data: tuple[Named, ...] = ()
    unknown: bool = False
    nested: tuple[Provision, ...] = ()

    @property
    def names_only_time(self) -> bool:
        """Does it name nothing but a period, and hold nothing?"""
        return self == Provision(period=self.period)


class ConsentRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """`base` is `permit` or `deny`; `privacy` whether the consent is about privacy at all; `period` when it is in
    force; `grantors` who gave it, as sent and sorted."""

    base: str = "deny"
    privacy: bool = False
    period: Within = Within()
    grantors: tuple[str, ...] = ()
    provisions: tuple[Provision, ...] = ()
