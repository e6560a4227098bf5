"""Public sample messages: all are read, every segment is accounted for, and the labelled items have their authors."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from hl7_small import MINT, RECEIVED, read_bytes

from iamata.connectors.registry import detect, excerpt, parse
from iamata.formation.attribution import Resolver
from iamata.formation.pipeline import form
from iamata.formation.references import Directory
from iamata.model.document import Outcome, Reason
from iamata.model.graph import Held
from iamata.model.passage import Passage
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect, Kind, Standing, Statement
from iamata.ports import Parsed

FOLDERS = ["microsoft", "linuxforhealth"]
GOLD = Path(__file__).parents[2] / "evals" / "gold" / "attribution_hl7v2.csv"


def messages(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.hl7"))
    assert found
    return found


def places(body: bytes) -> list[str]:
    """The place of every segment, counted without the reader."""
    text = body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    counts: Counter[str] = Counter()
    found = []
    for name in re.findall(r"^([A-Z][A-Z0-9]{2})(?=\|)", text, re.MULTILINE):
        counts[name] += 1
        found.append(f"/1/{name}/{counts[name]}")
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_message_is_read_and_every_segment_accounted_for(data: Path, folder: str) -> None:
    for path in messages(data / "hl7v2_messages" / folder):
        body = path.read_bytes()
        assert detect(body, name=path.name) == "hl7v2"
        parsed = read_bytes(body)
        assert list(dict.fromkeys(line.place for line in parsed.intake)) == places(body), path.name
        assert parsed.statements or parsed.set_aside, path.name
        ids = {each.id for each in (*parsed.statements, *parsed.passages)}
        assert {sighting.item for sighting in parsed.sightings} == ids, path.name
        for sighting in parsed.sightings:
            assert excerpt(body, "hl7v2", sighting.place), (path.name, sighting.place.pointer)


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_ignored_is_local_empty_unsupported_or_of_another_patient(data: Path, folder: str) -> None:
    reasons: Counter[Reason] = Counter()
    for path in messages(data / "hl7v2_messages" / folder):
        for line in read_bytes(path.read_bytes()).intake:
            if line.outcome is Outcome.IGNORED:
                reasons[line.reason] += 1
                assert line.detail, line
    assert set(reasons) <= {Reason.UNSUPPORTED, Reason.EMPTY, Reason.UNUSABLE}
    assert reasons[Reason.UNUSABLE] <= 13  # two A40/A47 messages that name two patients equally often


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_and_dates_of_birth_stay_out_of_intake_and_warnings(data: Path, folder: str) -> None:
    for path in messages(data / "hl7v2_messages" / folder):
        parsed = read_bytes(path.read_bytes())
        told = str(parsed.intake) + str(parsed.warnings)
        for statement in parsed.statements:
            if statement.kind is Kind.DEMOGRAPHIC:
                for name in ("name", "birth_date", "address"):
                    value = statement.field(name)
                    assert value is None or str(value) not in told, (path.name, name)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_message_sent_twice_says_the_same_and_folds_without_a_fault(data: Path, folder: str) -> None:
    for path in messages(data / "hl7v2_messages" / folder)[::4]:
        body = path.read_bytes()
        first, again = read_bytes(body), read_bytes(body, document="en_2")
        assert first.statements == again.statements
        assert first.passages == again.passages
        graph = form(_held(first), moment=Moment.of(RECEIVED), mint=MINT)
        counted = [
            statement
            for statement in first.statements
            if statement.kind is not Kind.PERSON and statement.standing is not Standing.ENTERED_IN_ERROR
        ]
        later = [s for s in counted if s.id not in graph.statements]
        for statement in counted:
            assert statement.id in graph.fact_of or statement in later or statement.id in _history(graph.facts), (
                path.name
            )


def test_the_labelled_items_have_the_authors_that_were_read_from_the_documents(data: Path) -> None:
    with GOLD.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 40
    wrong = []
    for row in rows:
        parsed = read_bytes((data / "hl7v2_messages" / row["file"]).read_bytes())
        found = _items(parsed, row["place"], row["item"])
        assert found, row
        resolver = Resolver(parsed.statements, Directory(parsed.statements), {"north": SourceKind.EHR})
        for each in found:
            attribution = resolver.resolve(each)
            got = (attribution.kind, attribution.author.role, attribution.rule)
            if got != (row["expected_kind"], row["expected_role"], row["expected_rule"]):
                wrong.append((row["file"], row["place"], got))
    assert not wrong


def _items(parsed: Parsed, place: str, item: str) -> list[Statement]:
    here = {sighting.item for sighting in parsed.sightings if sighting.place.pointer == place}
    if item == "passage":
        return [_as_statement(each) for each in parsed.passages if each.id in here]
    return [each for each in parsed.statements if each.id in here and each.kind == item]


def _as_statement(passage: Passage) -> Statement:
    return Statement(
        id=passage.id,
        subject=passage.subject,
        kind=Kind.DOCUMENT,
        provenance=passage.provenance,
        authorship=passage.authorship,
        aspect=Aspect.RECORDED,
        digest=passage.id,
        part=passage.part,
    )


def _held(parsed: Parsed) -> Held:
    return Held(
        subject=patient("leo"),
        version=1,
        statements=parsed.statements,
        passages=parsed.passages,
        sightings=parsed.sightings,
        sources=(("north", SourceKind.EHR),),
    )


def _history(facts: object) -> set[str]:
    assert isinstance(facts, dict)
    return {id for fact in facts.values() for id, _why in fact.history}


def test_the_same_bytes_are_read_the_same_through_the_registry(data: Path) -> None:
    path = messages(data / "hl7v2_messages" / "microsoft")[0]
    parsed = parse(
        path.read_bytes(),
        format="hl7v2",
        subject=patient("leo"),
        source="north",
        mint=MINT,
        document="en_1",
        received_at=RECEIVED,
    )
    assert parsed == read_bytes(path.read_bytes())


def test_one_id_is_one_statement_over_all_messages_of_a_source(data: Path) -> None:
    seen: dict[str, Statement] = {}
    repeated = 0
    for folder in FOLDERS:
        for path in messages(data / "hl7v2_messages" / folder):
            for statement in read_bytes(path.read_bytes()).statements:
                repeated += statement.id in seen
                assert seen.setdefault(statement.id, statement) == statement, path.name
    assert repeated > 100
