"""`platform tokens`: what people and programs log in with."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.group("tokens")
def command() -> None:
    """Issue, list and revoke tokens. Leave TENANT out for operators' own."""


@command.command()
@click.argument("tenant", required=False)
@click.option("--scope", "scopes", multiple=True, default=["publish"], show_default=True, help="read, publish, admin.")
@click.option("--label", default="", help="What it is for.")
@click.option("--days", type=float, help="Until it expires; never, without.")
@options.to
@options.as_json
def issue(
    tenant: str | None, scopes: tuple[str, ...], label: str, days: float | None, to: str | None, as_json: bool
) -> None:
    """Issue a token. It is shown this once."""
    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    control, terminal = Control(to), Terminal()
    body = {"scopes": list(scopes), "label": label, **({"days": days} if days else {})}
    token = control.post(f"/tenants/{tenant}/tokens" if tenant else "/tokens", body)
    if as_json:
        terminal.answer(token)
        return
    terminal.step("issued", token["id"], ", ".join(token["scopes"]))
    terminal.line()
    terminal.line(f"  {token['token']}")
    terminal.line()
    terminal.line("  It is shown this once. Whoever has it can use it.")
    if tenant:
        use = f"usage {tenant}" if set(token["scopes"]) == {"read"} else "publish FOLDER"
        terminal.next(f"TENANTRY_TOKEN=… platform {use} --to {control.url}")
    else:
        terminal.next(f"platform login {control.url}")


@command.command("list")
@click.argument("tenant", required=False)
@options.to
@options.as_json
def every(tenant: str | None, to: str | None, as_json: bool) -> None:
    """List tokens, without their values."""
    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal, ago

    tokens, terminal = Control(to).get(f"/tenants/{tenant}/tokens" if tenant else "/tokens"), Terminal()
    if as_json:
        terminal.answer(tokens)
        return
    terminal.table(
        ["id", "label", "scopes", "created", "expires"],
        [
            (t["id"], t["label"], ", ".join(t["scopes"]), ago(t["created"]), _when(t["expires"]))
            for t in sorted(tokens, key=lambda t: -float(t["created"]))
        ],
    )


@command.command()
@click.argument("token_id", metavar="ID")
@click.argument("tenant", required=False)
@options.to
def revoke(token_id: str, tenant: str | None, to: str | None) -> None:
    """End a token by its ID, at once."""
    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal

    Control(to).delete(f"/tenants/{tenant}/tokens/{token_id}" if tenant else f"/tokens/{token_id}")
    Terminal().step("revoked", token_id, style="bold")


def _when(expires: float | None) -> str:
    import time

    return "never" if expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(expires))
