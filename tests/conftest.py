"""Guards that always run, and what every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_DATA = Path(os.environ.get("IAMATA_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real files beside the project (or IAMATA_TEST_DATA); the test is skipped, and says so, without it."""
    if not _DATA.is_dir():
        pytest.skip(f"no real files at {_DATA.name}/ (set IAMATA_TEST_DATA)")
    return _DATA
