"""Runs tenants' code in worker processes on this machine: the local twin of LambdaRunner.

A pool of warm workers, each of which has loaded one release. Where bubblewrap works, a worker sees nothing but its
release (see bubblewrap.py). Elsewhere it can read what the user that runs the platform can read, the store included:
docs/sandbox.md says so, and `isolated` tells.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tenantry_registry import bubblewrap as walls
from tenantry_registry import kit_folder, runner_wire
from tenantry_registry.errors import PlatformError
from tenantry_registry.objects import Kind, Objects
from tenantry_registry.process_pool import Pool
from tenantry_registry.process_worker import Launch, Unheard, Worker
from tenantry_registry.runners import Call, Release, SandboxError
from tenantry_registry.unpacked import Unpacked

WORKERS: Final = 8  # processes at a time; an idle one with the kit in it holds about 30 MB
PER_RELEASE: Final = 4  # so that one busy plugin leaves room for others
QUEUE_SECONDS: Final = 3.5  # a tool may take 25 of the 29 seconds that API Gateway allows; the rest is for waiting
STAYS_HERE: Final = ("key", "url", "fields")  # of an upload slot: a worker hands its bytes back to the runner
KNOWN: Final = 64  # releases of which the unchanging part of a call is kept
PROBE_SECONDS: Final = 10.0  # for an interpreter to say where it lies
LIMITS: Final = {  # of one worker; see tenantry_sandbox.limits
    "memory": 2 * 1024**3,  # address space; a Lambda function of 512 MB maps about that much
    "file": 512 * 1024**2,  # Lambda's /tmp
    "files": 1_024,  # Lambda's own limit of open files
    "core": 0,
}
PLAIN_ENVIRON: Final = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC"}


class Known(NamedTuple):
    """`key`: what a worker is bound to; `base`: the part of every event that does not change."""

    key: str
    base: bytes


class ProcessRunner:
    """A Runner on this machine.

    `folder` keeps unpacked bundles and scratch files. `python`: the author's own interpreter, which then runs with the
    author's environment and packages. `debug`: workers keep the terminal, so that a breakpoint works; nothing is
    limited or killed. `isolate`: "bubblewrap" insists on it, "none" goes without, "auto" takes it where it works.
    `spare`: keep one worker ready that has imported the kit but no plugin, which makes the first use of a release fast
    (not with bubblewrap). `environ`: what a worker's environment starts with. `patience`: seconds
    in the queue. `bubblewrap`: its path, "" for none; by default the one that works here, if any.
    """

    def __init__(
        self,
        objects: Objects,
        *,
        folder: Path,
        python: str | None = None,
        workers: int = WORKERS,
        per_release: int = PER_RELEASE,
        debug: bool = False,
        isolate: Literal["auto", "bubblewrap", "none"] = "auto",
        spare: bool = False,
        environ: Mapping[str, str] | None = None,
        limits: Mapping[str, int] = LIMITS,
        patience: float = QUEUE_SECONDS,
        bubblewrap: str | None = None,
    ) -> None:
        self._objects = objects
        self._folder = folder
        self._python = python
        self._debug = debug
        self._isolate = "none" if debug else isolate
        self._environ = environ if environ is not None else (os.environ if python else PLAIN_ENVIRON)
        self._bubblewrap = walls.usable() if bubblewrap is None else bubblewrap
        self._limits = {} if debug else limits
        self._patience = None if debug else patience
        self._releases: OrderedDict[tuple[Any, ...], Known] = OrderedDict()
        self._unpacked = Unpacked(objects, folder / "bundles")
        self._pool = Pool(workers=workers, per_release=1 if debug else per_release)
        self._keeps_spare = spare and not debug
        self._spare: asyncio.Task[Worker] | None = None

    @property
    def isolated(self) -> bool:
        """Whether workers are walled off. Raises: PlatformError `sandbox.no-bubblewrap` where that was insisted on."""
        if self._isolate == "none":
            return False
        if not self._bubblewrap and self._isolate == "bubblewrap":
            raise PlatformError(
                "sandbox.no-bubblewrap",
                "bubblewrap is missing, or this machine forbids it to make namespaces.",
                "Install the package bubblewrap, or trust every tenant with all that this user can read.",
            )
        return bool(self._bubblewrap)

    async def describe(self, release: Release) -> dict[str, Any]:
        """Ask the release's code what it offers. Raises: as Runner says."""
        return await self._run(release, "describe", None)

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        """Run one call. Raises: as Runner says."""
        return await self._run(release, "call", call)

    def warm(self) -> None:
        """Start the spare worker, where one is kept: it imports the kit while whoever asks does something else."""
        if self._keeps_spare and not self.isolated and self._spare is None:
            self._spare = asyncio.ensure_future(Worker.start(self._launch(None, self._folder)))

    async def aclose(self) -> None:
        """End every worker."""
        spare, self._spare = self._spare, None
        if spare is not None:
            with suppress(SandboxError):
                await (await spare).leave()
        await self._pool.aclose()

    async def _run(self, release: Release, verb: str, call: Call | None) -> dict[str, Any]:
        known = self._known(release)
        slots: dict[str, Mapping[str, Any]] = {slot["id"]: slot for slot in call.uploads} if call else {}
        uploads = [{k: v for k, v in slot.items() if k not in STAYS_HERE} for slot in slots.values()]
        encoded = runner_wire.encode({**runner_wire.of_call(verb, call), "uploads": uploads}, known.base)

        async def store(slot: str, data: bytes) -> None:
            await self._objects.put_once(slots[slot]["key"], data, Kind())

        room = {name: int(slot["max_bytes"]) for name, slot in slots.items()}
        left = None if self._debug else release.timeout
        while True:
            worker = await self._pool.take(known.key, lambda: self._start(release, known.key), self._patience)
            usable, fresh, begun = False, worker.seq == 0, time.monotonic()
            try:
                reply = await worker.ask(encoded, left, room, store)
                reply["ran_ms"] = since(begun)
                usable = self._debug or not worker.strays()
                return reply
            except SandboxError as error:
                error.ran_ms = since(begun)
                raise
            except Unheard as error:  # killed while it was idle: the next one may have the call
                left = None if left is None else left - (time.monotonic() - begun)
                if fresh or (left is not None and left <= 0):
                    raise error.failure from error
            finally:
                self._pool.give_back(worker, usable=usable)

    def _known(self, release: Release) -> Known:
        """What is the same for all calls of a release, made once."""
        env, secrets = tuple(release.env.items()), tuple(release.secrets.items())
        same = (release.name, release.digest, release.entrypoint, release.egress, release.timeout, env, secrets)
        known = self._releases.get(same)
        if known is None:
            folder = str(self._unpacked.place(release))
            base = runner_wire.encode(runner_wire.of_release(release, {"folder": folder}))
            known = self._releases[same] = Known(_key(release), base)
            if len(self._releases) > KNOWN:
                self._releases.popitem(last=False)
        else:
            self._releases.move_to_end(same)
        return known

    async def _start(self, release: Release, key: str) -> Worker:
        folder = await self._unpacked.get(release)
        worker = await self._ready(folder) or await Worker.start(self._launch(release, folder))
        worker.key, worker.digest = key, release.digest
        self._unpacked.sweep({release.digest, *self._pool.digests})
        self.warm()
        return worker

    async def _ready(self, folder: Path) -> Worker | None:
        """The spare worker, unless the bundle brings something of its own that the spare has imported already."""
        spare = self._spare
        if spare is None:
            return None
        try:
            worker = await asyncio.shield(spare)  # whoever waits for it may leave; it is there for all
        except SandboxError:
            self._spare = None
            return None
        if self._spare is not spare or top_level(folder) & worker.warmed:
            return None  # another call has taken it meanwhile, or the bundle's own pydantic must win
        self._spare = None
        if worker.alive:
            return worker
        await worker.kill()  # it ended while it waited
        return None

    def _launch(self, release: Release | None, folder: Path) -> Launch:
        """How to start a worker for a release, or a spare one for none."""
        isolated = self.isolated
        kit = kit_folder.make(self._folder / "kit")
        sandbox = kit_folder.sandbox()
        python = self._python or sys.executable
        # -I: nothing of the platform's environment; the author's own interpreter runs as the author set it up.
        own = ["-P"] if self._python else ["-I"]
        command = [python, *own, "-X", "utf8"]
        if isolated and release is not None:
            needed = [sandbox, kit, *kit_folder.sources().values()]
            prefixes = _prefixes(self._python) if self._python else walls.interpreter()
            around = walls.command(
                self._bubblewrap, readable=[*prefixes, *needed], bundle=folder, network=release.egress == "public"
            )
            command = [*around, *command]
        start = {
            "kit": [str(kit)],
            "bare": self._python is None,
            "limits": dict(self._limits),
            "debug": self._debug,
            "warm": release is None,
        }
        scratch = self._folder / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        return Launch(
            command=command,
            environ=self._environ,
            start=start,
            sandbox=str(sandbox.parent),
            scratch="" if isolated else str(scratch),
            debug=self._debug,
            namespaced=isolated,
        )


def since(begun: float) -> float:
    """Milliseconds from a moment of `time.monotonic` until now."""
    return (time.monotonic() - begun) * 1000


def top_level(folder: Path) -> set[str]:
    """The names that can be imported from a bundle and from what it vendors."""
    return {
        path.name.partition(".")[0]
        for place in (folder, folder / "_vendor")
        if place.is_dir()
        for path in place.iterdir()
    }


@cache
def _prefixes(python: str) -> list[Path]:
    """The folders that another interpreter needs to run."""
    code = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, *sys.path]))"
    asked = subprocess.run([python, "-P", "-c", code], capture_output=True, check=True, timeout=PROBE_SECONDS)
    return sorted({Path(path) for path in json.loads(asked.stdout) if os.path.isdir(path)})


def _key(release: Release) -> str:
    """What a worker is bound to. Code reads its environment when it is imported, so that is part of it."""
    told = [release.name, release.digest, release.entrypoint, release.egress, dict(release.env), dict(release.secrets)]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
