"""How is the XML of a CDA document walked? Light elements with plain names, places (XPath) and canonical content.

Names are local names of CDA (`urn:hl7-org:v3`, or no namespace at all); those of HL7's extensions carry the prefix
`sdtc:`, others the end of their namespace. Not here: what an element means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

# An element with more children sorts them by name.
_MANY: Final = 32
_LAYOUT: Final = frozenset({"templateId", "realmCode", "typeId"})


class Node:
    """One element. `text` stands before the first child, `tail` behind the element itself; comments are no content."""

    __slots__ = ("_named", "_steps", "attrs", "children", "name", "parent", "tail", "text")

    def __init__(self, name: str, attrs: dict[str, str], parent: Node | None) -> None:
        self.name = name
        self.attrs = attrs
        self.parent = parent
        self.children: list[Node] = []
        self.text = ""
        self.tail = ""
        self._steps: dict[int, str] | None = None
        self._named: tuple[int, dict[str, list[Node]]] | None = None

    def get(self, attribute: str) -> str:
        """The attribute without blanks around it; empty if it is absent."""
        return self.attrs.get(attribute, "").strip()

    @property
    def nil(self) -> str:
        """The nullFlavor, empty if there is none."""
        return self.get("nullFlavor")

    def all(self, *names: str) -> list[Node]:
        """The children of these names, in document order."""
        if len(names) == 1 and len(self.children) > _MANY:
            return list(self._by_name().get(names[0], ()))
        return [child for child in self.children if child.name in names]

    def _by_name(self) -> dict[str, list[Node]]:
        """The children by name, sorted once: whoever is inside of many siblings looks at the element around again and
        again."""
        if self._named is None or self._named[0] != len(self.children):
            found: dict[str, list[Node]] = {}
            for child in self.children:
                found.setdefault(child.name, []).append(child)
            self._named = (len(self.children), found)
        return self._named[1]

    def one(self, name: str) -> Node | None:
        if len(self.children) > _MANY:
            return next(iter(self._by_name().get(name, ())), None)
        for child in self.children:
            if child.name == name:
                return child
        return None

    def at(self, *path: str) -> Node | None:
        """The first element down a path of names, or None."""
        found: Node | None = self
        for name in path:
            found = found.one(name) if found is not None else None
        return found

    def iter(self) -> Iterator[Node]:
        """The element and everything below it, in document order; no recursion."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    @property
    def words(self) -> str:
        """All text inside, blanks folded."""
        if not self.children:
            return " ".join(self.text.split())
        return " ".join("".join(_ordered(self)).split())

    @property
    def place(self) -> str:
        """The XPath by local names, positions only among several of one name: `/ClinicalDocument/author[2]/time`.

        Asked for when the tree is whole: positions are counted once for all children of an element.
        """
        steps = []
        node: Node | None = self
        while node is not None:
            steps.append(node.name if node.parent is None else node.parent._step(node))
            node = node.parent
        return "/" + "/".join(reversed(steps))

    def _step(self, child: Node) -> str:
        """The step of a path from here to a child."""
        if self._steps is None:
            several = Counter(each.name for each in self.children)
            counts = Counter[str]()
            self._steps = {}
            for each in self.children:
                counts[each.name] += 1
                number = f"[{counts[each.name]}]" if several[each.name] > 1 else ""
                self._steps[id(each)] = f"{each.name}{number}"
        return self._steps[id(child)]

    def templates(self) -> tuple[str, ...]:
        """The roots of the element's templateIds in document order."""
        return tuple(child.get("root") for child in self.children if child.name == "templateId")


def _ordered(node: Node) -> Iterator[str]:
    """Every stretch of text in reading order."""
    stack: list[Node | str] = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, str):
            yield each
            continue
        yield each.text
        for child in reversed(each.children):
            stack.append(child.tail)
            stack.append(child)


def stretches(node: Node) -> Iterator[str]:
    """Every stretch of text inside, in reading order."""
    return _ordered(node)


def canonical(node: Node, resolve: Callable[[str], str], skip: frozenset[str] = frozenset()) -> list[Any]:
    """The content of an element whatever its prefixes, blanks, order of attributes and place: name, attributes, text,
    children, and the ids of its templates without their versions. References into the narrative become the words they
    lead to; anchors are left out.

    `skip` names children of the element itself that count elsewhere.
    """
    attrs = {name: " ".join(value.split()) for name, value in node.attrs.items() if name != "ID"}
    if node.name == "reference" and attrs.get("value", "").startswith("#"):
        attrs["value"] = resolve(attrs["value"][1:])
    children = [
        canonical(child, resolve) for child in node.children if child.name not in _LAYOUT and child.name not in skip
    ]
    text = " ".join((node.text + " ".join(child.tail for child in node.children)).split())
    templates = sorted(set(node.templates()))
    return [node.name, attrs, text, children, templates] if templates else [node.name, attrs, text, children]


def find(root: Node, pointer: str) -> Node | None:
    """The element at a place as `Node.place` writes it, or None."""
    steps = pointer.strip("/").split("/")
    if not steps or steps[0] != root.name:
        return None
    node = root
    for step in steps[1:]:
        name, _, position = step.partition("[")
        index = int(position.rstrip("]")) if position.rstrip("]").isdecimal() else 1
        same = node.all(name)
        if not 0 < index <= len(same):
            return None
        node = same[index - 1]
    return node


def markup(node: Node, indent: int = 0) -> str:
    """The element as XML for a person to read, two blanks a level."""
    pad = "  " * indent
    attrs = "".join(f' {name}="{_escaped(value)}"' for name, value in node.attrs.items())
    text = _escaped(" ".join(node.text.split()))
    if not node.children:
        return f"{pad}<{node.name}{attrs}>{text}</{node.name}>" if text else f"{pad}<{node.name}{attrs}/>"
    inner = []
    for child in node.children:
        inner.append(markup(child, indent + 1))
        tail = _escaped(" ".join(child.tail.split()))
        if tail:
            inner.append(f"{pad}  {tail}")
    lead = [f"{pad}  {text}"] if text else []
    return "\n".join([f"{pad}<{node.name}{attrs}>", *lead, *inner, f"{pad}</{node.name}>"])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
