"""How does an item look to a consent? What its record is called, its type, codes, authors, labels and time."""

from __future__ import annotations

from iamata.model.coding import CodedText
from iamata.model.consent import RULES_FIELD
from iamata.model.passage import Passage
from iamata.model.statement import Label, Statement
from iamata.policy.consent import Matter, times_of


def matter_of(item: Statement | Passage, labels: frozenset[Label]) -> Matter:
    """Of a statement or a passage, with the labels that it carries here."""
    record = item.provenance.record
    authors = frozenset(each.reference for each in item.authorship if each.reference)
    names = frozenset(filter(None, (record.reference, record.url)))
    if isinstance(item, Passage):
        return Matter(names=names, types=frozenset({record.type}), authors=authors, labels=labels)
    codes = {(coding.system, coding.code) for concept in _concepts(item) for coding in concept.codings}
    return Matter(
        names=names,
        types=frozenset({record.type}),
        codes=frozenset(codes),
        references=frozenset(each.reference for each in item.references if each.reference),
        authors=authors,
        labels=labels,
        at=times_of(item),
    )


def is_consent(statement: Statement) -> bool:
    """Does it hold provisions (`model.consent`)?"""
    return statement.field(RULES_FIELD) is not None


def _concepts(statement: Statement) -> list[CodedText]:
    found = [statement.concept] if statement.concept is not None else []
    found += [field.value for field in statement.fields if isinstance(field.value, CodedText)]
    for component in statement.components:
        found.append(component.concept)
        if isinstance(component.value, CodedText):
            found.append(component.value)
    return found
