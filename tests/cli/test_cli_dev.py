"""`platform dev` and `platform serve` as processes: what they say, what tools see, where releases are kept."""

from __future__ import annotations

import io
import json
import os
import re
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from stories.served import COMMAND, Served
from tenantry import download
from tenantry_cli import author, development
from tenantry_cli.hosting import OneTenant
from tenantry_cli.output import Terminal, make_console
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.runners import Call, Release

TELLING = '''
import os, sys
from tenantry import Context, Plugin
plugin = Plugin()

@plugin.tool(read_only=True, destructive=False, open_world=False)
def tell(ctx: Context) -> str:
    """Use this to see what a tool sees."""
    print("said by the tool")
    return "|".join([os.environ.get("LEVEL", ""), os.environ.get("REGION", ""), ctx.secrets["KEY"], sys.prefix])

@plugin.tool(read_only=True, destructive=False, open_world=False)
def fail() -> str:
    """Use this to see a tool fail."""
    raise ValueError("the secret reason")
'''
CONFIG = """name = "telling"
entrypoint = "server:plugin"
[env]
REGION = "eu"
[secrets]
required = ["KEY"]
[[examples]]
prompt = "Tell"
tool = "tell"
"""


@pytest.fixture
def dev(here: Path) -> Iterator[Callable[..., Served]]:
    running: list[Served] = []

    def start(*args: str) -> Served:
        running.append(Served([COMMAND, *args, "--port", "0", "--json"], here))
        return running[-1]

    yield start
    for served in running:
        served.stop()


@pytest.fixture
def telling(here: Path) -> Path:
    folder = here / "telling"
    folder.mkdir()
    (folder / "server.py").write_text(TELLING)
    (folder / "plugin.toml").write_text(CONFIG)
    (folder / ".env").write_text("KEY=k1\nLEVEL=debug\n")
    return folder


def text(result: Any) -> str:
    return str(result["content"][0]["text"])


def test_ready_is_one_line_of_json(dev: Callable[..., Served], example: Callable[[str], Path]) -> None:
    example("hello")
    served = dev("dev", "hello", "--tenant", "acme")
    plugin = served.plugins["acme", "hello"]
    assert set(plugin) == {"tenant", "plugin", "release", "mcp_url", "host_url"}
    assert re.fullmatch(r"http://localhost:\d+/t/acme/hello/mcp", plugin["mcp_url"])
    assert re.fullmatch(r"http://hello-acme\.localhost:\d+/mcp", plugin["host_url"])
    assert re.fullmatch(r"[0-9a-f]{64}", plugin["release"])


def test_tools_see_env_dotenv_and_secrets_and_a_changed_dotenv_at_once(
    dev: Callable[..., Served], telling: Path
) -> None:
    served = dev("dev", "telling")
    level, region, key, prefix = text(served.call("telling", "tell")).split("|")
    assert (level, region, key, prefix) == ("debug", "eu", "k1", sys.prefix)
    assert "said by the tool" in served.wait_for("said by the tool")
    (telling / ".env").write_text("KEY=k2\nLEVEL=info\n")
    deadline = time.monotonic() + 10
    while text(served.call("telling", "tell")).split("|")[2] != "k2":
        assert time.monotonic() < deadline


def test_what_tools_log_is_as_wide_as_a_line_of_a_log_and_plain(dev: Callable[..., Served], telling: Path) -> None:
    server = telling / "server.py"
    server.write_text(server.read_text().replace("sys.prefix]", "os.environ['COLUMNS'] + os.environ['NO_COLOR']]"))
    served = dev("dev", "telling")
    assert text(served.call("telling", "tell")).split("|")[3] == "2401"


