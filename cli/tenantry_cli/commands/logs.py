"""`platform logs`: what a plugin's calls did, one line each."""

from __future__ import annotations

from typing import Any

import click

from tenantry_cli import options

PAUSE = 1.0  # seconds between two looks


@click.command("logs")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.option("--follow", "-f", is_flag=True, help="Go on until Ctrl-C.")
@click.option(
    "--error-id",
    metavar="ID",
    help="The call that answered with this error id, with the frames of its traceback that are the plugin's own.",
)
@click.option("--session", metavar="ID", help="One conversation's calls.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="How many lines.")
@options.to
@options.as_json
def command(
    plugin: str, follow: bool, error_id: str | None, session: str | None, limit: int, to: str | None, as_json: bool
) -> None:
    """Show the log of TENANT/PLUGIN, oldest line first. With --json, one JSON object a line."""
    import time

    from tenantry_registry import names

    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    name, control, terminal = names.parse(plugin), Control(to), Terminal()
    after, shown = 0.0, 0
    while True:
        page = control.get(
            f"/plugins/{name}/logs", after=after, error_id=error_id or None, session=session or None, limit=limit
        )
        for line in page["lines"]:
            if as_json:
                terminal.answer(line, compact=True)
            else:
                show(terminal, line, whole=error_id is not None)
        if not (shown or page["lines"]):
            control.get(f"/plugins/{name}")  # refuses a name that is no plugin's, before it is followed for ever
        after, shown = page["next"], shown + len(page["lines"])
        if not follow:
            break
        time.sleep(PAUSE)
    if not shown and not as_json:
        asked = [f"error id {error_id}"] * bool(error_id) + [f"session {session}"] * bool(session)
        terminal.line(
            f"No line of {name} in the log has the {' and the '.join(asked)}."
            if asked
            else f"Nothing of {name} is in the log."
        )


def show(terminal: Any, line: dict[str, Any], *, whole: bool) -> None:
    """One call; `whole` with what it printed and how it failed: the author's frames, where there are any."""
    import time

    from rich.text import Text

    from tenantry_cli import trace

    bad = "code" in line or line["event"] == "fault"
    moment = time.strftime("%H:%M:%S", time.localtime(line["time"]))
    text = Text(f"  {moment}  ", style="dim").append(f"{line.get('method', line['event']):<16}")
    text.append(f"{line.get('tool', ''):<24}", style="bold").append(f"{line.get('ms', 0):>8.1f} ms", style="dim")
    if bad:
        text.append(f"  {line.get('code', '')}", style="red")
    if line.get("error_id"):
        text.append(f"  {line['error_id']}", style="dim")
    terminal.line(text)
    for key in ("stdout", "stderr", "traceback"):
        if line.get(key) and (whole or key != "traceback"):
            written = str(line[key]).rstrip()
            for told in (key == "traceback" and trace.own_frames(written)) or written.splitlines():
                terminal.line(Text(f"            {told}", style="dim"))
