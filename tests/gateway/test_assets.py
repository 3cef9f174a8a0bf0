"""/assets/{tree}/{path}: immutable, typed, open to every origin, and harmless as documents."""

from __future__ import annotations

import gzip
from urllib.parse import urlsplit

import brotli  # type: ignore[import-untyped]
import httpx
import pytest
from gateway.house import NAME, SHARED, Failing, House
from tenantry_registry.media import IMMUTABLE
from tenantry_registry.objects import Kind

TREE = "a" * 20
SCRIPT = b"console.log('zoo');" * 100


@pytest.fixture
async def zoo(house: House) -> httpx.AsyncClient:
    await house.publish()

    async def put(path: str, data: bytes, kind: Kind) -> None:
        await house.objects.put_once(f"site/acme/zoo/{TREE}/{path}", data, kind)

    await put("app.js", brotli.compress(SCRIPT), Kind("text/javascript; charset=utf-8", IMMUTABLE, "br"))
    await put("data.csv", gzip.compress(SCRIPT), Kind("text/csv", IMMUTABLE, "gzip"))
    await put("i/лев.png", b"\x89PNG123", Kind("image/png"))
    await put("index.html", b"<p>", Kind("text/html; charset=utf-8", IMMUTABLE))
    await put("logo.svg", b"<svg/>", Kind("image/svg+xml", IMMUTABLE))
    await put("big.bin", bytes(5_000_000), Kind("application/octet-stream", IMMUTABLE))
    return house.http()


def at(path: str) -> str:
    return f"/assets/{TREE}/{path}"


async def test_an_asset_goes_out_as_it_is_stored(zoo: httpx.AsyncClient) -> None:
    response = await zoo.get(at("app.js"), headers={"accept-encoding": "gzip, br"})
    assert (response.status_code, response.content) == (200, SCRIPT)
    assert response.headers["content-encoding"] == "br"
    assert response.headers["cache-control"] == IMMUTABLE
    assert response.headers["vary"] == "Accept-Encoding"
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["cross-origin-resource-policy"] == "cross-origin"
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("name", "accept", "encoding"),
    [
        ("app.js", "gzip", None),
        ("app.js", "br;q=0", None),
        ("app.js", "*", "br"),
        ("data.csv", "identity", None),
        ("data.csv", "gzip;q=0.5", "gzip"),
    ],
)
async def test_a_client_without_the_encoding_gets_it_decoded(
    zoo: httpx.AsyncClient, name: str, accept: str, encoding: str | None
) -> None:
    response = await zoo.get(at(name), headers={"accept-encoding": accept})
    assert (response.content, response.headers.get("content-encoding")) == (SCRIPT, encoding)


async def test_an_etag_saves_the_body(zoo: httpx.AsyncClient) -> None:
    etag = (await zoo.get(at("i/лев.png"))).headers["etag"]
    for header in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        response = await zoo.get(at("i/лев.png"), headers={"if-none-match": header})
        assert (response.status_code, response.content) == (304, b"")
    assert (await zoo.get(at("i/лев.png"), headers={"if-none-match": '"x"'})).status_code == 200


async def test_parts_and_heads(zoo: httpx.AsyncClient) -> None:
    part = await zoo.get(at("i/лев.png"), headers={"range": "bytes=1-3"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"PNG", "bytes 1-3/7")
    assert (await zoo.get(at("i/лев.png"), headers={"range": "bytes=9-"})).status_code == 416
    head = await zoo.head(at("i/лев.png"))
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "7")


@pytest.mark.parametrize("name", ["index.html", "logo.svg"])
async def test_documents_run_nothing_on_the_plugins_origin(zoo: httpx.AsyncClient, name: str) -> None:
    assert (await zoo.get(at(name))).headers["content-security-policy"] == "sandbox"


async def test_others_carry_no_policy(zoo: httpx.AsyncClient) -> None:
    assert "content-security-policy" not in (await zoo.get(at("i/лев.png"))).headers


async def test_what_is_too_large_for_lambda_is_redirected(house: House, zoo: httpx.AsyncClient) -> None:
    response = await zoo.get(at("big.bin"))
    assert response.status_code == 302
    parts = urlsplit(response.headers["location"])
    async with house.http(SHARED) as shared:
        assert len((await shared.get(f"{parts.path}?{parts.query}")).content) == 5_000_000


@pytest.mark.parametrize(
    "path",
    [
        *("/assets/", f"/assets/{TREE}", f"/assets/{TREE}/", "/assets/nothex/app.js", f"/assets/{TREE}/none.js"),
        *(f"/assets/{TREE}/..%2f..%2fx", f"/assets/{TREE}/a//b", f"/assets/{TREE}/%00", f"/assets/{TREE}/%2e/app.js"),
    ],
)
async def test_what_is_not_there_is_404(zoo: httpx.AsyncClient, path: str) -> None:
    response = await zoo.get(path)
    assert (response.status_code, response.headers["cache-control"]) == (404, "no-store")


async def test_assets_of_a_suspended_plugin_are_403(house: House, zoo: httpx.AsyncClient) -> None:
    await house.registry.set_state(NAME, "suspended")
    assert (await zoo.get(at("app.js"))).status_code == 403


async def test_a_fault_of_storage_is_503(house: House) -> None:
    await house.publish()
    house.objects = Failing(house.objects, "site/")  # type: ignore[assignment]
    async with house.http() as http:
        response = await http.get(at("app.js"))
    assert (response.status_code, response.json()["error"]["data"]["code"]) == (503, "objects.unavailable")
