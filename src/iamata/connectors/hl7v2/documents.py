"""What is said of a document: TXA, with the text of its OBX?"""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.authorship import evidence, participants
from iamata.connectors.hl7v2.context import Context, lines_of, notes, withdraw
from iamata.connectors.hl7v2.drafts import Draft, Text
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.results import DOCUMENT_TEXTS, attachments, standing_text
from iamata.connectors.hl7v2.values import coded_in, entity_in, time_in, words_of
from iamata.model.clinical_time import Clock
from iamata.model.statement import Aspect, Kind, Label
from iamata.terminology.hl7v2 import event, status, word

_CONFIDENTIALITY = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality"


def document(group: Group, context: Context) -> Iterator[Draft]:
    """TXA: the document, its writers and clocks, and its text: OBX of one name in a row are one passage."""
    head = group.head
    own, parent = entity_in(head, 12), entity_in(head, 13)
    kind = coded_in(head, 2, table="0270")
    draft = Draft(
        head=head,
        kind=Kind.DOCUMENT,
        type="TXA",
        aspect=Aspect.RECORDED,
        record=f"document/{own}" if own is not None else "",
        concept=kind,
        evidence=[*evidence("TXA", head), *participants(group), *context.transmitter()],
    )
    draft.name(own)
    complete, available = head.text(17), head.text(19)
    draft.means(complete, status("TXA-17", complete))
    draft.means(available, status("TXA-19", available))
    draft.means("", event("TXA", context.trigger))
    draft.set("title", head.text(25) or head.text(16))
    draft.set("storage", head.text(20))
    restricted = word("0272", head.text(18))
    if restricted:
        draft.labels.append(Label(_CONFIDENTIALITY, restricted))
    draft.time(Clock.EFFECTIVE, time_in(head, 4))
    draft.time(Clock.AUTHORED, time_in(head, 6))
    draft.time(Clock.PREPARED, time_in(head, 7))
    draft.time(Clock.STATUS_CHANGED, time_in(head, 8))
    if parent is not None:
        relation = "relatesTo:replaces" if word("replaces", context.trigger) == "replaces" else "addsTo"
        draft.refer(f"{relation}/TXA-13", f"document/{parent}")
    withdraw(draft, context)
    context.refer_to_visit(draft)
    notes(draft, group)
    left = []
    for run in runs(group):
        segments = tuple(member.head for member in run if standing_text(member.head))
        text = lines_of(segments, 5)
        if text.strip():
            own_evidence = evidence("OBX", segments[0])
            draft.texts.append(
                Text(segments, 5, text, words_of(coded_in(segments[0], 3)), tuple(own_evidence or draft.evidence))
            )
        for member in run:
            for number in (2, 3, 4):
                member.head.field(number)
            notes(draft, member)
    for member in group.members:
        left += list(attachments(member, draft))
    draft.set("attachment", "; ".join(dict.fromkeys(left)))
    yield draft


def runs(group: Group) -> list[list[Group]]:
    """The OBX of a document that hold text, those of one name that follow each other together."""
    found: list[list[Group]] = []
    before = None
    for member in group.members:
        head = member.head
        if not is_text(member):
            before = None
            continue
        named = (head.peek(3), head.peek(4))
        if found and named == before:
            found[-1].append(member)
        else:
            found.append([member])
        before = named
    return found


def is_text(member: Group) -> bool:
    return member.head.peek(2).strip().upper() in DOCUMENT_TEXTS
