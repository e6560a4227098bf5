"""One request in the Anthropic wire format: messages, with a tool whose input is the answer.

The library makes the request and its errors; what came back is read here, strictly: it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from iamata.errors import Unavailable
from iamata.language.connection import MISSING, http_client
from iamata.language.reply import Failed, Reply, quiet
from iamata.language.servers import ModelServer
from iamata.ports import AnswerOutcome, Question

if TYPE_CHECKING:
    from anthropic import Anthropic

_HEADERS: Final = frozenset({"anthropic-version"})
_KEY_HEADERS: Final = frozenset({"authorization", "x-api-key"})


class _Block(msgspec.Struct):
    type: str
    name: str = ""
    input: msgspec.Raw = msgspec.Raw()
    text: str = ""


class _Message(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None


class AnthropicWire:
    """One server that speaks it. Raises Unavailable when the library is missing."""

    def __init__(self, server: ModelServer, *, monotonic: Callable[[], float]) -> None:
        try:
            import anthropic
        except ImportError:
            raise Unavailable(MISSING) from None
        self._server = server
        self._errors: Any = anthropic
        self._client: Anthropic = anthropic.Anthropic(
            api_key=server.key or "none",
            base_url=server.url,
            max_retries=0,
            open_telemetry=False,
            http_client=http_client(
                server, headers=_HEADERS | (_KEY_HEADERS if server.key else frozenset()), monotonic=monotonic
            ),
        )
        self._ask = self._client.messages.with_raw_response.create
        quiet("anthropic")

    def once(self, question: Question, timeout_s: float) -> Reply:
        """What came of one request. Raises Failed for what is no answer of a model."""
        try:
            response = self._ask(
                model=self._server.name,
                max_tokens=question.most_tokens,
                system=question.instructions,
                messages=[{"role": "user", "content": question.material}],
                tools=[{"name": question.name, "description": "Gives the answer.", "input_schema": question.schema}],
                tool_choice={"type": "tool", "name": question.name},
                timeout=timeout_s,
            )
            body = response.http_response.read()
        except Exception as error:  # a library may meet what it does not expect
            raise Failed.of(error, self._errors) from None
        return _read(body, question.name)


def _read(body: bytes, tool: str) -> Reply:
    try:
        message = msgspec.json.decode(body, type=_Message)
    except (msgspec.DecodeError, RecursionError):
        return Reply(AnswerOutcome.MALFORMED)
    served = message.model or ""
    if message.stop_reason == "refusal":
        return Reply(AnswerOutcome.REFUSED, served=served)
    if message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        return Reply(AnswerOutcome.TRUNCATED, served=served)
    for block in message.content:
        if block.type == "tool_use" and block.name == tool and bytes(block.input):
            return Reply(AnswerOutcome.ANSWERED, bytes(block.input), served)
    return Reply.of_text("".join(block.text for block in message.content if block.type == "text"), served)
