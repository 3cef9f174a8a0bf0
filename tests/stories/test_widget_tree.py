"""A widget that loads in every way works in a browser from its published tree, on an origin of its own."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import sync_playwright
from stories.served import META, Served

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def read_widget(served: Served) -> dict[str, Any]:
    """The widget as resources/read gives it."""

    def ask(method: str, **params: Any) -> Any:
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
        headers |= {"Mcp-Method": method} | ({"Mcp-Name": params["uri"]} if "uri" in params else {})
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        return httpx.post(served.url("every"), headers=headers, json=body, timeout=30).json()["result"]

    uri = ask("tools/list")["tools"][0]["_meta"]["ui"]["resourceUri"]
    content: dict[str, Any] = ask("resources/read", uri=uri)["contents"][0]
    return content


@contextmanager
def host(content: dict[str, Any]) -> Iterator[str]:
    """A host's document: the widget's HTML at `/` of an origin of its own, under the policy that it published."""
    csp = content["_meta"]["ui"]["csp"]
    sources, connect = " ".join(csp["resourceDomains"]), " ".join(csp["connectDomains"])
    policy = (
        f"default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob: {sources}; "
        f"style-src 'self' 'unsafe-inline' {sources}; img-src 'self' data: {sources}; font-src 'self' {sources}; "
        f"connect-src {connect} {sources}; worker-src blob: {sources}"
    )

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = content["text"].encode() if self.path == "/" else b""
            self.send_response(200 if self.path == "/" else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", policy)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://widget.localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.row("R01", "R03")
def test_imports_fonts_cycles_workers_wasm_and_integrity_work_from_the_tree(start: Callable[..., Served]) -> None:
    served = start("dev", str(HERE / "trees" / "every"), "--no-open")
    content = read_widget(served)
    faults: list[str] = []
    with host(content) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page()
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("requestfailed", lambda request: faults.append(f"{request.url}: {request.failure}"))
        page.goto(address)
        try:
            page.wait_for_selector("#done", state="attached", timeout=15_000)
        except Exception as error:
            raise AssertionError(faults) from error
        seen = page.evaluate("window.seen")
        browser.close()
    tree = f"{served.origin}/t/dev/every/assets/"
    assert [background.startswith(f'url("{tree}') for background in seen.pop("backgrounds")] == [True] * 4
    assert seen == {
        "inline": "inline",
        "mapped": "mapped",
        "cycle": "one and two of one",
        "signed": True,
        "picture": "image/svg+xml",
        "wasm": True,
        "worker": "one and two of one",
        "font": ["own loaded"],
        "colour": "rgb(1, 2, 3)",
        "images": [7, 7],
    }
    assert faults == []
