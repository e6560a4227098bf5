"""How is the demo told? Every word about the patient is the engine's answer; only headings and remarks are ours."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Self

import msgspec

from iamata.interfaces.cli import opening
from iamata.interfaces.cli.clashes import Clash, Stand, clashes, put_clash
from iamata.interfaces.cli.demo.story import KEPT, NOW, PATIENT, STORY, Sent, open_demo, send
from iamata.interfaces.cli.printing import counted, listed, put, put_hanging, put_line, put_table, put_title
from iamata.interfaces.cli.proofs import put_explanation
from iamata.model.attribution import AttributionKind
from iamata.model.context import Authority, Context, ContextRequest
from iamata.model.document import Outcome, Receipt
from iamata.model.fact import Fact
from iamata.model.graph import Graph
from iamata.model.reading import Explanation
from iamata.model.scope import patient as patient_subject
from iamata.model.statement import Kind, Polarity

TASKS = ("medication_reconciliation", "claims_adjudication")
BUDGET = 390
COMPARED_BUDGET = 2000
_EVEN = 0.5
_TOLD_FROM = 0.05
_EXCERPT_CHARS = 240


class Flip(msgspec.Struct, frozen=True):
    """A conflict on which two tasks side differently. `record` is the side on which the whole fact stands; `weights`
    are the fact's for each task: above a half that side counts more, below it the other one."""

    clash: Clash
    record: Stand
    weights: tuple[Authority, Authority]


class Demo:
    """The story played to its end on one database, and what the engine then answers."""

    def __init__(self, db: str) -> None:
        self.db = db
        self._engine, clock = open_demo(db)
        self.received: list[tuple[Sent, Receipt]] = []
        for sent in STORY:
            clock.now = sent.at
            self.received.append((sent, send(self._engine, sent)))
        clock.now = NOW
        self.graph: Graph = self._engine.graph(PATIENT)
        order = list(Kind)
        self.facts: list[Fact] = sorted(
            self.graph.facts.values(), key=lambda fact: (order.index(fact.kind), fact.display, fact.id)
        )
        self.clashes: list[Clash] = clashes(self.graph)
        self.context: Context = self._context(TASKS[0], BUDGET)
        self.compared: list[Context] = [self._context(task, COMPARED_BUDGET) for task in TASKS]
        self.explanation: Explanation = self.explain(self._told_by_a_user())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()

    def _context(self, task: str, budget: int) -> Context:
        return self._engine.context(
            ContextRequest(subjects=(patient_subject(PATIENT),), task=task, budget_tokens=budget)
        )

    def explain(self, item: str) -> Explanation:
        """Why an item stands there; takes what `iamata explain` takes but for handles."""
        return self._engine.explain(PATIENT, item)

    def _told_by_a_user(self) -> str:
        """A statement of the patient or of somebody speaking for them, an answer to a question rather than another."""
        told = [fact for fact in self.facts if self.by_a_user(fact)]
        told.sort(key=lambda fact: fact.kind is not Kind.ANSWER)
        return (told or self.facts)[0].members[0]

    def disputed(self, fact: Fact) -> bool:
        """Is it in a conflict?"""
        return bool(fact.conflicts) or any(clash.fact == fact.id for clash in self.clashes)

    def by_a_user(self, fact: Fact) -> bool:
        """Did the patient, or somebody speaking for them, say it?"""
        return any(each.kind is AttributionKind.USER for each in fact.supported_by)

    def flips(self) -> list[Flip]:
        """The conflicts on which the two tasks side differently: a fact weighs more than a half for the one only."""
        found: list[Flip] = []
        for clash in self.clashes:
            members = set(self.graph.facts[clash.fact].members)
            record = next((each for each in clash.stands if members <= {voice.item for voice in each.voices}), None)
            first, second = (_authority(context, clash.fact) for context in self.compared)
            if record is None or first is None or second is None:
                continue
            if (first.weight > _EVEN) is not (second.weight > _EVEN):
                found.append(Flip(clash, record, (first, second)))
        return found

    def next_commands(self) -> list[str]:
        """Commands that work on this story once it is kept. None names an id: a kept story has ids of its own."""
        kept = self.db if self.db != opening.MEMORY else KEPT
        context = f"iamata context {PATIENT} --task allergy_check --budget {BUDGET}"
        return [
            *(["iamata demo --keep"] if self.db == opening.MEMORY else []),
            f"export IAMATA_DB={kept}",
            f"iamata browse {PATIENT}",
            f"{context} --true-at {NOW:%Y-%m-%d} --explain-weights",
            f"{context} --known-at 2026-02-12",
            f"iamata search {PATIENT} hives",
            "iamata serve",
        ]


def _authority(context: Context, fact: str) -> Authority | None:
    """The authority of the line that tells this fact, if the context has one."""
    return next((item.authority for item in context.items if item.item == fact), None)


def tell(demo: Demo) -> None:
    """The whole story, in order."""
    put_title("One small patient, all the way: Leo, 4, made up, on 15 February 2026")
    put("No server, no network, no language model: what follows is what the engine says.")
    _received(demo)
    _facts(demo)
    _conflicts(demo)
    _task(demo)
    for flip in demo.flips()[:1]:
        _flip(flip)
    _why(demo)
    _next(demo)


