"""Through which door do bytes of each family come in, what must hold there, and what may it cost?

Time is CPU time of this process, memory what its greatest resident size grew by; both bounds grow with the bytes.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from typing import Final

from fuzz.laws import MARK, Fault, attempt, judge, line_faults, refused
from iamata.connectors import archives, registry, transcripts
from iamata.connectors.documents import FORMATS
from iamata.connectors.fhir import exports
from iamata.connectors.text.charsets import decode
from iamata.errors import IamataError, UnknownFormat
from iamata.model.identifiers import content_digest

# Instrumented code is about five times slower than what is installed, and the laws read a document eight times.
SECONDS: Final = 2.0
SECONDS_FOR_A_BYTE: Final = 200e-6
MEMORY: Final = 200_000_000
MEMORY_FOR_A_BYTE: Final = 1_000
# Every so many documents are also formed, chosen by their bytes.
_FOLD_EVERY: Final = 8
_ARCHIVE_BYTES: Final = 5_000_000
_ARCHIVE_FILES: Final = 200

Door = Callable[[bytes], list[Fault]]


def _reading(format: str) -> Door:
    def enter(body: bytes) -> list[Fault]:
        return [*_told(body), *_read(body, format)]

    return enter


def _read(body: bytes, format: str) -> tuple[Fault, ...]:
    return judge(body, format, fold=int(content_digest(body)[:4], 16) % _FOLD_EVERY == 0).faults


def _told(body: bytes, name: str = "") -> list[Fault]:
    found: list[Fault] = []
    told = attempt(lambda: registry.detect(body, name=name), found)
    if isinstance(told, IamataError):
        found += refused(told)
    return found


def documents(body: bytes) -> list[Fault]:
    """A text or file of any document format, told by its bytes; bytes of another family are read as a text."""
    found: list[Fault] = []
    try:
        format = registry.detect(body)
    except UnknownFormat:
        format = ""
    return [*found, *_read(body, format if format in FORMATS else "document/text")]


def archive(body: bytes) -> list[Fault]:
    """What comes out is within the bounds, twice the same, and refusals name the archive."""
    found: list[Fault] = []

    def opened() -> list[tuple[str, bytes]]:
        sent = [("x.zip", body)]
        return list(archives.opened(sent, limit_bytes=_ARCHIVE_BYTES, limit_files=_ARCHIVE_FILES))

    first, second = attempt(opened, found), attempt(opened, [])
    if isinstance(first, IamataError):
        found += refused(first)
        if str(second) != str(first):
            found.append(Fault("the same twice", "another refusal"))
    elif first is not None:
        if second != first:
            found.append(Fault("the same twice", "other files"))
        if len(first) > _ARCHIVE_FILES or sum(len(held) for _, held in first) > _ARCHIVE_BYTES:
            found.append(Fault("bounded", "more comes out than may"))
        for name, held in first[:5]:
            found += _told(held, name)
    return found


def export(body: bytes) -> list[Fault]:
    """Every line of an export stands in a document, a deletion, or the intake; every document is read lawfully."""
    found: list[Fault] = []
    first = attempt(lambda: exports.split([("a.ndjson", body)]), found)
    second = attempt(lambda: exports.split([("a.ndjson", body)]), [])
    if isinstance(first, IamataError):
        found += refused(first)
    if first is None or isinstance(first, IamataError):
        return found
    if second != first:
        found.append(Fault("the same twice", "another export"))
    found += [fault for line in first.lines for fault in line_faults(line)]
    if b"\0" not in body[:4096]:
        found += _lines_lost(body, first)
    if len({each.patient for each in first.documents}) != len(first.documents):
        found.append(Fault("whole", "two documents of one patient"))
    for document in first.documents[:3]:
        found += judge(document.body, "fhir/r4", fold=False).faults
    return found


def _lines_lost(body: bytes, export: exports.Export) -> Iterator[Fault]:
    """Of an export whose resources are the lines: where each went."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        pass
    else:
        return
    lines = [(n, line.strip()) for n, line in enumerate(body.removeprefix(b"\xef\xbb\xbf").split(b"\n"))]
    kept = {line for document in export.documents for line in document.body.split(b"\n")}
    listed = {int(number) for line in export.lines if (number := line.place.split("/")[1]).isdigit()}
    if len([line for _, line in lines if line]) < 2 or listed == {0}:
        return
    for at, line in lines:
        if line and b'"Bundle"' not in line and line not in kept and at not in listed:
            yield Fault("nothing lost", "a line of an export", f"line {at}")


def talk(body: bytes) -> list[Fault]:
    """A transcript: every line that holds something is a turn, or the transcript is refused with a place."""
    found: list[Fault] = []
    first, second = attempt(lambda: transcripts.read(body), found), attempt(lambda: transcripts.read(body), [])
    if isinstance(first, IamataError):
        found += refused(first)
        if str(second) != str(first):
            found.append(Fault("the same twice", "another refusal"))
    elif first is not None:
        if second != first:
            found.append(Fault("the same twice", "other turns"))
        if first.format == "text":
            said = "\n".join(turn.text for turn in first.turns)
            ends = [line.rsplit(":", 1)[-1].split() for line in decode(body).text.split("\n")]
            if any(words and words[-1] not in said for words in ends):
                found.append(Fault("nothing lost", "a line of a transcript"))
    return found


DOORS: Final[dict[str, Door]] = {
    "fhir-r4": _reading("fhir/r4"),
    "fhir-r5": _reading("fhir/r5"),
    "cda": _reading("cda/r2"),
    "hl7v2": _reading("hl7v2"),
    "x12": _reading("x12"),
    "documents": documents,
    "archives": archive,
    "exports": export,
    "transcripts": talk,
}


def entered(target: str, body: bytes) -> list[Fault]:
    """Every law of the target's door that these bytes break, its bounds among them."""
    memory, start = _resident(), time.process_time()
    found = DOORS[target](body)
    seconds, grown = time.process_time() - start, _resident() - memory
    if seconds > SECONDS + SECONDS_FOR_A_BYTE * len(body):
        found.append(Fault("bounded", "time", f"{seconds:.1f} s for {len(body)} bytes"))
    if grown > MEMORY + MEMORY_FOR_A_BYTE * len(body):
        found.append(Fault("bounded", "memory", f"{grown} bytes for {len(body)} bytes"))
    return found


def _resident() -> int:
    """The greatest resident size so far, in bytes (Linux counts kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


__all__ = ["DOORS", "MARK", "Door", "entered"]
