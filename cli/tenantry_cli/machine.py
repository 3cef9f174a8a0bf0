"""Everything that serves on this machine, composed once: store, runner, gateway, and the page that plays ChatGPT.

`platform dev` and `platform serve` are the same create_app as Lambda, with local twins behind the ports. The only
thing added is the page, and only for `dev`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenantry_publisher.publish import Published, RulesBroken, Step, publish
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.process_runner import top_level
from tenantry_registry.registry import Registry, state_folder
from tenantry_registry.runners import Runner

from tenantry_cli import environment
from tenantry_cli.address import Address
from tenantry_cli.control_plane import Books
from tenantry_cli.findings import for_page, of_refusal
from tenantry_cli.folder import PluginFolder
from tenantry_cli.host import OAUTH
from tenantry_cli.packing import pack


@dataclass(frozen=True, slots=True)
class Served:
    """One plugin that is being served, as `--json` prints it and as the page lists it."""

    name: Name
    manifest: Manifest
    address: Address

    def to_dict(self) -> dict[str, Any]:
        return {
            "tenant": self.name.tenant,
            "plugin": self.name.plugin,
            "release": self.manifest.digest,
            "mcp_url": self.address.mcp_url(self.name),
            "host_url": self.address.host_url(self.name),
        }

    def for_page(self) -> dict[str, Any]:
        title = self.manifest.server.get("title") or self.name.plugin
        manifest = self.manifest
        examples, secrets = list(manifest.examples), list(manifest.secrets)
        return {**self.to_dict(), "title": title, "kind": manifest.kind, "secrets": secrets, "examples": examples}


@dataclass
class Machine:
    """`objects` and `runner` as opened by the command; `address` is where it will be reached."""

    objects: Objects
    runner: Runner
    address: Address
    cache: Path
    served: dict[Name, Served] = field(default_factory=dict)
    log: Callable[..., None] | None = None
    books: Books | None = None  # where there is a control plane: its secrets, limits and usage
    signs_in: bool = False  # the page's own authorization server stands in for the plugins'
    findings: dict[Name, list[dict[str, Any]]] = field(default_factory=dict)
    problems: dict[Name, list[dict[str, Any]]] = field(default_factory=dict)  # why the last save did not publish
    listeners: set[asyncio.Queue[dict[str, Any] | None]] = field(default_factory=set)

    async def publish(
        self,
        folder: PluginFolder,
        name: Name,
        progress: Callable[[Step], None],
        packages: Path | None = None,
    ) -> Published:
        """Pack and publish what the author wrote; `packages` are the dependencies that the runner brings, if any.

        Raises: as `tenantry_publisher.publish.publish`; what was served stays.
        """
        packed = await pack(folder, target=None, cache=self.cache)
        try:
            published = await publish(
                objects=self.objects,
                runner=self.runner,
                name=name,
                bundle=packed.data,
                progress=progress,
                provided=top_level(packages) if packages else environment.provided(folder),
                development=True,
                **folder.surroundings(),
            )
        except RulesBroken as error:
            self.findings[name] = [f.to_dict() for f in error.report.findings]
            raise
        self.findings[name] = [f.to_dict() for f in published.report.findings] or [
            dict(f) for f in published.manifest.findings
        ]
        self.serve(name, published.manifest)
        return published

    async def adopt(self, name: Name) -> bool:
        """Serve what is current already; False where there is nothing."""
        registry = Registry(self.objects)
        pointer = await registry.current(name)
        if pointer is None or pointer.current is None or pointer.state != "active":
            return False
        self.serve(name, await registry.manifest(name, pointer.current))
        return True

    def serve(self, name: Name, manifest: Manifest) -> None:
        self.served[name] = Served(name, manifest, self.address)
        self.problems.pop(name, None)
        self.tell({"tenant": name.tenant, "plugin": name.plugin, "release": manifest.digest})

    def refuse(self, name: Name, error: PlatformError) -> None:
        """Let the page say why what was saved is not served."""
        self.problems[name] = of_refusal(error)
        self.tell({"event": "refused", "tenant": name.tenant, "plugin": name.plugin})

    def tell(self, event: dict[str, Any]) -> None:
        """News for every page that is open."""
        for queue in self.listeners:
            queue.put_nowait(event)

    def close(self) -> None:
        """End the news: pages listen for as long as they are open, and the server would wait for them."""
        for queue in self.listeners:
            queue.put_nowait(None)

    @property
    def issuer(self) -> str:
        """The authorization server that stands in for the plugins' own, or ""."""
        return f"{self.address.origin}{OAUTH}" if self.signs_in else ""

    def app(self, *, page: bool, pointer_seconds: float = 0.0) -> Any:
        """The ASGI app: the gateway, and in front of it the page where it is wanted and built."""
        from tenantry_gateway.app import create_app
        from tenantry_gateway.settings import GatewaySettings

        settings = GatewaySettings(
            mode="development",
            origin=self.address.origin,
            base=self.address.base,
            hosts=self.address.hosts,
            scheme="http",
            origins=(self.address.origin,),
            pointer_seconds=pointer_seconds,
            development_issuer=self.issuer,
        )
        kept = self.books.kept(self.objects) if self.books else {}
        gateway = create_app(
            objects=self.objects, runner=self.runner, settings=settings, mode="development", log=self.log, **kept
        )
        if not page:
            return gateway
        from tenantry_cli.host.server import create_host, takes

        sign_ins = self.cache / "sign-ins.json"
        host = create_host(self.listed, checks=self.checks, events=self.news, kept=self.kept, sign_ins=sign_ins)

        async def both(scope: Any, receive: Any, send: Any) -> None:
            await (host if takes(scope) else gateway)(scope, receive, send)

        return both

    def listed(self) -> Sequence[dict[str, Any]]:
        """What is served, and what would be if it published; with the problems of the last save."""
        return [
            {**(self.served[name].for_page() if name in self.served else self.unpublished(name)),
             "problems": self.problems.get(name, [])}
            for name in sorted({*self.served, *self.problems})
        ]  # fmt: skip

    def unpublished(self, name: Name) -> dict[str, Any]:
        urls = {"mcp_url": self.address.mcp_url(name), "host_url": self.address.host_url(name)}
        return {"tenant": name.tenant, "plugin": name.plugin, "release": "", "published": False, **urls}

    def checks(self, tenant: str, plugin: str) -> list[dict[str, Any]]:
        """The findings of a plugin's latest publish, as the page shows them."""
        return list(for_page(self.findings.get(Name(tenant, plugin), [])))

    async def kept(
        self, tenant: str, plugin: str, tool: str, user: Mapping[str, Any] | None
    ) -> dict[str, dict[str, Any]] | None:
        """What a tool finds in ctx.shared and ctx.state now: for the test that the page writes of a call.

        `user` are the claims of whoever calls, `iss` and `sub`. None for a plugin that is not served. Raises:
        StorageDown.
        """
        from tenantry_gateway import documents

        served = self.served.get(Name(tenant, plugin))
        if served is None:
            return None
        if tool in served.manifest.plain:
            return {"shared": {}, "state": {}}
        folder = state_folder(served.name)
        shared = await documents.load(self.objects, documents.shared_key(folder))
        own = (await documents.load(self.objects, documents.state_key(folder, user))).values if user else {}
        return {"shared": shared.values, "state": own}

    async def news(self) -> AsyncIterator[dict[str, Any]]:
        """What is told from now on: see `host.server.create_host`."""
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.listeners.add(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self.listeners.discard(queue)
