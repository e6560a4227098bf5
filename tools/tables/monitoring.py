"""What is a test repeated for? `kb_monitoring.tsv`, from what was read in documents and the tests that its words mean.

`monitoring_readings.tsv`: one line for each document and the condition or drug that it speaks of, with the words for
the tests. `monitoring_words.tsv`: which tests of `lab_tests` these words mean, in each specimen in which they are
followed. Of several documents that say the same the one whose class is trusted most stands in the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from iamata.terminology import knowledge
from tools.tables import table

COMMENTS: Final = (
    "What a test is repeated for: a condition (group) or a drug (ingredient). Built by tools/tables/monitoring.py.",
    "Sources: kb_sources.tsv. Rows marked `unreviewed` are never loaded.",
)
COLUMNS: Final = ("test", "of", "id", "source")
HERE: Final = Path(__file__).parent


def build(readings: Iterable[Mapping[str, str]], words: Mapping[str, str]) -> str:
    """The table. Words that `words` does not have are ids of tests themselves."""
    best: dict[tuple[str, str, str], str] = {}
    for reading in readings:
        for word in reading["words"].split("; "):
            for test in words.get(word, word).split():
                key = test, reading["of"], reading["id"]
                best[key] = min(best.get(key, reading["source"]), reading["source"], key=_trust)
    return table.render(COMMENTS, COLUMNS, ((*key, source) for key, source in best.items()))


def _trust(source: str) -> tuple[float, str]:
    return -knowledge.confidence(source), source


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed table, write nothing")
    said = parser.parse_args()
    words = {row["words"]: row["tests"] for row in table.read(HERE / "monitoring_words.tsv")}
    text = build(table.read(HERE / "monitoring_readings.tsv"), words)
    return table.finish("kb_monitoring", text, check=said.check)


if __name__ == "__main__":
    raise SystemExit(main())
