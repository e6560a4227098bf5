"""Every way in which asking a language model can end is an outcome. Against a real server on this machine."""

from __future__ import annotations

import gzip
import json
import logging
import os
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from model_server import Asked, Sent, anthropic, model_server, openai, serving

from iamata.errors import InvalidValue, Unavailable
from iamata.language.remote import RemoteModel
from iamata.language.servers import ModelServer, Wire
from iamata.ports import Answer, AnswerOutcome, Question

pytest.importorskip("openai")
pytest.importorskip("anthropic")

SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
QUESTION = Question(name="answer", instructions="Read.", material='{"said": "hives"}', schema=SCHEMA, most_tokens=77)
MAKES: dict[Wire, Callable[..., Sent]] = {"openai": openai, "anthropic": anthropic}
WIRES: tuple[Wire, ...] = ("openai", "anthropic")
HTML = Sent(b"<html><body>Gateway</body></html>", headers={"content-type": "text/html"})


def ask(wire: Wire, *answers: Any, within_s: float = 20.0, **given: Any) -> tuple[Answer, list[Asked], list[float]]:
    slept: list[float] = []
    with model_server(answers) as (url, asked):
        model = RemoteModel(serving(url, wire, **given), sleep=slept.append, chance=lambda: 1.0)
        return model.ask(QUESTION, within_s=within_s), asked, slept


