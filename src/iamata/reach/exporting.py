"""How is a bulk export fetched? Kick-off, waiting, the files, and the server told that they may go (FHIR Bulk Data
Access 2.0.0).

Files are loaded from the server's own origin and from its configured file hosts only. Not here: whose lines they hold
(`connectors`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from iamata.errors import BadInput, NotAllowed, Unavailable
from iamata.reach.fetching import Answer, Fetcher
from iamata.reach.searching import FHIR_JSON, fhir_id, joined, narrowed

_NDJSON = "application/fhir+ndjson"
# How long to wait between two looks where the server does not say, in seconds.
_LOOK_S = 10.0


class ExportFile(NamedTuple):
    """`name` tells it from the others: `output/0/Patient.ndjson`, `deleted/0/…`, `error/0/…`."""

    name: str
    body: bytes


class _File(msgspec.Struct):
    url: str
    type: str = ""


class _Manifest(msgspec.Struct):
    requiresAccessToken: bool = True
    output: list[_File] = []
    deleted: list[_File] = []
    error: list[_File] = []


def export(
    fetcher: Fetcher, *, group: str = "", since: datetime | None = None, types: Sequence[str] = ()
) -> Iterator[ExportFile]:
    """The NDJSON files of an export of all patients, or of a group: output, then deleted, then error files.

    Waits as long as the server says (Retry-After), in all no longer than `limits.export_s`. Raises Unavailable when it
    takes longer or fails, NotAllowed for a file on a host that is not configured, and as `everything` does.
    """
    server = fetcher.server
    parameters = {"_outputFormat": _NDJSON} | narrowed(since, types)
    path = f"Group/{fhir_id(group)}/$export" if group else "Patient/$export"
    url = f"{server.base_url.rstrip('/')}/{path}?{urlencode(parameters)}"
    kicked = fetcher.get(url, accept=FHIR_JSON, prefer="respond-async")
    status_url = joined(url, kicked.headers.get("content-location", ""))
    if kicked.status != 202 or not kicked.headers.get("content-location"):
        raise BadInput("the FHIR server did not start an export: it answers without a place to look")
    if not server.same_origin(status_url):
        raise NotAllowed("the export's status lies on another host", reasons=("foreign status URL",))
    try:
        manifest = _manifest(_ready(fetcher, status_url))
        yield from _files(fetcher, manifest, status_url)
    finally:
        fetcher.delete(status_url)


def _ready(fetcher: Fetcher, url: str) -> Answer:
    """The manifest, as soon as it is there."""
    limits = fetcher.server.limits
    waited = 0.0
    while True:
        answer = fetcher.get(url, accept="application/json")
        if answer.status == 200:
            return answer
        pause = fetcher.retry_after(answer)
        pause = min(max(pause if pause is not None else _LOOK_S, limits.pause_s), limits.pause_max_s)
        if waited + pause > limits.export_s:
            raise Unavailable(f"the export of the FHIR server is not ready after {waited:.0f} s")
        fetcher.sleep(pause)
        waited += pause


def _manifest(answer: Answer) -> _Manifest:
    try:
        return msgspec.json.decode(answer.body, type=_Manifest)
    except msgspec.DecodeError:
        raise BadInput("the FHIR server's export has no manifest that can be read") from None


def _files(fetcher: Fetcher, manifest: _Manifest, status_url: str) -> Iterator[ExportFile]:
    groups = (("output", manifest.output), ("deleted", manifest.deleted), ("error", manifest.error))
    named = [
        (kind, index, file, joined(status_url, file.url)) for kind, files in groups for index, file in enumerate(files)
    ]
    if any(not fetcher.server.may_hold_files(url) for _kind, _index, _file, url in named):
        raise NotAllowed("a file of the export lies on a host that is not configured", reasons=("foreign file URL",))
    for kind, index, file, url in named:
        answer = fetcher.get(url, accept=_NDJSON, with_token=manifest.requiresAccessToken)
        if answer.status != 200:
            raise Unavailable("a file of the export is not ready")
        yield ExportFile(f"{kind}/{index}/{file.type or 'lines'}.ndjson", answer.body)
