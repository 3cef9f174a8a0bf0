"""`platform doctor`: what this machine has."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("doctor")
@options.as_json
def command(as_json: bool) -> None:
    """Say what this machine has, and what each missing thing would be good for."""
    from tenantry_cli.output import Terminal
    from tenantry_cli.tools import look

    terminal = Terminal()
    tools = look()
    if as_json:
        terminal.answer([{"name": t.name, "found": t.found, "for": t.purpose, "cure": t.cure} for t in tools])
        return
    for tool in tools:
        terminal.step(tool.name, tool.found or "missing", tool.purpose, style="" if tool.found else "yellow")
        if not tool.found:
            terminal.step("", tool.cure)
