"""How is one item told in one clinical line that ends in its citations?

    Amoxicillin 250 mg, oral, 3 times a day, ordered 2026-02-10, active, for otitis media [3]; ⚠ conflict on status: …

Anything not plainly system-reported says who reports it; both sides of a conflict stand in the line; what is stale,
past, denied or entered in error is said to be so. Lines carry no leading dash and no line end. They hold no weight:
how much something counts for a task is added by who asked.
"""

from __future__ import annotations

from typing import Final

from iamata.assembly.citations import Citations
from iamata.assembly.inferences import inference_line
from iamata.assembly.neighbours import newest_first, statement_day
from iamata.assembly.phrases import Telling, clauses, headline, of_fact, of_statement
from iamata.assembly.speakers import attribution_of, author_words, by_whom, memory_speaker, says, speaker_words
from iamata.assembly.tree import Tree, as_tree, passage_day, session_day
from iamata.assembly.wording import coded, counted, frequency, name, quote
from iamata.errors import NotFound
from iamata.model.attribution import AttributionKind, Role
from iamata.model.conflict import Conflict, ConflictKind, Side
from iamata.model.fact import Currency, Fact
from iamata.model.graph import Graph
from iamata.model.link import Link, LinkSource, LinkType
from iamata.model.memory import Experiencer, Memory, Temporality
from iamata.model.passage import Passage
from iamata.model.session import Message, Session
from iamata.model.stamp import Moment
from iamata.model.statement import EVENT_KINDS, Kind, Polarity, Standing, Statement, Verification

# A fact with more statements cites the newest three; its sources.md lists all.
_CITED: Final = 3
_VOICES: Final = 3
# What only words of a note say: nobody entered it as an item.
_NAMED_IN_A_NOTE: Final = "named in a note"
# An excerpt of a passage in a line; the passage's own file has the whole.
_EXCERPT_CHARS: Final = 160


def line(graph: Graph | Tree, item_id: str, *, moment: Moment, citations: Citations, talk: bool = True) -> str:
    """One item in one line: a fact or event, memory, inference, turn of talk, session, conflict, statement, passage or
    document.

    `talk` adds the newest memory that supports or refines a fact. Pass a Tree when many lines are wanted of one graph.
    Raises NotFound for an id the graph does not hold.
    """
    tree = as_tree(graph)
    known = tree.graph
    if item_id in known.memories:
        return memory_line(tree, known.memories[item_id], citations)
    if item_id in tree.neighbours.messages:
        return turn_line(tree.neighbours.messages[item_id], citations)
    if item_id in tree.sessions:
        return session_line(tree.sessions[item_id])
    if item_id in tree.inferred:
        return inference_line(tree, tree.inferred[item_id], citations)
    if item_id in tree.clashes:
        return f"⚠ {conflict_words(tree, tree.clashes[item_id], citations)}"
    if item_id in known.statements:
        return statement_line(tree, known.statements[item_id], citations)
    if item_id in known.passages:
        return passage_line(tree, known.passages[item_id], citations)
    if item_id in known.documents:
        document = known.documents[item_id]
        said = f"File {document.format}, {document.size_bytes} bytes, from {name(document.source)}"
        return f"{said}, received {document.received_at.date().isoformat()}{citations.cite(item_id)}"
    fact = known.resolve(item_id)
    if fact is None:
        raise NotFound(what="item", id=item_id)
    return fact_line(tree, fact, moment, citations, talk=talk)


def turn_line(message: Message, citations: Citations, words: str | None = None) -> str:
    """A turn of talk, quoted on one line, or these `words` of it."""
    turn = message.turn
    said = f"{turn.said_at:%Y-%m-%d %H:%M} " if turn.said_at is not None else ""
    return f"{said}{speaker_words(turn)}: {quote(turn.text if words is None else words)}{citations.cite(message.id)}"


def session_line(session: Session) -> str:
    speakers = dict.fromkeys(speaker_words(message.turn) for message in session.messages)
    who = ", ".join(speakers) or "nobody yet"
    return f"Conversation of {session_day(session)}, {counted(len(session.messages), 'turn')}: {who}"


