"""`platform rollback`: serve an older release again."""

from __future__ import annotations

import click

from tenantry_cli import options


@click.command("rollback")
@click.argument("plugin", metavar="TENANT/PLUGIN")
@click.argument("digest", required=False)
@options.store
@options.here_or_there
def command(plugin: str, digest: str | None, store: str | None, to: str | None) -> None:
    """Serve the release again that was served before the current one, or the one whose digest begins with DIGEST.

    What is rolled away from is marked: a second rollback goes further back. It can still be named by its DIGEST.
    """
    import asyncio

    from tenantry_registry import names
    from tenantry_registry.errors import PlatformError
    from tenantry_registry.registry import Registry

    from tenantry_cli import store as stores
    from tenantry_cli.settings import CliSettings, control_plane

    name = names.parse(plugin)
    if to := control_plane(to, store):
        from tenantry_cli.control import Control

        control, plugin = Control(to), f"/plugins/{name}"
        before = control.get(plugin)["current"]
        path = f"{plugin}/releases/{digest}/promote" if digest else f"{plugin}/rollback"
        say(name, before, control.post(path)["current"], options.where(None, to))
        return

    async def roll_back() -> tuple[str | None, str]:
        with stores.opened(store or CliSettings().store) as objects:
            registry = Registry(objects)
            pointer = await registry.known(name)
            target = pointer.before
            if digest is not None:
                target = choose(name, [past.digest for past in pointer.history], digest, options.where(store))
            if target is None:
                raise PlatformError(
                    "rollback.nothing",
                    f"{name} has no earlier release to go back to.",
                    f"Name one by its digits; see: platform releases {name}{options.where(store)}",
                )
            await registry.point(name, target)
            return pointer.current, target

    was, now = asyncio.run(roll_back())
    say(name, was, now, options.where(store))


def say(name: object, was: str | None, now: str, where: str) -> None:
    """What is served from now on, and how to undo it."""
    from tenantry_cli.output import Terminal, short

    terminal = Terminal()
    terminal.step("live", f"{name} {short(now)}", style="bold")
    if was and was != now:
        terminal.step("", f"was {short(was)}; go back with: platform rollback {name} {short(was)}{where}")


def choose(name: object, history: list[str], prefix: str, where: str) -> str:
    """The digest that is meant. Raises: PlatformError `rollback.unknown`, `rollback.unclear`."""
    from tenantry_registry.errors import PlatformError

    found = [d for d in history if d.startswith(prefix.lower())]
    if not found:
        raise PlatformError(
            "rollback.unknown", f"No release of {name} begins with {prefix!r}.", f"See: platform releases {name}{where}"
        )
    if len(found) > 1:
        raise PlatformError(
            "rollback.unclear", f"{len(found)} releases of {name} begin with {prefix!r}.", "Give more digits."
        )
    return found[0]
