"""`platform releases`: what was published, newest first."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("releases")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@options.store
@options.as_json
def command(plugin: str, store: str | None, as_json: bool) -> None:
    """List the releases of TENANT/PLUGIN, newest first, and which of them is served."""
    import asyncio

    from tenantry_registry import names
    from tenantry_registry.registry import Registry

    from tenantry_cli import store as stores
    from tenantry_cli.output import Terminal, ago, short
    from tenantry_cli.settings import CliSettings

    name = names.parse(plugin)
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
