"""What `platform serve` does: the gateway over a store, with tenants kept apart, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenantry_gateway.log import Log
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.runners import Call, Release, Runner

from tenantry_cli import store as stores
from tenantry_cli.address import Address, bind
from tenantry_cli.control_plane import PREFIX, Books, mounted, operator_token
from tenantry_cli.machine import Machine
from tenantry_cli.output import Terminal, short
from tenantry_cli.publishing import aimed_at, needs, show_needs
from tenantry_cli.server import serving, stop_signal

TIDY_SECONDS = 3600  # between two rounds of removing old files


@dataclass
class Hosting:
    """One run of `platform serve`; the fields are its options."""

    store: str
    s3: str | None
    host: str
    port: int
    trust_tenants: bool
    as_json: bool
    terminal: Terminal

    async def run(self) -> int:
        """Serve until Ctrl-C. Raises: PlatformError `serve.tenants-apart`, `serve.port-taken`; StorageDown."""
        from tenantry_registry.process_runner import ProcessRunner

        stop = stop_signal()
        listener = bind(self.host, self.port)
        address = Address(listener.getsockname()[1])
        with listener, stores.opened(self.store, s3=self.s3, origin=address.origin) as objects:
            names = await published(objects)
            processes = ProcessRunner(objects, folder=stores.cache_of(self.store))
            runner: Runner = processes
            if not processes.isolated and not self.trust_tenants:
                runner = OneTenant(processes, {name.tenant for name in names})
            books = Books.open(self.store, trusting=self.trust_tenants)
            machine = Machine(objects, runner, address, stores.cache_of(self.store), log=Log(books.logs), books=books)
            try:
                for name in names:
                    await machine.adopt(name)
                token = await operator_token(objects, self.store)
                app, publisher = mounted(
                    machine.app(page=False), objects, runner, books, origin=address.origin, base=address.base
                )
                async with serving(app, listener):
                    self.ready(machine, token)
                    for name, served in sorted(machine.served.items()):
                        missing = await needs(objects, served.manifest)
                        show_needs(self.terminal, name, missing, aimed_at(address.origin))
                    tidying = asyncio.create_task(tidy(objects))
                    await stop.wait()
                    tidying.cancel()
                await publisher.aclose()
            finally:
                await runner.aclose()
                books.close()
        return 0

    def ready(self, machine: Machine, token: Path) -> None:
        served = machine.served
        if self.as_json:
            self.terminal.answer(
                {
                    "ready": True,
                    "origin": machine.address.origin,
                    "plugins": [served[n].to_dict() for n in sorted(served)],
                },
                compact=True,
            )
            return
        if served:
            self.terminal.table(
                ["plugin", "release", "address"],
                [(str(n), short(served[n].manifest.digest), machine.address.mcp_url(n)) for n in sorted(served)],
            )
            self.terminal.line()
        else:
            self.terminal.line("Nothing is published yet: platform publish FOLDER")
        self.terminal.line(f"Ready on {machine.address.origin}   (Ctrl-C stops)")
        self.terminal.line(f"Control plane at {machine.address.origin}{PREFIX}/v1; the operator's token is in {token}")


async def published(objects: Objects) -> list[Name]:
    """Every plugin of the store."""
    names = []
    async for listed in objects.list("plugins/"):
        _, tenant, file = listed.key.split("/", 2)
        names.append(Name(tenant, file.removesuffix(".json")))
    return names


async def tidy(objects: Objects) -> None:
    """Every hour, remove files that their plan's days are over for: on S3 a lifecycle rule does it."""
    from tenantry_registry import files
    from tenantry_registry.plans import DEFAULT, plan
    from tenantry_registry.tenants import Tenants

    while True:
        for name in await published(objects):
            tenant = await Tenants(objects).find(name.tenant)
            days = (tenant.allows() if tenant else plan(DEFAULT)).file_days
            await files.expire(objects, name, days * 86_400)
        await asyncio.sleep(TIDY_SECONDS)


class OneTenant:
    """A runner that runs the code of one tenant, where nothing keeps two apart.

    Raises: PlatformError `serve.tenants-apart` for the second.
    """

    def __init__(self, runner: Runner, tenants: Set[str]) -> None:
        self._runner = runner
        self._tenant = ""
        for tenant in tenants:
            self._only(tenant)

    async def describe(self, release: Release) -> dict[str, Any]:
        self._only(release.name.tenant)
        return await self._runner.describe(release)

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        self._only(release.name.tenant)
        return await self._runner.call(release, call)

    async def aclose(self) -> None:
        await self._runner.aclose()

    def _only(self, tenant: str) -> None:
        self._tenant = self._tenant or tenant
        if tenant != self._tenant:
            raise PlatformError(
                "serve.tenants-apart",
                "There are plugins of more than one tenant, and nothing here keeps their code apart.",
                "Install bubblewrap, or say --trust-tenants if they may read each other's files.",
            )
