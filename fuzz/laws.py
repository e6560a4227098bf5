"""What must hold of the reading of any bytes at all?

1. *refused by us*: no exception but those of `iamata.errors` for bad input (or for software that is not installed).
2. *nothing lost*: every item that `evals.accounting` counts is a statement, a passage or a line of the intake; the
   words of a text document stand in its passages or are headings.
3. *placed and silent*: every refusal and every line of the intake names a place, and none holds a value of the
   document. Whoever changes a document plants `MARK` as a value; it is looked for in messages, places and details.
4. *the same twice*: the same bytes give the same reading, or the same refusal.
5. *whole*: ids are unique; every sighting is of a statement or passage that is there and stands at a place that opens;
   every statement and passage is sighted.
6. *storable and foldable*: what was read goes through the store's codec unchanged and can be formed.
7. *bounded*: what comes out is at most `AMPLIFICATION` times what came in. Time and memory are bounded by the fuzzer
   (`doors`), as tests hold no clock.

Not here: whether what was read is right.
"""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Final, NamedTuple, TypeVar

import msgspec
from evals.accounting import unaccounted

from iamata.connectors import documents, registry
from iamata.errors import BadInput, IamataError, Unavailable
from iamata.formation.pipeline import form
from iamata.model.document import Document, IntakeLine
from iamata.model.graph import Held
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.passage import Passage
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient
from iamata.model.stamp import Moment
from iamata.model.statement import Statement
from iamata.ports import Parsed
from iamata.store import codec
from iamata.terminology.narrative import heading

# A value that no table knows and no message may hold.
MARK: Final = "Quill7feather"
# Bytes of the stored reading for each byte of the document, above what any document costs. The dearest honest item is
# the shortest: a diagnosis of X12 (`:BF:E119`) becomes a statement of about 900 bytes.
AMPLIFICATION: Final = 400
FREE: Final = 100_000
# Refusals of a document as a whole: there is no place to name.
_WHOLE: Final = re.compile(
    r"is empty|bytes, more than the|^this looks like|holds no text|^this is (?:no text|FHIR R5)"
    r"|damaged|encrypted|cannot be opened|a password|names no patient, study or report"
    r"|missing required field"
)
_OPENED: Final = 3

MINT: Final = IdMint(b"laws of reading, a key of 32 byt")
RECEIVED: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SUBJECT: Final = patient("p")
SOURCE: Final = "northside"
DOCUMENT: Final = "en_1"

T = TypeVar("T")
Item = Statement | Passage


class Fault(NamedTuple):
    """A law that does not hold. `kind` is the same for the same fault in other inputs."""

    law: str
    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.law}: {self.kind}" + (f" ({self.detail})" if self.detail else "")


class Judged(NamedTuple):
    """What came of the bytes: a reading or a refusal (neither when the connector broke), and the laws that were."""

    parsed: Parsed | None
    refusal: IamataError | None
    faults: tuple[Fault, ...]


def lawful(body: bytes, format: str) -> Parsed | None:
    """The reading, None if the document is refused. Raises AssertionError naming every law that does not hold."""
    judged = judge(body, format)
    assert not judged.faults, "; ".join(map(str, judged.faults))
    return judged.parsed


def judge(body: bytes, format: str, *, fold: bool = True) -> Judged:
    """Read the bytes as this format, as the engine does, and see which laws hold. `fold`: also form what was read,
    which costs more than all else."""
    found: list[Fault] = []
    first = attempt(lambda: parse(body, format), found)
    for ask in (registry.patients_named, registry.patient_hint, registry.source_hint, registry.is_lines):
        attempt(lambda ask=ask: ask(body, format), found)  # type: ignore[misc]  # mypy cannot infer a default's type
    if isinstance(first, BaseException):
        found += refused(first)
        second = attempt(lambda: parse(body, format), [])
        if str(second) != str(first):
            found.append(Fault("the same twice", "another refusal"))
        return Judged(None, first, tuple(found))
    if first is None:
        return Judged(None, None, tuple(found))
    if parse(body, format) != first:
        found.append(Fault("the same twice", "another reading"))
    found += [Fault("nothing lost", re.sub(r"\d+", "N", each), each) for each in unaccounted(body, format, first)]
    found += _silent(first)
    found += _whole(first)
    found += _opened(body, format, first)
    found += _stored(body, first)
    if format.startswith("document/"):
        found += _words(body, format, first)
    if fold:
        attempt(lambda: formed(first, format), found, law="foldable")
    return Judged(first, None, tuple(found))


def parse(body: bytes, format: str) -> Parsed:
    return registry.parse(
        body, format=format, subject=SUBJECT, source=SOURCE, mint=MINT, document=DOCUMENT, received_at=RECEIVED
    )


def attempt(act: Callable[[], T], found: list[Fault], *, law: str = "refused by us") -> T | IamataError | None:
    """What comes of it: its value, our refusal, or None and a fault for any other exception."""
    try:
        return act()
    except (BadInput, Unavailable) as refusal:
        return refusal
    except Exception as error:
        found.append(Fault(law, f"{type(error).__name__} at {_where(error)}", str(error)[:200]))
        return None


