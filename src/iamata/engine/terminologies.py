"""Which licensed terminologies does this installation have, and how do they come and go? For the command line.

They lie compiled in a folder that is given; an engine that opens with that folder uses them (`Engine.open`), and one
that is open already goes on with what it had. Not here: what they mean (`terminology`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from iamata.terminology import loaded, loading
from iamata.terminology.loaded import Description, Kind
from iamata.terminology.loading import Loading
from iamata.terminology.loading.reading import Progress, silent

__all__ = ["Description", "Kind", "Loading", "in_use", "listed", "load", "unload", "use"]


def load(path: Path, folder: Path, *, kind: Kind | None = None, progress: Progress = silent) -> Loading:
    """Compile the files at `path` into the folder, in place of what was loaded of that kind (`terminology.loading`)."""
    return loading.load(path, folder, kind=kind, progress=progress)


def listed(folder: Path) -> Sequence[Description]:
    """What is loaded there, by kind."""
    return loading.listed(folder)


def unload(folder: Path, kind: Kind) -> Description:
    """Delete what is loaded of that kind. Raises NotFound."""
    return loading.unload(folder, kind)


def use(folder: Path) -> None:
    """Use what is loaded there, in this process, from now on: the knowledge version and every answer rest on it."""
    loaded.use(loading.opened(folder))


def in_use() -> str:
    """What this process uses, as `kind version, …`; empty if nothing."""
    return ", ".join(loaded.in_use())
