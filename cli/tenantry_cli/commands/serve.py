"""`platform serve`: what is published, on this machine."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("serve")
@options.port
@options.store
@options.s3
@click.option("--trust-tenants", is_flag=True, help="Let tenants' code run side by side without bubblewrap.")
@options.as_json
def command(port: int | None, store: str | None, s3: str | None, trust_tenants: bool, as_json: bool) -> int:
    """Serve every plugin of the store until Ctrl-C. The same app as on AWS; nothing is watched.

    Releases published by `platform publish` meanwhile are served at once. With more than one tenant, their code is
    kept apart by bubblewrap; without it, serving is refused unless you trust the tenants and say so.
    """
    import asyncio

    from tenantry_cli.hosting import Hosting
    from tenantry_cli.output import Terminal
    from tenantry_cli.settings import CliSettings

    settings = CliSettings()
    hosting = Hosting(
        store=store or settings.store,
        s3=s3,
        host=settings.host,
        port=settings.port if port is None else port,
        trust_tenants=trust_tenants,
        as_json=as_json,
        terminal=Terminal.beside(as_json),
    )
    return asyncio.run(hosting.run())
