"""Real documents: what their words mention neither merges nor parts what was sent, nor changes what that says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from iamata.connectors import registry
from iamata.errors import BadInput
from iamata.formation import pipeline
from iamata.formation.extraction.passages import words_of
from iamata.model.document import Document
from iamata.model.graph import Graph, Held
from iamata.model.identifiers import IdMint
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Kind, Polarity

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINT = IdMint(b"k" * 32)


def held(*paths: Path) -> Held:
    """These documents as those of one patient, each from a source of its own."""
    found = Held(subject=patient("p"))
    for path in paths:
        body = path.read_bytes()
        number = len(found.documents)
        format, source, id = registry.detect(body, name=path.name), f"s{number}", f"en_{number}"
        try:
            parsed = registry.parse(
                body, format=format, subject=found.subject, source=source, mint=MINT, document=id, received_at=NOW
            )
        except BadInput:
            continue
        document = Document(
            id=id, subject=found.subject, source=source, media_type="x", format=format, sha256="",
            size_bytes=len(body), received_at=NOW,
        )  # fmt: skip
        found = msgspec.structs.replace(
            found,
            statements=found.statements + parsed.statements,
            passages=found.passages + parsed.passages,
            sightings=found.sightings + parsed.sightings,
            documents=(*found.documents, document),
            sources=(*found.sources, (source, SourceKind.EHR)),
        )
    return found


def folded(of: Held) -> Graph:
    return pipeline.form(of, moment=Moment.of(NOW), mint=MINT)


def patients(data: Path) -> Iterator[Held]:
    files = [
        *sorted((data / "ccda_vendor_samples").rglob("*.xml"))[::3],
        *sorted((data / "ccda_microsoft_samples").rglob("*.xml")),
        *sorted((data / "ccda_onc_cert").rglob("*.xml"))[::6],
        *sorted((data / "ccda_hl7_examples").rglob("*Summary*.xml")),
        *sorted((data / "ips_bundles").rglob("*.json"))[::2],
    ]
    files = [path for path in files if path.is_file() and path.stat().st_size < 400_000]
    for start in range(0, len(files), 3):
        yield held(*files[start : start + 3])


def sent(graph: Graph) -> dict[frozenset[str], tuple[object, ...]]:
    """The facts by the items that were sent of them, and what each says."""
    found = {}
    for fact in graph.facts.values():
        items = frozenset(id for id in (*fact.members, *dict(fact.history)) if not graph.statements[id].is_mention)
        if items:
            found[items] = (fact.kind, fact.display, fact.polarity, fact.standing, fact.verification)
    return found


def test_words_neither_merge_nor_part_nor_change_what_was_sent(data: Path) -> None:
    mentions = 0
    for each in patients(data):
        with_words, without = folded(each), folded(msgspec.structs.replace(each, passages=()))
        assert sent(with_words) == sent(without)
        mentions += sum(s.is_mention for s in with_words.statements.values())
    assert mentions > 60


def test_every_mention_stands_at_its_words_in_a_passage_of_its_author(data: Path) -> None:
    for each in patients(data):
        graph = folded(each)
        for statement in graph.statements.values():
            if not statement.is_mention:
                continue
            part = statement.part.rpartition("@")[0]
            start, end = words_of(statement)
            [passage, *_] = [
                p
                for p in graph.passages.values()
                if p.part == part
                and p.provenance.record == statement.provenance.record
                and p.start <= start
                and end <= p.start + len(p.text)
            ]
            assert passage.text[start - passage.start : end - passage.start].strip()
            assert graph.attributions[statement.id] == graph.attributions[passage.id]
            assert statement.labels == passage.labels
            documents = {seen.document for seen in graph.sightings[passage.id]}
            assert documents <= {seen.document for seen in graph.sightings[statement.id]}


def test_no_fact_rests_on_denying_words_alone_but_of_habits_and_known_allergies(data: Path) -> None:
    for each in patients(data):
        graph = folded(each)
        for fact in graph.facts.values():
            told = [graph.statements[id] for id in fact.members]
            if all(s.is_mention and s.polarity is Polarity.DENIED for s in told):
                assert fact.kind in (Kind.SOCIAL_HISTORY, Kind.ALLERGY)
                assert fact.kind is Kind.SOCIAL_HISTORY or fact.display.startswith("No known")
