"""How is the engine reached by agents over MCP? `create_server` makes it, `serve_stdio`, `streamable` run it.

`tools` one question to the engine each · `arguments` what agents say to them · `telling` how answers read ·
`offering` which tools for whom, and what comes of a call · `resources`, `prompts` addresses and ways · `server` the
protocol. The SDK is the extra `iamata[mcp]`, imported where it is used.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from iamata.errors import Unavailable
from iamata.model.access import Access, PrincipalKind
from iamata.model.scope import Scope, Subject

if TYPE_CHECKING:
    from mcp.server import Server

    from iamata.engine import Engine
    from iamata.interfaces.mcp.server import Streamable

__all__ = ["agent", "create_server", "installed", "serve_stdio", "streamable"]


def installed() -> bool:
    """Is the SDK there?"""
    return find_spec("mcp") is not None and find_spec("mcp_types") is not None


def agent(
    id: str = "mcp", *, patient: str | None = None, may_write: bool = True, operator: Access | None = None
) -> Access:
    """Who calls: an agent for this operator, else for the person at this machine. With `patient` no other patient
    exists for it.

    Raises InvalidValue for an id that no agent can have.
    """
    Subject(Scope.AGENT, id)
    return Access(
        kind=PrincipalKind.AGENT,
        id=id,
        on_behalf_of=operator.id if operator is not None else "local",
        roles=operator.roles if operator is not None else (),
        by_relation=operator is not None and operator.by_relation,
        patients=None if patient is None else frozenset({patient}),
        may_write=may_write,
        for_owner=True,
    )


def create_server(engine: Engine, *, access: Access | None = None, by_token: bool = False) -> Server[Any]:
    """The MCP server on this engine for this principal (default: `agent()`). The engine stays the caller's to close.

    With `by_token` each request is the bearer's of its token, as the HTTP door found it, or an agent's acting for it;
    a request without one is refused.

    Bound to one patient (`access.patients` of one), the tools take that patient where none is named, and every other
    is as absent as one that does not exist. Without `may_write` the writing tool is not there. Raises Unavailable
    without the SDK.
    """
    _needed()
    from iamata.interfaces.mcp.server import make

    access = access or agent()
    return make(engine, None if by_token else access)


def serve_stdio(engine: Engine, *, access: Access | None = None) -> None:
    """Speak MCP over standard input and output until the input ends. Raises Unavailable without the SDK."""
    server = create_server(engine, access=access)
    import anyio

    from iamata.interfaces.mcp.server import serve_stdio as serve

    anyio.run(serve, server)


def streamable(
    engine: Engine, *, max_body_bytes: int, access: Access | None = None, by_token: bool = False
) -> Streamable:
    """Streamable HTTP, to be mounted behind the door of an app. Raises Unavailable without the SDK."""
    server = create_server(engine, access=access, by_token=by_token)
    from iamata.interfaces.mcp.server import Streamable

    return Streamable(server, max_body_bytes=max_body_bytes)


def _needed() -> None:
    if not installed():
        raise Unavailable("MCP needs its SDK, which is not installed: pip install 'iamata[mcp]'")
