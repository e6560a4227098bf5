"""What is asked about a chart, for which task, and which of its facts a careful answer needs?

The kinds are rows of `data/task_questions.tsv`, each with the reason for what it needs. A kind is asked of a chart that
has all its topics. Half of the kinds, by a hash of the kind, are unopened. Not here: the words that tell a fact
(`charts`), and how an answer is scored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from evals.generator import tables
from evals.generator.chart_items import Chart, Gold
from evals.generator.charts import chart


@dataclass(frozen=True)
class Question:
    id: str
    kind: str
    task: str
    query: str
    golds: tuple[Gold, ...]


def part_of(kind: str) -> Literal["tuned", "unopened"]:
    """The half that a kind belongs to."""
    return "unopened" if hashlib.sha256(kind.encode()).digest()[0] % 2 else "tuned"


def charts(seed: int, adults: int, children: int) -> Iterator[Chart]:
    """So many charts of each sort, of their own seeds."""
    for number in range(adults):
        yield chart(1000 * seed + number, child=False)
    for number in range(children):
        yield chart(1000 * seed + number, child=True)


def questions(of: Chart) -> Iterator[Question]:
    """Every kind that this chart can be asked, in the order of the table."""
    for line in tables.table("task_questions"):
        topics = line["topics"].split(",")
        needed = dict(of.golds)
        if "plain_condition" in of.words:
            wanted = of.words["plain_condition"]
            needed["onset of plain"] = [gold for gold in of.golds["onset"] if gold.key == f"onset/{wanted}"]
        if line["task"] == "pediatric_history" and not of.child:
            continue
        if all(needed.get(topic) for topic in topics):
            golds = {gold.key: gold for topic in topics for gold in needed[topic]}
            query = line["query"].format_map(of.words) if line["query"] else ""
            yield Question(f"{of.id} {line['kind']}", line["kind"], line["task"], query, tuple(golds.values()))
