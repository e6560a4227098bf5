"""Which text stands in an image? RapidOCR with the models of its own package, or Debian's tesseract; both optional.

Nothing is downloaded: without models on this machine recognition is not available. Lines come from top to bottom, those
of one height from left to right. Not promised: that they are right; each page says how sure the recogniser was.
"""

from __future__ import annotations

import csv
import io
import logging
import shutil
import subprocess
import threading
from functools import cache
from importlib import resources
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from iamata.errors import Unavailable

INSTALL: Final = "to recognise text in images: pip install 'iamata[ocr]', or install tesseract"
_TIMEOUT_S: Final = 120
_one_at_a_time = threading.Lock()


class Recognised(NamedTuple):
    """`confidence` is the mean over its lines (0..1), weighed by their length."""

    text: str
    confidence: float


class _Line(NamedTuple):
    text: str
    confidence: float
    left: float
    top: float
    bottom: float


def available() -> bool:
    """Can text in images be recognised on this machine?"""
    return _models() is not None or _tesseract() != ""


def recognise(pixels: Any) -> Recognised:
    """The text in an image: uint8 [height, width] grey or [height, width, 3 or 4] colour.

    Raises Unavailable when nothing here can recognise text, or the recogniser fails.
    """
    if _models() is not None:
        try:
            with _one_at_a_time:
                found = _engine()(pixels[:, :, :3] if pixels.ndim == 3 else pixels.repeat(3).reshape(*pixels.shape, 3))
        except Exception as error:  # whatever a model and its runtime may raise spoils this image only
            raise Unavailable(f"text recognition failed: {type(error).__name__}") from None
        if found.txts is None or found.boxes is None or found.scores is None:
            return Recognised("", 0.0)
        return _joined(
            [
                _Line(text, float(score), float(box[:, 0].min()), float(box[:, 1].min()), float(box[:, 1].max()))
                for text, score, box in zip(found.txts, found.scores, found.boxes, strict=True)
            ]
        )
    if _tesseract():
        return _by_tesseract(_portable(pixels))
    raise Unavailable(INSTALL)


def grey(raw: bytes, height: int, width: int) -> Any:
    """An image as `recognise` takes it: uint8 [height, width]."""
    import numpy

    return numpy.frombuffer(raw, dtype=numpy.uint8).reshape(height, width)


@cache
def _models() -> dict[str, str] | None:
    """The three models inside the installed package, by their task; None if it or one of them is missing."""
    if find_spec("rapidocr") is None or find_spec("onnxruntime") is None:
        return None
    names = sorted(entry.name for entry in resources.files("rapidocr").joinpath("models").iterdir())
    found = {}
    for task in ("Det", "Rec", "Cls"):
        name = next((n for n in names if f"_{task.lower()}_" in n and n.endswith(".onnx")), "")
        if not name:
            return None
        found[task] = str(resources.files("rapidocr").joinpath("models", name))
    return found


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    models = _models() or {}
    params: dict[str, Any] = {f"{task}.model_path": path for task, path in models.items()}
    params |= {
        "Global.log_level": "critical",
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }
    engine = RapidOCR(params=params)
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    return engine


@cache
def _tesseract() -> str:
    return shutil.which("tesseract") or ""


def _by_tesseract(image: bytes) -> Recognised:
    try:
        done = subprocess.run(  # noqa: S603 - a program found on PATH, with fixed arguments; the image goes to its stdin
            [_tesseract(), "stdin", "stdout", "tsv"],
            input=image,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
            env={"OMP_THREAD_LIMIT": "1"},
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise Unavailable(f"tesseract failed: {type(error).__name__}") from None
    lines: dict[tuple[str, ...], list[_Line]] = {}
    for row in csv.DictReader(
        io.StringIO(done.stdout.decode("utf-8", "replace")), delimiter="\t", quoting=csv.QUOTE_NONE
    ):
        if (row.get("text") or "").strip() and row.get("level") == "5":
            top = float(row["top"])
            word = _Line(row["text"], float(row["conf"]) / 100, float(row["left"]), top, top + float(row["height"]))
            lines.setdefault((row["block_num"], row["par_num"], row["line_num"]), []).append(word)
    return _weighed([(" ".join(word.text for word in words), words) for words in lines.values()])


def _joined(lines: list[_Line]) -> Recognised:
    """Boxes whose middles are within each other's height are one line, from left to right, set apart by a tab."""
    rows: list[list[_Line]] = []
    for line in sorted(lines, key=lambda each: (each.top + each.bottom, each.left)):
        middle = (line.top + line.bottom) / 2
        if rows and rows[-1][0].top <= middle <= rows[-1][0].bottom:
            rows[-1].append(line)
        else:
            rows.append([line])
    ordered = [sorted(row, key=lambda each: each.left) for row in rows]
    return _weighed([("\t".join(each.text for each in row), row) for row in ordered])


def _weighed(rows: list[tuple[str, list[_Line]]]) -> Recognised:
    words = [word for _text, row in rows for word in row]
    size = sum(len(word.text) for word in words)
    confidence = sum(max(0.0, word.confidence) * len(word.text) for word in words) / size if size else 0.0
    return Recognised("\n".join(text for text, _row in rows), round(confidence, 3))


def _portable(pixels: Any) -> bytes:
    """An image as PNM (netpbm's P5 grey, P6 colour), which every recogniser reads."""
    if pixels.ndim == 3:
        pixels = pixels[:, :, :3]
    height, width = pixels.shape[:2]
    raw: bytes = pixels.tobytes()
    return f"P{6 if pixels.ndim == 3 else 5}\n{width} {height}\n255\n".encode() + raw
