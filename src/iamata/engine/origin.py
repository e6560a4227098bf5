"""Through which door did the request come that is being answered? For the audit log alone; no rule reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import msgspec

from iamata.model.audit import DoorName


class Origin(msgspec.Struct, frozen=True):
    """`request` is the id that the door gave the request, empty if it gives none."""

    door: DoorName
    request: str = ""


_current: Final[ContextVar[Origin | None]] = ContextVar("iamata_origin", default=None)


def current() -> Origin | None:
    """Where this thread or task says that its request came from; None: whoever holds the engine called it."""
    return _current.get()


@contextmanager
def came_through(door: DoorName, request: str = "") -> Iterator[None]:
    """What is asked of an engine meanwhile, by this thread or task and those it starts, came through this door."""
    token = _current.set(Origin(door, request))
    try:
        yield
    finally:
        _current.reset(token)
