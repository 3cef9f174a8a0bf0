"""Real worker processes: what they answer, what they survive, what ends them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tenantry_registry.errors import PlatformError
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import KNOWN, ProcessRunner
from tenantry_registry.runners import Call, SandboxError

ECHO = """
def echo(call, session):
    return {"result": {"echo": call["params"]["arguments"]}}
"""
PLUGIN = ECHO + "plugin = Plugin(echo=echo)"


def calling(tool: str, /, uploads: tuple[dict[str, Any], ...] = (), **arguments: object) -> Call:
    return Call("tools/call", {"name": tool, "arguments": arguments}, uploads=uploads)


async def works(runner: ProcessRunner, release: Any) -> dict[str, Any]:
    """One more call, which must be answered."""
    reply = await runner.call(release, calling("echo", word="again"))
    assert reply["result"] == {"echo": {"word": "again"}}
    return reply


async def test_a_release_describes_itself(runner: ProcessRunner, publish) -> None:
    reply = await runner.describe(await publish(PLUGIN))
    assert reply["description"]["tools"] == [{"name": "echo"}]
    assert reply["cold"] is True


async def test_a_call_is_answered_by_a_worker_that_stays_warm(runner: ProcessRunner, publish) -> None:
    release = await publish(PLUGIN)
    first = await runner.call(release, calling("echo", word="ä"))
    second = await runner.call(release, calling("echo", word="b"))
    assert (first["result"], first["cold"]) == ({"echo": {"word": "ä"}}, True)
    assert (second["result"], second["cold"]) == ({"echo": {"word": "b"}}, False)
    assert 0 < second["ms"] < second["ran_ms"] < 1_000


async def test_a_bundle_that_is_not_in_the_store_is_refused(runner: ProcessRunner, publish, objects) -> None:
    release = await publish(PLUGIN)
    await objects.delete(release.bundle)
    with pytest.raises(PlatformError) as refused:
        await runner.describe(release)
    assert refused.value.code == "sandbox.refused"


async def test_an_exception_is_masked_and_its_traceback_is_kept_for_the_log(runner: ProcessRunner, publish) -> None:
    release = await publish(
        ECHO
        + """
def fail(call, session):
    print("key is", session.secrets["KEY"], session.secrets["PIN"])
    raise RuntimeError("the key is " + session.secrets["KEY"])
plugin = Plugin(fail=fail, echo=echo)
""",
        secrets={"KEY": "sk-123456", "PIN": "4711"},
    )
    reply = await runner.call(release, calling("fail"))
    error = reply["error"]
    assert (error["code"], error["message"]) == ("tool.failed", "The tool failed.")
    assert len(error["error_id"]) == 12
    assert "RuntimeError: the key is [secret KEY]" in error["traceback"]
    assert reply["stdout"] == "key is [secret KEY] 4711\n", "a secret of a few characters would blank the whole log"
    assert "sk-123456" not in str(reply)
    assert (await works(runner, release))["cold"] is False


@pytest.mark.parametrize("end", ["sys.exit(3)", "raise KeyboardInterrupt", "raise RecursionError", "assert False"])
async def test_whatever_a_tool_raises_ends_its_call_only(runner: ProcessRunner, publish, end: str) -> None:
    release = await publish(
        f"import sys\n{ECHO}\ndef end(call, session):\n    {end}\nplugin = Plugin(end=end, echo=echo)"
    )
    assert (await runner.call(release, calling("end")))["error"]["code"] == "tool.failed"
    assert (await works(runner, release))["cold"] is False


@pytest.mark.parametrize(
    ("end", "how"),
    [
        ("os._exit(7)", "exit status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("ctypes.string_at(0)", "SIGSEGV"),
    ],
)
async def test_a_crash_is_an_error_and_the_next_call_works(runner: ProcessRunner, publish, end: str, how: str) -> None:
    release = await publish(
        f"import ctypes, os, signal\n{ECHO}\ndef end(call, session):\n    print('last words', flush=True)\n"
        f"    {end}\nplugin = Plugin(end=end, echo=echo)"
    )
    await works(runner, release)
    with pytest.raises(SandboxError) as crashed:
        await runner.call(release, calling("end"))
    assert crashed.value.code == "sandbox.crashed"
    assert how in crashed.value.message
    assert crashed.value.stdout == "last words\n"
    assert (await works(runner, release))["cold"] is True


async def test_a_tool_that_is_too_slow_is_killed_and_the_log_says_where_it_was(runner: ProcessRunner, publish) -> None:
    release = await publish(
        ECHO
        + """
import time
def dawdle(call, session):
    time.sleep(60)