def fact_line(
    tree: Tree, fact: Fact, moment: Moment, citations: Citations, *, talk: bool = True, sides: bool = True
) -> str:
    """The line of a fact. Without `sides` a conflict is only marked, for pages that tell it elsewhere."""
    graph = tree.graph
    telling = of_fact(graph, fact)
    members = newest_first([graph.statements[id] for id in fact.members if id in graph.statements])
    former = newest_first([graph.statements[id] for id, _ in fact.history if id in graph.statements])
    conflicts = tree.neighbours.conflicts.get(fact.id, [])
    mark = ", ⚠ conflict" if not sides and tree.neighbours.disputed(fact.id) else ""
    said = [headline(telling), *clauses(telling), *_reason(tree, fact, telling), *_now(fact, telling, moment)]
    said += [_NAMED_IN_A_NOTE] if members and all(s.is_mention for s in members) else []
    opening = ", ".join(said)
    opening = _join_name(opening, telling)
    if not members:
        return opening + mark + _history_words(tree, fact, former, citations)
    plain = [s for s in members if attribution_of(tree, s.id).kind is AttributionKind.SYSTEM]
    voiced = [s for s in members if attribution_of(tree, s.id).kind is not AttributionKind.SYSTEM]
    parts: list[str] = []
    if plain:
        if telling.polarity is Polarity.DENIED:
            opening += f", by {' and '.join(dict.fromkeys(by_whom(tree, s) for s in plain[:2][::-1]))}"
        parts.append(opening + mark + citations.cite(*(s.id for s in plain[:_CITED])))
        parts += _voices(tree, voiced, citations, "also ")
    else:
        opening = _once(opening, says(tree, voiced[0]))
        first, *rest = _voices(tree, voiced, citations, "")
        parts += [f"{opening}{mark}, {first}", *rest]
    if former:
        parts += _former(tree, fact, former, citations)
    if sides:
        told = {item for conflict in conflicts for side in conflict.sides for item in side.items}
        parts += [conflict_words(tree, conflict, citations, marked=True) for conflict in conflicts]
        parts += _talk(tree, fact, told, citations, support=talk)
    return "; ".join(parts)


def _reason(tree: Tree, fact: Fact, telling: Telling) -> list[str]:
    """What a medicine is for by its links, when its own fields do not tell; an inferred link is said to be one."""
    if fact.kind is not Kind.MEDICATION or "reason" in telling.fields or fact.polarity is Polarity.DENIED:
        return []
    found: dict[str, bool] = {}
    for link in tree.neighbours.links.get(fact.id, ()):
        outward = link.type in (LinkType.PRESCRIBED_FOR, LinkType.TREATS) and link.origin == fact.id
        inward = link.type is LinkType.REASON_FOR and link.target == fact.id
        reason = tree.graph.facts.get(link.target if outward else link.origin)
        if (outward or inward) and reason is not None and reason.kind is Kind.CONDITION:
            stated = link.source is LinkSource.EXPLICIT_REFERENCE
            found[name(reason.display)] = found.get(name(reason.display), False) or stated
    known = sorted(words for words, stated in found.items() if stated)
    if known:
        return [f"for {' and '.join(known[:2])}"]
    return [f"for {' or '.join(sorted(found)[:2])} (inferred)"] if found else []


def _once(opening: str, voice: str) -> str:
    """Without the day at its end when the voice that follows tells the same day."""
    head, found, day = opening.rpartition(", ")
    day = day.removeprefix("recorded ")
    return head if found and day[:4].isdigit() and voice.endswith(f" {day}") else opening


def _join_name(opening: str, telling: Telling) -> str:
    """`Name: first clause` for what is a value or a reaction, `Name, first clause` for the rest."""
    said = telling.components or "value" in telling.fields or "absent" in telling.fields
    if said and telling.kind in _COLON and telling.polarity is not Polarity.DENIED:
        head = headline(telling)
        rest = opening[len(head) + 2 :]
        return f"{head}: {rest}" if rest else head
    return opening


