"""`platform releases`: what was published, newest first."""

from __future__ import annotations

from typing import Any

import click

from tenantry_cli import options


@click.command("releases")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@options.store
@options.to
@options.as_json
def command(plugin: str, store: str | None, to: str | None, as_json: bool) -> None:
    """List the releases of TENANT/PLUGIN, newest first, and which of them is served."""
    import asyncio

    from tenantry_registry import names
    from tenantry_registry.registry import Registry

    from tenantry_cli import store as stores
    from tenantry_cli.output import Terminal, ago, short
    from tenantry_cli.settings import CliSettings

    name = names.parse(plugin)
    if to:
        from tenantry_cli.control import Control

        shown = Control(to).get(f"/plugins/{name}")
        if as_json:
            Terminal().answer(shown["releases"])
            return
        Terminal().table(
            ["release", "current since", ""],
            [(short(r["digest"]), ago(r["at"]) if r["at"] else "", state_of(r)) for r in shown["releases"]],
        )
        return
    with stores.opened(store or CliSettings().store) as objects:
        registry = Registry(objects)
        history = asyncio.run(registry.history(name))
        pointer = asyncio.run(registry.current(name))
    current = pointer.current if pointer else None
    terminal = Terminal()
    if as_json:
        rows = [{"release": past.digest, "at": past.at, "current": past.digest == current} for past in history]
        terminal.answer(rows)
        return
    rows_shown = [(short(p.digest), ago(p.at), "live" if p.digest == current else "") for p in history]
    terminal.table(["release", "current since", ""], rows_shown)
    if len(history) > 1:
        terminal.next(f"platform rollback {name} {short(next(p.digest for p in history if p.digest != current))}")


def state_of(release: dict[str, Any]) -> str:
    """`live`, `preview`, `yanked` or nothing."""
    if release["current"]:
        return "live"
    return "yanked" if release["yanked"] else "preview" if release["preview_until"] else ""