plugin = Plugin(dawdle=dawdle, echo=echo)
""",
        timeout=0.6,
    )
    with pytest.raises(SandboxError) as late:
        await runner.call(release, calling("dawdle"))
    assert late.value.code == "sandbox.timeout"
    assert "0.6 seconds" in late.value.message
    assert "in dawdle" in late.value.stderr
    assert late.value.ran_ms >= 600
    assert (await works(runner, release))["cold"] is True


async def test_output_is_caught_where_it_is_written_and_belongs_to_its_call(runner: ProcessRunner, publish) -> None:
    release = await publish(
        """
import os, subprocess, sys
print("while importing")
def speak(call, session):
    print("one")
    print("two", file=sys.stderr)
    os.write(1, b"three\\n")
    subprocess.run(["echo", "four"], check=True)
    return {"result": {}}
def shout(call, session):
    print("x" * 100_000)
    return {"result": {}}
plugin = Plugin(speak=speak, shout=shout)
"""
    )
    assert (await runner.describe(release))["stdout"] == "while importing\n"
    spoken = await runner.call(release, calling("speak"))
    assert (spoken["stdout"], spoken["stderr"]) == ("one\nthree\nfour\n", "two\n")
    shouted = await runner.call(release, calling("shout"))
    assert (len(shouted["stdout"]), shouted["truncated"]) == (65_536, True)


async def test_a_tool_cannot_disturb_the_conversation_by_what_it_prints(runner: ProcessRunner, publish) -> None:
    release = await publish(
        ECHO
        + """
import os, sys
def meddle(call, session):
    sys.stdout.write('{"protocol": 1, "result": {"forged": true}}')
    sys.stdout = sys.stderr = None
    return {"result": {"read": os.read(0, 10).decode()}}
plugin = Plugin(meddle=meddle, echo=echo)
"""
    )
    assert (await runner.call(release, calling("meddle")))["result"] == {"read": ""}
    await works(runner, release)


SOCKET = """
import json, os, socket, struct
def the_socket():
    for number in os.listdir("/proc/self/fd"):
        if os.path.exists(f"/proc/self/fd/{number}") or os.path.islink(f"/proc/self/fd/{number}"):
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                return int(number)
def say(kind, data):
    os.write(the_socket(), struct.pack(">BI", kind, len(data)) + data)
"""


@pytest.mark.parametrize(
    "lie",
    [
        'say(0, b"no json")',
        'say(0, b"[]")',
        'say(0, b"{\\"protocol\\": 1, \\"result\\": {}, \\"error\\": {}}")',
        'say(0, b"{\\"protocol\\": 1, \\"result\\": {}, \\"seq\\": 99}")',
        'say(1, b"{\\"id\\": \\"nowhere\\", \\"size\\": 1}")',
        'say(1, b"no json")',
        'say(1, b"{\\"id\\": \\"f1\\", \\"size\\": 21000000}")',
        'os.write(the_socket(), struct.pack(">BI", 0, 4_000_000_000))',
        "os.close(the_socket())",
        "os.close(1)",
    ],
)
async def test_a_hostile_answer_is_no_answer_and_ends_the_worker(runner: ProcessRunner, publish, lie: str) -> None:
    release = await publish(
        f"{SOCKET}\n{ECHO}\ndef lie(call, session):\n    {lie}\n    return {{}}\nplugin = Plugin(lie=lie, echo=echo)"
    )
    with pytest.raises(SandboxError) as crashed:
        await runner.call(release, calling("lie", (slot("f1"),)))
    assert crashed.value.code == "sandbox.crashed"
    assert (await works(runner, release))["cold"] is True


async def test_a_tool_does_not_say_how_long_it_ran(runner: ProcessRunner, publish) -> None:
    reply = 'b"{\\"protocol\\": 1, \\"result\\": {}, \\"ms\\": 0, \\"ran_ms\\": 0, \\"seq\\": 1}"'
    code = f"time.sleep(0.2)\n    say(0, {reply})\n    time.sleep(9)"
    release = await publish(f"import time\n{SOCKET}\ndef lie(call, session):\n    {code}\nplugin = Plugin(lie=lie)")
    told = await runner.call(release, calling("lie"))
    assert (told["ms"], told["ran_ms"] >= 200) == (0, True)


async def test_a_call_that_is_larger_than_lambda_takes_is_refused(runner: ProcessRunner, publish) -> None:
    release = await publish(PLUGIN)
    with pytest.raises(PlatformError) as refused:
        await runner.call(release, calling("echo", word="x" * 6_291_556))
    assert refused.value.code == "sandbox.too-large"


BIG = """
def big(call, session):
    return {"result": {"text": "ü" * call["params"]["arguments"]["size"]}}
def save(call, session):
    slot = session.uploads.pop(0)
    session.put(slot, b"x" * call["params"]["arguments"]["size"], "text/plain")
    return {"result": {"link": slot["download_url"]}, "files": [{"id": slot["id"]}]}
