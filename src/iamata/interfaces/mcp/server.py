"""How are tools, resources and prompts spoken over MCP? The protocol by the official SDK, over stdio and HTTP.

Imported only where the SDK is installed. Handlers wait for the engine in threads; what comes of a call is for
`offering`. Not with the SDK's tracing and logging: they would hold arguments, addresses and the words of exceptions
(design 08).
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from iamata.engine.identity import agent_of
from iamata.engine.origin import came_through, current
from iamata.errors import BadInput, Unauthenticated
from iamata.interfaces.mcp import arguments, offering, prompts, resources
from iamata.model.access import Access
from iamata.model.audit import DoorName

if TYPE_CHECKING:
    from iamata.engine import Engine

Answered = TypeVar("Answered")
_Context = Any


def make(engine: Engine, principal: Access | None) -> Server[Any]:
    """The server on this engine, for this principal; None: for whoever bears the token of each request."""

    def whose(ctx: _Context) -> Access:
        return principal if principal is not None else _bearer(ctx)

    async def list_tools(ctx: _Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_offered(whose(ctx)), ttl_ms=0, cache_scope="private")

    async def call_tool(ctx: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        access = whose(ctx)
        tools = offering.tools(access)
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no such tool; there are {', '.join(tools)}")
        ask = partial(offering.outcome, tool, engine, access, params.arguments or {})
        made = await anyio.to_thread.run_sync(partial(_by_mcp, ask))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=each) for each in made.texts],
            structured_content=made.structured,
            is_error=made.failed,
        )

    async def list_resources(ctx: _Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        cursor = (params.cursor if params is not None else None) or "0"
        page = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 10 else -1
        if page < 0:
            raise _protocol_error(BadInput("not a cursor of this list", place="cursor"))
        found, following = await _asked(partial(resources.listed, engine, whose(ctx), page=page))
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=each.uri,
                    name=each.name,
                    title=each.title,
                    description=each.description,
                    mime_type="text/markdown",
                )
                for each in found
            ],
            next_cursor=None if following is None else str(following),
            ttl_ms=0,
            cache_scope="private",
        )

    async def list_templates(
        ctx: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=each.uri, name=each.name, title=each.title, description=each.description
                )
                for each in resources.templates(offering.bound(whose(ctx)))
            ],
            ttl_ms=0,
            cache_scope="private",
        )

    async def read_resource(ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        media, text = await _asked(partial(resources.read, engine, whose(ctx), params.uri))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=media, text=text)],
            ttl_ms=0,
            cache_scope="private",
        )

    async def list_prompts(ctx: _Context, _params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        bound = offering.bound(whose(ctx))
        who = types.PromptArgument(name="patient_id", description="The patient's id.", required=bound is None)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=each.name, title=each.title, description=each.description, arguments=[who])
                for each in prompts.PROMPTS
            ],
            ttl_ms=0,
            cache_scope="private",
        )

    async def get_prompt(ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        bound = offering.bound(whose(ctx))
        prompt, text = await _asked(partial(prompts.text, params.name, params.arguments or {}, bound=bound))
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=prompt.description, messages=[said])

    server: Server[Any] = Server(
        "iamata",
        version=version("iamata"),
        title="iamata: the memory of patients",
        instructions=prompts.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    server.middleware.clear()
    return server


def _by_mcp(ask: Callable[[], Answered]) -> Answered:
    """Ask, and let the audit log know that it came through this door."""
    origin = current()
    with came_through(DoorName.MCP, origin.request if origin else ""):
        return ask()


def _bearer(ctx: _Context) -> Access:
    """Who bears the token of this request, as the door of the app found; an operator is acted for by an agent."""
    scope = getattr(getattr(ctx, "request", None), "scope", None) or {}
    access = scope.get("state", {}).get("access")
    if not isinstance(access, Access):
        raise _protocol_error(Unauthenticated("a token is needed", reasons=("no-token",)))
    return agent_of(access, "mcp")


def _offered(access: Access) -> list[types.Tool]:
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=arguments.schema(tool.shape, bound=offering.bound(access)),
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=not tool.writes,
                destructive_hint=False,
                idempotent_hint=not tool.writes,
                open_world_hint=False,
            ),
        )
        for tool in offering.tools(access).values()
    ]


async def _asked(ask: Callable[[], Answered]) -> Answered:
    """What the engine says, or its error as one of the protocol."""
    try:
        return await anyio.to_thread.run_sync(partial(_by_mcp, ask))
    except Exception as error:
        raise _protocol_error(error) from None


def _protocol_error(error: Exception) -> MCPError:
    problem = offering.problem(error)
    code = types.INTERNAL_ERROR if problem["type"] == "INTERNAL" else types.INVALID_PARAMS
    return MCPError(code, problem["message"], problem)


async def serve_stdio(server: Server[Any]) -> None:
    """Speak over this process's standard input and output until the input ends."""
    _quiet()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class Streamable:
    """The server over HTTP: `app` answers requests while `running` is entered, once. Keeps nothing between requests.

    Holds no rule about who may come in: it is mounted behind a door that does.
    """

    def __init__(self, server: Server[Any], *, max_body_bytes: int) -> None:
        self._manager = StreamableHTTPSessionManager(
            app=server, json_response=True, stateless=True, max_request_body_size=max_body_bytes
        )
        self.app = StreamableHTTPASGIApp(self._manager)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        _quiet()
        async with self._manager.run():
            yield


def _quiet() -> None:
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)
