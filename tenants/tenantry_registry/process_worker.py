"""One worker process, seen from outside: started, asked, watched, killed.

It inherits one end of a socket pair and two files that catch its stdout and stderr. Everything it says is taken as said
by the tenant. When an answer has come, no process that it started may be left: what a call leaves running is killed
together with the worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import struct
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, Final

from tenantry_registry.runner_wire import REPLY_BYTES, decode
from tenantry_registry.runners import SandboxError

HEAD: Final = struct.Struct(">BI")  # in front of every frame: its kind, the bytes that follow (tenantry_sandbox.frames)
REPLY: Final = 0
PUT: Final = 1
KEPT_BYTES: Final = 65_536  # of each stream of a worker that died
START_SECONDS: Final = 20.0  # for an interpreter to come up on a machine that is busy
LEAVE_SECONDS: Final = 5.0  # for a worker to end by itself when it is no longer needed
PROCESSES: Final = 64  # that a call may have beside its worker: a pool of them, but no fork bomb
WATCH_SECONDS: Final = 0.1  # between two counts: a fork bomb makes some hundred processes meanwhile
# Runs before anything else in the worker: find the sandbox package, and leave no trace of where it was found.
BOOT: Final = """
import sys
number, place = int(sys.argv[1]), sys.argv[2]
sys.path.insert(0, place)
from tenantry_sandbox import worker
del sys.path[0]
worker.main(number)
"""

Store = Callable[[str, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a worker: the command up to the interpreter's own arguments, its environment, its first frame.

    `debug`: the terminal stays its stdin, stdout and stderr, and it stays in the foreground, or a breakpoint could not
    read (a background process that reads the terminal is stopped).
    """

    command: Sequence[str]
    environ: Mapping[str, str]
    start: Mapping[str, Any]
    sandbox: str  # the folder in which the package tenantry_sandbox lies
    scratch: str = ""  # where its temporary files go, where it has no /tmp of its own
    debug: bool = False
    namespaced: bool = False  # the first process below is the namespace's own init, the worker is its child


