"""Two tenants on one platform, composed as `platform serve` does it: real pipeline, real sandboxes, both APIs.

`acme` is the attacker: its plugin `mallory` runs any Python that a test sends it. `bank` is the victim: `vault` keeps a
secret, shared data and files, `club` has signed-in members. Everything goes through HTTP, to the gateway or to the
control plane; only what a test must look at behind their backs is read from the store.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from tenantry_cli.hosting import OneTenant
from tenantry_gateway.log import Log
from tenantry_registry import bubblewrap
from tenantry_registry.bundle import pack
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.objects_file import Disk, FileObjects
from tenantry_registry.process_runner import ProcessRunner

OPERATOR = "tno_" + "o" * 43
ISSUER = "https://login.bank.example"
SHARED = "shared.example.com"
BASE = "plugins.example.com"
API = "https://api.plugins.example.com"
VAULT_KEY = "vault-secret-7d1f0c"  # the victim's secret: it must turn up nowhere
MALLORY_KEY = "mallory-secret-93ab"
MODERN = "2026-07-28"
CAPABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
KEY = RSAKey.generate_key(2048, {"kid": "one"})

MALLORY_TOML = """name = "{name}"
entrypoint = "server:plugin"
title = "Mallory"
files = true
egress = "{egress}"
timeout = {timeout}
[secrets]
required = ["MALLORY_KEY"]
"""
MALLORY = '''
import ctypes, glob, json, os, resource, signal, socket, subprocess, sys, threading, time
from pydantic import BaseModel
from tenantry import Context, File, Plugin, Result, ToolError
plugin = Plugin()

class Sure(BaseModel):
    sure: bool

@plugin.tool(read_only=False, destructive=True, open_world=True)
def attack(code: str, ctx: Context) -> Result[dict]:
    """Use this when the user wants to attack."""
    scope = {**globals(), "ctx": ctx}
    exec(code, scope)
    return Result(scope.get("got") if isinstance(scope.get("got"), dict) else {"got": scope.get("got")}, content="done")

@plugin.tool(read_only=True, destructive=False, open_world=False)
def pay(amount: int, ctx: Context) -> str:
    """Use this when the user pays."""
    answer = ctx.elicit(f"Pay {amount}?", Sure)
    return f"paid {amount}: {answer.sure}"
'''
TRUDY = (
    MALLORY
    + '''
@plugin.tool(read_only=True, destructive=False, open_world=True)
def fetch(file: File) -> str:
    """Use this when the user gives a file."""
    return file.read(max_bytes=1000).decode()
'''
)
# How code in the sandbox speaks to the runner in the platform's name: it finds the socket and the call's number.
FORGE = '''
import struct
def the_socket():
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                return socket.socket(fileno=os.dup(int(number)))
        except OSError:
            pass
def found(name):
    for frame in sys._current_frames().values():
        while frame:
            if name in frame.f_locals and "seq" in frame.f_locals[name]:
                return frame.f_locals[name]
            frame = frame.f_back
def say(kind, data):
    the_socket().sendall(struct.pack(">BI", kind, len(data)) + data)
def reply(**said):
    """In place of the true reply, this one."""
    replies, seq = sys.modules["tenantry_sandbox.reply"], found("event")["seq"]
    true = replies.fit
    def fit(answered, session):
        replies.fit = true
        return json.dumps({"protocol": 1, "seq": seq, **said}).encode()
    replies.fit = fit
'''
VAULT_TOML = """name = "vault"
entrypoint = "server:plugin"
title = "Vault"
files = true
[secrets]
required = ["VAULT_KEY"]
"""
VAULT = '''
import os
from tenantry import Context, Plugin, Result
plugin = Plugin()

@plugin.tool(read_only=False, destructive=False, open_world=False)
def keep(text: str, ctx: Context) -> Result[dict]:
    """Use this when the user wants something kept."""
    ctx.shared["kept"] = text
    saved = ctx.files.save("kept.txt", text.encode(), "text/plain")
    return Result({"file_id": saved.file_id, "download_url": saved.download_url}, content="kept")

@plugin.tool(read_only=True, destructive=False, open_world=False)
def recall(ctx: Context) -> str:
    """Use this when the user wants it back."""
    return str(ctx.shared.get("kept", "nothing"))

@plugin.tool(read_only=True, destructive=False, open_world=False)
def breaks(ctx: Context) -> str:
    """Use this when the user wants an error."""
    secret = ctx.secrets["VAULT_KEY"]
    print("stdout says", secret, flush=True)
    raise RuntimeError(f"could not log in to the bank with {secret}")

@plugin.tool(read_only=True, destructive=False, open_world=False)
def dies(ctx: Context) -> str:
    """Use this when the user wants a crash."""
    print("last words", ctx.secrets["VAULT_KEY"], flush=True)
    os._exit(3)
'''
CLUB_TOML = f"""name = "club"
entrypoint = "server:plugin"
title = "Club"
files = true
[auth]
issuer = "{ISSUER}"
scopes = ["club"]
"""
CLUB = '''
from pydantic import BaseModel
from tenantry import Context, OAuth2, Plugin, Result
plugin = Plugin()
MEMBERS = [OAuth2("club")]

class Sure(BaseModel):
    sure: bool

@plugin.tool(read_only=False, destructive=False, open_world=False, auth=MEMBERS)
def remember(text: str, ctx: Context) -> Result[dict]:
    """Use this when a member wants something remembered."""
    ctx.state["mine"] = text
    saved = ctx.files.save("mine.txt", text.encode(), "text/plain")
    return Result({"file_id": saved.file_id, "download_url": saved.download_url}, content="remembered")

@plugin.tool(read_only=True, destructive=False, open_world=False, auth=MEMBERS)
def mine(ctx: Context) -> str:
    """Use this when a member wants it back."""
    return str(ctx.state.get("mine", "nothing"))

@plugin.tool(read_only=True, destructive=False, open_world=False, auth=MEMBERS)
def order(ctx: Context) -> str:
    """Use this when a member orders."""
    return f"ordered: {ctx.elicit('Order?', Sure).sure}"
'''


class QuickDisk(Disk):
    """A disk that may lose what was written when the power fails: no test pulls the plug here."""

    def sync(self, file: IO[bytes]) -> None:
        file.flush()

    def sync_folder(self, path: Path) -> None:
        return None


async def internet(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    """The only thing outside: the club's authorization server."""
    if url == f"{ISSUER}/keys":
        return json.dumps({"keys": [KEY.as_dict(private=False)]}).encode()
    if url.startswith(ISSUER):
        return json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}).encode()
    raise PlatformError("fetch.failed", "There is nothing else on this internet.")


