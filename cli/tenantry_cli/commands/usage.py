"""`platform usage`: what a tenant's plugins did and used, by day and tool."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("usage")
@click.argument("tenant")
@click.option("--first", metavar="DAY", help="From this day, like 2026-11-01. [31 days ago]")
@click.option("--last", metavar="DAY", help="To this day. [today]")
@options.to
@options.as_json
def command(tenant: str, first: str | None, last: str | None, to: str | None, as_json: bool) -> None:
    """Show calls, errors, tools' time and bytes sent of TENANT, by day (UTC), plugin and tool."""
    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    rows, terminal = Control(to).get(f"/tenants/{tenant}/usage", first=first, last=last), Terminal()
    if as_json:
        terminal.answer(rows)
        return
    if not rows:
        terminal.line(f"{tenant} used nothing in that time.")
        return
    terminal.table(
        ["day", "plugin", "tool", "calls", "errors", "seconds", "sent"],
        [
            (
                row["day"],
                row["plugin"],
                row["tool"],
                f"{row['calls']:,}",
                f"{row['errors']:,}",
                f"{row['ms'] / 1000:,.1f}",
                f"{row['bytes'] / 1024:,.0f} KB",
            )
            for row in rows
        ],
    )
