"""What was handed in? Archives opened, the format of each file named, and whose it says it is. Nothing is stored.

For those who take in files that nobody described; what is done with them is for `writing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from iamata.connectors import archives, registry
from iamata.errors import UnknownFormat


class Handed(NamedTuple):
    """A file, looked at. `patient` is the id it gives its one patient (empty if it gives none, or not exactly one that
    can be an id here), `patients` how many it is about (0: it does not say), `lines` whether it may be a file of an
    export (FHIR with a resource a line)."""

    name: str
    body: bytes
    format: str
    patient: str
    patients: int
    lines: bool


def unpacked(name: str, body: bytes) -> Iterator[tuple[str, bytes]]:
    """The file itself, or what it holds if it is an archive (ZIP, tar, gzip) and no document that is read as it is.

    Raises TooLarge, or BadInput for an archive that is damaged or encrypted; what came out before stands.
    """
    if archives.is_archive(body):
        try:
            registry.detect(body, name=name)
        except UnknownFormat:
            yield from archives.opened([(name, body)])
            return
    yield name, body


def looked_at(name: str, body: bytes, *, media_type: str = "") -> Handed:
    """What this file is. Raises UnknownFormat for one that nothing reads."""
    format = registry.detect(body, media_type=media_type, name=name)
    patients, _ids = registry.patients_named(body, format)
    patient = registry.patient_hint(body, format)
    return Handed(name, body, format, patient, patients, registry.is_lines(body, format, name))
