"""Which memories does a session give? Every message is read in the light of those before it, and of nothing after."""

from __future__ import annotations

from collections.abc import Iterable, Set
from datetime import datetime
from typing import Final

import msgspec

from iamata.formation.extraction import Mention, mentions
from iamata.formation.learned.echoes import without, without_tags
from iamata.model.identifiers import IdMint
from iamata.model.memory import Memory
from iamata.model.model_answers import ModelReading
from iamata.model.session import Message, Session, Speaker
from iamata.model.speaking import attribution

EXTRACTOR: Final = "offline/2"
# How many messages back an answer or a pronoun may look.
BEFORE: Final = 8


def learn(session: Session, *, mint: IdMint, only: Set[str] | None = None) -> tuple[Memory, ...]:
    """The memories of all messages, by message, then place, kind and concept; no two with one id.

    With `only`, of the messages with these ids. A function of each message and those before it: a longer session gives
    the same memories for its earlier messages. What an agent says is context for the answer to it and gives no memory,
    and neither do tool calls and what had been put into a context (`Message.injected`). Every quote is literally in its
    message.
    """
    learned: dict[str, Memory] = {}
    before: list[tuple[Speaker, str]] = []
    for message in session.messages:
        turn = message.turn
        text = without_tags(without(turn.text, message.injected))
        if turn.speaker is not Speaker.AGENT and (only is None or message.id in only):
            found = mentions(
                text,
                before=before[-BEFORE:],
                said_at=turn.said_at,
                speaker=turn.speaker,
                relationship=turn.relationship,
            )
            for mention in found:
                if any(mention.start < end and start < mention.end for start, end in message.injected):
                    continue
                memory = memory_of(message, mention, mint, extractor=EXTRACTOR, received_at=message.received_at)
                learned.setdefault(memory.id, memory)
        before.append((turn.speaker, text))
    return tuple(learned.values())


def memory_of(message: Message, mention: Mention, mint: IdMint, *, extractor: str, received_at: datetime) -> Memory:
    """The memory that this mention in this message is; `received_at` is when it was known."""
    concept = mention.concept.display
    return Memory(
        id=mint.memory(message.id, mention.start, mention.end, mention.kind.value, concept),
        session=message.session,
        message=message.id,
        start=mention.start,
        end=mention.end,
        quote=message.turn.text[mention.start : mention.end],
        kind=mention.kind,
        concept=mention.concept,
        attribution=attribution(message.turn),
        polarity=mention.polarity,
        experiencer=mention.experiencer,
        temporality=mention.temporality,
        certain=mention.certain,
        relation=mention.relation,
        change=mention.change,
        since=mention.since,
        since_said=mention.since_said,
        detail=mention.detail,
        said_at=message.turn.said_at,
        received_at=received_at,
        extractors=(extractor,),
    )


def with_evidence(memories: Iterable[Memory], readings: Iterable[ModelReading]) -> list[Memory]:
    """The memories in their order, each with every extractor that found it, sorted: language models found them when
    their readings say so, also after the memory was stored."""
    also: dict[str, set[str]] = {}
    for reading in readings:
        for id in reading.memories:
            also.setdefault(id, set()).add(reading.extractor)
    return [
        msgspec.structs.replace(m, extractors=tuple(sorted({*m.extractors, *also[m.id]}))) if m.id in also else m
        for m in memories
    ]
