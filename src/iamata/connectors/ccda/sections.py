"""What does the body hold? Each section's entries as statements, its words as passages where entries do not say them.

CDA R2 4.3: the narrative is what a person has attested; entries repeat it in codes. A narrative without entries, and
prose that says more than the entries beside it, become passages with the section's authors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from iamata.connectors.ccda import markings
from iamata.connectors.ccda.drafts import Draft, Note
from iamata.connectors.ccda.header import evidence_of
from iamata.connectors.ccda.narrative import plain
from iamata.connectors.ccda.nodes import Node
from iamata.connectors.ccda.people import PARTS
from iamata.connectors.ccda.unstructured import embedded
from iamata.connectors.ccda.walking import ACTS, Scope, Walk
from iamata.model.document import IntakeLine, Outcome, Reason
from iamata.model.statement import Label
from iamata.terminology import cda
from iamata.terminology.names import fold

# A line of prose of fewer words is a heading or a cell, not a sentence that entries leave out.
_LEAST_WORDS: Final = 4

# The elements of a section (CDA R2, POCD_MT000040.Section) that are read, and those that say nothing of a patient.
_PARTS: Final = frozenset(
    {
        *("templateId", "realmCode", "typeId", "id", "code", "title", "text", "confidentialityCode", "languageCode"),
        *("subject", "author", "informant", "entry", "component", "section"),
    }
)
LAYOUT: Final = frozenset({"templateId", "realmCode", "typeId", "confidentialityCode", "languageCode"})


class Body:
    """Reads sections into a walk; the document's list gets their authors and entries."""

    def __init__(self, walk: Walk, document: Draft) -> None:
        self._walk = walk
        self._document = document

    def sections(self, holders: Iterable[Node], path: str, labels: tuple[Label, ...]) -> None:
        """The sections of a body or section, numbered in document order under `path`.

        What else stands there is read if it is an entry or an act, though it belongs into a section, else listed.
        """
        number = stray = 0
        for child in (each for holder in holders for each in _inside(holder)):
            if child.name == "section":
                self.section(child, f"{path}section/{number}", labels)
                number += 1
            elif child.name == "entry" or child.name in ACTS:
                entry = child
                if child.name != "entry":
                    entry = Node("entry", {}, None)
                    entry.children = [child]
                self.entry(entry, Scope(path.rstrip("/"), None, labels), f"{path}entry/stray-{stray}")
                stray += 1
            else:
                self.unread(child)

    def section(self, node: Node, path: str, labels: tuple[Label, ...]) -> None:
        walk = self._walk
        labels = markings.confidentiality(node, tuple(sorted({*labels, *markings.of_section(node)})))
        code = node.one("code")
        known = cda.section(code.get("code") if code is not None else "", node.templates())
        for name in ("author", "informant"):
            for index, each in enumerate(node.all(name)):
                self._document.evidence += walk.people.evidence(each, f"{path}/{name}/{index}", PARTS[name])
        scope = Scope(path, known, labels)
        about = node.at("subject", "relatedSubject")
        before = len(walk.drafts)
        entries = node.all("entry")
        if about is not None and "family" not in (known.readings.values() if known is not None else ()):
            self._line(node, Outcome.IGNORED, "about another person (subject), not about the patient", Reason.UNUSABLE)
            return
        for index, entry in enumerate(entries):
            self.entry(entry, scope, f"{path}/entry/{index}")
        self._stray(node, scope)
        made = walk.drafts[before:]
        passages = self._words(node, path, labels, known, made)
        inner = node.all("component", "section")  # a section inside stands in a component, or should
        self._account(node, entries, made, passages, bool(inner))
        self.sections([_holding(inner)], f"{path}/", labels)
        for child in node.children:
            if child.name not in _PARTS and child.name not in ACTS:
                self.unread(child)

    def entry(self, entry: Node, scope: Scope, held: str) -> None:
        """Everything an entry says; every statement of it is held by the list at `held`."""
        walk = self._walk
        before = len(walk.drafts)
        acts = [child for child in entry.children if child.name in ACTS]
        for act in acts:
            if markings.is_annotation(act):
                walk.marked(act)
            else:
                walk.read(act, scope)
        for draft in walk.drafts[before:]:
            draft.held = draft.held or held
            self._document.references.append((held, draft))
        if not acts:
            other = next((c.name for c in entry.children if c.name != "templateId"), "")
            reason = Reason.UNSUPPORTED if other else Reason.EMPTY
            detail = f"{other} is kept in the document, not read" if other else "an entry without an act"
            walk.lines.append(IntakeLine("entry", entry.place, Outcome.IGNORED, reason, "entry", detail))

    def unread(self, node: Node) -> None:
        """An element that has no place there: listed, unless it holds nothing."""
        if node.words or any(each.attrs for each in node.iter()):
            detail = f"{node.name} is kept in the document, not read"
            self._walk.lines.append(
                IntakeLine(node.name, node.place, Outcome.IGNORED, Reason.UNSUPPORTED, node.name, detail)
            )

    def _stray(self, node: Node, scope: Scope) -> None:
        """Acts that stand in a section without an entry around them: read all the same."""
        for index, act in enumerate(child for child in node.children if child.name in ACTS):
            before = len(self._walk.drafts)
            self._walk.read(act, scope)
            for draft in self._walk.drafts[before:]:
                self._document.references.append((f"{scope.path}/entry/stray-{index}", draft))

    def _words(
        self, node: Node, path: str, labels: tuple[Label, ...], known: cda.Section | None, made: list[Draft]
    ) -> int:
        """The passages of a section's text; how many."""
        text = node.one("text")
        words = plain(text) if text is not None else ""
        if not words or text is None:
            return 0
        spans = [(0, len(words))]
        if made:
            if known is not None and known.rows:
                return 0
            spans = self._unsaid(words, made)
        title = node.one("title")
        for start, end in spans:
            self._walk.notes.append(
                Note(
                    owner=self._document,
                    part=f"{path}/text",
                    place=text.place,
                    text=words[start:end],
                    title=title.words if title is not None else "",
                    start=start,
                    whole=(start, end) == (0, len(words)),
                    evidence=evidence_of(self._document, path),
                    labels=labels,
                )
            )
        return len(spans)

    def _unsaid(self, words: str, made: list[Draft]) -> list[tuple[int, int]]:
        """The stretches of lines that name nothing of what the entries say and are longer than a heading."""
        names = {fold(name) for draft in made for name in _names(draft)}
        names = {name for name in names if len(name) > 2}
        spans: list[tuple[int, int]] = []
        start = 0
        for line in words.split("\n"):
            end = start + len(line)
            folded = fold(line)
            if len(folded.split()) >= _LEAST_WORDS and "\t" not in line and not any(name in folded for name in names):
                if spans and spans[-1][1] + 1 == start:
                    spans[-1] = (spans[-1][0], end)
                else:
                    spans.append((start, end))
            start = end + 1
        return spans

    def _account(self, node: Node, entries: list[Node], made: list[Draft], passages: int, outer: bool) -> None:
        if made:
            detail = "its text says more than its entries: kept as passages" if passages else ""
            self._line(node, Outcome.STRUCTURED, detail)
        elif passages:
            self._line(node, Outcome.TEXT_ONLY, "its entries say nothing" if entries else "a narrative without entries")
        elif outer:
            self._line(node, Outcome.STRUCTURED, "holds sections")
        else:
            self._line(
                node, Outcome.IGNORED, "says that there is no information" if node.nil else "says nothing", Reason.EMPTY
            )

    def _line(self, node: Node, outcome: Outcome, detail: str, reason: Reason = Reason.NONE) -> None:
        code = node.one("code")
        label = f"section {code.get('code')[:40]}".strip() if code is not None else "section"
        self._walk.lines.append(IntakeLine("section", node.place, outcome, reason, label, detail))

    def unstructured(self, body: Node, labels: tuple[Label, ...]) -> None:
        """nonXMLBody: its text as a passage, if it can be read."""
        held = body.one("text")
        place = body.place
        words, left = embedded(held, self._walk.values) if held is not None else ("", "no text")
        if words.strip() and held is not None:
            self._walk.notes.append(
                Note(
                    owner=self._document,
                    part="body/text",
                    place=held.place,
                    text=words,
                    evidence=evidence_of(self._document, ""),
                    labels=labels,
                )
            )
            detail = "; ".join(filter(None, ("an unstructured body", left)))
            self._walk.lines.append(IntakeLine("document", place, Outcome.TEXT_ONLY, label="nonXMLBody", detail=detail))
            return
        reason = Reason.EMPTY if left in ("no text", "text is empty") else Reason.UNSUPPORTED
        self._walk.lines.append(IntakeLine("document", place, Outcome.IGNORED, reason, "nonXMLBody", left))


def _inside(holder: Node) -> Iterable[Node]:
    """What a body or component holds, without the components around it."""
    for child in holder.children:
        if child.name in ("component", "structuredBody"):
            yield from _inside(child)
        elif child.name not in LAYOUT:
            yield child


def _holding(nodes: list[Node]) -> Node:
    holder = Node("component", {}, None)
    holder.children = nodes
    return holder


def _names(draft: Draft) -> Iterable[str]:
    if draft.concept is not None:
        yield draft.concept.display
        for coding in draft.concept.codings:
            yield coding.display
    for component in draft.components:
        yield component.concept.display
    for name in ("description", "text", "decision", "value"):
        value = draft.fields.get(name)
        if isinstance(value, str):
            yield value
