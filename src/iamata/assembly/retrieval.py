"""Which items of one patient's graph speak of what is asked? BM25 over stems, codes, synonyms, and graph neighbours.

All of a patient fits in memory, so the search is exact and the same on every store. Scores order the hits of one
query; what an item counts for a task is authority's.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from iamata.assembly.postings import Postings
from iamata.assembly.speakers import attribution_of, speaker_words
from iamata.assembly.tree import Tree, address, as_tree
from iamata.assembly.turns import Turns
from iamata.assembly.wording import coded, inert, name, value_words
from iamata.assembly.words import STOP, WORD, fold, stems
from iamata.errors import InvalidValue
from iamata.model.attribution import AttributionKind, Role
from iamata.model.clinical_time import ClinicalTime
from iamata.model.coding import CodedText
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.memory import Memory
from iamata.model.reading import Hit
from iamata.model.session import Message
from iamata.model.statement import Component, Value

# The words of a name tell what an item is about, those of its fields only something of it.
_NAME_COUNTS: Final = 3
# What a code that is asked for by itself adds: more than any word, so that `J45` finds the condition before a mention.
_CODE_SCORE: Final = 25.0
_CODE_PREFIX_SCORE: Final = 12.0
_SYNONYM_SHARE: Final = 0.6
_SHORTEST_MISSPELT: Final = 5
_ALIKE: Final = 0.8
_NEIGHBOUR_SHARE: Final = 0.2
_QUERY_TOKENS: Final = 1000
_QUERY_PHRASES: Final = 200  # words of a query whose runs are looked up for synonyms
_QUERY_CHARS: Final = 20_000
_TEXT_CHARS: Final = 20_000
_SNIPPET_CHARS: Final = 160

_FILTER = re.compile(r'\b(kind|source|attribution|after|before):("[^"]*"|\S+)')
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?\Z")
# Roles of persons of care: their names may be searched for. The patient's and a caregiver's may not.
_CARE: Final = frozenset({Role.CLINICIAN, Role.COORDINATOR, Role.PHARMACY, Role.LAB, Role.PAYER, Role.INSTITUTION})
# Fields that name persons or ways to reach them, or only keep the books.
_UNSEARCHED: Final = frozenset({"name", "address", "telecom", "member_id", "note_count", "link_id"})

Synonyms = Callable[[str], tuple[str, ...]]


class Doc(msgspec.Struct, gc=False):
    """A text that can be found: its title counts more than its words; `codes` are found by themselves."""

    id: str
    kind: str
    title: str
    text: str
    also: str
    codes: tuple[str, ...]
    sources: frozenset[str]
    attributions: frozenset[AttributionKind]
    day: str

    def words(self) -> Counter[str]:
        """How often each word counts here; not kept, because the postings say the same."""
        counts = Counter(stems(fold(self.text)))
        for word in stems(fold(self.title)):
            counts[word] += _NAME_COUNTS
        if self.also:
            counts.update(stems(fold(self.also)))
        return counts


class _Asked(msgspec.Struct, frozen=True):
    """A query read: words with their weight, the raw words that may be codes, and the filters."""

    words: tuple[tuple[str, float], ...]
    codes: tuple[str, ...]
    kinds: frozenset[str]
    sources: tuple[str, ...]
    attributions: tuple[str, ...]
    after: str
    before: str


class Lexical:
    """A search index over texts. Built once, read only. `synonyms` maps a word or a phrase, in lower case, to others
    that mean the same. What the texts are, and where each stands, is for those that extend this."""

    def __init__(
        self,
        docs: Iterable[Doc],
        *,
        synonyms: Synonyms = lambda text: (),
        names: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`names` are names of drugs that a misspelt word may have meant, beside the words of the titles."""
        self._synonyms, self._names = synonyms, names
        self._docs: dict[str, Doc] = {doc.id: doc for doc in sorted(docs, key=lambda doc: doc.id)}
        self._ids = tuple(self._docs)
        self._codes: defaultdict[str, list[str]] = defaultdict(list)
        sets: dict[frozenset[Any], frozenset[Any]] = {}  # most items have the same few sources and attributions
        for doc in self._docs.values():
            doc.sources = sets.setdefault(doc.sources, doc.sources)
            doc.attributions = sets.setdefault(doc.attributions, doc.attributions)
            for code in doc.codes:
                self._codes[code].append(doc.id)
        self._words = Postings(doc.words() for doc in self._docs.values())

    def __len__(self) -> int:
        return len(self._docs)

    def _address(self, id: str) -> str:
        """Where an item stands."""
        raise NotImplementedError

    def _with_neighbours(self, scores: dict[str, float]) -> dict[str, float]:
        """The scores, with what is linked to what was found."""
        return scores

    def _beside(self, scores: dict[str, float], asked: _Asked) -> dict[str, float]:
        """What a search finds beside what has a score of its own."""
        return {}

    def _holds(self, stem: str) -> bool:
        """Does this word stand anywhere here?"""
        return stem in self._words

    def _doc(self, id: str) -> Doc:
        return self._docs[id]

    def search(self, query: str, *, kinds: Iterable[str] = (), limit: int = 10) -> list[Hit]:
        """The best hits, by descending score, ties by id; at most `limit`. A turn of talk is left out where a memory of
        it is found, unless messages are asked for.

        Words, codes (`J45`, `44054006`) and filters: `kind:medication`, `source:Northside`, `attribution:user`,
        `after:2020` and `before:2021-06` (the day itself is after, and not before). Filters alone list what passes
        them, newest first. Only the first 1,000 words of a query are read. Raises InvalidValue for a filter that is
        none.
        """
        asked = self._ask(query, kinds)
        if limit <= 0:
            return []
        scores = self._scored(asked)
        scores |= self._beside(scores, asked)
        if not scores and not asked.words and not asked.codes and _filters(asked):
            listed = sorted(self._docs.values(), key=lambda doc: doc.id)
            listed = sorted((doc for doc in listed if _passes(doc, asked)), key=lambda doc: doc.day, reverse=True)
            return [self._hit(doc, 0.0, asked) for doc in listed[:limit]]
        order = sorted(scores, key=lambda id: (-round(scores[id], 6), id))
        return [self._hit(self._doc(id), round(scores[id], 6), asked) for id in order[:limit]]

    def scores(self, query: str, *, kinds: Iterable[str] = ()) -> dict[str, float]:
        """Every item but turns of talk that the query touches, by id, and its score (> 0). The query is free text: what
        looks like a filter is read as words, so that no message can be refused."""
        return self._scored(self._ask(query, kinds, filters=False))

    def did_you_mean(self, query: str) -> str:
        """The query with each word that stands nowhere here, and that means nothing known, put as the most alike word
        that does stand here or names a drug; empty if no word is put otherwise."""
        changed = False
        parts = []
        for part in re.split(r"(\W+)", query[:_QUERY_CHARS])[: 2 * _QUERY_PHRASES]:
            other = "" if self._stands(part) else self._alike(part.casefold())
            changed = changed or bool(other)
            parts.append(other or part)
        return "".join(parts) if changed else ""

    def _stands(self, word: str) -> bool:
        folded = [each for each in fold(word) if each not in STOP]
        if len(word) < _SHORTEST_MISSPELT or not word.isalpha() or not folded or self._synonyms(word.casefold()):
            return True
        return all(self._holds(stem) for stem in stems(folded))

    def _alike(self, word: str) -> str:
        near = [name for name in self._names() if name[:1] == word[:1] and abs(len(name) - len(word)) <= 2]
        near += sorted(
            {
                each
                for doc in self._docs.values()
                for each in fold(doc.title)
                if each[:1] == word[:1] and abs(len(each) - len(word)) <= 2
            }
        )
        return next(iter(difflib.get_close_matches(word, near, n=1, cutoff=_ALIKE)), "")

    # reading a query

    def _ask(self, query: str, kinds: Iterable[str], *, filters: bool = True) -> _Asked:
        text = query[:_QUERY_CHARS]
        found: defaultdict[str, list[str]] = defaultdict(list)
        for match in _FILTER.finditer(text) if filters else ():
            found[match[1]].append(match[2].strip('"').casefold())
        for key in ("after", "before"):
            for value in found[key]:
                if not _DATE.match(value):
                    raise InvalidValue(f"{key}: takes a date as YYYY, YYYY-MM or YYYY-MM-DD", place="query")
        plain = _FILTER.sub(" ", text) if filters else text
        said = list(fold(plain))[:_QUERY_TOKENS]
        words = dict.fromkeys(stems(word for word in said if word not in STOP), 1.0)
        for phrase in _phrases(plain):
            for other in self._synonyms(phrase):
                for word in stems(word for word in fold(other) if word not in STOP):
                    words.setdefault(word, _SYNONYM_SHARE)
        codes = dict.fromkeys(
            raw.casefold().strip(".,;()") for raw in plain.split()[:_QUERY_TOKENS] if any(c.isdigit() for c in raw)
        )
        return _Asked(
            words=tuple(sorted(words.items())),
            codes=tuple(code for code in codes if len(code) >= 3),
            kinds=frozenset(k.casefold() for k in (*kinds, *found["kind"])),
            sources=tuple(found["source"]),
            attributions=tuple(found["attribution"]),
            after=max(found["after"], default=""),
            before=min(found["before"], default=""),
        )

    # scoring

    def _scored(self, asked: _Asked) -> dict[str, float]:
        found = self._words.scores(asked.words)
        scores = defaultdict(float, {self._ids[number]: score for number, score in found.items()})
        for code in asked.codes:
            for known, holders in self._codes.items():
                if known == code or (known.startswith(code) and known[len(code)] in ".-"):
                    for id in holders:
                        scores[id] += _CODE_SCORE if known == code else _CODE_PREFIX_SCORE
        fused = self._with_neighbours(scores)
        return {id: score for id, score in sorted(fused.items()) if score > 0 and _passes(self._docs[id], asked)}

    # hits

    def _hit(self, doc: Doc, score: float, asked: _Asked) -> Hit:
        words = {word for word, _ in asked.words}
        snippet, matched = _snippet(doc.text, words)
        matched = matched or tuple(sorted(code for code in asked.codes if any(c.startswith(code) for c in doc.codes)))
        return Hit(doc.id, doc.kind, self._address(doc.id), name(doc.title), snippet, score, matched)


