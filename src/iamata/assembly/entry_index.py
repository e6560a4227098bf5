"""Which entries and passages of one subject speak of what is asked? The search of patients' graphs, over entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from iamata.assembly.entry_tree import EntryTree
from iamata.assembly.retrieval import Doc, Lexical, Synonyms, doc_of


class EntryIndex(Lexical):
    """The index of one tree of entries: titles, headings, texts and tags. An entry with passages is found by its title
    and by each of them."""

    def __init__(
        self, tree: EntryTree, *, synonyms: Synonyms = lambda text: (), names: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self.tree = tree
        super().__init__(_docs(tree), synonyms=synonyms, names=names)

    def _address(self, id: str) -> str:
        return self.tree.address_of(id)


def _docs(tree: EntryTree) -> Iterator[Doc]:
    for entry in tree.entries.values():
        day = entry.effective_from or entry.recorded_at.date().isoformat()
        sources = {entry.attribution.author.display} - {""}
        kinds = {entry.attribution.kind}
        kind = entry.kind.value
        words = " · ".join(filter(None, (entry.text, " ".join(entry.tags), kind.replace("_", " "))))
        yield doc_of(entry.id, kind, entry.title, words, sources=sources, attributions=kinds, day=day)
        for passage in entry.passages:
            title = " › ".join(passage.heading) or entry.title
            yield doc_of(
                passage.id, kind, title, passage.text, sources=sources, attributions=kinds, day=day, also="passage"
            )
