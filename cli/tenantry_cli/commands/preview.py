"""`platform preview`: a release at an address of its own, without serving it to everybody."""

from __future__ import annotations

from pathlib import Path

import click

from tenantry_cli import options


@click.command("preview")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option(
    "--days", type=click.FloatRange(0, 30, min_open=True), default=7, show_default=True, help="Until it ends."
)
@options.tenant
@options.to
@options.as_json
def command(folder: Path, days: float, tenant: str | None, to: str | None, as_json: bool) -> int:
    """Publish FOLDER as a preview: served at its own address until it expires; what is live stays live.

    A preview starts with empty ctx.state and ctx.shared of its own, and gets the secrets that were set for previews.
    """
    from tenantry_cli.remote import publish

    return publish(folder, tenant=tenant, to=to, as_json=as_json, force=False, preview_days=days)
