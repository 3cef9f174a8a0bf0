"""A picture of a widget as the page shows it: a headless Chromium opens the page's own link to one message.

The page stores what the message holds (nothing is called again), a browser found on this machine opens
`/?shot=ID`, and its PNG comes back. `capture` is also what `platform submit` uses, with a link that makes the call
(`/?plugin=TENANT/PLUGIN&tool=NAME&arguments=JSON&bare`).

How the browser knows when to look: it takes its picture at the page's load event, and the page holds that event back
with an image that is not answered until the widget has drawn itself (`hold`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from tenantry_registry.errors import PlatformError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "brave-browser")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-device-scale-factor=2",
    "--force-prefers-reduced-motion",  # what moves is shown where it comes to rest
)  # fmt: skip
PATIENCE = 30.0  # seconds a browser may take
HOLD = 15.0  # seconds that a page may hold back its picture
KEPT = 16
SIDES = range(50, 5001)  # pixels


class Screenshots:
    """Stored messages and the pictures made of them."""

    def __init__(self, browser: str | None = None) -> None:
        self._browser = browser
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._held: dict[str, asyncio.Event] = {}

    @property
    def routes(self) -> list[BaseRoute]:
        return [
            Route("/", self.create, methods=["POST"]),
            Route("/hold/{key}", self.hold, methods=["GET", "POST"]),
            Route("/{id}", self.message),
            Route("/{id}.png", self.picture),
        ]

    def available(self) -> bool:
        """Whether this machine has a browser to take pictures with."""
        return (self._browser or find_browser()) is not None

    async def create(self, request: Request) -> Response:
        key = secrets.token_urlsafe(12)
        self._kept[key] = await request.json()
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return JSONResponse({"id": key})

    async def hold(self, request: Request) -> Response:
        """GET is answered once POST was made for the same key, or after `HOLD` seconds."""
        event = self._held.setdefault(request.path_params["key"], asyncio.Event())
        if request.method == "POST":
            event.set()
        else:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), HOLD)
            self._held.pop(request.path_params["key"], None)
        return Response(status_code=204)

    async def message(self, request: Request) -> Response:
        key = request.path_params["id"]
        if key.endswith(".png"):
            return await self.picture(request)
        return JSONResponse(self._kept[key]) if key in self._kept else PlainTextResponse("Gone.\n", 404)

    async def picture(self, request: Request) -> Response:
        """GET /{id}.png?width=&height= -> the PNG."""
        key = request.path_params["id"].removesuffix(".png")
        query = request.query_params
        width, height = int(query.get("width", "768")), int(query.get("height", "600"))
        if key not in self._kept or width not in SIDES or height not in SIDES:
            return PlainTextResponse("There is no such picture.\n", 404)
        link = f"{request.url.scheme}://{request.url.netloc}/?shot={key}"
        try:
            data = await capture(link, width=width, height=height, browser=self._browser)
        except PlatformError as error:
            return JSONResponse({"code": error.code, "message": error.message, "hint": error.hint}, 503)
        headers = {"Cache-Control": "no-store", "Content-Disposition": 'attachment; filename="widget.png"'}
        return Response(data, media_type="image/png", headers=headers)


def find_browser() -> str | None:
    """A Chromium on this machine: $CHROME, the usual names on the PATH, the usual applications."""
    named = os.environ.get("CHROME")
    found = (shutil.which(name) for name in ((named,) if named else BROWSERS))
    return next((path for path in found if path), None) or next((a for a in APPLICATIONS if Path(a).exists()), None)


async def capture(link: str, *, width: int, height: int, browser: str | None = None) -> bytes:
    """The PNG of a link of the page, `width` x `height` CSS pixels at twice the density.

    Raises: PlatformError `host.no-browser`, `host.screenshot`.
    """
    program = browser or find_browser()
    if program is None:
        raise PlatformError(
            "host.no-browser", "No Chromium was found to take the picture with.", "Install one, or name it in CHROME."
        )
    with tempfile.TemporaryDirectory(prefix="tenantry-shot-", ignore_cleanup_errors=True) as folder:
        picture = Path(folder) / "shot.png"
        process = await asyncio.create_subprocess_exec(
            program, *FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={width},{height}",
            f"--screenshot={picture}", link,
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if not picture.is_file():
            raise PlatformError("host.screenshot", "The browser made no picture.", "Open the link in it and look.")
        return picture.read_bytes()