_COLON: Final = frozenset(
    {Kind.ALLERGY, Kind.OBSERVATION, Kind.SOCIAL_HISTORY, Kind.ANSWER, Kind.FAMILY_HISTORY, Kind.PREGNANCY}
)


def _now(fact: Fact, telling: Telling, moment: Moment) -> list[str]:
    """Whether a state is still so, where its own words would mislead: `active` but past, or long unconfirmed."""
    if fact.kind in EVENT_KINDS or fact.standing is Standing.ENTERED_IN_ERROR or not fact.members:
        return []
    confirmed = f"last confirmed {fact.last_supported}" if fact.last_supported else "never confirmed since"
    match fact.currency:
        case Currency.PAST if fact.polarity is Polarity.DENIED and fact.kind in _STATES:
            return ["no longer current"]
        case Currency.PAST if fact.standing is Standing.ACTIVE and fact.kind in _STATES:
            return [f"listed as active, but over by {moment.true_at.date().isoformat()}"]
        case Currency.PAST if fact.standing is Standing.UNKNOWN and fact.kind in _STATES:
            return ["past"]
        case Currency.PLANNED if fact.standing is not Standing.PLANNED:
            return ["planned"]
        case Currency.UNKNOWN if fact.standing is Standing.ACTIVE and fact.kind in _STATES:
            return [f"may be out of date, {confirmed}"]
        case Currency.UNKNOWN if fact.standing is Standing.UNKNOWN and fact.kind in (Kind.CONDITION, Kind.MEDICATION):
            return ["not stated whether current"] if fact.polarity is Polarity.AFFIRMED else []
    return []


_STATES: Final = frozenset(
    {
        Kind.CONDITION,
        Kind.MEDICATION,
        Kind.ALLERGY,
        Kind.INSURANCE,
        Kind.DIRECTIVE,
        Kind.FLAG,
        Kind.DEVICE,
        Kind.GOAL,
        Kind.CARE_PLAN,
    }
)


def _voices(tree: Tree, statements: list[Statement], citations: Citations, again: str) -> list[str]:
    """`reported by mother 2026-02-14 [2]`, one for each speaker at their newest, the newest speaker first."""
    by_speaker: dict[str, list[Statement]] = {}
    for statement in statements:
        attribution = attribution_of(tree, statement.id)
        speaker = f"{attribution.kind} {author_words(tree, attribution, statement.source)}"
        by_speaker.setdefault(speaker, []).append(statement)
    voices = []
    for said in list(by_speaker.values())[:_VOICES]:
        denial = "denied, " if again and said[0].polarity is Polarity.DENIED else ""
        voices.append(f"{again}{denial}{says(tree, said[0])}{citations.cite(*(s.id for s in said[:_CITED]))}")
        again = "also "
    return voices


def _history_words(tree: Tree, fact: Fact, former: list[Statement], citations: Citations) -> str:
    """The end of a line whose every statement is history: why, who had said it, and when."""
    if not former:
        return ", no longer held by any source"
    reasons = dict(fact.history)
    first = former[0]
    when = statement_day(first)
    who = f"{by_whom(tree, first)}{' ' + when if when else ''}"
    reason = name(reasons.get(first.id, "")) or "history"
    return f", by {who}, not current ({reason}){citations.cite(*(s.id for s in former[:_CITED]))}"


def _former(tree: Tree, fact: Fact, former: list[Statement], citations: Citations) -> list[str]:
    """What was said before and no longer counts, when it said something else (a denial before an affirmation)."""
    reasons = dict(fact.history)
    other = [s for s in former if s.polarity is not fact.polarity and s.standing is not Standing.ENTERED_IN_ERROR]
    words = []
    for statement in other[:1]:
        when = statement_day(statement)
        reason = name(reasons.get(statement.id, ""))
        said = f"before: {quote(headline(of_statement(statement)))}, {by_whom(tree, statement)}"
        said += (f" {when}" if when else "") + (f" ({reason})" if reason else "")
        words.append(said + citations.cite(*(s.id for s in other[:_CITED])))
    return words


