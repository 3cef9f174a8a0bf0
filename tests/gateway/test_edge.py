"""Behind what AWS puts before a function: renamed headers, another Host, stages, caps, and S3's own 403."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from gateway.house import HOST, SHARED, EchoRunner, House, manifest, replying, tool
from simulators import aws_edge
from simulators.aws_edge import API_HOST, PAYLOAD_BYTES, AwsEdge
from tenantry_gateway.on_lambda import bridge

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}


@pytest.fixture(params=["$default", "prod"])
def edge(house: House, request: pytest.FixtureRequest) -> Iterator[AwsEdge]:
    house.settings = house.settings.model_copy(update={"origin_secret": "s3cret"})
    asyncio.run(house.publish())

    async def asset(host: str, path: str) -> tuple[bytes, str] | None:
        return (b"js", "text/javascript") if path.endswith("app.js") else None

    simulator = AwsEdge(lambda: bridge(house.app()), secret="s3cret", stage=request.param, asset=asset)
    yield simulator
    simulator.close()


def viewer(edge: AwsEdge, host: str = HOST) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(edge), base_url=f"https://{host}")


async def test_the_viewers_host_decides_and_the_apis_own_is_nobody(edge: AwsEdge) -> None:
    async with viewer(edge) as http, viewer(edge, SHARED) as shared:
        assert (await http.post("/mcp", json=PING)).json()["result"] == {}
        assert (await shared.post("/t/acme/zoo/mcp/", json=PING)).json()["result"] == {}
        assert edge.events[0]["headers"]["host"] == API_HOST
        assert (await http.get("/mcp")).status_code == 405
    edge._secret = ""
    async with viewer(edge) as around:
        assert (await around.post("/mcp", json=PING)).status_code == 404


async def test_what_is_not_in_s3_is_403_and_what_is_is_served(edge: AwsEdge) -> None:
    async with viewer(edge) as http:
        assert (await http.get("/assets/aaaaaaaa/app.js")).text == "js"
        assert (await http.get("/assets/aaaaaaaa/none.js")).status_code == 403
    assert edge.events == []


@pytest.mark.row("P05")
async def test_a_challenge_survives_the_renaming(edge: AwsEdge, house: House) -> None:
    schemes = [{"type": "oauth2", "scopes": ["read"]}]
    tools = (tool("echo", securitySchemes=schemes),)
    await house.publish(manifest(auth={"issuer": "https://auth.example.com", "scopes": ["read"]}, tools=tools))
    async with viewer(edge) as http:
        response = await http.post("/mcp", json=CALL)
    assert response.status_code == 401
    assert "resource_metadata=" in response.headers["www-authenticate"]
    assert f"https://{HOST}/.well-known/oauth-protected-resource/mcp" in response.headers["www-authenticate"]


@pytest.mark.parametrize("character", ["x", '"', "é", "\n", "😀"])
async def test_no_result_is_too_large_for_the_way_back(edge: AwsEdge, house: House, character: str) -> None:
    text = character * 3_200_000
    house.runner.answer = replying(result={"content": [{"type": "text", "text": text}, {"type": "text", "text": text}]})
    async with viewer(edge) as http:
        response = await http.post("/mcp", json=CALL, timeout=60)
    assert response.status_code == 200
    assert any(block["type"] == "resource_link" for block in response.json()["result"]["content"])


async def test_a_response_over_the_cap_is_what_the_governor_prevents() -> None:
    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return {"statusCode": 200, "headers": {}, "body": "x" * PAYLOAD_BYTES, "isBase64Encoded": False}

    simulator = AwsEdge(lambda: bridge_to(handler))
    async with viewer(simulator) as http:
        assert (await http.post("/mcp", json=PING)).status_code == 502
    simulator.close()


async def test_who_is_slower_than_the_api_waits_is_answered_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        slow = event["rawPath"] == "/slow"
        assert not slow or released.wait(60)
        return {"statusCode": 200, "headers": {}, "body": "late" if slow else "in time", "isBase64Encoded": False}

    simulator = AwsEdge(lambda: bridge_to(handler))
    async with viewer(simulator) as http:
        assert (await http.get("/quick")).text == "in time"
        monkeypatch.setattr(aws_edge, "SECONDS", 0.05)
        slow = await http.get("/slow")
        assert (slow.status_code, slow.json()) == (503, {"message": "Service Unavailable"})
        monkeypatch.undo()
        released.set()
        assert (await http.get("/quick")).text == "in time"  # the environment ends the one, then takes the next
    simulator.close()


def bridge_to(handler: Any) -> Any:
    asyncio.set_event_loop(asyncio.new_event_loop())
    return handler


async def test_files_and_pages_pass(edge: AwsEdge, house: House) -> None:
    house.runner = EchoRunner()
    async with viewer(edge) as http:
        assert "text/html" in (await http.get("/")).headers["content-type"]
        assert (await http.get("/files/x/y")).status_code == 403
        answer = await http.options("/mcp", headers={"origin": "https://chatgpt.com"})
        assert answer.headers["access-control-allow-origin"] == "https://chatgpt.com"
        assert json.dumps(edge.events[0])
