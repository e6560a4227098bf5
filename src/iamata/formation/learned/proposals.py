"""Which of a language model's proposals become memories? Those that were said, literally, by who is said to say it.

A proposal points at words. Everything else of the memory comes from the message and from the offline engine: the span
is the whole clause, and polarity, experiencer, time and certainty are read there. Where the model holds otherwise the
memory is uncertain; where the offline engine has found the thing itself, its memory stands as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from iamata.formation.extraction import Mention, Refusal, mention_at
from iamata.formation.extraction.pointed import SUITED, folded
from iamata.formation.learned.asking import CHANGES, Piece, read_text
from iamata.formation.learned.learning import BEFORE, memory_of
from iamata.model.identifiers import IdMint
from iamata.model.memory import Experiencer, Memory, MemoryKind, Temporality
from iamata.model.session import Message
from iamata.model.statement import Polarity

# No message asserts more; what a model lists beyond is counted, not looked at.
MOST_PROPOSALS: Final = 200


class Drop(StrEnum):
    """Why a proposal is not believed, beside the reasons of `Refusal`."""

    MALFORMED = "malformed"
    TOO_MANY = "too-many"
    NO_SUCH_MESSAGE = "no-such-message"
    WRONG_SPEAKER = "wrong-speaker"
    UNKNOWN_WORD = "unknown-word"  # a type, polarity, experiencer, temporality or change that does not exist
    QUOTE_NOT_THERE = "quote-not-there"
    ABOUT_NOT_THERE = "about-not-there"
    SHOWN_BEFORE = "shown-before"  # words of a context that came back
    HELD_OTHERWISE = "held-otherwise"  # the offline engine found it, and says something else


class Proposal(msgspec.Struct, frozen=True):
    """One proposal as it came: of the right types, and nothing more."""

    message: int
    speaker: str
    quote: str
    about: str
    type: str
    polarity: str
    experiencer: str
    temporality: str
    certain: bool = True
    change: str = ""


class Accepted(msgspec.Struct, frozen=True):
    """`fresh` are memories that nobody had found; `found` the ids of all that were proposed and believed, sorted, those
    of the offline engine among them; `dropped` how many were not, by reason, sorted."""

    fresh: tuple[Memory, ...] = ()
    found: tuple[str, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()


def accepted(
    body: bytes, piece: Piece, offline: Iterable[Memory], *, mint: IdMint, extractor: str, received_at: datetime
) -> Accepted:
    """What of an answer about this piece is believed. `offline` are the memories that the offline extractor finds in
    its session; `received_at` is when the answer came: that is when a fresh memory was known.

    Raises nothing for any bytes: what cannot be read at all is one proposal that is malformed.
    """
    held: dict[str, list[Memory]] = {}
    for each in offline:
        held.setdefault(each.message, []).append(each)
    dropped: Counter[str] = Counter()
    fresh: dict[str, Memory] = {}
    found: set[str] = set()
    for raw in _listed(body, dropped):
        try:
            proposal = msgspec.convert(raw, Proposal)
        except msgspec.ValidationError:
            dropped[Drop.MALFORMED] += 1
            continue
        memory = _memory(proposal, piece, held, mint, extractor, received_at)
        if not isinstance(memory, Memory):
            dropped[memory] += 1
            continue
        found.add(memory.id)
        if all(memory.id != known.id for known in held.get(memory.message, ())):
            fresh.setdefault(memory.id, memory)
    counts = tuple(sorted((str(reason), count) for reason, count in dropped.items()))
    return Accepted(tuple(fresh.values()), tuple(sorted(found)), counts)


def _listed(body: bytes, dropped: Counter[str]) -> Sequence[Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        value = None
    listed = value.get("memories") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        dropped[Drop.MALFORMED] += 1
        return ()
    if len(listed) > MOST_PROPOSALS:
        dropped[Drop.TOO_MANY] += len(listed) - MOST_PROPOSALS
    return listed[:MOST_PROPOSALS]


def _memory(
    proposal: Proposal,
    piece: Piece,
    held: dict[str, list[Memory]],
    mint: IdMint,
    extractor: str,
    received_at: datetime,
) -> Memory | str:
    """The memory, or why there is none."""
    if not 1 <= proposal.message <= len(piece.messages):
        return Drop.NO_SUCH_MESSAGE
    message = piece.messages[proposal.message - 1]
    if proposal.speaker != message.turn.speaker.value:
        return Drop.WRONG_SPEAKER
    try:
        kind, polarity = MemoryKind(proposal.type), Polarity(proposal.polarity)
        experiencer, temporality = Experiencer(proposal.experiencer), Temporality(proposal.temporality)
    except ValueError:
        return Drop.UNKNOWN_WORD
    if proposal.change not in ("", *CHANGES):
        return Drop.UNKNOWN_WORD
    anchor = _anchor(read_text(message), proposal)
    if isinstance(anchor, str):
        return anchor
    if any(anchor[0] < end and start < anchor[1] for start, end in message.injected):
        return Drop.SHOWN_BEFORE
    change = proposal.change if kind is MemoryKind.ADHERENCE else ""
    mention = _asserted(piece, message, anchor, kind, change)
    if isinstance(mention, Refusal):
        return mention.value
    told = proposal.certain and (polarity, experiencer, temporality) == (
        mention.polarity,
        mention.experiencer,
        mention.temporality,
    )
    known = _known(mention, held.get(message.id, ()))
    if known is not None:
        agrees = known.kind is mention.kind and known.polarity is polarity and known.experiencer is experiencer
        return known if agrees else Drop.HELD_OTHERWISE
    mention = msgspec.structs.replace(mention, certain=mention.certain and told)
    return memory_of(message, mention, mint, extractor=extractor, received_at=received_at)


def _anchor(text: str, proposal: Proposal) -> tuple[int, int] | Drop:
    """The characters of the words that name the thing, within the quote, within the message."""
    at = text.find(proposal.quote) if proposal.quote.strip() else -1
    if at < 0:
        return Drop.QUOTE_NOT_THERE
    within = proposal.quote.find(proposal.about) if proposal.about.strip() else -1
    if within < 0:
        return Drop.ABOUT_NOT_THERE
    return at + within, at + within + len(proposal.about)


def _asserted(
    piece: Piece, message: Message, anchor: tuple[int, int], kind: MemoryKind, change: str
) -> Mention | Refusal:
    turn = message.turn
    before = [(m.turn.speaker, m.turn.text) for m in piece.session.messages if m.index < message.index]
    return mention_at(
        turn.text,
        *anchor,
        kind,
        change=change,
        before=before[-BEFORE:],
        said_at=turn.said_at,
        speaker=turn.speaker,
        relationship=turn.relationship,
    )


def _known(mention: Mention, offline: Sequence[Memory]) -> Memory | None:
    """The memory that the offline engine holds of the same thing: of the same concept in the same clause, or in the
    same words but for a finer name. Of another type only where both are of what is in the record."""
    words = set(folded(mention.concept.display))
    near = []
    for memory in offline:
        if memory.end <= mention.start or mention.end <= memory.start:
            continue
        theirs = set(folded(memory.concept.display))
        same_kind = memory.kind is mention.kind
        if words == theirs or (same_kind and (words <= theirs or theirs <= words)):
            if same_kind:
                return memory
            if memory.kind in SUITED and mention.kind in SUITED:
                near.append(memory)
    return near[0] if near else None
