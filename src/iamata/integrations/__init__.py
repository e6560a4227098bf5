"""How does an agent framework use an engine in the same process? By a `Toolbox`: one principal, one patient.

`toolbox` what is bound and called · `functions` OpenAI's form, for any loop · `langchain`, `pydantic_ai` their tools,
each an extra that its module asks for when it is imported. Which tools there are, and what they say, is for
`interfaces.mcp`; a framework that speaks MCP needs nothing of this.
"""

from iamata.integrations.toolbox import Toolbox
from iamata.interfaces.mcp import agent

__all__ = ["Toolbox", "agent"]
