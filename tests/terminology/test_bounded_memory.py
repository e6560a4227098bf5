"""What patients' words were looked up as is forgotten again: a server that never stops does not grow with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from iamata.terminology import body_sites, conditions, drugs, lexicon, names, systems, units


@pytest.mark.parametrize(
    "lookup",
    [
        names.fold,
        systems.normal,
        units.ucum,
        lexicon.variants,
        body_sites._in_words,
        conditions._of_code,
        drugs._bare,
        drugs._class_words,
    ],
    ids=lambda lookup: f"{lookup.__module__.rpartition('.')[2]}.{lookup.__name__}",
)
def test_lookups_of_words_as_sent_are_kept_in_bounded_number(lookup: Callable[..., Any]) -> None:
    most = lookup.cache_parameters()["maxsize"]  # type: ignore[attr-defined]  # functools.lru_cache has it
    assert most is not None
    assert most <= 200_000
