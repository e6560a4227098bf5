"""Which items count no more because the whole document that said them was replaced by its source?

Not here: contents of one record that supersede each other (`supersession`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import cache

from iamata.model.statement import SUPPORTING_KINDS, Reference, Statement
from iamata.terminology.tables import rows

_VERSION = "version"


@cache
def _replacing() -> frozenset[tuple[str, str, str]]:
    return frozenset((row["kind"], row["record"], row["element"]) for row in rows("document_replacements"))


def replaced_with_documents(
    statements: Mapping[str, Statement],
    found: Iterable[tuple[Statement, Reference, Statement]],
    seen_in: Mapping[str, Set[str]],
    superseded: Mapping[str, str],
) -> dict[str, str]:
    """Statement id → id of the document statement that replaces the document it stood in; the replaced document's own
    statement included.

    `found` are resolved references, `seen_in` the documents in which each statement was seen, `superseded` what
    supersession says. An item goes with its document only if it was seen nowhere else. Documents that replace each
    other in a circle replace nothing.
    """
    refers: dict[str, list[Statement]] = defaultdict(list)
    heirs: dict[str, set[str]] = defaultdict(set)
    for statement, reference, target in found:
        element = reference.element.partition("/")[0]
        if (statement.kind.value, statement.provenance.record.type, element) not in _replacing():
            refers[statement.id].append(target)
        elif target.kind is statement.kind and target.id != statement.id:
            heirs[target.id].add(statement.id)
    for old, new in superseded.items():
        record, later = statements[old].provenance.record, statements[new].provenance.record
        if record.version != later.version and (statements[old].kind.value, record.type, _VERSION) in _replacing():
            heirs[old].add(new)
    pairs = [(old, min(news)) for old, news in sorted(heirs.items()) if old not in _reached(min(news), heirs)]
    outdated = {document for old, new in pairs for document in seen_in[old] - seen_in[new]}
    return {id: new for old, new in pairs for id in (old, *_held(old, refers)) if seen_in[id] <= outdated}


def may_replace(statement: Statement) -> bool:
    """Does it say that its document takes the place of another?"""
    kind, record = statement.kind.value, statement.provenance.record.type
    return any((kind, record, each.element.partition("/")[0]) in _replacing() for each in statement.references)


def _reached(start: str, heirs: Mapping[str, set[str]]) -> set[str]:
    """What takes the place of this document, and of those that do."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for heir in heirs.get(waiting.pop(), ()):
            if heir not in reached:
                reached.add(heir)
                waiting.append(heir)
    return reached


def _held(document: str, refers: Mapping[str, list[Statement]]) -> set[str]:
    """The items that a document's list leads to, directly or by way of others; no persons, no other lists."""
    held: set[str] = set()
    waiting = [document]
    while waiting:
        for target in refers.get(waiting.pop(), ()):
            if target.kind not in SUPPORTING_KINDS and target.id not in held:
                held.add(target.id)
                waiting.append(target.id)
    return held
