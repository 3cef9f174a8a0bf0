"""HTTP around the protocol: hosts, paths, verbs, origins, previews, and the plugin's other documents."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.house import HOST, NAME, SHARED, WIDGET_URI, Failing, House, ask, manifest, modern, modern_headers, say
from tenantry_gateway.request import Request, Response
from tenantry_gateway.turn import Answer
from tenantry_registry.errors import PlatformError

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PATH = "/t/acme/zoo"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_spellings_answer_and_nothing_redirects(http: httpx.AsyncClient, path: str) -> None:
    response = await http.post(path, json=PING)
    assert (response.status_code, response.history) == (200, [])


@pytest.mark.parametrize("path", [f"{PATH}/mcp", f"{PATH}/mcp/"])
async def test_path_form_is_the_same_plugin(house: House, http: httpx.AsyncClient, path: str) -> None:
    async with house.http(SHARED) as shared:
        assert (await shared.post(path, json=PING)).status_code == 200
        body = modern("resources/read", {"uri": WIDGET_URI}, **{"openai/locale": "de"})
        read = (await shared.post(path, json=body, headers=modern_headers(body))).json()["result"]["contents"][0]
        assert f"https://{SHARED}{PATH}/assets/" in read["text"]
        assert "domain" not in read["_meta"]["ui"]
        assert "openai/widgetDomain" not in read["_meta"]
        assert read["_meta"]["ui"]["csp"]["resourceDomains"] == [f"https://{SHARED}"]


@pytest.mark.row("P09")
async def test_the_hash_is_of_the_exact_address(http: httpx.AsyncClient) -> None:
    body = modern("resources/read", {"uri": WIDGET_URI})
    domains = set()
    for path in ("/mcp", "/mcp/"):
        headers = modern_headers(body, user_agent="Claude-User/1.0")
        read = (await http.post(path, json=body, headers=headers)).json()
        domains.add(read["result"]["contents"][0]["_meta"]["ui"]["domain"])
    assert len(domains) == 2
    assert all(domain.endswith(".claudemcpcontent.com") for domain in domains)


@pytest.mark.parametrize(
    "host",
    [
        *(
            "evil.example.com",
            "zoo-acme.evil.com",
            "plugins.example.com",
            "nothing-acme.plugins.example.com",
            "",
            "a.b",
        ),
        *("x.zoo-acme.plugins.example.com", "zoo-acme.plugins.example.com.evil.com", "localhost", "127.0.0.1"),
    ],
)
async def test_any_other_host_is_404(house: House, http: httpx.AsyncClient, host: str) -> None:
    response = await http.post("/mcp", json=PING, headers={"host": host})
    assert response.status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/", "/t", "/t/acme", "/t/acme/", "/t/acme/none/mcp", "/t/other/zoo/mcp", "/t/../x/mcp", "/t/a/zoo/mcp", "/x"],
)
async def test_any_other_path_is_404(house: House, http: httpx.AsyncClient, path: str) -> None:
    async with house.http(SHARED) as shared:
        assert (await shared.post(path, json=PING)).status_code == 404


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "PATCH"])
async def test_every_verb_but_post_is_405_at_once(http: httpx.AsyncClient, method: str) -> None:
    began = time.perf_counter()
    response = await http.request(method, "/mcp", headers={"accept": "text/event-stream"})
    assert (response.status_code, response.headers["allow"]) == (405, "POST, OPTIONS")
    assert time.perf_counter() - began < 0.5


# -- browsers -------------------------------------------------------------------------------------------------------


async def test_a_preflight_is_answered_before_anything_else(house: House, http: httpx.AsyncClient) -> None:
    headers = {"origin": "https://chatgpt.com", "access-control-request-headers": "mcp-param-region, x-y"}
    response = await http.options("/mcp", headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == "https://chatgpt.com"
    assert response.headers["access-control-allow-headers"] == "mcp-param-region, x-y"
    plain = await http.options("/mcp", headers={"origin": f"https://{HOST}"})
    assert "mcp-protocol-version" in plain.headers["access-control-allow-headers"]
    foreign = await http.options("/mcp", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in foreign.headers
    asset = await http.options("/assets/aaaaaaaa/x.js", headers={"origin": "null"})
    assert asset.headers["access-control-allow-origin"] == "*"
    assert (await http.options("/mcp", headers={"host": "evil.example"})).status_code == 204


@pytest.mark.parametrize("origin", ["https://chatgpt.com", f"https://{HOST}"])
async def test_a_trusted_page_may_read_the_answer(http: httpx.AsyncClient, origin: str) -> None:
    response = await http.post("/mcp", json=PING, headers={"origin": origin})
    assert response.headers["access-control-allow-origin"] == origin
    assert "Mcp-Session-Id" in response.headers["access-control-expose-headers"]


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://chatgpt.com", "http://localhost:8787", "https://chatgpt.com.evil"],
)
async def test_a_foreign_page_is_403(http: httpx.AsyncClient, origin: str) -> None:
    response = await http.post("/mcp", json=PING, headers={"origin": origin})
    assert response.status_code == 403
    assert "id" not in response.json() or response.json()["id"] is None


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://localhost:3000", 200), ("http://127.0.0.1", 200), ("http://x.localhost:9", 200), ("http://evil", 403)],
)
async def test_pages_of_this_machine_are_trusted_in_development(tmp_path: Path, origin: str, status: int) -> None:
    house = House(tmp_path, mode="development")
    await house.publish()
    async with house.http() as http:
        assert (await http.post("/mcp", json=PING, headers={"origin": origin})).status_code == status


# -- behind CloudFront ----------------------------------------------------------------------------------------------


async def test_a_forwarded_host_counts_only_with_the_secret(tmp_path: Path) -> None:
    house = House(tmp_path, origin_secret="s3cret")
    await house.publish()
    async with house.http("abc.execute-api.us-east-1.amazonaws.com") as http:
        for headers, status in (
            ({"x-forwarded-host": HOST, "x-tenantry-origin": "s3cret"}, 200),
            ({"x-forwarded-host": HOST, "x-tenantry-origin": "wrong"}, 404),
            ({"x-forwarded-host": HOST, "x-tenantry-origin": b"wr\xf6ng"}, 404),
            ({"x-forwarded-host": HOST}, 404),
            ({}, 404),
        ):
            assert (await http.post("/mcp", json=PING, headers=headers)).status_code == status


async def test_a_fault_of_storage_behind_a_link_is_503(house: House) -> None:
    await house.publish()
    house.objects = Failing(house.objects, "keys/")  # type: ignore[assignment]
    token = f"0123abcd.file_{'0' * 32}.1.{'A' * 43}"
    async with house.http() as http:
        assert (await http.get(f"/files/{token}/a.txt")).status_code == 503


async def test_without_a_secret_no_forwarded_host_counts(http: httpx.AsyncClient) -> None:
    headers = {"host": "evil.example", "x-forwarded-host": HOST, "x-tenantry-origin": ""}
    assert (await http.post("/mcp", json=PING, headers=headers)).status_code == 404


# -- releases -------------------------------------------------------------------------------------------------------


async def test_a_preview_is_served_at_its_digits_until_it_ends(house: House, http: httpx.AsyncClient) -> None:
    digest = await house.publish(manifest(instructions="Preview."), current=False, preview_until=time.time() + 600)
    for base, host in ((f"/v/{digest[:12]}", HOST), (f"{PATH}/v/{digest[:12]}", SHARED)):
        async with house.http(host) as other:
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
            assert (await other.post(f"{base}/mcp", json=body)).json()["result"]["instructions"] == "Preview."
            assert (await other.get(f"{base}/")).status_code == 200
    current = await say(http, "initialize", {"protocolVersion": "2025-11-25"})
    assert current.json()["result"]["instructions"] == "Ask about animals."
    assert (await http.post("/v/000000000000/mcp", json=PING)).status_code == 404
    await house.registry.yank(NAME, digest)
    assert (await http.post(f"/v/{digest[:12]}/mcp", json=PING)).status_code == 404


async def test_a_suspended_plugin_is_403_and_a_withdrawn_one_404(house: House, http: httpx.AsyncClient) -> None:
    await house.registry.set_state(NAME, "suspended")
    response = await http.post("/mcp", json=PING)
    assert (response.status_code, response.json()["error"]["data"]["code"]) == (403, "plugin.suspended")
    assert response.json()["id"] == 1
    assert (await http.get("/")).status_code == 403
    await house.registry.set_state(NAME, "active")
    await house.registry.point(NAME, None)
    assert (await http.post("/mcp", json=PING)).status_code == 404
    await house.registry.set_state(NAME, "deleted")
    assert (await http.post("/mcp", json=PING)).status_code == 404


async def test_every_widget_ever_published_goes_on_being_read(house: House, http: httpx.AsyncClient) -> None:
    await house.publish(manifest(widgets=(), resources=()))
    read = (await ask(http, "resources/read", {"uri": WIDGET_URI})).json()["result"]
    assert read["contents"][0]["uri"] == WIDGET_URI
    assert read["ttlMs"] == 86_400_000
    assert (await ask(http, "resources/read", {"uri": "ui://widget/never.html"})).status_code == 400


async def test_the_bare_name_is_read_but_not_for_long(house: House, http: httpx.AsyncClient) -> None:
    for _ in range(2):
        read = (await ask(http, "resources/read", {"uri": "ui://widget/animals.html"})).json()["result"]
        assert (read["contents"][0]["uri"], read["ttlMs"]) == ("ui://widget/animals.html", 60_000)


async def test_a_missing_document_is_an_error_of_ours(house: House, http: httpx.AsyncClient) -> None:
    await house.objects.delete("site/acme/zoo/0123456789/index.html")
    response = await ask(http, "resources/read", {"uri": WIDGET_URI})
    assert response.json()["error"]["data"]["code"] == "objects.unavailable"


async def test_a_large_widget_is_read_each_time(house: House) -> None:
    from gateway import house as shared

    large = shared.WIDGET_HTML + b" " * 600_000
    await house.publish()
    await house.objects.swap("site/acme/zoo/0123456789/index.html", large, expected=shared.ANY)
    async with house.http() as http:
        for _ in range(2):
            text = (await ask(http, "resources/read", {"uri": WIDGET_URI})).json()["result"]["contents"][0]["text"]
            assert len(text) > 600_000


# -- other documents ------------------------------------------------------------------------------------------------


@pytest.mark.row("P01")
async def test_the_challenge_is_that_plugins_token_alone(house: House, http: httpx.AsyncClient) -> None:
    address = "/.well-known/openai-apps-challenge"
    assert (await http.get(address)).status_code == 404
    await house.registry.challenge(NAME, "token-123")
    response = await http.get(address)
    assert (response.text, response.headers["content-type"]) == ("token-123", "text/plain; charset=utf-8")
    assert response.headers["cache-control"] == "no-store"
    async with house.http(SHARED) as shared:
        assert (await shared.get(f"{PATH}{address}")).status_code == 404


@pytest.mark.row("P05")
async def test_both_forms_of_the_resource_document(house: House, http: httpx.AsyncClient) -> None:
    address = "/.well-known/oauth-protected-resource"
    assert (await http.get(address)).status_code == 404
    await house.publish(manifest(auth={"issuer": "https://auth.example.com/", "scopes": ["a"]}))
    for path in (address, f"{address}/mcp"):
        document = (await http.get(path)).json()
        assert document["resource"] == f"https://{HOST}/mcp"
        assert document["authorization_servers"] == ["https://auth.example.com/"]
    async with house.http(SHARED) as shared:
        document = (await shared.get(f"{address}{PATH}/mcp")).json()
        assert document["resource"] == f"https://{SHARED}{PATH}/mcp"


async def test_the_front_page_says_how_to_connect_and_runs_nothing_foreign(house: House) -> None:
    await house.publish(manifest(server={"name": "zoo", "title": "<Zoo>", "description": "A & B"}))
    async with house.http() as http:
        for path in ("/", ""):
            response = await http.get(path)
            assert f"https://{HOST}/mcp" in response.text
            assert "&lt;Zoo&gt;" in response.text
            assert "{{" not in response.text
            assert "default-src 'none'" in response.headers["content-security-policy"]
        assert (await http.post("/")).status_code == 405
        assert (await http.get("/nothing")).status_code == 404


async def test_a_body_over_the_limit_is_413_with_an_error(http: httpx.AsyncClient) -> None:
    for content in (b" " * 4_194_305, _chunks()):
        response = await http.post("/mcp", content=content)
        assert response.status_code == 413
        assert response.json()["error"]["code"] == -32600
    assert (await http.post("/mcp", content=_some())).json()["result"] == {}


async def _chunks() -> Any:
    for _ in range(5):
        yield b" " * 1_000_000


async def _some() -> Any:
    yield b'{"jsonrpc":"2.0","id":1,'
    yield b'"method":"ping"}'


async def test_a_fault_of_ours_has_an_id_and_no_text(house: House, http: httpx.AsyncClient) -> None:
    async def broken(request: Request, site: Any, edition: Any) -> None:
        raise RuntimeError("secret")

    house.extra["authenticate"] = broken
    async with house.http() as fresh:
        response = await fresh.post("/mcp", json=PING)
    assert response.status_code == 500
    assert "secret" not in response.text
    line = house.log[-1]
    assert line["error_id"] == response.json()["error"]["data"]["error_id"]
    assert "secret" in line["traceback"]


async def test_sign_in_may_end_a_request_with_an_answer(house: House) -> None:
    async def refusing(request: Request, site: Any, edition: Any) -> None:
        raise Answer(Response(401, headers=[("www-authenticate", "Bearer")]))

    house.extra["authenticate"] = refusing
    await house.publish()
    async with house.http() as http:
        response = await http.post("/mcp", json=PING, headers={"origin": f"https://{HOST}"})
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


async def test_the_log_has_one_line_a_call_and_no_arguments(house: House, http: httpx.AsyncClient) -> None:
    params = {"name": "count", "arguments": {"count": 3}}
    await ask(http, "tools/call", params, **{"openai/session": "s1", "openai/widgetSessionId": "w" * 999})
    line = house.log[-1]
    assert (line["tenant"], line["plugin"], line["tool"], line["session"]) == ("acme", "zoo", "count", "s1")
    assert len(line["widget_session"]) == 256
    assert "arguments" not in str(line)
    await ask(http, "resources/read", {"uri": "zoo://rules"})
    assert house.log[-1]["tool"] == "zoo://rules"


def test_an_app_needs_an_origin_and_keys(house: House) -> None:
    for change in ({"origin": ""}, {"seal_keys": ""}, {"seal_keys": "k1:x"}, {"seal_keys": "k1"}):
        house.settings = house.settings.model_copy(update=change)
        with pytest.raises(PlatformError):
            house.app()


def test_development_makes_its_own_key(tmp_path: Path) -> None:
    house = House(tmp_path, seal_keys="", mode="development")
    assert house.app() is not None
