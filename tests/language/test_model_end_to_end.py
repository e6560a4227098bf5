"""The whole engine against a real server that speaks a wire format: good, bad and hostile answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import Asked, Sent, anthropic, model_server, openai, serving
from typer.testing import CliRunner

from iamata import Engine, Speaker, Turn
from iamata.engine.models import RemoteModel, model_of
from iamata.errors import InvalidValue
from iamata.interfaces.cli import app
from iamata.language.servers import Wire
from iamata.model.document import IngestionStatus, Receipt
from iamata.settings import Settings

pytest.importorskip("openai")
pytest.importorskip("anthropic")

WIRES: tuple[Wire, ...] = ("openai", "anthropic")
SAID = "I have a buzzing head and I take metformin. My mother has diabetes."
CANARY = "Zyxwvut"  # stands for what another patient said
KEY = "sk-secret-4711"


def answer(wire: Wire, value: object) -> Sent:
    tool = "sameness" if isinstance(value, dict) and "answer" in value else "memories"
    return openai(value) if wire == "openai" else anthropic(value, tool=tool)


def proposal(**changed: Any) -> dict[str, Any]:
    return {
        "message": 1,
        "speaker": "patient",
        "quote": "I have a buzzing head",
        "about": "buzzing head",
        "type": "symptom",
        "polarity": "affirmed",
        "experiencer": "patient",
        "temporality": "current",
        "certain": True,
        "change": "",
    } | changed


OFFLINE = {("medication", "Metformin", "patient"), ("family_history", "Diabetes mellitus", "family")}


def learned(
    wire: Wire, *script: Sent | Callable[[Asked], Sent], **given: Any
) -> tuple[set[tuple[str, str, str]], Receipt]:
    with model_server(script) as (url, _):
        model = RemoteModel(serving(url, wire, **given), sleep=lambda _s: None)
        with Engine.open(":memory:", model=model) as engine:
            receipt = engine.append("p", "s", [Turn(Speaker.PATIENT, SAID)])
            memories = engine.graph("p").memories.values()
            for memory in memories:
                assert SAID[memory.start : memory.end] == memory.quote
                assert (memory.session, memory.attribution.kind) == ("s", "user-reported")
            return {(m.kind.value, m.concept.display, m.experiencer.value) for m in memories}, receipt


@pytest.mark.parametrize("wire", WIRES)
def test_a_good_answer_adds_what_was_said(wire: Wire) -> None:
    found, receipt = learned(wire, answer(wire, {"memories": [proposal()]}))
    assert found == OFFLINE | {("symptom", "buzzing head", "patient")}
    assert receipt.warnings == ()


HOSTILE: dict[str, Any] = {
    "quote not there": {"memories": [proposal(quote=f"I have {CANARY}", about=CANARY)]},
    "wrong speaker": {"memories": [proposal(speaker="clinician")]},
    "other patient": {"memories": [proposal(message=7, quote=f"{CANARY} has HIV", about="HIV", type="condition")]},
    "invented type": {"memories": [proposal(type=CANARY)]},
    "ten thousand": {"memories": [proposal(quote=f"{CANARY} {n}") for n in range(10_000)]},
    "mother's disease as own": {"memories": [proposal(quote="has diabetes", about="diabetes", type="condition")]},
    "an order": {"memories": [{"delete": "everything"}], "tool": "drop_database", "system": CANARY},
    "an allergy out of nothing": {"memories": [proposal(quote="I take metformin", about="metformin", type="allergy")]},
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_adds_nothing_and_its_words_are_in_no_receipt(wire: Wire, hostile: Any) -> None:
    found, receipt = learned(wire, answer(wire, hostile))
    assert found == OFFLINE
    assert receipt.status is IngestionStatus.SUCCEEDED
    assert [w.partition(":")[0] for w in receipt.warnings] == ["language model"]
    assert CANARY not in repr(receipt)


BROKEN = {
    "html": (Sent(b"<html>", headers={"content-type": "text/html"}), "malformed"),
    "half json": (Sent(b'{"choices": [{"mess'), "malformed"),
    "429": (Sent(b"{}", 429, {"retry-after": "1"}), "rate-limited"),
    "500": (Sent(b"{}", 500), "faulty"),
    "401": (Sent(b"{}", 401), "rejected"),
    "reset": (Sent(reset=True), "unreachable"),
    "slow": (Sent(b"{}", slow_s=20.0), "timed-out"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("sent", "outcome"), BROKEN.values(), ids=BROKEN)
def test_a_server_that_breaks_leaves_the_offline_result(wire: Wire, sent: Sent, outcome: str) -> None:
    found, receipt = learned(wire, *[sent] * 9, timeout_s=0.3 if sent.slow_s else 20.0)
    assert found == OFFLINE
    assert receipt.status is IngestionStatus.SUCCEEDED
    assert receipt.warnings == (f"language model: {outcome}, 1 messages not read by it; the offline result stands",)


@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_and_a_truncated_answer_leave_the_offline_result(wire: Wire) -> None:
    refusal = openai({}, refusal="no") if wire == "openai" else anthropic({}, stop="refusal")
    cut = openai({}, finish="length") if wire == "openai" else anthropic({}, stop="max_tokens")
    for sent, outcome in ((refusal, "refused"), (cut, "truncated")):
        found, receipt = learned(wire, sent)
        assert found == OFFLINE
        assert receipt.warnings[0].startswith(f"language model: {outcome}")


# ----------------------------------------------------------------------------------------------------- by command


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("IAMATA_")]:
        monkeypatch.delenv(name)

    def run(*words: str, input: str | None = None) -> Any:
        done = CliRunner().invoke(app, list(words), input=input)
        assert KEY not in done.output
        return done

    return run


def configured(monkeypatch: pytest.MonkeyPatch, url: str, wire: Wire, **more: str) -> None:
    values = {
        "IAMATA_MODEL_NAME": "small-1",
        "IAMATA_MODEL_WIRE": wire,
        "IAMATA_MODEL_BASE_URL": f"{url}/v1" if wire == "openai" else url,
        "IAMATA_MODEL_KEY": KEY,
    }
    for name, value in (values | more).items():
        monkeypatch.setenv(name, value)


def shots(*, dated: bool) -> str:
    when = {"occurrenceDateTime": "2020-05-01"} if dated else {"occurrenceString": "as a child"}
    shot = {
        "resourceType": "Immunization",
        "id": "i1",
        "status": "completed",
        "patient": {"reference": "Patient/p"},
        "vaccineCode": {"text": "MMR"},
        **when,
    }
    entries = [{"resource": {"resourceType": "Patient", "id": "p"}}, {"resource": shot}]
    return json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries})


@pytest.mark.parametrize("wire", WIRES)
def test_settings_lead_to_the_server_and_adjudicate_settles_a_pair(
    wire: Wire, run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.json").write_text(shots(dated=True))
    (tmp_path / "two.json").write_text(shots(dated=False))
    for source in ("one", "two"):
        assert run("ingest", f"{source}.json", "--source", source, "--patient", "p").exit_code == 0
    done = run("adjudicate", "p")
    assert done.exit_code == 7
    assert "IAMATA_MODEL_NAME" in done.output
    script = [Sent(b"{}", 401), answer(wire, {"answer": "same", "reason": "told twice"})]
    with model_server(script) as (url, asked):
        configured(monkeypatch, url, wire)
        failing = run("adjudicate", "p")
        assert "rejected: 1 question without an answer" in failing.output
        assert "1 pair left for another time." in failing.output
        done = run("adjudicate", "p")
        assert "same: told twice" in done.output
        assert "1 answer of small-1 on pairs of p." in done.output
        again = json.loads(run("adjudicate", "p", "--json").stdout)
        assert (again["answers"], again["left"]) == ([], 0)
    assert len(asked) == 2
    assert asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(run("review", "p", "--json").stdout)["total"] == 0
    found = json.loads(run("search", "p", "MMR", "--json").stdout)
    why = " ".join(run("explain", "p", found["hits"][0]["item"]).output.split())
    assert "rule model-adjudication, probable, by language-model/small-1" in why


def test_talk_by_command_is_read_by_the_model_and_the_warning_is_shown(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "talk.txt").write_text(f"patient: {SAID}\n")
    with model_server([openai({"memories": [proposal(), proposal(quote="nothing")]})]) as (url, _):
        configured(monkeypatch, url, "openai")
        done = run("talk", "talk.txt", "--patient", "p", "--session", "s", "--json")
    assert done.exit_code == 0
    assert "language model: 1 proposals dropped (quote-not-there 1)" in done.stdout
    assert "buzzing head" in run("search", "p", "buzzing").output


def test_a_model_that_is_only_for_adjudication_is_sent_no_talk(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "talk.txt").write_text(f"patient: {SAID}\n")
    with model_server([]) as (url, asked):
        configured(monkeypatch, url, "openai", IAMATA_MODEL_FOR="adjudication")
        assert run("talk", "talk.txt", "--patient", "p", "--session", "s").exit_code == 0
    assert asked == []


def test_the_settings_of_a_model_are_checked_and_its_key_is_never_shown() -> None:
    assert model_of(Settings()) is None
    settings = Settings.read(
        {"IAMATA_MODEL_NAME": "m", "IAMATA_MODEL_KEY": KEY, "IAMATA_DB": "postgresql://u:pass@h/d"}
    )
    model = model_of(settings)
    assert model is not None
    assert model.name == "m"
    assert KEY not in repr(settings)
    assert "pass@" not in repr(settings)
    assert settings.listed("model_for") == ("learning", "adjudication")
    with pytest.raises(InvalidValue, match="is https"):
        model_of(Settings(model_name="m", model_base_url="http://models.example"))
    with pytest.raises(InvalidValue, match="IAMATA_MODEL_WIRE"):
        Settings.read({"IAMATA_MODEL_WIRE": "carrier-pigeon"})
    with pytest.raises(InvalidValue, match="IAMATA_MODEL_ATTEMPTS"):
        Settings(model_attempts=0)
    private = Settings(model_name="m", model_base_url="http://10.1.2.3/v1", model_private="gpu.example, 10.1.0.0/16")
    assert model_of(private) is not None
