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
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final, Literal

from tenantry_registry.process_tree import THREADS, Tree, children
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
LAST_WORDS: Final = 0.2  # seconds before a late tool is killed: time for a traceback of where it was
TRACE: Final = signal.SIGUSR2  # asks a worker for that
BUFFER_BYTES: Final = 1_048_576  # read ahead of what is waited for, at most twice that
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


class Unheard(Exception):
    """The worker was gone before it had read the whole call, so nothing of it was begun: another worker may have it.

    A process that ends with something unread resets the connection, on Linux; one that has read all closes it."""

    def __init__(self, failure: SandboxError) -> None:
        super().__init__(failure.code)
        self.failure = failure


@dataclass(eq=False)
class Worker:
    """A running worker. `key` is the release it belongs to, as the pool sees it; "" for a spare. `ended`: why it was
    ended in the middle of a call, "" where it ended by itself."""

    process: asyncio.subprocess.Process
    tree: Tree
    sock: socket.socket
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    files: tuple[IO[bytes], ...]
    scratch: str
    launch: Launch
    key: str = ""
    digest: str = ""
    warmed: frozenset[str] = frozenset()
    seq: int = 0
    words: tuple[str, str] = ("", "")
    ended: Literal["", "late", "crowded"] = ""
    watch: asyncio.Task[int] = field(init=False)

    @classmethod
    async def start(cls, launch: Launch) -> Worker:
        """Start one and wait until it is ready. Raises: SandboxError `sandbox.refused`."""
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=BUFFER_BYTES)
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
            writer.transport.abort()
            _discard(files, scratch)
            raise SandboxError("sandbox.refused", f"No worker could be started: {error.strerror}.") from error
        except BaseException:  # whoever wanted it has left; the process is asyncio's to end
            writer.transport.abort()
            _discard(files, scratch)
            raise
        finally:
            theirs.close()
        tree = Tree(process.pid, namespaced=launch.namespaced)
        worker = cls(process, tree, ours, reader, writer, files, scratch, launch)
        worker.watch = asyncio.ensure_future(process.wait())
        worker.watch.add_done_callback(worker._gone)
        try:
            async with asyncio.timeout(START_SECONDS):
                await worker._send(json.dumps({**launch.start, "trace": TRACE}).encode())
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

        Raises: Unheard; SandboxError `sandbox.timeout`, `sandbox.crashed`, `sandbox.too-large`: the worker is of no
        use then.
        """
        self.seq += 1
        data = event[:-1] + b',"seq":%d}' % self.seq
        watch = None if seconds is None else Watch(self, seconds)
        heard = False
        try:
            await self._send(data)
            kind, body = await self._frame()
            heard = True
            while kind == PUT:
                put = json.loads(body)
                if put["size"] > slots[put["id"]]:
                    raise ValueError("more than the slot may hold")
                async with asyncio.timeout_at(watch.end if watch else None):
                    await store(put["id"], await self.reader.readexactly(put["size"]))
                kind, body = await self._frame()
        except (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError) as error:
            if self.ended == "late" or isinstance(error, TimeoutError):
                raise self._last_words(
                    "sandbox.timeout",
                    f"The tool did not answer within {seconds or 0:g} seconds and was stopped.",
                    "Do less in one call, or start the work in one call and ask for its result in another.",
                ) from error
            await self.kill()
            if self.ended == "crowded":
                raise self._last_words(
                    "sandbox.crashed",
                    f"The tool started more than {PROCESSES} processes or {THREADS:,} threads and was stopped.",
                    "Start fewer at a time.",
                ) from error
            crashed = self._last_words(
                "sandbox.crashed",
                f"The plugin's process ended ({_how(self.process.returncode)}) before it answered.",
                "Its last words are in the log.",
            )
            if not heard and isinstance(error, (ConnectionResetError, BrokenPipeError)):
                raise Unheard(crashed) from error
            raise crashed from error
        finally:
            if watch is not None:
                watch.cancel()
        reply = decode(body)
        if reply.pop("seq", None) != self.seq:
            raise self._last_words("sandbox.crashed", "The plugin answered a question that was not asked.", "")
        return reply

    @property
    def alive(self) -> bool:
        """Whether it could be asked, as far as is known."""
        return not (self.watch.done() or self.reader.at_eof() or self.reader.exception())

    def strays(self) -> bool:
        """Whether anything that it started is still running."""
        return self.tree.running()

    def is_crowded(self) -> bool:
        """Whether it has more processes or threads than a call may have."""
        return self.tree.crowded(PROCESSES)

    def trace(self) -> None:
        """Let it write where it is."""
        with suppress(ProcessLookupError):
            os.kill(self.tree.worker(), TRACE)

    def end(self, why: Literal["late", "crowded"]) -> None:
        """Kill it in the middle of a call."""
        self.ended = why
        self._slay()
        self._hang_up()

    async def kill(self) -> None:
        """End it and everything that it started, now."""
        self._slay()
        await self.watch
        self.words = (self.said(0), self.said(1))
        self.writer.transport.abort()
        self.tree.close()
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
        """Kill what there is. Once the process has ended, its number is anybody's: a worker's that another tenant has
        started since, perhaps."""
        if self.process.returncode is not None:
            return
        # A namespace ends with its first process, whatever is in it.
        below = children(self.process.pid) if self.launch.namespaced else [*self.tree.below()]
        for pid in (self.process.pid, *below):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._slay_group()

    def _slay_group(self) -> None:
        if not self.launch.debug and not self.launch.namespaced:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _gone(self, watch: asyncio.Task[int]) -> None:
        """The process has ended just now. A child of it may still hold the socket, so that no end of file would come;
        the others of its group end with it."""
        self._slay_group()
        self._hang_up()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    async def _send(self, data: bytes) -> None:
        self.writer.write(HEAD.pack(REPLY, len(data)) + data)
        await self.writer.drain()

    async def _frame(self) -> tuple[int, bytes]:
        kind, size = HEAD.unpack(await self.reader.readexactly(HEAD.size))
        if size > REPLY_BYTES:
            raise ValueError("a frame that is larger than any reply may be")
        return kind, await self.reader.readexactly(size)


class Watch:
    """Looks at a call while it runs: ends a fork bomb while it is small, asks a late tool where it is, then ends it."""

    def __init__(self, worker: Worker, seconds: float) -> None:
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self.end = self._loop.time() + seconds
        self._asks = self.end - min(LAST_WORDS, seconds / 2)
        self._asked = False
        self._timer = self._set()

    def cancel(self) -> None:
        """The call is over."""
        self._timer.cancel()

    def _set(self) -> asyncio.TimerHandle:
        due = self.end if self._asked else self._asks
        return self._loop.call_at(min(self._loop.time() + WATCH_SECONDS, due), self._look)

    def _look(self) -> None:
        now = self._loop.time()
        if now >= self.end:
            self._worker.end("late")
        elif self._worker.is_crowded():  # no limit of the kernel's binds root, nor counts one sandbox alone
            self._worker.end("crowded")
        else:
            if now >= self._asks and not self._asked:
                self._asked = True
                self._worker.trace()
            self._timer = self._set()


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
