"""Publishing as the terminal shows it: steps as they are done, findings with their cure, what to do next."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.vendor import HOST

from tenantry_cli import environment, trace
from tenantry_cli import store as stores
from tenantry_cli.address import Address
from tenantry_cli.author import AuthorsRunner
from tenantry_cli.findings import cure, spot
from tenantry_cli.folder import PluginFolder
from tenantry_cli.output import Bar, Terminal, many, short
from tenantry_cli.packing import Packed, pack
from tenantry_cli.settings import CliSettings

if TYPE_CHECKING:
    from tenantry_publisher.publish import Examined, Published, Step

STEPS = ("read", "described", "checked", "compared", "stored", "released")
BESIDE = ("previewed", "unchanged", "warned")  # in place of one of them, or as well
WORDS = {"read": "packed", "warned": "warning"}


class Progress:
    """Hands the pipeline's steps to the terminal: `verbose`, a line each; otherwise to the bar alone."""

    def __init__(self, terminal: Terminal, bar: Bar, *, verbose: bool) -> None:
        self.terminal, self.bar, self.verbose = terminal, bar, verbose
        self.done = 0
        bar.at(0, len(STEPS), "packing")

    def resolving(self) -> None:
        """uv is asked for dependencies: seconds, or minutes the first time."""
        self.bar.at(0, None, "resolving dependencies")

    def __call__(self, step: Step) -> None:
        self.done += 1
        self.bar.at(min(self.done, len(STEPS)), len(STEPS), step.code)
        if self.verbose and step.code in (*STEPS, *BESIDE):
            aside = f"{step.seconds:.1f} s" if step.seconds >= 0.05 else ""
            self.terminal.step(WORDS.get(step.code, step.code), step.text, aside)


def counted(published: Published) -> str:
    """`4 tools, 1 widget`."""
    manifest = published.manifest
    parts = [many(len(manifest.tools), "tool")] if manifest.tools else []
    parts += [many(len(manifest.widgets), "widget")] if manifest.widgets else []
    return ", ".join(parts) or "answers of its own"


def show_findings(terminal: Terminal, findings: Iterable[Mapping[str, Any]], folder: Path | None = None) -> None:
    """Each finding where it is, and its cure: in the author's `folder`, where that is known."""
    for finding in findings:
        what = f"{finding['subject']}: {finding['message']}" if finding["subject"] else finding["message"]
        sentence, frames = trace.split(what)
        where = spot(finding["place"])
        terminal.finding(finding["severity"], finding["code"], sentence, where, cure(finding, folder), frames)


def show_change(terminal: Terminal, published: Published, plugin: str, where: str) -> None:
    """What was replaced, and how to go back."""
    if published.changed and published.previous:
        previous = short(published.previous)
        terminal.step("", f"was {previous}; go back with: platform rollback {plugin} {previous}{where}")


async def publish_folder(
    folder: PluginFolder, name: Name, store: str, terminal: Terminal, *, force: bool = False
) -> Published:
    """Pack a folder with its dependencies, describe it as it will run here, publish it, and show each step.

    Raises: as `tenantry_publisher.publish.publish`, and `vendor.*`.
    """
    from tenantry_publisher.publish import publish
    from tenantry_registry.process_runner import ProcessRunner

    cache = stores.cache_of(store)
    with stores.opened(store) as objects, terminal.bar(name.plugin) as bar:
        progress = Progress(terminal, bar, verbose=True)
        packed = await pack(folder, target=HOST, cache=cache, resolving=progress.resolving)
        show_packages(terminal, packed)
        runner = ProcessRunner(objects, folder=cache)
        try:
            published = await publish(
                objects=objects, runner=runner, name=name, bundle=packed.data, progress=progress, force=force,
                **folder.surroundings(),
            )  # fmt: skip
        finally:
            await runner.aclose()
        to = aimed_at(Address(CliSettings().port).origin)
        show_needs(terminal, name, await needs(objects, published.manifest), to)
        return published


async def needs(objects: Objects, manifest: Manifest) -> list[str]:
    """The secrets that a release requires and nobody has set. Raises: StorageDown."""
    from tenantry_registry.secrets import Drawer

    name = Name(manifest.tenant, manifest.plugin)
    there = await Drawer(objects, None).names(name) if manifest.secrets else []
    return [secret for secret in manifest.secrets if secret not in there]


def aimed_at(origin: str) -> str:
    """The option by which commands talk to this machine's control plane at `origin`; "" where they do anyway."""
    from tenantry_cli import credentials
    from tenantry_cli.control_plane import PREFIX

    settings = CliSettings()
    usual = not (settings.to or credentials.default()) and origin == Address(settings.port).origin
    return "" if usual else f" --to {origin}{PREFIX}"


def show_needs(terminal: Terminal, name: Name, secrets: Iterable[str], to: str = "") -> None:
    """What to set before the plugin is of use: tools that read one of these fail until then."""
    for secret in secrets:
        terminal.step("needs", f"{secret}: platform secrets set {name} {secret}{to}")


def show_packages(terminal: Terminal, packed: Packed) -> None:
    """How many dependencies came along, and what their author should know."""
    if packed.packages:
        shown = ", ".join(packed.packages[:4]) + (" …" if len(packed.packages) > 4 else "")
        terminal.step("vendored", many(len(packed.packages), "package"), shown)
    for notice in packed.notices:
        terminal.step("note", notice)


async def examine_folder(folder: PluginFolder, name: Name, terminal: Terminal) -> Examined:
    """Everything that publishing would say of a folder, without publishing it. Raises: as `examine`."""
    from tenantry_publisher.publish import examine

    from tenantry_cli.host.people import ADA

    with (
        tempfile.TemporaryDirectory(prefix="tenantry-") as store,
        stores.opened(store) as objects,
        terminal.bar("checking") as bar,
    ):
        progress = Progress(terminal, bar, verbose=False)
        packed, provided = await resolved(folder, stores.cache_of(CliSettings().store), terminal)
        async with authors_runner(objects, store, folder, name) as runner:
            return await examine(
                objects=objects,
                runner=runner,
                name=name,
                bundle=packed.data,
                progress=progress,
                examples=True,
                person={"sub": ADA.id, **ADA.claims()},
                provided=provided,
                **folder.surroundings(),
            )


UNRESOLVED = ("vendor.unreachable", "vendor.no-uv")  # says nothing about the requirements: this machine can't ask


async def resolved(folder: PluginFolder, cache: Path, terminal: Terminal) -> tuple[Packed, frozenset[str]]:
    """The bundle with its dependencies as publishing would resolve them; where there is no index to ask, without
    them, which is said, and the names that the author's own environment has for them.

    Raises: PlatformError `bundle.*`, `vendor.*`.
    """
    try:
        return await pack(folder, target=HOST, cache=cache), frozenset()
    except PlatformError as error:
        if error.code not in UNRESOLVED:
            raise
        terminal.step("note", f"The requirements were not resolved, so publishing may refuse them: {error.message}")
    return await pack(folder, target=None, cache=cache), environment.provided(folder)


@asynccontextmanager
async def authors_runner(
    objects: Objects, store: str, folder: PluginFolder, name: Name
) -> AsyncIterator[AuthorsRunner]:
    """A runner that runs this folder as its author would."""
    from tenantry_registry.process_runner import ProcessRunner

    cache = stores.cache_of(store)
    runner = AuthorsRunner(
        lambda python, environ: ProcessRunner(
            objects, folder=cache, python=python or None, isolate="none", environ=environ
        )
    )
    runner.adopt(name, folder)
    try:
        yield runner
    finally:
        await runner.aclose()
