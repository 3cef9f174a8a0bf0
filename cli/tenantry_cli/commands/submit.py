"""`platform submit`: everything that the directory's form asks for, written into a folder."""

from __future__ import annotations

from pathlib import Path

import click

from tenantry_cli import options


@click.command("submit")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write it. [submission/PLUGIN-TENANT]")
@click.option("--page", metavar="URL", help="A running `platform dev`, to take pictures of the examples with widgets.")
@options.store
@options.here_or_there
@options.as_json
def command(plugin: str, out: Path | None, page: str | None, store: str | None, to: str | None, as_json: bool) -> int:
    """Write the submission package of TENANT/PLUGIN: metadata, tools with the reasons of their hints, test prompts,
    how to verify the domain, pictures, and a checklist of what is still missing.

    When the directory has scanned it, mark that release: platform releases submit TENANT/PLUGIN DIGEST
    """
    import asyncio

    from tenantry_registry import names

    from tenantry_cli.output import Terminal, many
    from tenantry_cli.submitting import find, package

    name, terminal = names.parse(plugin), Terminal.beside(as_json)
    found = find(name, store=store, to=to)
    folder = out or Path("submission") / name.label
    made = asyncio.run(package(found, page=page, kept=folder / "screenshots", progress=terminal))
    for path, data in made.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    if as_json:
        terminal.answer(
            {"folder": str(folder), "files": sorted(made.files), "missing": [item.text for item in made.missing]}
        )
        return 0
    terminal.step("wrote", f"{many(len(made.files), 'file')} to {folder}", style="bold")
    for item in made.checklist:
        terminal.step("done" if item.done else "missing", item.text, "" if item.done else item.cure)
    if not made.missing:
        terminal.next(
            f"platform releases submit {name} {found.manifest.digest[:12]}   when the directory has scanned it"
        )
    return 0
