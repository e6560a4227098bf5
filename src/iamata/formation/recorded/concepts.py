"""Are two concepts the same, refining, different, or can't we say? Codes first, then what the tables know, then names.

Names are folded, never guessed at: for medications, substances and vaccines an unlike name that the tables do not know
is another thing.
"""

from __future__ import annotations

from enum import StrEnum

from iamata.formation.recorded.said import Said
from iamata.model.coding import CodedText
from iamata.model.statement import Kind, Statement
from iamata.terminology import conditions, drugs, labs, vaccines
from iamata.terminology.names import fold

_LATERALITY = frozenset({"left", "right", "bilateral"})
_MEDICINES = frozenset({Kind.MEDICATION, Kind.MEDICATION_EVENT})


class Relation(StrEnum):
    SAME_CODE = "same-code"
    SAME_CONCEPT = "same-concept"  # the tables know both: ingredients, substance, vaccine or condition group, test
    SAME_NAME = "same-name"
    REFINES = "refines"  # one is a part of the other, or its less specific name
    REVIEW = "review"  # something that matters is not said on one side: a person must tell
    DIFFERENT = "different"
    UNKNOWN = "unknown"

    @property
    def same(self) -> bool:
        return self in (Relation.SAME_CODE, Relation.SAME_CONCEPT, Relation.SAME_NAME)

    @property
    def compatible(self) -> bool:
        return self.same or self in (Relation.REFINES, Relation.REVIEW)


# Kinds that are the same when they share a group, and what they are when they share none.
_BY_GROUP = {
    Kind.OBSERVATION: Relation.DIFFERENT,
    Kind.INSURANCE: Relation.DIFFERENT,
}
_OF_CONDITIONS = {
    conditions.Relation.SAME: Relation.SAME_CONCEPT,
    conditions.Relation.REFINES: Relation.REFINES,
    conditions.Relation.SIBLING: Relation.DIFFERENT,
    conditions.Relation.DIFFERENT: Relation.DIFFERENT,
}
_OF_DRUGS = {
    drugs.Relation.SAME: Relation.SAME_CONCEPT,
    drugs.Relation.REFINES: Relation.REFINES,
    drugs.Relation.REVIEW: Relation.REVIEW,
    drugs.Relation.DIFFERENT: Relation.DIFFERENT,
}


def groups(kind: Kind, concept: CodedText | None) -> frozenset[str]:
    """What the tables know a concept as, for finding candidates; empty if nothing."""
    if concept is None:
        return frozenset()
    if kind in _MEDICINES:
        drug = drugs.read(concept)
        return frozenset({f"drug:{' + '.join(sorted(drug.ingredients))}"}) if drug else frozenset()
    if kind is Kind.ALLERGY:
        substance = drugs.substance(concept)
        return frozenset({f"substance:{substance}"}) if substance else frozenset()
    if kind is Kind.IMMUNIZATION:
        found = vaccines.group(concept)
        return frozenset({f"vaccine:{' + '.join(sorted(found))}"}) if found else frozenset()
    if kind is Kind.CONDITION:
        known = conditions.group(concept)
        return frozenset({f"condition:{known}"}) if known else frozenset()
    if kind is Kind.OBSERVATION:
        test = labs.test(concept)
        return frozenset({f"test:{test.id}"}) if test else frozenset()
    return frozenset()


def groups_of(statement: Statement, concept: CodedText | None) -> frozenset[str]:
    """`groups`, and beside them what a panel is by its members and a policy by who pays."""
    found = groups(statement.kind, concept)
    if statement.kind is Kind.OBSERVATION and len(statement.components) > 1 and statement.field("value") is None:
        members = sorted((c.concept.keys or (fold(c.concept.display),))[0] for c in statement.components)
        found |= {f"panel:{' + '.join(members)}"}
    if statement.kind is Kind.INSURANCE:
        payer = statement.field("payor") or statement.field("plan")
        if payer is not None:
            found |= {f"payer:{fold(getattr(payer, 'display', str(payer)))}"}
    return found


def analyte(item: Said) -> str:
    """What `conversion` asks for when two amounts of this test are compared; empty if only like units compare."""
    test = labs.test(item.concept) if item.kind is Kind.OBSERVATION and item.concept is not None else None
    return test.analyte if test else ""


def relate(left: Said, right: Said) -> Relation:
    """How the concepts of two statements of one kind relate; symmetric.

    A shared code decides. Else what the tables know of both does. Else codes of one system that differ are different,
    whatever the names say; and with no code in common to compare, equal names are the same, and a name within the
    other refines it.
    """
    if left.keys & right.keys:
        return Relation.SAME_CODE
    known = _known(left, right)
    if known is not None:
        return known
    comparable = {key.partition("|")[0] for key in left.keys} & {key.partition("|")[0] for key in right.keys}
    a, b = set(left.name.split()), set(right.name.split())
    within = bool(a) and bool(b) and a != b and (a < b or b < a)
    if comparable:
        return Relation.REFINES if within else Relation.DIFFERENT
    if not a or not b:
        return Relation.UNKNOWN
    if left.name == right.name:
        return Relation.SAME_NAME
    return Relation.REFINES if within else Relation.DIFFERENT


def _known(left: Said, right: Said) -> Relation | None:
    """What the tables say of the two; None where they do not know both."""
    if not left.groups or not right.groups:
        return None
    if left.kind in _BY_GROUP:
        return Relation.SAME_CONCEPT if left.groups & right.groups else _BY_GROUP[left.kind]
    if left.concept is None or right.concept is None:
        return None
    if left.kind in _MEDICINES:
        a, b = drugs.read(left.concept), drugs.read(right.concept)
        return _OF_DRUGS[drugs.same(a, b)] if a is not None and b is not None else None
    if left.kind is Kind.CONDITION:
        return _OF_CONDITIONS.get(conditions.relation(left.concept, right.concept))
    return Relation.SAME_CONCEPT if left.groups == right.groups else Relation.DIFFERENT


def sides_of(statement: Statement, concept: CodedText | None) -> frozenset[str]:
    """The sides named in the concept or the body site: left, right, bilateral; empty if none is named."""
    words = fold(concept.display) if concept else ""
    site = statement.field("body_site")
    if site is not None:
        words += f" {fold(getattr(site, 'display', str(site)))}"
    return _LATERALITY.intersection(words.split())
