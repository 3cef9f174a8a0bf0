"""`platform call`: one tool call by the official MCP client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tenantry_cli import options

if TYPE_CHECKING:
    from mcp_types import CallToolResult

TOOL_FAILED = 1


@click.command("call")
@click.argument("url")
@click.argument("tool", required=False)
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--token", metavar="TOKEN", help="Bearer token to send.", envvar="TENANTRY_PLUGIN_TOKEN")
@click.option("--era", type=click.Choice(["auto", "2025", "2026"]), default="auto", help="Protocol era. [auto]")
@options.as_json
def command(url: str, tool: str | None, arguments: str, token: str | None, era: str, as_json: bool) -> int:
    """Call TOOL of the MCP server at URL with arguments in JSON; without TOOL, list the tools.

    \b
    platform call http://localhost:8787/t/dev/zoo/mcp get_zoo_animals '{"count": 3}'
    """
    import asyncio

    from tenantry_registry.errors import PlatformError

    try:
        given = json.loads(arguments)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise PlatformError(
            "call.arguments", f"{arguments[:80]!r} is not a JSON object.", """Write it like '{"count": 3}'."""
        )
    return asyncio.run(call(url, tool, given, token, era, as_json))


async def call(url: str, tool: str | None, arguments: dict[str, Any], token: str | None, era: str, raw: bool) -> int:
    from tenantry_cli.client import connect
    from tenantry_cli.output import Terminal

    terminal = Terminal()
    mode = {"auto": "auto", "2025": "legacy", "2026": "2026-07-28"}[era]
    headers = {"Authorization": f"Bearer {token}"} if token else None
    async with connect(url, mode=mode, headers=headers) as client:
        if tool is None:
            tools = (await client.list_tools()).tools
            if raw:
                terminal.answer([t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools])
            else:
                terminal.table(["tool", "what it is for"], [(t.name, first_line(t.description)) for t in tools])
            return 0
        result = await client.call_tool(tool, arguments)
    if raw:
        terminal.answer(result.model_dump(mode="json", by_alias=True, exclude_none=True))
    else:
        show(result)
    return TOOL_FAILED if result.is_error else 0


def show(result: CallToolResult) -> None:
    """The words for the model, then the structured content; a failure on standard error."""
    from tenantry_cli.output import Terminal

    terminal = Terminal.for_errors() if result.is_error else Terminal()
    for block in result.content:
        if block.type == "text":
            terminal.line(block.text)
        elif block.type == "resource_link":
            terminal.step("link", f"{block.name}  {block.uri}")
        elif block.type in ("image", "audio"):
            terminal.step(block.type, f"{block.mime_type}, {len(block.data) * 3 // 4} bytes")
        else:
            terminal.step(block.type, str(getattr(getattr(block, "resource", None), "uri", "")))
    if result.structured_content is not None:
        terminal.answer(result.structured_content)


def first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
