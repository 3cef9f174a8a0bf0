"""`platform challenge`: prove to ChatGPT that a plugin's host is yours."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("challenge")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.argument("token", required=False, default="")
@options.to
def command(plugin: str, token: str, to: str | None) -> None:
    """Serve TOKEN at /.well-known/openai-apps-challenge of the plugin's own host; without TOKEN, remove it."""
    from tenantry_registry import names

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    name = names.parse(plugin)
    Control(to).put(f"/plugins/{name}/challenge", {"token": token})
    Terminal().step("served" if token else "removed", f"the challenge of {name}", style="bold")
