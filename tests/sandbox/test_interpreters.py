"""Whose Python runs a plugin: the platform's bare one, the author's own, one that is kept warm, one in a terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import resource
import select
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest
from tenantry_registry.runners import Call, SandboxError

KIT_PLUGIN = """
from tenantry import Plugin

plugin = Plugin()


@plugin.tool(read_only=True, destructive=False, open_world=False)
def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b
"""
WHERE = """
def where(call, session):
    import pydantic, sys
    return {"result": {"pydantic": pydantic.__file__, "path": sys.path, "starlette": starlette()}}
def starlette():
    try:
        import starlette
    except ImportError:
        return "missing"
    return "there"
plugin = Plugin(where=where)
"""
ADD = Call("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})


def named(tool: str) -> Call:
    return Call("tools/call", {"name": tool})


async def test_a_kit_plugin_runs_on_the_platforms_kit_and_on_nothing_else_of_it(runner, publish) -> None:
    release = await publish({"server.py": KIT_PLUGIN})
    assert (await runner.describe(release))["description"]["tools"][0]["name"] == "add"
    assert "3" in str((await runner.call(release, ADD))["result"]["content"])
    seen = (await runner.call(await publish(WHERE), named("where")))["result"]
    assert seen["starlette"] == "missing", "a bundle brings what it needs, here as on AWS"
    bundle, vendored, *_, kit = seen["path"]
    assert (Path(vendored), seen["pydantic"]) == (Path(bundle) / "_vendor", f"{kit}/pydantic/__init__.py")


async def test_what_an_author_pins_wins_over_what_the_platform_brings(runner, publish, fake_kit) -> None:
    release = await publish(
        {
            "server.py": "from fake import Plugin\n" + WHERE,
            "fake.py": fake_kit,
            "_vendor/pydantic/__init__.py": "pinned = True",
        }
    )
    seen = (await runner.call(release, named("where")))["result"]
    assert seen["pydantic"].endswith("/_vendor/pydantic/__init__.py")


async def test_a_module_of_the_bundle_wins_over_one_that_the_runner_has_loaded(runner, publish, fake_kit) -> None:
    release = await publish(
        {
            "server.py": """
                import random, types
                from fake import Plugin
                def where(call, session):
                    return {"result": {"random": random.__file__, "types": hasattr(types, "ModuleType")}}
                plugin = Plugin(where=where)
            """,
            "fake.py": fake_kit,
            "random.py": "",
            "types.py": "",
        }
    )
    seen = (await runner.call(release, named("where")))["result"]
    assert "/bundles/" in seen["random"]
    assert seen["types"] is True, "what the standard library stands on is not replaced"


async def test_the_authors_own_interpreter_has_the_authors_packages(make_runner, publish, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv")
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "only_there.py").write_text("ANSWER = 42")
    source = """
    import os
    from only_there import ANSWER
    def see(call, session):
        return {"result": {"answer": ANSWER, "mine": os.environ.get("MINE")}}
    plugin = Plugin(see=see)
    """
    release = await publish(source)
    python = str(tmp_path / "venv" / "bin" / "python")
    for isolate in ("none", "auto"):
        own = make_runner(python=python, environ={"MINE": "set"}, isolate=isolate)
        assert (await own.call(release, named("see")))["result"] == {"answer": 42, "mine": "set"}
    with_kit = await publish({"server.py": KIT_PLUGIN})
    assert (await own.describe(with_kit))["description"]["kind"] == "kit", "the kit is there without being installed"
    refused = await make_runner().describe(release)
    assert refused["error"]["code"] == "plugin.dependency"


async def test_an_interpreter_that_does_not_start_is_refused(make_runner, publish, tmp_path: Path) -> None:
    release = await publish(WHERE)
    broken = tmp_path / "python"
    for script in (None, "#!/bin/sh\necho no python >&2\nexit 3\n"):
        if script:
            broken.write_text(script)
            broken.chmod(0o755)
        with pytest.raises(SandboxError) as refused:
            await make_runner(python=str(broken)).describe(release)
        assert refused.value.code == "sandbox.refused"
    assert refused.value.stderr == "no python\n"


NOTICES_WARMTH = """
import sys
warm = "tenantry" in sys.modules
from tenantry import Plugin
plugin = Plugin()
@plugin.tool(read_only=True, destructive=False, open_world=False)
def add(a: int, b: int) -> str:
    "Says whether the kit was there before."
    return f"warm: {warm}"
