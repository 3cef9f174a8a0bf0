"""The port to the publisher: hand over a publish, return at once.

`LambdaPublisher` invokes the publisher's function without waiting; `LocalPublisher` is its twin on one machine, a task
of this process. Both may be told of the same publish twice: only one of them takes it (`jobs.take`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name

AT_ONCE = 4  # publishes of this process at a time: each starts a sandbox


class Publisher(Protocol):
    """Gets publishes done."""

    async def start(self, name: Name, job_id: str) -> None:
        """Let it be worked on. Raises: PlatformError `publish.not-started`."""
        ...

    async def aclose(self) -> None:
        """Wait for what this process itself is working on."""
        ...


class LocalPublisher:
    """Works on publishes in this process, AT_ONCE at a time. `work` is `tenantry_publisher.work.work`, bound."""

    def __init__(self, work: Callable[[Name, str], Awaitable[object]]) -> None:
        self._work, self._room = work, asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, name: Name, job_id: str) -> None:
        task = asyncio.create_task(self._run(name, job_id))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, name: Name, job_id: str) -> None:
        async with self._room:
            await self._work(name, job_id)

    async def aclose(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)


class LambdaPublisher:
    """Invokes the function `arn`; `client` is a boto3 Lambda client, made at the first use."""

    def __init__(self, arn: str, *, client: Callable[[], Any]) -> None:
        self._arn, self._make = arn, client
        self._client: Any = None

    async def start(self, name: Name, job_id: str) -> None:
        event = json.dumps({"tenant": name.tenant, "plugin": name.plugin, "id": job_id}).encode()

        def invoke() -> int:
            self._client = self._client or self._make()
            return int(self._client.invoke(FunctionName=self._arn, InvocationType="Event", Payload=event)["StatusCode"])

        from botocore.exceptions import BotoCoreError, ClientError

        try:
            answered = await asyncio.to_thread(invoke)
        except (BotoCoreError, ClientError) as fault:
            raise _not_started() from fault
        if answered != 202:
            raise _not_started()

    async def aclose(self) -> None:
        """Nothing of it runs here."""


def _not_started() -> PlatformError:
    return PlatformError("publish.not-started", "The publisher could not be started.", "Finish the publish again.")
