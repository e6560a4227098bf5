"""The verbs that take in talk: turns, transcripts, and the tool calls beside them. What is said is kept as it was said.

What is new of a transcript is for `transcripts`, how its bytes are read for `connectors.transcripts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

import msgspec

from iamata.connectors import transcripts as reading
from iamata.engine.transcripts import check_words, future, one_patient, unheld, unseen
from iamata.engine.writing import Writing
from iamata.errors import BadInput
from iamata.errors import Conflict as NotAsStored
from iamata.formation.learned import echoes
from iamata.model.access import Access
from iamata.model.document import TRANSCRIPT, Document, Receipt
from iamata.model.erasure import Erasable
from iamata.model.identifiers import IdMint, content_digest
from iamata.model.provenance import SourceKind
from iamata.model.scope import patient as patient_subject
from iamata.model.session import Message, RecordedCall, Speaker, ToolCall, Turn, check_session_id
from iamata.ports import Accepted

_FORMAT = "session/v1"
_MEDIA_TYPES = {
    "json": "application/json",
    "text": "text/plain",
    "vtt": "text/vtt",
    "srt": "application/x-subrip",
    "csv": "text/csv",
}


class Talk(NamedTuple):
    """Turns of one session; `warnings` are what their reader had to say, `media_type` what they were read from. `body`
    and `format`: the transcript that they are, as received; empty for turns that came one by one."""

    session: str
    turns: Sequence[Turn]
    warnings: tuple[str, ...] = ()
    media_type: str = "application/json"
    body: bytes = b""
    format: str = ""


def _document(talk: Talk, receipt: Receipt, mint: IdMint) -> Document | None:
    """The bytes that the turns were read from; None for turns that came without."""
    if not talk.body:
        return None
    return Document(
        id=mint.document(receipt.source, talk.media_type, talk.body),
        subject=receipt.subject,
        source=receipt.source,
        media_type=talk.media_type,
        format=talk.format,
        sha256=content_digest(talk.body),
        size_bytes=len(talk.body),
        received_at=receipt.received_at,
    )


class Talking(Writing):
    """Appending turns, reading in transcripts, recording tool calls."""

    def append(
        self,
        patient: str,
        session: str,
        turns: Sequence[Turn],
        *,
        whole: bool = False,
        source: str = "",
        form: bool = True,
        after_erasure: bool = False,
        access: Access | None = None,
    ) -> Receipt:
        """Add turns to a session of the patient; the first call opens it.

        With `whole` the turns are the transcript so far: what is held is recognised, what is new is appended, and an
        edited, removed or reordered turn raises Conflict (with its number) and stores nothing. Without it all turns are
        new, but for those whose `turn_id` is held. Concurrent appends lose and double nothing; their order is the order
        in which they were stored. A session that was erased is opened again only with `after_erasure`, else Gone is
        raised; an erased turn that is sent again is recognised, and stays erased.
        """
        talks = [Talk(session, turns)]
        return self.append_many(
            patient, talks, whole=whole, source=source, form=form, after_erasure=after_erasure, access=access
        )[0]

    def append_many(
        self,
        patient: str,
        talks: Sequence[Talk],
        *,
        whole: bool = False,
        source: str = "",
        form: bool = True,
        after_erasure: bool = False,
        access: Access | None = None,
    ) -> list[Receipt]:
        """Add turns to several sessions of the patient, to all of them or none: a receipt for each. As `append`
        otherwise; raises Conflict if two of them name one session, BadInput (with the turn) where a second patient
        speaks or a text cannot be kept."""
        access, subject = self._begin("append", "write", access, patient_subject(patient))
        for talk in talks:
            check_session_id(talk.session)
        if not talks or not all(talk.turns for talk in talks):
            raise BadInput("a session is appended to with at least one turn", place="messages")
        if len({talk.session for talk in talks}) < len(talks):
            raise NotAsStored("two transcripts of one request name the same session")
        for talk in talks:
            check_words(talk.turns)
            one_patient(talk.turns)
        again = self._let_in(patient, access, after_erasure=after_erasure)
        for talk in talks:
            again += self._take_back(patient, Erasable.SESSION, talk.session, access, after_erasure)
        mint = self._graphs.mint(patient)
        for _ in range(100):
            now = self._clock()
            accepted: list[Accepted] = []
            for talk in talks:
                session, turns = talk.session, talk.turns
                held = self._store.session(patient, session)
                stored = held.messages if held else ()
                same = partial(_is_turn, mint)
                fresh = unseen(turns, stored, same=same) if whole else unheld(turns, stored, same=same)
                one_patient([*(message.turn for message in stored), *fresh])
                receipt = self._receipt(subject, source or access.id, _FORMAT, talk.media_type, now)
                # Where a turn was erased its words do not come in again with the bytes of the transcript.
                document = None if any(m.erased for m in stored) else _document(talk, receipt, mint)
                messages = self._messages(mint, patient, session, len(stored), fresh, now)
                accepted.append(
                    Accepted(
                        receipt=msgspec.structs.replace(
                            receipt,
                            session=session,
                            document=document.id if document else "",
                            warnings=talk.warnings + future(messages, now),
                        ),
                        document=document,
                        body=talk.body if document else b"",
                        source_kind=SourceKind.CONVERSATION,
                        messages=messages,
                    )
                )
            try:
                return self._accept("append", accepted, access, form=form, lifted=again)
            except NotAsStored:
                continue  # somebody else appended first: look again at what is held
        raise NotAsStored("the session is written to too often at once; try again")

    def append_transcript(
        self,
        patient: str,
        body: bytes,
        *,
        session: str = "",
        format: str = "",
        begins_at: datetime | None = None,
        time_zone: str = "",
        speakers: Mapping[str, str] | None = None,
        known_as: str = "",
        source: str = "",
        form: bool = True,
        after_erasure: bool = False,
        access: Access | None = None,
    ) -> Receipt:
        """Take in the transcript of one session of the patient, whole or not at all; sent again, only what is new. Its
        bytes are kept as received beside the turns, as a document.

        `format` is `json` (the wire contract's), `text` (a label before each turn), `vtt`, `srt` or `csv`, or empty
        (detected). `session` goes before the one that the transcript names. `begins_at` is when the talk began, for
        times that count from there; `time_zone` (an IANA name or an offset) of times without an offset. `speakers` says
        who a label stands for: a speaker, or `caregiver:daughter`; the label `""` is for turns without one (`before`:
        they go on with the turn before). `known_as` is the id by which the transcript names the patient, if not ours.

        Raises BadInput with the place: an unknown speaker, a second patient, a time without a zone, a transcript that
        cannot be read. Raises Conflict for turns that are not as stored.
        """
        access, _ = self._begin("append", "write", access, patient_subject(patient))
        ids = tuple(filter(None, (patient, known_as)))
        read = reading.read(
            body, format=format, begins_at=begins_at, time_zone=time_zone, speakers=speakers, patients=ids
        )
        name = session or read.session
        if not name:
            raise BadInput("say which conversation this is: the transcript does not name it", place="session")
        talk = Talk(name, read.turns, read.warnings, _MEDIA_TYPES[read.format], body, TRANSCRIPT + read.format)
        return self.append_many(
            patient, [talk], whole=True, source=source, form=form, after_erasure=after_erasure, access=access
        )[0]

    def record_calls(
        self, patient: str, session: str, calls: Sequence[ToolCall], *, access: Access | None = None
    ) -> int:
        """Record beside a session of a registered patient what an agent asked of tools; how many calls were new. A call
        with an id that this session has is the same call. Nothing is learned from calls, and no graph changes."""
        access, subject = self._begin("record_calls", "write", access, patient_subject(patient))
        check_session_id(session)
        self._registered(patient)
        if not calls:
            raise BadInput("there is no call in what was sent", place="calls")
        check_words([Turn(Speaker.AGENT, "", calls=tuple(calls))])
        mint, now = self._graphs.mint(patient), self._clock()
        recorded = [
            RecordedCall(
                id=mint.id("tc", (session, call.call_id)) if call.call_id else f"tc_{self._ids()}",
                session=session,
                after=-1,
                call=call,
                received_at=now,
                by=f"{access.kind}/{access.id}",
                on_behalf_of=access.on_behalf_of,
            )
            for call in calls
        ]
        new = self._store.record_calls(patient, recorded, now)
        self._audit("record_calls", access, subject, tuple(call.id for call in recorded))
        return new

    def _messages(
        self, mint: IdMint, patient: str, session: str, first: int, turns: Sequence[Turn], now: datetime
    ) -> tuple[Message, ...]:
        """The turns as messages, with what of them had been put into a context."""
        heard = [echoes.told(turn.text) if turn.speaker is not Speaker.AGENT else [] for turn in turns]
        marks = {key: mint.mark(key) for marked in heard for key, _, _ in marked}
        known = self._store.shown(patient, set(marks.values()))
        return tuple(
            Message(
                mint.message(session, index, turn.speaker, turn.text),
                session,
                index,
                turn,
                now,
                echoes.injected(marked, lambda key: marks[key] in known) if known else (),
            )
            for index, (turn, marked) in enumerate(zip(turns, heard, strict=True), start=first)
        )


def _is_turn(mint: IdMint, message: Message, turn: Turn) -> bool:
    """Is this the turn that was erased? Its id, which is a keyed hash of it, still tells."""
    return message.id == mint.message(message.session, message.index, turn.speaker, turn.text)
