"""How does an item look to a consent? What its record is called, its type, codes, authors, labels and time."""

from __future__ import annotations

import msgspec

from iamata.model.coding import CodedText
from iamata.model.consent import RULES_FIELD, ConsentRules
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


def tells_of_privacy(statement: Statement) -> bool:
    """Is it a consent about privacy that makes exceptions, and so tells what is to be kept from whom?"""
    told = statement.field(RULES_FIELD)
    if not isinstance(told, str):
        return False
    rules = msgspec.json.decode(told, type=ConsentRules)
    return rules.privacy and bool(rules.provisions)


def _concepts(statement: Statement) -> list[CodedText]:
    found = [statement.concept] if statement.concept is not None else []
    found += [field.value for field in statement.fields if isinstance(field.value, CodedText)]
    for component in statement.components:
        found.append(component.concept)
        if isinstance(component.value, CodedText):
            found.append(component.value)
    return found
