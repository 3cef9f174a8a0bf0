"""Two hundred clients at once on `platform serve` in another process: no error, and memory that does not grow.

Four tenants with a plugin each; every client thinks between its requests, as people do, and mixes them: lists,
discovery, the handshake, the front page, and tools that run in sandboxes. CI takes fifteen seconds of
it, `make soak` ten minutes. Every run is bounded in time and in requests.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from stories.served import COMMAND, EXAMPLES, META, Served, request

CLIENTS = 200
TENANTS = ("alpha", "beta", "gamma", "delta")
THINKING = (0.2, 1.0)  # seconds between two requests of one client
WARM_UP = 4.0  # seconds until every worker runs and every cache is filled
MOST_REQUESTS = 400_000  # of one run, whatever the clock says
GROWTH = 40 * 1024  # KB that the server may grow by: caches that fill, and what a collector has not taken yet
GROWTH_SOAK = 60 * 1024
ROOMY = {
    "tenant_rate": 1_000_000,
    "plugin_rate": 1_000_000,
    "subject_rate": 1_000_000,
}  # limits have tests of their own
CALLS = 3  # of ten requests run a tool


@dataclass
class Crowd:
    """The clients, and what they met."""

    served: Served
    until: float
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0

    async def run(self) -> None:
        limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
        async with httpx.AsyncClient(timeout=30, limits=limits) as http, asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(self.client(http, TENANTS[number % len(TENANTS)]))

    async def client(self, http: httpx.AsyncClient, tenant: str) -> None:
        await asyncio.sleep(self.chance.uniform(0, THINKING[1]))
        while time.monotonic() < self.until and self.answers.total() < MOST_REQUESTS and len(self.wrong) < 20:
            kind = (
                "call"
                if self.chance.randrange(10) < CALLS
                else self.chance.choice(["list", "hello", "discover", "front"])
            )
            began = time.monotonic()
            try:
                problem = await getattr(self, kind)(http, tenant)
            except httpx.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.answers[kind] += 1
            if problem:
                self.wrong.append(f"{kind}: {problem}")
            await asyncio.sleep(self.chance.uniform(*THINKING))

    async def call(self, http: httpx.AsyncClient, tenant: str) -> str:
        name = f"{tenant}{self.chance.randrange(10**6)}"
        answer = await http.post(self.served.url("hello", tenant), **request("hello", {"name": name}))
        result = answer.json().get("result", {})
        return "" if f"Hello, {name}!" in str(result) and not result.get("isError") else answer.text[:300]

    async def rpc(self, http: httpx.AsyncClient, tenant: str, method: str, params: dict[str, Any]) -> str:
        headers = {"Mcp-Method": method, "MCP-Protocol-Version": "2026-07-28", "Accept": "application/json"}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        answer = await http.post(self.served.url("hello", tenant), headers=headers, json=body)
        return "" if "result" in answer.json() else answer.text[:300]

    async def list(self, http: httpx.AsyncClient, tenant: str) -> str:
        return await self.rpc(http, tenant, "tools/list", {})

    async def discover(self, http: httpx.AsyncClient, tenant: str) -> str:
        return await self.rpc(http, tenant, "server/discover", {})

    async def hello(self, http: httpx.AsyncClient, tenant: str) -> str:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        answer = await http.post(self.served.url("hello", tenant), json=body)
        return "" if "mcp-session-id" in answer.headers else answer.text[:300]

    async def front(self, http: httpx.AsyncClient, tenant: str) -> str:
        answer = await http.get(self.served.url("hello", tenant).removesuffix("mcp"))
        return "" if answer.status_code == 200 else answer.text[:300]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """`platform serve` with the example `hello` of four tenants, published through its own control plane."""
    running = Served([COMMAND, "serve", "--trust-tenants", "--port", "0", "--json"], tmp_path)
    try:
        token = (tmp_path / ".tenantry" / "operator-token").read_text().strip()
        with httpx.Client(base_url=running.origin + "/api/v1", headers={"Authorization": f"Bearer {token}"}) as api:
            for tenant in TENANTS:
                api.post("/tenants", json={"slug": tenant}).raise_for_status()
                api.patch(f"/tenants/{tenant}", json={"limits": ROOMY}).raise_for_status()
        for tenant in TENANTS:
            subprocess.run(
                [COMMAND, "publish", EXAMPLES / "hello", "--tenant", tenant, "--to", running.origin + "/api"],
                cwd=tmp_path,
                check=True,
                capture_output=True,
                timeout=60,
            )
        yield running
    finally:
        running.stop()


def memory(served: Served) -> int:
    """KB that the server's own process holds."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def crowded(served: Served, seconds: float, growth: int) -> None:
    """Let the crowd in for so long; fails on any error, and on memory that grew."""
    await Crowd(served, time.monotonic() + WARM_UP).run()
    before = memory(served)
    crowd = Crowd(served, time.monotonic() + seconds)
    await crowd.run()
    after = memory(served)
    figures = (
        f"{crowd.answers.total()} requests, slowest {crowd.slowest:.1f} s, {before} -> {after} KB, {crowd.answers}"
    )
    print(figures)
    assert crowd.wrong == [], figures
    assert set(crowd.answers) == {"call", "list", "hello", "discover", "front"}
    assert crowd.answers.total() > CLIENTS * seconds / 6, figures
    assert after - before < growth, figures


async def test_two_hundred_clients_meet_no_error_and_memory_stays_flat(served: Served) -> None:
    await crowded(served, 15.0, GROWTH)


@pytest.mark.soak
async def test_two_hundred_clients_for_ten_minutes(served: Served) -> None:
    await crowded(served, 600.0, GROWTH_SOAK)
