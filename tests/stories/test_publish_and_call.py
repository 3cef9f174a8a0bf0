"""Publish a folder, call it by the official client, go back to what was before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from stories.served import Served, request, versioned
from tenantry_cli.client import connect, http_client


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_published_folder_answers_the_official_client_in_both_eras_and_at_both_addresses(
    mode: str, platform: Callable[..., str], start: Callable[..., Served], example: Callable[[str], Path]
) -> None:
    example("skies")
    printed = platform("publish", "skies")
    assert "released" in printed
    served = start("serve")
    plugin = served.plugins["dev", "skies"]

    async def use(url: str) -> None:
        async with connect(url, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["show_constellation", "whats_up"]
            result = await client.call_tool("show_constellation", {"name": "Lyra"})
            assert result.structured_content is not None
            assert result.structured_content["stars"][0]["name"] == "Vega"
            uri = (tools[0].meta or {})["ui"]["resourceUri"]
            page = (await client.read_resource(uri)).contents[0]
            assert page.mime_type == "text/html;profile=mcp-app"
            html = getattr(page, "text", "")
        begin = html.index('src="') + len('src="')
        async with http_client() as http:
            script = await http.get(html[begin : html.index('"', begin)])
        assert script.status_code == 200
        assert script.headers["access-control-allow-origin"] == "*"

    asyncio.run(use(plugin["mcp_url"]))
    asyncio.run(use(plugin["host_url"]))


def test_rolling_back_serves_the_older_release_at_once(
    platform: Callable[..., str], start: Callable[..., Served], example: Callable[[str], Path]
) -> None:
    folder = example("hello")
    versioned(folder, 1)
    platform("publish", "hello")
    served = start("serve")
    first = served.release("hello")
    versioned(folder, 2)
    printed = platform("publish", "hello")
    assert f"platform rollback dev/hello {first[:12]}" in printed
    assert served.call("hello", "hello", {"name": "Ada"})["content"][0]["text"] == "2 Ada"
    platform("rollback", "dev/hello")
    assert served.call("hello", "hello", {"name": "Ada"})["content"][0]["text"] == "1 Ada"
    live, left = platform("releases", "dev/hello").splitlines()[1:]
    assert live.startswith(first[:12])
    assert live.endswith("live")
    assert left.endswith("rolled back")


def test_two_tenants_with_the_same_plugin_name_never_meet(
    platform: Callable[..., str], start: Callable[..., Served], example: Callable[[str], Path]
) -> None:
    example("groceries")
    platform("publish", "groceries", "--tenant", "alpha")
    platform("publish", "groceries", "--tenant", "beta")
    served = start("serve")
    served.call("groceries", "add_item", {"name": "Alpha bread"}, "alpha")
    served.call("groceries", "add_item", {"name": "Beta milk"}, "beta")

    def names(tenant: str) -> list[str]:
        result = served.call("groceries", "show_list", {}, tenant)
        return [item["name"] for item in result["structuredContent"]["items"]]

    assert names("alpha") == ["Alpha bread"]
    assert names("beta") == ["Beta milk"]
    assert httpx.post(served.url("groceries", "gamma"), **request("show_list", {})).status_code == 404
    hosts = {p["host_url"] for p in served.plugins.values()}
    assert len(hosts) == 2
