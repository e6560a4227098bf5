"""Which database is meant, and may it be made? Reading never creates one."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from iamata.errors import NotFound
from iamata.model.audit import DoorName
from iamata.settings import Settings, terminology_folder

if TYPE_CHECKING:
    from iamata.engine import Engine
    from iamata.model.access import Access

MEMORY = ":memory:"
# As whom the command acts; None: as the person at this machine. Set anew for each command line.
_acting: ContextVar[str | None] = ContextVar("iamata_acting", default=None)


def act_as(said: str | None) -> None:
    """`operator/dr-lee`, or with roles `operator/dr-lee nurse,clinician`, for the commands that follow.

    Raises InvalidValue for what is no principal."""
    if said:
        acting(said)
    _acting.set(said or None)


def acts() -> Access | None:
    """As whom the command acts; None: as the person at this machine."""
    said = _acting.get()
    return acting(said) if said else None


def acting(said: str) -> Access:
    """Somebody as they come by token: patients exist for them by their roles and the relations that are held."""
    from iamata.engine.relating import principal_of

    who, _, roles = said.partition(" ")
    return principal_of(who, roles=[role.strip() for role in roles.split(",") if role.strip()])


def settings(db: str | None = None, **given: object) -> Settings:
    """The settings: what was given, else the environment, else the defaults."""
    return Settings.read(os.environ, db=db, **given)


def missing(address: str) -> bool:
    """Is this a database file that does not exist yet?"""
    remote = address.startswith(("postgresql://", "postgres://"))
    return not remote and address != MEMORY and not Path(address).exists()


def to_read(db: str | None) -> Engine:
    """Open an existing database. Raises NotFound, and makes nothing, when there is none."""
    address = settings(db).db
    if missing(address):
        raise NotFound(
            f"there is no database at {address}. Put a first document in with `iamata ingest FILE`, look around with "
            "`iamata demo`, or say where yours is with --db or IAMATA_DB",
            what="database",
            id=address,
        )
    return to_write(db)


def in_memory(db: str | None) -> Engine:
    """An empty engine that leaves nothing behind, with the terminologies that the database would have."""
    from iamata.engine import Engine

    found = settings(db)
    return Engine.open(MEMORY, terminology=terminology_folder(found), policy=found.policy or None, door=DoorName.CLI)


def to_write(db: str | None) -> Engine:
    """Open a database, made if there is none. PostgreSQL needs a folder for the keys: IAMATA_KEYS."""
    from iamata.engine import Engine
    from iamata.engine.models import model_of
    from iamata.engine.privacy import privacy_of

    found = settings(db)
    return Engine.open(
        found.db,
        keys=os.environ.get("IAMATA_KEYS"),
        erasures=os.environ.get("IAMATA_ERASURES"),
        retention=found.retention or None,
        terminology=terminology_folder(found),
        model=model_of(found),
        model_for=found.listed("model_for"),
        policy=found.policy or None,
        acting=acts(),
        door=DoorName.CLI,
        privacy=privacy_of(found),
        checkpoint_s=found.audit_checkpoint_s,
    )
