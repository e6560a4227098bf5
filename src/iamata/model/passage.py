"""A stretch of narrative text, with its author and its place."""

from __future__ import annotations

import msgspec

from iamata.errors import InvalidValue
from iamata.model.attribution import AuthorshipEvidence
from iamata.model.clinical_time import Timed
from iamata.model.provenance import Provenance
from iamata.model.scope import Subject
from iamata.model.statement import Domain, Label


class Passage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Narrative text exactly as it stands in its item, once decoded.

    `part` is the relative pointer inside the item (`note/0`, `content/0/attachment`); `title` the section or note
    title as sent; `start` the offset in characters of `text` within that decoded part.
    """

    id: str
    subject: Subject
    provenance: Provenance
    authorship: tuple[AuthorshipEvidence, ...]
    part: str
    text: str
    title: str = ""
    start: int = 0
    times: tuple[Timed, ...] = ()
    labels: tuple[Label, ...] = ()
    domain: Domain = Domain.CLINICAL

    def __post_init__(self) -> None:
        if not self.id or not self.text.strip():
            raise InvalidValue("a passage has an id and a text")
        if not self.authorship:
            raise InvalidValue("a passage carries authorship evidence, if only that its item has none")
