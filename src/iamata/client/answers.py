"""What does an answer of the server say, in the nouns of the model? Pure, one function for each noun.

An answer that lacks what a noun needs is a Bug: of the server, or of a client of another version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from iamata.errors import Bug
from iamata.model.attribution import Attribution, AttributionKind, Author, Certainty, Directness, Role
from iamata.model.clinical_time import check_aware
from iamata.model.coding import CodedText, Coding
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.context import (
    Authority,
    Context,
    ContextItem,
    ContextRequest,
    Factor,
    LeftOut,
    LeftOutReason,
)
from iamata.model.document import IngestionStatus, IntakeLine, Outcome, Reason, Receipt, Staged
from iamata.model.entry import Entry, EntryKind, EntryPassage
from iamata.model.erasure import Erasable, Erasure, Hold
from iamata.model.memory import Experiencer, Memory, MemoryKind, Temporality
from iamata.model.patient import PatientRow
from iamata.model.reading import Citation, Format, Hit, Listing, Node, Page
from iamata.model.scope import Subject
from iamata.model.scope import patient as patient_subject
from iamata.model.session import Message, Session, Speaker, ToolCall, Turn
from iamata.model.statement import Aspect, Domain, Form, Label, Polarity
from iamata.model.thread import Changed, Recalled, Thread

Json = dict[str, Any]
T = TypeVar("T")

_OTHERS = {
    "informant": "informant",
    "recorder": "recorder",
    "performer": "performer",
    "verifier": "verifier",
    "transmitter": "transmitter",
    "custodian": "custodian",
    "instrument": "instrument",
    "onBehalfOf": "on_behalf_of",
}


def told(read: Callable[[Json], T], body: Any) -> T:
    """What `read` makes of the body. Raises Bug where something is missing."""
    try:
        return read(body)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        missing = f": {error.args[0]}" if isinstance(error, KeyError) else ""
        raise Bug(f"the server's answer is none of this version of the client{missing}") from error


def instant(said: str) -> datetime:
    at = datetime.fromisoformat(said)
    check_aware("a time of the server", at)
    return at


def instant_or_none(said: str | None) -> datetime | None:
    return instant(said) if said else None


def patient(of: Json) -> PatientRow:
    return PatientRow(of["id"], instant(of["createdAt"]), instant(of["updatedAt"]), of["version"])


def receipt(patient_id: str, of: Json) -> Receipt:
    """A receipt of one submission (one that stands for several is told as one)."""
    failure = of.get("failure") or {}
    return Receipt(
        id=of["ingestionId"],
        subject=patient_subject(patient_id),
        source=of["system"],
        format=of["family"],
        media_type=of["mimeType"],
        received_at=instant(of["receivedAt"]),
        status=IngestionStatus(of["status"]),
        document=of.get("documentId") or "",
        session=of["intake"][0].get("sessionId", ""),
        staged=Staged(**of["staged"]),
        sightings=of["sightings"],
        intake=tuple(_line(each) for each in of.get("lines", ())),
        warnings=tuple(of["warnings"]),
        started_at=instant_or_none(of.get("startedAt")),
        completed_at=instant_or_none(of.get("completedAt")),
        failure_code=failure.get("code", ""),
        failure=failure.get("message", ""),
    )


def _line(of: Json) -> IntakeLine:
    return IntakeLine(
        kind=of.get("kind", ""),
        place=of.get("place", ""),
        outcome=Outcome(of["outcome"]),
        reason=Reason(of.get("reason", "")),
        label=of.get("label", ""),
        detail=of.get("detail", ""),
    )


def author(of: Json) -> Author:
    return Author(Role(of["role"]), of.get("reference", ""), of.get("display", ""))


def attribution(of: Json) -> Attribution:
    """Of anything that carries `attribution`, `author` and `attributed`."""
    why = of["attributed"]
    return Attribution(
        kind=AttributionKind(of["attribution"]),
        author=author(of["author"]),
        rule=why["rule"],
        because=why.get("because", ""),
        directness=Directness(why["directness"]),
        certainty=Certainty(why["certainty"]),
        **{ours: author(why[theirs]) for theirs, ours in _OTHERS.items() if theirs in why},
    )


def authority(of: Json | None) -> Authority | None:
    if of is None:
        return None
    factors = tuple(Factor(each.get("name", ""), each["logOdds"], each.get("why", "")) for each in of["factors"])
    return Authority(of["task"], Aspect(of["aspect"]), of["weight"], of["logOdds"], factors)


def labels(of: Iterable[Json]) -> tuple[Label, ...]:
    return tuple(Label(each["system"], each["code"]) for each in of)


def hit(of: Json) -> Hit:
    return Hit(
        item=of["item"],
        kind=of["kind"],
        address=of["address"],
        title=of["title"],
        snippet=of["snippet"],
        score=of["score"],
        matched=tuple(of["matched"]),
    )


def context(request: ContextRequest, of: Json) -> Context:
    """The context for this request."""
    return Context(
        id=of["id"],
        request=request,
        text=of["text"],
        tokens=of["tokens"],
        items=tuple(_item(each) for each in of["items"]),
        conflicts=tuple(of["conflicts"]),
        left_out=tuple(
            LeftOut(each["address"], each["hint"], each["items"], LeftOutReason(each["reason"]))
            for each in of["leftOut"]
        ),
        fits=of["fits"],
        note=of["note"],
        stamp=of["stamp"],
        graph_version=of["graphVersion"],
        true_at=of["trueAt"],
        known_at=of["knownAt"] or "",
        labels=labels(of["labels"]),
    )


def _item(of: Json) -> ContextItem:
    return ContextItem(
        number=of["number"],
        item=of["item"],
        address=of["address"],
        text=of["text"],
        tokens=of["tokens"],
        authority=authority(of["authority"]),
        citations=tuple(of["citations"]),
        conflict=of["conflict"] or "",
        stale=of["stale"],
        safety=of["safety"],
        labels=labels(of["labels"]),
    )


def listing(of: Json) -> Listing:
    """A directory; of a file its one line, which rides along as `node`."""
    nodes = [of["node"]] if of["type"] == "file" else of["children"]
    return Listing(of["address"], tuple(_node(each) for each in nodes), of["stamp"])


def _node(of: Json) -> Node:
    directory = of["type"] == "directory"
    slash = "/" if directory else ""
    return Node(of["name"] + slash, of["address"], directory, of.get("hint", ""), of["tokens"], of["items"])


def page(of: Json) -> Page:
    return Page(
        address=of["address"],
        format=Format(of["format"]),
        text=of["content"],
        tokens=of["tokens"],
        shortened=of["shortened"],
        citations=tuple(_citation(each) for each in of["citations"]),
        stamp=of["stamp"],
    )


def _citation(of: Json) -> Citation:
    return Citation(
        handle=of["handle"],
        item=of["item"],
        attribution=attribution(of),
        source=of.get("source", ""),
        document=of.get("document", ""),
        place=of.get("place", ""),
        date=of.get("date", ""),
    )


def conflict(of: Json) -> Conflict:
    sides = tuple(Side(each["says"], tuple(each["items"])) for each in of["sides"])
    return Conflict(of["id"], ConflictKind(of["kind"]), of["fact"], of["field"], sides, of["rule"])


def session(of: Json) -> Session:
    id = of["sessionId"]
    return Session(id, of["patientId"], instant(of["createdAt"]), tuple(_message(id, each) for each in of["messages"]))


def _message(session_id: str, of: Json) -> Message:
    turn = Turn(
        speaker=Speaker(of["speaker"]),
        text=of["content"],
        relationship=of.get("relationship", ""),
        name=of.get("name", ""),
        said_at=instant_or_none(of.get("saidAt")),
        turn_id=of.get("turnId", ""),
        calls=tuple(_call(each) for each in of.get("toolCalls", ())),
    )
    injected = tuple((each["start"], each["end"]) for each in of.get("injected", ()))
    received = instant(of["receivedAt"])
    return Message(of["id"], session_id, of["index"], turn, received, injected, of.get("erased", False))


def _call(of: Json) -> ToolCall:
    return ToolCall(
        tool=of["tool"],
        arguments=of.get("arguments", ""),
        result=of.get("result", ""),
        failed=of.get("failed", False),
        called_at=instant_or_none(of.get("calledAt")),
        call_id=of.get("callId", ""),
    )


def memory(of: Json) -> Memory:
    quote = of["quote"]
    concept = of.get("concept", {})
    return Memory(
        id=of["id"],
        session=of["sessionId"],
        message=of["message"],
        start=quote["offsetStart"],
        end=quote["offsetEnd"],
        quote=quote["text"],
        kind=MemoryKind(of["kind"]),
        concept=CodedText(concept.get("text", ""), tuple(_coding(each) for each in of.get("codes", ()))),
        attribution=attribution(of),
        polarity=Polarity(of["polarity"]),
        experiencer=Experiencer(of["experiencer"]),
        temporality=Temporality(of["temporality"]),
        certain=of["certain"],
        relation=of.get("relation", ""),
        change=of.get("change", ""),
        since=of.get("since", ""),
        since_said=of.get("sinceSaid", ""),
        detail=tuple(of.get("detail", {}).items()),
        said_at=instant_or_none(of.get("saidAt")),
        received_at=instant(of["createdAt"]),
        extractors=tuple(of.get("extractors", ())),
    )


def _coding(of: Json) -> Coding:
    return Coding(of["system"], of["code"], of.get("display", ""), of.get("normal", ""))


def recalled(of: Json) -> Recalled:
    return Recalled(
        memory=memory(of),
        thread=of["thread"],
        relevance=of.get("relevance"),
        authority=authority(of.get("authority")),
    )


def thread(of: Json) -> Thread:
    return Thread(
        id=of["id"],
        about=of.get("about", ""),
        experiencer=of.get("experiencer", ""),
        relation=of.get("relation", ""),
        memories=tuple(memory(each) for each in of["memories"]),
        changed=tuple(Changed(each["memory"], each["field"], each["before"], each["after"]) for each in of["changed"]),
    )


def entry(of: Json) -> Entry:
    """A version of an entry of an organization, an operator or an agent."""
    return Entry(
        id=of["id"],
        subject=Subject.parse(of["subject"]),
        kind=EntryKind(of["kind"]),
        version=of["version"],
        title=of["title"],
        text=of["text"],
        attribution=attribution(of),
        recorded_at=instant(of["recordedAt"]),
        supersedes=of.get("supersedes", 0),
        retired=of.get("retired", False),
        effective_from=of.get("effectiveFrom", ""),
        effective_to=of.get("effectiveTo", ""),
        tags=tuple(of.get("tags", ())),
        document=of.get("document", ""),
        domain=Domain(of["domain"]),
        form=Form(of["form"]),
        passages=tuple(_passage(each) for each in of.get("passages", ())),
        reason=of.get("reason", ""),
    )


def _passage(of: Json) -> EntryPassage:
    place = of["place"]
    return EntryPassage(
        id=of["id"],
        text=of["text"],
        pointer=place["pointer"],
        heading=tuple(of["heading"]),
        start=place.get("start", 0),
        end=place.get("end", 0),
    )


def erasure(of: Json) -> Erasure:
    return Erasure(
        id=of["id"],
        kind=Erasable(of["kind"]),
        mark=of.get("mark", ""),
        person=of.get("person", ""),
        registration=of.get("registration", ""),
        at=instant(of["at"]),
        by=of.get("by", ""),
        counts=tuple(of.get("counts", {}).items()),
        allows=of.get("allows", ""),
        key=of.get("key", ""),
        signature=of.get("signature", ""),
    )


def hold(of: Json) -> Hold:
    return Hold(id=of["id"], by=of["by"], at=instant(of["at"]), reason=of["reason"], lifts=of.get("lifts", ""))
