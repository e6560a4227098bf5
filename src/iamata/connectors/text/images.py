"""What does an image say in words? PNG, JPEG and TIFF through recognition; without it they are listed, not read."""

from __future__ import annotations

import io
from typing import Final

from iamata.connectors.text import recognition
from iamata.connectors.text.pages import Extract, Limits, Page, Unread
from iamata.errors import BadInput, TooLarge, Unavailable
from iamata.model.document import Reason

_FORMATS: Final = ("PNG", "JPEG", "TIFF")


def read(body: bytes, limits: Limits) -> Extract:
    """A page for each image of the file (a TIFF may hold several). Raises BadInput for a damaged image, TooLarge for
    one with more pixels than allowed; that is found before it is decoded."""
    if not recognition.available():
        return Extract(unread=(Unread("/page/1", f"an image; {recognition.INSTALL}"),))
    try:
        import numpy
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return Extract(unread=(Unread("/page/1", "an image; to open it: pip install 'iamata[ocr]'"),))
    pages: list[Page] = []
    unread: list[Unread] = []
    try:
        with Image.open(io.BytesIO(body), formats=_FORMATS) as image:
            frames = getattr(image, "n_frames", 1)
            for index in range(frames):
                pointer = f"/page/{index + 1}"
                if index >= limits.recognised:
                    why = f"{frames - index} images beyond the {limits.recognised} recognised of one document"
                    unread.append(Unread(pointer, why))
                    break
                image.seek(index)
                if image.width * image.height > limits.pixels:
                    raise TooLarge(f"the image has more than the {limits.pixels} pixels allowed", place=pointer)
                try:
                    found = recognition.recognise(numpy.asarray(image.convert("RGB")))
                except Unavailable as error:
                    unread.append(Unread(pointer, f"an image; {error}"))
                    continue
                if found.text.strip():
                    pages.append(Page(pointer, found.text, confidence=found.confidence))
                else:
                    unread.append(Unread(pointer, "no text was recognised in the image", Reason.EMPTY))
    except UnidentifiedImageError:
        raise BadInput("the image cannot be opened: it is damaged") from None
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise BadInput(f"the image is damaged or cut off: {type(error).__name__}") from None
    return Extract(tuple(pages), tuple(unread))
