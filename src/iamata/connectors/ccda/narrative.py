"""What do the words of a section say, and which words does an entry point to? Decoded and cut, never interpreted.

CDA R2 4.3.5: a section's `text` holds paragraphs, lists and tables; an entry refers to a part of it by `#ID`.
"""

from __future__ import annotations

from iamata.connectors.ccda.nodes import Node

_BLOCKS = frozenset(
    {"paragraph", "list", "item", "table", "thead", "tbody", "tfoot", "tr", "br", "caption", "title", "p", "div", "li"}
)
_CELLS = frozenset({"td", "th"})
_HIDDEN = frozenset({"renderMultiMedia", "script", "style"})


def plain(node: Node) -> str:
    """The words with one line a block and a tab between cells; blanks folded. Empty if there are none."""
    parts: list[str] = []
    stack: list[Node | str] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            parts.append(each)
            continue
        if each.name in _HIDDEN:
            continue
        mark = "\n" if each.name in _BLOCKS else "\t" if each.name in _CELLS else ""
        if mark:
            parts.append(mark)
        parts.append(_folded(each.text))
        if mark == "\n":
            stack.append("\n")
        for child in reversed(each.children):
            stack.append(_folded(child.tail))
            stack.append(child)
    lines = []
    for line in "".join(parts).split("\n"):
        cells = [" ".join(cell.split()) for cell in line.split("\t")]
        joined = "\t".join(cell for cell in cells if cell)
        if joined:
            lines.append(joined)
    return "\n".join(lines)


def _folded(text: str) -> str:
    """Blanks as one blank each, so that line ends of the file are no line ends of the text."""
    return " ".join(f"|{text}|".split())[1:-1] if text else ""


class Anchors:
    """The elements of a document by their ID: `words("x")` is what `#x` leads to, empty if nowhere."""

    def __init__(self, root: Node) -> None:
        self._by_id: dict[str, Node] = {}
        for node in root.iter():
            name = node.attrs.get("ID")
            if name:
                self._by_id.setdefault(name.strip(), node)
        self._words: dict[str, str] = {}

    def words(self, name: str) -> str:
        """The plain text at an anchor, cells apart; not longer than a thousand characters are kept."""
        found = self._words.get(name)
        if found is None:
            node = self._by_id.get(name)
            found = self._words[name] = plain(node)[:1000] if node is not None else ""
        return found

    def node(self, name: str) -> Node | None:
        return self._by_id.get(name)