class Index(Lexical):
    """The search index of one graph, as large as the text of the graph.

    Searched are facts and events, memories, inferences, turns of talk, passages and documents: names, codes, values,
    quotes, and of authors only persons of care.
    """

    def __init__(
        self, graph: Graph | Tree, *, synonyms: Synonyms = lambda text: (), names: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self._tree = as_tree(graph)
        super().__init__(self._read(), synonyms=synonyms, names=names)
        self._turns = Turns(self._tree.graph.sessions)

    @property
    def tree(self) -> Tree:
        """The tree that the index was built on, for those who read what was found."""
        return self._tree

    def _address(self, id: str) -> str:
        return address(self._tree, id)

    def _holds(self, stem: str) -> bool:
        return super()._holds(stem) or stem in self._turns

    def _beside(self, scores: dict[str, float], asked: _Asked) -> dict[str, float]:
        """Turns of talk, but those of which a memory is among the items."""
        if asked.kinds and "message" not in asked.kinds:
            return {}
        memories = self._tree.graph.memories
        told = {memories[id].message for id in scores if id in memories} if not asked.kinds else set()
        narrowed = asked.sources or asked.attributions or asked.after or asked.before
        return {
            id: score
            for id, score in self._turns.scores(asked.words).items()
            if id not in told and (not narrowed or _passes(self._doc(id), asked))
        }

    def _doc(self, id: str) -> Doc:
        return self._docs.get(id) or self._turn(self._tree.neighbours.messages[id])

    def _turn(self, message: Message) -> Doc:
        turn = message.turn
        return doc_of(
            message.id,
            "message",
            speaker_words(turn),
            turn.text[:_TEXT_CHARS],
            sources={"conversation"},
            attributions={attribution_of(self._tree, message.id).kind},
            day=_day_of(turn.said_at or message.received_at),
        )

    def _with_neighbours(self, scores: dict[str, float]) -> dict[str, float]:
        """Each item adds a share of its best linked neighbour, so that the medicine for what was asked is found too."""
        links = self._tree.neighbours.links
        fused = dict(scores)
        gains: dict[str, float] = {}
        for id in sorted(scores):
            for link in links.get(id, ()):
                other = link.target if link.origin == id else link.origin
                if other in self._docs and other != id:
                    gains[other] = max(gains.get(other, 0.0), scores[id] * link.confidence)
        for id, gain in gains.items():
            fused[id] = fused.get(id, 0.0) + _NEIGHBOUR_SHARE * gain
        return fused

    # reading the graph

    def _read(self) -> Iterator[Doc]:
        graph = self._tree.graph
        for fact in graph.facts.values():
            yield self._fact(fact)
        for memory in graph.memories.values():
            yield self._memory(memory)
        for id, passage in graph.passages.items():
            title = passage.title or "note"
            author = attribution_of(self._tree, id)
            yield doc_of(
                id,
                "passage",
                title,
                passage.text[:_TEXT_CHARS],
                sources={passage.provenance.source},
                attributions={author.kind},
                day=self._tree.by_day.get(id, ""),
            )
        for id, held in self._tree.inferred.items():
            entry = held.entry
            author = entry.attribution
            words = " · ".join(filter(None, (entry.text, " ".join(entry.tags), "inference")))
            sources = {author.author.display} - {""}
            day = entry.recorded_at.date().isoformat()
            yield doc_of(id, entry.kind.value, entry.title, words, sources=sources, attributions={author.kind}, day=day)
        for id, document in graph.documents.items():
            received = _day_of(document.received_at)
            text = f"{document.format} {document.source} {received}"
            yield doc_of(id, "document", document.format, text, sources={document.source}, day=received)

    def _fact(self, fact: Fact) -> Doc:
        graph = self._tree.graph
        held = [
            graph.statements[id] for id in (*fact.members, *(id for id, _ in fact.history)) if id in graph.statements
        ]
        words = [fact.display, fact.kind.value.replace("_", " ")]
        codes: dict[str, None] = {}
        for concept in [fact.concept, *(statement.concept for statement in held)]:
            if concept is not None:
                words += _concept(concept)
                codes.update(dict.fromkeys(_code_forms(concept)))
        for field in fact.fields:
            if field.name not in _UNSEARCHED:
                words.append(_value(field.value, field.name))
                if isinstance(field.value, CodedText):
                    codes.update(dict.fromkeys(_code_forms(field.value)))
        for component in fact.components:
            words += _component(component)
            codes.update(dict.fromkeys(_code_forms(component.concept)))
        kinds = set()
        for statement in held:
            attribution = attribution_of(self._tree, statement.id)
            kinds.add(attribution.kind)
            if attribution.author.role in _CARE and attribution.author.display:
                words.append(attribution.author.display)
        return doc_of(
            fact.id,
            fact.kind.value,
            fact.display,
            " · ".join(dict.fromkeys(word for word in words if word)),
            codes=codes,
            sources={statement.source for statement in held},
            attributions=kinds,
            day=self._tree.by_day.get(fact.id, ""),
        )

    def _memory(self, memory: Memory) -> Doc:
        about = coded(memory.concept)
        kind = memory.kind.value.replace("_", " ")
        words = [memory.quote, about, kind, memory.change, *(value for _, value in memory.detail)]
        return doc_of(
            memory.id,
            memory.kind.value,
            about or kind,
            " · ".join(dict.fromkeys(word for word in words if word)),
            codes=_code_forms(memory.concept),
            sources={"conversation"},
            attributions={memory.attribution.kind},
            day=self._tree.by_day.get(memory.id, ""),
            also="memory",
        )


def doc_of(
    id: str,
    kind: str,
    title: str,
    text: str,
    *,
    codes: Iterable[str] = (),
    sources: Iterable[str] = (),
    attributions: Iterable[AttributionKind] = (),
    day: str = "",
    also: str = "",
) -> Doc:
    """A text for an index. `day` is the day it tells of, `also` a word more that finds it."""
    return Doc(
        id,
        kind,
        title,
        text,
        also,
        tuple(codes),
        frozenset(source.casefold() for source in sources),
        frozenset(attributions),
        day,
    )


def _day_of(at: datetime) -> str:
    return at.date().isoformat()


def _concept(concept: CodedText) -> list[str]:
    return [concept.text, *(coding.display for coding in concept.codings)]


def _code_forms(concept: CodedText) -> list[str]:
    return [coding.code.casefold() for coding in concept.codings if coding.code]


def _component(component: Component) -> list[str]:
    value = _value(component.value, "value") if component.value is not None else ""
    return [*_concept(component.concept), value]


def _value(value: Value, field: str) -> str:
    if isinstance(value, CodedText):
        return " ".join(dict.fromkeys(word for word in _concept(value) if word))
    return (
        value
        if isinstance(value, str)
        else value.text
        if isinstance(value, ClinicalTime)
        else value_words(value, field)
    )


def _phrases(text: str) -> Iterator[str]:
    """The words of a query and its runs of two and three, in lower case: what synonyms are asked for."""
    words = [word.casefold() for word in WORD.findall(text)[:_QUERY_PHRASES]]
    for size in (1, 2, 3):
        for start in range(len(words) - size + 1):
            yield " ".join(words[start : start + size])


def _filters(asked: _Asked) -> bool:
    return bool(asked.kinds or asked.sources or asked.attributions or asked.after or asked.before)


_MEMORY: Final = frozenset({"memory", "memories"})


def _passes(doc: Doc, asked: _Asked) -> bool:
    if asked.kinds and doc.kind not in asked.kinds and not (asked.kinds & _MEMORY and doc.id.startswith("lm_")):
        return False
    if asked.sources and not any(wanted in source for wanted in asked.sources for source in doc.sources):
        return False
    if asked.attributions and not any(
        kind.value.startswith(wanted) for wanted in asked.attributions for kind in doc.attributions
    ):
        return False
    if asked.after and (not doc.day or _last(doc.day) < _first(asked.after)):
        return False
    return not asked.before or bool(doc.day and _first(doc.day) < _first(asked.before))


def _first(day: str) -> str:
    """The first day that a date of any precision can mean."""
    return (day + "-01-01")[:10] if len(day) == 4 else (day + "-01")[:10]


def _last(day: str) -> str:
    return (day + "-12-31")[:10] if len(day) == 4 else (day + "-31")[:10]


def _snippet(text: str, words: set[str]) -> tuple[str, tuple[str, ...]]:
    """The words around the first match, whole words, inert on one line; and which words of the query it holds."""
    if not text.isprintable():
        text = " ".join(text.split())
    matched: dict[str, None] = {}
    first = -1
    for match in WORD.finditer(text):
        if any(word in words for word in stems(fold(match[0]))):
            first = match.start() if first < 0 else first
            matched[match[0].casefold()] = None
    start = max(0, first - _SNIPPET_CHARS // 3)
    if start:
        start = text.find(" ", start) + 1 or start
    end = start + _SNIPPET_CHARS
    if end < len(text):
        cut = text.rfind(" ", start + _SNIPPET_CHARS // 2, end)
        end = cut if cut > 0 else end
    shown = inert(text[start:end].strip(" ·"))
    return f"{'… ' if start else ''}{shown}{' …' if end < len(text) else ''}", tuple(sorted(matched))
