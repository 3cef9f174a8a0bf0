"""A tool that looks around, breaks out, or eats the machine: what bubblewrap, rlimits and the runner's watch stop."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest
from attacks.village import VAULT_KEY, Village, behind_walls

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOWHERE = (False, [])


async def serves_on(village: Village) -> None:
    """The attacker's next call and the victim's are answered as if nothing had been."""
    assert await village.attack("got = 1 + 1") == 2
    assert (await village.call("vault-bank", "recall"))["content"][0]["text"]


# -- looking around ---------------------------------------------------------------------------------------------------


@pytest.mark.attack("proc-others")
@behind_walls
async def test_other_processes_cannot_be_seen_in_proc(village: Village) -> None:
    seen = await village.attack("got = [open(p).read() for p in glob.glob('/proc/[0-9]*/cmdline')]")
    assert len(seen) == 2, "the namespace's init and the worker itself"
    assert await village.attack(f"got = os.path.exists('/proc/{os.getpid()}')") in (False, os.getpid() <= 2)


@pytest.mark.attack("proc-environ")
@behind_walls
async def test_the_platforms_environment_is_in_no_environ(village: Village, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATFORM_SECRET", "not-for-tenants")
    code = "got = dict(os.environ), [open(p).read() for p in glob.glob('/proc/*/environ')]"
    assert "not-for-tenants" not in str(await village.attack(code))


@pytest.mark.attack("proc-memory")
@behind_walls
async def test_nobody_elses_memory_can_be_opened(village: Village) -> None:
    code = f"""
got = []
for pid in ({os.getpid()}, {os.getppid()}, os.getppid()):
    try:
        got.append(len(open(f"/proc/{{pid}}/mem", "rb").read(1)))
    except OSError as error:
        got.append(0)
"""
    assert await village.attack(code) == [0, 0, 0]


@pytest.mark.attack("proc-root")
@behind_walls
async def test_the_root_of_another_process_leads_nowhere(village: Village) -> None:
    secret = village.folder / "secrets.key"
    code = f"got = [p for p in glob.glob('/proc/*/root') if os.path.exists(p + {str(secret)!r})]"
    assert await village.attack(code) == []


@pytest.mark.attack("store")
@behind_walls
async def test_the_store_is_not_there(village: Village) -> None:
    store = village.folder / "store"
    assert store.exists()
    assert await village.attack(f"got = os.path.exists({str(store)!r})") is False


@pytest.mark.attack("keys")
@behind_walls
async def test_the_keys_and_books_beside_the_store_are_not_there(village: Village) -> None:
    for name in ("secrets.key", "usage.db", "log"):
        assert await village.attack(f"got = os.path.exists({str(village.folder / name)!r})") is False


@pytest.mark.attack("other-bundles")
@behind_walls
async def test_other_releases_folders_are_not_there(village: Village) -> None:
    await village.call("vault-bank", "recall")
    bundles = village.folder / "run" / "bundles"
    assert len(list(bundles.iterdir())) >= 3
    assert len(await village.attack(f"got = os.listdir({str(bundles)!r})")) == 1, "its own, and no other"


@pytest.mark.attack("other-scratch")
@behind_walls
async def test_other_workers_temporary_files_are_not_there(village: Village) -> None:
    await village.attack("open('/tmp/left', 'w').write('trudy was here')", "trudy-acme")
    assert await village.attack("got = os.path.exists('/tmp/left')") is False
    assert await village.attack(f"got = os.path.exists({str(village.folder / 'run' / 'scratch')!r})") is False
    assert not Path("/tmp/left").exists()


OWN = f"{Path.home()}/.ssh"


@pytest.mark.attack("machine-files")
@pytest.mark.parametrize("path", [OWN, "/home", "/etc/shadow", "/etc/passwd", "/var", "/run", "/mnt", "/boot"])
@behind_walls
async def test_the_machines_own_files_are_not_there(village: Village, path: str) -> None:
    assert await village.attack(f"got = os.path.exists({path!r}) and os.listdir({path!r})") in NOWHERE


@pytest.mark.attack("open-descriptors")
@behind_walls
async def test_no_open_file_of_the_platform_was_inherited(village: Village) -> None:
    code = """
got = []
for number in os.listdir("/proc/self/fd"):
    try:
        got.append(os.readlink(f"/proc/self/fd/{number}"))
    except OSError:
        pass
