"""An agent loop over MCP: a scripted model that sees only what a model would see reconciles medicines in few calls."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import two_patients
from mcp.client import Client

from iamata import Engine
from iamata.interfaces import mcp
from iamata.language.tokens import token_counter

MOST_CALLS = 4
MOST_TOKENS = 2500


class Call(NamedTuple):
    tool: str
    given: dict[str, Any]


class ScriptedModel:
    """Answers each turn with a tool call or a final text, by the prompt and by what the tools have said so far. It
    follows what the prompt tells: a context for the task, then the proof of each line in conflict, then the answer."""

    def __init__(self, prompt: str, tools: set[str]) -> None:
        self._task = _only(r"task `(\w+)`", prompt)
        self._patient = _only(r"patient (\w+)\.", prompt)
        self._tools = tools
        self._waiting: list[str] | None = None
        self._conflicts: list[str] = []
        self._proofs: list[str] = []

    def next(self, seen: list[str]) -> Call | str:
        if not seen:
            return self._call("assemble_context", task=self._task, budget_tokens=800)
        if self._waiting is None:
            context = _only(r"explain `(ctx_\w+)\[n\]`", seen[-1])
            medicines = seen[-1].partition("## Medications\n")[2].partition("\n## ")[0]
            self._conflicts = [line for line in medicines.splitlines() if "⚠ conflict" in line]
            numbers = [number for line in self._conflicts for number in re.findall(r"\[(\d+)\]", line)]
            self._waiting = [f"{context}[{number}]" for number in numbers]
        else:
            self._proofs.append(seen[-1])
        if self._waiting:
            return self._call("explain", item=self._waiting.pop(0), task=self._task)
        authors = sorted({author for proof in self._proofs for author in re.findall(r"by ([\w .]+) \(", proof)})
        said = [quote for proof in self._proofs for quote in re.findall(r'as said: "([^"]+)"', proof)]
        return f"To clarify: {len(self._conflicts)}. Ordered by {', '.join(authors)}. Told: {'; '.join(said)}."

    def _call(self, tool: str, **given: Any) -> Call:
        assert tool in self._tools
        return Call(tool, {"patient_id": self._patient, **given})


def _only(pattern: str, text: str) -> str:
    (found,) = set(re.findall(pattern, text))
    return str(found)


def test_a_scripted_model_reconciles_medicines_in_few_calls_and_tokens() -> None:
    async def scene(engine: Engine) -> tuple[str, list[str], list[str]]:
        async with Client(mcp.create_server(engine, access=mcp.agent(patient="leo"))) as client:
            prompt = (await client.get_prompt("medication_reconciliation")).messages[0].content.text
            model = ScriptedModel(prompt, {tool.name for tool in (await client.list_tools()).tools})
            calls: list[str] = []
            seen: list[str] = []
            while True:
                turn = model.next(seen)
                if isinstance(turn, str):
                    said = {"session_id": "agent-1", "messages": [{"role": "assistant", "content": turn}]}
                    assert not (await client.call_tool("append_messages", said)).is_error
                    return turn, calls, seen
                calls.append(turn.tool)
                assert len(calls) <= MOST_CALLS
                result = await client.call_tool(turn.tool, turn.given)
                assert not result.is_error, result.content[0].text
                seen.append("\n".join(each.text for each in result.content))

    with Engine.open(":memory:") as engine:
        two_patients.fill(engine)
        answer, calls, seen = two_patients.run(scene, engine)
        assert calls == ["assemble_context", "explain", "explain"]
        assert sum(token_counter().count(text) for text in seen) <= MOST_TOKENS
        assert answer == ("To clarify: 1. Ordered by Dr Ames. Told: We stopped the amoxicillin on Thursday.")
        assert two_patients.CANARY not in answer + "".join(seen)
        (kept,) = engine.session("leo", "agent-1").messages
        assert (kept.turn.speaker.value, kept.turn.text) == ("agent", answer)
        # What the agent itself said is no testimony of the patient's.
        assert not [m for m in engine.graph("leo").memories.values() if m.session == "agent-1"]
