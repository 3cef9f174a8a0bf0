"""Publishing to a control plane, as the terminal shows it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tenantry_registry import names
from tenantry_registry.errors import PlatformError
from tenantry_registry.vendor import HOST, LAMBDA

from tenantry_cli import options
from tenantry_cli import store as stores
from tenantry_cli.control import Control, Refused
from tenantry_cli.folder import PluginFolder
from tenantry_cli.output import Terminal, short
from tenantry_cli.packing import pack
from tenantry_cli.publishing import WORDS, show_findings, show_needs, show_packages
from tenantry_cli.settings import CliSettings

SHOWN = 10  # tenants, in a hint


def publish(
    folder: Path, *, tenant: str | None, to: str | None, as_json: bool, force: bool, preview_days: float | None = None
) -> int:
    """Pack `folder` and publish it there. Returns the exit code. Raises: PlatformError, of the publish too."""
    terminal = Terminal.beside(as_json)
    opened, control = PluginFolder.open(folder), Control(to)
    me = control.get("/whoami")
    name = names.Name(names.tenant(tenant or me["tenant"] or meant(control)), opened.plugin)
    target = LAMBDA if me["target"] == "lambda" else HOST
    there = options.where(None, to or control.url)

    def step(one: dict[str, Any]) -> None:
        aside = f"{one['seconds']:.1f} s" if one["seconds"] >= 0.05 else ""
        terminal.step(WORDS.get(one["code"], one["code"]), one["text"], aside)

    try:
        packed = asyncio.run(pack(opened, target=target, cache=stores.cache_of(CliSettings().store)))
        show_packages(terminal, packed)
        ended = control.publish(str(name), packed.data, force=force, preview_days=preview_days, step=step)
    except Refused as refused:
        show_findings(terminal, refused.findings, folder)
        raise
    result = ended["result"]
    url = str(control.get(f"/plugins/{name}")["mcp_url"])
    if preview_days is not None:
        url = f"{url.removesuffix('/mcp')}/v/{short(ended['digest'])}/mcp"
    show_findings(terminal, result["findings"])
    required = opened.required_secrets()
    known = [secret["name"] for secret in control.get(f"/plugins/{name}/secrets")] if required else []
    show_needs(terminal, name, sorted(required.difference(known)), there)
    if as_json:
        terminal.answer(
            {
                "tenant": name.tenant,
                "plugin": name.plugin,
                "release": ended["digest"],
                "control_plane": control.url,
                "mcp_url": url,
                "preview_until": ended["preview_until"],
                **result,
            }
        )
        return 0
    previous = result["previous"]
    if preview_days is not None:
        terminal.step("preview", url, f"for {preview_days:g} days", style="bold")
        terminal.next(f"platform publish {folder}{there}" + (f" --tenant {tenant}" if tenant else ""))
        return 0
    terminal.step("live", f"{name} {short(ended['digest'])}", style="bold")
    terminal.step("on", control.url)
    terminal.step("at", url)
    if previous and result["changed"]:
        terminal.step("", f"was {short(previous)}; go back with: platform rollback {name}{there}")
    return 0


def meant(control: Control) -> str:
    """The tenant that an operator means who names none: TENANTRY_TENANT, else the only one there is.

    Raises: PlatformError `publish.tenant`.
    """
    settings = CliSettings()
    if "tenant" in settings.model_fields_set:
        return settings.tenant
    there = [tenant["slug"] for tenant in control.get("/tenants")]
    if len(there) == 1:
        return str(there[0])
    hint = f"Give --tenant: {', '.join(there[:SHOWN])}." if there else "Make one: platform tenants create NAME"
    raise PlatformError("publish.tenant", f"{control.url} has {len(there)} tenants; whose plugin is this?", hint)
