"""The host's server part, in process: dispatch, policies, documents, files, events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.applications import Starlette
from tenantry_cli.address import Address
from tenantry_cli.host import create_host, takes
from tenantry_cli.host.policy import content_security_policy, permissions_policy, sources
from tenantry_cli.host.screenshots import capture
from tenantry_cli.machine import Machine, Served
from tenantry_gateway import documents
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.registry import state_folder

PAGE = "http://localhost:8787"
WIDGET = "http://zoo-acme.widgets.localhost:8787"


def host(**more: Any) -> Starlette:
    return create_host(lambda: [{"tenant": "acme", "plugin": "zoo"}], **more)


def client(app: Starlette | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app or host())
    return httpx.AsyncClient(transport=transport, base_url=PAGE, headers={"Origin": PAGE})


@pytest.mark.parametrize(
    ("address", "path", "ours"),
    [
        ("localhost:8787", "/", True),
        ("localhost:8787", "/_host/state", True),
        ("localhost:8787", "/.well-known/oauth-authorization-server/_host/oauth", True),
        ("127.0.0.1:8787", "/", True),
        ("[::1]:8787", "/", True),
        ("proxy.localhost:8787", "/", True),
        ("zoo-acme.widgets.localhost:8787", "/items/7", True),
        ("localhost:8787", "/t/acme/zoo/mcp", False),
        ("localhost:8787", "/_hosted", False),
        ("zoo-acme.localhost:8787", "/", False),
        ("evil.example", "/_host/state", False),
        ("proxy.localhost.evil.example", "/", False),
    ],
)
def test_the_host_takes_its_own_requests_only(address: str, path: str, ours: bool) -> None:
    scope = {"type": "http", "path": path, "headers": [(b"host", address.encode())]}
    assert takes(scope) is ours
    assert takes({**scope, "type": "lifespan"}) is False


async def test_the_page_is_built_framed_by_nobody_and_loads_nothing_from_elsewhere() -> None:
    async with client() as http:
        page = await http.get("/")
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-src http://proxy.localhost:8787" in policy
        script = page.text.split('src="')[1].split('"')[0]
        built = await http.get(script)
        assert "immutable" in built.headers["cache-control"]
        for path in ("nothing.js", "../server.py", "%2e%2e/server.py", "index.html"):
            assert (await http.get(f"/_host/page/{path}")).status_code == 404
        proxy = await http.get("http://proxy.localhost:8787/")
        assert "frame-src http://*.widgets.localhost:8787" in proxy.headers["content-security-policy"]


async def test_an_address_by_number_is_sent_to_the_name(tmp_path: Path) -> None:
    async with client() as http:
        answer = await http.get("http://127.0.0.1:8787/?tool=x")
        assert answer.status_code == 308
        assert answer.headers["location"] == "http://localhost:8787/?tool=x"
    async with client(host(dist=tmp_path)) as http:
        answer = await http.get("/")
        assert answer.status_code == 503
        assert "make setup" in answer.text


async def test_only_the_page_changes_anything() -> None:
    async with client() as http:
        for origin in ("http://zoo-acme.widgets.localhost:8787", "https://evil.example", "null"):
            answer = await http.post("/_host/documents", json={}, headers={"Origin": origin})
            assert answer.status_code == 403
        bare = httpx.AsyncClient(transport=httpx.ASGITransport(host()), base_url=PAGE)
        assert (await bare.post("/_host/files/?label=x", content=b"x")).status_code == 403
        state = (await bare.get("/_host/state")).json()
        assert state["plugins"] == [{"tenant": "acme", "plugin": "zoo"}]
    async with client(host(url="https://mcp.example/mcp")) as http:
        state = (await http.get("/_host/state")).json()
        assert (state["plugins"], state["url"]) == ([], "https://mcp.example/mcp")


async def test_findings_are_handed_on() -> None:
    async with client(host(checks=lambda tenant, plugin: [{"rule": f"{tenant}/{plugin}"}])) as http:
        assert (await http.get("/_host/checks?tenant=acme&plugin=zoo")).json() == [{"rule": "acme/zoo"}]
    async with client() as http:
        assert (await http.get("/_host/checks?tenant=acme&plugin=zoo")).json() == []


async def test_what_a_tool_finds_in_its_documents_is_told_to_the_page_alone(tmp_path: Path) -> None:
    zoo, ann = Name("acme", "zoo"), {"iss": "https://id.example", "sub": "ann"}
    objects = FileObjects(tmp_path, origin=PAGE)
    runner: Any = None  # nothing runs
    machine = Machine(objects, runner, Address(8787), tmp_path)
    manifest = Manifest("acme", "zoo", "0" * 64, 0.0, "s:p", {"name": "zoo"}, plain=("blind",))
    machine.served[zoo] = Served(zoo, manifest, machine.address)
    empty = await documents.load(objects, documents.shared_key(state_folder(zoo)))
    await documents.save(objects, empty, {"set": {"hay": 3}})
    own = await documents.load(objects, documents.state_key(state_folder(zoo), ann))
    await documents.save(objects, own, {"set": {"fed": True}})
    async with client(host(kept=machine.kept)) as http:

        async def kept(tool: str, user: dict[str, str] | None, plugin: str = "zoo") -> Any:
            asked = {"tenant": "acme", "plugin": plugin, "tool": tool, "user": user}
            return (await http.post("/_host/kept", json=asked)).json()

        assert await kept("feed", ann) == {"shared": {"hay": 3}, "state": {"fed": True}}
        assert await kept("feed", {**ann, "sub": "bob"}) == {"shared": {"hay": 3}, "state": {}}
        assert await kept("feed", None) == {"shared": {"hay": 3}, "state": {}}
        assert await kept("blind", ann) == {"shared": {}, "state": {}}
        assert await kept("feed", ann, "other") is None
        foreign = await http.post("/_host/kept", json={}, headers={"Origin": "http://zoo-acme.widgets.localhost:8787"})
        assert foreign.status_code == 403
    async with client() as http:
        assert (await http.post("/_host/kept", json={"tenant": "", "plugin": "", "tool": ""})).json() is None


@pytest.mark.row("R03")
def test_the_policy_is_built_from_the_lists_and_nothing_slips_through() -> None:
    hostile = [
        "https://ok.example",
        "https://x.example; script-src *",
        "'unsafe-eval'",
        "*",
        "javascript:",
        7,
        "https://*.cdn.example",
    ]
    assert sources(hostile) == ["https://ok.example", "https://*.cdn.example"]
    assert sources("https://text.example") == []
    assert sources(None) == []
    files = f"{PAGE}/_host/download/"
    closed = content_security_policy(None, ancestors=[PAGE], files=files)
    assert f"connect-src {files};" in closed
    assert "frame-src 'none'" in closed
    assert closed.endswith(f"frame-ancestors {PAGE}")
    opened = content_security_policy(
        {
            "connectDomains": ["wss://live.example"],
            "frameDomains": ["https://f.example"],
            "baseUriDomains": ["https://b.example"],
        },
        ancestors=[PAGE],
        files=files,
    )
    assert f"connect-src 'self' wss://live.example {files};" in opened
    assert "frame-src https://f.example;" in opened
    assert "base-uri https://b.example" in opened
    assert "unsafe-eval" in content_security_policy(None, ancestors=[PAGE], files=files, open_=True)
    assert permissions_policy({"camera": {}}, origin=WIDGET).startswith(f'camera=(self "{WIDGET}"), microphone=()')
    assert "camera=()" in permissions_policy(None, origin=WIDGET)


async def register(http: httpx.AsyncClient, **document: Any) -> str:
    body = {"label": "zoo-acme", "html": "<p>hello"} | document
    answer = await http.post("/_host/documents", json=body)
    assert answer.status_code == 200, answer.text
    found: str = answer.json()["id"]
    return found


@pytest.mark.parametrize(
    ("html", "begins"),
    [
        ("<!doctype html><html><head><title>x", "<!doctype html><script src="),
        ("\ufeff <!-- <head> --> <!DOCTYPE html>\n<p>x", "\ufeff <!-- <head> --> <!DOCTYPE html>\n<script src="),
        ("<p>x", "<script src="),
        ("", "<script src="),
    ],
)
async def test_a_document_is_served_on_its_own_origin_with_the_shim_first(html: str, begins: str) -> None:
    async with client() as http:
        key = await register(
            http, html=html, csp={"connectDomains": ["https://api.example"]}, permissions={"camera": {}}
        )
        served = await http.get(f"{WIDGET}/?_doc={key}")
        assert served.text.startswith(begins)
        assert "immutable" in served.headers["cache-control"]
        policy = served.headers["content-security-policy"]
        assert "connect-src 'self' https://api.example" in policy
        assert "frame-ancestors http://localhost:8787 http://proxy.localhost:8787" in policy
        assert served.headers["permissions-policy"].startswith("camera=(self")
        other = await http.get(f"http://other-acme.widgets.localhost:8787/?_doc={key}")
        assert other.status_code == 404
        source = served.text.split('src="')[1].split('"')[0]
        script = await http.get(f"{WIDGET}{source}")
        assert script.headers["content-type"].startswith("text/javascript")
        assert "immutable" in script.headers["cache-control"]  # its address carries its hash
        opened = await http.get(f"{WIDGET}/?_doc={await register(http, html=html, open=True)}")
        assert "default-src *" in opened.headers["content-security-policy"]


async def test_a_widget_s_frame_finds_its_way_back_and_its_relative_files_do_not_exist() -> None:
    async with client() as http:
        back = await http.get(f"{WIDGET}/items/7", headers={"Sec-Fetch-Dest": "iframe"})
        assert "window.name" in back.text
        image = await http.get(f"{WIDGET}/picture.png", headers={"Sec-Fetch-Dest": "image"})
        assert image.status_code == 404
        assert "absolute URLs" in image.text


async def test_documents_are_bounded() -> None:
    async with client() as http:
        first = await register(http)
        for _ in range(64):
            await register(http)
        assert (await http.get(f"{WIDGET}/?_doc={first}")).status_code == 404
        bad = await http.post("/_host/documents", json={"label": "evil.example/x", "html": ""})
        assert bad.status_code == 422
        big = await http.post("/_host/documents", content=b"{}", headers={"Content-Length": "20000001"})
        assert big.status_code == 413


@pytest.mark.row("O11", "O10")
async def test_files_belong_to_plugins_and_their_urls_expire() -> None:
    now = [1000.0]
    async with client(host(clock=lambda: now[0], file_seconds=10)) as http:
        names = {"X-File-Name": "h%C3%A9y%20%22.txt", "Content-Type": "text/html"}
        kept = (await http.post("/_host/files/?label=a&library=1", content=b"<b>", headers=names)).json()
        assert kept == {"fileId": kept["fileId"], "fileName": 'héy ".txt', "mimeType": "text/html", "size": 3}
        link = f"/_host/files/{kept['fileId']}/link"
        assert (await http.post(link, json={"label": "b"})).status_code == 404
        url = (await http.post(link, json={"label": "a"})).json()["downloadUrl"]
        got = await http.get(url, headers={"Origin": WIDGET})
        assert (got.content, got.headers["access-control-allow-origin"]) == (b"<b>", "*")
        assert got.headers["content-disposition"] == "attachment; filename*=UTF-8''h%C3%A9y%20%22.txt"
        assert got.headers["content-security-policy"].startswith("sandbox")
        assert (await http.request("OPTIONS", url)).status_code == 204
        assert (await http.get(url.replace("/download/", "/download/x"))).status_code == 404
        now[0] += 10
        assert (await http.get(url)).status_code == 410
        assert [f["fileId"] for f in (await http.get("/_host/files/")).json()] == [kept["fileId"]]
        assert (await http.post(f"/_host/files/{kept['fileId']}/grant", json={"label": "b"})).status_code == 200
        assert (await http.post(link, json={"label": "b"})).status_code == 200
        own = (await http.post("/_host/files/?label=a", content=b"x")).json()["fileId"]
        assert (await http.post(f"/_host/files/{own}/grant", json={"label": "b"})).status_code == 404
        big = await http.post("/_host/files/?label=a", content=b"x", headers={"Content-Length": "50000001"})
        assert big.status_code == 413


async def test_news_of_releases_is_streamed_until_the_source_ends() -> None:
    async def events() -> AsyncIterator[dict[str, str]]:
        yield {"tenant": "acme", "plugin": "zoo", "release": "r2"}
        yield {"event": "refused", "tenant": "acme", "plugin": "zoo"}
        await asyncio.sleep(0)

    async with client(host(events=events)) as http:
        body = (await http.get("/_host/events")).text
        assert 'event: release\ndata: {"tenant": "acme", "plugin": "zoo", "release": "r2"}' in body
        assert 'event: refused\ndata: {"tenant": "acme", "plugin": "zoo"}' in body


async def test_a_picture_waits_for_the_page_and_an_unknown_one_does_not_exist() -> None:
    async with client() as http:
        holding = asyncio.ensure_future(http.get("/_host/screenshots/hold/k1"))
        await asyncio.sleep(0)
        assert not holding.done()
        assert (await http.post("/_host/screenshots/hold/k1")).status_code == 204
        assert (await holding).status_code == 204
        assert (await http.get("/_host/screenshots/none")).status_code == 404
        assert (await http.get("/_host/screenshots/none.png")).status_code == 404
        key = (await http.post("/_host/screenshots/", json={"turn": 1})).json()["id"]
        assert (await http.get(f"/_host/screenshots/{key}")).json() == {"turn": 1}
        assert (await http.get(f"/_host/screenshots/{key}.png?width=1")).status_code == 404


async def test_a_browser_that_makes_no_picture_is_said_so() -> None:
    with pytest.raises(PlatformError) as caught:
        await capture(PAGE, width=100, height=100, browser="/bin/true")
    assert caught.value.code == "host.screenshot"


async def test_without_a_browser_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CHROME", raising=False)
    async with client() as http:
        assert (await http.get("/_host/state")).json()["screenshots"] is False
        key = (await http.post("/_host/screenshots/", json={})).json()["id"]
        refused = await http.get(f"/_host/screenshots/{key}.png")
        assert (refused.status_code, refused.json()["code"]) == (503, "host.no-browser")