def test_tools_run_in_the_authors_own_environment(
    dev: Callable[..., Served], telling: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", telling / ".venv"], check=True)
    served = dev("dev", "telling")
    assert text(served.call("telling", "tell")).split("|")[3] == str(telling / ".venv")


@pytest.fixture
def of_trees(telling: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin that requires a package, which lies in a folder; its author has no environment."""
    about = "tree-1.0.dist-info"
    with zipfile.ZipFile(here / "tree-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tree_code.py", "AGE = 'a hundred years'\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tree\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", f"tree_code.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
    (telling / "requirements.txt").write_text("tree<2\n")
    server = telling / "server.py"
    server.write_text(server.read_text().replace("sys.prefix])", "tree_code.AGE])").replace("os, sys", "os, tree_code"))
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(here))
    return telling


def test_the_platforms_own_environment_does_not_stand_for_a_plugins_requirements(
    dev: Callable[..., Served], of_trees: Path
) -> None:
    served = dev("dev", "telling")
    assert text(served.call("telling", "tell")).split("|")[3] == "a hundred years"
    assert "not published" not in served.log()
    assert "dependency.undeclared" not in served.log()


def test_what_a_plugin_requires_is_installed_once_and_no_part_of_what_a_save_packs(
    dev: Callable[..., Served], of_trees: Path, here: Path
) -> None:
    served = dev("dev", "telling")
    assert "  telling      installing what requirements.txt names …" in served.log()
    server = of_trees / "server.py"
    server.write_text(server.read_text().replace("tree_code.AGE]", "tree_code.AGE + ' and a day']"))
    served.wait_for("server.py: ")
    assert text(served.call("telling", "tell")).split("|")[3] == "a hundred years and a day"
    bundles = [*(here / ".tenantry" / "cache" / "bundles").iterdir()]
    assert len(bundles) == 2
    assert not any((bundle / "_vendor").exists() for bundle in bundles)
    (of_trees / "requirements.txt").write_text("tree<3\n")
    assert re.search(r"\d\d:\d\d:\d\d  telling      installing what", served.wait_for("requirements.txt: "))
    assert served.log().count("installing what") == 2


async def test_a_save_that_takes_long_is_said_with_the_time_at_which_it_is_said(
    telling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, said = "17:59:15", io.StringIO()
    monkeypatch.setattr(development.time, "strftime", lambda _: now)

    class Slow:
        cache, served = Path("cache"), ()

        async def publish(self, *_: Any) -> Any:
            nonlocal now
            now = "17:59:27"
            raise PlatformError("bundle.slow", "It took long.", "")

        async def adopt(self, _: Name) -> bool:
            return False

        def refuse(self, *_: Any) -> None:
            pass

    made = development.Development(
        folders=(), tenant="dev", store="s", s3=None, host="", port=0, debug=False, signs_in=False, open_page=False,
        try_examples=False, as_json=False, terminal=Terminal(make_console(said)),
    )  # fmt: skip
    made.machine = cast(Any, Slow())
    made.runner = cast(Any, SimpleNamespace(adopt=lambda *_: None, warm=lambda: None))
    await made.again(telling, ["server.py"])
    assert said.getvalue().startswith("17:59:27  telling")


def test_a_secret_that_the_dotenv_has_no_value_for_is_said(dev: Callable[..., Served], telling: Path) -> None:
    (telling / ".env").unlink()
    assert "needs KEY: write KEY=… into telling/.env" in dev("dev", "telling").wait_for("needs KEY")


def test_a_failing_tool_is_masked_on_the_wire_and_explained_in_the_terminal(
    dev: Callable[..., Served], telling: Path
) -> None:
    served = dev("dev", "telling")
    result = served.call("telling", "fail")
    assert result["isError"]
    assert "secret reason" not in json.dumps(result)
    log = served.wait_for("ValueError: the secret reason")
    assert 'File "server.py"' in log


def test_what_a_tool_returns_and_does_not_say_is_masked_on_the_wire_and_one_line_of_the_terminal(
    dev: Callable[..., Served], telling: Path
) -> None:
    server = telling / "server.py"
    server.write_text(server.read_text().replace('raise ValueError("the secret reason")', 'return {"a": "the secret"}'))
    served = dev("dev", "telling")
    assert "secret" not in json.dumps(served.call("telling", "fail"))
    log = served.wait_for("          fail (server.py:12) returned {'a': 'the secret'}, but says it returns str.")
    assert "pydantic" not in log
    assert "Traceback" not in log


def test_releases_can_be_kept_in_s3_by_moto(dev: Callable[..., Served], example: Callable[[str], Path]) -> None:
    example("hello")
    served = dev("dev", "hello", "--s3", "moto")
    assert text(served.call("hello", "hello", {"name": "S3"})) == "Hello, S3!"


def test_under_debug_tools_run_and_nothing_is_killed(dev: Callable[..., Served], telling: Path) -> None:
    served = dev("dev", "telling", "--debug")
    assert text(served.call("telling", "tell")).split("|")[2] == "k1"


def test_try_calls_the_first_example_of_each_plugin(here: Path, telling: Path) -> None:
    process = subprocess.Popen(
        [COMMAND, "dev", "telling", "--port", "0", "--try", "--no-open"],
        cwd=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.startswith("Ready"):
            break
    process.terminate()
    process.stdout.close()
    assert process.wait(20) == 0
    assert any(line.startswith("  telling      tell: debug|eu|k1|") for line in lines)
    assert any(line.startswith("dev/telling") for line in lines)


def test_a_taken_port_is_said_before_anything_is_published(
    platform: Callable[..., Any], example: Callable[[str], Path], here: Path
) -> None:
    example("hello")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = platform("dev", "hello", "--port", str(taken.getsockname()[1]))
    assert done.code == 1
    assert "serve.port-taken" in done.err
    assert "--port 0 takes a free one" in done.err
    assert not (here / ".tenantry").exists()


@pytest.mark.parametrize(("s3", "code"), [("nonsense", "store.s3-url")])
def test_an_s3_that_is_none_is_refused(
    s3: str, code: str, platform: Callable[..., Any], example: Callable[[str], Path]
) -> None:
    example("hello")
    assert code in platform("dev", "hello", "--port", "0", "--s3", s3).err


class Echo:
    """A runner that says whose code it was asked to run."""

    closed = False

    async def describe(self, release: Release) -> dict[str, Any]:
        return {"description": release.name.tenant}

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        return {"result": release.name.tenant}

    async def aclose(self) -> None:
        self.closed = True


def release(tenant: str) -> Release:
    return Release(Name(tenant, "zoo"), "0" * 64, "server:plugin", "bundles/x")


async def test_without_walls_the_code_of_a_second_tenant_is_not_run() -> None:
    echo = Echo()
    runner = OneTenant(echo, {"acme"})
    assert await runner.call(release("acme"), Call("tools/call", {})) == {"result": "acme"}
    with pytest.raises(PlatformError) as error:
        await runner.call(release("other"), Call("tools/call", {}))
    assert error.value.code == "serve.tenants-apart"
    with pytest.raises(PlatformError):
        await runner.describe(release("other"))
    with pytest.raises(PlatformError):
        OneTenant(echo, {"acme", "other"})
    await runner.aclose()
    assert echo.closed


def test_no_process_is_left_when_the_server_stops(dev: Callable[..., Served], example: Callable[[str], Path]) -> None:
    from stories.test_survival import children

    example("hello")
    served = dev("dev", "hello")
    served.call("hello", "hello")
    workers = list(children(served.process.pid))
    assert workers
    served.stop()
    assert served.process.returncode == 0
    assert not [pid for pid in workers if os.path.exists(f"/proc/{pid}")]


def test_the_kit_and_the_command_mean_the_same_variable_by_development() -> None:
    assert author.DEVELOPMENT == download.DEVELOPMENT
