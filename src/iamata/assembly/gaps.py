"""Which tests are overdue? What public documents say is due in the patient's active conditions, against the results.

Reads `terminology.knowledge` and the graph. A gap is what nobody has sent here, which is not that it was not done.
"""

from __future__ import annotations

from typing import NamedTuple

from iamata.model.fact import Currency, Fact
from iamata.model.graph import Graph
from iamata.model.statement import Kind, Polarity, Standing
from iamata.terminology import conditions, knowledge, labs

_DAY_S = 86_400
_NO_RESULT = frozenset({Standing.ENTERED_IN_ERROR, Standing.CANCELLED, Standing.NOT_DONE, Standing.PLANNED})


class Overdue(NamedTuple):
    """A test that is due in an active condition (a fact's id). `newest` is the fact of its last result; empty if there
    is none, and then the condition has been known for longer than the interval."""

    due: knowledge.Due
    condition: str
    newest: str


def overdue(graph: Graph) -> tuple[Overdue, ...]:
    """At the clinical now of the graph, by test; of several rows for one test the shortest interval. None for a
    patient who is said to have died."""
    if any(_died(fact) for fact in graph.facts.values()):
        return ()
    now = int(graph.moment.true_at.timestamp())
    active = _active(graph)
    newest = _newest(graph)
    found: dict[str, Overdue] = {}
    for due in sorted(knowledge.due(active), key=lambda due: (due.days, due.group)):
        if due.what in found:
            continue
        known = sorted(fact for group, fact in active.items() if due.group in knowledge.told_of(group))
        results = [newest[test] for test in due.tests if test in newest]
        limit = now - due.days * _DAY_S
        if results:
            at, fact = max(results)
            if at < limit:
                found[due.what] = Overdue(due, known[0], fact)
        elif any(_since(graph.facts[id]) < limit for id in known):
            found[due.what] = Overdue(due, known[0], "")
    return tuple(found[what] for what in sorted(found))


def _died(fact: Fact) -> bool:
    deceased = fact.value("deceased") if fact.kind is Kind.DEMOGRAPHIC else None
    return deceased is not None and deceased is not False and deceased != "false"


def _active(graph: Graph) -> dict[str, str]:
    """The groups of current conditions, each with the fact of the smallest id."""
    found: dict[str, str] = {}
    for id, fact in sorted(graph.facts.items()):
        if fact.kind is not Kind.CONDITION or fact.concept is None or fact.polarity is Polarity.DENIED:
            continue
        group = conditions.group(fact.concept) if fact.currency is Currency.CURRENT else ""
        if group:
            found.setdefault(group, id)
    return found


def _newest(graph: Graph) -> dict[str, tuple[int, str]]:
    """The latest second and the fact of the newest result of each test."""
    found: dict[str, tuple[int, str]] = {}
    for id, fact in graph.facts.items():
        if fact.kind is not Kind.OBSERVATION or fact.concept is None or fact.standing in _NO_RESULT:
            continue
        test = labs.test(fact.concept)
        when = fact.when.end or fact.when.start if fact.when else None
        if test is not None and when is not None and when.latest is not None and fact.polarity is Polarity.AFFIRMED:
            found[test.id] = max(found.get(test.id, (when.latest, id)), (when.latest, id))
    return found


def _since(fact: Fact) -> float:
    """The latest second at which the condition can have begun; never before anything if nobody says."""
    start = fact.when.start if fact.when else None
    return float("inf") if start is None or start.latest is None else start.latest
