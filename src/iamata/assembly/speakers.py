"""Who says so, in words a clinician uses? `mother`, `patient`, `Dr Ames`; and how it is said: `reported by mother`.

Reads resolved attributions; decides none.
"""

from __future__ import annotations

from functools import cache
from typing import Final, assert_never

from iamata.assembly.neighbours import statement_day
from iamata.assembly.tree import Tree
from iamata.assembly.wording import coded, name, rows
from iamata.model.attribution import Attribution, AttributionKind, Author, Certainty, Directness, Role
from iamata.model.coding import CodedText
from iamata.model.memory import Memory
from iamata.model.session import Speaker, Turn
from iamata.model.speaking import attribution
from iamata.model.statement import Statement

_UNKNOWN: Final = Attribution(
    AttributionKind.UNDETERMINED, Author(Role.UNKNOWN), rule="none", certainty=Certainty.ASSUMED
)

# How a capacity is named when the source gives no better name.
_ROLES: Final = {
    Role.PATIENT: "patient",
    Role.PROXY: "caregiver",
    Role.CLINICIAN: "clinician",
    Role.COORDINATOR: "coordinator",
    Role.PHARMACY: "pharmacy",
    Role.LAB: "laboratory",
    Role.INSTRUMENT: "device",
    Role.PAYER: "payer",
    Role.INSTITUTION: "institution",
    Role.STAFF: "staff",
    Role.OPERATOR: "operator",
    Role.AGENT: "an AI agent",
    Role.SOFTWARE: "software",
    Role.UNKNOWN: "author unknown",
}


@cache
def _relations() -> frozenset[str]:
    return frozenset(row["words"] for row in rows("code_words.tsv") if row["field"] == "relationship")


def attribution_of(tree: Tree, item: str) -> Attribution:
    """Of a statement, passage, memory, inference or turn of talk; undetermined when the graph has none."""
    if item in tree.inferred:
        return tree.inferred[item].entry.attribution
    memory = tree.graph.memories.get(item)
    if memory is not None:
        return memory.attribution
    message = tree.neighbours.messages.get(item)
    if message is not None:
        return attribution(message.turn)
    return tree.graph.attributions.get(item, _UNKNOWN)


def author_words(tree: Tree, attribution: Attribution, source: str = "") -> str:
    """The author as a reader would name them. A person of care by the name the source gives, the patient and those who
    speak for the patient by what they are (`patient`, `mother`), never by name."""
    author = attribution.author
    match author.role:
        case Role.PATIENT:
            return "patient"
        case Role.PROXY:
            return _relation(tree, author, source) or _ROLES[Role.PROXY]
        case Role.AGENT | Role.SOFTWARE:
            return f"{_ROLES[author.role]} ({name(author.display)})" if author.display else _ROLES[author.role]
        case _:
            return name(author.display) if author.display else _ROLES[author.role]


def _relation(tree: Tree, author: Author, source: str) -> str:
    person = tree.neighbours.persons.get((source, author.reference)) if author.reference else None
    if person is not None:
        relationship = person.field("relationship")
        words = coded(relationship, "relationship") if isinstance(relationship, CodedText) else str(relationship or "")
        if words:
            return words.casefold()
    shown = author.display.casefold().strip()
    return shown if shown in _relations() else ""


def memory_speaker(tree: Tree, memory: Memory) -> str:
    """Who said a remembered thing: `patient`, `mother`, `clinician` …"""
    message = tree.neighbours.messages.get(memory.message)
    if message is not None and message.turn.relationship and memory.attribution.author.role is Role.PROXY:
        return name(message.turn.relationship).casefold()
    return author_words(tree, memory.attribution)


def speaker_words(turn: Turn) -> str:
    """Who takes a turn: `mother` for a caregiver whose relationship is told, a person of care by the name that is
    given, else what they are."""
    if turn.speaker is Speaker.CAREGIVER and turn.relationship:
        return name(turn.relationship).casefold()
    if turn.speaker in (Speaker.CLINICIAN, Speaker.COORDINATOR) and turn.name:
        return name(turn.name)
    return _ROLES[Role.AGENT] if turn.speaker is Speaker.AGENT else turn.speaker.value


def says(tree: Tree, statement: Statement) -> str:
    """How a statement that is not plainly system-reported is said: `reported by mother 2026-02-14`. Empty for a plain
    system-reported one."""
    attribution = attribution_of(tree, statement.id)
    words = author_words(tree, attribution, statement.source)
    when = statement_day(statement)
    date = f" {when}" if when else ""
    hint = _hint(attribution)
    match attribution.kind:
        case AttributionKind.SYSTEM:
            return ""
        case AttributionKind.USER:
            return f"reported by {words}{hint}{date}"
        case AttributionKind.AGENT:
            verifier = attribution.verifier
            checked = f", verified by {name(verifier.display) or _ROLES[verifier.role]}" if verifier else ""
            return f"from {words}{hint}{checked}{date}"
        case AttributionKind.UNDETERMINED:
            return f"author not stated{date}"
    assert_never(attribution.kind)


def _hint(attribution: Attribution) -> str:
    if attribution.directness is Directness.SECOND_HAND:
        return " at second hand"
    return " (as far as known)" if attribution.certainty is not Certainty.STATED else ""


def by_whom(tree: Tree, statement: Statement) -> str:
    """The author in every case, for the lines that must name one: `Dr Ames`, `mother`, else the source system."""
    attribution = attribution_of(tree, statement.id)
    if attribution.author.display or attribution.author.role not in (Role.UNKNOWN, Role.INSTITUTION):
        return author_words(tree, attribution, statement.source)
    return name(statement.source)
