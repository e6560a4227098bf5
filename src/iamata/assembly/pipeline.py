"""What lands in an agent's context window? Retrieve, rank, fit, write: one call, one answer, exact tokens.

    agent · organization · operator · patient record · recent talk · question      (most to least permanent)

The safety set is chosen first. Both sides of a conflict travel together: they stand in one line, and a memory that
conflicts with the record brings the record's line with it. Same request and same stamp give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol
from weakref import WeakKeyDictionary

import msgspec

from iamata.assembly import entry_ranking, ranking
from iamata.assembly.budget import Purse, exact
from iamata.assembly.entry_index import EntryIndex
from iamata.assembly.lines import fact_line
from iamata.assembly.ranking import SECTIONS, Card
from iamata.assembly.rendering import Citations, line
from iamata.assembly.tree import Tree, address, as_tree, hint_of
from iamata.assembly.wording import name, one_line, quote
from iamata.authority import PatientContext, Profile, Scale, Witnesses, asked_aspect, profiles, tied
from iamata.model.context import Authority, Context, ContextItem, ContextRequest, LeftOut, LeftOutReason
from iamata.model.fact import Fact, FieldVerdict
from iamata.model.graph import Graph
from iamata.model.identifiers import IdMint, canonical_bytes
from iamata.model.link import LinkType
from iamata.model.stamp import Moment
from iamata.model.statement import Aspect
from iamata.ports import TokenCounter

# Every context ends with this sentence, whether or not anything is withheld (design 07).
POLICY: Final = "Information may be withheld by policy."
NO_ALLERGIES: Final = "No allergy information recorded."
_NOT_ALL_SAFE: Final = "WARNING: this budget does not hold all safety information; ask for more."
# Below these budgets the list of what was left out, and the line with time and version, cost more than they tell.
_LEFT_OUT_FROM: Final = 300
_FOOTER_FROM: Final = 120
_LEFT_OUT_SHARE: Final = 0.08
_LEFT_OUT_MOST: Final = 200
_QUESTION_SHARE: Final = 0.05
# After so many lines that found no room the rest is left out untried.
_PATIENCE: Final = 24
_BRACKET = re.compile(r"(?<!\\)\[(\d+(?:, \d+)*)\]")


class Index(Protocol):
    def scores(self, query: str) -> dict[str, float]:
        """How well items answer a query, by id; higher is better, those that do not match are missing."""


class Told(msgspec.Struct, frozen=True, gc=False):
    """A line with its own bracket numbers (`[1, 2]` are the first and second of `cited`), and what it costs."""

    text: str
    cited: tuple[str, ...]
    conflicts: tuple[str, ...] = ()


class Line(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of the text before it is numbered. `sort` orders it within its section."""

    id: str
    section: int
    sort: tuple[object, ...]
    told: Told
    address: str
    authority: Authority | None = None
    conflict: str = ""
    stale: bool = False
    safety: bool = False


