"""Hostile bundles and hostile descriptions, through the control plane: refused with a code, and nothing is released."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from attacks.village import VAULT_TOML, Village

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOML = VAULT_TOML.replace('"vault"', '"loot"').replace('[secrets]\nrequired = ["VAULT_KEY"]\n', "")
HEAD = "from tenantry import Plugin\nplugin = Plugin()\n"
LOOK = ')\ndef look(**arguments) -> str:\n    """Use this to look."""\n    return "x"\n'
TOOL = "@plugin.tool(read_only=True, destructive=False, open_world=False"


def zipped(*names: str, data: bytes = b"x", **attributes: int) -> bytes:
    """A zip with a plugin.toml and members of any name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plugin.toml", TOML)
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            for attribute, value in attributes.items():
                setattr(info, attribute, value)
            archive.writestr(info, data)
    return buffer.getvalue()


def lying() -> bytes:
    """A member of 300 MB that says it has one byte."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packed.compress(bytes(300 * 1024**2)) + packed.flush()
    name, size = b"server.py", 1
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, 0, len(body), size, len(name), 0) + name
    head = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, 0, len(body), size, len(name), 0, 0, 0, 0, 0, 0)
    central = head + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local) + len(body), 0)
    return local + body + central + end


def encrypted() -> bytes:
    """A member that both of its headers call encrypted."""
    data = bytearray(zipped("server.py"))
    data[data.rfind(b"PK\3\4") + 6] |= 1
    data[data.rfind(b"PK\1\2") + 8] |= 1
    return bytes(data)


LINK = (stat.S_IFLNK | 0o777) << 16
ZIPS: dict[str, Callable[[], bytes]] = {
    "parent": lambda: zipped("../../evil.py"),
    "absolute": lambda: zipped("/etc/cron.d/evil"),
    "backslash": lambda: zipped("..\\..\\evil.py"),
    "drive": lambda: zipped("C:/evil.py"),
    "nul": lambda: zipped("server.py\0.txt"),
    "dots": lambda: zipped("a/./b.py", "a/../../b.py"),
    "link": lambda: zipped("link", data=b"/etc/passwd", external_attr=LINK, create_system=3),
    "device": lambda: zipped("dev", external_attr=(stat.S_IFCHR | 0o600) << 16, create_system=3),
    "twice": lambda: zipped("server.pa", "server.py").replace(b"server.pa", b"server.py"),
    "case": lambda: zipped("Server.py", "server.py"),
    "file-and-folder": lambda: zipped("a", "a/b.py"),
    "bomb": lying,
    "ratio": lambda: zipped("big.bin", data=bytes(101 * 1024**2)),
    "many": lambda: zipped(*(f"f{n}" for n in range(5_001))),
    "prefix": lambda: b"#!/bin/sh\n" + zipped("server.py"),
    "trailing": lambda: zipped("server.py") + b"evil",
    "truncated": lambda: zipped("server.py")[:-9],
    "empty": lambda: b"PK\5\6" + bytes(18),
    "no-zip": lambda: b"x" * 100,
    "encrypted": encrypted,
    "python-path": lambda: zipped("_vendor/../sitecustomize.py"),
}


async def current(village: Village) -> dict[str, str]:
    """Which releases are served; a plugin's place is there from its first publish on."""
    pointers = {key: json.loads(data) for key, data in (await village.stored("plugins/acme/")).items()}
    return {key: pointer["current"] for key, pointer in pointers.items() if pointer["current"] or pointer["history"]}


async def refused(village: Village, data: bytes) -> dict[str, Any]:
    """The error of a publish that must fail, cleanly and soon."""
    before = await current(village)
    began = time.monotonic()
    ended = await village.publish("acme", "loot", data)
    assert ended["state"] == "failed", ended
    assert ended["error"]["code"] != "internal", ended["error"]
    assert time.monotonic() - began < 20
    assert await current(village) == before
    assert str(village.folder) not in json.dumps(ended["error"]).replace(str(village.folder / "run" / "bundles"), "")
    return dict(ended["error"])


@pytest.mark.attack("zip")
@pytest.mark.parametrize("how", ZIPS)
async def test_a_hostile_zip_is_refused(village: Village, how: str) -> None:
    error = await refused(village, ZIPS[how]())
    assert error["code"].startswith(("bundle.", "config.missing")), error
    assert not list(village.folder.glob("**/evil*"))


@pytest.mark.attack("toml")
@pytest.mark.parametrize(
    "toml",
    [
        TOML.replace("server:plugin", "../../evil.py"),
        TOML.replace("server:plugin", "/etc/passwd.py"),
        TOML.replace("server:plugin", "os:system"),
        TOML.replace('"loot"', '"../bank/vault"'),
        TOML + "[a]\n" * 2,
        TOML + 'x = "' + "y" * 2_000_000 + '"',
        TOML + "\0",
        TOML + "[auth]\nissuer = 'http://evil.example'\n",
        TOML.replace("files = true", "timeout = 1e9"),
        TOML.replace("files = true", "egress = 'host'"),
    ],
)
async def test_a_hostile_plugin_toml_is_refused(village: Village, toml: str) -> None:
    await refused(village, village.bundle(toml, HEAD))