def _where(error: BaseException) -> str:
    """The innermost line of ours."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "iamata" in PurePath(f.filename).parts]
    return f"{PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "a library"


def refused(error: IamataError) -> Iterator[Fault]:
    """A refusal names a place, unless it is of the whole document, and holds no value."""
    said = str(error)
    if MARK.lower() in said.lower():
        yield Fault("placed and silent", f"{type(error).__name__} tells a value", said)
    place = getattr(error, "place", "")
    if not place and isinstance(error, BadInput) and not _WHOLE.search(said):
        yield Fault("placed and silent", f"{type(error).__name__} without a place", said)


def _silent(parsed: Parsed) -> Iterator[Fault]:
    for line in parsed.intake:
        yield from line_faults(line, whole=not parsed.format.startswith(("cda", "hl7v2", "x12")))
    for warning in parsed.warnings:
        if MARK.lower() in warning.lower():
            yield Fault("placed and silent", "a warning tells a value", warning)


def line_faults(line: IntakeLine, *, whole: bool = False) -> Iterator[Fault]:
    """A line names its place (`whole`: the empty one is the document) and tells no value; its label may be a code."""
    if not line.place and not whole:
        yield Fault("placed and silent", f"a line of {line.kind} without a place", line.detail)
    if MARK.lower() in f"{line.kind} {line.place} {line.detail}".lower():
        yield Fault("placed and silent", f"a line of {line.label or line.kind} tells a value", str(line))


def _whole(parsed: Parsed) -> Iterator[Fault]:
    ids = [*(s.id for s in parsed.statements), *(p.id for p in parsed.passages)]
    for id, count in Counter(ids).items():
        if count > 1:
            yield Fault("whole", "an id stands twice", id)
    sighted = {sighting.item for sighting in parsed.sightings}
    for id in sighted - set(ids):
        yield Fault("whole", "a sighting of nothing", id)
    for item in _items(parsed):
        if item.id not in sighted:
            yield Fault("whole", f"{_kind(item)} that is not sighted", item.id)


def _items(parsed: Parsed) -> list[Item]:
    return [*parsed.statements, *parsed.passages]


def _kind(item: Item) -> str:
    return f"a statement of {item.kind}" if isinstance(item, Statement) else "a passage"


def _opened(body: bytes, format: str, parsed: Parsed) -> Iterator[Fault]:
    """Of some sightings: something stands at their place; the words of a passage with a span stand there literally."""
    texts = {passage.id: passage.text for passage in parsed.passages}
    step = max(1, len(parsed.sightings) // _OPENED)
    for sighting in parsed.sightings[::step]:
        found: list[Fault] = []
        shown = attempt(lambda place=sighting.place: registry.excerpt(body, format, place), found)  # type: ignore[misc]
        yield from found
        if isinstance(shown, str):
            if not shown.strip() and sighting.place.pointer:
                yield Fault("whole", "a place that does not open", str(sighting.place))
            elif sighting.place.start is not None and sighting.item in texts and shown != texts[sighting.item]:
                yield Fault("whole", "other words at the place of a passage", str(sighting.place))


def _stored(body: bytes, parsed: Parsed) -> Iterator[Fault]:
    size = 0
    for item in _items(parsed):
        try:
            raw = codec.encode(item)
            decoder = codec.statements if isinstance(item, Statement) else codec.passages
            if decoder.decode(raw) != item:
                yield Fault("storable", f"{_kind(item)} comes back changed")
        except (IamataError, msgspec.MsgspecError, ValueError) as error:
            yield Fault("storable", f"{_kind(item)}: {type(error).__name__}", str(error)[:200])
            continue
        size += len(raw)
    for rest in (parsed.intake, parsed.sightings, parsed.warnings):
        try:
            size += len(codec.encode(rest))
        except IamataError as error:
            yield Fault("storable", "the account", str(error))
    if size > FREE + AMPLIFICATION * len(body):
        yield Fault("bounded", "more comes out than may", f"{size} bytes of {len(body)}")


def _words(body: bytes, format: str, parsed: Parsed) -> Iterator[Fault]:
    """Each page's text is in its passages, or is a heading."""
    spans: dict[str, list[tuple[int, int]]] = {}
    texts = {passage.id for passage in parsed.passages}
    for sighting in parsed.sightings:
        at = sighting.place
        if sighting.item in texts and at.start is not None and at.end is not None:
            spans.setdefault(at.pointer, []).append((at.start, at.end))
    for line in parsed.intake:
        if line.kind != "page" or line.place not in spans:
            continue
        kept = documents.at(body, line.place, format=format)
        for start, end in spans[line.place]:
            kept = kept[:start] + re.sub(r"[^\n\r]", " ", kept[start:end]) + kept[end:]
        for left in kept.splitlines():
            rest = left.strip("#*_=: \t\xa0-")
            if any(map(str.isalnum, rest)) and heading(rest) is None:
                yield Fault("nothing lost", "words of a page", f"{line.place}: {len(rest)} characters")


def formed(parsed: Parsed, format: str) -> object:
    """The graph of one document."""
    document = Document(
        id=DOCUMENT,
        subject=SUBJECT,
        source=SOURCE,
        media_type="",
        format=format,
        sha256="",
        size_bytes=0,
        received_at=RECEIVED,
    )
    held = Held(
        subject=SUBJECT,
        version=1,
        statements=parsed.statements,
        passages=parsed.passages,
        sightings=parsed.sightings,
        documents=(document,),
        sources=((SOURCE, SourceKind.EHR),),
    )
    return form(held, moment=Moment(true_at=RECEIVED), mint=MINT).hash


def digest(parsed: Parsed) -> str:
    """The whole reading as one hash: equal in every process."""
    return content_digest(codec.encode([parsed.statements, parsed.passages, parsed.intake, parsed.warnings]))