"""
    held = await village.attack(code)
    told = [name for name in held if not name.startswith(("/dev/", "pipe:", "/proc/", "anon_inode:"))]
    assert len([name for name in told if name.startswith("socket:")]) == 1, "the one to the runner"
    assert all(name.startswith("socket:") or name.endswith("(deleted)") for name in told), told


# -- breaking out -----------------------------------------------------------------------------------------------------


@pytest.mark.attack("write-bundle")
@behind_walls
async def test_code_that_another_tenant_may_share_cannot_be_changed(village: Village) -> None:
    assert "Read-only" in await village.attack("open('server.py', 'a').write('evil')")
    kit = "import tenantry\nopen(os.path.dirname(tenantry.__file__) + '/__init__.py', 'a')"
    assert "Read-only" in await village.attack(kit)
    assert "Read-only" in await village.attack("open(os.__file__, 'a')"), "nor the interpreter's library"


@pytest.mark.attack("write-anywhere")
@pytest.mark.parametrize("path", ["/x", "/usr/x", "/etc/x", "/dev/x", "/proc/sys/kernel/core_pattern", "/sys/x"])
@behind_walls
async def test_nothing_but_tmp_can_be_written(village: Village, path: str) -> None:
    told = await village.attack(f"open({path!r}, 'w').write('|/tmp/evil')")
    assert any(no in told for no in ("Read-only", "Permission denied", "No such file")), told


@pytest.mark.attack("signals")
@behind_walls
async def test_the_platform_cannot_be_signalled(village: Village) -> None:
    for pid in {os.getpid(), os.getppid()} - {1, 2}:  # numbers that a sandbox has processes of its own for
        assert "ProcessLookupError" in await village.attack(f"os.kill({pid}, signal.SIGKILL)")
    await village.attack("os.kill(-1, signal.SIGTERM)")
    await serves_on(village)


@pytest.mark.attack("privileges")
@pytest.mark.parametrize(
    "call",
    [
        "ctypes.CDLL(None).ptrace(16, OUTSIDE, 0, 0)",
        "ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None)",
        "ctypes.CDLL(None).unshare(0x10000000)",
        "ctypes.CDLL(None).chroot(b'/tmp')",
        "ctypes.CDLL(None).setns(os.open('/proc/self/ns/net', 0), 0)",
        "ctypes.CDLL(None).syscall(246, 0, 0, 0, 0)",  # kexec_load
    ],
)
@behind_walls
async def test_there_are_no_privileges_to_use(village: Village, call: str) -> None:
    assert await village.attack(f"got = {call}".replace("OUTSIDE", str(os.getpid()))) == -1


@pytest.mark.attack("raise-limits")
@behind_walls
async def test_its_limits_cannot_be_raised(village: Village) -> None:
    for limit in ("RLIMIT_AS", "RLIMIT_NOFILE", "RLIMIT_FSIZE"):
        told = await village.attack(f"resource.setrlimit(resource.{limit}, (2**50, 2**50))")
        assert "ValueError" in told or "PermissionError" in told or "OSError" in told


@pytest.mark.attack("network-none")
@behind_walls
async def test_without_egress_there_is_no_network_at_all(village: Village) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for address in ("127.0.0.1", "192.0.2.1", "169.254.169.254"):
            told = await village.attack(f"socket.create_connection(({address!r}, {port}), 1)")
            assert "refused" in told or "unreachable" in told
    assert "gaierror" in await village.attack("socket.getaddrinfo('example.com', 443)")


@pytest.mark.attack("unix-sockets")
@behind_walls
async def test_without_egress_no_socket_of_the_machine_is_reached(village: Village) -> None:
    name = f"\0tenantry-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        told = await village.attack(f"socket.socket(socket.AF_UNIX).connect({name!r})")
    assert "refused" in told
    assert await village.attack("got = glob.glob('/run/*') + glob.glob('/var/run/*')") == []


# -- eating the machine -----------------------------------------------------------------------------------------------


@pytest.mark.attack("outlives")
@behind_walls
async def test_a_fork_that_outlives_its_call_is_gone_with_it(village: Village) -> None:
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
    assert await village.attack(code) == 3
    assert await village.attack("got = len(glob.glob('/proc/[0-9]*'))") == 2, "a new namespace"


@pytest.mark.attack("fork-bomb")
@behind_walls
async def test_a_fork_bomb_is_stopped_long_before_its_time_and_others_are_served_meanwhile(village: Village) -> None:
    bomb = "for _ in range(400):\n    if os.fork() == 0:\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)"
    burst = asyncio.ensure_future(village.attack(bomb))
    assert (await village.call("vault-bank", "recall"))["content"]
    assert "sandbox.crashed" in await burst
    await serves_on(village)
    assert await village.attack("got = len(glob.glob('/proc/[0-9]*'))") == 2


@pytest.mark.attack("fork-chain")
@behind_walls
async def test_a_chain_of_forks_longer_than_any_stack_is_ended_whole(village: Village) -> None:
    chain = "for _ in range(1500):\n    if os.fork():\n        time.sleep(60)\n        os._exit(0)\ntime.sleep(60)"
    assert "sandbox.crashed" in await village.attack(chain)
    await serves_on(village)
    assert await village.attack("got = len(glob.glob('/proc/[0-9]*'))") == 2


@pytest.mark.attack("memory-bomb")
@behind_walls
async def test_a_memory_bomb_hurts_its_own_call_only(village: Village) -> None:
    assert "MemoryError" in await village.attack("bytearray(3 * 1024**3)")
    await serves_on(village)


@pytest.mark.attack("disk-bomb")
@behind_walls
async def test_the_disk_cannot_be_filled(village: Village) -> None:
    # Space is reserved, not written: what counts against the bound is the same, and it costs no time.
    fill = "for n in range(4):\n    os.posix_fallocate(os.open(f'/tmp/{n}', 66), 0, 200 * 1024**2)"
    assert "No space left" in await village.attack(fill)
    assert "File too large" in await village.attack("os.ftruncate(os.open('/tmp/one', 66), 1024**4)")
    await village.attack("[os.unlink(p) for p in glob.glob('/tmp/*')]")
    await serves_on(village)


@pytest.mark.attack("descriptor-bomb")
@behind_walls
async def test_open_files_run_out_for_the_attacker_alone(village: Village) -> None:
    assert "Too many open files" in await village.attack("kept = [os.open('/dev/null', 0) for _ in range(5000)]")
    await serves_on(village)


@pytest.mark.attack("thread-bomb")
@behind_walls
async def test_threads_run_out_for_the_attacker_alone(village: Village) -> None:
    code = "for _ in range(3000):\n    threading.Thread(target=time.sleep, args=(2,), daemon=True).start()"
    assert "can't start new thread" in await village.attack(code)
    await serves_on(village)


@pytest.mark.attack("thread-crowd")
@behind_walls
async def test_a_crowd_of_threads_in_a_crowd_of_processes_keeps_nobody_busy(village: Village) -> None:
    """That no more of it is looked at than it takes to know is tests/sandbox/test_killed_workers.py's."""
    family = "for _ in range(40):\n    if not os.fork():\n        break\n"
    small = "threading.stack_size(32768)\n"  # so that ten thousand fit into an address space
    many = "for _ in range(4000):\n    threading.Thread(target=time.sleep, args=(9,)).start()\ntime.sleep(9)"
    burst = asyncio.ensure_future(village.attack(family + small + many))
    assert (await village.call("vault-bank", "recall"))["content"]
    # The first is how it ends, unless the machine is so slow or so full that it never becomes a crowd.
    ends = ("sandbox.crashed", "sandbox.timeout", "can't start new thread", "Resource temporarily unavailable")
    assert (await burst).rstrip().endswith(ends)
    await serves_on(village)