@dataclass(eq=False)
class Worker:
    """A running worker. `key` is the release it belongs to, as the pool sees it; "" for a spare."""

    process: asyncio.subprocess.Process
    sock: socket.socket
    files: tuple[IO[bytes], ...]
    scratch: str
    launch: Launch
    key: str = ""
    digest: str = ""
    warmed: frozenset[str] = frozenset()
    used: float = 0.0
    seq: int = 0
    words: tuple[str, str] = ("", "")
    crowded: bool = False
    watch: asyncio.Task[int] = field(init=False)

    @classmethod
    async def start(cls, launch: Launch) -> Worker:
        """Start one and wait until it is ready. Raises: SandboxError `sandbox.refused`."""
        ours, theirs = socket.socketpair()
        files = () if launch.debug else (_nameless_file(), _nameless_file())
        scratch = tempfile.mkdtemp(prefix="worker-", dir=launch.scratch) if launch.scratch else ""
        streams: dict[str, Any] = {}
        if files:
            streams = {"stdin": asyncio.subprocess.DEVNULL, "stdout": files[0], "stderr": files[1]}
        try:
            process = await asyncio.create_subprocess_exec(
                *launch.command,
                "-c",
                BOOT,
                str(theirs.fileno()),
                launch.sandbox,
                env={**launch.environ, **({"TMPDIR": scratch} if scratch else {})},
                pass_fds=(theirs.fileno(),),
                start_new_session=not launch.debug,
                **streams,
            )
        except OSError as error:
            ours.close()
            _discard(files, scratch)
            raise SandboxError("sandbox.refused", f"No worker could be started: {error.strerror}.") from error
        finally:
            theirs.close()
        ours.setblocking(False)
        worker = cls(process, ours, files, scratch, launch)
        worker.watch = asyncio.ensure_future(process.wait())
        worker.watch.add_done_callback(worker._gone)
        try:
            async with asyncio.timeout(START_SECONDS):
                await worker._send(REPLY, json.dumps(launch.start).encode())
                _, hello = await worker._frame()
                worker.warmed = frozenset(json.loads(hello)["warmed"])
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            await worker.kill()
            raise worker._last_words("sandbox.refused", "No worker could be started.", "") from error
        except BaseException:  # whoever wanted it has left
            await worker.kill()
            raise
        return worker

    async def ask(self, event: bytes, seconds: float | None, slots: Mapping[str, int], store: Store) -> dict[str, Any]:
        """Send an encoded event and wait for the reply, at most `seconds`. What it puts into an upload goes to `store`
        as (id, bytes) on the way; `slots` says which there are and what each may hold.

        Raises: SandboxError `sandbox.timeout`, `sandbox.crashed`, `sandbox.too-large`: the worker is of no use then.
        """
        self.seq += 1
        data = event[:-1] + b',"seq":%d}' % self.seq
        guard = None if self.launch.debug else asyncio.ensure_future(self._guard())
        try:
            async with asyncio.timeout(seconds):
                await self._send(REPLY, data)
                kind, body = await self._frame()
                while kind == PUT:
                    put = json.loads(body)
                    if put["size"] > slots[put["id"]]:
                        raise ValueError("more than the slot may hold")
                    await store(put["id"], bytes(await self._bytes(put["size"])))
                    kind, body = await self._frame()
        except TimeoutError as error:
            raise self._last_words(
                "sandbox.timeout",
                f"The tool did not answer within {seconds or 0:g} seconds and was stopped.",
                "Do less in one call, or start the work in one call and ask for its result in another.",
            ) from error
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            await self.kill()
            if self.crowded:
                raise self._last_words(
                    "sandbox.crashed",
                    f"The tool started more than {PROCESSES} processes and was stopped.",
                    "Start fewer at a time.",
                ) from error
            raise self._last_words(
                "sandbox.crashed",
                f"The plugin's process ended ({_how(self.process.returncode)}) before it answered.",
                "Its last words are in the log.",
            ) from error
        finally:
            if guard is not None:
                guard.cancel()
        reply = decode(body)
        if reply.pop("seq", None) != self.seq:
            raise self._last_words("sandbox.crashed", "The plugin answered a question that was not asked.", "")
        return reply

    def strays(self) -> bool:
        """Whether anything that it started is still running."""
        return any(_state(pid) != "Z" for pid in self._below())

    async def kill(self) -> None:
        """End it and everything that it started, now."""
        self._slay()
        await self.watch
        self.words = (self.said(0), self.said(1))
        self.sock.close()
        _discard(self.files, self.scratch)

    async def leave(self) -> None:
        """Let it end by itself, then see that it has."""
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
        await asyncio.wait({self.watch}, timeout=LEAVE_SECONDS)
        await self.kill()

    def said(self, stream: int) -> str:
        """What it has written to stdout (0) or stderr (1) since its call began, as far as it is kept."""
        if not self.files or self.files[stream].closed:
            return self.words[stream]
        return os.pread(self.files[stream].fileno(), KEPT_BYTES, 0).decode("utf-8", "replace")

    def _last_words(self, code: str, message: str, hint: str) -> SandboxError:
        return SandboxError(code, message, hint, stdout=self.said(0), stderr=self.said(1))

    def _slay(self) -> None:
        below = [*self._below()] if self.process.returncode is None else []
        for pid in (self.process.pid, *below):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not self.launch.debug:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    async def _guard(self) -> None:
        """Kill a fork bomb while it is small. No limit of the kernel's binds root, nor counts one sandbox alone."""
        while not self.crowded:
            await asyncio.sleep(WATCH_SECONDS)
            if len([*islice(self._below(), PROCESSES + 1)]) > PROCESSES:
                self.crowded = True
                self._slay()

    def _gone(self, watch: asyncio.Task[int]) -> None:
        """The process has ended; a child of it may still hold the socket, so that no end of file would come."""
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    async def _send(self, kind: int, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, HEAD.pack(kind, len(data)) + data)

    async def _frame(self) -> tuple[int, bytearray]:
        kind, size = HEAD.unpack(await self._bytes(HEAD.size))
        if size > REPLY_BYTES:
            raise ValueError("a frame that is larger than any reply may be")
        return kind, await self._bytes(size)

    async def _bytes(self, size: int) -> bytearray:
        loop = asyncio.get_running_loop()
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            got = await loop.sock_recv_into(self.sock, view)
            if not got:
                raise EOFError
            view = view[got:]
        return buffer

    def _below(self) -> Iterator[int]:
        """The processes that the worker has started, and theirs. In a namespace, all but its init and the worker."""
        found = _children(self.process.pid)
        if self.launch.namespaced:
            workers = [pid for init in found for pid in _children(init)]
            yield from workers[1:]  # adopted by the namespace's init
            found = [child for worker in workers[:1] for child in _children(worker)]
        for pid in found:
            yield pid
            yield from _descendants(pid)


def _descendants(pid: int) -> Iterator[int]:
    """All below a process. Without recursion: a chain of forks may be longer than Python's stack is deep."""
    left = [pid]
    while left:
        for child in _children(left.pop()):
            yield child
            left.append(child)


def _children(pid: int) -> list[int]:
    """The children of all threads of a process (proc(5), /proc/pid/task/tid/children). None where there is no /proc."""
    children = b""
    with suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
                children += file.read()
    return [*map(int, children.split())]


def _state(pid: int) -> str:
    """One letter of proc(5); "Z" too for a process that is gone."""
    state = b"Z"
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        state = file.read().rpartition(b") ")[2][:1]
    return state.decode()


def _discard(files: Iterable[IO[bytes]], scratch: str) -> None:
    for file in files:
        file.close()
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


def _nameless_file() -> IO[bytes]:
    return tempfile.TemporaryFile(buffering=0)


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"exit status {status}"
