"""Signing in under `platform dev`: the command as a process, its authorization server in place of the author's own,
the official client's OAuth flow in both eras, and a person who says yes, partly, or with a dead token."""

from __future__ import annotations

import datetime
import http.server
import json
import shutil
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import MCPError
from stories.served import COMMAND, Served
from stories.visitor import BACK, Visitor

ISSUER = "https://auth.zoo.example"
ZOO = Path(__file__).parent / "trees" / "zoo"


def zoo(folder: Path) -> Path:
    """The plugin, written into a folder of its own."""
    shutil.copytree(ZOO, folder / "zoo")
    return folder


@contextmanager
def platform_dev(folder: Path, *options: str) -> Iterator[Served]:
    served = Served([COMMAND, "dev", "zoo", "--json", "--port", *(options or ("0",))], folder)
    try:
        yield served
    finally:
        served.stop()


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One `platform dev` for all who come with names of their own."""
    with platform_dev(zoo(tmp_path_factory.mktemp("dev"))) as served:
        yield served


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a client's metadata, by https on this machine; processes started from here trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    trusted, secret = tmp_path / "trusted.pem", tmp_path / "secret.pem"
    trusted.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            about = {"client_id": address, "client_name": "Stories", "redirect_uris": [BACK]}
            self.wfile.write(json.dumps(about).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, secret)
    site.socket = context.wrap_socket(site.socket, server_side=True)
    address = f"https://localhost:{site.server_port}/client.json"
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    yield address
    site.shutdown()
    thread.join()
    site.server_close()


def visitor(dev: Served, document: str | None = None, **answer: Any) -> Visitor:
    found = Visitor(dev.url("zoo"), document=document)
    found.answers = [answer]
    return found


def text(result: Any) -> str:
    return str(result.content[0].text)


async def said(visitor: Visitor, tool: str, mode: Any = "auto") -> str:
    async with visitor.client(mode) as client:
        return text(await client.call_tool(tool, {}))


@pytest.mark.row("P05")
@pytest.mark.parametrize(("mode", "who"), [("legacy", "user-ada"), ("2026-07-28", "user-ben")])
async def test_the_official_client_signs_in_with_a_person_of_development(dev: Served, mode: Any, who: str) -> None:
    one = visitor(dev, person=who)
    async with one.client(mode) as client:
        assert text(await client.call_tool("look", {})) == "animals"
        assert one.asked == []
        assert text(await client.call_tool("mine", {})) == f"{who} 1"
        assert text(await client.call_tool("mine", {})) == f"{who} 2"
    (asked,) = one.asked
    assert asked["resource"] == dev.url("zoo")
    assert asked["code_challenge_method"] == "S256"
    assert asked["scope"] == "recipes.read"  # what the challenge named
    ann = visitor(dev, person="new", email=f"{mode}@example.com")
    assert await said(ann, "mine", mode) == f"user-{mode}-example-com 1"


@pytest.mark.row("P05")
async def test_a_client_is_known_by_its_document(tmp_path: Path, document: str) -> None:
    with platform_dev(zoo(tmp_path)) as dev:
        documented = visitor(dev, document)
        assert await said(documented, "mine") == "user-ada 1"
    assert documented.asked[0]["client_id"] == document


async def test_a_scope_that_was_refused_is_asked_for_again_when_a_tool_needs_it(dev: Served) -> None:
    eve = visitor(dev)
    eve.answers = [{"person": "new", "name": "Eve"}, {"person": "user-eve", "scope": []}, {"person": "user-eve"}]
    async with eve.client() as client:
        assert text(await client.call_tool("mine", {})) == "user-eve 1"
        with pytest.raises(MCPError):
            await client.call_tool("cook", {})
        assert text(await client.call_tool("cook", {})) == "Eve cooks"
    assert [set(asked["scope"].split()) for asked in eve.asked] == [
        {"recipes.read"},
        {"recipes.read", "recipes.write"},
        {"recipes.read", "recipes.write"},
    ]


async def test_a_dead_token_leads_to_another_sign_in_and_a_lost_one_to_refreshing(dev: Served) -> None:
    cyd = visitor(dev)
    cyd.answers = [{"person": "user-cyd", "expired": "on", "once": "on"}, {"person": "user-cyd"}]
    async with cyd.client() as client:
        with pytest.raises(MCPError):
            await client.call_tool("mine", {})  # the client gives up on a request whose new token is refused, too
        assert text(await client.call_tool("mine", {})) == "user-cyd 1"
    assert len(cyd.asked) == 2
    assert cyd.storage.tokens is not None
    before = cyd.storage.tokens
    cyd.storage.tokens = before.model_copy(update={"access_token": "", "expires_in": -1})
    assert await said(cyd, "mine") == "user-cyd 2"
    assert cyd.storage.tokens.refresh_token != before.refresh_token


async def test_a_sign_in_outlives_the_command_that_also_calls_as_anybody(
    tmp_path: Path, platform: Callable[..., str]
) -> None:
    zoo(tmp_path)
    with platform_dev(tmp_path) as first:
        ada = visitor(first)
        assert await said(ada, "mine") == "user-ada 1"
        assert "user-ada 2" in platform("call", first.url("zoo"), "mine", "--as", "ada@people.example")
    with platform_dev(tmp_path, first.origin.rpartition(":")[2], "--try") as second:
        second.wait_for("mine: user-ada 3")
        assert await said(ada, "mine") == "user-ada 4"
        assert "user-ann-example-com 1" in platform("call", second.url("zoo"), "mine", "--as", "ann@example.com")
    assert len(ada.asked) == 1


def test_dev_says_who_signs_in_and_the_authors_own_server_can_be_had(
    dev: Served, tmp_path: Path, start: Callable[..., Served]
) -> None:
    zoo(tmp_path)
    document = "/.well-known/oauth-protected-resource/t/dev/zoo/mcp"
    dev.wait_for(f"sign-in by test people, not by {ISSUER}; yours: --issuer real")
    assert httpx2.get(dev.origin + document).json()["authorization_servers"] == [f"{dev.origin}/_host/oauth"]
    real = start("dev", "zoo", "--issuer", "real", "--try")
    real.wait_for("Sign in to use this tool.")
    assert httpx2.get(real.origin + document).json()["authorization_servers"] == [ISSUER]
    assert "sign-in by" not in real.log()
    served = start("serve", "--trust-tenants")
    assert httpx2.get(served.origin + document).json()["authorization_servers"] == [ISSUER]
