"""`platform releases`: what was published, newest first; and what can be said of a release."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import click

from tenantry_cli import options

PLUGIN = click.argument("plugin", metavar="TENANT/PLUGIN")
DIGEST = click.argument("digest")


class Listing(click.Group):
    """A group that lists when it is given a plugin instead of a verb."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [arg for arg in args if not arg.startswith("-")]
        if words and words[0] not in self.commands:
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("releases", cls=Listing)
def command() -> None:
    """List the releases of TENANT/PLUGIN, newest first: platform releases TENANT/PLUGIN

    Or mark one as submitted, or take one back for good.
    """


@command.command("list")
@PLUGIN
@options.store
@options.here_or_there
@options.as_json
def every(plugin: str, store: str | None, to: str | None, as_json: bool) -> None:
    """List the releases, newest first, and which of them is served."""
    from tenantry_registry import names

    from tenantry_cli.output import Terminal, ago, short
    from tenantry_cli.settings import control_plane

    name, terminal = names.parse(plugin), Terminal()
    to = control_plane(to, store)
    rows = _remote(str(name), to) if to else _local(name, store)
    if as_json:
        terminal.answer(rows)
        return
    terminal.table(
        ["release", "version", "became live", ""],
        [(short(r["release"]), r["version"] or "", ago(r["at"]) if r["at"] else "", state_of(r)) for r in rows],
    )
    before = [r["release"] for r in rows if r["at"] and not (r["current"] or r["yanked"] or r["rolled_back"])]
    if before:
        terminal.next(f"platform rollback {name} {short(before[0])}{options.where(store, to)}")


@command.command()
@PLUGIN
@DIGEST
@options.store
@options.here_or_there
def submit(plugin: str, digest: str, store: str | None, to: str | None) -> None:
    """Mark DIGEST as the release that the directory has scanned: later ones are compared with it."""
    from tenantry_registry import names

    name = names.parse(plugin)
    _say("submitted", name, digest, store, to, "submit", lambda registry, found: registry.submit(name, found))


@command.command("yank")
@PLUGIN
@DIGEST
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.store
@options.here_or_there
def take_back(plugin: str, digest: str, yes: bool, store: str | None, to: str | None) -> None:
    """Serve DIGEST nowhere, for good. Where it is current, nothing is served until another one is."""
    from tenantry_registry import names

    name = names.parse(plugin)
    if not yes:
        click.confirm(f"Serve {digest} of {name} nowhere, for good?", abort=True)
    _say("yanked", name, digest, store, to, "yank", lambda registry, found: registry.yank(name, found))


def state_of(release: dict[str, Any]) -> str:
    """`live`, `preview`, `yanked`, `rolled back`, `submitted`, or nothing."""
    words = [
        word
        for word, is_so in (
            ("live", release["current"]),
            ("preview", release["preview_until"]),
            ("yanked", release["yanked"]),
            ("rolled back", release["rolled_back"]),
            ("submitted", release["submitted"]),
        )
        if is_so
    ]
    return ", ".join(words)


def _remote(name: str, to: str) -> list[dict[str, Any]]:
    from tenantry_cli.control import Control

    shown = Control(to).get(f"/plugins/{name}")
    return [
        {"release": r.pop("digest"), **r, "submitted": r_digest == shown["submitted"]}
        for r in shown["releases"]
        for r_digest in [r["digest"]]
    ]


def _local(name: Any, store: str | None) -> list[dict[str, Any]]:
    import asyncio

    from tenantry_registry.registry import Registry

    from tenantry_cli import store as stores
    from tenantry_cli.settings import CliSettings

    async def read() -> list[dict[str, Any]]:
        with stores.opened(store or CliSettings().store) as objects:
            registry = Registry(objects)
            pointer = await registry.known(name)
            versions = await registry.versions(name, pointer.known)
        at = {past.digest: past.at for past in pointer.history}
        return [
            {
                "release": digest,
                "version": versions.get(digest),
                "at": at.get(digest),
                "current": digest == pointer.current,
                "preview_until": pointer.previews.get(digest),
                "yanked": digest in pointer.yanked,
                "rolled_back": digest in pointer.left,
                "submitted": digest == pointer.submitted,
            }
            for digest in pointer.known
        ]

    return asyncio.run(read())


def _say(
    word: str,
    name: Any,
    digits: str,
    store: str | None,
    to: str | None,
    verb: str,
    local: Callable[[Any, str], Awaitable[None]],
) -> None:
    """Do `verb` to the release that `digits` mean, there or here."""
    import asyncio

    from tenantry_registry.registry import Registry

    from tenantry_cli import store as stores
    from tenantry_cli.commands.rollback import choose
    from tenantry_cli.output import Terminal, short
    from tenantry_cli.settings import CliSettings, control_plane

    if to := control_plane(to, store):
        from tenantry_cli.control import Control

        Control(to).post(f"/plugins/{name}/releases/{digits}/{verb}")
        Terminal().step(word, f"{name} {short(digits)}", style="bold")
        return

    async def do() -> str:
        with stores.opened(store or CliSettings().store) as objects:
            registry = Registry(objects)
            pointer = await registry.known(name)
            known = [past.digest for past in pointer.history]
            found = choose(name, [*known, *pointer.previews], digits, options.where(store))
            await local(registry, found)
            return found

    Terminal().step(word, f"{name} {short(asyncio.run(do()))}", style="bold")
