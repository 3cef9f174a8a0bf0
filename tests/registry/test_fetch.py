"""Fetching documents of authorization servers: what is asked, and what is never asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tenantry_registry.errors import PlatformError
from tenantry_registry.fetch import DOCUMENT_BYTES, HttpsFetch


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/document?x=1")
            self.end_headers()
            return
        body = b"x" * (DOCUMENT_BYTES + 1) if self.path == "/large" else self.path.encode()
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/moved":
            self.send_response(307)
            self.send_header("Location", "/introspect")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answer = body + b"|" + self.headers["Authorization"].encode() + b"|" + self.headers["Content-Type"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


async def test_a_document_is_fetched_and_redirects_are_followed(server: str) -> None:
    fetch = HttpsFetch(development=True)
    assert await fetch(f"{server}/document") == b"/document"
    assert await fetch(f"{server}/moved") == b"/document?x=1"


async def test_a_form_is_posted_with_its_headers(server: str) -> None:
    answer = await HttpsFetch(development=True)(
        f"{server}/introspect", form=b"token=x", headers={"Authorization": "Basic abc"}
    )
    assert answer == b"token=x|Basic abc|application/x-www-form-urlencoded"


@pytest.mark.parametrize("path", ["/missing", "/large"])
async def test_what_is_not_there_or_too_large_is_refused(server: str, path: str) -> None:
    with pytest.raises(PlatformError) as refused:
        await HttpsFetch(development=True)(f"{server}{path}")
    assert refused.value.code == "fetch.failed"


async def test_a_form_is_never_sent_on(server: str) -> None:
    with pytest.raises(PlatformError, match="could not be fetched") as refused:
        await HttpsFetch(development=True)(f"{server}/moved", form=b"token=x")
    assert "307" in refused.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/document",
        "https://127.0.0.1:{port}/document",
        "https://[::ffff:127.0.0.1]:{port}/",
        "https://localhost:{port}/",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "https://0x7f000001:{port}/",
        "https://2130706433:{port}/",
        "https://user@127.0.0.1:{port}/",
        "file:///etc/passwd",
        "https:///x",
    ],
)
async def test_inside_addresses_are_never_asked(server: str, url: str) -> None:
    with pytest.raises(PlatformError) as refused:
        await HttpsFetch()(url.format(port=server.rpartition(":")[2]))
    assert refused.value.code == "fetch.failed"


async def test_a_server_that_is_not_there_is_said_so(server: str) -> None:
    with pytest.raises(PlatformError) as refused:
        await HttpsFetch(development=True)("http://127.0.0.1:9/")
    assert refused.value.code == "fetch.failed"


async def test_a_server_that_breaks_off_is_said_so() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            connection, _ = listening.accept()
            connection.recv(1024)
            connection.close()

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(PlatformError) as refused:
            await HttpsFetch(development=True)(f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join()
    assert "can't be reached" in refused.value.hint
