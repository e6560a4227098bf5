"""How do entries look, and what is sent to write one? The shapes that HTTP, MCP and the command line share."""

from __future__ import annotations

from typing import Annotated

import msgspec

from iamata.errors import BadInput
from iamata.interfaces.wire.ids import to_model
from iamata.interfaces.wire.origins import attribution
from iamata.interfaces.wire.requests import Words
from iamata.interfaces.wire.values import Json, given, instant
from iamata.model.attribution import AttributionKind
from iamata.model.entry import Entry, EntryDraft, EntryKind, EntryPassage, Inferred
from iamata.model.scope import Subject
from iamata.model.statement import Domain


class EntryBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/entries`: what is written. With the `id` of an entry it is the next version of that one. Of a
    patient `derivedFrom` names ids or addresses of what it was inferred from."""

    kind: EntryKind
    title: Words
    text: Words
    id: str = ""
    author: str = ""
    effective_from: str = ""
    effective_to: str = ""
    tags: list[str] = []
    domain: Domain = Domain.CLINICAL
    reason: str = ""
    derived_from: list[str] = []


class RetirementBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/entries/{entryId}/retirement`: why, and from which day on (empty: at once)."""

    reason: str = ""
    effective_from: Annotated[str, msgspec.Meta(max_length=10)] = ""


class RefusalBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST …/entries/{entryId}/refusal`: why, or that the refusal is taken back."""

    reason: str = ""
    withdraw: bool = False


class LearnBody(msgspec.Struct, frozen=True, rename="camel"):
    """The body of `POST /v1/learn`: whose patterns are learned too, and of how many patients at least."""

    organization: str = ""
    least_patients: int = 11


def draft(subject: Subject, of: EntryBody) -> EntryDraft:
    return EntryDraft(
        subject=subject,
        kind=of.kind,
        title=of.title,
        text=of.text,
        id=of.id,
        author=of.author,
        effective_from=of.effective_from,
        effective_to=of.effective_to,
        tags=tuple(of.tags),
        domain=of.domain,
        reason=of.reason,
        derived_from=tuple(to_model(each) for each in of.derived_from),
    )


def kinds(said: list[str]) -> list[EntryKind]:
    """Raises BadInput for a name that is no kind."""
    try:
        return [EntryKind(each) for each in said]
    except ValueError:
        raise BadInput(f"a kind is one of {', '.join(EntryKind)}", place="kind") from None


def attributed(said: str) -> AttributionKind | None:
    """`system`, `user` or `agent`, with or without `-reported`; None for an empty one. Raises BadInput."""
    if not said:
        return None
    for each in (AttributionKind.SYSTEM, AttributionKind.USER, AttributionKind.AGENT):
        if said in (each.value, each.value.removesuffix("-reported")):
            return each
    raise BadInput("an attribution is system, user or agent", place="attribution")


def entry(of: Entry, *, passages: bool = False) -> Json:
    """One version; its passages by number, or whole."""
    return {
        "id": of.id,
        "subject": str(of.subject),
        "scope": of.subject.scope.value,
        "kind": of.kind.value,
        "version": of.version,
        "title": of.title,
        "text": of.text,
        "recordedAt": instant(of.recorded_at),
        "domain": of.domain.value,
        "form": of.form.value,
        **attribution(of.attribution),
        **given(
            {
                "supersedes": of.supersedes or None,
                "retired": of.retired or None,
                "reason": of.reason,
                "effectiveFrom": of.effective_from,
                "effectiveTo": of.effective_to,
                "tags": list(of.tags),
                "document": of.document,
                "derivedFrom": [{"item": each.item, "what": each.what} for each in of.derived_from],
                "passageCount": len(of.passages) or None,
                "passages": [passage(each) for each in of.passages] if passages else None,
            }
        ),
    }


def inferred(of: Inferred) -> Json:
    """What an agent inferred, with what has changed since of what it was derived from."""
    return entry(of.entry) | {"stale": of.stale, "changed": list(of.changed)}


def passage(of: EntryPassage) -> Json:
    span = {"start": of.start, "end": of.end} if of.end else {}
    return {"id": of.id, "heading": list(of.heading), "text": of.text, "place": {"pointer": of.pointer, **span}}
