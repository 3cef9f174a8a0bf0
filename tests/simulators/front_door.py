"""AWS's own addresses on this machine: a proxy that answers as CloudFront and S3 over TLS, with the emulator behind it.

The command line is told of it the way a company tells of its proxy, HTTPS_PROXY and SSL_CERT_FILE, and knows nothing
else: it speaks https to the very addresses that the deployment has. What is played here is the one step that the
emulator lacks, CloudFront asking an HTTP API: the deployed distribution's default behaviour says which host is asked
and with which headers. Every other request for AWS goes to the emulator as it came; other hosts are let
through.
"""

from __future__ import annotations

import datetime
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLOUDFRONT: Final = ".cloudfront.net"
OURS: Final = (CLOUDFRONT, ".amazonaws.com")
ASSETS: Final = "/assets/"  # a behaviour of its own, from S3: that one the emulator plays itself
HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding"}
)
SECONDS: Final = 60.0
VIEWER: Final = "203.0.113.7"  # whose connections these are (RFC 5737: for documentation)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a distribution's default behaviour asks: a host, and the headers it adds, over whatever a viewer sent."""

    host: str
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """The proxy's address and the certificates that it is to be trusted with."""

    url: str
    certificates: Path

    @property
    def env(self) -> dict[str, str]:
        """What leads a program here: requests to the emulator's own address go there directly."""
        return {
            "HTTPS_PROXY": self.url,
            "NO_PROXY": "localhost,127.0.0.1",
            "SSL_CERT_FILE": str(self.certificates),
        }


@contextmanager
def front_door(emulator: str, origin_of: Callable[[str], Origin], folder: Path) -> Iterator[FrontDoor]:
    """The proxy, open. `origin_of(host)`: what the distribution of that name asks. Keys are made in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    certificates, identity = _certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)

    class Handler(_Handler):
        tls = context
        place = urlsplit(emulator)
        origin = staticmethod(origin_of)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield FrontDoor(f"http://127.0.0.1:{server.server_address[1]}", certificates)
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection: CONNECT, then requests inside TLS to the host that was asked for."""

    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    tls: ssl.SSLContext
    place: Any
    origin: Callable[[str], Origin]
    inside = ""  # the host, once TLS stands

    def do_CONNECT(self) -> None:
        host, _, port = self.path.rpartition(":")
        if not host.lower().endswith(OURS):
            self._let_through(host, int(port))
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        try:
            self.connection = self.tls.wrap_socket(self.connection, server_side=True)
        except OSError:  # the client does not trust us, or went away
            self.close_connection = True
            return
        self.inside = host.lower()
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)  # type: ignore[assignment]

    def _let_through(self, host: str, port: int) -> None:
        self.close_connection = True
        try:
            there = socket.create_connection((host, port), timeout=SECONDS)
        except OSError as fault:
            self.send_error(502, str(fault))
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()

        def relay(one: socket.socket, other: socket.socket) -> None:
            with suppress(OSError):
                while data := one.recv(65536):
                    other.sendall(data)
            with suppress(OSError):
                other.shutdown(socket.SHUT_WR)

        with there:
            back = threading.Thread(target=relay, args=(there, self.connection), daemon=True)
            back.start()
            relay(self.connection, there)
            back.join(SECONDS)

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.connection.close()  # inside TLS it is not the socket that the server closes

    def _pass_on(self) -> None:
        if not self.inside:
            self.send_error(501, "Only CONNECT")
            return
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        sent = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP]
        if self.inside.endswith(CLOUDFRONT) and ASSETS not in self.path:
            sent = self._as_cloudfront(sent)
        set_headers = dict(sent)
        set_headers["X-Forwarded-Proto"] = "https"
        there = http.client.HTTPConnection(self.place.hostname, self.place.port, timeout=SECONDS)
        try:
            there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in set_headers.items():
                there.putheader(name, value)
            there.endheaders(body or None)
            answer = there.getresponse()
            data = answer.read()
        except OSError as fault:
            self.send_error(502, str(fault))
            return
        finally:
            there.close()
        with suppress(OSError):  # a client may have gone
            self._answer(answer, data)

    def _answer(self, answer: http.client.HTTPResponse, data: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP | {"content-length"}:
                self.send_header(name, value)
        if self.command == "HEAD":
            self.send_header("Content-Length", answer.getheader("content-length") or "0")
        elif answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = _pass_on

    def _as_cloudfront(self, sent: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """All the viewer's headers but Host, what forward.js sets, and the origin's own."""
        origin = self.origin(self.inside)
        seen = [("X-Forwarded-Host", self.inside), ("X-Tenantry-Viewer", VIEWER)]
        added = [*seen, *origin.headers, ("Host", origin.host)]
        names = {name.lower() for name, _ in added}
        return [(name, value) for name, value in sent if name.lower() not in names] + added

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: tests read what the commands say."""


def _certificates(folder: Path) -> tuple[Path, Path]:
    """An authority's certificate, and a key with a certificate by it for the names that are answered for."""
    now = datetime.datetime.now(datetime.UTC)

    def certificate(
        name: str, issuer: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, *, authority: bool
    ) -> x509.Certificate:
        names = ["*.cloudfront.net", "*.s3.us-east-1.amazonaws.com", "*.execute-api.us-east-1.amazonaws.com"]
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True,
                    key_cert_sign=authority,
                    crl_sign=authority,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .sign(by, hashes.SHA256())
        )

    above, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = certificate("tests' authority", "tests' authority", above, above, authority=True)
    identity = certificate("AWS, played", "tests' authority", own, above, authority=False)
    pem = serialization.Encoding.PEM
    trusted, chain = folder / "authority.pem", folder / "identity.pem"
    # SSL_CERT_FILE replaces what a program trusts; what it trusted before stays in it.
    trusted.write_bytes(authority.public_bytes(pem) + Path(certifi.where()).read_bytes())
    chain.write_bytes(
        own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + identity.public_bytes(pem)
    )
    return trusted, chain
