"""Which tools is a principal offered, and what comes of a call? Whoever speaks to the agent hands it on as it is.

Knows no protocol, so that the same tools are offered without MCP's. Errors of ours come back by their type and message;
of any other only where it happened is logged.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iamata.engine.beside import gathering, tell
from iamata.errors import Bug, IamataError
from iamata.interfaces.mcp.tools import TOOLS, Tool
from iamata.interfaces.wire import failures
from iamata.interfaces.wire.values import Json
from iamata.model.access import Access

if TYPE_CHECKING:
    from iamata.engine import Engine

log = logging.getLogger("iamata.mcp")

_FAULT: Final = "a fault in iamata; please report it"


class Outcome(NamedTuple):
    """What came of a call: texts for the agent in their order, the same as JSON, and whether it failed (the JSON is
    then the problem: `type`, `message`, `details`)."""

    texts: tuple[str, ...]
    structured: Json
    failed: bool = False

    @property
    def text(self) -> str:
        """The texts as one."""
        return "\n".join(self.texts)


def bound(access: Access) -> str | None:
    """The one patient there is for this principal, if there is only one."""
    return next(iter(access.patients)) if access.patients is not None and len(access.patients) == 1 else None


def tools(access: Access) -> dict[str, Tool[Any]]:
    """The tools by name, in their order; none that writes for somebody who may not."""
    return {tool.name: tool for tool in TOOLS if access.may_write or not tool.writes}


def outcome(tool: Tool[Any], engine: Engine, access: Access, given: Mapping[str, Any]) -> Outcome:
    """Call it. Raises nothing: a failure is an outcome. What must be read beside the answer stands after it, and
    whoever gathers outside (the HTTP door) is told too."""
    try:
        with gathering() as warnings:
            answer = tool.answer(engine, access, dict(given), bound=bound(access))
        for each in warnings:
            tell(each)
    except Exception as error:
        return refused(error)
    beside = [answer.note] if answer.note else []
    return Outcome((answer.text, *beside, *(f"⚠ {each}" for each in warnings)), answer.structured)


def refused(error: Exception) -> Outcome:
    """The outcome of a call that ended in this error."""
    said = problem(error)
    return Outcome((f"{said['type']}: {said['message']}",), said, failed=True)


def problem(error: Exception) -> Json:
    """`type`, `message` and `details` of an error; of an unforeseen one it is only logged where it happened."""
    if isinstance(error, IamataError) and not isinstance(error, Bug):
        said: Json = {"type": failures.type_of(error), "message": failures.message(error)}
        more = list(failures.details(error))
        return said | ({"details": more} if more else {})
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    where = " < ".join(f"{Path(each.filename).stem}.{each.name}:{each.lineno}" for each in reversed(frames))
    log.error("a call failed: %s at %s", type(error).__name__, where)
    return {"type": "INTERNAL", "message": _FAULT}
