"""Do the laws hold on real patients? Order-free, repeat-safe, reversible, nothing lost, `known_at`: exact equality.

Each Synthea bundle is one patient; a second system holds copies of half of it under other ids, some of them changed.
Graphs are compared by their hash, which counts content and not ids.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evals.shape import Figures, Options, Outcome, Row, skipped
from iamata.engine import Engine
from iamata.model.document import Receipt
from iamata.model.session import Speaker, Turn

FOLDER = "synthea_r4_bundles"
LAWS = ("order_free", "repeat_safe", "reversible", "nothing_lost", "known_at")
_NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_PATIENT = "p"


def run(options: Options) -> Outcome:
    files = sorted((options.data / FOLDER).glob("*.json"))
    if not files:
        return skipped("laws", f"no bundles in {FOLDER}/")
    rows = [judge(path, options.seed) for path in files]
    misses = [f"{row['file']}: {law} does not hold" for row in rows for law in LAWS if not row[law]]
    return Outcome("laws", [FOLDER], figures(rows), rows, misses)


def figures(rows: Sequence[Row]) -> Figures:
    """The number of patients for which each law holds."""
    return {"patients": len(rows), **{law: sum(row[law] for row in rows) for law in LAWS}}


def judge(path: Path, seed: int) -> Row:
    """One patient: which laws hold."""
    entries = json.loads(path.read_text(encoding="utf-8"))["entry"]
    chance = random.Random(f"{seed} {path.name}")
    copies = copied_elsewhere(entries)
    with Sending() as sending:
        receipt = sending.send(entries, "ehr")
        alone = sending.hash
        lost = _lost(sending, receipt, entries)
        version = sending.engine.patient(_PATIENT).version
        again = sending.send(entries, "ehr")
        repeat_safe = (
            (again.staged.facts, again.staged.events, again.staged.narratives) == (0, 0, 0)
            and sending.hash == alone
            and sending.engine.patient(_PATIENT).version == version
        )
        moment = sending.now
        sending.send(copies, "other")
        both = sending.hash
        sending.engine.append(_PATIENT, "s", [Turn(Speaker.PATIENT, "I stopped my aspirin last week.", said_at=_NOW)])
        known_at = sending.engine.graph(_PATIENT, known_at=moment).hash == alone and both != alone
    order_free = _order_free(entries, copies, alone, both, chance)
    with Sending() as sending:
        sending.send(entries, "ehr")
        sending.send(copies, "other")
        sending.engine.retract(_PATIENT, "other")
        reversible = sending.hash == alone
    return {
        "file": path.name,
        "entries": len(entries),
        "order_free": order_free,
        "repeat_safe": repeat_safe,
        "reversible": reversible,
        "nothing_lost": not lost,
        "known_at": known_at,
    }


def _order_free(entries: list[Any], copies: list[Any], alone: str, both: str, chance: random.Random) -> bool:
    """Shuffled, in pieces, and with the sources in the other order."""
    shuffled = chance.sample(entries, len(entries))
    patient = [entry for entry in entries if entry["resource"]["resourceType"] == "Patient"]
    rest = [entry for entry in shuffled if entry["resource"]["resourceType"] != "Patient"]
    cut = chance.randrange(1, len(rest)) if len(rest) > 1 else 1
    with Sending() as sending:
        sending.send(patient + rest[:cut], "ehr")
        sending.send(patient + rest[cut:], "ehr")
        if sending.hash != alone:
            return False
    with Sending() as sending:
        sending.send(copies, "other")
        sending.send(shuffled, "ehr")
        return sending.hash == both


def _lost(sending: Sending, receipt: Receipt, entries: list[Any]) -> list[str]:
    """Entries without a line, lines whose item has no place, facts and links that lead nowhere."""
    graph = sending.engine.graph(_PATIENT)
    lines = {line.place: line for line in receipt.intake}
    stands = {each.place.pointer for seen in graph.sightings.values() for each in seen}
    lost = []
    for index in range(len(entries)):
        place = f"/entry/{index}/resource"
        line = lines.get(place)
        if line is None or (
            line.outcome != "ignored" and not any(p == place or p.startswith(f"{place}/") for p in stands)
        ):
            lost.append(place)
    lost += [fact.id for fact in graph.facts.values() if not set(fact.members) <= graph.statements.keys()]
    ends = graph.facts.keys() | graph.memories.keys() | graph.passages.keys()
    lost += [link.id for link in graph.links.values() if not {link.origin, link.target} <= ends]
    return lost


class Sending:
    """An engine whose clock moves on with every look, and the bundles sent to it."""

    def __init__(self) -> None:
        self._ticks = iter(range(10_000_000))
        self.now = _NOW
        self.engine = Engine.open(":memory:", clock=self._clock)

    def _clock(self) -> datetime:
        self.now = _NOW + timedelta(milliseconds=next(self._ticks))
        return self.now

    def send(self, entries: list[Any], source: str) -> Receipt:
        body = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": entries}).encode()
        return self.engine.ingest(_PATIENT, body, source=source, format="fhir/r4")

    @property
    def hash(self) -> str:
        return self.engine.graph(_PATIENT).hash

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()


def copied_elsewhere(entries: list[Any]) -> list[Any]:
    """What a second system would hold: the patient, and half of the items under other ids, some of them changed."""
    kept = []
    for index, entry in enumerate(entries):
        resource = json.loads(json.dumps(entry["resource"]))
        kind = resource["resourceType"]
        if kind != "Patient" and index % 2:
            continue
        held = entry
        if kind in ("Condition", "MedicationRequest", "Observation", "Immunization"):
            resource["id"] = f"copy-{index}"
            held = {"fullUrl": f"urn:uuid:00000000-0000-4000-8000-{index:012d}"}
            if kind == "MedicationRequest":
                resource["status"] = "stopped"
        kept.append({**held, "resource": resource})
    return kept
