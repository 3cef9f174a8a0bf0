"""The local host as an author waits for it: `platform dev` on ten tools until it is ready, a call until the first
paint of its 200 KB widget, as the page itself measures it, and a save until the widget that is shown is the new one.

Prints {"ready": [[seconds, a bare process's] ...], "paint": [[ms, of the same document in a bare frame] ...],
"screen": [[ms, the same] ...]}.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

TESTS = Path(__file__).resolve().parents[1]
PLATFORM = Path(sys.executable).parent / "platform"
ROUNDS = 7
FILLING = "<!-- " + "filling " * 25_000 + "-->"  # 200 KB
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--enable-unsafe-swiftshader"]
#: What a bare process of the same libraries takes until it listens: the floor under `platform dev`.
BARE = "import fastapi, uvicorn, pydantic_settings, socket; socket.create_server(('127.0.0.1', 0)); print('ready')"
TOOL = '''

@plugin.tool(read_only=True, destructive=False, open_world=False, title="Tool {n}")
def tool_{n}(count: int = {n}, name: str = "x") -> Answer:
    """Use this when the user wants number {n}."""
    return Answer(count=count, name=name)
'''
PLUGIN = """from pydantic import BaseModel
from tenantry import Plugin

plugin = Plugin()


class Answer(BaseModel):
    count: int
    name: str
"""
PAINTED = """async () => {
  const began = performance.now();
  const frame = document.createElement("iframe");
  frame.src = "/widget";
  document.body.append(frame);
  await new Promise((resolve) => frame.addEventListener("load", resolve));
  for (;;) {
    const [paint] = frame.contentWindow.performance.getEntriesByType("paint");
    if (paint) return frame.contentWindow.performance.timeOrigin + paint.startTime - performance.timeOrigin - began;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}"""
HEADING = re.compile(r"<h1 id=.*?</h1>")
PAINT = "[data-step=paint] dd"


def main() -> None:
    painted = list(paint())
    measured = {name: [pair for kind, *pair in painted if kind == name] for name in ("paint", "screen")}
    print(json.dumps({"ready": list(ready()), **measured}))


def ready() -> Iterator[tuple[float, float]]:
    """Starts of both kinds in turn, each on a store of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "ten"
        folder.mkdir()
        (folder / "server.py").write_text(PLUGIN + "".join(TOOL.format(n=n) for n in range(10)))
        (folder / "plugin.toml").write_text('name = "ten"\nentrypoint = "server:plugin"\n')
        for number in range(ROUNDS):
            began = time.monotonic()
            with dev(folder, Path(place) / f"store{number}"):
                ours = time.monotonic() - began
            began = time.monotonic()
            subprocess.run([sys.executable, "-c", BARE], check=True, stdout=subprocess.DEVNULL)
            yield ours, time.monotonic() - began


def paint() -> Iterator[tuple[str, float, float]]:
    """Calls from the page's form, and the same document with its files in a frame of an empty page, in turn; then
    saves of the widget that is shown."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place) / "gallery"
        shutil.copytree(TESTS / "host" / "plugin", folder)
        widget = folder / "widgets" / "gallery" / "index.html"
        widget.write_text(widget.read_text().replace("</body>", f"{FILLING}</body>"))
        with dev(folder, Path(place) / "store") as origin:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS, headless=True)
            page, empty = (browser.new_context().new_page() for _ in range(2))
            page.goto(origin)
            expect(page.locator(".status[data-status=ready]")).to_be_visible(timeout=20_000)
            page.get_by_role("tab", name="Widget gets").click()
            one_call(page, "first")  # starts the browser's processes, and the worker imports the plugin
            document = next(frame for frame in page.frames if ".widgets." in frame.url).content()
            with served(document.encode()) as other:
                empty.goto(other)
                empty.evaluate(PAINTED)
                for number in range(ROUNDS):
                    ours = one_call(page, f"colour{number}")
                    yield "paint", ours, float(empty.evaluate(PAINTED))
                for number in range(ROUNDS):
                    ours = one_save(page, widget, f"Edition {number}")
                    yield "screen", ours, float(empty.evaluate(PAINTED))
            browser.close()


def one_call(page: Page, colour: str) -> float:
    """Milliseconds from submitting the form to the widget's first paint, as the page shows them."""
    page.get_by_role("button", name="New conversation").click()
    page.locator(".tool", has_text="paint").click()
    page.get_by_role("region", name="Composer").get_by_label("colour").fill(colour)
    page.get_by_role("button", name="Run").click()
    expect(page.locator(PAINT)).to_be_visible(timeout=20_000)
    return float(page.locator(PAINT).inner_text())


def one_save(page: Page, widget: Path, heading: str) -> float:
    """Milliseconds from a save until the widget that is shown says it."""
    text = widget.read_text()
    shown = page.frame_locator(".widget > .widget-stage iframe").last.frame_locator("iframe")
    began = time.monotonic()
    widget.write_text(HEADING.sub(f"<h1 id=place>{heading}</h1>", text))
    shown.locator("#place", has_text=heading).wait_for()
    return 1000 * (time.monotonic() - began)


@contextmanager
def dev(folder: Path, store: Path) -> Iterator[str]:
    """`platform dev` while the block runs; its origin."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        str(PLATFORM), "dev", str(folder), "--tenant", "acme", "--store", str(store), "--port", str(port), "--no-open",
        "--json",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    try:
        assert json.loads(process.stdout.readline())["ready"]
        yield f"http://localhost:{port}"
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def served(document: bytes) -> Iterator[str]:
    """An empty page, and one document at /widget."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Bare, document))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    thread.join()


class Bare(BaseHTTPRequestHandler):
    def __init__(self, document: bytes, *given: Any) -> None:
        self._document = document
        super().__init__(*given)

    def do_GET(self) -> None:
        body = self._document if self.path == "/widget" else b"<!doctype html><body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    main()
