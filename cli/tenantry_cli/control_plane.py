"""The control plane of one machine: the same app as on AWS, its publisher a task of this process, mounted at /api.

The operator's token of a local store is made at the first `platform serve` and kept beside it, readable by its owner
only; commands that talk to this machine find it there.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenantry_control.logs import FileLogs
from tenantry_gateway.door import Door, on_this_machine, over_the_network
from tenantry_registry.issuers import Issuers
from tenantry_registry.limits_sqlite import SqliteLimiter
from tenantry_registry.links import ensure as ensure_links
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.runners import Runner
from tenantry_registry.secrets import Drawer, KeyFileCipher, Reader
from tenantry_registry.tokens import Tokens
from tenantry_registry.turnstile_sqlite import SqliteTurnstile
from tenantry_registry.usage_sqlite import SqliteUsage

PREFIX = "/api"
TOKEN_FILE = "operator-token"
# What / says. It names no tenant: behind a proxy anybody may read it.
FRONT = """This is `platform serve`; its terminal lists what it serves.

A plugin: {origin}/t/TENANT/PLUGIN/mcp
Control plane: {origin}{prefix}/v1
"""


@dataclass(frozen=True, slots=True)
class Books:
    """What one machine keeps beside its store: usage, limits, the log, and the key that seals secrets."""

    usage: SqliteUsage
    limiter: SqliteLimiter
    logs: FileLogs
    cipher: KeyFileCipher
    trusting: bool  # tenants' authorization servers may be on this machine

    @classmethod
    def open(cls, store: str, *, trusting: bool) -> Books:
        """Those of the store that is named so. Raises: StorageDown."""
        folder = token_file(store).parent
        folder.mkdir(parents=True, exist_ok=True)
        return cls(
            SqliteUsage(folder / "usage.db"),
            SqliteLimiter(folder / "limits.db"),
            FileLogs(folder / "log"),
            KeyFileCipher(folder / "secrets.key"),
            trusting,
        )

    def kept(self, objects: Objects) -> dict[str, Any]:
        """What the gateway is given of it (arguments of its `create_app`)."""
        reader = Reader(objects, self.cipher, seconds=0.0)
        # A tenant names its authorization server: without trust it must not lead to this machine's own ports.
        door = Door(Issuers(on_this_machine if self.trusting else over_the_network), reader.read)
        turnstile = SqliteTurnstile(self.limiter, self.usage)
        return {"secrets": reader.read, "limiter": self.limiter, "turnstile": turnstile, "authenticate": door}

    def close(self) -> None:
        self.usage.close()
        self.limiter.close()


def token_file(store: str) -> Path:
    """Where the operator's token of a store on this machine is kept."""
    return (Path(".tenantry") if store.startswith("s3://") else Path(store)).resolve() / TOKEN_FILE


async def operator_token(objects: Objects, store: str) -> Path:
    """Make sure that this store has its keys and accepts an operator's token; returns that token's file."""
    file = token_file(store)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as out:
            out.write(f"tno_{secrets.token_urlsafe(32)}\n")
    await ensure_links(objects)
    await Tokens(objects).ensure(file.read_text().strip())
    return file


def mounted(gateway: Any, objects: Objects, runner: Runner, books: Books, *, origin: str, base: str) -> tuple[Any, Any]:
    """The gateway, in front of it the control plane at /api and a text at /; and the publisher to close at the end."""
    from starlette.responses import PlainTextResponse
    from tenantry_control.app import create_app
    from tenantry_control.publishing import LocalPublisher
    from tenantry_control.settings import ControlSettings
    from tenantry_publisher.work import work
    from tenantry_registry.fetch import HttpsFetch

    async def carry_out(name: Name, job_id: str) -> object:
        return await work(objects=objects, runner=runner, name=name, job_id=job_id, base=base)

    publisher = LocalPublisher(carry_out)
    settings = ControlSettings(mode="development", base=base, origin=origin, scheme="http", api_url=origin + PREFIX)
    control = create_app(
        objects=objects,
        publisher=publisher,
        fetch=HttpsFetch(development=books.trusting),
        usage=books.usage,
        logs=books.logs,
        drawer=Drawer(objects, books.cipher),
        settings=settings,
    )

    front = PlainTextResponse(FRONT.format(origin=origin, prefix=PREFIX), headers={"Cache-Control": "no-store"})

    async def both(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        # Only at the machine's own address: below a plugin's host, / and /api are the plugin's.
        own = scope["type"] == "http" and _own(scope, origin)
        if own and path.startswith(PREFIX + "/"):
            await control({**scope, "path": path[len(PREFIX) :], "raw_path": None}, receive, send)
        elif own and path == "/" and scope["method"] in ("GET", "HEAD"):
            await front(scope, receive, send)
        else:
            await gateway(scope, receive, send)

    return both, publisher


def _own(scope: Any, origin: str) -> bool:
    host = next((value.decode("latin-1") for key, value in scope["headers"] if key == b"host"), "")
    port = origin.rpartition(":")[2]
    return host.lower() in (f"localhost:{port}", f"127.0.0.1:{port}")
