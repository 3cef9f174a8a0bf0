"""Whatever a tool returns, of whatever size and shape: HTTP 200, within one Lambda response, with links that work."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from stories.served import COMMAND, Served, request
from tenantry_gateway.governor import PAYLOAD_BYTES

TOML = 'name = "large"\nentrypoint = "server:plugin"\ntitle = "Large"\ntimeout = 25\n'
SERVER = '''
import base64
from typing import Any
from tenantry import Image, Plugin, Result
plugin = Plugin()
HINTS = {"read_only": True, "destructive": False, "open_world": False}
KINDS = {"plain": "abcdefghij", "quotes": '"\\\\\\\\\\n\\t', "unicode": "\\u00e9\\u6f22\\U0001f600\\u2028"}

def filled(kind: str, size: int) -> str:
    piece = KINDS[kind]
    return (piece * (size // len(piece.encode()) + 1))[: size // (len(piece.encode()) // len(piece))]

@plugin.tool(**HINTS)
def text(kind: str, size: int) -> str:
    """Use this when the user wants text."""
    return filled(kind, size)

@plugin.tool(**HINTS)
def structured(kind: str, size: int) -> Result[dict[str, Any]]:
    """Use this when the user wants data."""
    return Result({"rows": [filled(kind, 1000)] * max(1, size // 1000)}, content="the rows")

@plugin.tool(**HINTS)
def image(kind: str, size: int) -> Image:
    """Use this when the user wants a picture."""
    return Image(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(size), "image/png")
'''
KB, MB = 1_000, 1_000_000
SIZES = [KB, MB, 8 * MB]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:

    folder = tmp_path_factory.mktemp("large")
    (folder / "large").mkdir()
    (folder / "large" / "plugin.toml").write_text(TOML)
    (folder / "large" / "server.py").write_text(SERVER)
    done = subprocess.run(
        [COMMAND, "publish", "large"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    served = Served([COMMAND, "serve", "--port", "0", "--json"], folder)
    yield served
    served.stop()


def ask(large: Served, tool: str, kind: str, size: int) -> dict[str, Any]:
    """The result, which came as one response that Lambda could have returned."""
    answer = httpx.post(large.url("large"), **request(tool, {"kind": kind, "size": size}), timeout=60)
    assert answer.status_code == 200, answer.text[:500]
    assert len(json.dumps({"statusCode": 200, "body": answer.text})) <= PAYLOAD_BYTES
    result: dict[str, Any] = answer.json()["result"]
    return result


def linked(result: dict[str, Any]) -> bytes:
    """What the one link in the result leads to."""
    (link,) = [block["uri"] for block in result["content"] if block["type"] == "resource_link"]
    read = httpx.get(link, follow_redirects=True, timeout=60)
    assert read.status_code == 200
    return read.content


def check(large: Served, tool: str, kind: str, size: int) -> None:
    result = ask(large, tool, kind, size)
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    if size == KB:
        assert links == []
        assert not result.get("isError")
    if not links:
        return
    whole = linked(result)
    if tool == "text":
        assert whole.decode() == full(kind, size)
        assert "cut:" in result["content"][0]["text"], "the model is told"
    elif tool == "image":
        assert len(whole) == size + 8
    else:
        assert result["isError"] is True
        assert len(json.loads(whole)["rows"]) == size // 1000


def full(kind: str, size: int) -> str:
    scope: dict[str, Any] = {}
    exec(SERVER[SERVER.index("KINDS") : SERVER.index("@plugin")], scope)
    return str(scope["filled"](kind, size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["plain", "quotes", "unicode"])
@pytest.mark.parametrize("tool", ["text", "structured"])
def test_words_and_data_of_any_size_fit(large: Served, tool: str, kind: str, size: int) -> None:
    check(large, tool, kind, size)


@pytest.mark.parametrize("size", SIZES)
def test_a_picture_of_any_size_fits_or_is_linked(large: Served, size: int) -> None:
    check(large, "image", "plain", size)


def test_what_is_too_large_comes_as_a_link(large: Served) -> None:
    for tool in ("text", "structured", "image"):
        assert linked(ask(large, tool, "quotes", 8 * MB))


@pytest.mark.soak
@pytest.mark.parametrize("tool", ["text", "structured", "image"])
def test_a_hundred_megabytes_come_as_a_link(large: Served, tool: str) -> None:
    check(large, tool, "plain", 70 * MB if tool == "image" else 100 * MB)
