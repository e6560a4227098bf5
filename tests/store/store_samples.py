"""Small submissions whose every part you can see. Also run by the store's tests as a program that gets killed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from iamata.model.attribution import Attribution, AttributionKind, Author, AuthorshipEvidence, Part, Role
from iamata.model.clinical_time import Clock, Timed, parse_time
from iamata.model.coding import CodedText, Coding, Quantity
from iamata.model.document import Document, IngestionStatus, IntakeLine, Outcome, Receipt
from iamata.model.identifiers import IdMint, canonical_bytes, content_digest
from iamata.model.memory import Memory, MemoryKind
from iamata.model.model_answers import Adjudication, ModelReading, Sameness
from iamata.model.passage import Passage
from iamata.model.provenance import Place, Provenance, RecordIdentity, SourceKind
from iamata.model.relation import PatientRelation, RelationKind
from iamata.model.scope import patient as subject_of
from iamata.model.session import Message, Speaker, Turn
from iamata.model.sighting import Sighting
from iamata.model.statement import Aspect, Field, Kind, Statement
from iamata.ports import Accepted

NOW = datetime(2026, 2, 15, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)

# One letter is one item: c a condition, o an observation, p a person (neither fact nor event), n a note (a passage).
KINDS = {"c": Kind.CONDITION, "o": Kind.OBSERVATION, "p": Kind.PERSON}


def bundle(
    mint: IdMint,
    items: Sequence[str],
    *,
    patient: str = "leo",
    ingestion: str = "in_1",
    source: str = "Northside",
    received_at: datetime = NOW,
    text: str = "hives after amoxicillin",
    kind: SourceKind = SourceKind.EHR,
) -> Accepted:
    """A submission of items such as `c1 o1 o2 p1 n1`. Each name is a record of its own; equal names are equal items."""
    subject = subject_of(patient)
    body = (source + ": " + " ".join(items)).encode()
    document = mint.document(source, "text/plain", body)
    statements: list[Statement] = []
    passages: list[Passage] = []
    sightings: list[Sighting] = []
    for number, name in enumerate(items):
        provenance = Provenance(source, "sample/1", RecordIdentity("Thing", reference=f"Thing/{name}"))
        authorship = (AuthorshipEvidence(Part.RECORDER, "recorder", display="Dr Ames"),)
        if name.startswith("n"):
            id = mint.passage(source, name, "note/0", text)
            passages.append(
                Passage(id=id, subject=subject, provenance=provenance, authorship=authorship, part="note/0", text=text)
            )
        else:
            item = canonical_bytes({"name": name})
            id = mint.statement(source, name, "", item)
            statements.append(
                Statement(
                    id=id,
                    subject=subject,
                    kind=KINDS[name[0]],
                    provenance=provenance,
                    authorship=authorship,
                    aspect=Aspect.RECORDED,
                    digest=content_digest(source, item),
                    concept=CodedText(text, (Coding("http://snomed.info/sct", name),)),
                    times=(Timed(Clock.EFFECTIVE, parse_time("2026-02-10T10:00:00+01:00")),),
                    fields=(
                        Field("absent", 2**70),
                        Field("category", "medication"),
                        Field("value", Quantity("250.0", "mg")),
                    ),
                )
            )
        sightings.append(Sighting(id, document, Place(f"/entry/{number}/resource"), received_at))
    return Accepted(
        receipt=Receipt(
            id=ingestion,
            subject=subject,
            source=source,
            format="sample/v1",
            media_type="text/plain",
            received_at=received_at,
            status=IngestionStatus.PENDING,
            document=document,
            intake=tuple(IntakeLine("Thing", f"/entry/{n}", Outcome.STRUCTURED, label=text) for n in range(len(items))),
        ),
        document=Document(
            id=document,
            subject=subject,
            source=source,
            media_type="text/plain",
            format="sample/v1",
            sha256=content_digest(body),
            size_bytes=len(body),
            received_at=received_at,
        ),
        body=body,
        source_kind=kind,
        statements=tuple(statements),
        passages=tuple(passages),
        sightings=tuple(sightings),
    )


def turns(
    mint: IdMint,
    texts: Sequence[str],
    *,
    first: int = 0,
    patient: str = "leo",
    session: str = "visit",
    ingestion: str = "in_turns",
    received_at: datetime = NOW,
) -> Accepted:
    """Turns of a session, the first of them at index `first`; the mother speaks, on her own clock."""
    messages = tuple(
        Message(
            mint.message(session, index, "caregiver", text),
            session,
            index,
            Turn(Speaker.CAREGIVER, text, "mother", said_at=datetime.fromisoformat("2026-02-15T01:30:00+05:00")),
            received_at,
        )
        for index, text in enumerate(texts, start=first)
    )
    return Accepted(
        receipt=Receipt(
            id=ingestion,
            subject=subject_of(patient),
            source="Portal",
            format="session/v1",
            media_type="application/json",
            received_at=received_at,
            status=IngestionStatus.PENDING,
            session=session,
        ),
        source_kind=SourceKind.CONVERSATION,
        messages=messages,
    )


def memory_of(mint: IdMint, message: Message) -> Memory:
    """The whole message as one memory."""
    text = message.turn.text
    return Memory(
        id=mint.memory(message.id, 0, len(text), "symptom", text),
        session=message.session,
        message=message.id,
        start=0,
        end=len(text),
        quote=text,
        kind=MemoryKind.SYMPTOM,
        concept=CodedText(text),
        attribution=Attribution(AttributionKind.USER, Author(Role.PROXY), "sample"),
        said_at=message.turn.said_at,
        received_at=message.received_at,
    )


def adjudication_of(id: str, *, says: Sameness = Sameness.SAME, received_at: datetime = NOW) -> Adjudication:
    """What a language model said of two records whose contents have these digests."""
    return Adjudication(
        id=id,
        left="a1",
        right="b2",
        says=says,
        model="m",
        prompt="pairs-1",
        received_at=received_at,
        reason="same pill",
    )


def reading_of(
    id: str, *messages: Message, memories: Sequence[Memory] = (), received_at: datetime = NOW
) -> ModelReading:
    """What a language model found in these messages."""
    return ModelReading(
        id=id,
        session=messages[0].session,
        messages=tuple(message.id for message in messages),
        model="m",
        prompt="memories-1",
        outcome="answered",
        received_at=received_at,
        memories=tuple(memory.id for memory in memories),
        dropped=(("quote-not-there", 2),),
    )


def relation_of(id: str, *, reason: str = "") -> PatientRelation:
    """Dr Lee is of Leo's care team from now on."""
    return PatientRelation(
        id=id,
        patient="leo",
        principal="operator/dr-lee",
        kind=RelationKind.CARE_TEAM,
        since=NOW,
        by="operator/admin",
        at=NOW,
        reason=reason,
    )
