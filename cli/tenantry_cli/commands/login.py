"""`platform login`: keep a token for a control plane."""

from __future__ import annotations

import click


@click.command("login")
@click.argument("url", required=False, metavar="[URL|STAGE]")
@click.option("--token", help="The token; asked for when it is left out. [TENANTRY_TOKEN]")
@click.option("--out", "logout", is_flag=True, help="Forget the token instead.")
def command(url: str | None, token: str | None, logout: bool) -> None:
    """Log in to the control plane at URL, and make it the one that commands talk to.

    URL may leave out the /api at its end. Without a terminal, the token is read from standard input. It is kept
    in the system's keyring, or in a file that only you can read.
    """
    from tenantry_registry.errors import PlatformError

    from tenantry_cli import credentials
    from tenantry_cli.control import Control, address, look
    from tenantry_cli.control_plane import PREFIX
    from tenantry_cli.output import Terminal, asked
    from tenantry_cli.settings import CliSettings

    place, terminal = address(url), Terminal()
    if logout:
        if credentials.find(place) is None and credentials.find(place + PREFIX):
            place += PREFIX
        terminal.step("logged out" if credentials.forget(place) else "not in", place)
        return
    look(place)  # before a token is asked for that would be of no use
    given = token or CliSettings().token or asked("Token").strip()
    if not given:
        raise PlatformError(
            "control.no-token",
            "No token was given.",
            "Type it when it is asked for, or give --token, TENANTRY_TOKEN, or a line of standard input.",
        )
    control = Control(place, token=given)
    who = control.get("/whoami")
    place = control.url  # what answered: the API may be below the address that was given
    kept = credentials.keep(place, given)
    terminal.step("logged in", place, style="bold")
    terminal.step("as", who["tenant"] or "operator", ", ".join(who["scopes"]))
    terminal.step("kept in", kept)
    use = f"usage {who['tenant']}" if who["scopes"] == ["read"] else f"publish FOLDER --to {place}"
    terminal.next(f"platform {use}" if who["tenant"] else "platform tenants create NAME")
