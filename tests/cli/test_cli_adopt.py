"""`platform init --from server.py`: what the source says, without running it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SERVERS = {
    "an MCPServer": (
        "from mcp.server.mcpserver import MCPServer\nserver = MCPServer('Weather Now')\n",
        "server:server",
    ),
    "a FastMCP of v1": ("from mcp.server.fastmcp import FastMCP\nmcp: FastMCP = FastMCP(name='A b')\n", "server:mcp"),
    "a low-level server": ("from mcp.server.lowlevel import Server\nlow = Server('low')\n", "server:low"),
    "an ASGI app of an SDK": ("import sdk\napp = sdk.make().streamable_http_app()\n", "server:app"),
    "a raw ASGI app": ("from starlette.applications import Starlette\nweb = Starlette(routes=[])\n", "server:web"),
    "a script that runs one": (
        "from fastmcp import FastMCP\ndef main():\n    FastMCP('x').run()\nif __name__ == '__main__':\n    main()\n",
        "server.py",
    ),
    "a server beside its app": (
        "from fastmcp import FastMCP\nmcp = FastMCP('x')\napp = mcp.http_app()\n",
        "server:mcp",
    ),
}


@pytest.mark.parametrize(("source", "entrypoint"), SERVERS.values(), ids=SERVERS)
def test_the_entrypoint_is_found(source: str, entrypoint: str, platform: Callable[..., Any], here: Path) -> None:
    (here / "srv").mkdir()
    (here / "srv" / "server.py").write_text(source)
    done = platform("init", "--from", "srv/server.py")
    assert done.code == 0, done.err
    assert "platform dev srv" in done.out
    written = tomllib.loads((here / "srv" / "plugin.toml").read_text())
    assert written["entrypoint"] == entrypoint
    assert written["egress"] == "none"


def test_title_network_and_environment_are_read_from_the_source(platform: Callable[..., Any], here: Path) -> None:
    (here / "server.py").write_text(
        "import os, httpx\n"
        "from urllib.request import urlopen\n"
        "BASE = os.environ['API_BASE']\n"
        "KEY = os.environ.get('WEATHER_API_KEY')\n"
        "LEVEL = os.getenv('LEVEL', 'info')\n"
        "mcp = FastMCP('Weather Now')\n"
    )
    done = platform("init", "--from", "server.py", "weather")
    written = tomllib.loads((here / "weather" / "plugin.toml").read_text())
    assert written == {
        "name": "weather-now",
        "title": "Weather Now",
        "entrypoint": "server:mcp",
        "egress": "public",
        "env": {"API_BASE": ""},
        "secrets": {"required": ["WEATHER_API_KEY"]},
    }
    assert "WEATHER_API_KEY into .env" in done.out
    assert (here / "weather" / "server.py").exists()


def test_a_server_below_the_folder_keeps_its_place(platform: Callable[..., Any], here: Path) -> None:
    (here / "plugin" / "app").mkdir(parents=True)
    (here / "plugin" / "app" / "main.py").write_text("mcp = FastMCP('x')\n")
    assert platform("init", "--from", "plugin/app/main.py", "plugin").code == 0
    assert tomllib.loads((here / "plugin" / "plugin.toml").read_text())["entrypoint"] == "app.main:mcp"
    assert "init.not-empty" in platform("init", "--from", "plugin/app/main.py", "plugin").err


@pytest.mark.parametrize(
    ("source", "code"),
    [("x = 1\n", "init.no-entrypoint"), ("def (:\n", "init.not-python"), (None, "init.no-server")],
)
def test_what_is_no_server_is_refused(source: str | None, code: str, platform: Callable[..., Any], here: Path) -> None:
    if source is not None:
        (here / "server.py").write_text(source)
    done = platform("init", "--from", "server.py")
    assert done.code == 1
    assert code in done.err
    assert not (here / "plugin.toml").exists()
