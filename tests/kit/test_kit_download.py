"""Downloads: whatever an address says, nobody gets into a private network through a tool."""

from __future__ import annotations

import io
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from tenantry import File, FileError
from tenantry.addresses import is_loopback, is_public
from tenantry.download import DEVELOPMENT, REFUSED, Download, Fetcher, resolve

PRIVATE = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.9.9.9", "169.254.169.254", "172.16.0.1", "192.0.2.1",
    "192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::10.0.0.1",
    "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:0:0:0:0:80ff:fffe",
]  # fmt: skip
PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "64:ff9b::101:101", "2002:101:101::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_inside_is_never_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_outside_is_public(address):
    assert is_public(address)
    assert not is_loopback(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_as_public_as_each_of_its_ipv6_forms(address):
    number = int(address)
    forms = [f"::ffff:{address}", f"64:ff9b::{number >> 16:x}:{number & 65535:x}"]
    assert {is_public(form) for form in forms} == {is_public(str(address))}
    assert is_loopback(f"::ffff:{address}") == address.is_loopback


def refuses(url: str, *addresses: str, development: bool = False) -> str:
    fetcher = Fetcher(lambda host, port: addresses, development=development)
    with pytest.raises(FileError) as refused:
        fetcher.open(url, max_bytes=10, deadline=time.monotonic() + 5)
    return str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/x", "ftp://a.example/x", "file:///etc/passwd", "//a.example/x", "https:///x", "x", "",
        "https://user@a.example/", "https://user:pw@a.example/", "https://a.example:0/", "https://a.example:99999/",
        "https://[::1/", "https://a.example/a b", "https://a.example/\r\nX: y", "https://ä.example/",
    ],
)  # fmt: skip
def test_an_address_of_another_form_is_refused_before_anything_is_resolved(url):
    fetcher = Fetcher(lambda host, port: pytest.fail("resolved"))
    with pytest.raises(FileError, match=REFUSED):
        fetcher.open(url, max_bytes=10, deadline=time.monotonic() + 5)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_resolves_to_a_private_address_is_refused_even_among_public_ones(address):
    assert refuses("https://a.example/x", "1.1.1.1", address) == REFUSED


@pytest.mark.parametrize("host", ["127.0.0.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.1", "[::1]", "localhost"])
def test_this_machine_is_refused_however_it_is_written(host, monkeypatch):
    monkeypatch.delenv(DEVELOPMENT, raising=False)
    for url in (f"https://{host}/x", f"http://{host}/x"):
        with pytest.raises(FileError, match=REFUSED):
            File(url, "f").read()


def test_development_allows_this_machine_and_nothing_else_that_is_private():
    assert refuses("http://a.example/x", "10.0.0.1", development=True) == REFUSED
    assert refuses("http://a.example/x", "1.1.1.1", development=True) == REFUSED, "http stays at home"
    assert refuses("https://a.example/x", "169.254.169.254", development=True) == REFUSED