def conflict_words(tree: Tree, conflict: Conflict, citations: Citations, *, marked: bool = False) -> str:
    """`⚠ conflict on status: active, says Dr Ames 2026-02-10 [1] vs stopped, says mother 2026-02-15 [2]`: every side.

    Two sides on whether something is so at all need no name for what they differ in.
    """
    fact = tree.graph.resolve(conflict.fact)
    of = f" of {name(fact.display)}" if fact is not None and not marked else ""
    on = f" on {conflict.kind.value}{of}" if conflict.kind is not ConflictKind.EXISTENCE else of and f" on{of[3:]}"
    sides = " vs ".join(_side(tree, conflict, side, citations) for side in conflict.sides)
    return f"{'⚠ ' if marked else ''}conflict{on}: {sides}"


def _side(tree: Tree, conflict: Conflict, side: Side, citations: Citations) -> str:
    graph = tree.graph
    speakers: list[str] = []
    for item in side.items:
        memory, statement = graph.memories.get(item), graph.statements.get(item)
        if memory is not None:
            when = (memory.said_at or memory.received_at).date().isoformat()
            speakers.append(f"{memory_speaker(tree, memory)} {when}")
        elif statement is not None:
            when = statement_day(statement)
            speakers.append(f"{by_whom(tree, statement)}{' ' + when if when else ''}")
    shown = list(dict.fromkeys(speakers))
    who = " and ".join(shown[:_VOICES]) + (
        f" and {counted(len(shown) - _VOICES, 'other')}" if len(shown) > _VOICES else ""
    )
    told = frequency(side.says) if conflict.kind is ConflictKind.FREQUENCY else name(side.says)
    if conflict.id not in graph.conflicts and any(item in graph.memories for item in side.items):
        told = quote(side.says)
    said = told or "something else"
    return f"{said}{f', says {who}' if who else ''}{citations.cite(*side.items[:_CITED])}"


def _talk(tree: Tree, fact: Fact, told: set[str], citations: Citations, *, support: bool) -> list[str]:
    """The newest memory that conflicts (unless a conflict has told it), and the newest that supports or refines."""
    against = [link for link in tree.neighbours.against.get(fact.id, []) if not told & {link.origin, link.target}]
    words = [against_words(tree, link, citations) for link in against[:1]]
    for how, memory in tree.neighbours.talk.get(fact.id, []):
        if support and how in (LinkType.SUPPORTS, LinkType.REFINES) and memory.id not in told:
            words.append(f"{_spoken(tree, memory)}{citations.cite(memory.id)}")
            break
    return words


def against_words(tree: Tree, link: Link, citations: Citations) -> str:
    """`⚠ conflict on status: mother 2026-02-15 says stopped since 2026-02-12: "We stopped …" [4]`: what talk holds
    against a fact; the fact's own line is the other side."""
    memory = tree.graph.memories.get(link.origin) or tree.graph.memories[link.target]
    on = f" on {link.conflict_kind}" if link.conflict_kind not in ("", ConflictKind.EXISTENCE) else ""
    claims = _claims(memory)
    said = _spoken(tree, memory)
    who, _, quoted = said.partition(": ")
    return f"⚠ conflict{on}: {who}{' says ' + claims if claims else ''}: {quoted}{citations.cite(memory.id)}"


def _claims(memory: Memory) -> str:
    """What a remembered thing comes to, in a few words: `stopped since 2026-02-12`, `denied`; empty if only the quote
    tells."""
    change = memory.change.replace("-", " ")
    denied = "denied" if memory.polarity is Polarity.DENIED else ""
    since = f"since {memory.since}" if memory.since else ""
    return " ".join(part for part in (change or denied, since) if part)


def _spoken(tree: Tree, memory: Memory) -> str:
    when = (memory.said_at or memory.received_at).date().isoformat()
    said = memory_speaker(tree, memory)
    spoken = " (spoken, not documented)" if memory.attribution.author.role is Role.CLINICIAN else ""
    return f"{said}{spoken} {when}: {quote(memory.quote)}"


# How a detail of a memory is called where its own key would mislead or say nothing.
_DETAIL: Final = {"agent": "from", "dose": "", "frequency": ""}


