"""What does a FHIR server hold of a patient? `$everything` and searches, page after page, each as a document.

The next page is where the server says, but only below the configured base URL: a link that leads anywhere else is data,
and is refused. Not here: reading the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode, urljoin

import msgspec

from iamata.errors import BadInput, InvalidValue, NotAllowed, TooLarge
from iamata.reach.fetching import Fetcher

FHIR_JSON = "application/fhir+json"
_FHIR_ID = re.compile(r"[A-Za-z0-9.-]{1,64}\Z")
_TYPE = re.compile(r"[A-Z][A-Za-z]{1,63}\Z")


class _Link(msgspec.Struct):
    relation: str = ""
    url: str = ""


class _Page(msgspec.Struct):
    resourceType: str = ""
    link: list[_Link] = []


def everything(
    fetcher: Fetcher, patient: str, *, since: datetime | None = None, types: Sequence[str] = ()
) -> Iterator[bytes]:
    """The pages of `Patient/{patient}/$everything`, each a Bundle. `patient` is the id on the server.

    Raises InvalidValue (an id or type that cannot be one), NotFound, NotAllowed (also for a link that leads elsewhere),
    TooLarge, BadInput, Unavailable.
    """
    return _pages(fetcher, f"Patient/{fhir_id(patient)}/$everything", narrowed(since, types))


def search(fetcher: Fetcher, type: str, parameters: Mapping[str, str]) -> Iterator[bytes]:
    """The pages of a search of one type: `search(f, "Observation", {"patient": "1"})`. Raises as `everything`."""
    return _pages(fetcher, fhir_type(type), dict(parameters))


def _pages(fetcher: Fetcher, path: str, parameters: dict[str, str]) -> Iterator[bytes]:
    server = fetcher.server
    parameters.setdefault("_count", str(server.page_size))
    url = f"{server.base_url.rstrip('/')}/{path}?{urlencode(parameters)}"
    seen: set[str] = set()
    while url:
        if url in seen:
            raise BadInput("the pages of the FHIR server lead in a circle")
        if len(seen) >= server.limits.pages:
            raise TooLarge(f"the answer of the FHIR server has more than the {server.limits.pages} pages allowed")
        seen.add(url)
        answer = fetcher.get(url, accept=FHIR_JSON)
        following = _next(answer.body)
        yield answer.body
        url = joined(url, following) if following else ""
        if url and not server.within_base(url):
            raise NotAllowed(
                "the FHIR server's next page lies outside its configured base URL", reasons=("foreign next link",)
            )


def _next(body: bytes) -> str:
    try:
        page: Any = msgspec.json.decode(body, type=_Page)
    except msgspec.DecodeError:
        raise BadInput("the FHIR server did not answer with a Bundle in JSON") from None
    if page.resourceType != "Bundle":
        raise BadInput("the FHIR server did not answer with a Bundle")
    return next((link.url for link in page.link if link.relation == "next"), "")


def joined(base: str, url: str) -> str:
    """A URL that a server named, made absolute. Raises BadInput if it is none."""
    try:
        return urljoin(base, url)
    except ValueError:
        raise BadInput("the FHIR server named something that is no URL") from None


def narrowed(since: datetime | None, types: Sequence[str]) -> dict[str, str]:
    """`_since` and `_type`, which `$everything` and `$export` share."""
    found: dict[str, str] = {}
    if types:
        found["_type"] = ",".join(fhir_type(each) for each in types)
    if since is not None:
        if since.tzinfo is None:
            raise InvalidValue("since is aware: a FHIR instant has a time zone")
        found["_since"] = since.isoformat(timespec="seconds")
    return found


def fhir_id(text: str) -> str:
    if not _FHIR_ID.match(text):
        raise InvalidValue("a FHIR id is 1 to 64 of A-Z a-z 0-9 - .")
    return text


def fhir_type(text: str) -> str:
    if not _TYPE.match(text):
        raise InvalidValue("a FHIR type is a name such as Observation")
    return text
