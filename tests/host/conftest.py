"""The house for the browser tests: one server with the host and scripted plugins, one Chromium, a page a test."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from person import PATIENCE, Person  # noqa: E402
from scripted import Scripted  # noqa: E402
from tenantry_cli.host import create_host, takes  # noqa: E402

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader",
    # Playwright turns off the partitioning of third-party storage, and with it the storage: as in Chrome, it is on here
    "--disable-features=Translate,MediaRouter,OptimizationHints,HttpsUpgrades",
)  # fmt: skip
SHOTS = HERE.parent.parent / ".build" / "host-screens"


@dataclass
class House:
    """The running server. Plugins are added to `plugins`; `clock` is what download URLs expire by."""

    port: int
    plugins: dict[str, Scripted] = field(default_factory=dict)
    clock: list[float] = field(default_factory=lambda: [1_000_000.0])
    findings: list[dict[str, Any]] = field(default_factory=list)
    elsewhere: dict[str, str] = field(default_factory=dict)  # plugins that other servers serve: name -> MCP URL
    listeners: set[asyncio.Queue[dict[str, Any]]] = field(default_factory=set)
    loop: asyncio.AbstractEventLoop | None = None

    @property
    def origin(self) -> str:
        return f"http://localhost:{self.port}"

    def add(self, plugin: Scripted) -> Scripted:
        self.plugins[plugin.name] = plugin
        return plugin

    def listed(self) -> list[dict[str, Any]]:
        return [
            {
                "tenant": "test",
                "plugin": p.name,
                "title": p.title or p.name,
                "release": "r1",
                "mcp_url": f"{self.origin}/t/test/{p.name}/mcp",
                "host_url": f"http://{p.name}-test.localhost:{self.port}/mcp",
                "examples": p.examples,
                "kind": p.kind,
                "secrets": p.secrets,
            }
            for p in self.plugins.values()
        ] + [{"tenant": "test", "plugin": name, "mcp_url": url} for name, url in self.elsewhere.items()]

    async def news(self) -> AsyncIterator[dict[str, Any]]:
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.listeners.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self.listeners.discard(queue)

    def released(self, plugin: Scripted) -> None:
        """Tell every open page that the plugin has a new release."""
        self.tell({"plugin": plugin.name, "release": "r2"})

    def tell(self, event: dict[str, Any]) -> None:
        """Tell every open page something about a plugin."""
        for queue in self.listeners:
            self.soon(queue.put_nowait, {"tenant": "test", **event})

    def soon(self, act: Callable[..., Any], *args: Any) -> None:
        """Do something in the server's loop."""
        assert self.loop
        self.loop.call_soon_threadsafe(act, *args)


@pytest.fixture(scope="session")
def house() -> Iterator[House]:
    listener = socket.create_server(("127.0.0.1", 0))
    made = House(listener.getsockname()[1])
    host = create_host(
        made.listed,
        checks=lambda tenant, plugin: made.findings,
        events=made.news,
        clock=lambda: made.clock[0],
        file_seconds=60,
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if takes(scope):
            return await host(scope, receive, send)
        request = Request(scope, receive)
        parts = request.url.path.replace("/.well-known/oauth-protected-resource/", "/").split("/")
        plugin = made.plugins.get(parts[3]) if len(parts) > 4 and parts[1] == "t" else None
        answer = await plugin(request) if plugin else PlainTextResponse("There is nothing here.", 404)
        await answer(scope, receive, send)

    config = uvicorn.Config(app, lifespan="off", ws="none", log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    def serve() -> None:
        with asyncio.Runner() as runner:
            made.loop = runner.get_loop()
            runner.run(server.serve(sockets=[listener]))

    thread = threading.Thread(target=serve)
    thread.start()
    yield made
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS), headless=True)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, house: House) -> Iterator[Page]:
    """A fresh browser profile: wide, light, English."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 900},
        locale="en-US",
        color_scheme="light",
        permissions=["clipboard-read", "clipboard-write"],
    )
    yield context.new_page()
    context.close()


@pytest.fixture
def person(page: Page, house: House) -> Iterator[Person]:
    found = Person(page, house.origin)
    yield found
    assert found.errors == []


@pytest.fixture
def probe_html() -> str:
    return (HERE / "widgets" / "probe.html").read_text()


@pytest.fixture
def probe(house: House, probe_html: str) -> Scripted:
    """A plugin whose tool `look` shows the probe widget, with a policy that allows nothing beyond the default."""
    plugin = Scripted("probe", title="Probe")
    uri = "ui://widget/probe.html"
    meta = {
        "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True},
        "openai/widgetDescription": "A probe for tests.",
        "openai/widgetCSP": {"connect_domains": [], "resource_domains": [], "redirect_domains": ["https://go.example"]},
    }
    plugin.widget(uri, probe_html, meta)
    plugin.tool("look", title="Look", _meta={"ui": {"resourceUri": uri}, "openai/toolInvocation/invoking": "Looking…"})
    return house.add(plugin)


@pytest.fixture(scope="session")
def shots() -> Path:
    """Where pictures of the main screens are kept."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    return SHOTS
