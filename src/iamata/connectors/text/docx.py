"""What does a DOCX document say in words? Its paragraphs, tables, headers, footers and notes; XML by lxml, bounded.

ECMA-376 part 1, WordprocessingML. Deleted revisions, field codes and hidden text are left out (and counted); pictures,
embedded files and comments are listed. Each part is inflated only up to a bound: what comes out is counted.
"""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib
from typing import Final

from lxml import etree

from iamata.connectors.text.pages import Extract, Heading, Limits, Page, Unread
from iamata.errors import BadInput, TooLarge

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT: Final = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_FALLBACK: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MAIN: Final = "word/document.xml"
_ZIP: Final = b"PK\x03\x04"
_PARTS: Final = re.compile(r"word/(header|footer|footnotes|endnotes)(\d*)\.xml\Z")
_HEADING: Final = re.compile(r"(?:heading|title)\s*(\d)?", re.IGNORECASE)
_LEFT_OUT: Final = frozenset(
    {"del", "moveFrom", "instrText", "delText", "delInstrText", "rPr", "pPr", "sectPr", "tblPr"}
)
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    struct.error,
    LookupError,
)
LIMIT_PART: Final = 50_000_000
LIMIT_PARTS: Final = 10_000
_CHUNK: Final = 1 << 16
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?\Z")


def is_docx(body: bytes) -> bool:
    """Is it a ZIP file whose directory names a Word document? Reads the directory only."""
    if not body.startswith(_ZIP) or _MAIN.encode() not in body:
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _MAIN in archive.namelist()
    except _DAMAGED:
        return True  # a Word document that is damaged; its reader says so
    except NotImplementedError:
        return False


