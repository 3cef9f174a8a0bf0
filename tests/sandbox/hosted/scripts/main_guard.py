# /// script
# requires-python = ">=3.11"
# dependencies = ["mcp>=2"]
# ///
"""The commonest form of a server: a script that runs it under __main__."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server import MCPServer


@dataclass
class Sum:
    total: int


def build() -> MCPServer:
    server = MCPServer("script")

    @server.tool()
    def add(a: int, b: int) -> Sum:
        """Adds."""
        return Sum(a + b)

    return server


if __name__ == "__main__":
    build().run(transport="stdio")
