"""Which tools are there, and what does each ask the engine? Text and JSON come back; no rule is held here.

Knows nothing of the protocol: `server` speaks it. Every tool works within the `Access` it is given.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec

from iamata.errors import BadInput, IamataError, NotAllowed, NotFound
from iamata.interfaces.mcp import arguments, telling
from iamata.interfaces.wire import answers, entries
from iamata.interfaces.wire.ids import to_model, whole_id
from iamata.interfaces.wire.patients import patient_detail
from iamata.interfaces.wire.receipts import receipt
from iamata.interfaces.wire.remembered import recalled
from iamata.interfaces.wire.values import Json, page
from iamata.model.access import Access
from iamata.model.context import ContextRequest
from iamata.model.entry import EntryDraft, EntryKind
from iamata.model.reading import Listing, Seen
from iamata.model.scope import Scope, Subject, patient
from iamata.model.session import ToolCall

if TYPE_CHECKING:
    from iamata.engine import Engine

_LINES = 100
_FILE_TOKENS = 2000
# Tools that word what they tell by themselves.
_WORDED_HERE = frozenset({"search_patient", "recall_memories", "list_conflicts", "explain"})

Given = TypeVar("Given", bound=msgspec.Struct)


class Answer(NamedTuple):
    """What a tool answers: text for the agent, and the same as JSON."""

    text: str
    structured: Json
    note: str = ""  # beside the text and not counted with it


class Tool(msgspec.Struct, Generic[Given], frozen=True):
    """A tool: its name, what an agent reads of it, its arguments, what it returns, and the question it asks."""

    name: str
    title: str
    description: str
    shape: type[Given]
    returns: str
    ask: Callable[[Engine, Access, Given], Answer]
    writes: bool = False

    def answer(self, engine: Engine, access: Access, given: dict[str, Any], *, bound: str | None) -> Answer:
        """Raises an IamataError. A reading call that names its session is recorded beside the session's turns."""
        asked = arguments.read(given, self.shape, bound=bound)
        whose = "" if self.writes or not access.may_write else _patient_of(asked)
        session = getattr(asked, "session_id", "")
        try:
            answer = self.ask(engine, access, asked)
        except IamataError:
            if whose and session:
                _record(engine, access, whose, session, self.name, given, failed=True)
            raise
        if whose:
            # Contexts and pages remember by themselves what they told.
            if self.name in _WORDED_HERE:
                engine.shown(whose, answer.text, access=access)
            if session:
                _record(engine, access, whose, session, self.name, given, failed=False)
        return answer


def _patient_of(asked: msgspec.Struct) -> str:
    """The patient that a call is about; empty if it is about none."""
    named = getattr(asked, "patient_id", "")
    scope, _, rest = getattr(asked, "path", "").strip("/").partition("/")
    return str(named) or (rest.partition("/")[0] if scope == "patient" else "")


def _record(
    engine: Engine, access: Access, patient_id: str, session: str, tool: str, given: dict[str, Any], *, failed: bool
) -> None:
    sent = {name: value for name, value in given.items() if name != "session_id"}
    call = ToolCall(tool, json.dumps(sent, ensure_ascii=False, sort_keys=True), failed=failed)
    # Of nobody who is registered nothing is recorded, nor for somebody who may read and not write.
    with suppress(NotFound, NotAllowed):
        engine.record_calls(patient_id, session, [call], access=access)


def _browse_patient(engine: Engine, access: Access, given: arguments.BrowsePatient) -> Answer:
    address = answers.to_address(given.patient_id, given.path)
    found = engine.browse(address, **given.moments, access=access)
    leaf = answers.the_file(found)
    if leaf is not None:
        times = given.moments
        opened = engine.read(
            leaf,
            token_budget=_FILE_TOKENS,
            known_at=times["known_at"],
            true_at=times["true_at"],
            access=access,
        )
        return Answer(telling.page(opened), answers.file(given.patient_id, opened, found))
    shown, first = _lines(found, given.page)
    structured = answers.listing(given.patient_id, shown) | {"total": len(found.nodes), "page": given.page}
    return Answer(telling.listing(shown, first=first, total=len(found.nodes)), structured)


def _read_patient(engine: Engine, access: Access, given: arguments.ReadPatient) -> Answer:
    return _read_address(engine, access, answers.to_address(given.patient_id, given.path), given)


