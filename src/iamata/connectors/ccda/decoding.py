"""What XML do these bytes hold, within the limits? One tree, with what had to be mended.

No document type, no entities, no external access: a document that declares any is refused by name. Declared encodings,
byte order marks and UTF-16 are understood; prefixes that nobody declared and a missing single root are mended and
said. Not here: whether it is CDA (`reader`).
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from lxml import etree

from iamata.connectors.ccda.nodes import Node
from iamata.errors import BadInput, TooLarge

LIMIT_BYTES: Final = 25_000_000
LIMIT_DEPTH: Final = 200
LIMIT_ELEMENTS: Final = 1_000_000
FRAGMENT: Final = "fragment"

_CDA: Final = "urn:hl7-org:v3"
_XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
# Prefixes as HL7's own examples use them, with what they stand for there.
_KNOWN_PREFIXES: Final = {
    "xsi": _XSI,
    "sdtc": "urn:hl7-org:sdtc",
    "voc": "urn:hl7-org:v3/voc",
    "cda": _CDA,
    "pharm": "urn:hl7-org:pharm",
}
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Codecs of Python that are no character sets; punycode takes a time that grows with the square of the length.
_NO_TEXT: Final = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7"})
_DECLARATION = re.compile(r"\s*<\?xml\b[^>]*\?>")
_ENCODING = re.compile(rb"""<\?xml\b[^>]*\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_MISC = re.compile(r"(?:\s+|<!--.*?-->|<\?.*?\?>)+", re.DOTALL)
_DOCTYPE = re.compile(r"<!DOCTYPE\b([^\[>]*)(\[?)", re.IGNORECASE)
_ENTITY = re.compile(r"<!ENTITY\s+(?:%\s*)?([\w.-]+)\s*(SYSTEM|PUBLIC)?")
_PREFIX = re.compile(r"""</?([A-Za-z_][\w.-]*):|\s([A-Za-z_][\w.-]*):[\w.-]+\s*=\s*["']""")
_DECLARED = re.compile(r"""\sxmlns:([A-Za-z_][\w.-]*)\s*=""")
_ROOT_TAG = re.compile(r"<(?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*")


class Decoded(NamedTuple):
    """The root, and what was mended (places and names only). A document without one root has a root `fragment`."""

    root: Node
    warnings: tuple[str, ...]


def decode(
    body: bytes,
    *,
    limit_bytes: int = LIMIT_BYTES,
    limit_depth: int = LIMIT_DEPTH,
    limit_elements: int = LIMIT_ELEMENTS,
) -> Decoded:
    """The tree. Raises BadInput (empty, wrong encoding, document type or entities, not well-formed; with line and
    column) or TooLarge (bytes, elements, depth)."""
    if len(body) > limit_bytes:
        raise TooLarge(f"the document has {len(body)} bytes, more than the {limit_bytes} allowed")
    text = _text(body)
    if text.count("<") > 2 * limit_elements:
        raise TooLarge(f"the document has more than the {limit_elements} elements allowed")
    lines_cut = 0
    declaration = _DECLARATION.match(text)
    if declaration:
        lines_cut = text.count("\n", 0, declaration.end())
        text = text[declaration.end() :]
    if not text.strip():
        raise BadInput("the document is empty")
    _refuse_document_type(text, lines_cut)
    warnings: list[str] = []
    root = _parse(text, lines_cut, warnings)
    return Decoded(_tree(root, limit_depth, lines_cut), tuple(warnings))


def _text(body: bytes) -> str:
    """The text, by byte order mark, else by the look of UTF-16, else by the declared encoding, else as UTF-8."""
    name, offset = "utf-8", 0
    for mark, encoding in _BOMS:
        if body.startswith(mark):
            name, offset = encoding, len(mark)
            break
    else:
        if body[:4] in (b"<\0?\0", b"<\0C\0", b"<\0!\0"):
            name = "utf-16-le"
        elif body[:4] in (b"\0<\0?", b"\0<\0C", b"\0<\0!"):
            name = "utf-16-be"
        else:
            declared = _ENCODING.search(body[:400])
            if declared:
                name = declared.group(1).decode("ascii")
                # Bytes that spell `<?xml` in ASCII cannot be UTF-16, whatever they declare.
                if name.lower().replace("_", "-").startswith(("utf-16", "utf16", "ucs-2", "iso-10646-ucs-2")):
                    name = "utf-8"
    try:
        codec = codecs.lookup(name)
    except LookupError:
        raise BadInput("the encoding it declares is not known", place="line 1") from None
    if codec.name in _NO_TEXT:
        raise BadInput("the encoding it declares is none for text", place="line 1")
    try:
        return str(codec.decode(body[offset:], "strict")[0])
    except UnicodeDecodeError as error:
        before = body[: offset + error.start]
        place = f"line {before.count(10) + 1} column {len(before) - before.rfind(10)}"
        raise BadInput(f"the document is not {codec.name}, as it says or as XML must be", place=place) from None
    except (ValueError, TypeError, AssertionError, AttributeError):  # a codec that is not for text (`hex`, `zip`)
        raise BadInput("the encoding it declares is none for text", place="line 1") from None


