"""Servers that were not written with the kit: recognised by their class, turned into an ASGI app, hosted unchanged.

Nothing is imported here: the tenant's own `mcp` or `fastmcp` made the object and is asked to serve it. Its sessions are
turned off afterwards, but for calls that need one (sessions.py).
"""

import importlib
from dataclasses import dataclass
from typing import Any

MCP_PATH = "/mcp"
HOST = "127.0.0.1:8000"  # what the SDKs' own protection against DNS rebinding lets through by default

SDK = ("mcp.server.mcpserver.server", "MCPServer")
SDK_1 = ("mcp.server.fastmcp.server", "FastMCP")
LOW_LEVEL = ("mcp.server.lowlevel.server", "Server")
FASTMCP = ("fastmcp.server.server", "FastMCP")
UVICORN = ("uvicorn.server", "Server")


@dataclass(frozen=True)
class Hosted:
    """An ASGI app, the Host that it accepts and the paths where its MCP endpoint may be, likeliest first.

    `made`: whether the app was made here, of a server object, so that how it is served is the platform's to say."""

    app: Any
    host: str
    paths: tuple[str, ...]
    made: bool = True


def is_kit(value: Any) -> bool:
    """Whether it speaks the kit's protocol."""
    return hasattr(type(value), "__tenantry_call__")


def is_server(value: Any) -> bool:
    """Whether it is a server by its class; any callable may be an ASGI app, but that takes an entrypoint to say."""
    return is_kit(value) or any(_is(value, kind) for kind in (SDK, SDK_1, LOW_LEVEL, FASTMCP))


def app_of(value: Any) -> Any:
    """What a web server was about to serve; anything else is itself."""
    if _is(value, UVICORN):
        value = value.config.app
    if isinstance(value, str):  # uvicorn.run("module:app")
        module, _, name = value.partition(":")
        value = getattr(importlib.import_module(module), name)
    return value


def host(value: Any) -> Hosted | None:
    """Make an ASGI app of a server object, or None where it is none that is known."""
    if _is(value, SDK):
        return Hosted(value.streamable_http_app(), HOST, (MCP_PATH,))
    if _is(value, SDK_1):
        return Hosted(value.streamable_http_app(), _accepted(value.settings), (value.settings.streamable_http_path,))
    if _is(value, FASTMCP):
        return Hosted(value.http_app(path=MCP_PATH), HOST, (MCP_PATH,))
    if _is(value, LOW_LEVEL):
        if hasattr(value, "streamable_http_app"):
            return Hosted(value.streamable_http_app(), HOST, (MCP_PATH,))
        return Hosted(_Managed(value), HOST, (MCP_PATH,))
    if callable(value):
        paths = tuple(dict.fromkeys([*_routes(value), MCP_PATH, f"{MCP_PATH}/", "/"]))
        return Hosted(value, HOST, paths, made=False)
    return None


def _is(value: Any, kind: tuple[str, str]) -> bool:
    return any((base.__module__, base.__qualname__) == kind for base in type(value).__mro__)


def _accepted(settings: Any) -> str:
    security = getattr(settings, "transport_security", None)
    allowed = getattr(security, "allowed_hosts", None)
    return str(allowed[0]).replace(":*", ":8000") if allowed else HOST


def _routes(app: Any) -> list[str]:
    """The paths of an app's own routes that look like an MCP endpoint."""
    paths = [getattr(route, "path", "") for route in getattr(app, "routes", [])]
    return [path for path in paths if path.rstrip("/").endswith("mcp") and "{" not in path]


class _Managed:
    """`mcp` 1.x gives its low-level server no app: its session manager is one, once its task group runs."""

    def __init__(self, server: Any) -> None:
        module = importlib.import_module("mcp.server.streamable_http_manager")
        self.session_manager = module.StreamableHTTPSessionManager(app=server)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self.session_manager.handle_request(scope, receive, send)
            return
        await receive()
        async with self.session_manager.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