def _browse(engine: Engine, access: Access, given: arguments.Browse) -> Answer:
    found = engine.browse(_rooted(given.path), **given.moments, access=access)
    shown, first = _lines(found, given.page)
    structured = answers.listing("", shown) | {"path": shown.address, "total": len(found.nodes), "page": given.page}
    for child in structured["children"]:
        child["path"] = child["address"]
    return Answer(telling.listing(shown, first=first, total=len(found.nodes)), structured)


def _read(engine: Engine, access: Access, given: arguments.Read) -> Answer:
    return _read_address(engine, access, _rooted(given.path), given)


def _rooted(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _lines(found: Listing, number: int) -> tuple[Listing, int]:
    first = number * _LINES
    return msgspec.structs.replace(found, nodes=found.nodes[first : first + _LINES]), first


def _read_address(
    engine: Engine, access: Access, address: str, given: arguments.ReadPatient | arguments.Read
) -> Answer:
    found = engine.read(address, format=given.format, token_budget=given.token_budget, **given.moments, access=access)
    return Answer(telling.page(found), answers.page(found))


def _search_patient(engine: Engine, access: Access, given: arguments.SearchPatient) -> Answer:
    about = patient(given.patient_id)
    found = engine.search(about, given.query, kinds=given.kinds, limit=given.limit, **given.moments, access=access)
    better = engine.did_you_mean(about, given.query, **given.moments, access=access)
    told = telling.hits(found) if not better else f"Did you mean: {better}?\n{telling.hits(found)}"
    return Answer(told, {"data": [answers.hit(each) for each in found], "didYouMean": better or None})


def _get_patient_info(engine: Engine, access: Access, given: arguments.PatientInfo) -> Answer:
    row = engine.patient(given.patient_id, access=access)
    graph = engine.graph(given.patient_id, **given.moments, access=access)
    newest, _ = engine.receipts(given.patient_id, per_page=1, access=access)
    detail = patient_detail(row, graph, warnings=sum(len(each.warnings) for each in newest), load_ms=0.0)
    del detail["stats"]["loadMs"]  # how long this machine took is of no use to an agent
    conflicts = len(graph.conflicts) + len(graph.spoken_conflicts())
    return Answer(telling.info(detail, conflicts=conflicts), detail)


def _assemble_context(engine: Engine, access: Access, given: arguments.AssembleContext) -> Answer:
    subjects = (patient(given.patient_id), *(Subject.parse(each) for each in given.also_about))
    request = ContextRequest(
        subjects=tuple(dict.fromkeys(subjects)),
        task=given.task,
        budget_tokens=given.budget_tokens,
        query=given.query,
        aspect=given.aspect,
    )
    made = engine.context(request, **given.moments, access=access)
    structured = answers.context(made)
    if not given.factors:
        for item in structured["items"]:
            if item["authority"] is not None:
                del item["authority"]["factors"]
    note = f"{made.id}: {made.tokens} of {given.budget_tokens} tokens. Why a line stands there: explain `{made.id}[n]`."
    return Answer(made.text, structured, " ".join(filter(None, (note, made.note))))


def _recall_memories(engine: Engine, access: Access, given: arguments.RecallMemories) -> Answer:
    found = engine.memories(
        given.patient_id,
        session="" if given.everywhere else given.session_id,
        kinds=given.kinds,
        thread=given.thread,
        query=given.query,
        task=given.task,
        **given.moments,
        access=access,
    )
    graph = engine.graph(given.patient_id, **given.moments, access=access)
    shown = found[: given.limit]
    ids = {each.memory.id for each in shown}
    links = [link for link in graph.links.values() if link.origin in ids]
    text = telling.memories([each.memory for each in shown], links, total=len(found))
    return Answer(text, page(recalled(shown, graph), len(found), 0, given.limit))


def _list_conflicts(engine: Engine, access: Access, given: arguments.ListConflicts) -> Answer:
    graph = engine.graph(given.patient_id, **given.moments, access=access)
    found = sorted(engine.conflicts(given.patient_id, **given.moments, access=access), key=lambda each: each.id)
    first = given.page * given.limit
    shown = found[first : first + given.limit]
    data = answers.conflicts(shown, graph)
    text = telling.conflicts(shown, graph, first=first, total=len(found))
    return Answer(text, page(data, len(found), given.page, given.limit))


def _explain(engine: Engine, access: Access, given: arguments.Explain) -> Answer:
    graph = engine.graph(given.patient_id, **given.moments, access=access)
    found = engine.explain(
        given.patient_id, whole_id(graph, to_model(given.item)), task=given.task, **given.moments, access=access
    )

    def cut(seen: Seen) -> Seen:
        over = len(seen.excerpt) - given.excerpt_chars
        if over <= 0:
            return seen
        return msgspec.structs.replace(
            seen, excerpt=f"{seen.excerpt[: given.excerpt_chars]} … ({over} more characters)"
        )

    told = tuple(
        msgspec.structs.replace(each, seen=tuple(cut(seen) for seen in each.seen))
        for each in found.testimonies[: given.limit]
    )
    shown = msgspec.structs.replace(found, testimonies=told)
    structured = answers.explanation(shown) | {"testimoniesTotal": len(found.testimonies)}
    return Answer(telling.explanation(shown, testimonies=len(found.testimonies)), structured)


def _append_messages(engine: Engine, access: Access, given: arguments.AppendMessages) -> Answer:
    # A mistyped id would make a patient: an agent appends to those who are registered.
    engine.patient(given.patient_id, access=access)
    if bool(given.messages) is bool(given.transcript):
        raise BadInput("send either messages or a transcript", place="/messages")
    if given.transcript:
        made = engine.append_transcript(
            given.patient_id,
            given.transcript.encode(),
            session=given.session_id,
            begins_at=given.begins_at,
            time_zone=given.time_zone,
            speakers=given.speakers,
            access=access,
        )
    else:
        made = engine.append(given.patient_id, given.session_id, given.turns, whole=given.whole, access=access)
    added = made.staged.messages
    text = (
        f"{added} {'turn' if added == 1 else 'turns'} added to session {json.dumps(given.session_id)} ({made.status})."
    )
    structured = {
        "sessionId": given.session_id,
        "patientId": given.patient_id,
        "ingestion": receipt(made),
    }
    return Answer(text, structured)


def _list_entries(engine: Engine, access: Access, given: arguments.ListEntries) -> Answer:
    times = given.moments
    found = engine.entries(
        Subject.parse(given.subject),
        kinds=given.kinds,
        tags=given.tags,
        known_at=times["known_at"],
        true_at=times["true_at"],
        access=access,
    )
    first = given.page * given.limit
    shown = found[first : first + given.limit]
    text = telling.entries(shown, first=first, total=len(found))
    return Answer(text, page([entries.entry(each) for each in shown], len(found), given.page, given.limit))


def _search_entries(engine: Engine, access: Access, given: arguments.SearchEntries) -> Answer:
    found = engine.search(
        Subject.parse(given.subject),
        given.query,
        kinds=given.kinds,
        limit=given.limit,
        **given.moments,
        access=access,
    )
    return Answer(telling.hits(found), {"data": [answers.hit(each) for each in found]})


def _record_inference(engine: Engine, access: Access, given: arguments.RecordInference) -> Answer:
    engine.patient(given.patient_id, access=access)
    draft = EntryDraft(
        subject=patient(given.patient_id),
        kind=EntryKind(given.kind),
        title=given.title,
        text=given.text,
        id=given.entry_id,
        derived_from=tuple(to_model(each) for each in given.derived_from),
    )
    made = engine.put_entry(draft, access=access)
    return Answer(f"{made.kind.capitalize()} {made.id}, version {made.version}, is kept.", entries.entry(made))


def _record_cue(engine: Engine, access: Access, given: arguments.RecordCue) -> Answer:
    draft = EntryDraft(
        subject=Subject(Scope.AGENT, access.id),
        kind=EntryKind.CUE,
        title=given.title,
        text=given.text,
        id=given.entry_id,
        tags=tuple(given.tags),
    )
    made = engine.put_entry(draft, access=access)
    return Answer(f"Cue {made.id}, version {made.version}, is kept for agent {access.id}.", entries.entry(made))


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "assemble_context",
        "Context for a task",
        "Start here: what matters of this patient for your task, within a token budget. Every line is cited as [n], "
        "both sides of a conflict stand together, and what was left out is named with its address. "
        "Ask `explain` with the context's id and number, `ctx_…[n]`, why a line stands there.",
        arguments.AssembleContext,
        "The context's text, never over `budget_tokens`, and apart from it its id. JSON: the context with its items "
        "(address, weight, tokens; the factors if asked for), conflicts, what was left out, exact tokens.",
        _assemble_context,
    ),
    Tool(
        "get_patient_info",
        "Who the patient is",
        "Name, birth date and sex as recorded, and how much is held of this patient.",
        arguments.PatientInfo,
        "A few lines. JSON: the patient with counts, version and times.",
        _get_patient_info,
    ),
    Tool(
        "browse_patient",
        "Look into a directory",
        "List a directory of the patient's file tree, each line with a hint and what reading it costs in tokens. "
        "Given a file, its content. Begin at `/`.",
        arguments.BrowsePatient,
        f"Up to {_LINES} lines a page; of a file at most {_FILE_TOKENS} tokens. JSON: the directory's children, or the "
        "file.",
        _browse_patient,
    ),
    Tool(
        "read_patient",
        "Read a file",
        "Read one file of the patient's tree within a token budget: an index, the story of a condition, the history of "
        "a medicine, a note. Brackets such as [7f3c2a4d] are citations, resolved in the JSON.",
        arguments.ReadPatient,
        "The text, never over `token_budget`. JSON: content, tokens, whether it was shortened, citations.",
        _read_patient,
    ),
    Tool(
        "search_patient",
        "Search the patient",
        "Find facts, events, notes and memories by words, names or codes, best first, with the address to read on.",
        arguments.SearchPatient,
        "A line for each hit. JSON: item, kind, address, title, snippet, score.",
        _search_patient,
    ),
    Tool(
        "recall_memories",
        "Recall what was said",
        "What the patient, a caregiver or a clinician said in earlier conversations, as exact quotes with who said it, "
        "when, and which facts it supports or contradicts. Newest first; with a query or a task, best first.",
        arguments.RecallMemories,
        "A line for each memory. JSON: a page of memories with their links.",
        _recall_memories,
    ),
    Tool(
        "list_conflicts",
        "List contradictions",
        "What cannot all be true, with every side and who says it: between records, and between the record and what "
        "was said. None of them is decided; do not decide silently either.",
        arguments.ListConflicts,
        "The conflicts with their sides. JSON: a page of conflicts.",
        _list_conflicts,
    ),
    Tool(
        "explain",
        "Why does it stand there?",
        "The proof of one item: who said it, by which rule that was decided, how much it counts for a task and why, "
        "and the bytes it stands in.",
        arguments.Explain,
        "The proof, with excerpts. JSON: testimonies with their statements and places, decisions, authority.",
        _explain,
    ),
    Tool(
        "append_messages",
        "Remember this conversation",
        "Add turns of a conversation about the patient to memory, as they were said. Quotes are kept and linked to the "
        "record; nothing in the record changes. Send both the person's turns and your own, or a whole transcript.",
        arguments.AppendMessages,
        "How many turns were added. JSON: session, patient and receipt.",
        _append_messages,
        writes=True,
    ),
    Tool(
        "browse",
        "Look into a directory of any scope",
        "As `browse_patient`, by an address from the root: `/` lists the patients you may see.",
        arguments.Browse,
        f"Up to {_LINES} lines a page. JSON: the directory's children.",
        _browse,
    ),
    Tool(
        "read",
        "Read a file of any scope",
        "As `read_patient`, by an address from the root, as other answers give it.",
        arguments.Read,
        "The text, never over `token_budget`. JSON: content, tokens, whether it was shortened, citations.",
        _read,
    ),
    Tool(
        "list_entries",
        "What is known of an organization, operator or agent",
        "List guidelines, pathways, formularies, policies and staff notes of an organization, preferences and habits "
        "of an operator, purpose, guardrails and cues of an agent: those in force. `read` one by its address.",
        arguments.ListEntries,
        "A line for each entry. JSON: a page of entries, their passages counted.",
        _list_entries,
    ),
    Tool(
        "search_entries",
        "Search an organization, operator or agent",
        "Find entries and passages of their files by words, best first, with the address to read on.",
        arguments.SearchEntries,
        "A line for each hit. JSON: item, kind, address, title, snippet, score.",
        _search_entries,
    ),
    Tool(
        "record_inference",
        "Keep what you concluded of the patient",
        "Keep a summary or an inference about the patient, with every item that it was derived from. It is your word, "
        "not a fact: it is marked stale when one of them changes, and withdrawn when one is taken out. Kept ones stand "
        "under `/inferences/` of the patient.",
        arguments.RecordInference,
        "The id and version. JSON: the entry.",
        _record_inference,
        writes=True,
    ),
    Tool(
        "record_cue",
        "Remember how to find your way",
        "Keep a cue for yourself, the agent: where what a task needs was found. It is agent-reported, people can "
        "refuse it, and it never holds anything of a patient. Your purpose, configuration and guardrails are your "
        "owners'.",
        arguments.RecordCue,
        "The id and version of the cue. JSON: the entry.",
        _record_cue,
        writes=True,
    ),
)