plugin = Plugin(big=big, save=save)
"""


def slot(name: str, max_bytes: int = 20_000_000) -> dict[str, Any]:
    return {
        "id": name,
        "key": f"files/{name}",
        "url": "https://storage.example",
        "fields": {"policy": "signed"},
        "download_url": "https://files.example/a",
        "max_bytes": max_bytes,
    }


async def test_a_reply_that_is_larger_than_lambda_returns_goes_into_a_slot(
    runner: ProcessRunner, publish, objects: FileObjects
) -> None:
    release = await publish(BIG)
    reply = await runner.call(release, calling("big", (slot("f1"), slot("f2")), size=4_000_000))
    assert "result" not in reply
    stored = await objects.get(f"files/{reply['overflow']['id']}")
    assert stored is not None
    assert len(stored.data) == reply["overflow"]["size"] > 8_000_000


async def test_a_reply_that_fits_nowhere_is_an_error(runner: ProcessRunner, publish) -> None:
    release = await publish(BIG)
    for slots in ((), (slot("f1", max_bytes=1_000),)):
        reply = await runner.call(release, calling("big", slots, size=4_000_000))
        assert reply["error"]["code"] == "sandbox.too-large"


async def test_a_reply_that_nobody_would_read_is_not_put_away(runner: ProcessRunner, publish) -> None:
    reply = await runner.call(await publish(BIG), calling("big", (slot("f1"),), size=11_000_000))
    assert reply["error"]["code"] == "sandbox.too-large"
    assert "20,971,520" in reply["error"]["message"]


async def test_a_file_is_stored_by_the_runner_and_its_size_is_bounded(
    runner: ProcessRunner, publish, objects: FileObjects
) -> None:
    release = await publish(BIG)
    reply = await runner.call(release, calling("save", (slot("f1"),), size=10))
    assert reply["result"] == {"link": "https://files.example/a"}
    stored = await objects.get("files/f1")
    assert stored is not None
    assert stored.data == b"x" * 10
    refused = await runner.call(release, calling("save", (slot("f2", max_bytes=9),), size=10))
    assert "may hold (9)" in refused["error"]["traceback"]


async def test_what_json_cannot_say_is_an_error_of_the_tool(runner: ProcessRunner, publish) -> None:
    release = await publish(
        ECHO
        + """
def odd(call, session):
    loop = []
    loop.append(loop)
    session.notify("notifications/message", {"data": 1})
    return {"result": {"nan": float("nan"), "set": {1}, "cycle": loop}[call["params"]["arguments"]["what"]]}
def surrogate(call, session):
    return {"result": {"text": "\\ud800 and on"}}
plugin = Plugin(odd=odd, surrogate=surrogate, echo=echo)
"""
    )
    for what in ("nan", "set", "cycle"):
        reply = await runner.call(release, calling("odd", what=what))
        assert reply["error"]["code"] == "tool.not-json"
    assert (await runner.call(release, calling("surrogate")))["result"] == {"text": "? and on"}
    assert (await works(runner, release))["cold"] is False


async def test_memory_open_files_and_file_sizes_are_bounded(make_runner, publish) -> None:
    runner = make_runner(limits={"memory": 400 * 1024**2, "file": 100_000, "files": 64, "core": 0})
    release = await publish(
        ECHO
        + """
import tempfile
def hoard(call, session):
    return {"result": {"size": len(bytearray(500 * 1024**2))}}
def fill(call, session):
    with tempfile.TemporaryFile() as file:
        file.write(bytes(200_000))
    return {"result": {}}
def open_many(call, session):
    return {"result": {"open": len([open("/dev/null") for _ in range(100)])}}
def babble(call, session):
    for _ in range(1_000):
        print("x" * 1_000)
plugin = Plugin(hoard=hoard, fill=fill, open_many=open_many, babble=babble, echo=echo)
"""
    )
    for tool, reason in (("hoard", "MemoryError"), ("fill", "File too large"), ("open_many", "Too many open files")):
        assert reason in (await runner.call(release, calling(tool)))["error"]["traceback"]
    assert (await runner.call(release, calling("babble")))["truncated"] is True
    await works(runner, release)


async def test_the_environment_is_the_releases_own_and_set_before_the_import(
    make_runner: Callable[..., ProcessRunner], publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATFORM_SECRET", "not for tenants")
    source = """
    import os
    AT_IMPORT = os.environ["KEY"] + os.environ["API"]
    def see(call, session):
        return {"result": {"import": AT_IMPORT, "session": dict(session.secrets), "all": sorted(os.environ)}}
    plugin = Plugin(see=see)
    """
    runner = make_runner(environ={"PATH": "/usr/bin:/bin"})
    release = await publish(source, env={"API": "!"}, secrets={"KEY": "one"})
    seen = (await runner.call(release, calling("see")))["result"]
    assert (seen["import"], seen["session"]) == ("one!", {"KEY": "one"})
    assert not {"PLATFORM_SECRET", "VIRTUAL_ENV"} & {*seen["all"]}
    rotated = await publish(source, env={"API": "!"}, secrets={"KEY": "two"})
    assert rotated.digest == release.digest
    assert (await runner.call(rotated, calling("see")))["result"]["import"] == "two!"


ORPHAN = """
import os, time
def stay(call, session):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(write, str(os.getpid()).encode())
            time.sleep(60)
        os._exit(0)
    os.wait()
    return {"result": {"pid": int(os.read(read, 20))}}