def memory_line(tree: Tree, memory: Memory, citations: Citations) -> str:
    """`Adherence, amoxicillin: stopped since 2026-02-12; mother 2026-02-15: "We stopped …" [4]`."""
    about = coded(memory.concept)
    head = memory.kind.value.replace("_", " ")
    head = f"{head[:1].upper()}{head[1:]}"
    remarks = [memory.change.replace("-", " ")]
    if memory.experiencer is not Experiencer.PATIENT:
        whom = name(memory.relation) if memory.relation else "someone else"
        remarks.append(f"about {whom}, not the patient")
    if memory.polarity is Polarity.DENIED:
        remarks.append("denied")
    if memory.since or memory.since_said:
        said = f" ({quote(memory.since_said)})" if memory.since_said and not memory.since else ""
        remarks.append(f"since {memory.since}" if memory.since else f"time{said}")
    match memory.temporality:
        case Temporality.PAST:
            remarks.append("in the past")
        case Temporality.PLANNED:
            remarks.append("planned")
        case Temporality.HYPOTHETICAL:
            remarks.append("hypothetical")
        case Temporality.CURRENT:
            pass
    if not memory.certain:
        remarks.append("not certain")
    remarks += [
        f"{_DETAIL.get(key, key.replace('_', ' '))} {name(value)}".strip() for key, value in memory.detail if value
    ]
    told = ", ".join(remark for remark in remarks if remark)
    head = f"{head}, {about}" if about else head
    against = [
        coded_fact
        for how, fact in tree.neighbours.facts_of.get(memory.id, [])
        if how is LinkType.CONFLICTS and (coded_fact := tree.graph.facts.get(fact)) is not None
    ]
    marker = f"; ⚠ conflict with the record on {name(against[0].display)}" if against else ""
    return f"{head}{': ' + told if told else ''}{marker}; {_spoken(tree, memory)}{citations.cite(memory.id)}"


def source_line(tree: Tree, statement: Statement, fact: Fact | None, citations: Citations) -> str:
    """Who says so and in which source; what it says only where it differs from the fact as it is told."""
    if fact is not None:
        telling, own = of_fact(tree.graph, fact), of_statement(statement)
        if [headline(telling), *clauses(telling)] == [headline(own), *clauses(own)]:
            who = says(tree, statement) or f"{by_whom(tree, statement)} {statement_day(statement)}".strip()
            within = _within(statement, who)
            return f"{who[:1].upper()}{who[1:]}{within}{citations.cite(statement.id)}"
    return statement_line(tree, statement, citations)


def statement_line(tree: Tree, statement: Statement, citations: Citations) -> str:
    """What one statement says, by whom, in which source."""
    telling = of_statement(statement)
    who = says(tree, statement) or f"by {by_whom(tree, statement)}"
    told = _once(_join_name(", ".join([headline(telling), *clauses(telling)]), telling), who)
    within = _within(statement, who)
    if statement.standing is Standing.ENTERED_IN_ERROR or statement.verification is Verification.ENTERED_IN_ERROR:
        who = f"was {who}" if who.startswith("reported") else who
    return f"{told}, {who}{within}{citations.cite(statement.id)}"


def _within(statement: Statement, who: str) -> str:
    """In which source it stands, unless its author is called so, and that words of a note name it."""
    source = name(statement.source)
    if statement.is_mention:
        return f", {_NAMED_IN_A_NOTE}" + (f" of {source}" if source not in who else "")
    return "" if source and source in who else f", in {source}"


def passage_line(tree: Tree, passage: Passage, citations: Citations) -> str:
    """The title and the first words of a note, in quotation marks, with its author."""
    attribution = attribution_of(tree, passage.id)
    who = author_words(tree, attribution, passage.provenance.source)
    when = passage_day(passage)
    text = " ".join(passage.text.split())
    excerpt = text if len(text) <= _EXCERPT_CHARS else f"{text[: text.rfind(' ', 80, _EXCERPT_CHARS)]} …"
    head = name(passage.title) or "Note"
    by = f", {who}" if who != "author unknown" else f", from {name(passage.provenance.source)}"
    return f"{head}{by}{' ' + when if when else ''}: {quote(excerpt)}{citations.cite(passage.id)}"
