"""A program of its own: which text, pictures and metadata does the PDF on standard input hold?

Run by `pdf`, never imported by it: a parser of a large format in C++ reads what strangers send, so it gets a process
that may crash, with bounded memory and processor time. It knows nothing of iamata and opens nothing but its input.

Arguments: pages, characters, scans and pixels that may be read, and dots per inch of scans. On standard output one line
of JSON, then for each page with `scan` [height, width] as many bytes of grey.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

MEMORY_BYTES: Final = 2_000_000_000
PROCESSOR_S: Final = 60
# A picture that covers so much of a page, on a page with less text than this, is the page: it was scanned.
_SCANNED_SHARE: Final = 0.5
_SCANNED_CHARACTERS: Final = 40
_OBJECTS: Final = 2_000
_PASSWORD: Final = (4, 5)  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY


def main() -> None:
    _bounded()
    pages, characters, scans, pixels, dpi = map(int, sys.argv[1:6])
    body = sys.stdin.buffer.read()
    found, images = _read(body, pages, characters, scans, pixels, dpi)
    out = sys.stdout.buffer
    out.write(json.dumps(found).encode() + b"\n")
    for image in images:
        out.write(image)
    out.flush()


def _bounded() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(
    body: bytes, pages: int, characters: int, scans: int, pixels: int, dpi: int
) -> tuple[dict[str, Any], list[bytes]]:
    """`error`, or `count`, `pages`, `attachments`, `metadata`; pages up to the bounds, each with what became of it."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        needs = getattr(error, "err_code", None) in _PASSWORD or "assword" in str(error)
        return {"error": "password" if needs else "damaged"}, []
    images: list[bytes] = []
    found: list[dict[str, Any]] = []
    left = characters
    for index in range(min(len(document), pages)):
        if left <= 0:
            break
        try:
            page = document[index]
            each = _page(page, pypdfium2)
            if each["scanned"] and len(images) < scans:
                _render(page, each, images, pixels, dpi)
            page.close()
        except pypdfium2.PdfiumError:
            each = {"damaged": True}
        left -= len(each.get("text", ""))
        found.append(each)
    said = {name: value for name, value in document.get_metadata_dict().items() if isinstance(value, str)}
    return {
        "count": len(document),
        "pages": found,
        "attachments": document.count_attachments(),
        "form": document.get_formtype(),
        "metadata": said,
    }, images


def _page(page: Any, library: Any) -> dict[str, Any]:
    """The text, the share of the page that its largest picture covers (0..1), and whether it is a scan."""
    layer = page.get_textpage()
    text = layer.get_text_bounded()
    layer.close()
    width, height = page.get_size()
    largest = 0.0
    for number, each in enumerate(page.get_objects(filter=[library.raw.FPDF_PAGEOBJ_IMAGE], max_depth=4)):
        if number >= _OBJECTS:
            break
        left, bottom, right, top = each.get_bounds()
        largest = max(largest, (right - left) * (top - bottom))
    share = min(1.0, largest / (width * height)) if width * height > 0 else 0.0
    return {
        "text": text,
        "share": share,
        "scanned": share >= _SCANNED_SHARE and len(text.strip()) < _SCANNED_CHARACTERS,
    }


def _render(page: Any, each: dict[str, Any], images: list[bytes], pixels: int, dpi: int) -> None:
    """The page as grey, if it has no more than so many pixels."""
    scale = dpi / 72
    width, height = page.get_size()
    if width * height * scale * scale > pixels:
        each["large"] = True
        return
    bitmap = page.render(scale=scale, grayscale=True)
    raw, stride = bytes(bitmap.buffer), bitmap.stride
    each["scan"] = [bitmap.height, bitmap.width]
    images.append(b"".join(raw[row * stride : row * stride + bitmap.width] for row in range(bitmap.height)))
    bitmap.close()


if __name__ == "__main__":
    main()
