"""Sixteen processes that go through one turnstile at once; test_turnstile.py starts it.

    python counting_crowd.py sqlite FOLDER | dynamodb ENDPOINT    prints JSON: what was granted, and how many flew

Time is the parent's: it says what the time is, all take until they are refused, and so on. So the numbers are the
limit's own and not the machine's.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import sys
import time
from pathlib import Path
from typing import Any

from tenantry_registry.dynamodb import Table
from tenantry_registry.limits import Rate
from tenantry_registry.limits_dynamodb import DynamoLimiter
from tenantry_registry.limits_sqlite import SqliteLimiter
from tenantry_registry.names import Name
from tenantry_registry.turnstile import TENANT, Entry, Pass, Work
from tenantry_registry.turnstile_dynamodb import DynamoTurnstile
from tenantry_registry.turnstile_sqlite import SqliteTurnstile
from tenantry_registry.usage_sqlite import SqliteUsage

PROCESSES = 16
RATE = Rate(per_minute=600, burst=6.0)  # ten a second, sixty at once
WIDE = Rate(per_minute=1_000_000)
PAUSES = (0.0, 2.0, 0.05, 3.1, 0.25)  # seconds from one round of taking to the next
FLIGHTS = 5


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


async def take_all(limits: Any) -> int:
    """How many this process got until it was refused: by the tenant's bucket, which is narrower than the plugin's."""
    got = 0
    while isinstance(
        await limits.enter(Entry(Name("rates", "zoo"), {TENANT: RATE, "plugin#zoo": WIDE}, 10_000, 3600)), Pass
    ):
        got += 1
    return got


async def fly(limits: Any, times: int) -> list[tuple[float, float]]:
    """From when to when this process held a slot, by the machine's own clock."""
    flights: list[tuple[float, float]] = []
    name = Name("flights", "zoo")
    while len(flights) < times:
        passed = await limits.enter(Entry(name, {TENANT: WIDE, "plugin#zoo": WIDE}, FLIGHTS, 3600))
        if not isinstance(passed, Pass):
            await asyncio.sleep(random.uniform(0.01, 0.05))
            continue
        begun = time.monotonic()
        await asyncio.sleep(0.01)
        flights.append((begun, time.monotonic()))
        await limits.leave(name, passed, Work("look", ms=1))
    return flights


async def child(kind: str, where: str, parent: Any) -> None:
    clock = Clock()
    limits: Any
    if kind == "sqlite":
        usage = SqliteUsage(Path(where) / "usage.db", now=clock)
        limits = SqliteTurnstile(SqliteLimiter(Path(where) / "limits.db", now=clock), usage)
    else:
        usage, limiter = (Table(name, endpoint=where, patience=60) for name in ("usage", "limits"))
        limits = DynamoTurnstile(usage, DynamoLimiter(limiter, now=clock), now=clock)
    for line in parent:
        order = json.loads(line)
        clock.now += order["pause"]
        answer = await fly(limits, 2) if order["fly"] else await take_all(limits)
        print(json.dumps(answer), file=parent, flush=True)


def main(kind: str, where: str) -> None:
    import boto3  # noqa: F401 - once, before the fork

    children = []
    for _ in range(PROCESSES):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            for other in children:
                other.close()
            ours.close()
            asyncio.run(child(kind, where, theirs.makefile("rw")))
            os._exit(0)
        theirs.close()
        children.append(ours.makefile("rw"))
        ours.close()

    def ask(**order: Any) -> list[Any]:
        for one in children:
            print(json.dumps(order), file=one, flush=True)
        return [json.loads(one.readline()) for one in children]

    granted = [sum(ask(pause=pause, fly=False)) for pause in PAUSES]
    flights = [flight for answer in ask(pause=0, fly=True) for flight in answer]
    most = max(sum(begun <= moment < ended for begun, ended in flights) for moment, _ in flights)
    print(json.dumps({"granted": granted, "pauses": PAUSES, "flights": len(flights), "most": most}))
    for one in children:
        one.close()
        os.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