def signed(sub: str, *, audience: str = "", key: Any = KEY, algorithm: str = "RS256", **claims: Any) -> str:
    """An access token of the club's authorization server."""
    stated = {
        "iss": ISSUER,
        "aud": audience or f"https://club-bank.{BASE}/mcp",
        "sub": sub,
        "exp": 4_000_000_000,
        "scope": "club",
        **claims,
    }
    return jwt.encode({"alg": algorithm, "kid": "one"}, stated, key, algorithms=[algorithm])


@dataclass
class Village:
    """The platform and those who live on it. `tokens` are the tenants' own, by tenant."""

    folder: Path
    objects: FileObjects
    runner: ProcessRunner
    gateway: Any
    control: Any
    publisher: Any
    lines: io.StringIO
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> str:
        return self.lines.getvalue()

    def http(self, host: str = f"mallory-acme.{BASE}") -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.literally), base_url=f"https://{host}")

    async def literally(self, scope: Any, receive: Any, send: Any) -> None:
        """The gateway behind a client that sends a path as it is: httpx would take `..` out of it."""
        raw = next((value for name, value in scope["headers"] if name == b"x-literal-path"), None)
        if raw is not None:
            scope = {**scope, "path": unquote(raw.decode("latin-1")), "raw_path": raw}
        await self.gateway(scope, receive, send)

    async def get(self, url: str, method: str = "GET", **headers: str) -> httpx.Response:
        """Any address of the gateway."""
        parts = urlsplit(url)
        async with self.http(parts.netloc) as http:
            return await http.request(method, f"{parts.path}?{parts.query}".rstrip("?"), headers=headers)

    async def ask(
        self, plugin: str, method: str, params: Mapping[str, Any], *, token: str = "", host: str = "", **more: str
    ) -> httpx.Response:
        """One stateless request to `plugin` (its label)."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": CAPABLE,
            **params.get("_meta", {}),
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        headers = {"mcp-protocol-version": MODERN, "mcp-method": method, "accept": "application/json"}
        named = params.get("name", params.get("uri"))
        headers |= {"mcp-name": named} if isinstance(named, str) else {}
        headers |= {"authorization": f"Bearer {token}"} if token else {}
        async with self.http(host or f"{plugin}.{BASE}") as http:
            return await http.post("/mcp", json=body, headers={**headers, **more})

    async def call(self, plugin: str, tool: str, *, token: str = "", **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        answer = await self.ask(plugin, "tools/call", {"name": tool, "arguments": arguments}, token=token)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    async def attack(self, code: str, plugin: str = "mallory-acme") -> Any:
        """Run `code` in mallory's sandbox; returns what it left in `got`, or the failure's words from the log."""
        at = len(self.log)
        result = await self.call(plugin, "attack", code=code)
        if result.get("isError"):
            lines = [json.loads(line) for line in self.log[at:].splitlines()]
            return "".join(str(line.get("traceback") or line.get("code") or "") for line in lines)
        return result["structuredContent"]["got"]

    async def forge(self, code: str) -> httpx.Response:
        """Let the sandbox answer a call by `reply(...)` or `say(...)`; returns the platform's answer to the client."""
        return await self.ask("mallory-acme", "tools/call", {"name": "attack", "arguments": {"code": FORGE + code}})

    async def stored(self, prefix: str) -> dict[str, bytes]:
        """What the store holds, behind everybody's back."""
        keys = [listed.key async for listed in self.objects.list(prefix)]
        found = {key: await self.objects.get(key) for key in keys}
        return {key: stored.data for key, stored in found.items() if stored}

    async def api(
        self, method: str, path: str, *, token: str = OPERATOR, status: int = 0, body: Any = None
    ) -> httpx.Response:
        """One request to the control plane."""
        transport = httpx.ASGITransport(self.control, raise_app_exceptions=False, client=("192.0.2.7", 1))
        async with httpx.AsyncClient(transport=transport, base_url=API) as http:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            answer = await http.request(method, path, headers=headers, json=body)
        assert not status or answer.status_code == status, answer.text
        return answer

    def bundle(self, toml: str, server: str, **files: bytes) -> bytes:
        source = self.folder / hashlib.sha256((toml + server).encode()).hexdigest()[:12]
        source.mkdir(exist_ok=True)
        (source / "plugin.toml").write_text(toml)
        (source / "server.py").write_text(server)
        return pack(source, files)

    async def publish(self, tenant: str, plugin: str, data: bytes, *, token: str = "", **body: Any) -> dict[str, Any]:
        """A whole publish through the control plane, as its owner; returns the job as it ended."""
        base, token = f"/v1/plugins/{tenant}/{plugin}/publishes", token or self.tokens[tenant]
        wanted = {"digest": hashlib.sha256(data).hexdigest(), "size": len(data), **body}
        started = (await self.api("POST", base, token=token, status=201, body=wanted)).json()
        if started["upload"]:
            await self.upload(started["upload"], data)
        await self.api("POST", f"{base}/{started['id']}/finish", token=token, status=202)
        await self.publisher.aclose()
        ended: dict[str, Any] = (await self.api("GET", f"{base}/{started['id']}", token=token, status=200)).json()
        return ended

    async def upload(self, upload: Mapping[str, Any], data: bytes) -> None:
        """What storage does with a POST of the CLI."""

        async def chunks() -> AsyncIterator[bytes]:
            yield data

        await self.objects.receive(self.objects.signer.verify("POST", upload["url"], upload["fields"]), chunks())

    async def secret(self, tenant: str, plugin: str, name: str, value: str) -> None:
        path = f"/v1/plugins/{tenant}/{plugin}/secrets/{name}"
        await self.api("PUT", path, token=self.tokens[tenant], status=204, body={"value": value})

    async def settle(self) -> None:
        """Make the tenants, publish their plugins, set their secrets, keep what is to be protected."""
        for tenant in ("acme", "bank"):
            await self.api("POST", "/v1/tenants", status=201, body={"slug": tenant})
            issued = await self.api(
                "POST", f"/v1/tenants/{tenant}/tokens", status=201, body={"scopes": ["publish", "read"]}
            )
            self.tokens[tenant] = issued.json()["token"]
        for tenant, plugin, toml, server in (
            ("acme", "mallory", MALLORY_TOML.format(name="mallory", egress="none", timeout=3), MALLORY),
            ("acme", "trudy", MALLORY_TOML.format(name="trudy", egress="public", timeout=3), TRUDY),
            ("bank", "vault", VAULT_TOML, VAULT),
            ("bank", "club", CLUB_TOML, CLUB),
        ):
            ended = await self.publish(tenant, plugin, self.bundle(toml, server))
            assert ended["state"] == "done", ended["error"]
        await self.secret("bank", "vault", "VAULT_KEY", VAULT_KEY)
        for plugin in ("mallory", "trudy"):
            await self.secret("acme", plugin, "MALLORY_KEY", MALLORY_KEY)


async def refuses_a_second_tenant(runner: ProcessRunner) -> None:
    """What `platform serve` does where nothing keeps tenants apart."""
    with pytest.raises(PlatformError) as refused:
        OneTenant(runner, {"acme", "bank"})
    assert refused.value.code == "serve.tenants-apart"


Test = Callable[..., Awaitable[None]]


def behind_walls(test: Test) -> Test:
    """This attack is stopped by bubblewrap. Where there is none, `platform serve` must refuse a second tenant."""

    @functools.wraps(test)
    async def run(village: Village, **more: Any) -> None:
        if bubblewrap.usable():
            await test(village=village, **more)
        else:
            await refuses_a_second_tenant(village.runner)

    return run


__all__ = ["API", "BASE", "ISSUER", "MALLORY_KEY", "SHARED", "VAULT_KEY", "Log", "Name", "Village", "behind_walls"]