@pytest.mark.attack("never-ends")
@behind_walls
async def test_a_call_that_never_ends_is_ended(village: Village) -> None:
    deaf = "for n in (1, 2, 3, 14, 15):\n    ctypes.CDLL(None).signal(n, 1)\n"
    assert "sandbox.timeout" in await village.attack(deaf + "while True: pass")
    await serves_on(village)


@pytest.mark.attack("output-flood")
@behind_walls
async def test_a_flood_of_output_is_cut_and_fills_no_log(village: Village) -> None:
    at = len(village.log)
    await village.attack("[print('x' * 1_000_000) for _ in range(20)]")
    assert len(village.log) - at < 200_000
    await serves_on(village)


@pytest.mark.attack("poisoned-interpreter")
@behind_walls
async def test_an_interpreter_that_was_turned_inside_out_serves_nobody_else(village: Village) -> None:
    await village.attack("import tenantry\njson.dumps = lambda *a, **k: 'evil'\ntenantry.evil = True")
    assert (await village.call("vault-bank", "recall"))["content"][0]["text"] != "evil"
    assert await village.attack("import tenantry; got = hasattr(tenantry, 'evil')", "trudy-acme") is False
    await village.attack("os._exit(1)")


@pytest.mark.attack("other-secrets")
@behind_walls
async def test_nobody_elses_secret_is_anywhere_in_a_sandbox(village: Village) -> None:
    code = """
import gc
got = [VICTIM in open(p, errors="replace").read() for p in glob.glob("/proc/*/environ")]
got.append(any(VICTIM in value for value in gc.get_objects() if isinstance(value, str) and value != VICTIM))
""".replace("VICTIM", repr(VAULT_KEY[:8]) + " + " + repr(VAULT_KEY[8:]))
    assert not any(await village.attack(code))
