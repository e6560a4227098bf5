"""How does an agent of pydantic-ai use the tools of one patient? As a toolset, over the extra `iamata[pydantic-ai]`.

Which tools there are is for `toolbox`. What instrumentation does with what it sees is the caller's to decide; nothing
is sent from here.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from iamata.errors import Unavailable
from iamata.integrations.toolbox import Toolbox

try:
    from pydantic_ai import RunContext, ToolReturn
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset
    from pydantic_ai.toolsets.abstract import ToolsetTool
    from pydantic_core import SchemaValidator, core_schema
except ModuleNotFoundError:
    raise Unavailable("pydantic-ai is not installed: pip install 'iamata[pydantic-ai]'") from None

__all__ = ["PatientToolset"]

# That it is an object; what is in it is read where the tool is, whose words the model can mend it by.
_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


class PatientToolset(AbstractToolset[Any]):
    """The tools of a toolbox. A tool returns its text, with the same as JSON in the metadata that the model is not
    sent; a failed call is told to the model and uses up no retry."""

    def __init__(self, box: Toolbox, *, id: str | None = None) -> None:
        """`id` tells this toolset from others of one agent, where that is needed."""
        self._box = box
        self._id = id

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools by name, in the order of MCP's."""
        return {
            each.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=each.name,
                    description=each.description,
                    parameters_json_schema=each.schema,
                    strict=False,
                    metadata={"title": each.title, "writes": each.writes},
                ),
                max_retries=1,
                args_validator=_OBJECT,
            )
            for each in self._box.functions
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> ToolReturn:
        """Waits for the engine in a thread."""
        made = await asyncio.to_thread(self._box.call, name, tool_args)
        if made.failed:
            raise ToolFailed(made.text)
        return ToolReturn(made.text, metadata=made.structured)
