"""The generated parts of the documents: each page calls one function here by cog (`make docs`), and a test compares.

Whatever the code knows stands in the pages as the code says it: commands, settings, plans, plugin.toml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any

import click

WIDTH = 100  # columns of a command's help
ROOMS = {
    "The command line": "tenantry_cli.settings:CliSettings",
    "The gateway": "tenantry_gateway.settings:GatewaySettings",
    "The control plane": "tenantry_control.settings:ControlSettings",
    "The publisher": "tenantry_publisher.settings:PublisherSettings",
}
EVERYWHERE = {  # settings that mean the same in every room that has them
    "mode": "`development` relaxes what only matters in public: https, and addresses of this machine",
    "region": "AWS region of the store and the tables",
    "scheme": "how plugins' own addresses begin",
}


def commands() -> str:
    """Every command with its help, in the order of `platform --help`."""
    from tenantry_cli.main import platform

    return "\n".join(_command(platform, "platform", None))


def _command(command: click.Command, path: str, parent: click.Context | None) -> Iterator[str]:
    wide: dict[str, Any] = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    with command.make_context(path, [], parent, resilient_parsing=True, **wide) as context:
        yield f"\n## {context.command_path}\n\n```text\n{command.get_help(context)}\n```"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                yield from _command(below, name, context)


def settings() -> str:
    """Every room's settings class as a table."""
    return "\n".join(line for room, place in ROOMS.items() for line in _settings(room, place))


def _settings(room: str, place: str) -> Iterator[str]:
    module, _, name = place.partition(":")
    described = getattr(import_module(module), name)
    prefix = described.model_config.get("env_prefix", "")
    yield f"\n## {room}\n\n| variable | default | what it is |\n|---|---|---|"
    for key, field in described.model_fields.items():
        default = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
        what = (field.description or EVERYWHERE[key]).replace("|", "/")
        yield f"| `{(prefix + key).upper()}` | `{default}` | {what} |"


def plans() -> str:
    """What each plan allows, a column each."""
    from tenantry_registry.plans import PLANS, Plan

    from tenantry_cli.commands.tenants import measured

    head = f"| limit | {' | '.join(PLANS)} |\n|---|{'---|' * len(PLANS)}"
    rows = (
        f"| {one.name.replace('_', ' ')} | "
        + " | ".join(measured(one.name, getattr(plan, one.name)) for plan in PLANS.values())
        + " |"
        for one in fields(Plan)
    )
    return "\n".join(["", head, *rows, ""])


def plugin_toml() -> str:
    """The annotated example."""
    from tenantry_registry.config import example

    return f"\n```toml\n{example().rstrip()}\n```\n"
