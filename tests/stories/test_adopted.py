"""A server that somebody has already is hosted from its file alone: `platform init --from`, and it answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from stories.served import META, Served

HOSTED = Path(__file__).parents[1] / "hosted"
SCRIPT = '''# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations


def main():
    server = MCPServer("Counting")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False))
    def count(words: list[str]) -> int:
        """Use this to count words."""
        return len(words)

    server.run(transport="stdio")


if __name__ == "__main__":
    main()
'''


def tools(served: Served, plugin: str) -> list[str]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
    answer = httpx.post(served.url(plugin), json=body, headers={**headers, "Mcp-Method": "tools/list"}, timeout=30)
    return sorted(tool["name"] for tool in answer.json()["result"]["tools"])


@pytest.mark.parametrize(
    ("server", "tool", "arguments", "told"),
    [
        ("mcpserver", "animals", {"kind": "owl"}, '{"kind": "owl", "count": 2}'),
        ("raw", "clock", {"city": "Bern"}, "Bern"),
        ("script", "count", {"words": ["a", "b"]}, '{"result": 2}'),
    ],
)
def test_a_server_is_adopted_and_answers(
    start: Callable[..., Served],
    platform: Callable[..., str],
    tmp_path: Path,
    server: str,
    tool: str,
    arguments: dict[str, object],
    told: str,
) -> None:
    source = tmp_path / "server.py"
    if server == "script":
        source.write_text(SCRIPT)
    else:
        shutil.copy(HOSTED / server / "server.py", source)
    said = platform("init", "--from", "server.py", "adopted")
    assert "platform dev adopted" in said
    served = start("dev", "adopted", "--no-open")
    [(_, plugin)] = served.plugins
    assert tool in tools(served, plugin)
    result = served.call(plugin, tool, arguments)
    assert not result.get("isError"), result
    assert told in json.dumps(result)
