"""`platform call`: one tool call by the official MCP client."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from tenantry_cli import options

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from tenantry_cli.answering import Answers

TOOL_FAILED = 1
MISSING_CAPABILITY = -32021  # MCP, 2026-07-28
ASKED_FOR = {"elicitation": "its user something", "sampling": "for the model's words", "roots": "for folders (roots)"}
SHOWN = 20  # tools of a server, in a hint
IN_DEV = "its traceback is in the terminal of platform dev, and in Tool logs of its page"
ERROR_ID = re.compile(r"\berror ([0-9a-f]{12})\b")
PATH = re.compile(r"/t/([a-z0-9]+)/([a-z0-9-]+)(?:/|$)")


@click.command("call")
@click.argument("url")
@click.argument("tool", required=False)
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--token", metavar="TOKEN", help="Bearer token to send.", envvar="TENANTRY_PLUGIN_TOKEN")
@click.option("--as", "who", metavar="WHO", help="Sign in as a test person of `platform dev`: an email or a subject.")
@click.option(
    "--scope", "scopes", multiple=True, metavar="SCOPE", help="With --as: what is granted. [all the plugin has]"
)
@click.option("--era", type=click.Choice(["auto", "2025", "2026"]), default="auto", help="Protocol era. [auto]")
@click.option(
    "--answer", "answers", multiple=True, metavar="ANSWER",
    help="What to answer when the tool asks, once for each question in turn: a form's fields in JSON, accept, decline "
    "or cancel; the model's words, or '' for none; folders, with commas between. [asked on the terminal]",
)  # fmt: skip
@options.as_json
def command(
    url: str,
    tool: str | None,
    arguments: str,
    token: str | None,
    who: str | None,
    scopes: tuple[str, ...],
    era: str,
    answers: tuple[str, ...],
    as_json: bool,
) -> int:
    """Call TOOL of the MCP server at URL with arguments in JSON; without TOOL, list the tools.

    \b
    platform call http://localhost:8787/t/dev/zoo/mcp get_zoo_animals '{"count": 3}'
    platform call http://localhost:8787/t/dev/zoo/mcp whoami --as ann@example.com --scope zoo.read
    platform call http://localhost:8787/t/dev/zoo/mcp close_zoo --answer '{"sure": true}' --answer 'Goodbye!'
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
    if scopes and not who:
        raise click.UsageError("--scope says what --as is granted: name somebody with --as.")

    async def signed_in() -> int:
        from tenantry_cli.answering import Answers, can_ask
        from tenantry_cli.sign_in import token_of

        bearer = await token_of(who, url, scopes) if who else token
        return await call(url, tool, given, bearer, era, Answers(answers, ask=can_ask()), as_json)

    try:
        return asyncio.run(signed_in())
    except asyncio.CancelledError:  # by Ctrl-C at a question
        raise KeyboardInterrupt from None


async def call(
    url: str,
    tool: str | None,
    arguments: dict[str, Any],
    token: str | None,
    era: str,
    answers: Answers,
    raw: bool,
) -> int:
    from mcp import MCPError
    from tenantry_registry.errors import PlatformError

    from tenantry_cli.client import connect, sign_in_hint
    from tenantry_cli.output import Terminal

    terminal = Terminal()
    mode = {"auto": "auto", "2025": "legacy", "2026": "2026-07-28"}[era]
    headers = {"Authorization": f"Bearer {token}"} if token else None
    async with connect(url, mode=mode, headers=headers, callbacks=answers.callbacks()) as client:
        if tool is None:
            tools = (await client.list_tools()).tools
            if raw:
                terminal.answer([t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools])
            else:
                terminal.table(["tool", "what it is for"], [(t.name, first_line(t.description)) for t in tools])
            return 0
        failed, known, result = None, [], None
        try:
            result = await client.call_tool(tool, arguments, progress_callback=None if raw else progressed)
        except MCPError as error:
            failed = error
        if answers.lacking:
            raise answers.lacking
        answers.tell_rest()
        if result is None or result.is_error:
            known = [one.name for one in (await client.list_tools()).tools]
    if known and tool not in known:
        raise PlatformError("call.unknown-tool", f"{url} has no tool {tool!r}.", meant(tool, known))
    if result is None:
        assert failed is not None
        hint = lacks(failed.data) if failed.code == MISSING_CAPABILITY else sign_in_hint(failed.data)
        raise PlatformError("call.failed", f"{url}: {failed.message} ({failed.code})", hint)
    if raw:
        terminal.answer(result.model_dump(mode="json", by_alias=True, exclude_none=True))
    else:
        show(result)
        if result.is_error and (told := logged(url, result)):
            Terminal.for_errors().next(IN_DEV if await developed(url) else told)
    return TOOL_FAILED if result.is_error else 0


async def progressed(progress: float, total: float | None, message: str | None) -> None:
    """How far a tool says that it is."""
    from tenantry_cli.output import Terminal

    far = f"{progress:g}" + (f" of {total:g}" if total is not None else "")
    Terminal.for_errors().step("progress", far, message or "")


def lacks(data: Any) -> str:
    """What a client would have to answer, and how this one can."""
    wanted = data.get("requiredCapabilities") if isinstance(data, dict) else None
    named = [words for name, words in ASKED_FOR.items() if isinstance(wanted, dict) and name in wanted]
    what = " and ".join(named) or ASKED_FOR["elicitation"]
    return f"The tool asks {what}: answer with --answer, or call from a terminal."


def meant(tool: str, known: list[str]) -> str:
    """The tools that are near to a name, or those that there are."""
    from difflib import get_close_matches

    close = get_close_matches(tool, known, 3)
    return f"Do you mean {' or '.join(close)}?" if close else f"It has {', '.join(known[:SHOWN])}."


def logged(url: str, result: CallToolResult) -> str:
    """The command that shows why a tool of ours failed; nothing for another server's, or a failure in plain words."""
    from urllib.parse import urlsplit

    from tenantry_registry.names import split_label

    words = " ".join(block.text for block in result.content if block.type == "text")
    found, place = ERROR_ID.search(words), urlsplit(url)
    path = PATH.match(place.path)
    name = "/".join(path.groups()) if path else split_label((place.hostname or "").partition(".")[0])
    return f"platform logs {name} --error-id {found[1]}" if found and name else ""


async def developed(url: str) -> bool:
    """Whether `platform dev` serves a URL: only its page answers there, and it has no control plane to ask for logs."""
    from urllib.parse import urlsplit

    import httpx2

    from tenantry_cli.client import http_client
    from tenantry_cli.control import LOCAL_HOSTS

    place = urlsplit(url)
    host = place.hostname or ""
    if host not in LOCAL_HOSTS and not host.endswith(".localhost"):
        return False
    try:
        async with http_client() as http:
            answer = await http.get(f"http://localhost:{place.port or 80}/_host/state")
            return answer.status_code == httpx2.codes.OK and "plugins" in answer.json()
    except (httpx2.TransportError, ValueError):
        return False


def parsed(text: str) -> Any:
    """JSON that a text is; None for any other."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def show(result: CallToolResult) -> None:
    """The words for the model, then the structured content, once where it is the words; a failure on standard error."""
    from tenantry_cli.output import Terminal

    terminal = Terminal.for_errors() if result.is_error else Terminal()
    for block in result.content:
        if block.type == "text":
            if result.structured_content is not None and parsed(block.text) == result.structured_content:
                continue  # servers repeat it as text, for hosts of before
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
