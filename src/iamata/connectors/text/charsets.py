"""Which characters do these bytes stand for? A byte order mark, then what is declared, then what the bytes allow.

Nothing is invented: a guess is a warning, and a byte that stands for no character becomes U+FFFD and is counted.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from iamata.errors import BadInput

# Unicode 15, section 23.8 (byte order marks); UTF-32 LE begins like UTF-16 LE.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The WHATWG Encoding Standard (4.2): what is labelled so is read as windows-1252, whose printable part it shares.
_AS_WINDOWS: Final = frozenset({"iso8859-1", "ascii", "cp1252"})
# Python codecs that are no character sets.
_NOT_CHARSETS: Final = frozenset(
    {"idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "mbcs", "utf_7"}
)
_WINDOWS: Final = "cp1252"
_SAMPLE: Final = 4_096
_NO_TEXT: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# More control characters than this among characters, and it is no text.
_LIMIT_CONTROLS: Final = 0.01


class Decoded(NamedTuple):
    """`encoding` is the codec that was used; `warnings` say what was assumed."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(body: bytes, *, declared: str = "") -> Decoded:
    """The text of bytes. `declared` is the charset that the file or its sender names.

    Raises BadInput when the bytes are no text: NUL or many other control characters.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            try:
                return _sound(Decoded(body[len(mark) :].decode(encoding), encoding))
            except UnicodeDecodeError as error:
                place = f"byte {len(mark) + error.start}"
                raise BadInput(f"the document begins as {encoding} and is not", place=place) from None
    codec = codec_of(declared)
    unknown = (f"declares a character set that is not known ({declared[:40]})",) if declared and not codec else ()
    if wide := _wide(body):
        return _sound(
            Decoded(body.decode(wide, errors="replace"), wide, (*unknown, f"read as {wide}: no mark says so"))
        )
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return _sound(_bytewise(body, codec, declared, unknown, error.start))
    if codec not in ("", "utf-8") and not body.isascii():
        if codec in _AS_WINDOWS:
            return _sound(Decoded(text, "utf-8", (f"declares {declared[:40]} and is UTF-8: read as UTF-8",)))
        try:
            return _sound(Decoded(body.decode(codec), codec))
        except (UnicodeDecodeError, ValueError):
            return _sound(Decoded(text, "utf-8", (f"declares {declared[:40]} and is UTF-8: read as UTF-8",)))
    if codec not in ("", "utf-8", *_AS_WINDOWS):  # such as ISO-2022, whose bytes are all ASCII
        try:
            return _sound(Decoded(body.decode(codec), codec))
        except (UnicodeDecodeError, ValueError):
            pass
    return _sound(Decoded(text, "utf-8", unknown))


def _bytewise(body: bytes, codec: str, declared: str, unknown: tuple[str, ...], at: int) -> Decoded:
    """Bytes that are no UTF-8: as declared if that can be, else as windows-1252."""
    if codec and codec != "utf-8" and codec not in _AS_WINDOWS:
        try:
            return Decoded(body.decode(codec), codec)
        except (UnicodeDecodeError, ValueError):
            pass
    if codec in _AS_WINDOWS:
        warnings: tuple[str, ...] = ()
    elif declared and not unknown:
        warnings = (f"declares {declared[:40]} and is not that at byte {at}: read as windows-1252, an assumption",)
    else:
        warnings = (*unknown, f"is no UTF-8 at byte {at}: read as windows-1252, an assumption")
    text = body.decode(_WINDOWS, errors="replace")
    lost = text.count("�")
    if lost:
        warnings += (f"{lost} bytes stand for no character and are shown as U+FFFD",)
    return Decoded(text, _WINDOWS, warnings)


def codec_of(declared: str) -> str:
    """The Python codec of a charset name; empty if there is none, or if it is no character set."""
    try:
        info = codecs.lookup(declared.strip().strip("\"'"))
    except (LookupError, ValueError, UnicodeError):
        return ""
    if info.name.replace("-", "_") in _NOT_CHARSETS or not getattr(info, "_is_text_encoding", True):
        return ""
    return "utf-8" if info.name == "utf-8-sig" else info.name


def _wide(body: bytes) -> str:
    """UTF-16 without a mark: every other byte of mostly Latin text is zero; empty if it is not."""
    sample = body[:_SAMPLE]
    if len(sample) < 8 or b"\0" not in sample:
        return ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > half * 0.7 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.7 and odd < half * 0.05:
        return "utf-16-be"
    return ""


def _sound(decoded: Decoded) -> Decoded:
    found = _NO_TEXT.search(decoded.text)
    if found is None:
        return decoded
    controls = sum(1 for _ in _NO_TEXT.finditer(decoded.text))
    if "\0" in decoded.text or controls > 8 + len(decoded.text) * _LIMIT_CONTROLS:
        raise BadInput("the document is no text: it holds control characters", place=f"character {found.start()}")
    return decoded
