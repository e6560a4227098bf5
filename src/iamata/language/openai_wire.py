"""One request in the OpenAI-compatible wire format: chat completions with a JSON Schema for the answer.

The library makes the request and its errors; what came back is read here, strictly: it may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from iamata.errors import Unavailable
from iamata.language.connection import MISSING, http_client
from iamata.language.reply import Failed, Reply, quiet
from iamata.language.servers import BASE_URLS, ModelServer
from iamata.ports import AnswerOutcome, Question

if TYPE_CHECKING:
    from openai import OpenAI

_HEADERS: Final = frozenset({"authorization"})


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None


class OpenAIWire:
    """One server that speaks it. Raises Unavailable when the library is missing."""

    def __init__(self, server: ModelServer, *, monotonic: Callable[[], float]) -> None:
        try:
            import openai
        except ImportError:
            raise Unavailable(MISSING) from None
        self._server = server
        self._errors: Any = openai
        self._client: OpenAI = openai.OpenAI(
            api_key=server.key or "none",
            base_url=server.url,
            max_retries=0,
            http_client=http_client(server, headers=_HEADERS if server.key else frozenset(), monotonic=monotonic),
        )
        self._ask = self._client.chat.completions.with_raw_response.create
        quiet("openai")

    def once(self, question: Question, timeout_s: float) -> Reply:
        """What came of one request. Raises Failed for what is no answer of a model."""
        try:
            response = self._ask(
                model=self._server.name,
                messages=[
                    {"role": "system", "content": self._instructions(question)},
                    {"role": "user", "content": question.material},
                ],
                **self._bounds(question.most_tokens),
                response_format=self._format(question),
                timeout=timeout_s,
            )
            body = response.http_response.read()
        except Exception as error:  # a library may meet what it does not expect
            raise Failed.of(error, self._errors) from None
        return _read(body)

    def _instructions(self, question: Question) -> str:
        if self._server.shape == "json_schema":
            return question.instructions
        schema = msgspec.json.encode(question.schema).decode()
        return f"{question.instructions}\nAnswer with one JSON object of this JSON Schema: {schema}"

    def _format(self, question: Question) -> Any:
        if self._server.shape == "json_object":
            return {"type": "json_object", "schema": question.schema}
        shape = {"name": question.name, "schema": question.schema, "strict": True}
        return {"type": "json_schema", "json_schema": shape}

    def _bounds(self, most_tokens: int) -> dict[str, Any]:
        """At home the older name of the bound is refused for newer models, and so is a temperature; elsewhere many
        servers know only the older name."""
        if self._server.url == BASE_URLS["openai"]:
            return {"max_completion_tokens": most_tokens}
        return {"max_tokens": most_tokens, "temperature": 0}


def _read(body: bytes) -> Reply:
    try:
        completion = msgspec.json.decode(body, type=_Completion)
    except (msgspec.DecodeError, RecursionError):
        return Reply(AnswerOutcome.MALFORMED)
    if not completion.choices:
        return Reply(AnswerOutcome.MALFORMED, served=completion.model or "")
    choice = completion.choices[0]
    served = completion.model or ""
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return Reply(AnswerOutcome.REFUSED, served=served)
    if choice.finish_reason == "length":
        return Reply(AnswerOutcome.TRUNCATED, served=served)
    return Reply.of_text(choice.message.content, served)
