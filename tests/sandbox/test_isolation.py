"""What a hostile plugin tries behind bubblewrap's walls; each attack is a call that must come home empty-handed."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry import bubblewrap
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.runners import Call

needs_walls = pytest.mark.skipif(not bubblewrap.usable(), reason="bubblewrap is missing or may not make namespaces")

# Runs any expression that a test sends: the most hostile plugin there is.
HOSTILE = """
import ctypes, glob, json, os, resource, signal, socket, subprocess, sys, time
def attack(call, session):
    scope = {"session": session, "call": call}
    exec(call["params"]["code"], globals(), scope)
    return {"result": {"got": scope.get("got")}}
plugin = Plugin(attack=attack)
"""


@pytest.fixture
def walled(make_runner: Callable[..., ProcessRunner]) -> ProcessRunner:
    return make_runner(isolate="bubblewrap")


@pytest.fixture
async def attack(walled: ProcessRunner, publish):
    release = await publish(HOSTILE, secrets={"KEY": "mine-only"}, timeout=5)

    async def attack(code: str, **changed: Any) -> Any:
        target = await publish(HOSTILE, **{"timeout": 5, **changed}) if changed else release
        reply = await walled.call(target, Call("tools/call", {"name": "attack", "code": code}))
        return reply["result"]["got"] if "result" in reply else reply["error"]["traceback"]

    return attack


@needs_walls
async def test_the_store_and_other_releases_are_not_there(attack, walled, publish, tmp_path: Path) -> None:
    victim = await publish(HOSTILE + "# private", Name("victim", "zoo"))
    await walled.describe(victim)
    folder = tmp_path / "run" / "bundles" / victim.digest
    assert folder.exists()
    for secret in (tmp_path / "store", folder, tmp_path / "run" / "scratch"):
        assert await attack(f"got = os.path.exists({str(secret)!r})") is False
    assert len(await attack(f"got = os.listdir({str(tmp_path / 'run' / 'bundles')!r})")) == 1, "its own, and no other"


OWN = f"{Path.home()}/.ssh"


@needs_walls
@pytest.mark.parametrize("path", [OWN, "/home", "/etc/shadow", "/var", "/srv", "/mnt", "/run", "/boot"])
async def test_the_machine_is_not_there(attack, path: str) -> None:
    assert await attack(f"got = os.path.exists({path!r}) and os.listdir({path!r})") in (False, [])


@needs_walls
async def test_the_platforms_environment_and_processes_are_not_there(attack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATFORM_SECRET", "not for tenants")
    assert "PLATFORM_SECRET" not in await attack("got = list(os.environ)")
    everything = await attack("got = [open(path).read() for path in glob.glob('/proc/[0-9]*/environ')]")
    assert "not for tenants" not in "".join(everything)
    assert len(everything) == 2, "the namespace's init and the worker"


@needs_walls
async def test_it_cannot_signal_anybody_outside(attack) -> None:
    assert "ProcessLookupError" in await attack(f"os.kill({os.getpid()}, 0)")


@needs_walls
@pytest.mark.parametrize(
    "path",
    [
        *("/usr/x", "/bin/x", "/etc/x", "x", "/x", "/dev/x", "{kit}/x"),
        *(
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname",
            "/proc/sysrq-trigger",
            "/proc/self/oom_score_adj",
        ),
    ],
)
async def test_nothing_but_tmp_can_be_written(attack, path: str, tmp_path: Path) -> None:
    path = path.replace("{kit}", str(tmp_path / "run" / "kit"))
    told = await attack(f"open({path!r}, 'w').write('x')")
    assert "Read-only file system" in told or "Permission denied" in told or "No such file" in told


@needs_walls
async def test_tmp_is_its_own_and_bounded(attack, tmp_path: Path) -> None:
    marker = Path("/tmp") / f"tenantry-{os.getpid()}"
    marker.touch()
    try:
        assert await attack(f"got = os.path.exists({str(marker)!r})") is False
        assert await attack("open('/tmp/mine', 'w').write('x'); got = os.listdir('/tmp').count('mine')") == 1
        assert not Path("/tmp/mine").exists()
        fill = "for n in range(4):\n    os.posix_fallocate(os.open(f'/tmp/{n}', 66), 0, 200 * 1024**2)"
        assert "No space left" in await attack(fill)
    finally:
        marker.unlink()


@needs_walls
async def test_without_egress_there_is_no_network_not_even_this_machines(attack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = await attack(f"socket.create_connection(('127.0.0.1', {port}), 1)")
        assert "Connection refused" in told or "unreachable" in told
    assert "unreachable" in await attack("socket.create_connection(('192.0.2.1', 80), 1)")
    assert await attack("got = [name for _, name in socket.if_nameindex()]") == ["lo"]


@needs_walls
async def test_with_egress_there_is_a_network(attack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert await attack(f"got = bool(socket.create_connection(('127.0.0.1', {port}), 1))", egress="public") is True
    assert await attack("got = os.path.exists('/etc/resolv.conf')", egress="public") is os.path.exists(
        "/etc/resolv.conf"
    )


@needs_walls
@pytest.mark.parametrize(
    "code",
    [
        "os.mkdir('/tmp/m'); got = ctypes.CDLL(None).mount(b'none', b'/tmp/m', b'tmpfs', 0, None)",
        "got = ctypes.CDLL(None).unshare(0x10000000)",  # CLONE_NEWUSER: more privileges by another namespace
        "got = ctypes.CDLL(None).chroot(b'/tmp')",
        "got = ctypes.CDLL(None).sethostname(b'x', 1)",
        "got = ctypes.CDLL(None).setuid(0) if os.getuid() else ctypes.CDLL(None).sethostname(b'x', 1)",
        "got = subprocess.run(['mknod', '/tmp/sda', 'b', '8', '0'], capture_output=True).returncode * -1 or 0",
    ],
)
async def test_it_has_no_privileges_and_gets_none(attack, code: str) -> None:
    assert (await attack(code)) in (-1, None)


@needs_walls
async def test_its_limits_cannot_be_raised(attack) -> None:
    told = await attack("resource.setrlimit(resource.RLIMIT_NOFILE, (65536, 65536))")
    assert "ValueError" in told or "PermissionError" in told


@needs_walls
async def test_a_fork_that_outlives_its_call_ends_with_the_namespace(attack) -> None:
    code = """
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, b"x")
        time.sleep(60)
    os._exit(0)
