"""Small documents that tests can see through: PDF, DOCX and DICOM written by hand."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import md5

from iamata.connectors import registry
from iamata.connectors.documents import read as read_document
from iamata.connectors.text import Limits
from iamata.model.identifiers import IdMint
from iamata.model.scope import patient
from iamata.ports import Parsed

RECEIVED = datetime(2026, 1, 5, 12, tzinfo=UTC)
MINT = IdMint(b"k" * 32)
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")  # PDF 1.7, 7.6.3.3


def read(body: bytes | str, format: str = "", *, name: str = "", limits: Limits | None = None) -> Parsed:
    """Read as a document of one patient; the format is detected if it is not given."""
    body = body.encode() if isinstance(body, str) else body
    return read_document(
        body,
        format=format or registry.detect(body, name=name),
        subject=patient("p"),
        source="clinic",
        mint=MINT,
        document="en_1",
        received_at=RECEIVED,
        limits=limits,
    )


def passages(parsed: Parsed) -> list[tuple[str, str]]:
    """Titles and texts in order."""
    return [(each.title, each.text) for each in parsed.passages]


def lines(parsed: Parsed) -> list[tuple[str, str, str, str]]:
    """Kind, place, outcome and detail of each line of the intake."""
    return [(each.kind, each.place, str(each.outcome), each.detail) for each in parsed.intake]


def pdf(pages: Sequence[str], *, info: str = "", password: str = "", pictures: Sequence[bytes] = ()) -> bytes:
    """A PDF with a page of Helvetica lines for each text, then a page that is one picture for each JPEG."""
    objects: list[bytes] = []

    def add(content: bytes) -> int:
        objects.append(content)
        return len(objects)

    catalog, tree = add(b"<< /Type /Catalog /Pages 2 0 R >>"), add(b"")
    font = add(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for text in pages:
        shown = "".join(
            f"({line.replace('(', chr(92) + '(').replace(')', chr(92) + ')')}) Tj 0 -14 Td "
            for line in text.split("\n")
        )
        stream = f"BT /F1 12 Tf 50 750 Td {shown} ET".encode("latin-1")
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
                b"/Resources << /Font << /F1 %d 0 R >> >> >>" % (content, font)
            )
        )
    for jpeg, width, height in ((each, *_size(each)) for each in pictures):
        image = add(
            b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8 "
            b"/Filter /DCTDecode /Length %d >>\nstream\n%s\nendstream" % (width, height, len(jpeg), jpeg)
        )
        stream = b"q %d 0 0 %d 0 0 cm /I1 Do Q" % (width, height)
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
                b"/Resources << /XObject << /I1 %d 0 R >> >> >>" % (width, height, content, image)
            )
        )
    objects[tree - 1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (
        b" ".join(b"%d 0 R" % kid for kid in kids),
        len(kids),
    )
    trailer = b"/Root %d 0 R" % catalog
    if info:
        trailer += b" /Info %d 0 R" % add(info.encode("latin-1"))
    if password:
        trailer += b" /ID [<00> <00>] /Encrypt %d 0 R" % add(_encryption(password))
    body, at = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        at.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in at)
    return body + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        table,
        len(objects) + 1,
        trailer,
        len(body),
    )


def _size(jpeg: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(io.BytesIO(jpeg)) as image:
        return image.size


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def _encryption(password: str) -> bytes:
    """The standard security handler, revision 2 (PDF 1.7, 7.6.3): enough to ask for a password."""
    padded = (password.encode() + _PADDING)[:32]
    owner = _rc4(md5(padded).digest()[:5], padded)
    key = md5(padded + owner + (0xFFFFFFFC).to_bytes(4, "little") + b"\0").digest()[:5]
    return b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (
        owner.hex().encode(),
        _rc4(key, _PADDING).hex().encode(),
    )


def docx(body: str, **parts: str | bytes) -> bytes:
    """A Word document with this content of `w:body`; `parts` are further parts, `__` for `/` and a last `_` for `.`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>')
        for name, content in parts.items():
            path, _, kind = name.replace("__", "/").rpartition("_")
            archive.writestr(f"{path}.{kind}", content)
    return packed.getvalue()


def p(text: str, style: str = "") -> str:
    """A paragraph of Word."""
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def bomb(size: int) -> bytes:
    """A Word document whose main part inflates to `size` blanks."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        part.write(f'<w:document xmlns:w="{W}">'.encode())
        for _ in range(size // 1_000_000):
            part.write(b" " * 1_000_000)
    return packed.getvalue()


def deflated(text: str) -> bytes:
    """RFC 1951, without a header."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(text.encode()) + packer.flush()


def picture(*said: str, format: str = "PNG", size: tuple[int, int] = (700, 220)) -> bytes:
    """An image of black lines of text on white."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(said):
        draw.text((20, 20 + number * 60), line, fill="black", font=ImageFont.load_default(size=36))
    packed = io.BytesIO()
    image.save(packed, format)
    return packed.getvalue()
