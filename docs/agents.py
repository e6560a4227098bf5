"""What does the page on MCP say? Tools, arguments, resources and prompts, from the code; `generate` writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from iamata.interfaces.mcp import prompts, resources
from iamata.interfaces.mcp.arguments import Message, schema
from iamata.interfaces.mcp.tools import TOOLS

Table = Callable[[Sequence[str], Sequence[Sequence[object]]], str]
Kind = Callable[[Mapping[str, Any]], str]

_BEGIN = """\
# MCP

For agents, over the official SDK: `pip install 'iamata[mcp]'`. `iamata mcp` speaks on standard input and output, for an
agent that starts it; with `--patient ID` no other patient exists for it, and tools need not name the patient.
`iamata serve` speaks streamable HTTP at `/mcp`, behind the same door as its other routes, and keeps nothing between
requests. The caller is an agent on behalf of the person at this machine; the audit log names it.

```json
{"mcpServers": {"iamata": {"command": "iamata", "args": ["mcp", "--db", "/path/to/iamata.db", "--patient", "leo"]}}}
```

Each answer is text for the agent and the same as JSON (`structuredContent`), shaped as [HTTP](http.md) has it. The text
is bounded by a token budget, exactly counted, or by a limit; the JSON is longer and meant for programs. An error is a
tool error, `{"type", "message"}` and `details` where there are any, with the types of [HTTP](http.md#problems). Calls
are not recorded beside a session: `session_id` names one only where it is an argument.
"""


def page(table: Table, kind: Kind) -> str:
    """The page without its header; `table` writes a table, `kind` names the type of a field."""
    head = ("argument", "type", "default", "meaning")
    made = [_BEGIN, "## Tools", ""]
    made += [table(("tool", "what it is for"), [(f"[`{t.name}`](#{t.name})", t.title) for t in TOOLS])]
    for tool in TOOLS:
        made += ["", f"### `{tool.name}`", "", tool.description, ""]
        made += [table(head, list(_fields(schema(tool.shape, bound=None), kind))), "", f"Returns: {tool.returns}"]
        if tool.writes:
            made += ["", "It writes. Each of its `messages`:", ""]
            made += [table(("field", *head[1:]), list(_fields(schema(Message, bound=None), kind)))]
    made += ["", "## Resources", "", "Every address of the tree; the list holds the index of each patient.", ""]
    made += [table(("template", "what"), [(f"`{r.uri}`", r.description) for r in resources.templates(None)])]
    made += ["", "## Prompts", "", "Each takes `patient_id`, which a bound server does not need.", ""]
    made += [table(("prompt", "what"), [(f"`{p.name}`", p.description) for p in prompts.PROMPTS])]
    return "\n".join([*made, ""])


def _fields(of: Mapping[str, Any], kind: Kind) -> Iterable[tuple[str, str, str, str]]:
    needed = of.get("required", ())
    for name, field in of["properties"].items():
        default = "required" if name in needed else f"`{json.dumps(field.get('default'))}`"
        yield f"`{name}`", kind(field), default, field.get("description", "")