def zombie(call, session):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    while "Z" not in open(f"/proc/{pid}/stat").read():
        time.sleep(0.001)
    return {"result": {}}
def crash(call, session):
    if os.fork() == 0:
        os.fork()
        time.sleep(60)
    os._exit(1)
def family(call, session):
    if os.fork() == 0:
        os.fork()
    time.sleep(60)
plugin = Plugin(stay=stay, zombie=zombie, crash=crash, family=family, echo=echo)
"""


def ended(pid: int) -> bool:
    """Whether a process is gone, or only waits for its parent to take note of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except FileNotFoundError:
        return True


async def test_a_fork_that_outlives_its_call_is_killed(runner: ProcessRunner, publish) -> None:
    release = await publish(ECHO + ORPHAN)
    left = (await runner.call(release, calling("stay")))["result"]["pid"]
    assert (await works(runner, release))["cold"] is True
    await runner.aclose()
    assert ended(left)


async def test_a_slow_tool_is_killed_with_its_children_and_theirs(runner: ProcessRunner, publish) -> None:
    release = await publish(ECHO + ORPHAN, timeout=0.5)
    with pytest.raises(SandboxError) as late:
        await runner.call(release, calling("family"))
    assert late.value.code == "sandbox.timeout"
    await works(runner, release)


async def test_a_child_that_has_ended_costs_nothing(runner: ProcessRunner, publish) -> None:
    release = await publish(ECHO + ORPHAN)
    await runner.call(release, calling("zombie"))
    assert (await works(runner, release))["cold"] is False


async def test_a_crash_is_noticed_at_once_though_a_child_still_holds_the_socket(runner: ProcessRunner, publish) -> None:
    release = await publish(ECHO + ORPHAN, timeout=20)
    with pytest.raises(SandboxError) as crashed:
        await runner.call(release, calling("crash"))
    assert crashed.value.code == "sandbox.crashed"


async def test_scratch_files_end_with_their_call(runner: ProcessRunner, publish) -> None:
    release = await publish(
        """
        import os
        def scratch(call, session):
            with open(session.folder + "/a.txt", "w") as file:
                file.write("a")
            return {"result": {"folder": session.folder, "same": session.folder}}
        plugin = Plugin(scratch=scratch)
        """
    )
    made = (await runner.call(release, calling("scratch")))["result"]
    assert made["folder"] == made["same"]
    assert not os.path.exists(made["folder"])


async def test_notifications_come_in_order_and_are_bounded(runner: ProcessRunner, publish) -> None:
    release = await publish(
        """
        def count(call, session):
            for number in range(1_500):
                session.notify("notifications/progress", {"progress": number})
        def shout(call, session):
            session.notify("notifications/message", {"data": "x" * 2_000_000})
        plugin = Plugin(count=count, shout=shout)
        """
    )
    counted = (await runner.call(release, calling("count")))["notifications"]
    assert [note["params"]["progress"] for note in counted] == list(range(1_000))
    assert "notifications" not in await runner.call(release, calling("shout"))


async def test_a_fork_bomb_is_stopped_while_it_is_small(runner: ProcessRunner, publish) -> None:
    release = await publish(
        ECHO
        + """
import os, time
def bomb(call, session):
    for _ in range(200):  # each the child of the one before: a chain that no recursion could follow
        if os.fork():
            break
    time.sleep(60)
plugin = Plugin(bomb=bomb, echo=echo)
""",
        timeout=20,
    )
    with pytest.raises(SandboxError, match="more than 64 processes") as crashed:
        await runner.call(release, calling("bomb"))
    assert crashed.value.code == "sandbox.crashed"
    await works(runner, release)


async def test_what_calls_of_a_release_share_is_kept_for_so_many_releases_only(runner: ProcessRunner, publish) -> None:
    release = await publish(PLUGIN)
    for seconds in range(KNOWN + 1):
        runner._known(replace(release, timeout=1.0 + seconds))
    assert len(runner._releases) == KNOWN
    await works(runner, release)
