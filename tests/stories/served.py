"""One running platform, as the stories talk to it."""

from __future__ import annotations

import html
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

COMMAND = Path(sys.executable).with_name("platform")
EXAMPLES = Path(__file__).resolve().parents[2] / "tenants" / "examples"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "stories", "version": "1"},
}


class Served:
    """One running `platform dev` or `platform serve`, ready to be called."""

    def __init__(self, command: Sequence[str | Path], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        self.said: list[str] = []
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self.listen)
        self.reader.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log()
        self.ready: dict[str, Any] = json.loads(line)
        self.plugins = {(p["tenant"], p["plugin"]): p for p in self.ready["plugins"]}

    def listen(self) -> None:
        """Collect what it says on standard error, so that it never blocks."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self.news:
                self.said.append(line)
                self.news.notify_all()

    def log(self) -> str:
        with self.news:
            return "".join(self.said)

    def wait_for(self, text: str, seconds: float = 20) -> str:
        """The log, once `text` stands in it."""
        with self.news:
            assert self.news.wait_for(lambda: any(text in line for line in self.said), seconds), "".join(self.said)
        return self.log()

    @property
    def origin(self) -> str:
        if "origin" in self.ready:
            return str(self.ready["origin"])
        return next(iter(self.plugins.values()))["mcp_url"].partition("/t/")[0]

    def url(self, plugin: str, tenant: str = "dev") -> str:
        return f"{self.origin}/t/{tenant}/{plugin}/mcp"

    def release(self, plugin: str, tenant: str = "dev") -> str:
        return str(self.plugins[tenant, plugin]["release"])

    def call(self, plugin: str, tool: str, arguments: dict[str, Any] | None = None, tenant: str = "dev") -> Any:
        """One tools/call as plain HTTP; the result as on the wire."""
        return httpx.post(self.url(plugin, tenant), **request(tool, arguments or {}), timeout=30).json()["result"]

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def stop(self) -> None:
        self.end(signal.SIGINT)

    def end(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(20)
        self.reader.join(20)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def request(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What httpx.post is given for one stateless tools/call."""
    return {
        "headers": {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        },
        "json": {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments, "_meta": META},
        },
    }


def versioned(folder: Path, version: int) -> None:
    """Let the example `hello` greet with its version."""
    server = folder / "server.py"
    lines = server.read_text().splitlines()
    lines[-1] = f'    return f"{version} {{name}}"'
    pending = server.with_suffix(".new")
    pending.write_text("\n".join(lines) + "\n")
    pending.rename(server)


def consent(url: str, page: str, **answer: Any) -> tuple[str, dict[str, Any]]:
    """Where the form of a consent page is posted to, and what: as it stands there, unless told otherwise."""
    action = re.search(r'action="([^"]+)"', page)
    chosen = re.search(r'name="person" value="([^"]+)"[^>]* checked', page)
    assert action is not None
    assert chosen is not None
    scopes = re.findall(r'name="scope" value="([^"]+)" checked', page)
    return urljoin(url, html.unescape(action[1])), {"person": chosen[1], "scope": scopes, **answer}
