"""Entries of every scope: written, taken from files, retired, listed, opened; and the trees that are no patient's."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from iamata.engine.writing import Sent
from iamata.errors import BadInput
from iamata.interfaces.http.asking import Here, JsonBody, Pages, When, Who, documents_body, listed
from iamata.interfaces.http.replies import download, json_reply
from iamata.interfaces.http.routes.tree import Budget, browsed, rendered
from iamata.interfaces.http.schemas import body_schema, documents_schema
from iamata.interfaces.wire import entries as wire
from iamata.interfaces.wire.answers import under
from iamata.interfaces.wire.entries import EntryBody, LearnBody, RefusalBody, RetirementBody
from iamata.interfaces.wire.requests import read as read_json
from iamata.interfaces.wire.values import page
from iamata.model.entry import EntryDraft
from iamata.model.reading import Format
from iamata.model.scope import Scope, Subject
from iamata.model.statement import Domain


class Subjects(StrEnum):
    """The scopes as they stand in a path."""

    PATIENTS = "patients"
    ORGANIZATIONS = "organizations"
    OPERATORS = "operators"
    AGENTS = "agents"


_SCOPES = {
    Subjects.PATIENTS: Scope.PATIENT,
    Subjects.ORGANIZATIONS: Scope.ORGANIZATION,
    Subjects.OPERATORS: Scope.OPERATOR,
    Subjects.AGENTS: Scope.AGENT,
}

router = APIRouter(prefix="/v1/{subjects}/{subject_id}", tags=["entries"])


learning = APIRouter(prefix="/v1", tags=["entries"])


@learning.post("/learn", operation_id="learn", openapi_extra=body_schema(LearnBody))
def learn(served: Here, access: Who, body: JsonBody) -> Response:
    """Learn cues, habits and patterns from the recorded tool calls of all patients: what is new, changed or retired."""
    asked = read_json(body, LearnBody)
    made = served.engine.learn(organization=asked.organization, least_patients=asked.least_patients, access=access)
    return json_reply({"data": [wire.entry(each) for each in made]})


def named(subjects: Annotated[Subjects, Path()], subject_id: Annotated[str, Path()]) -> Subject:
    """The subject that the path names. Raises InvalidValue for an id that cannot be one."""
    return Subject(_SCOPES[subjects], subject_id)


Of = Annotated[Subject, Depends(named)]
TreePath = Annotated[str, Query(description="Relative to the subject, such as `/guidelines`.")]


@router.get("/entries", operation_id="list-entries")
def list_entries(
    served: Here,
    access: Who,
    subject: Of,
    paging: Pages,
    when: When,
    kind: Annotated[list[str] | None, Query(description="Only of these kinds; may be repeated or hold commas.")] = None,
    tag: Annotated[list[str] | None, Query(description="Only with all of these tags.")] = None,
    attribution: Annotated[str, Query(description="Only `system`, `user` or `agent` reported.")] = "",
    history: Annotated[bool, Query(description="Every version, also those that are not in force.")] = False,
    passages: Annotated[bool, Query(description="With the passages of each, not their number alone.")] = False,
) -> Response:
    """The entries that are in force, by id; passages are counted only, unless asked for. Of a patient what agents
    inferred, and whether what that was derived from has changed since."""
    found = served.engine.entries(
        subject,
        kinds=wire.kinds(listed(kind)),
        tags=listed(tag),
        attribution=wire.attributed(attribution),
        history=history,
        known_at=when.known_at,
        true_at=when.true_at,
        access=access,
    )
    first = paging.number * paging.size
    state = {}
    if subject.scope is Scope.PATIENT and not history:
        held = served.engine.inferences(subject.id, known_at=when.known_at, true_at=when.true_at, access=access)
        state = {each.entry.id: wire.inferred(each) for each in held}
    shown = [state.get(each.id) or wire.entry(each, passages=passages) for each in found[first : first + paging.size]]
    return json_reply(page(shown, len(found), paging.number, paging.size))


@router.post("/entries", operation_id="put-entry", status_code=201, openapi_extra=body_schema(EntryBody))
def put_entry(served: Here, access: Who, subject: Of, body: JsonBody) -> Response:
    """Write an entry, or the next version of one. What says the same as the newest version adds nothing."""
    made = served.engine.put_entry(wire.draft(subject, read_json(body, EntryBody)), access=access)
    return json_reply(wire.entry(made), status=201)


@router.post("/entries/files", operation_id="ingest-entry", status_code=201, openapi_extra=documents_schema())
def ingest_entry(
    served: Here,
    access: Who,
    subject: Of,
    documents: Annotated[list[Sent], Depends(documents_body())],
    kind: Annotated[str, Query(description="What the file is, such as `guideline` or `formulary`.")],
    title: Annotated[str, Query(description="What it is called; the same title again is the next edition.")],
    id: Annotated[str, Query(description="The entry that this is the next version of.")] = "",
    author: Annotated[str, Query(description="Who issued it.")] = "",
    effective_from: Annotated[str, Query(alias="effectiveFrom", description="In force from this day on.")] = "",
    effective_to: Annotated[str, Query(alias="effectiveTo", description="In force until this day.")] = "",
    tag: Annotated[list[str] | None, Query(description="Tags; may be repeated or hold commas.")] = None,
    domain: Domain = Domain.CLINICAL,
    reason: Annotated[str, Query(description="Why there is a new version.")] = "",
) -> Response:
    """An entry of a file (Markdown, PDF, HTML, DOCX, RTF, text, CSV): its sections or rows become passages."""
    if len(documents) != 1:
        raise BadInput("an entry comes from one file", place="documents")
    (sent,) = documents
    (of,) = wire.kinds([kind])
    draft = EntryDraft(
        subject=subject,
        kind=of,
        title=title,
        id=id,
        author=author,
        effective_from=effective_from,
        effective_to=effective_to,
        tags=tuple(listed(tag)),
        domain=domain,
        reason=reason,
    )
    made = served.engine.ingest_entry(draft, sent.body, name=sent.name, media_type=sent.media_type, access=access)
    return json_reply(wire.entry(made), status=201)


@router.get("/entries/{entry_id}", operation_id="get-entry")
def get_entry(
    served: Here,
    access: Who,
    subject: Of,
    entry_id: str,
    when: When,
    version: Annotated[int, Query(ge=0, description="This version, whether in force or not.")] = 0,
) -> Response:
    """One entry as it is in force, whole."""
    found = served.engine.entry(
        subject, entry_id, version=version, known_at=when.known_at, true_at=when.true_at, access=access
    )
    return json_reply(wire.entry(found, passages=True))


@router.post("/entries/{entry_id}/retirement", operation_id="retire-entry", openapi_extra=body_schema(RetirementBody))
def retire_entry(served: Here, access: Who, subject: Of, entry_id: str, body: JsonBody) -> Response:
    """Take an entry out of force, at once or from a day on. What it said stays known."""
    asked = read_json(body, RetirementBody)
    made = served.engine.retire_entry(
        subject, entry_id, reason=asked.reason, effective_from=asked.effective_from, access=access
    )
    return json_reply(wire.entry(made))


@router.post(
    "/entries/{entry_id}/refusal",
    operation_id="refuse-entry",
    status_code=204,
    openapi_extra=body_schema(RefusalBody),
)
def refuse_entry(served: Here, access: Who, subject: Of, entry_id: str, body: JsonBody) -> Response:
    """Refuse what an agent or the engine has learned, or take the refusal back: it is not learned again until then."""
    asked = read_json(body, RefusalBody)
    served.engine.refuse_entry(subject, entry_id, reason=asked.reason, withdraw=asked.withdraw, access=access)
    return Response(status_code=204)


@router.delete("/entries/{entry_id}", operation_id="erase-entry", status_code=204)
def erase_entry(served: Here, access: Who, subject: Of, entry_id: str) -> Response:
    """Erase one entry of an organization, operator or agent: every version, and the files that no other came from.
    Irreversible. The header `Iamata-Erasure` names the receipt. 410 if it was erased before."""
    erased = served.engine.erase_entry(subject, entry_id, access=access)
    return Response(status_code=204, headers={"Iamata-Erasure": erased.id})


@router.delete("", operation_id="delete-subject", status_code=204)
def delete_subject(served: Here, access: Who, subject: Of) -> Response:
    """Erase an organization, operator or agent with everything held; irreversible, and fine if it is gone. The header
    `Iamata-Erasure` names the receipt. An entry of it that is written afterwards begins it anew."""
    erased = served.engine.delete_subject(subject, access=access)
    return Response(status_code=204, headers={"Iamata-Erasure": erased.id} if erased else None)


@router.get("/documents/{document_id}/content", operation_id="get-entry-document")
def document_content(served: Here, access: Who, subject: Of, document_id: str) -> Response:
    """The file that an entry came from, exactly as received. Sent as a download in a sandbox."""
    media, body = served.engine.entry_document(subject, document_id, access=access)
    return download(document_id, body, media)


@router.get("/vfs", operation_id="browse-entries")
def browse(served: Here, access: Who, request: Request, subject: Of, when: When, path: TreePath = "/") -> Response:
    """A directory of the subject's tree, or a file with its content."""
    return browsed(served, access, request, under(f"/{subject}", path), when)


@router.get("/read", operation_id="read-entries")
def read(
    served: Here,
    access: Who,
    request: Request,
    subject: Of,
    when: When,
    path: TreePath = "/",
    format: Format = Format.NARRATIVE,
    token_budget: Budget = None,
) -> Response:
    """A file of the subject's tree, rendered."""
    return rendered(served, access, request, under(f"/{subject}", path), when, format, token_budget)
