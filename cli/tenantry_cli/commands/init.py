"""`platform init`: a new plugin, or a plugin.toml for a server that exists."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import click

KINDS = ("widget", "minimal", "react", "files", "oauth")  # scaffold.KINDS says what each is; a test compares


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--template", type=click.Choice(KINDS), default="widget", help="What to begin with. [widget]")
@click.option(
    "--from",
    "server",
    type=click.Path(path_type=Path),
    metavar="SERVER.PY",
    help="Write plugin.toml for this MCP server (official SDK, fastmcp, ASGI, or a script that runs one).",
)
def command(folder: Path | None, template: str, server: Path | None) -> None:
    """Write a working plugin into FOLDER, or the plugin.toml that hosts a server you have as it is.

    \b
    platform init zoo                    a tool and a widget
    platform init zoo --template react   a widget in React, built by Vite
    platform init --from server.py       your server, unchanged
    """
    from tenantry_registry.errors import PlatformError

    from tenantry_cli.output import Terminal

    terminal = Terminal()
    if server is not None:
        from tenantry_cli import adopt

        adopted = adopt.write(server, folder)
        terminal.step("written", str(adopted.folder / "plugin.toml"), style="bold")
        for note in adopted.notes:
            terminal.step("note", note)
        terminal.next(f"platform dev {quote(str(adopted.folder))}")
        return
    if folder is None:
        raise PlatformError("init.no-folder", "Say which folder to write.", "platform init FOLDER")
    from tenantry_cli import scaffold

    for path in scaffold.write(folder, template):
        terminal.step("written", str(path))
    kind, there = scaffold.KINDS[template], quote(str(folder))
    for step in (*kind.then, "platform dev {folder}", *kind.later):
        terminal.next(step.format(folder=there))