def _refuse_document_type(text: str, lines_cut: int) -> None:
    """A document type with entities, an inner part or an external name is refused (XML 1.0, 2.8 and 4.2)."""
    start = _MISC.match(text)
    position = start.end() if start else 0
    found = _DOCTYPE.match(text, position)
    entity = _ENTITY.search(text) if found or "<!ENTITY" in text else None
    place = f"line {text.count(chr(10), 0, position) + 1 + lines_cut}"
    if entity and found:
        what = "external entity" if entity.group(2) else "entity"
        raise BadInput(f"it declares the {what} {entity.group(1)[:40]!r}; entities are not allowed", place=place)
    if found and (found.group(2) or re.search(r"\b(SYSTEM|PUBLIC)\b", found.group(1))):
        raise BadInput("it declares a document type (DTD), which is not allowed", place=place)


def _parse(text: str, lines_cut: int, warnings: list[str]) -> etree._Element:
    """The element tree, after mending what can be mended."""
    mended_root = False
    for _attempt in range(3):
        try:
            parser = etree.XMLParser(
                resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False
            )
            return etree.fromstring(text.encode("utf-8", "surrogatepass"), parser)
        except etree.XMLSyntaxError as error:
            line, column = error.position
            place = f"line {line + lines_cut} column {column}"
            if "huge" in (error.msg or "").lower() or "depth" in (error.msg or ""):
                raise TooLarge("the document nests too deep, or holds a text that is too long", place=place) from None
            missing = _undeclared(text)
            if error.code == etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE and missing:
                text = _declare(text, missing)
                warnings.append(f"prefixes that nobody declares were mended: {', '.join(missing)}")
            elif error.code == etree.ErrorTypes.ERR_DOCUMENT_END and not mended_root and "ClinicalDocument" not in text:
                mended_root = True
                text = f"<{FRAGMENT}>{text}</{FRAGMENT}>"
            else:
                raise BadInput(f"the document is not well-formed XML: {_said(error)}", place=place) from None
        except ValueError:  # lxml refuses some characters before it parses
            raise BadInput("the document holds characters that XML does not allow") from None
    raise BadInput("the document is not well-formed XML")


def _said(error: etree.XMLSyntaxError) -> str:
    """What the parser says, without its place and without anything it quotes beyond names of elements."""
    message = re.sub(r",? line \d+.*", "", error.msg or "").strip()
    if re.search(r"[Ii]nput is not proper|invalid Char|bytes:", message):
        return "a character that is not allowed"
    return message[:120]


def _undeclared(text: str) -> list[str]:
    used = {name for pair in _PREFIX.findall(text) for name in pair if name}
    start = _MISC.match(text)
    root = text[start.end() if start else 0 :].partition(">")[0]
    declared = set(_DECLARED.findall(root))
    return sorted(used - declared - {"xml", "xmlns"})


def _declare(text: str, prefixes: list[str]) -> str:
    """The text with these prefixes declared on its root."""
    start = _MISC.match(text)
    found = _ROOT_TAG.search(text, start.end() if start else 0)
    if found is None:
        return text
    names = "".join(f' xmlns:{p}="{_KNOWN_PREFIXES.get(p, f"urn:undeclared:{p}")}"' for p in prefixes)
    return text[: found.end()] + names + text[found.end() :]


def _tree(element: etree._Element, limit_depth: int, lines_cut: int) -> Node:
    """Plain nodes, made without recursion. Raises TooLarge if they nest deeper than the limit."""
    names: dict[str, str] = {}
    root = Node(_name(str(element.tag), names), _attributes(element, names), None)
    root.text = element.text or ""
    stack: list[tuple[etree._Element, Node, int]] = [(element, root, 1)]
    while stack:
        holder, node, depth = stack.pop()
        if depth > limit_depth:
            place = f"line {(holder.sourceline or 1) + lines_cut}"
            raise TooLarge(f"the document nests deeper than the {limit_depth} levels allowed", place=place)
        last: Node | None = None
        for child in holder:
            tail = child.tail or ""
            if not isinstance(child.tag, str):  # a comment or an instruction: its tail is text of the element around
                if last is None:
                    node.text += tail
                else:
                    last.tail += tail
                continue
            last = Node(_name(str(child.tag), names), _attributes(child, names), node)
            last.text, last.tail = child.text or "", tail
            node.children.append(last)
            stack.append((child, last, depth + 1))
    return root


def _attributes(element: etree._Element, names: dict[str, str]) -> dict[str, str]:
    return {_name(str(name), names): str(value) for name, value in element.attrib.items()}


def _name(tag: str, names: dict[str, str]) -> str:
    found = names.get(tag)
    if found is None:
        namespace, _, local = tag.rpartition("}")
        namespace = namespace.lstrip("{")
        if namespace in ("", _CDA):
            found = local
        elif namespace == _XSI:
            found = f"xsi:{local}"
        else:
            found = f"{re.split(r'[:/]', namespace)[-1]}:{local}"
        names[tag] = found
    return found
