"""Addresses that a tenant or a client gives the platform to fetch: files of tools, authorization servers, schemas."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from attacks.village import TRUDY, VAULT_TOML, Village
from tenantry.download import Fetcher
from tenantry.errors import FileError
from tenantry_registry.errors import PlatformError
from tenantry_registry.fetch import HttpsFetch
from tenantry_registry.issuers import Issuers

pytestmark = pytest.mark.asyncio(loop_scope="session")

INSIDE = {
    "ipv4": ["127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
    "ipv6": ["[::1]", "[::]", "[fc00::1]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]"],
    "mapped": [
        *("[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[64:ff9b::a9fe:a9fe]"),
        *("[2002:7f00:1::]", "[2001:0:0:0:0:0:80ff:fffe]"),
    ],
    "encoded": ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "127.0.0.1.", "localhost", "LOCALHOST."],
    "names": ["localhost.localdomain", "ip6-localhost", "127.0.0.1%00.example.com", "①②⑦.⓪.⓪.①"],
}
FORMS = [
    "http://93.184.216.34/x", "file:///etc/passwd", "ftp://93.184.216.34/x", "gopher://127.0.0.1/x", "//127.0.0.1/x",
    "https://user:pw@93.184.216.34/", "https://93.184.216.34:0/", "https://93.184.216.34@127.0.0.1/", "data:,x",
    "https://127.0.0.1\\@93.184.216.34/", "https://93.184.216.34#@127.0.0.1/\r\nX: y", "https:///x", "jar:https://x!/",
]  # fmt: skip


class Web(BaseHTTPRequestHandler):
    """A server on this machine, where no tenant should get; it counts who did."""

    reached: list[str] = []

    def do_GET(self) -> None:
        self.reached.append(self.path)
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to?"))
        else:
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def inside() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Web) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield httpd.server_port
        httpd.shutdown()
        thread.join()


async def fetched(village: Village, url: str) -> dict[str, Any]:
    """What trudy's tool, which has egress, is told when a client hands it that file."""
    file = {"download_url": url, "file_id": "f1"}
    params = {"name": "fetch", "arguments": {"file": file}}
    result: dict[str, Any] = (await village.ask("trudy-acme", "tools/call", params)).json()["result"]
    return result


@pytest.mark.attack("ssrf-file")
@pytest.mark.parametrize("kind", INSIDE)
async def test_no_file_is_fetched_from_inside_however_it_is_written(village: Village, inside: int, kind: str) -> None:
    for host in INSIDE[kind]:
        for url in (f"https://{host}:{inside}/x", f"http://{host}:{inside}/x"):
            assert (await fetched(village, url))["isError"] is True, url
    assert Web.reached == []


@pytest.mark.attack("ssrf-form")
@pytest.mark.parametrize("url", FORMS)
async def test_an_address_of_another_form_is_no_file(village: Village, url: str) -> None:
    began = time.monotonic()
    result = await fetched(village, url)
    assert result["isError"] is True
    assert "root:" not in str(result)
    assert time.monotonic() - began < 3, "it was not even tried"


@pytest.mark.attack("ssrf-issuer")
@pytest.mark.parametrize("host", [*INSIDE["ipv4"], *INSIDE["ipv6"], *INSIDE["mapped"], *INSIDE["encoded"]])
async def test_an_authorization_server_inside_is_not_asked(village: Village, inside: int, host: str) -> None:
    with pytest.raises(PlatformError) as refused:
        await HttpsFetch()(f"https://{host}:{inside}/.well-known/oauth-authorization-server")
    assert refused.value.code == "fetch.failed"
    assert Web.reached == []


@pytest.mark.attack("ssrf-jwks")
async def test_an_authorization_server_cannot_point_its_keys_inside(village: Village) -> None:
    asked = []

    async def web(url: str, **_: Any) -> bytes:
        asked.append(url)
        if url.startswith("https://evil.example"):
            return b'{"issuer": "https://evil.example", "jwks_uri": "https://169.254.169.254/latest/meta-data"}'
        return await HttpsFetch()(url)

    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6Im9uZSJ9.e30.AAAA"
    with pytest.raises(PlatformError) as refused:
        await Issuers(web).verify(token, issuer="https://evil.example", audience=["x"])
    assert refused.value.code in ("fetch.failed", "auth.issuer-unavailable")
    assert asked[-1].startswith("https://169.254.169.254"), "it was asked for, and refused"


@pytest.mark.attack("ssrf-redirect")
@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "http://[::ffff:169.254.169.254]/", "http://b.example/", "file:///x"]
)
async def test_a_redirect_is_checked_like_the_first_address(village: Village, inside: int, target: str) -> None:
    where = {"a.example": ["127.0.0.1"], "b.example": ["10.0.0.1"]}  # development allows this machine, and no more
    fetcher = Fetcher(lambda host, port: where.get(host, [host]), development=True)
    with pytest.raises(FileError):
        fetcher.open(f"http://a.example:{inside}/to?{target}", max_bytes=9, deadline=time.monotonic() + 5)
    assert Web.reached.pop() == f"/to?{target}"
    assert Web.reached == []


@pytest.mark.attack("ssrf-rebinding")
async def test_a_name_that_changes_its_address_is_connected_where_it_was_checked(village: Village, inside: int) -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"]]
    fetcher = Fetcher(lambda host, port: answers.pop(0), development=True)
    fetcher.open(f"http://a.example:{inside}/once", max_bytes=9, deadline=time.monotonic() + 5).close()
    assert (Web.reached.pop(), len(answers)) == ("/once", 2), "resolved once, connected to that"
    mixed = Fetcher(lambda host, port: ["93.184.216.34", "127.0.0.1"])
    with pytest.raises(FileError):
        mixed.open(f"https://a.example:{inside}/x", max_bytes=9, deadline=time.monotonic() + 5)
    assert Web.reached == []


@pytest.mark.attack("ssrf-schema")
async def test_a_schema_makes_the_gateway_fetch_nothing(village: Village, inside: int) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": f"http://127.0.0.1:{inside}/schema.json"}}}
    server = (
        "from tenantry import Plugin\nplugin = Plugin()\n"
        f"@plugin.tool(read_only=True, destructive=False, open_world=False, input_schema={schema!r})\n"
        'def look(**arguments) -> str:\n    """Use this to look."""\n    return "x"\n'
    )
    ended = await village.publish("acme", "vault", village.bundle(VAULT_TOML, server))
    if ended["state"] == "done":
        await village.ask("vault-acme", "tools/call", {"name": "look", "arguments": {"x": 1}})
    assert Web.reached == []


@pytest.mark.attack("dev-files")
async def test_what_development_allows_is_off(village: Village, inside: int) -> None:
    assert "TENANTRY_DEV_FILES" not in await village.attack("got = list(os.environ)", "trudy-acme")
    assert "fetch" in TRUDY
    assert (await fetched(village, f"http://127.0.0.1:{inside}/x"))["isError"] is True
    assert Web.reached == []
