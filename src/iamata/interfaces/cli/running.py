"""The commands about the program itself: `serve` (which puts together what is served), `mcp`, `doctor`, `version`."""

from __future__ import annotations

import logging
import platform
import signal
import sys
from importlib import metadata
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from iamata.errors import BadInput
from iamata.interfaces.cli import opening
from iamata.interfaces.cli.options import Db, Json
from iamata.interfaces.cli.printing import put, put_hanging, put_json, remark
from iamata.model.access import PrincipalKind

if TYPE_CHECKING:
    from iamata.engine import Engine
    from iamata.interfaces.http import Mounted
    from iamata.settings import Settings


def version_text() -> str:
    """`iamata 0.1.0`."""
    return f"iamata {metadata.version('iamata')}"


def version(json: Json = False) -> None:
    """Say which version this is."""
    if json:
        put_json({"name": "iamata", "version": metadata.version("iamata"), "python": platform.python_version()})
    else:
        put(version_text())


def doctor(db: Db = None, json: Json = False) -> None:
    """Check the installation and the database, and say what they are. Creates nothing.

    A missing database is no fault. Exit code 7 if the database cannot be reached.
    """

    address = opening.settings(db).db
    missing = opening.missing(address)
    with opening.in_memory(db) if missing else opening.to_read(db) as engine:
        found = engine.doctor()
    if opening.acts() is not None:  # how much waits is of all patients
        found = {name: value for name, value in found.items() if name != "pending"}
    if missing:
        found = {name: value for name, value in found.items() if name not in ("path", "pending", "audit")}
    report = {
        "version": metadata.version("iamata"),
        "python": platform.python_version(),
        "database": "not made yet; the first write makes it" if missing else "reached",
        "path": address,
        **found,
    }
    if "://" in address:
        report["path"] = found.get("path", "")
    if json:
        put_json(report)
        return
    width = max(map(len, report))
    for name, value in report.items():
        put_hanging(name.ljust(width), value or "-")


def serve(
    host: Annotated[
        str | None,
        typer.Option("--host", help="The address to listen on. Default: IAMATA_HOST, else 127.0.0.1."),
    ] = None,
    port: Annotated[int | None, typer.Option("--port", help="The TCP port. Default: IAMATA_PORT, else 8321.")] = None,
    db: Db = None,
    json: Json = False,
) -> None:
    """Serve the HTTP interface until interrupted. Without tokens (IAMATA_AUTH_ISSUER) it listens on this machine only.

    With the extra iamata[mcp] installed, agents reach it over MCP at /mcp (streamable HTTP).
    """
    from iamata.interfaces.http import serve as serve_http
    from iamata.settings import check_listening

    if opening.acts() is not None:
        raise BadInput("a server acts for whoever comes: leave out --as", place="--as")
    settings = opening.settings(db, host=host, port=port)
    check_listening(settings)
    url = f"http://{settings.host}:{settings.port}" if settings.port else f"http://{settings.host}, a free port"
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    with opening.to_write(db) as engine:
        if json:
            put_json({"url": url, "pid": _pid()})
            sys.stdout.flush()
        else:
            remark(f"iamata serves on {url} (its description: {url}/openapi.json). Stop it with Ctrl-C.")
        signal.signal(signal.SIGTERM, _stop)
        try:
            serve_http(engine, settings, mounted=served_beside(engine, settings))
        except KeyboardInterrupt:
            remark("stopped")


def mcp(
    patient: Annotated[
        str | None,
        typer.Option("--patient", metavar="ID", help="Serve this patient only; no other exists.", show_default=False),
    ] = None,
    agent: Annotated[str, typer.Option("--agent", metavar="ID", help="Who calls, for the audit log.")] = "mcp",
    read_only: Annotated[bool, typer.Option("--read-only", help="Do not let the agent add to conversations.")] = False,
    db: Db = None,
    json: Json = False,
) -> None:
    """Serve MCP on standard input and output, for an agent that starts this program. Needs iamata[mcp].

    Ends when the input does. The database must exist. What is not MCP goes to standard error.
    """
    from iamata.interfaces import mcp as agents

    with opening.to_read(db) as engine:
        if patient is not None:
            engine.patient(patient)
        operator = opening.acts()
        if operator is not None and operator.kind is not PrincipalKind.OPERATOR:
            raise BadInput("an agent acts for an operator", place="--as")
        access = agents.agent(agent, patient=patient, may_write=not read_only, operator=operator)
        agents.serve_stdio(engine, access=access)


def served_beside(engine: Engine, settings: Settings) -> list[Mounted]:
    """What is served beside the routes: MCP, if its SDK is installed."""
    from iamata.interfaces import mcp as agents
    from iamata.interfaces.http import Mounted

    if not agents.installed():
        return []
    streamable = agents.streamable(engine, max_body_bytes=settings.max_body_bytes, by_token=settings.tokens)
    return [Mounted("/mcp", streamable.app, streamable.running)]


def _pid() -> int:
    import os

    return os.getpid()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
