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


def test_what_a_server_imports_from_its_folder_comes_along_and_nothing_else(
    platform: Callable[..., Any], here: Path
) -> None:
    there = here / "there"
    files = {
        "server.py": "import helpers\nfrom mcp.server.mcpserver import MCPServer\nmcp = MCPServer('x')\n",
        "helpers.py": "import json, server\nfrom shop.prices import price\n",
        "shop/__init__.py": "from . import other\n",
        "shop/prices.py": "import os, requests, last\nprice = os.environ['SHOP_TOKEN']\n",
        "shop/list.json": "[]",
        "shop/__pycache__/prices.pyc": "",
        "last.py": "def (:\n",
        "other.py": "",  # shop's is meant
        "requirements.txt": "requests\n",
        "notes.txt": "",
    }
    for name, text in files.items():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_text(text)
    done = platform("init", "--from", "there/server.py", "three")
    assert done.code == 0, done.err
    written = {path.relative_to(here / "three").as_posix() for path in (here / "three").rglob("*") if path.is_file()}
    assert written == {*files, "plugin.toml"} - {"shop/__pycache__/prices.pyc", "other.py", "notes.txt"}
    assert "copied server.py, helpers.py, last.py, shop/, requirements.txt: what else" in done.out
    config = tomllib.loads((here / "three" / "plugin.toml").read_text())
    assert config["egress"] == "public"
    assert config["secrets"] == {"required": ["SHOP_TOKEN"]}
    assert "copied" not in platform("init", "--from", "there/server.py").out


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("x = 1\n", "init.no-entrypoint"),
        ("import subprocess\nsubprocess.run(['ls'])\n", "init.no-entrypoint"),
        ("import jobs_of_others\njobs_of_others.Queue().run()\n", "init.no-entrypoint"),
        ("from ldap import Server\ndirectory = Server('x')\n", "init.no-entrypoint"),
        ("import asyncio\nfrom mcp import ClientSession\nasyncio.run(main())\n", "init.no-entrypoint"),
        ("def (:\n", "init.not-python"),
        (None, "init.no-server"),
    ],
)
def test_what_is_no_server_is_refused(source: str | None, code: str, platform: Callable[..., Any], here: Path) -> None:
    if source is not None:
        (here / "server.py").write_text(source)
    done = platform("init", "--from", "server.py")
    assert done.code == 1
    assert code in done.err
    assert not (here / "plugin.toml").exists()


def test_a_script_may_start_the_server_of_a_module_beside_it(platform: Callable[..., Any], here: Path) -> None:
    (here / "app.py").touch()
    (here / "server.py").write_text("import asyncio\nfrom app import mcp\nasyncio.run(mcp.run_stdio_async())\n")
    assert platform("init", "--from", "server.py").code == 0
    assert tomllib.loads((here / "plugin.toml").read_text())["entrypoint"] == "server.py"


HINTS = "readOnlyHint=True, destructiveHint=False, openWorldHint=False"
TOOLS = f"""
from mcp.server.mcpserver import MCPServer
from mcp_types import Tool, ToolAnnotations
mcp = MCPServer("Sums")

@mcp.tool()
def add(a: int, b: int) -> int: "Use this to add."; return a + b

@mcp.tool(name="take", annotations=ToolAnnotations(readOnlyHint=True))
def sub(a: int, b: int) -> int: "Use this to subtract."; return a - b

@mcp.tool(annotations=ToolAnnotations({HINTS}))
def told(a: int) -> int: "Use this to see."; return a
"""


def test_init_says_which_tools_leave_hints_out_and_check_says_the_same_in_the_servers_words(
    platform: Callable[..., Any], here: Path
) -> None:
    (here / "server.py").write_text(TOOLS)
    done = platform("init", "--from", "server.py")
    [note] = [line for line in done.out.splitlines() if "before it can be published" in line]
    said = "annotations=ToolAnnotations(readOnlyHint=…, destructiveHint=…, openWorldHint=…)"
    assert "published, add, take: Say" in note
    assert said in note
    checked = platform("check", ".")
    assert checked.code == 1
    found = [line for line in checked.out.splitlines() if "annotations_required" in line]
    assert len(found) == 2, "one finding a tool"
    assert "readOnlyHint, destructiveHint and openWorldHint are not set" in checked.out
    assert "destructiveHint and openWorldHint are not set" in checked.out
    assert said in checked.out
    assert "read_only" not in checked.out


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        ("@mcp.tool\ndef add(): ...", True),
        ("@mcp.tool(annotations=None)\ndef add(): ...", True),
        ("@mcp.tool(annotations={'readOnlyHint': True})\ndef add(): ...", True),
        ("Tool('Add', name='add')", True),
        ("@mcp.tool(annotations=READS)\ndef add(): ...", False),
        ("@mcp.tool(**SAID)\ndef add(): ...", False),
        ("@mcp.tool(annotations=ToolAnnotations(**READS))\ndef add(): ...", False),
        (
            "@mcp.tool(annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=True))"
            "\nasync def add(): ...",
            False,
        ),
        ("@mcp.prompt()\ndef add(): ...", False),
        ("Tool(**made)", False),
        ("import tenantry\n@mcp.tool()\ndef add(): ...", False),
    ],
)
def test_only_hints_that_are_left_out_for_certain_are_missed(
    tool: str, named: bool, platform: Callable[..., Any], here: Path
) -> None:
    (here / "server.py").write_text(f"from mcp import MCPServer\nmcp = MCPServer('x')\n{tool}\n")
    done = platform("init", "--from", "server.py")
    assert ("before it can be published, add:" in done.out) is named
