"""`platform publish`: one folder, one release."""

from __future__ import annotations

from pathlib import Path

import click

from tenantry_cli import options


@click.command("publish")
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@options.tenant
@options.store
@click.option("--force", is_flag=True, help="Publish even where it breaks the submitted release.")
@options.here_or_there
@options.as_json
def command(folder: Path, tenant: str | None, store: str | None, force: bool, to: str | None, as_json: bool) -> int:
    """Publish FOLDER as a new release and serve it from now on: into a store on this machine, or `--to` a platform.

    What is served already goes on until the new release is complete; a failure anywhere changes nothing.
    """
    from tenantry_cli.settings import control_plane

    if to := control_plane(to, store):
        from tenantry_cli import remote

        return remote.publish(folder, tenant=tenant, to=to, as_json=as_json, force=force)
    import asyncio

    from tenantry_publisher.publish import RulesBroken
    from tenantry_registry import names

    from tenantry_cli.address import Address
    from tenantry_cli.folder import PluginFolder
    from tenantry_cli.output import Terminal
    from tenantry_cli.publishing import publish_folder, show_change, show_findings
    from tenantry_cli.settings import CliSettings

    settings = CliSettings()
    terminal, kept = Terminal.beside(as_json), store or settings.store
    opened = PluginFolder.open(folder)
    name = names.Name(names.tenant(tenant or settings.tenant), opened.plugin)
    try:
        published = asyncio.run(publish_folder(opened, name, kept, terminal, force=force))
    except RulesBroken as error:
        show_findings(terminal, [finding.to_dict() for finding in error.report.findings], folder)
        raise
    show_findings(terminal, [finding.to_dict() for finding in published.report.findings])
    if as_json:
        terminal.answer(
            {
                "tenant": name.tenant,
                "plugin": name.plugin,
                "release": published.digest,
                "previous": published.previous,
                "changed": published.changed,
                "store": kept,
                "mcp_url": Address(settings.port).mcp_url(name),
                "findings": [finding.to_dict() for finding in published.report.findings],
            }
        )
        return 0
    more = options.where(store)
    show_change(terminal, published, str(name), more)
    terminal.step("in", f"the store {kept} on this machine" if "://" not in kept else f"the store {kept}")
    terminal.step("at", Address(settings.port).mcp_url(name), "once it is served")
    terminal.next(f"platform serve{more}" if published.changed else f"platform releases {name}{more}")
    return 0