"""


async def test_a_spare_worker_has_imported_the_kit_before_a_release_comes(make_runner, publish) -> None:
    runner = make_runner(spare=True)
    for number, warm in enumerate([False, True, True]):
        saved = await publish({"server.py": NOTICES_WARMTH + f"# {number}"})
        assert (await runner.describe(saved))["description"]["tools"][0]["name"] == "add"
        assert f"warm: {warm}" in str((await runner.call(saved, ADD))["result"]["content"])


async def test_a_runner_can_be_warmed_before_the_first_release_comes(make_runner, publish) -> None:
    runner = make_runner(spare=True)
    runner.warm()
    runner.warm()  # there is one already
    saved = await publish({"server.py": NOTICES_WARMTH})
    assert "warm: True" in str((await runner.call(saved, ADD))["result"]["content"])
    cold = make_runner()
    cold.warm()  # it keeps none
    assert "warm: False" in str((await cold.call(saved, ADD))["result"]["content"])


async def test_a_spare_worker_is_not_used_for_a_bundle_that_brings_its_own_pydantic(
    make_runner, publish, fake_kit
) -> None:
    runner = make_runner(spare=True)
    await runner.describe(await publish({"server.py": KIT_PLUGIN}))
    pinned = await publish(
        {
            "server.py": "from fake import Plugin\n" + WHERE,
            "fake.py": fake_kit,
            "_vendor/pydantic/__init__.py": "pinned = True",
        }
    )
    seen = (await runner.call(pinned, named("where")))["result"]
    assert seen["pydantic"].endswith("/_vendor/pydantic/__init__.py")


def scripted(tmp_path: Path, script: str) -> str:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n{script}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return str(python)


async def test_a_spare_worker_that_does_not_start_is_done_without(make_runner, publish, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.touch()
    second_fails = f"echo x >> {starts}; test $(wc -l < {starts}) = 2 && exit 1"
    runner = make_runner(spare=True, python=scripted(tmp_path, second_fails))
    for number in range(3):
        await runner.describe(await publish({"server.py": KIT_PLUGIN + f"# {number}"}))


async def test_a_spare_worker_that_does_not_start_does_not_stop_the_end(make_runner, publish, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    starts.touch()
    second_fails = f"echo x >> {starts}; test $(wc -l < {starts}) = 2 && exit 1"
    runner = make_runner(spare=True, python=scripted(tmp_path, second_fails))
    await runner.describe(await publish({"server.py": KIT_PLUGIN}))
    await runner.aclose()


async def test_whoever_leaves_while_a_worker_starts_leaves_no_process(make_runner, publish, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    runner = make_runner(python=scripted(tmp_path, f"echo $$ > {told}.part; mv {told}.part {told}; exec sleep 60"))
    leaving = asyncio.ensure_future(runner.describe(await publish({"server.py": KIT_PLUGIN})))
    while not told.exists():  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(0.005)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    stat = Path(f"/proc/{told.read_text().strip()}/stat")
    assert not stat.exists() or ") Z" in stat.read_text()


async def test_while_debugging_nothing_is_caught_limited_or_ended(make_runner, publish) -> None:
    runner = make_runner(debug=True)
    release = await publish(
        """
        import os, resource, time
        def look(call, session):
            print("seen in the terminal")
            if os.fork() == 0:
                time.sleep(0.2)
                os._exit(0)
            time.sleep(0.1)
            return {"result": {"core": resource.getrlimit(resource.RLIMIT_CORE)[1], "pid": os.getpid()}}
        plugin = Plugin(look=look)
        """,
        timeout=0.05,
    )
    replies = [await runner.call(release, named("look")) for _ in range(2)]
    assert replies[0]["result"]["pid"] == replies[1]["result"]["pid"]
    assert replies[0]["result"]["core"] == resource.getrlimit(resource.RLIMIT_CORE)[1]
    assert "stdout" not in replies[0]


DEBUGGED = """
import asyncio, os, sys
from pathlib import Path
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import PLAIN_ENVIRON, ProcessRunner
from tenantry_registry.runners import Call, Release

async def main(store, folder, digest, key):
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    runner = ProcessRunner(FileObjects(store), folder=Path(folder), debug=True, environ={**PLAIN_ENVIRON, **measured})
    release = Release(Name("acme", "zoo"), digest, "server:plugin", key, timeout=0.2)
    print("REPLY", await runner.call(release, Call("tools/call", {"name": "stop"})), flush=True)
    await runner.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_breakpoint_talks_to_the_terminal_for_as_long_as_it_takes(publish, tmp_path: Path) -> None:
    release = await publish(
        """
        def stop(call, session):
            answer = 6
            breakpoint()
            return {"result": {"answer": answer}}
        plugin = Plugin(stop=stop)
        """
    )
    ours, theirs = pty.openpty()
    arguments = [str(tmp_path / "store"), str(tmp_path / "debug"), release.digest, release.bundle]
    command = [sys.executable, "-c", textwrap.dedent(DEBUGGED), *arguments]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)  # noqa: ASYNC220
    os.close(theirs)
    try:
        assert "server.py(6)stop()" in _read(ours, until="(Pdb)")
        await asyncio.sleep(0.3)  # longer than the tool's own time
        os.write(ours, b"answer = 6 * 7\n")
        _read(ours, until="(Pdb)")
        os.write(ours, b"continue\n")
        assert "'result': {'answer': 42}" in _read(ours, until="'cold'")
        assert process.wait(10) == 0
    finally:
        process.kill()
        os.close(ours)


def _read(number: int, until: str) -> str:
    heard = ""
    while until not in heard:
        ready, _, _ = select.select([number], [], [], 20)
        assert ready, heard
        heard += os.read(number, 4096).decode()
    return heard
