"""What is said of allergies, diagnoses, problems, goals and procedures: AL1, IAM, DG1, PRB, GOL, PR1?"""

from __future__ import annotations

from collections.abc import Iterator

from iamata.connectors.hl7v2.authorship import evidence, participants, reporter
from iamata.connectors.hl7v2.context import Context, concept_key, notes, withdraw
from iamata.connectors.hl7v2.drafts import Draft
from iamata.connectors.hl7v2.grouping import Group
from iamata.connectors.hl7v2.segments import Segment
from iamata.connectors.hl7v2.values import by_url, coded_in, coding, entity_in, period, time_in, words_of
from iamata.model.clinical_time import Clock, parse_time
from iamata.model.coding import CodedText
from iamata.model.statement import Aspect, Component, Domain, Kind, Polarity
from iamata.terminology.hl7v2 import aspect, status, word
from iamata.terminology.statuses import negation


def allergy(group: Group, context: Context) -> Iterator[Draft]:
    """AL1, and IAM with its reactions (IAR)."""
    head = group.head
    adverse = head.name == "IAM"
    allergen = coded_in(head, 3)
    instance = entity_in(head, 7) if adverse else None
    draft = Draft(
        head=head,
        kind=Kind.ALLERGY,
        type=head.name,
        aspect=Aspect.REACTED,
        record=f"allergy/{instance or concept_key(allergen)}" if instance or allergen else "",
        concept=allergen,
        evidence=[
            *(reporter(head) if adverse else ()),
            *evidence("IAM", head if adverse else None),
            *participants(group),
            *context.transmitter(),
        ],
    )
    draft.name(instance)
    said = negation(by_url(allergen)) if allergen is not None else None
    if said is not None:
        if not said.denied:
            return
        draft.polarity = Polarity.DENIED
        draft.set("covers", said.category)
    draft.set("category", word("0127", head.text(2)))
    severity = word("0128", head.text(4))
    draft.set("criticality", word("0128-criticality", head.text(4)))
    for reaction in head.repetitions(5):
        text = reaction.literal.strip()
        if text:
            draft.components.append(Component(CodedText(text), severity or None))
    if adverse:
        _adverse(draft, head)
        for segment in (s for s in group.attached if s.name == "IAR"):
            manifestation = coded_in(segment, 1)
            if manifestation is not None:
                own = word("0128", segment.text(2)) or severity or None
                draft.components.append(Component(manifestation, own))
            draft.set("reaction_text", segment.text(4))
    else:
        draft.time(Clock.ASSERTED, time_in(head, 6))
    if not draft.components:
        draft.set("severity", severity)
    withdraw(draft, context)
    notes(draft, group)
    if allergen is not None:
        yield draft


def _adverse(draft: Draft, head: Segment) -> None:
    action, clinical = head.text(6), head.text(17)
    draft.means(clinical, status("IAM-17", clinical))
    draft.means(action, status("IAM-6", action))
    draft.set("type", word("0436", head.text(9)))
    draft.set("action_reason", head.text(8))
    onset = time_in(head, 11)
    words = head.text(12)
    draft.time(Clock.EFFECTIVE, onset or (parse_time(words) if words else None))
    draft.time(Clock.ASSERTED, time_in(head, 26) or time_in(head, 13))
    draft.time(Clock.AUTHORED, time_in(head, 24))
    draft.time(Clock.VERIFIED, time_in(head, 20))


def diagnosis(group: Group, context: Context) -> Iterator[Draft]:
    """DG1: a diagnosis of the visit, working or final; of an account or a charge, billed."""
    head = group.head
    concept = _diagnosis_concept(head)
    kind = head.text(6)
    rule = aspect("DG1", context.code, kind)
    identifier = entity_in(head, 20)
    visit = context.visit_number()
    draft = Draft(
        head=head,
        kind=Kind.CONDITION,
        type="DG1",
        aspect=rule.aspect,
        domain=Domain.FINANCIAL if rule.aspect is Aspect.BILLED else Domain.CLINICAL,
        concept=concept,
        evidence=[*evidence("DG1", head), *participants(group), *context.transmitter()],
    )
    if identifier is not None:
        draft.record = f"condition/{identifier}"
    elif visit is not None and concept is not None:
        draft.record = f"condition/{visit}/{concept_key(concept)}/{kind.upper()}".rstrip("/")
    draft.name(identifier)
    if rule.verification is not None:
        draft.verification = rule.verification
    action = head.text(21)
    draft.means(action, status("DG1-21", action))
    if draft.withdrawn and not draft.record:
        draft.left.append("deletes a diagnosis that it does not name")
    shown = word("0052", kind)
    draft.set("category", CodedText(f"{shown} diagnosis", ()) if shown else None)
    draft.set("priority", head.text(15))
    draft.set("classification", coded_in(head, 17, table="0228"))
    described = head.text(4)
    draft.set("description", described if described != words_of(concept) else None)
    draft.time(Clock.ASSERTED, time_in(head, 5))
    draft.time(Clock.SIGNED, time_in(head, 19))
    withdraw(draft, context)
    context.refer_to_visit(draft)
    notes(draft, group)
    if concept is not None:
        yield draft