def read(body: bytes, limits: Limits, *, limit_part: int = LIMIT_PART) -> Extract:
    """One part `/text`, then headers, footers and notes. Raises BadInput (damaged, encrypted, not sound XML) or
    TooLarge (a part that inflates beyond `limit_part` bytes)."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = archive.namelist()
            if len(names) > LIMIT_PARTS:
                raise TooLarge(f"the document has more than the {LIMIT_PARTS} parts allowed")
            if _MAIN not in names:
                raise BadInput("the ZIP file holds no Word document", place=_MAIN)
            return _Reader(archive, names, limit_part).extract()
    except _DAMAGED as error:
        raise BadInput(f"the document is damaged: {type(error).__name__}") from None
    except (NotImplementedError, RuntimeError):
        raise BadInput("the document is encrypted, or compressed in a way that is not known") from None


class _Reader:
    def __init__(self, archive: zipfile.ZipFile, names: list[str], limit_part: int) -> None:
        self._archive, self._names, self._limit_part = archive, names, limit_part
        self._styles: dict[str, int] = {}
        self._left_out = self._hidden = 0

    def extract(self) -> Extract:
        self._read_styles()
        pages = [self._page("/text", _MAIN)]
        for name in sorted(self._names, key=lambda n: (len(n), n)):
            match = _PARTS.match(name)
            if match is None:
                continue
            label, number = match.groups()
            page = self._page(f"/{label}/{number}" if number else f"/{label}", name)
            if page.text.strip():
                pages.append(page)
        title, author, created = self._core()
        warnings = []
        if self._left_out:
            warnings.append(f"{self._left_out} deleted or moved revisions are left out")
        if self._hidden:
            warnings.append(f"{self._hidden} runs of hidden text are left out")
        if not title:
            first = pages[0]
            title = next((first.text[h.start : h.end] for h in first.headings if h.level <= 1), "")
        return Extract(tuple(pages), tuple(self._unread()), title, author, created, tuple(warnings))

    def _unread(self) -> list[Unread]:
        found = []
        for pattern, what in (
            ("word/media/", "pictures are not read"),
            ("word/embeddings/", "embedded files are not read"),
            ("word/comments.xml", "the comments on the text are not read"),
            ("word/charts/", "charts are not read"),
        ):
            count = sum(1 for name in self._names if name.startswith(pattern) and not name.endswith("/"))
            if count:
                found.append(
                    Unread(f"/{pattern.strip('/')}", what if count == 1 and "com" in pattern else f"{count} {what}")
                )
        return found

    def _part(self, name: str) -> etree._Element:
        """The XML of a part, without entities, network or more than the bound."""
        parts, size = [], 0
        with self._archive.open(name) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > self._limit_part:
                    raise TooLarge(
                        f"a part of the document is larger than the {self._limit_part} bytes allowed", place=name
                    )
                parts.append(chunk)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            root = etree.fromstring(b"".join(parts), parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            raise BadInput("a part of the document is not sound XML", place=f"{name} line {line or 0}") from None
        if root.getroottree().docinfo.doctype:
            raise BadInput("a part of the document has a document type, which is not allowed", place=name)
        return root

    def _read_styles(self) -> None:
        """Which paragraph styles are headings, by their name or outline level."""
        if "word/styles.xml" not in self._names:
            return
        for style in self._part("word/styles.xml").iter(f"{_W}style", f"{_STRICT}style"):
            space = _space(style)
            name = style.find(f"{space}name")
            match = _HEADING.match(name.get(f"{space}val") or "") if name is not None else None
            outline = style.find(f"{space}pPr/{space}outlineLvl")
            if match is not None:
                self._styles[style.get(f"{space}styleId") or ""] = int(match.group(1) or 1)
            elif outline is not None and (outline.get(f"{space}val") or "9") in "012345":
                self._styles[style.get(f"{space}styleId") or ""] = int(outline.get(f"{space}val") or 0) + 1

    def _page(self, pointer: str, name: str) -> Page:
        words = _Words()
        root = self._part(name)
        skipped: etree._Element | None = None
        for event, node in etree.iterwalk(root, events=("start", "end")):
            if not isinstance(node.tag, str):
                continue
            if skipped is not None:
                if event == "end" and node is skipped:
                    skipped = None
                continue
            if event == "start" and self._skips(node):
                skipped = node
            elif node.tag.startswith((_W, _STRICT)):
                self._node(node, etree.QName(node).localname, event == "end", words)
        text = "".join(words.parts).rstrip()
        return Page(pointer, text, tuple(Heading(*each) for each in words.headings if each[1] <= len(text)))

    def _skips(self, node: etree._Element) -> bool:
        """Is this element's text not the document's?"""
        if node.tag == _FALLBACK:
            return True
        if not str(node.tag).startswith((_W, _STRICT)):
            return False
        name = etree.QName(node).localname
        if name in _LEFT_OUT:
            self._left_out += name in ("del", "moveFrom")
            return True
        if name == "r":
            space = _space(node)
            hidden = node.find(f"{space}rPr/{space}vanish")
            if hidden is not None and hidden.get(f"{space}val") not in ("0", "false", "off"):
                self._hidden += 1
                return True
        return False

    def _node(self, node: etree._Element, name: str, ending: bool, words: _Words) -> None:
        if name == "p":
            if ending:
                words.end_paragraph()
            else:
                style = node.find(f"{_space(node)}pPr/{_space(node)}pStyle")
                words.level = self._styles.get(style.get(f"{_space(node)}val") or "", 0) if style is not None else 0
                words.begin = words.size
        elif name == "tc":
            if ending:
                words.end_cell()
            else:
                words.cells += 1
        elif name == "tr" and ending:
            words.end_row()
        elif not ending:
            if name == "t":
                words.add(node.text or "")
            elif name in ("tab", "ptab"):
                words.add("\t")
            elif name in ("br", "cr"):
                words.add("\n")
            elif name in ("noBreakHyphen",):
                words.add("\u2011")

    def _core(self) -> tuple[str, str, str]:
        """Title, creator and date of the core properties (ECMA-376 part 2, Dublin Core)."""
        if "docProps/core.xml" not in self._names:
            return "", "", ""
        found = {"title": "", "creator": "", "created": ""}
        for node in self._part("docProps/core.xml"):
            name = etree.QName(node).localname if isinstance(node.tag, str) else ""
            if name in found and node.text:
                found[name] = " ".join(node.text.split())[:300]
        created = found["created"] if _DATE.match(found["created"]) else ""
        return found["title"], found["creator"], created


def _space(node: etree._Element) -> str:
    return _STRICT if str(node.tag).startswith(_STRICT) else _W


class _Words:
    """The text so far. A paragraph is a line; a table row is a line whose cells are set apart by a tab."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.headings: list[tuple[int, int, int]] = []
        self.size = self.begin = self.level = self.cells = 0

    def add(self, text: str) -> None:
        if text:
            self.parts.append(text)
            self.size += len(text)

    def end_paragraph(self) -> None:
        if self.level and self.size > self.begin:
            self.headings.append((self.begin, self.size, self.level))
            self.level = 0
        self.add(" " if self.cells else "\n")

    def _trim(self) -> None:
        while self.parts and self.parts[-1] == " ":
            self.parts.pop()
            self.size -= 1

    def end_cell(self) -> None:
        self._trim()
        self.cells = max(0, self.cells - 1)
        self.add("\t" if not self.cells else " ")

    def end_row(self) -> None:
        if not self.cells:
            while self.parts and self.parts[-1] == "\t":
                self.parts.pop()
                self.size -= 1
            self.add("\n")
