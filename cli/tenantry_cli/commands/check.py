"""`platform check`: what would be refused, before it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tenantry_cli import options

if TYPE_CHECKING:
    from tenantry_registry.report import Report

BROKEN = 1


@click.command("check")
@click.argument("what", metavar="[FOLDER|URL]", default=".")
@options.tenant
@click.option("--token", metavar="TOKEN", help="Bearer token to send to URL.", envvar="TENANTRY_PLUGIN_TOKEN")
@options.as_json
def command(what: str, tenant: str | None, token: str | None, as_json: bool) -> int:
    """Say what ChatGPT, or publishing, would refuse: of a plugin's FOLDER, or of the MCP server at URL.

    A folder's code is described as it will run and its examples are called; nothing is published, and nothing but a
    URL and the index of the requirements is asked. The exit code is 1 when there is an error.
    """
    import asyncio

    from tenantry_cli.output import Terminal
    from tenantry_cli.settings import CliSettings

    terminal = Terminal.beside(as_json)
    if what.startswith(("http://", "https://")):
        from tenantry_cli.endpoint import examine

        report = asyncio.run(examine(what, token))
    else:
        from tenantry_registry import names

        from tenantry_cli.folder import PluginFolder
        from tenantry_cli.publishing import examine_folder

        folder = PluginFolder.open(Path(what))
        name = names.Name(names.tenant(tenant or CliSettings().tenant), folder.plugin)
        report = asyncio.run(examine_folder(folder, name, terminal)).report
    if as_json:
        terminal.answer(told(report))
    else:
        show(report, terminal, what)
    return BROKEN if report.errors else 0


def told(report: Report) -> dict[str, Any]:
    """The report as JSON; of a traceback, the author's own frames."""
    from tenantry_cli import trace

    answer = report.to_dict()
    for finding in answer["findings"]:
        sentence, frames = trace.split(finding["message"])
        finding["message"] = "\n".join([sentence, *frames])
    return answer


def show(report: Report, terminal: object, what: str) -> None:
    """The sizes, the findings, and the count of them."""
    from tenantry_cli.output import Terminal, many, size
    from tenantry_cli.publishing import show_findings

    assert isinstance(terminal, Terminal)
    name = report.name.rpartition("/")[2] or what
    sizes = [many(report.tools, "tool"), many(report.widgets, "widget")] + (
        [size(report.bytes)] if report.bytes else []
    )
    terminal.line(f"{name}  {'  '.join(sizes)}")
    show_findings(terminal, [finding.to_dict() for finding in report.findings], Path(what))
    terminal.line(f"{many(len(report.errors), 'error')}, {many(len(report.warnings), 'warning')}")
