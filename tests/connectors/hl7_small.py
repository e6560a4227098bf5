"""Small HL7 v2 messages one can see whole, and one call that reads them."""

from __future__ import annotations

from datetime import UTC, datetime

from iamata.connectors.registry import parse
from iamata.formation.attribution import Resolver
from iamata.formation.pipeline import form
from iamata.formation.references import Directory
from iamata.model.attribution import Attribution
from iamata.model.clinical_time import Clock
from iamata.model.document import Document, IntakeLine
from iamata.model.graph import Graph, Held
from iamata.model.identifiers import IdMint
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Kind, Statement
from iamata.ports import Parsed

MINT = IdMint(b"k" * 32)
RECEIVED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PID = "PID|1||77^^^NORTH^MR||Ray^Leo^B||20150403|M"


def header(event: str = "ORU^R01", *, at: str = "20250601083000", charset: str = "") -> str:
    return f"MSH|^~\\&|APP|NORTH|IN|HERE|{at}||{event}|1|P|2.5.1||||||{charset}"


def segment(name: str, **fields: str) -> str:
    """`segment("SCH", _2="F1", _25="Booked")`: a segment with these fields."""
    numbered = {int(key[1:]): text for key, text in fields.items()}
    return "|".join([name, *(numbered.get(number, "") for number in range(1, max(numbered) + 1))])


def message(*segments: str, event: str = "ORU^R01", pid: str = PID, at: str = "20250601083000") -> bytes:
    """A message of these segments after MSH and PID, each ended by CR."""
    lines = [header(event, at=at), *([pid] if pid else []), *segments]
    return "".join(f"{line}\r" for line in lines).encode()


def read(*segments: str, event: str = "ORU^R01", pid: str = PID, at: str = "20250601083000") -> Parsed:
    return read_bytes(message(*segments, event=event, pid=pid, at=at))


def read_bytes(body: bytes, *, document: str = "en_1", source: str = "north", subject: str = "leo") -> Parsed:
    return parse(
        body,
        format="hl7v2",
        subject=patient(subject),
        source=source,
        mint=MINT,
        document=document,
        received_at=RECEIVED,
    )


def all_of(parsed: Parsed, kind: Kind) -> list[Statement]:
    return [statement for statement in parsed.statements if statement.kind is kind]


def one(parsed: Parsed, kind: Kind) -> Statement:
    found = all_of(parsed, kind)
    assert len(found) == 1, [str(each.kind) for each in parsed.statements]
    return found[0]


def time(statement: Statement, clock: Clock) -> str:
    """A time as text, empty if there is none."""
    timed = statement.time(clock)
    return str(timed.at) if timed else ""


def line(parsed: Parsed, place: str) -> IntakeLine:
    return next(each for each in parsed.intake if each.place == place)


def attribution(parsed: Parsed, statement: Statement, kind: SourceKind = SourceKind.EHR) -> Attribution:
    sources = {statement.source: kind}
    return Resolver(parsed.statements, Directory(parsed.statements), sources).resolve(statement)


def fold(*bodies: bytes, sources: tuple[str, ...] = ()) -> Graph:
    """The graph of these messages, received one minute after the other (of `north`, or each of its source)."""
    statements, passages, sightings, documents = {}, {}, [], []
    for index, body in enumerate(bodies):
        at = RECEIVED.replace(minute=index)
        id = f"en_{index}"
        source = sources[index] if sources else "north"
        parsed = parse(
            body, format="hl7v2", subject=patient("leo"), source=source, mint=MINT, document=id, received_at=at
        )
        statements |= {s.id: statements.get(s.id, s) for s in parsed.statements}
        passages |= {p.id: p for p in parsed.passages}
        sightings += parsed.sightings
        documents.append(
            Document(
                id=id,
                subject=patient("leo"),
                source=source,
                media_type="application/hl7-v2",
                format="hl7v2",
                sha256="",
                size_bytes=len(body),
                received_at=at,
            )
        )
    held = Held(
        subject=patient("leo"),
        version=1,
        statements=tuple(statements.values()),
        passages=tuple(passages.values()),
        sightings=tuple(sightings),
        documents=tuple(documents),
        sources=tuple((source, SourceKind.EHR) for source in sorted({*sources, "north"})),
    )
    return form(held, moment=Moment(true_at=datetime(2026, 6, 1, tzinfo=UTC)), mint=MINT)