def _diagnosis_concept(head: Segment) -> CodedText | None:
    """DG1-3; a bare code is of the system of DG1-2 and described by DG1-4; without a code, the description."""
    concept = coded_in(head, 3)
    described, method = head.text(4), head.text(2)
    if concept is None:
        return CodedText(described) if described else None
    if not concept.codings and method:
        bare = coding(concept.text, described, method)
        return CodedText("", (bare,)) if bare is not None else concept
    if not concept.codings and described:
        return CodedText(described, tuple(filter(None, (coding(concept.text, "", ""),))))
    if described and not concept.text and not any(c.display for c in concept.codings):
        return CodedText(described, concept.codings)
    return concept


def problem(group: Group, context: Context) -> Iterator[Draft]:
    """PRB: a problem of the problem list."""
    head = group.head
    concept, identifier = coded_in(head, 3), entity_in(head, 4)
    draft = Draft(
        head=head,
        kind=Kind.CONDITION,
        type="PRB",
        aspect=Aspect.DIAGNOSED,
        record=f"condition/{identifier}" if identifier is not None else "",
        concept=concept,
        evidence=[*participants(group), *context.transmitter()],
    )
    draft.name(identifier)
    life, sure, action = head.text(14), head.text(13), head.text(1)
    draft.means(life, status("PRB-14", life) or status("PRB-14", head.text(14, 2)))
    draft.means("", status("PRB-13", sure) or status("PRB-13", head.text(13, 2)))
    draft.means(action, status("PRB-1", action))
    draft.set("category", CodedText("problem list"))
    draft.set("classification", coded_in(head, 10))
    draft.set("onset_text", head.text(17))
    onset = time_in(head, 16)
    draft.time(
        Clock.EFFECTIVE, period(onset or (parse_time(head.text(17)) if head.text(17) else None), time_in(head, 9))
    )
    draft.time(Clock.ASSERTED, time_in(head, 2))
    draft.time(Clock.AUTHORED, time_in(head, 7))
    withdraw(draft, context)
    context.refer_to_visit(draft)
    notes(draft, group)
    if concept is not None or identifier is not None:
        yield draft


def goal(group: Group, context: Context) -> Iterator[Draft]:
    """GOL: a goal."""
    head = group.head
    concept, identifier = coded_in(head, 3), entity_in(head, 4)
    draft = Draft(
        head=head,
        kind=Kind.GOAL,
        type="GOL",
        aspect=Aspect.WANTED,
        record=f"goal/{identifier}" if identifier is not None else "",
        concept=concept,
        evidence=[*participants(group), *context.transmitter()],
    )
    draft.name(identifier)
    life, action = head.text(18), head.text(1)
    draft.means(life, status("GOL-18", life) or status("GOL-18", head.text(18, 2)))
    draft.means(action, status("GOL-1", action))
    draft.set("description", words_of(concept))
    draft.set("due", time_in(head, 8))
    draft.set("classification", coded_in(head, 10))
    draft.time(Clock.ASSERTED, time_in(head, 2))
    draft.time(Clock.AUTHORED, time_in(head, 7))
    withdraw(draft, context)
    notes(draft, group)
    if concept is not None or identifier is not None:
        yield draft


def procedure(group: Group, context: Context) -> Iterator[Draft]:
    """PR1: a procedure done, or billed."""
    head = group.head
    concept = coded_in(head, 3)
    described = head.text(4)
    if concept is None and described:
        concept = CodedText(described)
    rule = aspect("PR1", context.code)
    identifier, visit = entity_in(head, 19), context.visit_number()
    at = time_in(head, 5)
    draft = Draft(
        head=head,
        kind=Kind.PROCEDURE,
        type="PR1",
        aspect=rule.aspect,
        domain=Domain.FINANCIAL if rule.aspect is Aspect.BILLED else Domain.CLINICAL,
        concept=concept,
        evidence=[*evidence("PR1", head), *participants(group), *context.transmitter()],
    )
    if identifier is not None:
        draft.record = f"procedure/{identifier}"
    elif visit is not None and concept is not None:
        draft.record = f"procedure/{visit}/{concept_key(concept)}/{at.text if at is not None else ''}".rstrip("/")
    draft.name(identifier)
    action = head.text(20)
    draft.means(action, status("PR1-20", action))
    draft.set("category", coded_in(head, 6, table="0230"))
    draft.set("reason", coded_in(head, 15))
    draft.set("modifier", coded_in(head, 16))
    draft.set("description", described if described != words_of(concept) else None)
    draft.time(Clock.EFFECTIVE, at)
    withdraw(draft, context)
    context.refer_to_visit(draft)
    notes(draft, group)
    if concept is not None:
        yield draft
