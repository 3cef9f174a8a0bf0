"""Calls admitted and counted in files: the local twin of DynamoDB, for any number of processes of one machine."""

from __future__ import annotations

import secrets
import sqlite3

from tenantry_registry.limits import MICRO, Refused
from tenantry_registry.limits_sqlite import SqliteLimiter
from tenantry_registry.names import Name
from tenantry_registry.turnstile import FLIGHT, Entry, Pass, Work
from tenantry_registry.usage import day_of
from tenantry_registry.usage_sqlite import SqliteUsage


class SqliteTurnstile:
    """Counts in the files of `limiter` and `usage`, by the limiter's clock. Raises: StorageDown."""

    def __init__(self, limiter: SqliteLimiter, usage: SqliteUsage) -> None:
        self._limiter, self._usage = limiter, usage

    async def enter(self, entry: Entry) -> Pass | Refused:
        key = f"tenant/{entry.name.tenant}"

        def work(database: sqlite3.Connection) -> Pass | Refused:
            now = self._limiter.moment(database)
            full, waits = {}, {}
            for bucket, rate in entry.rates.items():
                full[bucket] = self._limiter.full(database, f"{key}/{bucket}", rate, now)
                waits[bucket] = (full[bucket] - rate.room(now, 1)) / MICRO
            bucket = max(waits, key=waits.__getitem__)
            if waits[bucket] > 0:
                return Refused(bucket, waits[bucket])
            database.execute("DELETE FROM slot WHERE key = ? AND until <= ?", (key, now))
            taken = database.execute("SELECT count(*) FROM slot WHERE key = ?", (key,)).fetchone()[0]
            if taken >= entry.most:
                return Refused(FLIGHT, 0.0)
            for bucket, rate in entry.rates.items():
                self._limiter.fill(database, f"{key}/{bucket}", full[bucket] + rate.cost(1))
            slot = secrets.token_hex(8)
            until = now + round(entry.seconds * MICRO)
            database.execute("INSERT INTO slot VALUES (?, ?, ?)", (key, slot, until))
            return Pass(slot, day_of(now / MICRO))

        return await self._limiter.file.run(work)

    async def leave(self, name: Name, passed: Pass | None, work: Work | None) -> None:
        if passed is not None:
            left = (f"tenant/{name.tenant}", passed.slot)
            await self._limiter.file.run(lambda db: db.execute("DELETE FROM slot WHERE key = ? AND id = ?", left))
        if work is not None:
            await self._usage.add(name, work.tool, errors=work.errors, ms=work.ms, bytes=work.bytes)
