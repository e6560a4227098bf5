"""What does an item that somebody asks about mean, and why does it stand there? Leads to the bytes, or to the entry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from iamata.assembly import entry_tree, explanation, navigation, rendering
from iamata.assembly import pipeline as assembly
from iamata.assembly.entry_tree import EntryTree
from iamata.connectors import entry_files, registry
from iamata.engine.graphs import Loaded
from iamata.errors import Gone, NotFound
from iamata.model.access import Access
from iamata.model.document import Document
from iamata.model.provenance import Place
from iamata.model.reading import Explanation
from iamata.model.scope import Scope, Subject
from iamata.model.stamp import Moment
from iamata.policy import access as policy
from iamata.policy.rules import Policy
from iamata.ports import Store


def explained(
    store: Store,
    loaded: Loaded,
    item: str,
    *,
    task: str,
    access: Access,
    rules: Policy,
    shows: Callable[[str, Place], bool],
    clean: Callable[[str], bool],
) -> Explanation:
    """The proof of an item, given as an id, an address or `ctx_…[12]`, and what it weighs for the task. `shows` says
    whether the bytes at a place of a document may be shown, `clean` whether a text may."""
    graph = loaded.graph
    patient = graph.subject.id
    cited, item = item, named(store, loaded, item)
    if (entry := _cited_entry(store, loaded, cited, item, access, rules)) is not None:
        return entry
    if item in loaded.inferred:
        return explanation.of_inference(loaded.inferred[item], address=navigation.address(loaded.tree, item))
    if item in graph.hidden:
        raise Gone(f"memory {item!r} was refused or hidden by {graph.hidden[item]}", what="memory", id=item)

    def excerpt(document: Document, place: Place) -> str:
        text = _excerpt(store, patient, document, place) if shows(document.id, place) else ""
        return text if clean(text) else ""

    try:
        found = explanation.explain(
            graph,
            item,
            address=navigation.address(loaded.tree, item),
            summary=rendering.line(
                loaded.tree, item, moment=graph.moment, citations=rendering.Citations.numbers(loaded.tree)
            ),
            excerpt=excerpt,
        )
    except NotFound:
        if _cites_erased(store, loaded, cited, item, access, rules):
            raise Gone(f"entry {item!r} was erased", what="entry", id=item) from None
        raise
    if graph.resolve(item) is None and item not in graph.statements and item not in graph.memories:
        return found
    weight = assembly.weigh(
        loaded.tree,
        item,
        index=loaded.index,
        profile=assembly.profile_of(task),
        aspect=None,
        moment=graph.moment,
    )
    return msgspec.structs.replace(found, authority=weight)


def named(store: Store, loaded: Loaded, item: str) -> str:
    """An id, an address, or `ctx_…[12]` as the id of an item."""
    if item.startswith("/"):
        return navigation.resolve(loaded.tree, item).item
    context, bracket, number = item.partition("[")
    if not bracket:
        return item
    for known, id in _reference(store, loaded.graph.subject.id, context)["items"]:
        if str(known) == number.rstrip("]"):
            return str(id)
    raise NotFound(what="citation", id=item)


def _reference(store: Store, patient: str, context: str) -> dict[str, Any]:
    """What was stored of a context. Raises NotFound."""
    body = store.context(patient, context)
    if body is None:
        raise NotFound(what="context", id=context)
    found: dict[str, Any] = msgspec.json.decode(body)
    return found


def _cited_entry(
    store: Store, loaded: Loaded, citation: str, id: str, access: Access, rules: Policy
) -> Explanation | None:
    """The version of an entry that stood in a context when it was assembled, if the reader may see it."""
    context, bracket, _ = citation.partition("[")
    if not bracket or citation.startswith("/"):
        return None
    stored = _reference(store, loaded.graph.subject.id, context)
    until = msgspec.convert(stored["known_at"], datetime)
    moment = Moment(true_at=msgspec.convert(stored["true_at"], datetime), known_at=until)
    for each in stored["request"]["subjects"]:
        subject = msgspec.convert(each, Subject)
        if subject.scope is not Scope.PATIENT and policy.decide(access, "read", subject, policy=rules).allowed:
            tree = EntryTree(subject, store.entries(subject), moment)
            if id in tree.entries or id in tree.passages:
                return explained_entry(store, tree, id)
    return None


def _cites_erased(store: Store, loaded: Loaded, citation: str, id: str, access: Access, rules: Policy) -> bool:
    """Did an entry, or a passage of one, stand there that was erased since? For who may read its subject."""
    context, bracket, _ = citation.partition("[")
    if not bracket or citation.startswith("/"):
        return False
    for each in _reference(store, loaded.graph.subject.id, context)["request"]["subjects"]:
        subject = msgspec.convert(each, Subject)
        if subject.scope is Scope.PATIENT or not policy.decide(access, "read", subject, policy=rules).allowed:
            continue
        # Only an erasure takes a passage of an entry away.
        if store.erased_entry(subject, id) is not None or id.startswith("ep_"):
            return True
    return False


def explained_entry(store: Store, tree: EntryTree, item: str) -> Explanation:
    """The proof of an entry or one of its passages, given as an id or an address. Raises NotFound."""
    if item.startswith("/"):
        item = entry_tree.resolve(tree, item).item or item
    if item in tree.entries:
        return explanation.of_entry(tree.entries[item], address=tree.address_of(item))
    if item not in tree.passages:
        raise NotFound(what="entry", id=item)
    entry, passage = tree.passages[item]
    about, body = store.entry_document(tree.subject, entry.document)
    text = entry_files.at(body, about.format, passage.pointer)
    excerpt = text[passage.start : passage.end] if passage.end else text
    return explanation.of_entry(entry, passage, address=tree.address_of(item), excerpt=excerpt)


def _excerpt(store: Store, patient: str, document: Document, place: Place) -> str:
    body = store.document_body(patient, document.id)
    return registry.excerpt(body, document.format, place) if body is not None else ""
