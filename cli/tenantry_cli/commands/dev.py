"""`platform dev`: the author's loop. Publish, serve, and publish again on every saved change."""

from __future__ import annotations

from pathlib import Path

import click

from tenantry_cli import options


@click.command("dev")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[FOLDER]...")
@options.port
@options.tenant
@options.store
@options.s3
@click.option("--debug", is_flag=True, help="Run tools where a breakpoint works; nothing is killed.")
@click.option(
    "--issuer",
    type=click.Choice(["test", "real"]),
    default="test",
    help="Who signs users in: test people of the page, or the plugin's own server. [test]",
)
@click.option("--open/--no-open", "open_page", default=True, help="Open the page in a browser. [on a terminal]")
@click.option("--url", metavar="URL", help="Show the page for an MCP server elsewhere, and publish nothing.")
@click.option("--try", "try_examples", is_flag=True, help="Call each plugin's first example and print the answers.")
@options.as_json
def command(
    folders: tuple[Path, ...],
    port: int | None,
    tenant: str | None,
    store: str | None,
    s3: str | None,
    debug: bool,
    issuer: str,
    open_page: bool,
    url: str | None,
    try_examples: bool,
    as_json: bool,
) -> int:
    """Publish FOLDERS (or all plugins inside one), serve them, and publish again when a file is saved.

    A release that does not publish changes nothing: the old one goes on serving, and the reason is shown. Tools run
    with the folder's own .venv or $VIRTUAL_ENV, and read its .env. A plugin with sign-in is signed in to by test
    people, whom the page and `platform call --as` offer.

    \b
    platform dev zoo
    platform dev zoo shop --port 9000
    platform dev --url https://example.com/mcp
    """
    import asyncio

    from tenantry_registry import names

    from tenantry_cli import folder
    from tenantry_cli.development import Development
    from tenantry_cli.output import Terminal
    from tenantry_cli.settings import CliSettings

    settings = CliSettings()
    terminal = Terminal.beside(as_json)
    if url:
        from tenantry_cli.elsewhere import Elsewhere

        shown = settings.port if port is None else port
        elsewhere = Elsewhere(url, settings.host, shown, open_page and terminal.interactive, as_json, terminal)
        return asyncio.run(elsewhere.run())
    development = Development(
        folders=folder.find(folders or (Path.cwd(),)),
        tenant=names.tenant(tenant or settings.tenant),
        store=store or settings.store,
        s3=s3,
        host=settings.host,
        port=settings.port if port is None else port,
        debug=debug,
        signs_in=issuer == "test",
        open_page=open_page and terminal.interactive,
        try_examples=try_examples,
        as_json=as_json,
        terminal=terminal,
    )
    return asyncio.run(development.run())
