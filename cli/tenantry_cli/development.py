"""What `platform dev` does: publish, serve, watch, and never let a broken save take down what works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenantry_registry.errors import PlatformError
from tenantry_registry.links import ensure as ensure_links
from tenantry_registry.names import Name

from tenantry_cli import store as stores
from tenantry_cli.address import Address, bind
from tenantry_cli.author import AuthorsRunner
from tenantry_cli.calls import Calls
from tenantry_cli.folder import PluginFolder
from tenantry_cli.machine import Machine
from tenantry_cli.output import Terminal, short
from tenantry_cli.packing import installed
from tenantry_cli.publishing import Progress, counted, show_findings
from tenantry_cli.server import serving, stop_signal
from tenantry_cli.watch import changes


@asynccontextmanager
async def watching(
    folders: Sequence[PluginFolder], stop: asyncio.Event
) -> AsyncIterator[AsyncIterator[dict[Path, list[str]]]]:
    """Saves from now on: the watch stands when the block begins, so none is missed during the first publish."""
    source = changes([folder.path for folder in folders], stop)
    found: asyncio.Queue[dict[Path, list[str]] | None] = asyncio.Queue()

    async def collect() -> None:
        try:
            async for changed in source:
                found.put_nowait(changed)
        finally:
            found.put_nowait(None)

    async def saves() -> AsyncIterator[dict[Path, list[str]]]:
        while (changed := await found.get()) is not None:
            yield changed

    task = asyncio.create_task(collect())
    await asyncio.sleep(0)  # its first step sets the watch up
    try:
        yield saves()
    finally:
        stop.set()
        await task


def stamp(because: str) -> str:
    """The time, in front of a line that is written because of a save: when it is written, as of all lines around it."""
    return f"{time.strftime('%H:%M:%S')}  " if because else "  "


@dataclass
class Development:
    """One run of `platform dev`; the fields are its options."""

    folders: Sequence[PluginFolder]
    tenant: str
    store: str
    s3: str | None
    host: str
    port: int
    debug: bool
    signs_in: bool
    open_page: bool
    try_examples: bool
    as_json: bool
    terminal: Terminal
    broken: set[Name] = field(default_factory=set)  # what was saved last did not publish
    told: set[Name] = field(default_factory=set)  # whose authorization server was said to be replaced

    async def run(self) -> int:
        """Serve until Ctrl-C. Raises: PlatformError when nothing could be started."""
        stop = stop_signal()
        listener = bind(self.host, self.port)
        address = Address(listener.getsockname()[1])
        with listener, stores.opened(self.store, s3=self.s3, origin=address.origin) as objects:
            await ensure_links(objects)
            self.runner = AuthorsRunner(lambda python, environ: self.make_runner(objects, python, environ))
            for folder in self.folders:
                self.runner.adopt(Name(self.tenant, folder.plugin), folder)
            self.runner.warm()  # a worker imports the kit while this process imports the gateway
            self.calls = Calls(self.terminal)
            cache = stores.cache_of(self.store)
            self.machine = Machine(objects, self.runner, address, cache, log=self.calls, signs_in=self.signs_in)
            self.calls.tell = self.machine.tell
            try:
                app = await asyncio.to_thread(self.machine.app, page=True)  # the loop goes on starting the worker
                async with serving(app, listener), watching(self.folders, stop) as saves:
                    try:
                        await self.publish_all()
                        await self.ready()
                        async for changed in saves:
                            await asyncio.gather(*(self.again(path, files) for path, files in changed.items()))
                    finally:
                        self.machine.close()
            finally:
                await self.runner.aclose()
        return 0

    def make_runner(self, objects: Any, python: str, environ: Mapping[str, str]) -> Any:
        from tenantry_registry.process_runner import ProcessRunner

        return ProcessRunner(
            objects,
            folder=stores.cache_of(self.store),
            python=python or None,
            environ=environ,
            debug=self.debug,
            isolate="none",
            spare=True,
        )

    async def publish_all(self) -> None:
        """Publish every folder; one that does not publish is said so, and what it served before goes on."""
        for folder in self.folders:
            await self.publish(folder, "")

    async def publish(self, folder: PluginFolder, because: str) -> None:
        started = time.monotonic()
        name = Name(self.tenant, folder.plugin)
        try:
            with self.terminal.bar(name.plugin) if not because else nullcontext() as bar:
                progress = Progress(self.terminal, bar, verbose=False) if bar else lambda _: None
                brought = await installed(folder, cache=self.machine.cache, installing=self.installing(name, because))
                packages = brought.folder if brought else None
                self.runner.adopt(name, folder, packages)
                self.runner.warm()  # where nothing has changed since the last run, for the first save
                published = await self.machine.publish(folder, name, progress, packages)
        except PlatformError as error:
            await self.refused(name, error, because)
            return
        seconds = time.monotonic() - started
        if because and not published.changed and name not in self.broken:
            return
        self.broken.discard(name)
        reason = f"{because}: " if because else ""
        kept = "" if published.changed else ", kept"
        what = f"{reason}{short(published.digest)}  {counted(published)}{kept}"
        self.terminal.line(f"{stamp(because)}{name.plugin:<12} {what}   {seconds:.2f} s")
        show_findings(self.terminal, [f.to_dict() for f in published.report.findings])
        dotenv = folder.dotenv()
        for secret in published.manifest.secrets:
            if not dotenv.get(secret):
                self.terminal.line(f"  {'':<12} needs {secret}: write {secret}=… into {folder.path.name}/.env")
        self.say_who_signs_in(name, published.manifest.auth)

    def installing(self, name: Name, because: str) -> Callable[[str], None]:
        """Says that a plugin's dependencies are installed: seconds, or minutes, in which nothing else is to be seen."""
        return lambda file: self.terminal.line(f"{stamp(because)}{name.plugin:<12} installing what {file} names …")

    def say_who_signs_in(self, name: Name, auth: Mapping[str, Any] | None) -> None:
        """Once a plugin: that its own authorization server is replaced here, and how to have it."""
        from tenantry_gateway.standin import stands_in

        if self.signs_in and auth and stands_in(auth) and name not in self.told:
            self.told.add(name)
            self.terminal.line(f"  {'':<12} sign-in by test people, not by {auth['issuer']}; yours: --issuer real")

    async def refused(self, name: Name, error: PlatformError, because: str) -> None:
        """Say why nothing was published, and what is served instead."""
        from tenantry_publisher.publish import RulesBroken

        self.broken.add(name)
        serves = name in self.machine.served or await self.machine.adopt(name)
        self.machine.refuse(name, error)
        serving_on = f"{short(self.machine.served[name].manifest.digest)} goes on serving" if serves else "not served"
        self.terminal.line(f"{stamp(because)}{name.plugin:<12} not published; {serving_on}")
        if isinstance(error, RulesBroken):
            path = next((folder.path for folder in self.folders if folder.plugin == name.plugin), None)
            show_findings(self.terminal, [f.to_dict() for f in error.report.findings], path)
        else:
            self.terminal.refusal(error)

    async def ready(self) -> None:
        """Say where everything is."""
        served = [self.machine.served[name] for name in sorted(self.machine.served)]
        if self.try_examples:
            await self.try_all()
        if self.as_json:
            self.terminal.answer({"ready": True, "plugins": [s.to_dict() for s in served]}, compact=True)
            return
        self.terminal.line()
        if served:
            urls = self.machine.address
            self.terminal.table(
                ["plugin", "release", "path form", "host form"],
                [(str(s.name), short(s.manifest.digest), urls.mcp_url(s.name), urls.host_url(s.name)) for s in served],
            )
            self.terminal.line()
        self.terminal.line(f"Ready on {self.machine.address.origin}   (Ctrl-C stops)")
        if self.open_page:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, self.machine.address.origin)

    async def try_all(self) -> None:
        """Call each plugin's first example by the official client."""
        from tenantry_gateway.standin import stands_in

        from tenantry_cli.client import try_example
        from tenantry_cli.host.people import ADA
        from tenantry_cli.sign_in import token_of

        self.terminal.line()
        self.calls.quiet = True  # the answers are shown; that there were calls is no news
        for served in (self.machine.served[name] for name in sorted(self.machine.served)):
            url, here = self.machine.address.mcp_url(served.name), self.signs_in and stands_in(served.manifest.auth)
            for example in served.manifest.examples[:1]:
                try:
                    words = await try_example(url, example, token=await token_of(ADA.id, url) if here else "")
                except PlatformError as error:
                    self.terminal.refusal(error)
                else:
                    self.terminal.line(f"  {served.name.plugin:<12} {example['tool']}: {words}")
        self.calls.quiet = False

    async def again(self, path: Path, files: Sequence[str]) -> None:
        """Publish a folder whose files were saved."""
        because = files[0] if len(files) == 1 else f"{len(files)} files"
        try:
            folder = PluginFolder.open(path)
            await self.publish(folder, because)
        except PlatformError as error:
            self.terminal.line(f"{stamp(path.name)}{path.name:<12} not published; nothing changed")
            self.terminal.refusal(error)
            for known in self.folders:
                if known.path == path.resolve():
                    self.machine.refuse(Name(self.tenant, known.plugin), error)