def _chapter(number: int, title: str) -> None:
    put()
    put_title(f"{number}. {title}")


def _received(demo: Demo) -> None:
    _chapter(1, "What arrives, and what is understood")
    for sent, receipt in demo.received:
        day = f"{sent.at:%d %b} "
        if receipt.session:
            memories = sorted(demo.graph.memories.values(), key=lambda each: (each.message, each.start, each.id))
            learned = f"{counted(len(memories), 'memory', 'memories')}, kept as they were said"
            put_hanging(day, f"{sent.what}: {counted(receipt.staged.messages, 'turn')}, {learned}")
            for memory in memories:
                about = f"{memory.concept.display}{f', {memory.change}' if memory.change else ''}"
                put_hanging("   -", f"{about}: “{memory.quote}” ({memory.kind.value.replace('_', ' ')})")
            continue
        kinds = Counter(line.kind for line in receipt.intake if line.outcome is Outcome.STRUCTURED)
        ignored = [f"{line.kind} ({line.reason.value})" for line in receipt.intake if line.outcome is Outcome.IGNORED]
        understood = ", ".join(f"{kind} {n}" if n > 1 else kind for kind, n in sorted(kinds.items()))
        rest = f"; ignored {listed(ignored)}" if ignored else ""
        put_hanging(day, f"{sent.what}, {counted(len(receipt.intake), 'item')}: {understood}{rest}")


def _facts(demo: Demo) -> None:
    statements = sum(len(fact.members) + len(fact.history) for fact in demo.facts)
    _chapter(2, f"What it comes to: {len(demo.facts)} facts and events from {statements} statements (! in conflict)")
    rows, alone = [], []
    for fact in demo.facts:
        if len(fact.members) == 1 and not demo.disputed(fact) and not demo.by_a_user(fact):
            alone.append(fact.display)
            continue
        sources = sorted({demo.graph.statements[id].source for id in fact.members})
        who = ", ".join(
            f"{each.role.value}{f' ×{each.statements}' if each.statements > 1 else ''}" for each in fact.supported_by
        )
        denied = " (denied)" if fact.polarity is Polarity.DENIED and not fact.display.lower().startswith("no ") else ""
        rows.append(
            (
                "!" if demo.disputed(fact) else "",
                fact.kind.value.replace("_", " "),
                f"{fact.display}{denied}",
                who,
                " + ".join(sources),
            )
        )
    put_table(("", "kind", "what", "supported by", "in"), rows)
    put(f"In one record each: {', '.join(alone)}.")


def _conflicts(demo: Demo) -> None:
    _chapter(3, f"What contradicts: {counted(len(demo.clashes), 'conflict')}, both sides kept")
    for clash in demo.clashes:
        put_clash(clash, indent="  ")


def _task(demo: Demo) -> None:
    made = demo.context
    _chapter(4, f"What a task gets: {made.request.task}, {made.tokens} of {counted(BUDGET, 'token')}")
    for line in made.text.split("\n"):
        if line.startswith("- "):
            put_hanging("  -", line[2:])
        else:
            put(line, indent=2)


def _flip(flip: Flip) -> None:
    """One conflict under two tasks: which side counts more, and the factors side by side."""
    _chapter(5, f"One conflict, two tasks: {flip.clash.about}, {listed(flip.clash.kinds)}")
    others = listed(stand.says for stand in flip.clash.stands if stand is not flip.record)
    for authority in flip.weights:
        leading = flip.record.says if authority.weight > _EVEN else others
        put(f"{authority.task} asks “{authority.aspect.value}?” and goes by {leading}", indent=2)
    first, second = flip.weights
    values = [{factor.name: factor for factor in each.factors} for each in flip.weights]
    names = [factor.name for factor in first.factors]
    moved = max(names, key=lambda name: abs(values[0][name].log_odds - values[1][name].log_odds))
    rows = [
        (f"    {name}", *(f"{value[name].log_odds:+.2f}" for value in values), "moved most" if name == moved else "")
        for name in names
        if any(abs(value[name].log_odds) >= _TOLD_FROM for value in values)
    ]
    rows.append(("    = log-odds", f"{first.log_odds:+.2f}", f"{second.log_odds:+.2f}", ""))
    rows.append(("    weight, 0 to 1", f"{first.weight:.2f}", f"{second.weight:.2f}", ""))
    put_table(("  for the record", first.task, second.task, ""), rows, right=(1, 2))
    for value in values:
        put_hanging(f"  {value[moved].log_odds:+.2f}", value[moved].why)


def _why(demo: Demo) -> None:
    _chapter(6, "Why does it stand there? Down to the bytes")
    put_explanation(demo.explanation, demo.graph, excerpt_chars=_EXCERPT_CHARS)


def _next(demo: Demo) -> None:
    _chapter(7, "Where to go next")
    for command in demo.next_commands():
        put_line(f"  {command}")
