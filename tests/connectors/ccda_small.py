"""Small CDA documents written by hand, and their reading."""

from __future__ import annotations

from datetime import UTC, datetime

from iamata.connectors import ccda
from iamata.formation.pipeline import form
from iamata.model.attribution import Attribution
from iamata.model.document import Document
from iamata.model.graph import Graph, Held
from iamata.model.identifiers import IdMint
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Kind, Statement
from iamata.ports import Parsed

MINT = IdMint(b"k" * 32)
RECEIVED = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
LEO = patient("leo")

T = "2.16.840.1.113883.10.20.22.4."
SNOMED = "2.16.840.1.113883.6.96"
AMES = (
    '<assignedAuthor><id root="2.16.840.1.113883.4.6" extension="111"/><assignedPerson><name><prefix>Dr</prefix>'
    "<family>Ames</family></name></assignedPerson></assignedAuthor>"
)


def cd(code: str, display: str = "", system: str = SNOMED, element: str = "value", inner: str = "") -> str:
    kind = ' xsi:type="CD"' if element == "value" else ""
    return f'<{element}{kind} code="{code}" displayName="{display}" codeSystem="{system}">{inner}</{element}>'


def author(who: str = AMES, time: str = "20240302") -> str:
    return f'<author><time value="{time}"/>{who}</author>'


def entry(act: str) -> str:
    return f"<entry>{act}</entry>"


def inside(act: str, type: str = "SUBJ") -> str:
    return f'<entryRelationship typeCode="{type}">{act}</entryRelationship>'


def act(name: str, template: str, inner: str, attributes: str = 'moodCode="EVN"') -> str:
    return f'<{name} {attributes}><templateId root="{T}{template}"/>{inner}</{name}>'


def concern(inner: str, *, status: str = "active", template: str = "3", more: str = "") -> str:
    code = '<code code="CONC" codeSystem="2.16.840.1.113883.5.6"/>'
    return entry(act("act", template, f'{code}<statusCode code="{status}"/>{more}{inside(inner)}'))


def section(code: str, body: str, *, title: str = "Section", text: str = "", more: str = "") -> str:
    words = f"<text>{text}</text>" if text else ""
    return (
        f'<component><section><code code="{code}" codeSystem="2.16.840.1.113883.6.1"/><title>{title}</title>{words}'
        f"{more}{body}</section></component>"
    )


def document(*sections: str, header: str | None = None, id: str = "doc-1", authors: str | None = None) -> bytes:
    """A whole document about Leo, by Dr Ames unless told otherwise."""
    target = (
        '<recordTarget><patientRole><id root="1.2.3" extension="leo"/><patient><name><given>Leo</given>'
        '<family>Small</family></name><administrativeGenderCode code="M"/><birthTime value="20220103"/></patient>'
        "</patientRole></recordTarget>"
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ClinicalDocument xmlns="urn:hl7-org:v3" xmlns:sdtc="urn:hl7-org:sdtc" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><id root="{id}"/><title>Summary</title>'
        f'<effectiveTime value="20260210"/>{target if header is None else header}'
        f"{author() if authors is None else authors}<component><structuredBody>{''.join(sections)}</structuredBody>"
        "</component></ClinicalDocument>"
    ).encode()


def read(body: bytes, *, source: str = "eastgate", document: str = "d1") -> Parsed:
    return ccda.read(body, subject=LEO, source=source, mint=MINT, document=document, received_at=RECEIVED)


def only(parsed: Parsed, kind: Kind) -> Statement:
    """The one statement of a kind."""
    found = [statement for statement in parsed.statements if statement.kind is kind]
    assert len(found) == 1, [str(s.kind) for s in parsed.statements]
    return found[0]


def graph(*bodies: tuple[str, bytes]) -> Graph:
    """The fold of documents of the sources named beside them."""
    readings = [read(body, source=source, document=f"d{n}") for n, (source, body) in enumerate(bodies)]
    return form(
        Held(
            subject=LEO,
            version=1,
            statements=tuple({s.id: s for r in readings for s in r.statements}.values()),
            passages=tuple({p.id: p for r in readings for p in r.passages}.values()),
            sightings=tuple(s for r in readings for s in r.sightings),
            documents=tuple(
                Document(
                    id=f"d{n}", subject=LEO, source=source, media_type="application/cda+xml", format="cda/r2",
                    sha256="", size_bytes=len(body), received_at=RECEIVED,
                )
                for n, (source, body) in enumerate(bodies)
            ),
            sources=tuple({(source, SourceKind.EHR) for source, _ in bodies}),
        ),
        moment=Moment(true_at=RECEIVED, known_at=None),
        mint=MINT,
    )  # fmt: skip


def attribution(body: bytes, kind: Kind) -> Attribution:
    formed = graph(("eastgate", body))
    found = [s.id for s in formed.statements.values() if s.kind is kind]
    assert len(found) == 1
    return formed.attributions[found[0]]