@pytest.mark.parametrize("wire", WIRES)
def test_a_good_answer_comes_back_as_json_with_the_model_that_gave_it(wire: Wire) -> None:
    answer, asked, _ = ask(wire, MAKES[wire]({"x": 4}))
    assert answer.outcome is AnswerOutcome.ANSWERED
    assert json.loads(answer.body) == {"x": 4}
    assert (answer.served, answer.attempts) == ("served-1", 1)
    (one,) = asked
    assert one.path == {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[wire]
    assert (one.instructions, one.material) == ("Read.", '{"said": "hives"}')
    assert one.body["model"] == "small-1"
    assert one.body["max_tokens"] == 77
    assert SCHEMA in (
        one.body.get("response_format", {}).get("json_schema", {}).get("schema"),
        one.body.get("tools", [{}])[0].get("input_schema"),
    )


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_of_this_machine_or_its_environment_is_told(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "OPENAI_ORG_ID": "org-leak",
        "OPENAI_CUSTOM_HEADERS": "x-evil: leak",
        "ANTHROPIC_CUSTOM_HEADERS": "x-evil: leak",
        "ANTHROPIC_AUTH_TOKEN": "leak",
        "OPENAI_API_KEY": "leak",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    answer, asked, _ = ask(wire, MAKES[wire]({"x": 4}))
    assert answer.outcome is AnswerOutcome.ANSWERED
    (one,) = asked
    known = {"host", "connection", "accept", "content-type", "content-length", "authorization", "anthropic-version"}
    assert set(one.headers) <= known | {"x-api-key"}
    assert "leak" not in json.dumps(one.headers)
    assert one.headers["authorization"] == "Bearer sk-secret-4711"


def test_a_server_that_knows_no_schemas_is_told_the_shape_in_words() -> None:
    answer, asked, _ = ask("openai", openai({"x": 4}), shape="json_object")
    assert answer.outcome is AnswerOutcome.ANSWERED
    assert asked[0].body["response_format"] == {"type": "json_object", "schema": SCHEMA}
    assert asked[0].instructions.startswith("Read.\nAnswer with one JSON object")
    assert json.loads(asked[0].instructions.partition("Schema: ")[2]) == SCHEMA


def test_a_server_without_a_key_is_sent_none() -> None:
    for wire in WIRES:
        with model_server([MAKES[wire]({"x": 1})]) as (url, asked):
            bare = ModelServer(name="small-1", wire=wire, base_url=url)
            assert RemoteModel(bare).ask(QUESTION, within_s=20).outcome is AnswerOutcome.ANSWERED
        assert not {"authorization", "x-api-key"} & set(asked[0].headers)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("sent", "outcome", "attempts"),
    [
        pytest.param(HTML, AnswerOutcome.MALFORMED, 1, id="html"),
        pytest.param(Sent(b'{"choices": [{"mess'), AnswerOutcome.MALFORMED, 1, id="half-json"),
        pytest.param(Sent(b"{}"), AnswerOutcome.MALFORMED, 1, id="empty-object"),
        pytest.param(Sent(b'{"choices": [], "content": []}'), AnswerOutcome.MALFORMED, 1, id="no-choice"),
        pytest.param(Sent(b'{"choices": 7, "content": 7}'), AnswerOutcome.MALFORMED, 1, id="other-types"),
        pytest.param(Sent(b""), AnswerOutcome.MALFORMED, 1, id="nothing"),
        pytest.param(Sent(b"[" * 200_000), AnswerOutcome.MALFORMED, 1, id="deep"),
        pytest.param(Sent(b"\xff\xfe\x00"), AnswerOutcome.MALFORMED, 1, id="no-utf-8"),
        pytest.param(Sent(b" " * 3_000_000), AnswerOutcome.TOO_LARGE, 1, id="too-large"),
        pytest.param(Sent(b"{}", 401), AnswerOutcome.REJECTED, 1, id="wrong-key"),
        pytest.param(Sent(b"{}", 404), AnswerOutcome.REJECTED, 1, id="unknown-model"),
        pytest.param(Sent(b"<p>", 400), AnswerOutcome.REJECTED, 1, id="bad-request"),
        pytest.param(Sent(b"{}", 500), AnswerOutcome.FAULTY, 3, id="500"),
        pytest.param(Sent(b"{}", 529), AnswerOutcome.FAULTY, 3, id="overloaded"),
        pytest.param(Sent(b"{}", 501), AnswerOutcome.FAULTY, 1, id="501"),
        pytest.param(Sent(b"{}", 429), AnswerOutcome.RATE_LIMITED, 3, id="429"),
        pytest.param(Sent(reset=True), AnswerOutcome.UNREACHABLE, 3, id="reset"),
        pytest.param(Sent(b'{"a": "' + b"b" * 500, cut=40), AnswerOutcome.UNREACHABLE, 3, id="cut-off"),
    ],
)
def test_what_is_no_answer_is_an_outcome(wire: Wire, sent: Sent, outcome: AnswerOutcome, attempts: int) -> None:
    answer, asked, _ = ask(wire, *[sent] * 5)
    assert (answer.outcome, answer.body, answer.attempts) == (outcome, b"", attempts)
    assert len(asked) == attempts


@pytest.mark.parametrize(
    ("wire", "sent", "outcome"),
    [
        ("openai", openai({"x": 1}, refusal="I cannot help with that."), AnswerOutcome.REFUSED),
        ("openai", openai({"x": 1}, finish="content_filter"), AnswerOutcome.REFUSED),
        ("openai", openai({"x": 1}, finish="length"), AnswerOutcome.TRUNCATED),
        ("openai", openai(None, text='{"x": '), AnswerOutcome.MALFORMED),
        ("openai", openai(None, text="I would say 4."), AnswerOutcome.MALFORMED),
        ("anthropic", anthropic({"x": 1}, stop="refusal"), AnswerOutcome.REFUSED),
        ("anthropic", anthropic({"x": 1}, stop="max_tokens"), AnswerOutcome.TRUNCATED),
        ("anthropic", anthropic({"x": 1}, tool="delete_everything"), AnswerOutcome.MALFORMED),
        ("anthropic", anthropic(None, text="I would say 4."), AnswerOutcome.MALFORMED),
    ],
)
def test_refusals_and_truncated_answers_are_told_apart(wire: Wire, sent: Sent, outcome: AnswerOutcome) -> None:
    answer, asked, _ = ask(wire, sent)
    assert (answer.outcome, answer.body, len(asked)) == (outcome, b"", 1)


def test_an_answer_in_a_fence_is_taken_out_of_it() -> None:
    answer, _, _ = ask("openai", openai(None, text='```json\n{"x": 4}\n```'))
    assert (answer.outcome, answer.body) == (AnswerOutcome.ANSWERED, b'{"x": 4}')
    answer, _, _ = ask("anthropic", anthropic(None, text='{"x": 5}', stop="end_turn"))
    assert (answer.outcome, answer.body) == (AnswerOutcome.ANSWERED, b'{"x": 5}')


@pytest.mark.parametrize("wire", WIRES)
def test_a_rate_limit_is_waited_for_as_the_server_asks_but_no_longer_than_is_allowed(wire: Wire) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=3600), usegmt=True)
    limits = [Sent(b"{}", 429, {"retry-after": "2"}), Sent(b"{}", 429, {"retry-after": later})]
    answer, asked, slept = ask(wire, *limits, MAKES[wire]({"x": 4}), pause_max_s=7.0)
    assert (answer.outcome, answer.attempts, len(asked)) == (AnswerOutcome.ANSWERED, 3, 3)
    assert slept == [2.0, 7.0]


