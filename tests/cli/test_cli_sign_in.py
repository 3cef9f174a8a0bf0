"""`platform call --as`: a test person of `platform dev`, without a browser."""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stories.served import COMMAND, Served

TOML = """
name = "notes"
entrypoint = "server:plugin"
[auth]
issuer = "https://auth.notes.example"
scopes = ["read", "write"]
"""
SERVER = '''
from tenantry import Context, OAuth2, Plugin, Profile

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False, auth=[OAuth2("write")])
def write(ctx: Context) -> str:
    """Writes."""
    return f"{ctx.user.sub} writes, may {' and '.join(ctx.user.scopes)}"


@plugin.profile
def whoami(ctx: Context) -> Profile:
    return Profile(id=ctx.user.sub, name=ctx.user.name, email=ctx.user.email)
'''


PAGE = (Path(__file__).parents[2] / "docs" / "sign-in.md").read_text("utf-8")
AUTH, *BLOCKS = re.findall(r"^```(?:toml|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`platform dev` on a plugin with notes, on the one of docs/sign-in.md, and on a new one."""
    folder = tmp_path_factory.mktemp("sign-in")
    zoo = f'name = "zoo"\nentrypoint = "server:plugin"\n{AUTH}'
    for name, config, code in (("notes", TOML, SERVER), ("zoo", zoo, BLOCKS[0])):
        (folder / name).mkdir()
        (folder / name / "plugin.toml").write_text(config)
        (folder / name / "server.py").write_text(code)
    subprocess.run([COMMAND, "init", "mine", "--template", "oauth"], cwd=folder, check=True, capture_output=True)
    server = Served([COMMAND, "dev", "notes", "zoo", "mine", "--port", "0", "--json"], folder)
    yield server
    server.stop()


async def test_what_the_page_about_signing_in_says_is_so(served: Served, platform: Callable[..., Any]) -> None:
    names: dict[str, Any] = {"__name__": "server"}
    for number, block in enumerate(BLOCKS):
        here = block.replace("http://localhost:8787", served.origin)
        exec(compile(here, f"docs/sign-in.md#{number}", "exec", dont_inherit=True), names)
    names["test_my_ticket"]()
    await names["test_my_ticket_over_the_wire"]()


def test_the_page_shows_what_the_command_prints(served: Served, platform: Callable[..., Any]) -> None:
    for command, shown in re.findall(r"^\$ platform (call .*)\n((?:(?!\$|```).*\n)*)", PAGE, re.MULTILINE):
        done = platform(*command.replace("http://localhost:8787", served.origin).split())
        assert done.out + done.err == shown.replace("http://localhost:8787", served.origin)


def test_a_new_plugin_with_sign_in_works_before_there_is_a_server_to_sign_in_at(
    served: Served, platform: Callable[..., Any]
) -> None:
    note = '{"title": "Milk", "text": "Two litres"}'
    assert platform("call", served.url("mine"), "write_note", note, "--as", "user-ada").code == 0
    assert "Two litres" in platform("call", served.url("mine"), "list_notes", "--as", "user-ada").out
    assert "Two litres" not in platform("call", served.url("mine"), "list_notes", "--as", "user-ben").out


def test_somebody_known_is_found_by_email_or_subject_and_anybody_else_is_made_up(
    served: Served, platform: Callable[..., Any]
) -> None:
    for who in ("ben@people.example", "user-ben"):
        profile = json.loads(platform("call", served.url("notes"), "whoami", "--as", who, "--json").out)
        assert profile["structuredContent"]["name"] == "Ben Example"
    profile = json.loads(platform("call", served.url("notes"), "whoami", "--as", "ann@example.com", "--json").out)
    assert profile["structuredContent"] == {"id": "user-ann-example-com", "name": "Ann", "email": "ann@example.com"}


def test_scopes_are_all_of_the_plugins_or_those_that_are_named(served: Served, platform: Callable[..., Any]) -> None:
    host = served.plugins["dev", "notes"]["host_url"]
    done = platform("call", host, "write", "--as", "user-ada", "--era", "2025")
    assert done.out == "user-ada writes, may read and write\n"
    assert "may write" in platform("call", host, "write", "--as", "user-ada", "--scope", "write").out
    refused = platform("call", host, "write", "--as", "user-ada", "--scope", "read")
    assert refused.code == 1
    assert "This tool needs write." in refused.err
    assert "--as WHO --scope SCOPE" in refused.err


def test_scopes_are_somebodys(platform: Callable[..., Any]) -> None:
    done = platform("call", "http://localhost:1/mcp", "write", "--scope", "read")
    assert done.code == 2
    assert "name somebody with --as" in done.err


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """An MCP address somewhere else, and its authorization server, by what is in `documents`."""

    documents: dict[str, Any] = {}

    def do_GET(self) -> None:
        self.answer(200 if self.path in self.documents else 404, self.documents.get(self.path, {}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.answer(400, {"error": "invalid_request", "error_description": "Nobody is known here."})

    def answer(self, status: int, body: Any) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    site = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{site.server_port}"
    site.shutdown()
    thread.join()
    site.server_close()


@pytest.mark.parametrize(
    ("grants", "code", "words"),
    [
        (["authorization_code"], "call.real-issuer", "--as is for platform dev"),
        (["urn:tenantry:person"], "call.not-signed-in", "Nobody is known here."),
    ],
)
def test_a_server_that_knows_no_test_people_is_not_asked_for_one(
    elsewhere: str, platform: Callable[..., Any], grants: list[str], code: str, words: str
) -> None:
    resource = {"resource": f"{elsewhere}/mcp", "authorization_servers": [elsewhere]}
    server = {"issuer": elsewhere, "token_endpoint": f"{elsewhere}/token", "grant_types_supported": grants}
    Elsewhere.documents = {
        "/.well-known/oauth-protected-resource/mcp": resource,
        "/.well-known/oauth-authorization-server": server,
    }
    done = platform("call", f"{elsewhere}/mcp", "tell", "--as", "user-ada")
    assert done.code == 1
    assert code in done.err
    assert words in done.err


def test_a_real_server_that_does_not_answer_is_a_real_one_still(elsewhere: str, platform: Callable[..., Any]) -> None:
    resource = {"resource": f"{elsewhere}/mcp", "authorization_servers": ["http://localhost:1"]}
    Elsewhere.documents = {"/.well-known/oauth-protected-resource/mcp": resource}
    done = platform("call", f"{elsewhere}/mcp", "tell", "--as", "user-ada")
    assert "call.real-issuer" in done.err
    assert "--as is for platform dev" in done.err


@pytest.mark.parametrize("found", [None, b"<html>", [], {"authorization_servers": []}])
def test_an_address_without_sign_in_has_nobody_to_sign_in(
    elsewhere: str, platform: Callable[..., Any], found: Any
) -> None:
    Elsewhere.documents = {} if found is None else {"/.well-known/oauth-protected-resource/mcp": found}
    assert "call.no-sign-in" in platform("call", f"{elsewhere}/mcp", "tell", "--as", "user-ada").err
    assert "call.unreachable" in platform("call", "http://localhost:1/mcp", "tell", "--as", "user-ada").err
