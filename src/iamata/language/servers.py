"""Which language model may be asked, where, and within which limits? Configuration, checked when made.

Not here: any call.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from iamata.destinations import check_base_url
from iamata.errors import InvalidValue

Wire = Literal["openai", "anthropic"]
# How a server of the OpenAI-compatible format is held to the shape of an answer: by a JSON Schema, as the format has
# it, or by the older "some JSON object", beside which some servers take a schema too.
Shape = Literal["json_schema", "json_object"]
# Where the two wire formats are at home; any other server is named.
BASE_URLS: Final[dict[Wire, str]] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
}


class ModelServer(msgspec.Struct, frozen=True, kw_only=True):
    """One language model on one server. `name` is the model's name there, `wire` the format that the server speaks,
    `shape` (of the OpenAI-compatible format) how it is told what an answer looks like.

    Calls go to `base_url` only: https, or http to this machine and to hosts listed in `private`. `private` also lists
    the host names or networks (CIDR) that may be private addresses; all others must be public, but for this machine.
    `key` is never shown. A request is tried `attempts` times, each `timeout_s` seconds long at most, with a pause that
    doubles from `pause_s` (a Retry-After is heard up to `pause_max_s`); an answer has at most `answer_bytes` bytes.
    """

    name: str
    wire: Wire = "openai"
    shape: Shape = "json_schema"
    base_url: str = ""
    key: str = ""
    private: tuple[str, ...] = ()
    timeout_s: float = 30.0
    attempts: int = 3
    pause_s: float = 0.5
    pause_max_s: float = 20.0
    answer_bytes: int = 2_000_000

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidValue("a language model has a name")
        if self.attempts < 1 or self.timeout_s <= 0 or self.answer_bytes < 1:
            raise InvalidValue("a language model is given at least one attempt, some time and some bytes")
        check_base_url(self.url, "the base URL of the language model", self.private, this_machine=True)

    @property
    def url(self) -> str:
        return self.base_url or BASE_URLS[self.wire]

    def __repr__(self) -> str:
        return f"ModelServer(name={self.name!r}, wire={self.wire!r}, base_url={self.base_url!r})"
