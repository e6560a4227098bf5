"""Small X12 interchanges one can see whole, and one call that reads them."""

from __future__ import annotations

from datetime import UTC, datetime

from iamata.connectors.registry import parse
from iamata.model.document import IntakeLine
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient
from iamata.model.statement import Kind, Statement
from iamata.ports import Parsed

MINT = IdMint(b"k" * 32)
RECEIVED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ISA = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260101*1200*^*00501*000000001*0*T*:"


def transaction(type: str, guide: str, *segments: str, control: str = "0001") -> list[str]:
    """ST to SE with the right count."""
    return [f"ST*{type}*{control}*{guide}", *segments, f"SE*{len(segments) + 2}*{control}"]


def interchange(*transactions: list[str], end: str = "~\n", guide: str = "005010X222A1") -> bytes:
    """One interchange with one group."""
    body = [segment for each in transactions for segment in each]
    return end.join(
        [
            ISA,
            f"GS*HC*SENDER*RECEIVER*20260101*1200*1*X*{guide}",
            *body,
            f"GE*{len(transactions)}*1",
            "IEA*1*000000001",
            "",
        ]
    ).encode()


def read(body: bytes, *, subject: str = "leo", source: str = "clearing", document: str = "en_1") -> Parsed:
    return parse(
        body,
        format="x12",
        subject=patient(subject),
        source=source,
        mint=MINT,
        document=document,
        received_at=RECEIVED,
    )


BILLER = ["HL*1**20*1", "NM1*85*2*RIVER CLINIC*****XX*1111111112", "N3*1 RIVER RD", "N4*TOWN*OH*43215"]
SUBSCRIBER = [
    "HL*2*1*22*0",
    "SBR*P*18*GRP7*SILVER*****CI",
    "NM1*IL*1*REED*ANA*M***MI*M100",
    "DMG*D8*19800102*F",
    "NM1*PR*2*GOOD PAYER*****PI*P55",
]


def claim(
    number: str = "A1",
    *,
    frequency: str = "1",
    total: str = "120",
    more: tuple[str, ...] = (),
    lines: tuple[str, ...] = (),
) -> list[str]:
    return [
        f"CLM*{number}*{total}***11:B:{frequency}*Y*A*Y*Y",
        *more,
        "HI*ABK:J069*ABF:E119",
        *(lines or ("LX*1", "SV1*HC:99213:25*120*UN*1***1", "DTP*472*D8*20260105")),
    ]


def claims(
    *segments: list[str], begin: str = "BHT*0019*00*1*20260110*0930*CH", who: list[str] | None = None
) -> list[str]:
    return transaction(
        "837",
        "005010X222A1",
        begin,
        "NM1*41*2*BILLING HOUSE*****46*S1",
        "NM1*40*2*GOOD PAYER*****46*R1",
        *BILLER,
        *(who or SUBSCRIBER),
        *(each for held in segments for each in held),
    )


def of(parsed: Parsed, kind: Kind) -> list[Statement]:
    return [s for s in parsed.statements if s.kind is kind]


def only(parsed: Parsed, kind: Kind) -> Statement:
    (found,) = of(parsed, kind)
    return found


def lines(parsed: Parsed, outcome: str = "ignored") -> list[IntakeLine]:
    return [line for line in parsed.intake if line.outcome == outcome]


def place_of(parsed: Parsed, statement: Statement) -> str:
    (found,) = {s.place.pointer for s in parsed.sightings if s.item == statement.id}
    return found
