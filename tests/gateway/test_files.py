"""Files of a call: slots, links, what is taken out of a result, and the signed routes of one machine."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from gateway.house import HOST, SHARED, House, ask, manifest, say, tool
from tenantry_gateway.governor import PAYLOAD_BYTES, fit, fits, weigh
from tenantry_registry.limits_sqlite import SqliteLimiter
from tenantry_registry.objects import Download, Kind, Upload
from tenantry_registry.runners import Call, Release
from tenantry_registry.tenants import Tenants
from tenantry_registry.turnstile_sqlite import SqliteTurnstile
from tenantry_registry.usage_sqlite import SqliteUsage

LINK = "https://origin.tenantry.invalid/files/{}/r%C3%A9port%20%22a%22.csv"
NAME = 'réport "a".csv'


def saving(house: House, *, lose: bool = False, forge: bool = False) -> Any:
    """A tool that saves one file and returns its address."""

    async def answer(release: Release, call: Call) -> dict[str, Any]:
        slot = call.uploads[0]
        if not lose:
            await house.objects.put_once(slot["key"], b"a,b\n1,2\n", Kind())
        id = "file_" + "0" * 32 if forge else slot["id"]
        link = LINK.format(slot["id"])
        return {
            "result": {"content": [{"type": "text", "text": link}], "structuredContent": {"download_url": link}},
            "files": [{"id": id, "name": NAME, "mime_type": "text/csv", "size": 8}],
        }

    return answer


@pytest.fixture
async def files(house: House) -> House:
    await house.publish(manifest(uses_files=True, tools=(tool("echo"),)))
    house.runner.answer = saving(house)
    return house


async def follow(house: House, url: str, method: str = "GET", **headers: str) -> httpx.Response:
    parts = urlsplit(url)
    async with house.http(parts.netloc) as http:
        return await http.request(method, f"{parts.path}?{parts.query}".rstrip("?"), headers=headers)


@pytest.mark.row("O11")
async def test_a_saved_file_becomes_a_link_that_leads_to_it(files: House) -> None:
    async with files.http() as http:
        result = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
    url = result["structuredContent"]["download_url"]
    assert url == result["content"][0]["text"]
    assert url.startswith(f"https://{HOST}/files/")
    assert url.endswith("/r%C3%A9port%20%22a%22.csv")
    assert len(files.runner.calls[0].uploads) == 9
    redirect = await follow(files, url, origin="null")
    assert (redirect.status_code, redirect.headers["access-control-allow-origin"]) == (302, "*")
    read = await follow(files, redirect.headers["location"])
    assert (read.status_code, read.content) == (200, b"a,b\n1,2\n")
    assert read.headers["content-type"] == "text/csv"
    assert "r%C3%A9port" in read.headers["content-disposition"]
    head = await follow(files, (await follow(files, url, "HEAD")).headers["location"], "HEAD")
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "8", b"")
    left = [listed.key async for listed in files.objects.list("pending/acme/zoo/")]
    assert left == []


async def test_path_form_links_stay_below_the_path(files: House) -> None:
    async with files.http(SHARED) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}
        result = (await http.post("/t/acme/zoo/mcp", json=body)).json()["result"]
    url = result["structuredContent"]["download_url"]
    assert url.startswith(f"https://{SHARED}/t/acme/zoo/files/")
    assert (await follow(files, url)).status_code == 302
    elsewhere = url.replace(f"{SHARED}/t/acme/zoo", HOST)
    assert (await follow(files, elsewhere)).status_code == 403


async def test_files_count_against_the_plan(files: House, tmp_path: Path) -> None:
    limiter, usage = SqliteLimiter(tmp_path / "limits.db"), SqliteUsage(tmp_path / "usage.db")
    tenants = Tenants(files.objects)
    await tenants.create("acme")
    files.extra |= {"limiter": limiter, "turnstile": SqliteTurnstile(limiter, usage)}
    for limits, refused in (({}, False), ({"file_bytes": 4}, True)):
        await tenants.change("acme", limits=limits)
        async with files.http() as http:
            result = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
        assert bool(result.get("isError")) is refused, result
    limiter.close()
    usage.close()


@pytest.mark.parametrize("how", [{"lose": True}, {"forge": True}])
async def test_a_file_that_did_not_arrive_is_an_error(files: House, how: dict[str, bool]) -> None:
    files.runner.answer = saving(files, **how)
    async with files.http() as http:
        result = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
    assert result["isError"] is True
    assert "did not arrive" in result["content"][0]["text"]


async def test_a_changed_or_foreign_link_is_403_and_an_old_one_410(files: House) -> None:
    async with files.http() as http:
        result = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
    url = result["structuredContent"]["download_url"]
    assert (await follow(files, url + "x")).status_code == 403
    assert (await follow(files, url.replace("/files/", "/files/0"))).status_code == 403
    assert (await follow(files, f"https://{HOST}/files/nothing")).status_code == 403
    from tenantry_registry.links import Links

    old = Links(files.objects, now=lambda: 1_000_000.0)
    token = await old.make(f"https://{HOST}", "file_" + "0" * 32, "a.txt", 60)
    assert (await follow(files, f"https://{HOST}/files/{token}/a.txt")).status_code == 410
    await files.registry.set_state(files_name(), "suspended")
    assert (await follow(files, url)).status_code == 403


def files_name() -> Any:
    from gateway.house import NAME as plugin

    return plugin


# -- the payload governor -------------------------------------------------------------------------------------------


async def returned(house: House, result: dict[str, Any], **more: Any) -> tuple[httpx.Response, dict[str, Any]]:
    async def answer(release: Release, call: Call) -> dict[str, Any]:
        return {"result": result}

    house.runner.answer = answer
    tools = (tool("big", **more),)
    await house.publish(manifest(tools=tools))
    async with house.http() as http:
        response = await say(http, "tools/call", {"name": "big", "arguments": {}})
    return response, response.json()["result"]


@pytest.mark.parametrize("text", ["x" * 7_000_000, '"' * 4_000_000, "é" * 2_000_000, "\n" * 4_000_000])
async def test_a_text_of_any_kind_fits_a_lambda_response(house: House, text: str) -> None:
    response, result = await returned(house, {"content": [{"type": "text", "text": text}]})
    assert response.status_code == 200
    assert len(json.dumps({"statusCode": 200, "body": response.text})) < PAYLOAD_BYTES
    shown, link = result["content"]
    assert shown["text"].startswith(text[:100])
    assert (link["type"], link["size"]) == ("resource_link", len(text.encode()))
    whole = await follow(house, (await follow(house, link["uri"])).headers["location"])
    assert whole.text == text


async def test_images_and_resources_become_links(house: House) -> None:
    data = base64.b64encode(b"\x89PNG" + bytes(2_500_000)).decode()
    content = [
        {"type": "image", "data": data, "mimeType": "image/png"},
        {"type": "audio", "data": data, "mimeType": "audio/x y"},
        {"type": "resource", "resource": {"uri": "x://a", "blob": data, "mimeType": "application/pdf"}},
        {"type": "resource", "resource": {"uri": "x://b", "text": "t" * 3_000_000}},
        {"type": "strange", "payload": "p" * 3_000_000},
        {"type": "text", "text": "small"},
    ]
    _, result = await returned(house, {"content": content})
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    assert {link["mimeType"] for link in links} >= {"image/png", "application/pdf"}
    assert result["content"][-1] == {"type": "text", "text": "small"}
    png = next(link for link in links if link["mimeType"] == "image/png")
    assert png["name"] == "image.png"
    got = await follow(house, (await follow(house, png["uri"])).headers["location"])
    assert got.content.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("block", "mime"),
    [
        ({"type": "resource", "resource": {"uri": "x://b", "text": "t" * 7_000_000}}, "application/octet-stream"),
        ({"type": "strange", "payload": "p" * 7_000_000}, "application/json"),
        ({"type": "resource", "resource": "r" * 7_000_000}, "application/json"),
    ],
)
async def test_any_other_block_becomes_a_link(house: House, block: dict[str, Any], mime: str) -> None:
    _, result = await returned(house, {"content": [block]})
    assert "linked below" in result["content"][0]["text"]
    assert result["content"][1]["mimeType"] == mime


async def test_the_widgets_data_go_before_the_structured_ones(house: House) -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "string"}}}
    big = {"structuredContent": {"rows": "x" * 4_000_000}, "_meta": {"all": "y" * 4_000_000}}
    _, result = await returned(house, big, outputSchema=schema)
    assert result["structuredContent"]["rows"] == "x" * 4_000_000
    assert "_meta" not in result
    assert "left out" in result["content"][-1]["text"]


@pytest.mark.parametrize("meta", [{}, {"_meta": {"all": "y" * 7_000_000}}])
async def test_structured_data_that_do_not_fit_are_an_error_with_a_file(house: House, meta: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "string"}}}
    _, result = await returned(house, {"structuredContent": {"rows": "x" * 7_000_000}, **meta}, outputSchema=schema)
    assert result["isError"] is True
    assert "structuredContent" not in result
    whole = await follow(house, (await follow(house, result["content"][1]["uri"])).headers["location"])
    assert json.loads(whole.content) == {"rows": "x" * 7_000_000}


async def test_a_reply_too_large_to_return_comes_through_a_slot(house: House, http: httpx.AsyncClient) -> None:
    async def answer(release: Release, call: Call) -> dict[str, Any]:
        slot = call.uploads[-1]
        whole = {"result": {"content": [{"type": "text", "text": "z" * 8_000_000}]}}
        await house.objects.put_once(slot["key"], json.dumps(whole).encode(), Kind())
        return {"overflow": {"id": slot["id"], "size": 8_000_000}, "ms": 3}

    house.runner.answer = answer
    result = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
    assert result["content"][1]["size"] == 8_000_000


async def test_a_broken_overflow_is_an_error(house: House, http: httpx.AsyncClient) -> None:
    async def answer(release: Release, call: Call) -> dict[str, Any]:
        slot = call.uploads[-1]
        await house.objects.put_once(slot["key"], b"{nonsense", Kind())
        return {"overflow": {"id": slot["id"]}}

    house.runner.answer = answer
    result = (await ask(http, "tools/call", {"name": "echo", "arguments": {}})).json()["result"]
    assert "did not arrive" in result["content"][0]["text"]


async def test_what_fits_is_left_alone() -> None:
    async def never(data: bytes, mime: str, name: str) -> dict[str, Any]:
        raise AssertionError

    result = {"content": [{"type": "text", "text": "é" * 900_000}], "structuredContent": {"a": 1}}
    assert await fit(result, never) == result
    assert weigh(b'a"\n\xc3\xa9') == len(json.dumps('a"\né'))
    assert fits(b"x" * 6_000_000)
    assert not fits("é".encode() * 2_000_000)


async def test_many_small_blocks_are_not_worth_files() -> None:
    taken: list[str] = []

    async def offload(data: bytes, mime: str, name: str) -> dict[str, Any]:
        taken.append(name)
        return {"type": "resource_link", "uri": "x", "name": name, "size": len(data)}

    result = await fit({"content": [{"type": "text", "text": "x" * 1_000} for _ in range(10_000)]}, offload)
    assert result["isError"] is True
    assert taken == ["result.json"]


async def test_data_that_are_no_base64_are_kept_as_they_are() -> None:
    kept: list[bytes] = []

    async def offload(data: bytes, mime: str, name: str) -> dict[str, Any]:
        kept.append(data)
        return {"type": "resource_link", "uri": "x", "name": name, "size": len(data)}

    await fit({"content": [{"type": "image", "data": "é" * 3_000_000}]}, offload)
    assert kept[0].startswith("é".encode())


# -- signed routes of one machine -----------------------------------------------------------------------------------


@pytest.fixture
async def local(house: House) -> httpx.AsyncClient:
    await house.objects.put_once("files/a/b/c", b"0123456789", Kind("text/plain", content_encoding="identity"))
    return house.http(SHARED)


async def signed(house: House, access: Download | Upload, key: str = "files/a/b/c") -> Any:
    made = await house.objects.sign(key, access)
    parts = urlsplit(made.url)
    return (f"{parts.path}?{parts.query}", made.fields)


@pytest.mark.parametrize(
    ("header", "status", "body", "shown"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=20-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=1-2,4-5", 200, b"0123456789", None),
    ],
)
async def test_parts_of_a_file(
    house: House, local: httpx.AsyncClient, header: str, status: int, body: bytes, shown: str | None
) -> None:
    path, _ = await signed(house, Download(60))
    response = await local.get(path, headers={"range": header})
    assert (response.status_code, response.content) == (status, body)
    assert response.headers.get("content-range") == shown


async def test_a_file_has_an_etag_and_a_type(house: House, local: httpx.AsyncClient) -> None:
    path, _ = await signed(house, Download(60, content_type="text/csv"))
    response = await local.get(path)
    assert response.headers["content-type"] == "text/csv"
    assert (await local.get(path, headers={"if-none-match": response.headers["etag"]})).status_code == 304
    stale = await local.get(path, headers={"range": "bytes=2-4", "if-range": '"other"'})
    assert stale.status_code == 200


async def test_only_what_is_signed_is_answered(house: House, local: httpx.AsyncClient) -> None:
    path, _ = await signed(house, Download(60))
    assert (await local.get(path.replace("files/a", "files/x"))).status_code == 403
    assert (await local.get("/_objects/files/a/b/c")).status_code == 403
    assert (await local.head(path)).status_code == 403
    missing, _ = await signed(house, Download(60), "files/a/b/nothing")
    assert (await local.get(missing)).status_code == 404
    assert (await local.put(path)).status_code == 405
    assert (await local.options(path)).status_code == 204


async def test_an_upload_is_one_key_one_size_one_type(house: House, local: httpx.AsyncClient) -> None:
    path, fields = await signed(house, Upload(60, 100, "text/plain"), "pending/x/y/z")

    async def post(data: bytes, **changes: str) -> int:
        given = {**fields, **changes}
        return (await local.post(path, data=given, files={"file": ("n", data)})).status_code

    assert await post(b"hello") == 204
    stored = await house.objects.get("pending/x/y/z")
    assert stored is not None
    assert (stored.data, stored.kind.content_type) == (b"hello", "text/plain")
    assert await post(b"x" * 101) == 400
    assert await post(b"") == 400
    assert await post(b"x", key="other") == 403
    assert await post(b"x", **{"Content-Type": "text/html"}) == 403


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=B", b"nonsense"),
        ("multipart/form-data; boundary=B", b"--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--B--\r\n"),
        (
            "multipart/form-data; boundary=B",
            b"--B\r\nContent-Disposition: form-data; name=a\r\n\r\n" + b"1" * 20_000 + b"\r\n--B--\r\n",
        ),
    ],
)
async def test_what_is_no_upload_form_is_400(local: httpx.AsyncClient, kind: str, body: bytes) -> None:
    response = await local.post("/_objects/", content=body, headers={"content-type": kind})
    assert response.status_code == 400


async def test_a_fault_of_the_folder_is_503(house: House, local: httpx.AsyncClient) -> None:
    path, _ = await signed(house, Download(60))
    stored = next(file for file in (house.objects.folder / "objects").rglob("c@"))
    stored.write_bytes(b"garbage")
    assert (await local.get(path)).status_code == 503


async def test_a_form_that_breaks_off_stores_nothing(house: House, local: httpx.AsyncClient) -> None:
    path, fields = await signed(house, Upload(60, 100, "text/plain"), "pending/x/y/z")
    parts = [f"--B\r\nContent-Disposition: form-data; name={k}\r\n\r\n{v}\r\n" for k, v in fields.items()]
    parts.append('--B\r\nContent-Disposition: form-data; name="file"\r\nX-Other: 1\r\n\r\nhal')

    async def body() -> Any:
        for part in parts:
            yield part.encode()

    headers = {"content-type": "multipart/form-data; boundary=B"}
    assert (await local.post(path, content=body(), headers=headers)).status_code == 400
    assert await house.objects.get("pending/x/y/z") is None
    parts.append("f\r\n--B\r\nContent-Disposition: form-data; name=late\r\n\r\n1\r\n--B--\r\n")
    assert (await local.post(path, content=body(), headers=headers)).status_code == 204
    stored = await house.objects.get("pending/x/y/z")
    assert stored is not None
    assert stored.data == b"half"
