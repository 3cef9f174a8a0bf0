"""`platform secrets`: what a plugin must know and nobody else may."""

from __future__ import annotations

from typing import IO

import click

from tenantry_cli import options


@click.group("secrets")
def command() -> None:
    """Set, list and remove a plugin's secrets. Nothing can read one back but the plugin's own sandbox."""


@command.command("set")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.argument("name")
@click.option("--previews", is_flag=True, help="Previews get it, too: they may be anybody's draft.")
@click.option("--from-file", type=click.File("r"), help="Read the value from a file; - is standard input.")
@options.to
def put(plugin: str, name: str, previews: bool, from_file: IO[str] | None, to: str | None) -> None:
    """Set NAME. The value is asked for, or read from a file: arguments end up in a shell's history.

    Without a terminal, the value is a line of standard input.
    """
    from tenantry_registry import names
    from tenantry_registry.errors import PlatformError

    from tenantry_cli.control import Control, Refused
    from tenantry_cli.output import Terminal, asked

    full, control, terminal = names.parse(plugin), Control(to), Terminal()
    control.get(f"/plugins/{full}/secrets")  # before a value is asked for that would be refused
    value = from_file.read().removesuffix("\n") if from_file else asked("Value")
    if not value:
        raise PlatformError(
            "secret.value", "The value is empty.", "Type it when it is asked for, or give it by --from-file or a pipe."
        )
    control.put(f"/plugins/{full}/secrets/{name}", {"value": value, "previews": previews})
    terminal.step("set", name, f"for {full}", style="bold")
    try:
        control.get(f"/plugins/{full}")
    except Refused as refused:
        if refused.code != "registry.unknown":
            raise
        terminal.step("note", f"There is no plugin {full} yet: it gets this when it is published.")


@command.command("list")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@options.to
@options.as_json
def every(plugin: str, to: str | None, as_json: bool) -> None:
    """List the names of a plugin's secrets."""
    from tenantry_registry import names

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    full, terminal = names.parse(plugin), Terminal()
    found = Control(to).get(f"/plugins/{full}/secrets")
    if as_json:
        terminal.answer([one["name"] for one in found])
        return
    for one in found:
        terminal.line(f"  {one['name']}")
    if not found:
        terminal.line(f"{full} has no secrets.")
        terminal.next(f"platform secrets set {full} NAME")


@command.command()
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.argument("name")
@options.to
def delete(plugin: str, name: str, to: str | None) -> None:
    """Remove NAME, its older values too."""
    from tenantry_registry import names
    from tenantry_registry.errors import PlatformError

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    full, control = names.parse(plugin), Control(to)
    there = [one["name"] for one in control.get(f"/plugins/{full}/secrets")]
    control.delete(f"/plugins/{full}/secrets/{name}")  # also where none is listed: an older value may be left
    if name not in there:
        raise PlatformError("secret.unknown", f"{full} has no secret {name}.", f"See: platform secrets list {full}")
    Terminal().step("removed", name, f"from {full}", style="bold")
