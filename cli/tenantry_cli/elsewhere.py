"""`platform dev --url`: the page, in front of an MCP server that runs somewhere else."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

from tenantry_registry.errors import PlatformError

from tenantry_cli.address import Address, bind
from tenantry_cli.output import Terminal
from tenantry_cli.server import serving, stop_signal


@dataclass
class Elsewhere:
    """One run; the fields are the command's options."""

    url: str
    host: str
    port: int
    open_page: bool
    as_json: bool
    terminal: Terminal

    async def run(self) -> int:
        """Serve the page until Ctrl-C. Raises: PlatformError `dev.url`, `serve.port-taken`."""
        from tenantry_cli.host.server import create_host

        if urlsplit(self.url).scheme not in ("http", "https") or not urlsplit(self.url).netloc:
            raise PlatformError("dev.url", f"{self.url!r} is no MCP address.", "Write it like https://example.com/mcp")
        stop, listener = stop_signal(), bind(self.host, self.port)
        address = Address(listener.getsockname()[1])
        with listener:
            async with serving(create_host(list, url=self.url), listener):
                if self.as_json:
                    self.terminal.answer({"ready": True, "origin": address.origin, "plugins": []}, compact=True)
                else:
                    self.terminal.line(f"Ready on {address.origin}, for {self.url}   (Ctrl-C stops)")
                if self.open_page:
                    import webbrowser

                    await asyncio.to_thread(webbrowser.open, address.origin)
                await stop.wait()
        return 0
