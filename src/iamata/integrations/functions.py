"""How are the tools described and called in OpenAI's form? Plain dictionaries, for any loop that speaks it.

Two shapes: `chat_` as Chat Completions has it (and the many servers that copy it), `responses_` as Responses has it. No
library is needed, and none is asked for; asking a model is the loop's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from iamata.integrations.toolbox import Toolbox

Json = dict[str, Any]


def chat_tools(box: Toolbox) -> list[Json]:
    """What goes into `tools` of a request of Chat Completions."""
    return [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": each.schema},
        }
        for each in box.functions
    ]


def chat_answers(box: Toolbox, calls: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The messages that answer the `tool_calls` of a message, each in its place. A call that cannot be read or fails is
    answered so that the model can mend it; nothing is raised for it."""
    answers = []
    for call in calls:
        function = call["function"]
        text = _called(box, function["name"], function["arguments"])
        answers.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    return answers


def responses_tools(box: Toolbox) -> list[Json]:
    """What goes into `tools` of a request of Responses. Not `strict`, because arguments here have defaults."""
    return [
        {
            "type": "function",
            "name": each.name,
            "description": each.description,
            "parameters": each.schema,
            "strict": False,
        }
        for each in box.functions
    ]


def responses_answers(box: Toolbox, output: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The items that answer the calls among the items of an `output`, in their order; other items are passed over."""
    return [
        {
            "type": "function_call_output",
            "call_id": item["call_id"],
            "output": _called(box, item["name"], item["arguments"]),
        }
        for item in output
        if item.get("type") == "function_call"
    ]


def _called(box: Toolbox, name: str, arguments: str) -> str:
    try:
        given = msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return box.refused("the arguments are not a JSON object").text
    return box.call(name, given).text
