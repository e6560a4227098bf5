"""What of everything held exists for a reader whose token opens some kinds of statement only?

Like labels it comes before the fold: what is not seen is in no fact, count, conflict or search. Talk, passages and
whole documents are of no kind of statement, so such a reader has none of them. What supports others (who an author is,
what a reference to a product leads to) is read for what is seen and is no item of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

import msgspec

from iamata.model.access import Access, Seen
from iamata.model.coding import CodedText
from iamata.model.graph import Held
from iamata.model.identifiers import content_digest
from iamata.model.ruling import RecordRef, Ruling
from iamata.model.statement import SUPPORTING_KINDS, Statement
from iamata.policy.smart import kinds_of


def kinds_key(seen: frozenset[Seen]) -> str:
    """Readers with the same key have the same kinds opened."""
    return content_digest(*(f"{each.kind} {each.resource}?{each.category}" for each in sorted(seen)))[:16]


def within(held: Held, access: Access) -> Held:
    """What is held, without what this reader's token does not open. The same value if it opens everything."""
    if access.seen is None:
        return held
    seen = access.seen
    rereadings = tuple(
        msgspec.structs.replace(each, statements=_seen(each.statements, seen), passages=()) for each in held.rereadings
    )
    statements = _seen(held.statements, seen)
    items = {each.id for of in (statements, *(r.statements for r in rereadings)) for each in of if _opens(seen, each)}
    sightings = (held.sightings, *(each.sightings for each in held.rereadings))
    holding = {seen_at.document for some in sightings for seen_at in some if seen_at.item in items}
    return msgspec.structs.replace(
        held,
        statements=statements,
        documents=tuple(each for each in held.documents if each.id in holding),
        rulings=_on(held.rulings, {RecordRef.of(each) for each in statements if _opens(seen, each)}),
        passages=(),
        sessions=(),
        memories=(),
        relearnings=(),
        entries=(),
        readings=(),
        rereadings=rereadings,
    )


def _on(rulings: Iterable[Ruling], records: Set[RecordRef]) -> tuple[Ruling, ...]:
    """The rulings on these records alone, and the withdrawals of these."""
    mine = [
        each
        for each in rulings
        if each.memory is None and all(ref in records for ref in (each.left, each.right) if ref is not None)
    ]
    ids = {each.id for each in mine}
    return tuple(each for each in mine if not each.withdraws or each.withdraws in ids)


def _seen(statements: Iterable[Statement], seen: frozenset[Seen]) -> tuple[Statement, ...]:
    return tuple(each for each in statements if each.kind in SUPPORTING_KINDS or _opens(seen, each))


def _opens(seen: frozenset[Seen], statement: Statement) -> bool:
    came_as = statement.provenance.record.type
    return any(
        each.kind is statement.kind
        and (came_as == each.resource or came_as not in kinds_of())
        and (not each.category or each.category in _categories(statement))
        for each in seen
    )


def _categories(statement: Statement) -> frozenset[str]:
    """`code` and `system|code` of the statement's categories as sent."""
    found: set[str] = set()
    for field in statement.fields:
        if field.name == "category" and isinstance(field.value, CodedText):
            for coding in field.value.codings:
                found |= {coding.code, f"{coding.system}|{coding.code}"}
    return frozenset(found)
