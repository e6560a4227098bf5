"""What must whoever reads an answer be told beside it? Warnings of the door, gathered for one call.

An interface opens a list with `gathering` before it asks, and shows what is in it; the engine's door adds to it, in
whichever thread the verb runs. Without such a list nothing is gathered, and nothing is lost: the audit log has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_gathered: ContextVar[list[str] | None] = ContextVar("iamata_beside", default=None)


@contextmanager
def gathering(found: list[str] | None = None) -> Iterator[list[str]]:
    """A list (this one, or a new one) that fills while this is entered, each warning once."""
    found = [] if found is None else found
    token = _gathered.set(found)
    try:
        yield found
    finally:
        _gathered.reset(token)


def tell(warning: str) -> None:
    """Add a warning. It names times and ids of ours, never a patient or content."""
    found = _gathered.get()
    if found is not None and warning not in found:
        found.append(warning)
