"""Lists cost no import: what a server said of itself at publish is answered without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from hosted.conftest import HERE, HOST, Talk, gateway, published


class Forbidden:
    """A runner that no gateway may call."""

    async def describe(self, release: Any) -> dict[str, Any]:
        raise AssertionError("the server was described")

    async def call(self, release: Any, call: Any) -> dict[str, Any]:
        raise AssertionError(f"the server was asked for {call.method}")

    async def aclose(self) -> None:
        return None


async def test_a_cold_gateway_answers_for_a_server_whose_import_takes_five_seconds(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    server = (HERE / "mcpserver" / "server.py").read_text()
    slow = server.replace("import os\n", "import os\nimport time\n", 1).replace("READS =", "time.sleep(5)\nREADS =", 1)
    assert "time.sleep(5)" in slow
    (source / "server.py").write_text(slow)
    (source / "plugin.toml").write_text((HERE / "mcpserver" / "plugin.toml").read_text())
    release = await published("mcpserver", source, tmp_path)
    transport = httpx.ASGITransport(gateway(release.objects, Forbidden()))
    async with httpx.AsyncClient(transport=transport) as http:
        cold = Talk(http, f"https://{HOST}/t/acme/mcpserver/mcp")
        assert (await cold.greet("2025-11-25"))["result"]["serverInfo"]["name"] == "zoo"
        assert "tools" in (await cold.result("2026-07-28", "server/discover"))["capabilities"]
        for revision in ("2025-11-25", "2026-07-28"):
            for method, key, count in (
                ("tools/list", "tools", 3),
                ("prompts/list", "prompts", 1),
                ("resources/list", "resources", 2),
                ("resources/templates/list", "resourceTemplates", 1),
            ):
                assert len((await cold.result(revision, method))[key]) == count
            uri = release.manifest.widgets[0].uri
            read = await cold.result(revision, "resources/read", {"uri": uri})
            assert "id=list" in read["contents"][0]["text"]
