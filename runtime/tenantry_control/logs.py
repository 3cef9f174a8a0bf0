"""The port to the gateway's log: a plugin's lines, since a moment, of one error or session.

`FileLogs` reads the files that one machine writes; `CloudWatchLogs` asks the log group. Both return what `log.py` of
the gateway wrote, oldest first.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from tenantry_registry.errors import StorageDown
from tenantry_registry.names import Name

TAIL_BYTES = 16_000_000  # that one question reads of a file, from its end
KEEP_DAYS = 7  # of files on one machine
STEP_SECONDS = 900.0  # of time that a question to CloudWatch begins with
SEARCH_SECONDS = 20.0  # that one question may take: the API gives up after 29
SCAN_SECONDS = 86_400.0  # back from now, where a question to CloudWatch names no moment


class Logs(Protocol):
    async def read(
        self, name: Name, *, after: float = 0.0, error_id: str = "", session: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        """The latest `limit` lines of the plugin later than `after`. Raises: StorageDown."""
        ...


class FileLogs:
    """Files `{day}.jsonl` in `folder`. `write` is what the gateway's log is given as its stream."""

    def __init__(self, folder: Path, *, now: Callable[[], float] = time.time) -> None:
        self._folder, self._now = folder, now
        self._day = ""

    def write(self, text: str) -> int:
        """Append one or more whole lines; O_APPEND keeps those of several processes apart."""
        day = time.strftime("%Y-%m-%d", time.gmtime(self._now()))
        if day != self._day:
            self._folder.mkdir(parents=True, exist_ok=True)
            for old in sorted(self._folder.glob("*.jsonl"))[: 1 - KEEP_DAYS]:  # today's is yet to come
                old.unlink(missing_ok=True)
            self._day = day
        with open(self._folder / f"{day}.jsonl", "ab", buffering=0) as file:
            return file.write(text.encode())

    def flush(self) -> None:
        """Every line is written at once."""

    async def read(
        self, name: Name, *, after: float = 0.0, error_id: str = "", session: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        def search() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = []
            for file in sorted(self._folder.glob("*.jsonl"), reverse=True):
                fitting = (
                    line for line in _lines(file) if _fits(line, name, after=after, error_id=error_id, session=session)
                )
                found = [*deque(fitting, limit), *found]
                if len(found) >= limit:
                    break
            return found[-limit:]

        try:
            return await asyncio.to_thread(search)
        except OSError as fault:
            raise StorageDown("The log can't be read.") from fault


class CloudWatchLogs:
    """The log group `group`; `client` makes a boto3 CloudWatch Logs client at the first use."""

    def __init__(self, group: str, *, client: Callable[[], Any], now: Callable[[], float] = time.time) -> None:
        self._group, self._make, self._now = group, client, now
        self._client: Any = None

    async def read(
        self, name: Name, *, after: float = 0.0, error_id: str = "", session: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        from botocore.exceptions import BotoCoreError, ClientError

        wanted = {"tenant": name.tenant, "plugin": name.plugin}
        wanted |= {key: value for key, value in (("error_id", error_id), ("session", session)) if value}
        pattern = "{ " + " && ".join(f"$.{key} = {json.dumps(value)}" for key, value in wanted.items()) + " }"
        since = after or self._now() - SCAN_SECONDS

        def search(first: float, last: float, deadline: float) -> Iterator[dict[str, Any]]:
            pages = self._client.get_paginator("filter_log_events").paginate(
                logGroupName=self._group,
                filterPattern=pattern,
                startTime=int(first * 1000),
                endTime=int(last * 1000),
            )
            for page in pages:
                for event in page["events"]:
                    line = _line(event["message"])
                    # The pattern is CloudWatch's; what is shown to a tenant is decided here once more.
                    if line and _fits(line, name, after=after, error_id=error_id, session=session):
                        yield line
                if time.monotonic() > deadline:
                    raise _slow()

        def ask() -> list[dict[str, Any]]:
            """CloudWatch gives the oldest first and the latest are wanted: backwards, in ever longer steps."""
            self._client = self._client or self._make()
            found: list[dict[str, Any]] = []
            deadline = time.monotonic() + SEARCH_SECONDS
            last, step = self._now() + STEP_SECONDS, 2 * STEP_SECONDS
            while last > since and len(found) < limit:
                first = max(since, last - step)
                found = [*deque(search(first, last, deadline), limit), *found]
                last, step = first, 4 * step
            return sorted(found, key=lambda line: float(line["time"]))[-limit:]

        try:
            return await asyncio.to_thread(ask)
        except (BotoCoreError, ClientError) as fault:
            raise StorageDown("The log does not answer.") from fault


def _slow() -> StorageDown:
    return StorageDown("The log is too long to be searched in time.", "Ask for a later time, or for one error_id.")


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with open(file, "rb") as opened:
        size = opened.seek(0, 2)
        opened.seek(max(0, size - TAIL_BYTES))
        if size > TAIL_BYTES:
            opened.readline()  # the rest of a line that was cut
        for raw in opened:
            line = _line(raw.decode("utf-8", "replace"))
            if line:
                yield line


def _line(text: str) -> dict[str, Any] | None:
    start = text.find("{")  # the Lambda runtime puts a level, a time and a request id in front
    try:
        line = json.loads(text[start:]) if start >= 0 else None
    except ValueError:
        return None
    return line if isinstance(line, dict) and isinstance(line.get("time"), int | float) else None


def _fits(line: dict[str, Any], name: Name, *, after: float, error_id: str, session: str) -> bool:
    return (
        (line.get("tenant"), line.get("plugin")) == name
        and float(line["time"]) > after
        and (not error_id or line.get("error_id") == error_id)
        and (not session or line.get("session") == session)
    )
