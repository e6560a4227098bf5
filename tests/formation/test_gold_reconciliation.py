"""The reconciliation cases, written before the fold. All that may be seen must be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals import gold_runner as gold

TUNED = [case for case in gold.load() if not case.get("held_out")]


@pytest.mark.parametrize("case", TUNED, ids=lambda case: case["id"])
def test_a_case_comes_out_as_its_author_expected(case: gold.Case, data: Path) -> None:
    sent = gold.submissions(case, data)
    assert sent is not None
    run = gold.Run(sent)
    try:
        assert gold.check(run, case, sent) == []
    finally:
        run.close()
