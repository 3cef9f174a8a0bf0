"""The revisions of MCP that are served, and the two eras they fall into.

`HANDSHAKE` is the era of `initialize` (2025-03-26 to 2025-11-25), `STATELESS` the one that began with 2026-07-28.
One address serves both; the era is decided per request, in `wire.py`.
"""

from __future__ import annotations

from typing import Final

HANDSHAKE: Final = "2025"
STATELESS: Final = "2026"

BATCHING: Final = "2025-03-26"  # the one revision whose servers must accept arrays
ASSUMED: Final = "2025-03-26"  # what a request without a version header speaks (2025-11-25, Protocol Version Header)
NEWEST_HANDSHAKE: Final = "2025-11-25"
NEWEST: Final = "2026-07-28"

HANDSHAKE_REVISIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
STATELESS_REVISIONS: Final = ("2026-07-28",)
ALL: Final = (*STATELESS_REVISIONS, *HANDSHAKE_REVISIONS)

# the keys of a stateless request's _meta
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"

UI: Final = "io.modelcontextprotocol/ui"  # the extension of MCP Apps
WIDGET_MIME: Final = "text/html;profile=mcp-app"  # row R01
