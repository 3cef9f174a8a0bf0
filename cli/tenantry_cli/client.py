"""The official MCP client, as `platform call`, the demo and `platform check URL` use it.

Python's resolver does not know *.localhost (RFC 6761 lets it not), so a transport of their own leads such hosts to
loopback and leaves the Host header as it was. All others are reached as httpx reaches them, HTTPS_PROXY included.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from tenantry_registry.errors import PlatformError

if TYPE_CHECKING:
    from mcp import Client

LOOPBACK = "127.0.0.1"
LOCAL = "all://*.localhost"
NOT_HERE = (404, 405)
ADDRESS = "Look at the address: it usually ends in /mcp, like http://localhost:8787/t/TENANT/PLUGIN/mcp."
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0  # a tool has 25; hosted elsewhere it may have more


class Loopback(httpx2.AsyncHTTPTransport):
    """Sends every request to this machine."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(host=LOOPBACK)
        return await super().handle_async_request(request)


def http_client(
    headers: Mapping[str, str] | None = None, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """An HTTP client that reaches *.localhost too, or what `transport` reaches."""
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=ANSWER_SECONDS)
    mounts = None if transport else {LOCAL: Loopback()}
    return httpx2.AsyncClient(transport=transport, mounts=mounts, timeout=timeout, headers=dict(headers or {}))


@asynccontextmanager
async def connect(
    url: str,
    *,
    mode: str = "auto",
    headers: Mapping[str, str] | None = None,
    transport: httpx2.AsyncBaseTransport | None = None,
    callbacks: Mapping[str, Any] | None = None,
) -> AsyncIterator[Client]:
    """The official client, connected. `mode`: auto, legacy, or a revision; `transport`: as `http_client`; `callbacks`:
    what answers a server's questions, by the client's own names.

    Raises: PlatformError `call.unreachable` (nobody answers), `call.not-mcp` (somebody does, but not MCP),
    `call.failed` (a protocol error).
    """
    import logging

    from mcp import Client, MCPError
    from mcp.client.streamable_http import streamable_http_client

    logging.getLogger("mcp").addHandler(logging.NullHandler())  # what it logs is raised, too
    connected, foreign = False, False

    async def look(response: httpx2.Response) -> None:
        nonlocal foreign
        kind = response.headers.get("content-type", "")
        foreign = response.status_code in NOT_HERE or not kind.startswith(("application/json", "text/event-stream"))

    try:
        async with http_client(headers, transport) as http:
            http.event_hooks = {"response": [look]}
            async with Client(streamable_http_client(url, http_client=http), mode=mode, **(callbacks or {})) as client:
                connected = True
                yield client
    except* PlatformError as group:  # of whoever uses the client: what they raise comes out of its task groups
        raise first(group) from None
    except* (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        raise PlatformError("call.unreachable", f"{url!r} is not an address.", "Write it as http(s)://...") from None
    except* httpx2.TransportError as group:
        said = str(first(group)) or type(first(group)).__name__
        raise PlatformError("call.unreachable", f"Nobody answers at {url}: {said}", "Is it being served?") from None
    except* httpx2.HTTPStatusError as group:
        status = first(group).response.status_code
        raise PlatformError("call.not-mcp", f"{url} answers {status}.", ADDRESS) from None
    except* MCPError as group:
        error = first(group)
        if foreign and not connected:
            raise PlatformError(
                "call.not-mcp", f"{url} is no MCP server: {error.message.rstrip('.')}.", ADDRESS
            ) from None
        raise PlatformError("call.failed", f"{url}: {error.message} ({error.code})", sign_in_hint(error.data)) from None


def sign_in_hint(data: Any) -> str:
    """What to do about a challenge of the platform's gateway, whose data say which OAuth error it is; else nothing."""
    if not isinstance(data, dict) or "error" not in data:
        return ""
    if data["error"] == "insufficient_scope":
        return "Sign in with it: --as WHO --scope SCOPE, for each that it needs."
    return "Sign in: with --as ada@people.example at `platform dev`, with --token elsewhere."


def first(group: BaseExceptionGroup[Any]) -> Any:
    """The first error inside a group, however deep."""
    error: Any = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def try_example(url: str, example: Mapping[str, Any], *, token: str = "") -> str:
    """Call an example of a plugin and give what it answers in a line of words; as whom, where a `token` says so.

    Raises: PlatformError as `connect`, and `call.tool-failed` when the tool says it failed.
    """
    async with connect(url, headers={"Authorization": f"Bearer {token}"} if token else None) as client:
        result = await client.call_tool(example["tool"], dict(example["arguments"]))
    words = " ".join(block.text for block in result.content if block.type == "text")
    if result.is_error:
        raise PlatformError("call.tool-failed", f"{example['tool']}: {words}", "Look at what the tool raised.")
    return " ".join(words.split())
