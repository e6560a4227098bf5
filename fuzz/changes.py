"""How is a document changed so that it stays one of its family? Trees of JSON and XML, fields of HL7 v2, segments of
X12, tokens of text formats, files of archives; bytes alone seldom get past the first parser.

Every change is a pure function of the bytes and of the `random.Random` that it is given. What cannot be parsed comes
back as None: then the fuzzer changes its bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, Final

from lxml import etree

from fuzz.laws import MARK

Change = Callable[[bytes, random.Random], bytes | None]

# What values are replaced with, in every family: the mark first, then what tends to break readers.
ODD: Final[tuple[str, ...]] = (
    MARK, f"{MARK} Ann", f"{MARK}/1", f"#{MARK}", f"Patient/{MARK}", f"http://{MARK}.example/a|{MARK}", "", " ", "0",
    "-1", "1e400", "NaN", "99999999999999999999", "0.000000000000000000001", "true", "null", "#", "|", "1" * 5_000,
    "1e999999999", "-1e-999999999", "1e-40", "10*999999999", "10*-9", "²", "２０２４-０１-０１", "0.1" * 400, "2024",
    "2024-02-30", "20240230", "2024-13", "0000", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00+14:00", "24:00",
    "20240101235960", "-0001", "2024-01-01T00:00:00.123456789Z", "20240101000000-9999", "2024-01-01T00:00", "a\u0301",
    "\u0130", "\u00df", "\ufeff", "\u200b", "\u2028", "\x85", "\x1f", "\U0001f600", "\u0660\u0661", "²", "urn:uuid:",
    "urn:oid:", "../../x", "a" * 300, "/", "~", "\\", "'", '"', "{", "[", "<", "&", "%7C", "?identifier=", "%PDF-1.4",
    "{\\rtf1 x}", "<p>x</p>", "UEsDBA==", "e1xydGYxIHh9", "JVBERi0xLjQ=", "data:,x",
)  # fmt: skip
_MANY: Final = (2, 3, 20, 200)
_WHOLE: Final = 60_000  # a change that makes a document longer than this is not made: it takes long and tells little


def changed(change: Change, body: bytes, chance: random.Random) -> bytes | None:
    """One to four changes after another; None if the bytes are no document of the family."""
    done: bytes | None = None
    for _ in range(chance.choice((1, 1, 2, 4))):
        made = change(body, chance)
        if made is None or len(made) > max(_WHOLE, len(body)):
            break
        done = body = made
    return done


# --------------------------------------------------------------------------------------------------------- JSON


def tree_of_json(body: bytes, chance: random.Random) -> bytes | None:
    """One value of a JSON text, or of one line of NDJSON, changed."""
    lines = body.split(b"\n")
    try:
        value = json.loads(body)
        lines = [body]
    except (ValueError, RecursionError):
        number = chance.randrange(len(lines))
        try:
            value = json.loads(lines[number])
        except (ValueError, RecursionError):
            return None
    else:
        number = 0
    holders = _holders(value)
    if not holders:
        return None
    _change_json(holders, chance)
    try:
        made = json.dumps(value, ensure_ascii=chance.random() < 0.3).replace(f'"{_BARE}"', chance.choice(_NUMBERS))
        lines[number] = made.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return None
    if len(lines) > 1 and chance.random() < 0.2:
        chance.shuffle(lines)
    return b"\n".join(lines)


# What JSON writes without quotes and Python's writer does not: put in afterwards.
_BARE: Final = "@bare"
_NUMBERS: Final = ("1e999999999", "-1e-999999999", "1" * 300, "1" * 5_000, "0.00", "-0", "1E+3", "NaN", "01", "1.")
Holder = dict[str, Any] | list[Any]


def _holders(value: Any) -> list[tuple[Holder, Any]]:
    """Every place of the tree: its holder and its key or index."""
    found: list[tuple[Holder, Any]] = []
    stack = [value]
    while stack:
        held = stack.pop()
        if isinstance(held, dict):
            found += [(held, key) for key in held]
            stack += held.values()
        elif isinstance(held, list):
            found += [(held, index) for index in range(len(held))]
            stack += held
    return found


def _change_json(places: list[tuple[Holder, Any]], chance: random.Random) -> None:
    holder, key = chance.choice(places)
    other, its = chance.choice(places)
    match chance.randrange(12):
        case 0 | 1 | 2:
            holder[key] = chance.choice(
                (chance.choice(ODD), None, _BARE, True, [], {}, 0, -1, 1e300, 10**25, [None], [[]], [""])
            )
        case 3:
            del holder[key]
        case 4:
            holder[key] = json.loads(json.dumps(other[its]))
        case 5:
            holder[key], other[its] = json.loads(json.dumps(other[its])), json.loads(json.dumps(holder[key]))
        case 6 if isinstance(holder, list):
            holder.extend(json.loads(json.dumps([holder[key]] * chance.choice(_MANY))))
        case 7 if isinstance(holder, dict) and isinstance(other, dict):
            holder[its] = holder.pop(key)
        case 8:
            holder[key] = [holder[key]]
        case 9:
            held = holder[key]
            holder[key] = held[0] if isinstance(held, list) and held else {"value": held}
        case 10 if isinstance(holder, dict):
            holder[chance.choice(("_", "")) + str(key)] = chance.choice(
                (chance.choice(ODD), {"extension": [{"url": MARK}]})
            )
        case _ if isinstance(holder[key], str):
            holder[key] = chance.choice(
                (f"{holder[key]}{chance.choice(ODD)}", chance.choice(ODD), holder[key][: len(holder[key]) // 2])
            )
        case _:
            holder[key] = chance.choice(ODD)


# ---------------------------------------------------------------------------------------------------------- XML

_XSI_TYPE: Final = "{http://www.w3.org/2001/XMLSchema-instance}type"
_TYPES: Final = (
    "CD", "CE", "PQ", "IVL_TS", "PIVL_TS", "EIVL_TS", "IVL_PQ", "RTO", "ST", "ED", "TS", "BL", "INT", "REAL", "X",
)  # fmt: skip
_NULL: Final = ("UNK", "NI", "NA", "OTH", "MSK", "x")


def tree_of_xml(body: bytes, chance: random.Random) -> bytes | None:
    """One element of an XML document changed."""
    try:
        root = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except (etree.XMLSyntaxError, ValueError, LookupError):
        return None
    every = [each for each in root.iter() if isinstance(each.tag, str)]
    try:
        _change_xml(chance.choice(every), chance.choice(every), chance)
        return etree.tostring(root, encoding="utf-8")
    except ValueError:  # characters that XML does not have
        return None


def _change_xml(node: etree._Element, other: etree._Element, chance: random.Random) -> None:
    parent = node.getparent()
    names = list(node.attrib)
    match chance.randrange(14):
        case 0 | 1 | 2 if names:
            node.set(chance.choice(names), chance.choice(ODD))
        case 3 if names:
            del node.attrib[chance.choice(names)]
        case 4:
            node.tag = other.tag
        case 5 if parent is not None:
            parent.remove(node)
        case 6 if parent is not None:
            for _ in range(chance.choice(_MANY)):
                parent.insert(parent.index(node), _copy(node))
        case 7:
            node.insert(chance.randint(0, len(node)), _copy(other))
        case 8:
            node.text = chance.choice(ODD)
        case 9:
            node.tail = chance.choice(ODD)
        case 10:
            node.set("nullFlavor", chance.choice(_NULL))
        case 11:
            node.set(_XSI_TYPE, chance.choice(_TYPES))
        case 12 if parent is not None:
            inner, around = _copy(node), node
            for _ in range(chance.choice((1, 3, 30, 250))):
                deeper = etree.Element(chance.choice((node, other)).tag)
                around.append(deeper)
                around = deeper
            around.append(inner)
        case _:
            for key, value in other.attrib.items():
                node.set(key, value)


def _copy(node: etree._Element) -> etree._Element:
    return etree.fromstring(etree.tostring(node, with_tail=False))


# -------------------------------------------------------------------------------------------------- HL7 v2 and X12


def fields_of_hl7v2(body: bytes, chance: random.Random) -> bytes | None:
    """One field, component or segment of a message changed."""
    text = body.decode("latin-1")
    segments = [each for each in re.split(r"[\r\n]+", text) if each]
    if not segments or not segments[0].startswith(("MSH", "FHS", "BHS")):
        return None
    at = chance.randrange(len(segments))
    fields = segments[at].split("|")
    field = chance.randrange(len(fields))
    delimiter = chance.choice(("|", "^", "~", "&", "\\"))
    match chance.randrange(12):
        case 0 | 1 | 2:
            fields[field] = _latin(chance.choice(ODD))
        case 3:
            parts = re.split(r"([\^~&])", fields[field])
            parts[chance.randrange(len(parts))] = _latin(chance.choice(ODD))
            fields[field] = "".join(parts)
        case 4:
            fields[field] = delimiter.join([fields[field]] * chance.choice((2, 5)))
        case 5:
            fields[field] = chance.choice(
                ('""', f"\\{MARK}\\", "\\X41\\", "\\X4\\", "\\C2842\\", "\\.br\\", "\\F\\", "\\H\\a\\N\\", "\\")
            )
        case 6:
            segments[at:at] = [segments[at]] * chance.choice(_MANY)
            return _joined(segments, chance)
        case 7:
            del segments[at]
            return _joined(segments, chance)
        case 8:
            other = chance.randrange(len(segments))
            segments[at], segments[other] = segments[other], segments[at]
            return _joined(segments, chance)
        case 9:
            fields[0] = chance.choice(
                ("OBX", "OBR", "NTE", "ORC", "PID", "RXA", "DG1", "MSH", "ZZZ", "PV1", "BTS", "BHS", "x")
            )
        case 10:
            fields.insert(field, _latin(chance.choice(ODD)))
        case _:
            fields = fields[: field + 1] + segments[chance.randrange(len(segments))].split("|")[field:]
    segments[at] = "|".join(fields)
    return _joined(segments, chance)


def _joined(segments: list[str], chance: random.Random) -> bytes:
    return chance.choice(("\r", "\r", "\r", "\n", "\r\n", "\r\r")).join([*segments, ""]).encode("latin-1", "replace")


def _latin(text: str) -> str:
    """The text as its UTF-8 bytes, one character each."""
    return text.encode().decode("latin-1")


_X12_SEGMENTS: Final = (
    "HI*ABK:J069*ABF:E119", "CLM*9*1***11:B:8", "DTP*472*RD8*20260101-20260102", "REF*F8*1", "SV1*HC:1*1*UN*1", "LX*1",
    "HL*9*1*23*0", "HL*1**20*1", "NM1*QC*1*A*B", "NM1*IL*1*A*B****MI*1", "PAT*19", "SBR*P*18*****CI", "DMG*D8*20260230",
    "CAS*CO*45*1*1*PR*1*1", "CLP*1*22*1*1*1*12*1", "SVC*HC:1*1*1", "EB*1*IND*30", "AAA*N**72*C", "STC*A1:20*20260101",
    "INS*Y*18*030", "HD*030**HLT", "UM*HS*I*1", "HCR*A1*1", "NTE*ADD*" + MARK, "MSG*" + MARK, "SE*1*0001",
    "ST*837*0001*005010X222A1", "GE*1*1", "IEA*1*1", "PLB*1*20260101*WO:1*1", "PWK*OZ*EL***AC*1", "CR1*LB*1*A*A*DH*1",
    "TRN*1*1*1",
)  # fmt: skip


def segments_of_x12(body: bytes, chance: random.Random) -> bytes | None:
    """One element or segment of an interchange changed."""
    text = body.decode("latin-1").lstrip("\ufeffï»¿ \r\n\t")
    if not text.startswith("ISA") or len(text) < 106:
        return None
    separator, end = text[3], text[105]
    if separator == end:
        return None
    segments = [each.strip("\r\n") for each in text.split(end) if each.strip()]
    at = chance.randrange(len(segments))
    elements = segments[at].split(separator)
    place = chance.randrange(len(elements))
    component = text[104]
    match chance.randrange(10):
        case 0 | 1 | 2 if at:
            elements[place] = _latin(chance.choice(ODD))
        case 3 if at:
            parts = elements[place].split(component)
            parts[chance.randrange(len(parts))] = _latin(chance.choice(ODD))
            elements[place] = component.join(parts)
        case 4:
            segments[at:at] = [segments[at]] * chance.choice(_MANY)
        case 5:
            del segments[at]
        case 6:
            other = chance.randrange(len(segments))
            segments[at], segments[other] = segments[other], segments[at]
        case 7:
            segments.insert(at, chance.choice(_X12_SEGMENTS).replace("*", separator).replace(":", component))
        case 8:
            elements = elements[:place]
        case _:
            elements.insert(place, _latin(chance.choice(ODD)))
    if at < len(segments) and segments[at] and elements:
        segments[at] = separator.join(elements) if chance.random() < 0.8 else segments[at]
    return (end + chance.choice(("", "\n"))).join([*segments, ""]).encode("latin-1", "replace")


# ----------------------------------------------------------------------------------------------------- documents

_TOKENS: Final = re.compile(
    rb"<[^<>]{0,200}>|\\[a-zA-Z]+-?\d* ?|\\'[0-9a-fA-F]{2}|[{}]|&[#\w]+;|\d+ \d+ (?:obj|R)|<<|>>|/[A-Za-z]+|\n"
    rb"|[^<\\{}&\n/]+|.",
    re.DOTALL,
)
_PIECES: Final[tuple[bytes, ...]] = (
    b"<table>", b"</td>", b"<pre>", b"<script>", b"</script>", b"<style>", b"<!--", b"-->", b"<![CDATA[", b"<br>",
    b"<title>", b"&#0;", b"&#xD800;", b"&#x110000;", b"&nbsp", b"&amp;#1;", b"<meta charset=utf-16>", b"<h1>Plan</h1>",
    b"<li>", b"\\'", b"\\'f", b"\\u-3913?", b"\\u55357?\\u56832?", b"\\uc9 ", b"\\bin99999999 ", b"\\bin-1 ",
    b"{\\*\\x ", b"{", b"}", b"\\ansicpg932 ", b"\\ansicpg0 ", b"\\fcharset128 ", b"\\f99 ", b"\\row ", b"\\cell ",
    b"\\par ", b"\\page ", b"\\pict ", b"Allergies:\n", b"\nPLAN\n", b"\n\n", b"---\n", b"```\n", b"\x0c", b"\xa0",
    b"\xe2\x80\xa8", b"\xff", b"\0", b"\r", b"# H\n", b"endobj", b"stream\n", b"endstream", b"0 R", b"/Count -1",
    b"/Kids [2 0 R]", b"/Length 99999999", b"/Encrypt 1 0 R",
    f"Electronically signed by: {MARK}, MD on 13/45/2024".encode(), f"Author: {MARK}\n".encode(), MARK.encode(),
)  # fmt: skip


def tokens(body: bytes, chance: random.Random) -> bytes | None:
    """One tag, control word, line or stretch of words changed; the parts of a Word document as XML."""
    if body.startswith(b"PK\x03\x04"):
        return _zipped(body, chance)
    held = _TOKENS.findall(body)
    if not held:
        return None
    at, other = chance.randrange(len(held)), chance.randrange(len(held))
    match chance.randrange(7):
        case 0:
            del held[at]
        case 1:
            held[at:at] = [held[other]] * chance.choice(_MANY)
        case 2:
            held[at], held[other] = held[other], held[at]
        case 3:
            low, high = sorted((at, other))
            held[low:high] = held[low:high][: chance.randint(0, 40)]
        case 4:
            held[at] = chance.choice(ODD).encode()
        case _:
            held.insert(at, chance.choice(_PIECES))
    return b"".join(held)


def _zipped(body: bytes, chance: random.Random) -> bytes | None:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            files = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    except Exception:  # whatever a broken archive raises: its bytes are changed instead
        return None
    if not files:
        return None
    at = chance.randrange(len(files))
    name, held = files[at]
    match chance.randrange(6):
        case 0:
            del files[at]
        case 1:
            files.append((chance.choice((name, "word/footnotes.xml", "word/header9.xml", "docProps/core.xml")), held))
        case 2:
            files[at] = (chance.choice((name.upper(), f"../{name}", MARK)), held)
        case 3:
            files[at] = (name, held[: len(held) // 2])
        case _:
            files[at] = (name, tree_of_xml(held, chance) or tokens(held, chance) or held)
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w") as archive:
        warnings.simplefilter("ignore")  # one name may stand twice
        for name, held in files:
            archive.writestr(zipfile.ZipInfo(name), held, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


# ------------------------------------------------------------------------------------------------------ archives

_NAMES: Final = (
    "a.json", "b/c.txt", ".hidden", "__MACOSX/x", "../../etc/x", "/abs", "", "a" * 300, MARK, "x\0y", "ä", "d/",
)  # fmt: skip


def files_of_archive(body: bytes, chance: random.Random) -> bytes | None:
    """Another archive of files of odd names; the bytes of the old one may be one of them."""
    files: list[tuple[str, bytes]] = []
    for _ in range(chance.randint(0, 6)):
        held = chance.choice((b"", b"{}", body[:2_000], b"\0" * 200_000, b'{"resourceType":"Patient","id":"p"}\n'))
        files.append((chance.choice(_NAMES), held))
    try:
        packed = chance.choice((_zip, _tar, _gzip))(files, chance)
    except (ValueError, OSError, UnicodeError):
        return None
    if chance.random() < 0.7 and packed:
        changed = bytearray(packed)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice((0, 1, 0xFF, chance.randrange(256)))
        packed = bytes(changed)
    return packed


def _zip(files: Sequence[tuple[str, bytes]], chance: random.Random) -> bytes:
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w") as archive:
        warnings.simplefilter("ignore")  # one name may stand twice
        for name, held in files:
            archive.writestr(zipfile.ZipInfo(name), held, chance.choice((0, 8, 12, 14)))
    return packed.getvalue()


def _tar(files: Sequence[tuple[str, bytes]], chance: random.Random) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=chance.choice((0, 1, 2))) as archive:
        for name, held in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(held)
            entry.type = chance.choice((tarfile.REGTYPE, tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.GNUTYPE_SPARSE))
            archive.addfile(entry, io.BytesIO(held))
    return packed.getvalue()


def _gzip(files: Sequence[tuple[str, bytes]], chance: random.Random) -> bytes:
    held = [_tar(files[:1], chance) if chance.random() < 0.5 else body for _, body in files]
    return b"".join(gzip.compress(each, mtime=0) for each in held)


# ---------------------------------------------------------------------------------------------------- transcripts


def turns(body: bytes, chance: random.Random) -> bytes | None:
    """A transcript as JSON, else as lines."""
    return tree_of_json(body, chance) if body.lstrip()[:1] in (b"{", b"[") else tokens(body, chance)


CHANGES: Final[dict[str, Change]] = {
    "fhir-r4": tree_of_json,
    "fhir-r5": tree_of_json,
    "cda": tree_of_xml,
    "hl7v2": fields_of_hl7v2,
    "x12": segments_of_x12,
    "documents": tokens,
    "archives": files_of_archive,
    "exports": tree_of_json,
    "transcripts": turns,
}