HOSTILE = {
    "exits": "import os; os._exit(0)",
    "no-plugin": "plugin = object()",
    "prints-a-description": 'print(\'{"protocol": 1, "description": {"kind": "kit"}}\', flush=True)\nplugin = 1',
    "raises": "raise SystemExit('bye')",
    "deep": "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        d = {}\n        for _ in range(900): d = {'a': d}\n        return d\nplugin = P()",
    "huge": "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        return {'kind': 'kit', 'protocol': 1, 'tools': ['x' * 9_000_000]}\nplugin = P()",
    "endless": "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        tools = [{'name': f't{n}'} for n in range(20_000)]\n"
    "        return {'kind': 'kit', 'kit': '1', 'protocol': 1, 'tools': tools}\nplugin = P()",
    "wrong-types": "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        return {'kind': 7, 'tools': 'x', 'widgets': {'a': 1}, 'protocol': '1'}\nplugin = P()",
    "widget-path": HEAD + "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        d = Plugin().__tenantry_describe__()\n"
    "        d['widgets'] = [{'name': 'w', 'file': '../../../etc/shadow'}]\n        return d\nplugin = P()",
    "widget-uri": HEAD + "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        d = Plugin().__tenantry_describe__()\n"
    "        d['widgets'] = [{'name': '../bank/vault', 'html': '<p>', 'csp': None}]\n        return d\nplugin = P()",
    "tool-name": HEAD + "class P:\n    __tenantry_protocol__ = 1\n    def __tenantry_describe__(self):\n"
    "        d = Plugin().__tenantry_describe__()\n        d['tools'] = [{'name': 'a\\r\\nX: y', 'description': 'x',\n"
    "         'inputSchema': {'type': 'object'}, 'annotations': {}}]\n        return d\nplugin = P()",
}


@pytest.mark.attack("describe")
@pytest.mark.parametrize("how", HOSTILE)
async def test_a_hostile_description_is_refused(village: Village, how: str) -> None:
    await refused(village, village.bundle(TOML, HOSTILE[how] + f"\n# {how}\n"))
    assert (await village.call("vault-bank", "recall"))["content"], "and others are served"


@pytest.mark.attack("schema-bomb")
@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=(a+)+$)a", "(a|aa)+$", "(.*)*x", r"^(\w+\s?)*$"])
async def test_a_schemas_pattern_does_not_hold_up_the_gateway(village: Village, pattern: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
    server = (
        HEAD
        + TOOL
        + f', input_schema={schema!r})\ndef look(**arguments) -> str:\n    """Use this to look."""\n    return "x"\n'
    )
    data = village.bundle(TOML, server)
    ended = await village.publish("acme", "loot", data)
    if ended["state"] == "done":
        began = time.monotonic()
        answer = await village.ask("loot-acme", "tools/call", {"name": "look", "arguments": {"x": "a" * 30_000 + "!"}})
        assert answer.status_code == 200
        assert time.monotonic() - began < 3
    else:
        assert ended["error"]["code"] != "internal"


@pytest.mark.attack("schema-weight")
async def test_references_that_multiply_do_not_hold_up_the_gateway(village: Village) -> None:
    defs: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "$defs": {**defs, "d40": {"type": "string"}},
    }
    server = (
        HEAD
        + TOOL
        + f', input_schema={schema!r})\ndef look(**arguments) -> str:\n    """Use this to look."""\n    return "x"\n'
    )
    ended = await village.publish("acme", "loot", village.bundle(TOML, server))
    if ended["state"] == "done":
        began = time.monotonic()
        await village.ask("loot-acme", "tools/call", {"name": "look", "arguments": {"x": 1}})
        assert time.monotonic() - began < 3
    else:
        assert ended["error"]["code"] != "internal"


@pytest.mark.attack("front-page")
async def test_what_a_plugin_calls_itself_runs_nowhere(village: Village) -> None:
    title = "<script>alert(1)</script>{{mcp_url}}"
    toml = TOML.replace('title = "Vault"', f"title = {json.dumps(title)}\ndescription = {json.dumps(title)}")
    server = HEAD + TOOL + ')\ndef look() -> str:\n    """Use this to look."""\n    return "x"\n'
    ended = await village.publish("acme", "loot", village.bundle(toml, server))
    assert ended["state"] == "done", ended["error"]
    page = await village.get("https://loot-acme.plugins.example.com/")
    assert "<script>alert" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.attack("same-digest")
async def test_a_bundle_is_known_by_all_of_its_bytes(village: Village) -> None:
    data = village.bundle(TOML, HEAD + TOOL + ')\ndef look() -> str:\n    """Use this."""\n    return "y"\n')
    ended = await village.publish("acme", "loot", data)
    assert ended["state"] == "done"
    stored = await village.stored("bundles/acme/loot/")
    assert all(key.split("/")[-1] == f"{hashlib.sha256(raw).hexdigest()}.zip" for key, raw in stored.items())