def test_a_name_without_an_address_and_a_port_nobody_listens_on_are_said():
    def missing(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    assert "has no address" in refuses("https://a.example/")

    with pytest.raises(FileError, match="has no address"):
        Fetcher(missing).open("https://a.example/", max_bytes=1, deadline=time.monotonic() + 5)
    assert "can't be reached" in refuses("http://localhost:1/", "::1", "127.0.0.1", development=True)
    fetcher = Fetcher(lambda host, port: ["127.0.0.1"], development=True)
    with pytest.raises(FileError, match="too long"):
        fetcher.open("http://localhost:1/", max_bytes=1, deadline=time.monotonic() - 1)


class Handler(BaseHTTPRequestHandler):
    seen: list[str] = []

    def do_GET(self) -> None:
        self.seen.append(f"{self.headers['Host']}{self.path}")
        kind = self.path.partition("?")[0].strip("/")
        if kind.startswith("to-"):
            self.send_response(302)
            self.send_header("Location", self.path.partition("?")[2])
            self.end_headers()
        elif kind == "hang":
            self.server.released.wait(10)  # type: ignore[attr-defined]
        elif kind == "trickle":
            self.send_response(200)
            self.end_headers()
            while not self.server.released.wait(0.02):  # type: ignore[attr-defined]
                self.wfile.write(b"x")
        elif kind == "broken":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\r\nhello\r\nzz\r\n")
        elif kind == "no-http":
            self.wfile.write(b"hello\r\n\r\n")
        else:
            body = b"" if kind == "empty" else b"a,b\n" * 1000
            self.send_response(404 if kind == "missing" else 200)
            if kind != "unsized":
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def server(context: ssl.SSLContext | None = None) -> Iterator[int]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients hang up on purpose
    running.released = threading.Event()  # type: ignore[attr-defined]
    if context is not None:
        running.socket = context.wrap_socket(running.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield running.server_port
    finally:
        running.released.set()  # type: ignore[attr-defined]
        running.shutdown()
        running.server_close()
        thread.join()


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on this machine, in development; its address."""
    monkeypatch.setenv(DEVELOPMENT, "1")
    Handler.seen.clear()
    with server() as port:
        yield f"http://localhost:{port}"


def test_a_file_is_downloaded_with_its_query_and_known_by_its_bytes(local):
    with File(f"{local}/table?sig=a%2Fb", "f").open() as stream:
        assert stream.media_type == "text/plain"
        assert stream.read() == b"a,b\n" * 1000
        assert stream.read(5) == b""
    assert Handler.seen == [local.removeprefix("http://") + "/table?sig=a%2Fb"]
    assert File(local, "f").read() == b"a,b\n" * 1000
    assert File(f"{local}/empty", "f").read() == b""
    assert File(f"{local}/to-there?/table", "f").read(max_bytes=4000)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing", "answered 404"),
        ("/table", "larger than 100 bytes"),
        ("/unsized", "larger than 100 bytes"),
        ("/broken", "broke off"),
        ("/no-http", "can't be reached"),
        ("/to-there?http://10.0.0.1/x", "may be opened"),
        ("/to-there?file:///etc/passwd", "may be opened"),
        ("/to-there?", "too often"),
        ("/hang", "too long"),
        ("/trickle", "too long"),
    ],
)
def test_what_goes_wrong_is_said_and_bounded(local, path, message):
    begun = time.monotonic()
    with pytest.raises(FileError, match=message):
        File(local + path, "f").read(max_bytes=100, timeout=0.3 if message == "too long" else 5)
    assert time.monotonic() - begun < 3


def test_what_arrives_after_the_deadline_is_not_taken():
    with pytest.raises(FileError, match="too long"):
        Download(io.BytesIO(b"late"), max_bytes=9, deadline=time.monotonic() - 1, close=lambda: None)


def test_a_redirect_to_another_host_is_checked_like_the_first():
    with server() as port:
        asked: list[str] = []

        def lookup(host: str, number: int) -> list[str]:
            asked.append(host)
            return ["127.0.0.1"] if host == "a.example" else ["10.0.0.1"]

        fetcher = Fetcher(lookup, development=True)
        with pytest.raises(FileError, match=REFUSED):
            fetcher.open(f"http://a.example:{port}/to-b?http://b.example/", max_bytes=9, deadline=time.monotonic() + 5)
        assert asked == ["a.example", "b.example"]


def test_the_next_address_is_tried_when_one_does_not_answer(local):
    port = local.rpartition(":")[2]
    for addresses in (["127.0.0.1", "::1"], ["::1", "127.0.0.1"]):
        fetcher = Fetcher(lambda host, number, found=addresses: found, development=True)
        with fetcher.open(f"http://a.example:{port}/", max_bytes=9999, deadline=time.monotonic() + 5) as stream:
            assert len(stream.read()) == 4000


def certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "localhost.pem"
    path.write_bytes(private + signed.public_bytes(pem))
    return path


def test_https_checks_the_name_while_it_connects_to_the_checked_address(tmp_path, monkeypatch):
    pem = certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    monkeypatch.setenv(DEVELOPMENT, "1")
    with server(context) as port:
        with pytest.raises(FileError, match="can't be reached"):
            File(f"https://localhost:{port}/table", "f").read()
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert len(File(f"https://localhost:{port}/table", "f").read()) == 4000
        fetcher = Fetcher(lambda host, number: ["127.0.0.1"], development=True)
        with pytest.raises(FileError, match="can't be reached"):
            fetcher.open(f"https://other.example:{port}/table", max_bytes=9999, deadline=time.monotonic() + 5)


def test_names_resolve_to_all_their_addresses_ipv4_first():
    assert resolve("localhost", 1)[0] == "127.0.0.1"
