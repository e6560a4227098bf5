"""What does an HTML document say in words? Tags off, entities decoded, blocks on lines; one linear pass.

Tokens after the HTML Standard 13.2.5 (tags, comments, raw text), without a tree: depth costs nothing, and nothing
outside the bytes is looked at. Not promised: what a browser would show (style sheets are not applied).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple

from iamata.connectors.text.charsets import Decoded, decode
from iamata.connectors.text.pages import Extract, Heading, Page

_HIDDEN: Final = frozenset({"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title"})
# Whose content is no markup (HTML Standard 13.1.2: raw text and escapable raw text elements).
_RAW: Final = frozenset({"script", "style", "textarea", "title", "iframe", "noscript"})
_BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog"),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("head", "header", "hr", "html", "legend", "li", "main", "nav", "ol", "option", "p", "pre", "section"),
        *("select", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"),
    }
)
_TAG: Final = re.compile(r"<(/?)([A-Za-z][^\s/>]{0,63})")
_QUOTED: Final = re.compile(r"[\"'>]")
_ATTRIBUTE: Final = re.compile(
    r"([A-Za-z][\w:.-]{0,40})\s*=\s*(?:\"([^\"]{0,4000})\"|'([^']{0,4000})'|([^\s\"'>]{1,4000}))"
)
_CHARSET: Final = re.compile(rb"<meta[^>]{0,400}charset\s{0,8}=\s{0,8}[\"']?\s{0,8}([\w.:-]{1,40})", re.IGNORECASE)
_DECLARED: Final = re.compile(rb"<\?xml[^>]{0,200}encoding\s{0,8}=\s{0,8}[\"']([\w.:-]{1,40})")
_BLANKS: Final = re.compile(r"[ \t\r\n\f\xa0]+")
# The Standard looks for a declaration in the first 1024 bytes (13.2.3.2); files in use put it later.
_HEAD: Final = 4_096
_CUT_OFF: Final = "!"  # the name of a token that holds the rest of a document, which is no text
_LEVEL: Final = {f"h{level}": level for level in range(1, 7)}
_AUTHORS: Final = frozenset({"author", "dc.creator", "dcterms.creator"})
_DATES: Final = frozenset({"date", "dc.date", "dcterms.created", "dcterms.date", "created"})
_ISO_DATE: Final = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?)?)?\Z")


class _Token(NamedTuple):
    """A tag (`name`, `closing`, `attributes` as written), or text when `name` is empty."""

    text: str
    name: str = ""
    closing: bool = False


def read(body: bytes, *, declared: str = "") -> Extract:
    """The one part `/text`. Raises BadInput for what is no text."""
    head = body[:_HEAD]
    named = _CHARSET.search(head) or _DECLARED.search(head)
    decoded: Decoded = decode(body, declared=declared or (named.group(1).decode("ascii") if named else ""))
    found = _Words()
    found.read(decoded.text)
    text, headings = found.text()
    left = [f"{found.cut_off} characters of a comment or script without an end are not read"] if found.cut_off else []
    title = found.title or next((text[h.start : h.end] for h in headings if h.level == 1), "")
    return Extract(
        (Page("/text", text, tuple(headings)),),
        title=title,
        author=found.author,
        created=found.created,
        warnings=(*decoded.warnings, *left),
    )


def plain(markup: str) -> str:
    """HTML or XHTML as text: one line a block, cells set apart by a tab. Empty if it says nothing."""
    found = _Words()
    found.read(markup)
    return found.text()[0]


def _tokens(markup: str) -> Iterator[_Token]:
    """Tags and texts in order, comments and declarations left out. A `<` that begins no tag is text."""
    at, size = 0, len(markup)
    no_end = False  # no `>` follows any more: what looks like a tag is text
    while at < size:
        begin = markup.find("<", at)
        if begin < 0:
            yield _Token(markup[at:])
            return
        if begin > at:
            yield _Token(markup[at:begin])
        if markup.startswith("<!--", begin):
            end = markup.find("-->", begin + 4)
            if end < 0:  # a comment that never ends: the rest is no text (13.2.5.45)
                yield _Token(markup[begin:], _CUT_OFF)
                return
            at = end + 3
            continue
        if markup.startswith(("<!", "<?"), begin):
            end = markup.find(">", begin)
            if end < 0:
                yield _Token(markup[begin:], _CUT_OFF)
                return
            at = end + 1
            continue
        match = None if no_end else _TAG.match(markup, begin)
        end = _end_of_tag(markup, match.end()) if match is not None else -1
        if match is None or end < 0:
            no_end = no_end or match is not None
            yield _Token("<")
            at = begin + 1
            continue
        name, closing = match.group(2).lower(), match.group(1) == "/"
        yield _Token(markup[match.end() : end], name, closing)
        at = end + 1
        if name in _RAW and not closing and markup[end - 1] != "/":
            close = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(markup, at)
            if close is None:
                yield _Token(markup[at:], _CUT_OFF)
                return
            if close.start() > at:
                yield _Token(markup[at : close.start()])
            at = close.start()


def _end_of_tag(markup: str, at: int) -> int:
    """Where the `>` of a tag stands that is in no quotes; -1 if nowhere. A quote without its end is no quote."""
    while True:
        found = _QUOTED.search(markup, at)
        if found is None:
            return -1
        if found.group() == ">":
            return found.start()
        end = markup.find(found.group(), found.end(), found.end() + 100_000)
        at = end + 1 if end >= 0 else found.end()


class _Words:
    """Collects lines of words and where the headings among them stand."""

    def __init__(self) -> None:
        self.title = self.author = self.created = ""
        self.cut_off = 0
        self._parts: list[str] = []
        self._size = 0
        self._headings: list[tuple[int, int, int]] = []
        self._open: tuple[int, int] | None = None
        self._hidden: dict[str, int] = {}
        self._preformatted = 0
        self._line_is_empty = True

    def read(self, markup: str) -> None:
        named = ""
        for token in _tokens(markup):
            if token.name == _CUT_OFF:
                self.cut_off = len(token.text)
            elif not token.name:
                self._words(token.text, named)
            if not token.name or token.name == _CUT_OFF:
                continue
            named = "" if token.closing else token.name
            if token.name in _HIDDEN:
                if token.closing:
                    if self._hidden.get(token.name):
                        self._hidden[token.name] -= 1
                elif not token.text.endswith("/"):
                    self._hidden[token.name] = self._hidden.get(token.name, 0) + 1
            elif token.name == "meta":
                self._meta(token.text)
            elif not any(self._hidden.values()):
                self._tag(token)

    def _words(self, text: str, named: str) -> None:
        if named == "title" and not self.title and self._hidden.get("svg", 0) == 0:
            self.title = " ".join(unescape(text).split())
        if any(self._hidden.values()):
            return
        text = unescape(text).replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
        if self._preformatted:
            self._add(text)
            self._line_is_empty = text.endswith("\n")
            return
        folded = _BLANKS.sub(" ", text)
        if self._line_is_empty or (self._parts and self._parts[-1][-1:] in " \t"):
            folded = folded.lstrip(" ")
        if folded:
            self._add(folded)
            self._line_is_empty = False

    def _tag(self, token: _Token) -> None:
        name = token.name
        if name in _LEVEL:
            self._break()
            if token.closing:
                self._close()
            else:
                self._open = (self._size, _LEVEL[name])
            return
        if name in ("td", "th"):
            if not token.closing and not self._line_is_empty:
                self._trim()
                self._add("\t")
        elif name in _BLOCKS:
            if name == "pre":
                self._preformatted = max(0, self._preformatted + (-1 if token.closing else 1))
            self._break()

    def _close(self) -> None:
        if self._open is not None:
            start, level = self._open
            end = self._size - (1 if self._parts and self._parts[-1] == "\n" else 0)
            if end > start:
                self._headings.append((start, end, level))
            self._open = None

    def _break(self) -> None:
        if not self._line_is_empty:
            self._trim()
            self._add("\n")
            self._line_is_empty = True

    def _trim(self) -> None:
        """Blanks at the end of a line go."""
        while self._parts and self._parts[-1].endswith(" "):
            last = self._parts.pop()
            self._size -= len(last)
            kept = last.rstrip(" ")
            if kept:
                self._add(kept)

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._size += len(text)

    def _meta(self, written: str) -> None:
        attributes = {
            m.group(1).lower(): unescape(m.group(2) or m.group(3) or m.group(4) or "")
            for m in _ATTRIBUTE.finditer(written[:10_000])
        }
        name, content = attributes.get("name", "").lower(), attributes.get("content", "").strip()
        if name in _AUTHORS and not self.author:
            self.author = content[:200]
        elif name in _DATES and not self.created and _ISO_DATE.match(content):
            self.created = content

    def text(self) -> tuple[str, list[Heading]]:
        self._close()
        text = "".join(self._parts).rstrip()
        return text, [Heading(*each) for each in self._headings if each[1] <= len(text)]
