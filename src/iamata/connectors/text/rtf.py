"""What does an RTF document say in words? Groups, control words and code pages; no other of its many features.

Rich Text Format Specification 1.9.1 (Microsoft, 2008). Deleted revisions and hidden text are left out and counted;
pictures and objects are listed. Depth costs memory only, and time is linear.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

import msgspec

from iamata.connectors.text.pages import Extract, Limits, Page, Unread
from iamata.errors import BadInput, TooLarge

_TOKEN: Final = re.compile(
    rb"\\([A-Za-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9A-Fa-f]{2})|\\([^A-Za-z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)|(\\)"
)
_CELLS: Final = re.compile(r"\t{1,64}\n")  # the mark of a row's last cell sets nothing apart
LIMIT_DEPTH: Final = 20_000
# Destinations whose text is not the document's (appendix B of the specification), beside all that begin with `\*`.
_NOT_TEXT: Final = frozenset(
    {
        *("fonttbl", "colortbl", "stylesheet", "listtable", "listoverridetable", "revtbl", "rsidtbl", "filetbl"),
        *("generator", "xmlnstbl", "themedata", "colorschememapping", "latentstyles", "datastore", "fldinst"),
        *("bkmkstart", "bkmkend", "pgptbl", "mmathPr", "pntext", "pntxta", "pntxtb", "nonesttables", "xe", "tc"),
        *("keywords", "comment", "subject", "operator", "category", "manager", "company", "doccomm", "hlinkbase"),
        *("nonshppict", "revtim", "printim", "buptim", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn"),
    }
)
_HEADERS: Final = frozenset({"header", "headerl", "headerr", "headerf"})
_FOOTERS: Final = frozenset({"footer", "footerl", "footerr", "footerf"})
_PICTURES: Final = frozenset({"pict", "object"})
_CHARACTERS: Final = {
    "par": "\n", "line": "\n", "row": "\n", "sect": "\n", "tab": "\t", "cell": "\t", "nestcell": "\t",
    "nestrow": "\n", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“",
    "rdblquote": "”", "emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005", "page": "\f",
}  # fmt: skip
_SYMBOLS: Final = {b"~": "\xa0", b"_": "\u2011", b"-": "", b"\n": "\n", b"\r": "\n", b"\t": "\t"}
_CODE_PAGES: Final = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
# \fcharsetN (Font Table): the code page that \'hh means in a font.
_FONT_PAGES: Final = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
    254: "cp437",
}  # fmt: skip


class _State(msgspec.Struct):
    """What a group inherits from the one around it. `into` is where its text goes."""

    into: str = "text"
    codec: str = "cp1252"
    skip: int = 1
    hidden: bool = False
    font: int = -1
    starred: bool = False

    def copy(self) -> _State:
        return _State(self.into, self.codec, self.skip, self.hidden, self.font)


def read(body: bytes, limits: Limits) -> Extract:
    """Pages where the document breaks them (`\\page`), else one part `/text`; header and footer as parts of their own.

    Raises BadInput for what is no RTF, TooLarge for groups nested beyond LIMIT_DEPTH. A document that is cut off is
    read up to there, with a warning.
    """
    if not body.lstrip().startswith(b"{\\rtf"):
        raise BadInput("the document does not begin as RTF", place="byte 0")
    found = _Reader(limits)
    found.read(body)
    return found.extract()


class _Reader:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._texts: dict[str, list[str]] = {"text": []}
        self._bytes = bytearray()
        self._state = _State()
        self._default = "cp1252"
        self._fonts: dict[int, str] = {}
        self._dates: dict[str, int] = {}
        self._pictures = self._hidden = self._lost = 0
        self._to_skip = 0
        self._high = 0
        self._complete = False

    def read(self, body: bytes) -> None:
        stack: list[_State] = []
        at, size = 0, len(body)
        while at < size:
            match = _TOKEN.match(body, at)
            if match is None:
                break
            at = match.end()
            word, number, code, symbol, brace, words, _stray = match.groups()
            if code is not None:
                self._byte(int(code, 16))
                continue
            if words is not None:
                self._plain(words)
                continue
            self._flush()
            if brace == b"{":
                if len(stack) >= LIMIT_DEPTH:
                    raise TooLarge(f"the document nests deeper than the {LIMIT_DEPTH} groups allowed")
                stack.append(self._state)
                self._state = self._state.copy()
                self._to_skip = 0
            elif brace == b"}":
                self._to_skip = 0
                if not stack:
                    break
                self._state = stack.pop()
                if not stack:
                    self._complete = True
                    break
            elif symbol is not None:
                self._symbol(symbol)
            elif word is not None:
                if word == b"bin" and number:
                    at += max(0, int(number))
                else:
                    self._word(word.decode("ascii"), int(number) if number else None)
        self._flush()

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._state.starred = True
        elif symbol in (b"\\", b"{", b"}"):
            self._plain(symbol)
        else:
            self._add(_SYMBOLS.get(symbol, ""))

    def _word(self, word: str, number: int | None) -> None:
        state = self._state
        if state.starred:
            state.starred = False
            if word == "annotation" and state.into != "nothing":
                state.into = word
            elif word != "shppict":
                state.into = "nothing"
            return
        if word == "u" and number is not None:
            self._unicode(number)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word == "uc":
            state.skip = max(0, min(number or 0, 10))
        elif word == "f" and number is not None:
            state.font = number
            if state.into != "fonts":
                state.codec = self._fonts.get(number, self._default)
        elif word == "plain":
            state.hidden = False
            state.codec = self._default
        elif word in ("v", "deleted"):
            state.hidden = number != 0
        elif word in _CODE_PAGES:
            self._default = state.codec = _CODE_PAGES[word]
        elif word == "ansicpg" and number is not None:
            self._default = state.codec = _known_codec(f"cp{number}") or self._default
        else:
            self._destination(word, number)

    def _destination(self, word: str, number: int | None) -> None:
        state = self._state
        if state.into == "fonts" and word == "fcharset":
            page = _FONT_PAGES.get(number or 0)
            if page is not None and number != 0:
                self._fonts[state.font] = page
        elif word == "fonttbl":
            state.into = "fonts"
        elif word in _PICTURES:
            if state.into not in ("nothing", "fonts"):
                self._pictures += 1
            state.into = "picture"
        elif word == "shptxt" or (word == "result" and state.into == "picture"):
            state.into = "text"
        elif word in _NOT_TEXT or state.into in ("nothing", "fonts"):
            if word in _NOT_TEXT:
                state.into = "nothing"
        elif word in _HEADERS:
            state.into = "header"
        elif word in _FOOTERS:
            state.into = "footer"
        elif word == "footnote" or (word in ("title", "author") and state.into == "nothing-but-info"):
            state.into = word
        elif word == "info":
            state.into = "nothing-but-info"
        elif word == "creatim":
            state.into = "created"
        elif state.into == "created" and word in ("yr", "mo", "dy", "hr", "min") and number is not None:
            self._dates[word] = number

    def _unicode(self, number: int) -> None:
        """\\uN: a UTF-16 unit, signed; then as many characters as \\uc says stand for readers without Unicode."""
        unit = number & 0xFFFF
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
        elif 0xDC00 <= unit < 0xE000:
            if self._high:
                self._add(chr(0x10000 + ((self._high - 0xD800) << 10) + (unit - 0xDC00)))
            self._high = 0
        elif unit >= 0x20 or unit in (9, 10):
            self._add(chr(unit))
        self._to_skip = self._state.skip

    def _plain(self, words: bytes) -> None:
        for_others = min(self._to_skip, len(words))
        self._to_skip -= for_others
        self._bytes += words[for_others:]

    def _byte(self, code: int) -> None:
        if self._to_skip:
            self._to_skip -= 1
        else:
            self._bytes.append(code)

    def _flush(self) -> None:
        """Bytes so far as text of the current code page."""
        if self._bytes:
            text = self._bytes.decode(self._state.codec, errors="replace").replace("\0", "")
            self._lost += text.count("�") if self._state.into == "text" else 0
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        into = self._state.into
        if not text or into in ("nothing", "fonts", "picture", "created", "nothing-but-info"):
            return
        if self._state.hidden:
            self._hidden += len(text)
            return
        self._texts.setdefault(into, []).append(text)

    def extract(self) -> Extract:
        parts = _CELLS.sub("\n", "".join(self._texts["text"])).split("\f")
        pages = [
            Page("/text" if len(parts) == 1 else f"/page/{n}", part.strip("\n")) for n, part in enumerate(parts, 1)
        ]
        unread = []
        if len(pages) > self._limits.pages:
            why = f"{len(pages) - self._limits.pages} pages beyond the {self._limits.pages} read of one document"
            unread.append(Unread(f"/page/{self._limits.pages + 1}", why))
            pages = pages[: self._limits.pages]
        for name in ("header", "footer", "footnote", "annotation"):
            text = "".join(self._texts.get(name, ())).replace("\f", "\n").strip("\n")
            if text.strip():
                pages.append(Page(f"/{name}", text))
        if self._pictures:
            unread.append(Unread("/pictures", f"{self._pictures} pictures or objects in the text are not read"))
        warnings = []
        if not self._complete:
            warnings.append("the document is cut off: its last groups have no end")
        if self._hidden:
            warnings.append(f"{self._hidden} characters of hidden or deleted text are left out")
        if self._lost:
            warnings.append(f"{self._lost} bytes stand for no character and are shown as U+FFFD")
        return Extract(
            tuple(pages),
            tuple(unread),
            title=" ".join("".join(self._texts.get("title", ())).split()),
            author=" ".join("".join(self._texts.get("author", ())).split()),
            created=self._created(),
            warnings=tuple(warnings),
        )

    def _created(self) -> str:
        """\\creatim as ISO 8601, as precise as it is; it has no zone, and none is invented."""
        found = self._dates
        if not found.get("yr") or not 1 <= found["yr"] <= 9999:
            return ""
        text = f"{found['yr']:04d}"
        for name, mark in (("mo", "-"), ("dy", "-")):
            if not found.get(name):
                return text
            text += f"{mark}{found[name]:02d}"
        return f"{text}T{found['hr']:02d}:{found['min']:02d}" if "hr" in found and "min" in found else text


def _known_codec(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        return ""
    return name