def test_pauses_double_and_an_absurd_retry_after_is_bounded() -> None:
    _, _, slept = ask("openai", *[Sent(b"{}", 503)] * 9, attempts=4)
    assert slept == [0.001, 0.002, 0.004]
    answer, asked, slept = ask("openai", Sent(b"{}", 429, {"retry-after": "9" * 40}), within_s=5)
    assert (answer.outcome, len(asked), slept) == (AnswerOutcome.RATE_LIMITED, 1, [])  # it would end too late


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("slow", [{"slow_s": 30.0}, {"drip_s": 0.05}], ids=["silent", "dripping"])
def test_a_slow_server_is_left_after_the_time_out_however_it_is_slow(wire: Wire, slow: dict[str, float]) -> None:
    made = MAKES[wire]({"x": 4})
    began = time.monotonic()
    answer, asked, _ = ask(wire, *[Sent(made.body, **slow)] * 2, timeout_s=0.3, attempts=2)  # type: ignore[arg-type]  # names of fields
    assert (answer.outcome, answer.attempts, len(asked)) == (AnswerOutcome.TIMED_OUT, 2, 2)
    assert time.monotonic() - began < 20  # not the minute and a half that the answers would take


def test_all_attempts_together_end_within_the_time_given() -> None:
    answer, asked, _ = ask("openai", *[Sent(b"{}", slow_s=30.0)] * 9, within_s=0.4, timeout_s=30.0, attempts=9)
    assert (answer.outcome, len(asked)) == (AnswerOutcome.TIMED_OUT, 1)


def test_no_server_at_all_is_unreachable() -> None:
    with model_server([]) as (url, _):
        pass
    answer = RemoteModel(serving(url, "openai"), sleep=lambda _s: None).ask(QUESTION, within_s=20)
    assert (answer.outcome, answer.attempts) == (AnswerOutcome.UNREACHABLE, 3)


@pytest.mark.parametrize("wire", WIRES)
def test_a_redirect_is_not_followed(wire: Wire) -> None:
    with model_server([MAKES[wire]({"x": 4})]) as (elsewhere, there):
        answer, _, _ = ask(wire, Sent(b"", 307, {"location": f"{elsewhere}/v1/chat/completions"}))
    assert answer.outcome is AnswerOutcome.REJECTED
    assert there == []


def test_a_packed_answer_is_no_answer_because_none_was_asked_for() -> None:
    """A small packed body could unpack to any size."""
    packed = gzip.compress(openai({"x": 4}).body)
    answer, _, _ = ask("openai", Sent(packed, 200, {"content-type": "application/json", "content-encoding": "gzip"}))
    assert answer.outcome is AnswerOutcome.MALFORMED


def test_the_key_and_the_talk_are_in_no_log_and_no_text(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_LOG", "debug")
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "anthropic"):
        caplog.set_level(logging.DEBUG, logger=name)
        caplog.set_level(logging.DEBUG, logger=f"{name}._base_client")
    for wire in WIRES:
        ask(wire, Sent(b'{"error": "hives"}', 500), MAKES[wire]({"x": 4}))
    written = "".join(record.getMessage() + str(record.args) for record in caplog.records)
    assert "hives" not in written
    assert "sk-secret-4711" not in written
    assert "sk-secret-4711" not in repr(serving("http://127.0.0.1:1", "openai"))


def test_without_its_libraries_a_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iamata.language.remote.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"pip install 'iamata\[model\]'"):
        RemoteModel(ModelServer(name="m"))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"name": ""}, "has a name"),
        ({"base_url": "http://models.example/v1"}, "is https"),
        ({"base_url": "http://10.1.2.3:8000/v1"}, "is https"),
        ({"base_url": "ftp://models.example"}, "is https"),
        ({"base_url": "https://key@models.example/"}, "without credentials"),
        ({"base_url": "https://models.example/?a=1"}, "without credentials"),
        ({"base_url": "https://models.example:x/"}, "no URL"),
        ({"attempts": 0}, "at least one attempt"),
    ],
)
def test_a_server_that_may_not_be_called_is_refused_before_any_call(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidValue, match=complaint):
        ModelServer(**{"name": "m"} | given)


def test_a_public_name_that_leads_to_this_machine_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as here:
        port = here.getsockname()[1]
        there = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *names, **options: there)
        server = ModelServer(name="m", base_url=f"https://models.example:{port}/v1", attempts=1, timeout_s=1.0)
        assert RemoteModel(server).ask(QUESTION, within_s=20).outcome is AnswerOutcome.UNREACHABLE
        here.setblocking(False)
        with pytest.raises(BlockingIOError):  # nobody has knocked
            here.accept()
