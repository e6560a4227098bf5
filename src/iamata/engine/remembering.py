"""The verbs that read what was said: memories, threads, their links through time, tool calls, and what people ruled."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from iamata.assembly import pipeline as assembly
from iamata.assembly.recall import recall
from iamata.assembly.threads import threads
from iamata.engine import shown
from iamata.engine.door import Door
from iamata.errors import Gone, NotFound
from iamata.model.access import Access
from iamata.model.erasure import Erasable
from iamata.model.graph import Graph, Held
from iamata.model.link import LinkType
from iamata.model.memory import Memory, MemoryKind
from iamata.model.ruling import Ruling
from iamata.model.scope import patient as patient_subject
from iamata.model.session import RecordedCall, check_session_id
from iamata.model.thread import LinkOfThen, LinkState, Recalled, Thread
from iamata.policy.sensitivity import of_texts
from iamata.policy.view import View, hears_talk, labels_hide, sees_all, session_without


class Remembering(Door):
    """Reading Learned Memory."""

    def memories(
        self,
        patient: str,
        *,
        session: str = "",
        kinds: Collection[MemoryKind] = (),
        thread: str = "",
        query: str = "",
        task: str = "",
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Recalled]:
        """The patient's memories: all, or those of a session, of kinds, of a thread, that answer a question, or that
        matter to a task. Newest first; with a question the best answer, with a task what matters and counts most.
        Raises InvalidValue for a task without a profile."""
        access, subject = self._begin("memories", "read", access, patient_subject(patient))
        loaded = self._load(subject, known_at, true_at, access)
        found = recall(
            loaded.tree,
            index=loaded.index,
            moment=loaded.graph.moment,
            session=session,
            kinds=kinds,
            thread=thread,
            query=query,
            profile=assembly.profile_of(task) if task else None,
        )
        self._remember_shown(subject.id, _quoted(each.memory for each in found))
        self._audit("memories", access, subject, tuple(each.memory.id for each in found))
        return found

    def threads(
        self,
        patient: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[Thread]:
        """What was said of each thing, newest first, with what changed; the thing spoken of last first."""
        access, subject = self._begin("threads", "read", access, patient_subject(patient))
        tree = self._load(subject, known_at, true_at, access).tree
        found = threads(tree.graph.memories.values(), tree.neighbours.messages)
        self._remember_shown(subject.id, _quoted(memory for each in found for memory in each.memories))
        self._audit("threads", access, subject, tuple(memory.id for each in found for memory in each.memories))
        return found

    def link_history(
        self,
        patient: str,
        memory: str,
        *,
        known_at: datetime | None = None,
        true_at: datetime | None = None,
        access: Access | None = None,
    ) -> list[LinkState]:
        """How a memory's links to facts came to be as they are: each state from when it was known, earliest first.

        All states are seen at one clinical now, so that time alone changes nothing. Folds once for every moment at
        which something was received or decided since the memory was. Raises NotFound, or Gone for a memory that was
        refused or hidden.
        """
        access, subject = self._begin("link_history", "read", access, patient_subject(patient))
        graph = self._load(subject, known_at, true_at, access).graph
        if memory not in graph.memories:
            raise self._missing(graph, memory, access)
        now = graph.moment.true_at
        since = graph.memories[memory].received_at
        states: list[LinkState] = []
        for moment in _moments(self._graphs.seen(patient, access).held, since, known_at):
            then = self._load(subject, moment, now, access).graph
            links = _links(then, memory)
            if not states or states[-1].links != links:
                states.append(LinkState(moment, links))
        self._audit("link_history", access, subject, (memory,))
        return states

    def tool_calls(
        self, patient: str, session: str, *, known_at: datetime | None = None, access: Access | None = None
    ) -> list[RecordedCall]:
        """What agents asked of tools in a session, in the order of its turns: calls that came with a turn, then those
        recorded after it. Raises NotFound for a session without turns and calls."""
        access, subject = self._begin("tool_calls", "read", access, patient_subject(patient))
        check_session_id(session)
        self._registered(patient)
        seen = self._graphs.seen(patient, access)
        talk = access.seen is None  # talk has no kind of statement that a token could open
        hidden, heard = seen.hidden, talk and hears_talk(seen.view) and session not in seen.hidden.sessions
        held = self._store.session(patient, session) if talk else None
        recorded = self._store.tool_calls(patient, session) if heard else []
        if hidden and held is not None:
            recorded = shown.calls_for(recorded, held, hidden)
        held = session_without(held, hidden) if held is not None else None
        if not sees_all(access):
            recorded = [call for call in recorded if not _speaks_of_hidden(call, seen.view)]
        if held is None and not recorded:
            raise NotFound(what="session", id=session)
        mint = self._graphs.mint(patient)
        sent = [
            RecordedCall(mint.id("tc", (message.id, str(number))), session, message.index, call, message.received_at)
            for message in (held.messages if held else ())
            for number, call in enumerate(message.turn.calls)
        ]
        found = [call for call in (*sent, *recorded) if known_at is None or call.received_at <= known_at]
        found.sort(key=lambda call: call.after)  # stable: within one turn those that came with it first
        self._audit("tool_calls", access, subject, (session,))
        return found

    def rulings(self, patient: str, *, known_at: datetime | None = None, access: Access | None = None) -> list[Ruling]:
        """Every decision of a person by then, withdrawals among them, the earliest first."""
        access, subject = self._begin("rulings", "read", access, patient_subject(patient))
        held = self._graphs.seen(patient, access).held  # a ruling on what is hidden does not exist either
        found = [each for each in held.rulings if known_at is None or each.decided_at <= known_at]
        found.sort(key=lambda each: (each.decided_at, each.id))
        self._audit("rulings", access, subject, tuple(each.id for each in found))
        return found

    def shown(self, patient: str, text: str, *, access: Access | None = None) -> None:
        """Remember that this text about the patient was given to somebody, so that it is known when it comes back in
        talk, and not learned as said. Contexts, pages and memories do so by themselves; this is for interfaces that
        word their own answers."""
        access, subject = self._begin("shown", "read", access, patient_subject(patient))
        self._registered(patient)
        self._remember_shown(subject.id, text)
        self._audit("shown", access, subject)

    def _missing(self, graph: Graph, memory: str, access: Access) -> NotFound:
        if memory in graph.hidden:
            return Gone(f"memory {memory!r} was refused or hidden by {graph.hidden[memory]}", what="memory", id=memory)
        return self._absent(graph.subject.id, Erasable.MEMORY, memory, access)


def _speaks_of_hidden(call: RecordedCall, view: View) -> bool:
    """Do the words of a call speak of what is hidden from this reader?"""
    return labels_hide(view, of_texts((call.call.arguments, call.call.result)))


def _quoted(memories: Iterable[Memory]) -> str:
    """Their quotes as quotations, one a line."""
    return "\n".join(f"“{memory.quote}”" for memory in memories)


def _moments(held: Held, since: datetime, until: datetime | None) -> list[datetime]:
    """When something came or was decided, from the memory's own moment on."""
    times = {since}
    times |= {sighting.received_at for sighting in held.sightings}
    times |= {retraction.at for retraction in held.retractions}
    times |= {ruling.decided_at for ruling in held.rulings}
    return sorted(at for at in times if at >= since and (until is None or at <= until))


def _links(graph: Graph, memory: str) -> tuple[LinkOfThen, ...]:
    found = []
    for link in graph.links.values():
        if link.origin == memory:
            fact = graph.resolve(link.target)
            about = fact.display if fact and link.type is not LinkType.NEW else ""
            found.append(
                LinkOfThen(
                    link.type,
                    link.target,
                    about,
                    link.rule,
                    link.confidence,
                    link.reasoning,
                    link.conflict_kind,
                )
            )
    return tuple(sorted(found))