os.wait()
os.read(read, 1)
got = len(glob.glob('/proc/[0-9]*'))
"""
    assert await attack(code) == 3, "init, the worker, the fork"
    assert await attack("got = len(glob.glob('/proc/[0-9]*'))") == 2, "a new namespace"


@needs_walls
async def test_a_fork_bomb_ends_with_its_time(walled: ProcessRunner, publish) -> None:
    code = "for _ in range(40):\n    if os.fork() == 0:\n        time.sleep(30)\n        os._exit(0)\ntime.sleep(30)"
    release = await publish(HOSTILE, timeout=0.5)
    with pytest.raises(PlatformError) as late:
        await walled.call(release, Call("tools/call", {"name": "attack", "code": code}))
    assert late.value.code == "sandbox.timeout"
    reply = await walled.call(
        release, Call("tools/call", {"name": "attack", "code": "got = len(glob.glob('/proc/[0-9]*'))"})
    )
    assert reply["result"]["got"] == 2


@needs_walls
async def test_its_own_files_and_secrets_are_there(attack) -> None:
    assert await attack("got = sorted(os.listdir())") == ["fake.py", "server.py"]
    assert await attack("got = [session.secrets['KEY'], os.environ['KEY']]") == ["mine-only", "mine-only"]
    assert await attack("import ssl, sqlite3, zoneinfo; got = sys.version_info[0]") == 3


async def test_isolation_is_told_and_can_be_insisted_on(make_runner) -> None:
    assert make_runner(isolate="none").isolated is False
    assert make_runner(isolate="auto").isolated is bool(bubblewrap.usable())
    assert make_runner(isolate="auto", debug=True).isolated is False
    missing = make_runner(isolate="bubblewrap", bubblewrap="")
    with pytest.raises(PlatformError) as refused:
        _ = missing.isolated
    assert refused.value.code == "sandbox.no-bubblewrap"
    assert make_runner(isolate="auto", bubblewrap="").isolated is False


def test_a_bubblewrap_that_does_not_work_counts_as_none(tmp_path: Path) -> None:
    assert bubblewrap.find(str(tmp_path)) == ""
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert bubblewrap.find(str(tmp_path)) == ""
