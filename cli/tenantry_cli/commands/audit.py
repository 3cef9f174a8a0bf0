"""`platform audit`: who changed what, when and from where."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("audit")
@click.argument("tenant")
@click.option("--day", default="", metavar="DAY", help="Of one day, month or year: 2026/11/30, 2026/11, 2026.")
@options.to
@options.as_json
def command(tenant: str, day: str, to: str | None, as_json: bool) -> None:
    """Show every change of TENANT and its plugins, oldest first."""
    import time

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    entries, terminal = Control(to).get(f"/tenants/{tenant}/audit", day=day or None), Terminal()
    if as_json:
        terminal.answer(entries)
        return
    terminal.table(
        ["when", "who", "from", "what", "to"],
        [
            (
                time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry["at"])),
                entry["who"],
                entry["source"],
                entry["action"],
                entry["target"],
            )
            for entry in entries
        ],
    )
