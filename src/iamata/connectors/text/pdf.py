"""What does a PDF document say in words? Its text layer page by page (pypdfium2, extra `documents`); scans recognised.

ISO 32000. Nothing in a PDF is run or fetched. The file is opened in a process of its own (`pdfium`), so that a bad one
costs bounded memory and time and takes nothing down with it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from iamata.connectors.text import recognition
from iamata.connectors.text.pages import Extract, Limits, Page, Unread
from iamata.errors import BadInput, TooLarge, Unavailable
from iamata.model.document import Reason

INSTALL: Final = "to read PDF: pip install 'iamata[documents]'"
_PROGRAM: Final = str(Path(__file__).with_name("pdfium.py"))
_TIMEOUT_S: Final = 120
_DATE: Final = re.compile(
    r"D?:?(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d))?)?(Z|[+-]\d\d)?(?:'?(\d\d))?)?)?)?"
)
# A smaller picture on a page with text is a logo or a line.
_PICTURE_SHARE: Final = 0.2
_DPI: Final = 150  # dots per inch that recognition works on
# PDFium gives U+FFFE (once U+0002) for the hyphen of a word broken at the end of a line, without the line's end.
_HYPHENS: Final = re.compile("[\ufffe\x02]")
_NO_CHARACTERS: Final = re.compile("[\0\uffff\ud800-\udfff]")


def read(body: bytes, limits: Limits) -> Extract:
    """A page `/page/N` for each page with text, from 1. Raises BadInput for a password, or a file that is no sound PDF;
    TooLarge for one that takes more memory or time than allowed.

    Without the library everything is listed as unread, with what to install.
    """
    if find_spec("pypdfium2") is None:
        return Extract(unread=(Unread("/pages", f"the text of a PDF is not read; {INSTALL}"),))
    found, images = _opened(body, limits)
    pages: list[Page] = []
    unread: list[Unread] = []
    scans = 0
    for index, each in enumerate(found["pages"]):
        scans += bool(each.get("scanned"))
        image = None
        if "scan" in each:
            height, width = each["scan"]
            image, images = (images[: height * width], height, width), images[height * width :]
        read_page = _page(f"/page/{index + 1}", each, image, limits, scans)
        if isinstance(read_page, Page):
            pages.append(read_page)
        else:
            unread.append(read_page)
    count, done = found["count"], len(found["pages"])
    if done < count:
        bound = f"{limits.pages} pages" if done == limits.pages else f"{limits.characters} characters"
        unread.append(Unread(f"/page/{done + 1}", f"{count - done} pages beyond the {bound} read of one document"))
    if count == 0:
        unread.append(Unread("/pages", "the PDF has no pages", Reason.EMPTY))
    if found["attachments"]:
        unread.append(Unread("/attachments", f"{found['attachments']} files attached to the PDF are not read"))
    if found["form"]:
        unread.append(Unread("/form", "what is filled into the fields of the form is not read"))
    said = found["metadata"]
    return Extract(
        tuple(pages),
        tuple(unread),
        title=" ".join(said.get("Title", "").split())[:300],
        author=" ".join(said.get("Author", "").split())[:300],
        created=iso_date(said.get("CreationDate", "")),
    )


def _opened(body: bytes, limits: Limits) -> tuple[Any, bytes]:
    """What the program says of the file, and the pictures of its scanned pages."""
    scans = limits.recognised if recognition.available() else 0
    numbers = (limits.pages, limits.characters, scans, limits.pixels, _DPI)
    try:
        done = subprocess.run(  # noqa: S603 - our own program, with numbers; the file goes to its standard input
            [sys.executable, "-I", _PROGRAM, *map(str, numbers)],
            input=body,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooLarge("the PDF takes more time to read than allowed") from None
    except OSError as error:
        raise Unavailable(f"the program that reads PDF cannot be run: {type(error).__name__}") from None
    if done.returncode:
        raise TooLarge("the PDF takes more memory or time to read than allowed, or cannot be read at all")
    line, _, images = done.stdout.partition(b"\n")
    found = json.loads(line)
    if found.get("error") == "password":
        raise BadInput("the PDF needs a password: send it without")
    if found.get("error"):
        raise BadInput("the PDF cannot be opened: it is damaged or cut off")
    return found, images


def _page(
    pointer: str, each: dict[str, Any], image: tuple[bytes, int, int] | None, limits: Limits, scans: int
) -> Page | Unread:
    if each.get("damaged"):
        return Unread(pointer, "the page is damaged", Reason.UNUSABLE)
    text = _HYPHENS.sub("-", each["text"]).replace("\r\n", "\n")
    text = _NO_CHARACTERS.sub("", text)
    if each["scanned"]:
        return _scanned(pointer, text, each, image, limits, scans)
    if text.strip():
        return Page(
            pointer, text, left=("pictures on the page are not read",) if each["share"] >= _PICTURE_SHARE else ()
        )
    if each["share"] > 0:
        return Unread(pointer, "pictures on the page are not read")
    return Unread(pointer, "the page has no text", Reason.EMPTY)


def _scanned(
    pointer: str, text: str, each: dict[str, Any], image: tuple[bytes, int, int] | None, limits: Limits, scans: int
) -> Page | Unread:
    """A scanned page as recognised; with its few characters of text if it cannot be."""
    if image is not None:
        why = "a scanned page on which no text was recognised"
        try:
            found = recognition.recognise(recognition.grey(*image))
            if found.text.strip():
                return Page(pointer, found.text, confidence=found.confidence)
        except Unavailable as error:
            why = f"a scanned page; {error}"
    elif each.get("large"):
        why = "a scanned page larger than the images that are recognised"
    elif scans > limits.recognised:
        why = f"a scanned page beyond the {limits.recognised} recognised of one document"
    else:
        why = f"a scanned page; {recognition.INSTALL}"
    return Page(pointer, text, left=(why,)) if text.strip() else Unread(pointer, why)


def iso_date(text: str) -> str:
    """A PDF date (ISO 32000 7.9.4, `D:YYYYMMDDHHmmSSOHH'mm`) as ISO 8601, as precise as it is; empty if it is none."""
    match = _DATE.match(text)
    if match is None:
        return ""
    year, month, day, hour, minute, second, zone, zone_minute = match.groups()
    found = year
    for part in (month, day):
        if part is None:
            return found
        found += f"-{part}"
    if hour is None or minute is None:
        return found
    found += f"T{hour}:{minute}" + (f":{second}" if second else "")
    if zone is None:
        return found
    return found + ("Z" if zone == "Z" else f"{zone}:{zone_minute or '00'}")
