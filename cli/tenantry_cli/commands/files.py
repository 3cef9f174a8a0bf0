"""`platform files`: what a plugin's tools made."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.group("files")
def command() -> None:
    """List and revoke the files that a plugin's tools made."""


@command.command("list")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@options.to
@options.as_json
def every(plugin: str, to: str | None, as_json: bool) -> None:
    """List the files of TENANT/PLUGIN."""
    from tenantry_registry import names

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal, ago

    name, terminal = names.parse(plugin), Terminal()
    found = Control(to).get(f"/plugins/{name}/files")
    if as_json:
        terminal.answer(found)
        return
    if not found:
        terminal.line(f"{name} has no files.")
        return
    terminal.table(
        ["file", "name", "size", "made"],
        [(one["file_id"], one["name"], f"{one['size'] / 1024:,.0f} KB", ago(one["made"])) for one in found],
    )


@command.command()
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.argument("file_id", metavar="FILE")
@options.to
def revoke(plugin: str, file_id: str, to: str | None) -> None:
    """Remove FILE: every link to it is dead at once."""
    from tenantry_registry import names

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    name = names.parse(plugin)
    Control(to).delete(f"/plugins/{name}/files/{file_id}")
    Terminal().step("revoked", file_id, style="bold")