class _Desk:
    """What can be kept for one index: pure functions of its graph. Dropped with the index, so never kept after it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.graph = tree.graph
        self.witnesses = Witnesses(self.graph)
        self.cards = ranking.cards(self.graph, tree.inferred)
        # Notes, and what agents inferred, are told and not weighed: they are no witness.
        self.unweighed = {*self.graph.passages, *tree.inferred}
        self.directories = {id: self._directory(id) for id in self.cards}
        self.told: dict[tuple[str, str, str], Told] = {}
        self.scales: dict[tuple[str, int], Scale] = {}
        self.relevance: dict[tuple[str, int], dict[str, float]] = {}
        self.safety: dict[tuple[str, PatientContext], list[Card]] = {}

    def _directory(self, id: str) -> str:
        """The directory of the tree in which an item would be found: a whole section, so that lists stay short."""
        path = self.tree.places.get(id)
        if path is None:
            return f"{self.tree.root}/"
        return self.tree.address(path[: 2 if path[0] == "others" else 1], directory=True)

    def scale(self, profile: Profile, moment: Moment) -> Scale:
        """The scale of one profile, kept while the index is."""
        key = (profile.name, profile.version)
        scale = self.scales.get(key)
        if scale is None or scale.profile is not profile or scale.moment != moment:
            scale = self.scales[key] = Scale(self.graph, profile, moment, self.witnesses)
            self.relevance[key] = {id: ranking.relevance(card, profile) for id, card in self.cards.items()}
        return scale

    def safety_set(self, task: str, patient: PatientContext) -> list[Card]:
        """As in `ranking`, kept while the index is."""
        found = self.safety.get((task, patient))
        if found is None:
            found = self.safety[(task, patient)] = ranking.safety_set(self.cards, task, patient)
        return found


_desks: WeakKeyDictionary[Index, _Desk] = WeakKeyDictionary()


def _desk(index: Index, graph: Graph | Tree) -> _Desk:
    wanted = graph.graph if isinstance(graph, Tree) else graph
    try:
        desk = _desks.get(index)
        if desk is None or desk.graph is not wanted:
            desk = _desks[index] = _Desk(as_tree(graph))
    except TypeError:  # an index that cannot be referred to weakly: nothing is kept
        desk = _Desk(as_tree(graph))
    return desk


def assemble(
    request: ContextRequest,
    graph: Graph | Tree,
    shelves: Sequence[EntryIndex],
    *,
    moment: Moment,
    index: Index,
    count: TokenCounter,
    profile: Profile,
    stamp: str,
    mint: IdMint,
) -> Context:
    """The context for a request. `graph` is what this reader may see at `moment`; `shelves` the entries in force of the
    organizations, operators and agents the request is for.

    `tokens` == count(`text`) <= `budget_tokens`, always. `fits` is False, and `note` says so, when the safety set does
    not fit; the text then holds as much of it as does. `items` stand in the order of the text; `legend` resolves its
    brackets. Pass a Tree where one is kept. Not promised: that everything relevant fits; `left_out` counts the rest.
    """
    desk = _desk(index, graph)
    work = _Work(request, desk, shelves, moment, count, profile)
    return work.context(index, stamp, mint)


def tasks() -> tuple[str, ...]:
    """The tasks that have a profile, sorted."""
    return profiles.names()


def profile_of(task: str) -> Profile:
    """The profile of a task. Raises InvalidValue, naming the tasks there are, for another."""
    return profiles.load(task)


def profile_digest(task: str) -> str:
    """What a read stamp holds of the profile: its name, version and a digest of all that its numbers come from."""
    profile = profiles.load(task)
    return f"{profile.name}/{profile.version}/{profiles.digest(task)}"


def weigh(
    graph: Graph | Tree, item_id: str, *, index: Index, profile: Profile, aspect: Aspect | None, moment: Moment
) -> Authority:
    """How much a fact, statement or memory counts, with the factors; for explanations. Raises NotFound."""
    return _desk(index, graph).scale(profile, moment).authority(item_id, aspect)


def legend(context: Context) -> dict[str, str]:
    """What each bracket number of the text stands for: the id of a statement, memory, passage or entry."""
    found: dict[str, None] = {}
    for item in context.items:
        found.update(dict.fromkeys(item.citations))
    return {str(number): id for number, id in enumerate(found, 1)}


class _Work:
    """One assembly."""

    def __init__(
        self,
        request: ContextRequest,
        desk: _Desk,
        shelves: Sequence[EntryIndex],
        moment: Moment,
        count: TokenCounter,
        profile: Profile,
    ) -> None:
        self.request = request
        self.desk = desk
        self.shelves = shelves
        self.others = entry_ranking.candidates(shelves, request.task, request.query)
        self.moment = moment
        self.count = count
        self.profile = profile
        self.scale = desk.scale(profile, moment)
        asked = asked_aspect(request.query)
        self.asked: Aspect | None = request.aspect or (Aspect(asked) if asked else None)

    def context(self, index: Index, stamp: str, mint: IdMint) -> Context:
        """Choose, then write; the exact count decides what stays."""
        request, desk = self.request, self.desk
        budget = request.budget_tokens
        safety = self._safety()
        needed = sum(self._cost(held) for held in safety)
        footer = budget >= _FOOTER_FROM and self._fixed(True) + needed <= budget
        told_of_left_out = footer and budget >= _LEFT_OUT_FROM
        reserve = min(_LEFT_OUT_MOST, int(budget * _LEFT_OUT_SHARE)) if told_of_left_out else 0
        question = self._question()
        purse = Purse(budget - self._fixed(footer) - reserve)
        if question and not purse.spend(self.count.count(question) + 1):
            question = ""
        kept = self._fitting(safety, purse)
        all_safe = len(kept) == len(safety)
        relevant = self._relevance(index)
        chosen = kept + (self._fill(relevant, purse, safety) if all_safe else [])
        if not all_safe:
            question = ""
        settled = exact(chosen, lambda held: self._write(held, footer, question, ()), budget, self.count)
        left_out = self._left_out(settled.kept, relevant)
        text, tokens = settled.text, settled.tokens
        fits = all(held in settled.kept for held in safety) and bool(text)
        if text and not fits:
            text, tokens = self._with_warning(settled.kept, footer, text, tokens)
        elif told_of_left_out:
            text, tokens = self._with_left_out(settled.kept, footer, question, left_out, text, tokens)
        lines = self._in_order(settled.kept)
        items = self._items(lines)
        return Context(
            id=mint.id("ctx", (canonical_bytes(request), stamp)),
            request=request,
            text=text,
            tokens=tokens,
            items=items,
            conflicts=tuple(sorted({id for held in lines for id in held.told.conflicts})),
            left_out=left_out,
            fits=fits,
            note="" if fits else self._note(safety, settled.kept, needed),
            stamp=stamp,
            graph_version=desk.graph.version,
            true_at=self.moment.true_at.isoformat(),
            known_at=self.moment.known_at.isoformat() if self.moment.known_at else "",
        )

    # choosing

    def _safety(self) -> list[Line]:
        """Guardrails, then the safety set; with no word on allergies anywhere, that there is none."""
        held = [self._entry_line(each) for each in self.others if each.rank == 0]
        cards = self.desk.safety_set(self.request.task, self.scale.patient)
        held += [self._card_line(card, safety=True) for card in cards]
        within = set().union(*(self._quoted(one.told) for one in held))
        held = [one for one in held if one.id not in within]
        if not any(card.section == ranking.ALLERGIES or card.kind == "allergy" for card in cards):
            told = Told(NO_ALLERGIES, ())
            place = f"{self.desk.tree.root}/allergies/"
            held.append(Line(id="", section=ranking.ALLERGIES, sort=(), told=told, address=place, safety=True))
        return held

    def _fitting(self, safety: Sequence[Line], purse: Purse) -> list[Line]:
        """As much of the safety set as fits; what must be told together is taken together, or not."""
        lines = {held.id: held for held in safety}
        kept: dict[str, Line] = {}
        for held in safety:
            card = self.desk.cards.get(held.id)
            together = [*(card.with_ if card else ()), held.id]
            bundle = [lines[id] for id in together if id in lines and id not in kept]
            if bundle and purse.spend(sum(self._cost(one) for one in bundle)):
                kept.update((one.id, one) for one in bundle)
        return list(kept.values())

    def _relevance(self, index: Index) -> dict[str, float]:
        """How relevant each item is that is relevant at all."""
        scores = index.scores(self.request.query) if self.request.query else {}
        best = max(scores.values(), default=0.0)
        task = self.desk.relevance[(self.profile.name, self.profile.version)]
        if best > 0:
            task = {id: ranking.asked(value, scores.get(id, 0.0) / best) for id, value in task.items()}
        return {id: value for id, value in task.items() if value >= ranking.LEAST_RELEVANCE}

    def _fill(self, relevant: Mapping[str, float], purse: Purse, safety: Sequence[Line]) -> list[Line]:
        """What else fits, best first."""
        cards = self.desk.cards
        inside = {held.id for held in safety}
        chosen = self._fill_entries(purse)
        queue = ranking.Queue(relevant, cards, self._weight)
        for held_safe in safety:
            inside |= self._quoted(held_safe.told)
        for id in sorted(inside & cards.keys()):
            queue.take(cards[id])
        refused = 0
        while (best_card := queue.next()) is not None:
            card = best_card
            held = [self._card_line(cards[id]) for id in card.with_ if id in cards and id not in inside]
            if not any(card.id in self._quoted(one.told) for one in held):
                held.append(self._card_line(card))
            if purse.spend(sum(self._cost(one) for one in held)):
                chosen += held
                for one in held:
                    inside.add(one.id)
                    queue.take(cards[one.id])
                    for id in self._quoted(one.told) - inside:
                        inside.add(id)
                        queue.take(cards[id])
            else:
                refused += 1
                if refused == _PATIENCE:
                    break
        return chosen

    def _quoted(self, told: Told) -> set[str]:
        """What stands in this line already and needs none of its own: memories whose words it quotes, and facts that
        are the other side of the conflict it tells."""
        graph = self.desk.graph
        memories = graph.memories
        found = {id for id in told.cited if id in memories and quote(memories[id].quote) in told.text}
        if told.conflicts:
            of = [
                graph.conflicts[id].fact if id in graph.conflicts else graph.links[id].target for id in told.conflicts
            ]
            owners = {fact.id for id in of if (fact := graph.resolve(id)) is not None}
            cited = set(told.cited)
            other = {graph.fact_of[id] for id in told.cited if id in graph.fact_of} - owners
            found |= {id for id in other if graph.facts[id].members and cited.issuperset(graph.facts[id].members)}
        return found

    def _fill_entries(self, purse: Purse) -> list[Line]:
        """Entries of the other scopes: what comes first, then the most relevant; these take at most a third of what is
        left."""
        chosen: list[Line] = []
        share = Purse(purse.left // 3)
        for each in self.others:
            if each.rank == 0 or each.relevance < ranking.LEAST_RELEVANCE:
                continue
            held = self._entry_line(each)
            cost = self._cost(held)
            if cost <= purse.left and (each.rank == 1 or share.spend(cost)):
                purse.spend(cost)
                chosen.append(held)
        return chosen

    def _weight(self, card: Card) -> float:
        if card.id in self.desk.unweighed:
            return 0.5
        return self.scale.weight(card.id, self.scale.aspect_for(card.kind, self.asked))

    def _authority(self, card: Card) -> Authority | None:
        if card.id in self.desk.unweighed:
            return None
        return self.scale.authority(card.id, self.scale.aspect_for(card.kind, self.asked))

    # telling

    def _card_line(self, card: Card, *, safety: bool = False) -> Line:
        return Line(
            id=card.id,
            section=card.section,
            sort=(not card.current, card.only_named, tuple(-ord(c) for c in card.day), card.id),
            told=self._told(card),
            address=address(self.desk.tree, card.id),
            authority=self._authority(card),
            conflict=card.conflict,
            stale=card.stale,
            safety=safety,
        )

    def _entry_line(self, of: entry_ranking.Candidate) -> Line:
        """In the order of the scopes; in one of them what binds, what comes first, then by address: it stays put."""
        section = next(n for n, (_, kinds) in enumerate(SECTIONS) if of.entry.subject.scope in kinds)
        told = Told(of.words, (of.item,))
        sort = (of.rank, of.address, of.item)
        return Line(id=of.item, section=section, sort=sort, told=told, address=of.address, safety=of.rank == 0)

    def _told(self, card: Card) -> Told:
        aspect = self.scale.aspect_for(card.kind, self.asked)
        key = (card.id, f"{self.profile.name}/{self.profile.version}" if card.conflict else "", str(aspect))
        told = self.desk.told.get(key)
        if told is None:
            told = self.desk.told[key] = self._tell(card, aspect)
        return told

    def _tell(self, card: Card, aspect: Aspect) -> Told:
        """The item's line; a fact in conflict is worded by the side that counts most here, and says how they weigh."""
        graph, desk = self.desk.graph, self.desk
        citations = Citations.numbers(desk.tree)
        fact = graph.facts.get(card.id)
        if fact is None or not card.conflict:
            text = line(desk.tree, card.id, moment=self.moment, citations=citations)
            return Told(text, citations.items())
        conflicts = [conflict.id for conflict in desk.tree.neighbours.conflicts.get(fact.id, [])]
        for id in conflicts:
            fact = _repicked(fact, graph.conflicts[id].field, self.scale.sides(id, aspect)[0][0].items)
        text = fact_line(desk.tree, fact, self.moment, citations)
        inside = {item for id in conflicts for side in graph.conflicts[id].sides for item in side.items}
        cited = set(citations.items())
        for link in desk.witnesses.memories_of.get(fact.id, ()):
            if link.type is LinkType.CONFLICTS and link.origin in cited - inside:
                conflicts.append(link.id)
        weighed = []
        for id in conflicts:
            sides = self.scale.sides(id, aspect)
            told = " > ".join(f"{name(side.says)} {weight.weight:.2f}" for side, weight in sides)
            weighed.append(f"{told}{' (a tie)' if tied(sides) else ''}")
        if weighed:
            text += f"; counts here, on {aspect}: {'; '.join(weighed)}"
        return Told(text, citations.items(), tuple(conflicts))

    # writing

    def _cost(self, held: Line) -> int:
        """About what the line costs, with its share of a heading."""
        return self.count.count(f"- {held.told.text}\n") + 1

    def _fixed(self, footer: bool) -> int:
        """What the end of the text costs, and the headings at most."""
        end = f"\n{self._footer()}\n{POLICY}" if footer else f"\n{POLICY}"
        return self.count.count(end) + (4 if self.request.budget_tokens >= _FOOTER_FROM else 0)

    def _footer(self) -> str:
        asked = f", aspect {self.asked}" if self.asked is not None else ""
        when = self.moment.true_at.strftime("%Y-%m-%dT%H:%MZ")
        graph = self.desk.graph
        return f"As of {when}, graph {graph.hash[:8]} v{graph.version}, for {self.profile.name}{asked}."

    def _question(self) -> str:
        query = one_line(self.request.query)
        if not query or self.count.count(query) > self.request.budget_tokens * _QUESTION_SHARE:
            return ""
        return f"## Question\n- {quote(query)}"

    def _in_order(self, held: Sequence[Line]) -> list[Line]:
        return sorted(held, key=lambda one: (one.section, one.sort))

    def _numbered(self, lines: Sequence[Line]) -> list[str]:
        """The lines with brackets numbered through, in the order of first use."""
        numbers: dict[str, int] = {}
        written = []
        for held in lines:
            cited = held.told.cited
            for id in cited:
                numbers.setdefault(id, len(numbers) + 1)

            def renumber(match: re.Match[str], cited: tuple[str, ...] = cited) -> str:
                return f"[{', '.join(str(numbers[cited[int(own) - 1]]) for own in match[1].split(', '))}]"

            written.append(_BRACKET.sub(renumber, held.told.text) if cited else held.told.text)
        return written

    def _write(
        self, held: Sequence[Line], footer: bool, question: str, left_out: Sequence[str], warning: str = ""
    ) -> str:
        lines = self._in_order(held)
        parts = [warning] if warning else []
        section = -1
        for one, text in zip(lines, self._numbered(lines), strict=True):
            if one.section != section:
                section = one.section
                parts.append(f"## {SECTIONS[section][0]}")
            parts.append(f"- {text}")
        if question:
            parts.append(question)
        if left_out:
            parts += ["## Left out", *left_out]
        if footer:
            parts.append(self._footer())
        parts.append(POLICY)
        return "\n".join(parts)

    def _with_left_out(
        self,
        kept: Sequence[Line],
        footer: bool,
        question: str,
        left_out: Sequence[LeftOut],
        text: str,
        tokens: int,
    ) -> tuple[str, int]:
        """The text with as much of the list of what was left out as fits."""
        rows = [f"- {out.address} {out.items} ({out.reason.value})" for out in left_out]

        def write(some: list[str]) -> str:
            more = sum(out.items for out in left_out[len(some) :])
            return self._write(kept, footer, question, [*some, f"- and {more} more items"] if more else some)

        if not rows:
            return text, tokens
        room = self.request.budget_tokens - tokens
        most = next(
            (n for n in range(len(rows)) if sum(self.count.count(r) + 1 for r in rows[: n + 1]) > room), len(rows)
        )
        settled = exact(rows[:most], write, self.request.budget_tokens, self.count)
        return (settled.text, settled.tokens) if settled.kept and settled.text else (text, tokens)

    def _with_warning(self, kept: Sequence[Line], footer: bool, text: str, tokens: int) -> tuple[str, int]:
        warned = self._write(kept, footer, "", (), _NOT_ALL_SAFE)
        cost = self.count.count(warned)
        return (warned, cost) if cost <= self.request.budget_tokens else (text, tokens)

    # answering

    def _items(self, lines: Sequence[Line]) -> tuple[ContextItem, ...]:
        numbers: dict[str, int] = {}
        items = []
        for held, text in zip(lines, self._numbered(lines), strict=True):
            for id in held.told.cited:
                numbers.setdefault(id, len(numbers) + 1)
            items.append(
                ContextItem(
                    number=numbers[held.told.cited[0]] if held.told.cited else 0,
                    item=held.id,
                    address=held.address,
                    text=text,
                    tokens=self.count.count(f"- {text}\n"),
                    authority=held.authority,
                    citations=held.told.cited,
                    conflict=held.conflict,
                    stale=held.stale,
                    safety=held.safety,
                )
            )
        return tuple(items)

    def _left_out(self, kept: Sequence[Line], relevant: Mapping[str, float]) -> tuple[LeftOut, ...]:
        """Everything that stands in no line, counted by directory and reason: for want of room first, most items
        first, then by address."""
        told = {held.id for held in kept}.union(*(self._quoted(held.told) for held in kept))
        counts: dict[tuple[str, LeftOutReason], int] = {}
        for id in self.desk.cards:
            if id not in told:
                key = (self.desk.directories[id], LeftOutReason.BUDGET if id in relevant else LeftOutReason.RELEVANCE)
                counts[key] = counts.get(key, 0) + 1
        found = entry_ranking.left_out(self.shelves, self.others, told, ranking.LEAST_RELEVANCE)
        root = self.desk.tree.root
        for (place, reason), items in counts.items():
            path = tuple(part for part in place.removeprefix(root).split("/") if part)
            found.append(LeftOut(place, hint_of(path), items, reason))
        return tuple(sorted(found, key=lambda out: (out.reason.value, -out.items, out.address)))

    def _note(self, safety: Sequence[Line], kept: Sequence[Line], needed: int) -> str:
        shown = sum(held in kept for held in safety)
        return (
            f"The safety set does not fit in {self.request.budget_tokens} tokens: {shown} of {len(safety)} of its "
            f"items are told; about {needed + self._fixed(False)} tokens would hold it."
        )


def _repicked(fact: Fact, field: str, items: Sequence[str]) -> Fact:
    """The fact with this field's value as the first side's statements give it; unchanged if none of them gives one."""
    held = fact.field(field)
    if held is None or held.statement in items:
        return fact
    for other in held.others:
        if other.statement in items:
            values = tuple(o for o in held.others if o is not other)
            picked = msgspec.structs.replace(
                held, verdict=FieldVerdict.PICKED, value=other.value, statement=other.statement, others=values
            )
            fields = tuple(picked if one is held else one for one in fact.fields)
            return msgspec.structs.replace(fact, fields=fields)
    return fact
