"""`platform tenants`: the customers of a platform, for its operator."""

from __future__ import annotations

from typing import Any

import click

from tenantry_cli import options


@click.group("tenants")
def command() -> None:
    """Create, list, suspend and delete tenants."""


@command.command("list")
@options.to
@options.as_json
def every(to: str | None, as_json: bool) -> None:
    """List all tenants, by name."""
    from tenantry_cli.control import Control
    from tenantry_cli.output import Terminal, ago

    control = Control(to)
    found: list[dict[str, Any]] = []
    while page := control.get("/tenants", after=found[-1]["slug"] if found else None):
        found += page
    terminal = Terminal()
    if as_json:
        terminal.answer(found)
        return
    if not found:
        terminal.line("There are no tenants yet.")
        terminal.next("platform tenants create NAME")
        return
    terminal.table(
        ["tenant", "title", "plan", "state", "created"],
        [(t["slug"], t["title"], t["plan"], t["state"], ago(t["created"])) for t in found],
    )


@command.command()
@click.argument("name")
@click.option("--title", default="", help="What people call it.")
@click.option("--plan", default="standard", show_default=True, help="free, standard or large.")
@options.to
@options.as_json
def create(name: str, title: str, plan: str, to: str | None, as_json: bool) -> None:
    """Create the tenant NAME. Names are never given twice."""
    _done(_control(to).post("/tenants", {"slug": name, "title": title, "plan": plan}), "created", as_json)


@command.command()
@click.argument("name")
@options.to
@options.as_json
def show(name: str, to: str | None, as_json: bool) -> None:
    """Show a tenant: its state, and what its plan allows."""
    from tenantry_cli.output import Terminal, ago

    tenant, terminal = _control(to).get(f"/tenants/{name}"), Terminal()
    if as_json:
        terminal.answer(tenant)
        return
    terminal.step("tenant", tenant["slug"], tenant["title"], style="bold")
    terminal.step("state", tenant["state"], f"created {ago(tenant['created'])}")
    terminal.step("plan", tenant["plan"])
    for limit, value in tenant["allows"].items():
        terminal.step("", f"{limit.replace('_', ' ')}: {measured(limit, value)}")
    for one in tenant["trust"]:
        claims = ", ".join(f"{name} = {value}" for name, value in one["claims"].items())
        terminal.step("trusts", f"{one['issuer']}  {claims}", ", ".join(one["scopes"]))


@command.command()
@click.argument("name")
@options.to
@options.as_json
def suspend(name: str, to: str | None, as_json: bool) -> None:
    """Serve none of its plugins until it is resumed."""
    _done(_control(to).post(f"/tenants/{name}/suspend"), "suspended", as_json, f"platform tenants resume {name}")


@command.command()
@click.argument("name")
@options.to
@options.as_json
def resume(name: str, to: str | None, as_json: bool) -> None:
    """Serve it again; within the grace period this takes a deletion back."""
    _done(_control(to).post(f"/tenants/{name}/resume"), "resumed", as_json, f"platform tenants show {name}")


@command.command()
@click.argument("name")
@click.option("--grace-days", type=float, default=30, show_default=True, help="Days to change your mind.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.to
@options.as_json
def delete(name: str, grace_days: float, yes: bool, to: str | None, as_json: bool) -> None:
    """Serve it no more, and let everything of it be erased after a grace period."""
    if not yes:
        click.confirm(f"Delete {name} and, after {grace_days:g} days, everything it owns?", abort=True)
    tenant = _control(to).delete(f"/tenants/{name}", {"grace_days": grace_days})
    _done(tenant, "deleted", as_json, f"platform tenants resume {name}   takes it back until its time has come")


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.to
def erase(name: str, yes: bool, to: str | None) -> None:
    """Erase a deleted tenant whose grace period is over: every object, every version. There is no way back."""
    from tenantry_cli.output import Terminal, many

    if not yes:
        click.confirm(f"Erase everything of {name} for good?", abort=True)
    erased = _control(to).post(f"/tenants/{name}/erase")
    Terminal().step("erased", name, many(erased["objects"], "object"), style="bold")


@command.command()
@click.argument("name")
@click.option("--issuer", help="The CI provider's issuer, https://...")
@click.option("--claim", "claims", multiple=True, metavar="NAME=VALUE", help="A claim that must hold; repeat it.")
@click.option("--scope", "scopes", multiple=True, default=["publish"], show_default=True, help="What it may do.")
@click.option("--none", "nobody", is_flag=True, help="Trust nobody any more.")
@options.to
@options.as_json
def trust(
    name: str,
    issuer: str | None,
    claims: tuple[str, ...],
    scopes: tuple[str, ...],
    nobody: bool,
    to: str | None,
    as_json: bool,
) -> None:
    """Let identities of a CI provider act for the tenant, without a stored token.

    For GitHub Actions: --issuer https://token.actions.githubusercontent.com --claim repository=acme/zoo
    """
    control = _control(to)
    identities = [] if nobody else control.get(f"/tenants/{name}")["trust"]
    if issuer:
        pairs = dict(claim.split("=", 1) for claim in claims if "=" in claim)
        identities.append({"issuer": issuer, "claims": pairs, "scopes": list(scopes)})
    _done(control.put(f"/tenants/{name}/trust", {"identities": identities}), "trusts", as_json)


def measured(limit: str, value: int) -> str:
    """A limit with its unit."""
    from tenantry_cli.output import many, size

    if limit.endswith("_bytes"):
        return size(value)
    unit = {"rate": "calls a minute", "flight": "calls at a time", "burst": "seconds' worth"}.get(limit.split("_")[-1])
    if limit.endswith("_days"):
        return many(value, "day")
    return f"{value:,} {unit}" if unit else f"{value:,}"


def _control(to: str | None) -> Any:
    from tenantry_cli.control import Control

    return Control(to)


def _done(tenant: dict[str, Any], word: str, as_json: bool, then: str = "") -> None:
    from tenantry_cli.output import Terminal

    terminal = Terminal()
    if as_json:
        terminal.answer(tenant)
        return
    terminal.step(word, tenant["slug"], tenant["plan"], style="bold")
    terminal.next(then or f"platform tokens issue {tenant['slug']}")
