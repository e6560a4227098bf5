"""Which tools does an agent get of one patient, and what comes of a call? The caller binds, the model cannot.

The tools are those of MCP (`interfaces.mcp.tools`), without the argument that names the patient. How a framework wants
them described and called is for the module of that framework.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from iamata.errors import BadInput, NotAllowed
from iamata.interfaces.mcp import arguments, offering
from iamata.interfaces.mcp.arguments import JsonSchema
from iamata.interfaces.mcp.offering import Outcome
from iamata.model.access import Access
from iamata.model.scope import Subject, patient

if TYPE_CHECKING:
    from iamata.engine import Engine

__all__ = ["Function", "Outcome", "Toolbox"]

_PATIENT: Final = "patient_id"


class Function(NamedTuple):
    """A tool as a language model reads it; `schema` is the JSON Schema of its arguments, none of them the patient."""

    name: str
    title: str
    description: str
    schema: JsonSchema
    writes: bool


class Toolbox:
    """The tools over one engine for one principal and one patient. For the tools no other patient exists, whatever
    argument, address or citation is sent. Thread-safe as the engine is, which stays the caller's to close."""

    def __init__(self, engine: Engine, patient: str, *, access: Access, only: Collection[str] | None = None) -> None:
        """`only` names the tools that are offered; None: all that the principal may call. The patient need not be
        registered yet: calls then fail as for one that does not exist.

        Raises NotAllowed where `access` is limited to other patients, InvalidValue for an id that no patient can have,
        BadInput for a tool in `only` that this principal is not offered.
        """
        self.engine: Final = engine
        self.access: Final = _narrowed(access, patient)
        self.patient: Final = patient
        offered = offering.tools(self.access)
        if only is not None and not set(only) <= offered.keys():
            raise BadInput(f"there is no such tool; there are {', '.join(offered)}", place="only")
        self._tools = {name: tool for name, tool in offered.items() if only is None or name in only}

    @property
    def subject(self) -> Subject:
        """The patient as a subject."""
        return patient(self.patient)

    @property
    def functions(self) -> tuple[Function, ...]:
        """The tools, in the order of MCP's."""
        return tuple(
            Function(each.name, each.title, each.description, _schema(each.shape, self.patient), each.writes)
            for each in self._tools.values()
        )

    def call(self, name: str, given: Mapping[str, Any]) -> Outcome:
        """Call a tool with the arguments that a model gave. Raises nothing: a failure is an outcome, in words that are
        meant for the model and hold nothing that was sent."""
        tool = self._tools.get(name)
        if tool is None:
            return self.refused(f"there is no such tool; there are {', '.join(self._tools)}")
        if _PATIENT in given:
            return self.refused("the patient is given; it is no argument of this tool")
        return offering.outcome(tool, self.engine, self.access, given)

    def refused(self, why: str) -> Outcome:
        """The outcome of a call that cannot be made."""
        return offering.refused(BadInput(why))


def _narrowed(access: Access, id: str) -> Access:
    """The same principal, for whom there is this patient alone. It never opens what was closed."""
    patient(id)
    if access.patients is None:
        # An issuer that named no patient does not answer for the one that is chosen here.
        return msgspec.structs.replace(access, patients=frozenset({id}), launch=False)
    if id not in access.patients:
        raise NotAllowed("the principal is limited to other patients", reasons=("no-relation-to-patient",))
    return msgspec.structs.replace(access, patients=frozenset({id}))


def _schema(shape: type[msgspec.Struct], id: str) -> JsonSchema:
    found = arguments.schema(shape, bound=id)
    found["properties"].pop(_PATIENT, None)
    return found
