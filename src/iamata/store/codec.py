"""How do nouns become bytes and come back? As JSON: what was stored equals what is read, offsets of times included.

Not MessagePack: its timestamps forget the offset (`Thursday` in a message is a day on the speaker's clock), and its
integers end at 64 bits. Both decode in about 4 µs a statement.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

from iamata.errors import BadInput, InvalidValue
from iamata.model.audit import AuditRecord
from iamata.model.document import Document, Receipt
from iamata.model.entry import Entry
from iamata.model.erasure import Hold
from iamata.model.memory import Memory
from iamata.model.model_answers import ModelAnswer
from iamata.model.passage import Passage
from iamata.model.provenance import Place, SourceKind
from iamata.model.ruling import Ruling
from iamata.model.session import Message, ToolCall
from iamata.model.statement import Statement

_encoder: Final = msgspec.json.Encoder()

statements: Final = msgspec.json.Decoder(Statement)
passages: Final = msgspec.json.Decoder(Passage)
places: Final = msgspec.json.Decoder(tuple[Place, str])  # a sighting's place, and what its item was called there
documents: Final = msgspec.json.Decoder(Document)
messages: Final = msgspec.json.Decoder(Message)


class KeptCall(msgspec.Struct, frozen=True, array_like=True):
    """A call, the principal that made it, and on whose behalf (not kept before there were entries)."""

    call: ToolCall
    by: str
    on_behalf_of: str = ""


tool_calls: Final = msgspec.json.Decoder(KeptCall)
memories: Final = msgspec.json.Decoder(Memory)
rulings: Final = msgspec.json.Decoder(Ruling)
holds: Final = msgspec.json.Decoder(Hold)
model_answers: Final = msgspec.json.Decoder(ModelAnswer)
receipts: Final = msgspec.json.Decoder(Receipt)
entries: Final = msgspec.json.Decoder(Entry)
audit_records: Final = msgspec.json.Decoder(AuditRecord)
rereadings: Final = msgspec.json.Decoder(tuple[str, ...])  # the documents that were read otherwise
relearnings: Final = msgspec.json.Decoder(tuple[str, ...])  # the memories that are found no more
sources: Final = msgspec.json.Decoder(tuple[str, SourceKind])


def encode(value: object) -> bytes:
    """The JSON of a noun. Raises BadInput if a text in it is no Unicode (a lone surrogate)."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError as error:
        raise BadInput("a text holds a lone surrogate, which is no Unicode character") from error


def text_of(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds: such texts sort as the moments do. Raises InvalidValue if it has no zone."""
    if moment.tzinfo is None:
        raise InvalidValue("times are aware (they have a UTC offset)")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


@lru_cache(maxsize=4096)
def moment_of(text: str) -> datetime:
    """The moment of a text that `text_of` made."""
    return datetime.fromisoformat(text)
