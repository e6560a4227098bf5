"""How does a licensed terminology come into the local cache? Found, compiled whole, put in place in one step.

A cache folder holds one folder a kind: `set.json` and sorted tables. It is made from files that the user is licensed
for, stays on this machine, and is no part of any export. Loading replaces the set of that kind; whatever goes wrong
before the last step leaves what was there. Which set is used is `loaded`'s matter.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from iamata.errors import BadInput, NotFound
from iamata.terminology.loaded import Description, Kind, Loaded
from iamata.terminology.loading import loinc, rxnorm, snomed, umls
from iamata.terminology.loading.reading import Account, BadLine, Progress, check_whole, silent
from iamata.terminology.sorted_text import BATCH_LINES, SortedText, SortedWriter

# Goes up when tables are compiled otherwise; sets of another format are not used, and said to be old.
FORMAT: Final = 1
_MANIFEST: Final = "set.json"

Finder = Callable[[Path], dict[str, Path]]
Compiler = Callable[[dict[str, Path], dict[str, SortedWriter], Account], str]

_KINDS: Final[dict[Kind, tuple[Finder, Compiler, tuple[str, ...]]]] = {
    Kind.RXNORM: (rxnorm.files, rxnorm.compile, rxnorm.TABLES),
    Kind.SNOMED: (snomed.files, snomed.compile, snomed.TABLES),
    Kind.LOINC: (loinc.files, loinc.compile, loinc.TABLES),
    Kind.UMLS: (umls.files, umls.compile, umls.TABLES),
}


class Loading(msgspec.Struct, frozen=True, kw_only=True):
    """What loading came to: the set, the lines read, how many were skipped as unusable, and the first of these."""

    description: Description
    lines: int
    bad_lines: int
    first_bad: tuple[BadLine, ...]


class _Manifest(msgspec.Struct, frozen=True):
    format: int
    description: Description


def find(path: Path, kind: Kind | None = None) -> tuple[Kind, dict[str, Path]]:
    """The kind of the files at a path (a folder, or one file of it) and the files. Raises NotFound for no such path,
    BadInput if the files are of no kind, or of several and `kind` does not say which."""
    if not path.exists():
        raise NotFound("there is no such file or folder", what="file", id=path.name)
    folder = path if path.is_dir() else path.parent
    found: dict[Kind, dict[str, Path]] = {}
    for each, (files, _, _) in _KINDS.items():
        if kind is None or each is kind:
            files_of = files(folder)
            if files_of and (path.is_dir() or path in files_of.values()):
                found[each] = files_of
    if not found:
        wanted = f"of {kind.value}" if kind else "that is known"
        raise BadInput(
            f"no terminology {wanted}: looked for RXNCONSO.RRF, sct2_Concept_Snapshot*.txt, Loinc.csv and MRCONSO.RRF",
            place=path.name,
        )
    if len(found) > 1:
        raise BadInput(f"several terminologies ({', '.join(found)}): say which with --kind", place=path.name)
    return next(iter(found.items()))


def load(
    path: Path,
    cache: Path,
    *,
    kind: Kind | None = None,
    progress: Progress = silent,
    batch_lines: int = BATCH_LINES,
) -> Loading:
    """Compile the files at a path into the cache, in place of the set of that kind. Same files, same bytes.

    Raises NotFound, BadInput (unknown, cut off, nothing usable): then the cache is as it was. Lines that cannot be used
    are skipped and accounted for. Disk: some twice the size of the names while it runs.
    """
    kind, files = find(path, kind)
    for file in files.values():
        check_whole(file)
    _, compile, names = _KINDS[kind]
    cache.mkdir(parents=True, exist_ok=True)
    fresh = cache / f".loading-{kind.value}-{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    try:
        account = Account(progress)
        writers = {name: SortedWriter(fresh / f"{name}.tsv", batch_lines=batch_lines) for name in names}
        release = compile(files, writers, account)
        written = {name: writer.finish() for name, writer in writers.items()}
        if not any(count for count, _ in written.values()):
            raise BadInput("these files hold nothing that can be used. Nothing was loaded", place=path.name)
        digest = sha256(f"{FORMAT} {kind.value} {release}".encode())
        for name in names:
            digest.update(f"\n{name} {written[name][1]}".encode())
        description = Description(
            kind=kind,
            version=digest.hexdigest()[:16],
            release=release,
            rows={name: count for name, (count, _) in written.items()},
        )
        (fresh / _MANIFEST).write_bytes(msgspec.json.encode(_Manifest(FORMAT, description)))
        _put_in_place(fresh, cache / kind.value)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Loading(description=description, lines=account.lines, bad_lines=account.bad, first_bad=tuple(account.named))


def _put_in_place(fresh: Path, place: Path) -> None:
    """Whoever has the old set open keeps reading it; an interruption between the two steps leaves no set, never a
    half one."""
    old = fresh.with_name(f"{fresh.name}.old")
    if place.exists():
        place.rename(old)
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def listed(cache: Path) -> list[Description]:
    """The sets of a cache, by kind; none if there is no such folder. One that cannot be read, or of another format,
    is left out: load it again."""
    found = [_manifest(cache / kind.value) for kind in Kind]
    return [each.description for each in found if each is not None]


def _manifest(folder: Path) -> _Manifest | None:
    try:
        manifest = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=_Manifest)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return manifest if manifest.format == FORMAT else None


def opened(cache: Path) -> list[Loaded]:
    """Every set of a cache, opened for `loaded.use`."""
    return [
        Loaded(each, {name: SortedText(cache / each.kind.value / f"{name}.tsv") for name in each.rows})
        for each in listed(cache)
    ]


def unload(cache: Path, kind: Kind) -> Description:
    """Delete a set from the cache. Raises NotFound if it is not there."""
    found = next((each for each in listed(cache) if each.kind is kind), None)
    if found is None:
        raise NotFound(what="loaded terminology", id=kind.value)
    shutil.rmtree(cache / kind.value)
    return found
