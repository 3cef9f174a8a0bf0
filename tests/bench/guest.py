"""A server that was not written with the kit: a warm tools/call through the gateway beside the same server alone.

Both are processes of their own under uvicorn, asked in turn over one kept connection each. Wall time is of one client,
call after call; CPU is of all processes of a side (the gateway's and its worker's; the server's). A ratio is the median
of those of all pairs of batches: the machine's speed changes from one second to the next, and a pair sees the same.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import wire
from hosted.conftest import HERE as SERVERS
from hosted.conftest import published, runner_of, wait_for
from simulators.serving import KEY, free_port
from tenantry_registry.objects_file import FileObjects

NAME = "mcpserver"
BATCHES = 31
CALLS = 40  # in a batch


class Side:
    """One process that answers, and a connection to it."""

    def __init__(self, command: list[str], folder: Path, port: int, path: str, host: str) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PORT": str(port)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self._process, port)
        self.pid = self._process.pid
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._path = path
        event = wire.modern("tools/call", {"name": "animals", "arguments": {"kind": "owl", "count": 3}})
        self._body = event["body"]
        self._headers = {**event["headers"], "host": host}

    def call(self) -> bytes:
        self._connection.request("POST", self._path, self._body, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        assert response.status == 200, answer
        return answer

    def batch(self) -> tuple[float, float]:
        """Microseconds a call: wall and CPU."""
        began, used = time.perf_counter(), self.cpu()
        for _ in range(CALLS):
            self.call()
        return 1e6 * (time.perf_counter() - began) / CALLS, 1e6 * (self.cpu() - used) / CALLS

    def cpu(self) -> float:
        """Seconds that the process and all below it have used."""
        return sum(_seconds(pid) for pid in _below(self.pid))

    def close(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()


def _below(pid: int) -> list[int]:
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [pid, *(each for child in children for each in _below(child))]


def _seconds(pid: int) -> float:
    """Processor time of all its threads, in the kernel's nanoseconds: clock ticks are too coarse for a batch."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def serve(folder: Path, port: int) -> None:
    """The gateway, as `platform serve` composes it."""
    import uvicorn
    from tenantry_gateway.app import create_app
    from tenantry_gateway.settings import GatewaySettings

    objects = FileObjects(folder / "store", origin=wire.ORIGIN)
    settings = GatewaySettings(origin=wire.ORIGIN, seal_keys=KEY)
    app = create_app(objects=objects, runner=runner_of(NAME, objects, folder), settings=settings)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        lifespan="off",
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
    )


def measure(folder: Path) -> dict[str, Any]:
    asyncio.run(published(NAME, SERVERS / NAME, folder))
    ports = free_port(), free_port()
    hosting = [sys.executable, __file__, str(folder), str(ports[0])]
    ours = Side(hosting, folder, ports[0], f"/t/acme/{NAME}/mcp", "bench.example.com")
    alone = Side([sys.executable, "server.py"], SERVERS / NAME, ports[1], "/mcp", f"127.0.0.1:{ports[1]}")
    try:
        for side in (ours, alone):
            assert b'"structuredContent"' in side.call()
            side.batch()
        before = [_seconds(pid) for pid in _below(ours.pid)]
        pairs = [(ours.batch(), alone.batch()) for _ in range(BATCHES)]
        gateway, *workers = [_seconds(pid) - was for pid, was in zip(_below(ours.pid), before, strict=True)]
    finally:
        ours.close()
        alone.close()
    found: dict[str, Any] = {}
    for which, name in enumerate(("wall", "cpu")):
        found[name] = [statistics.median(pair[side][which] for pair in pairs) for side in (0, 1)]
        found[f"{name}_ratio"] = statistics.median(one[which] / other[which] for one, other in pairs)
    calls = BATCHES * CALLS
    return {**found, "gateway_us": 1e6 * gateway / calls, "worker_us": 1e6 * sum(workers) / calls}


def main() -> None:
    if len(sys.argv) > 1:
        serve(Path(sys.argv[1]), int(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder))))


if __name__ == "__main__":
    main()
