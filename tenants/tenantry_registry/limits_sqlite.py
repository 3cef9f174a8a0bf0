"""Limits counted in a file: the local twin of DynamoDB, for any number of processes of one machine."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from tenantry_registry.limits import MICRO, Rate
from tenantry_registry.sqlite_file import SqliteFile

SCHEMA = """
CREATE TABLE IF NOT EXISTS bucket (key TEXT PRIMARY KEY, full INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS slot (key TEXT, id TEXT, until INTEGER NOT NULL, PRIMARY KEY (key, id)) WITHOUT ROWID;
"""
FORGET = 3600 * MICRO  # a bucket that has been full for so long is as good as none


class SqliteLimiter:
    """Counts in the file at `path`. `now` is the clock. Raises: StorageDown."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self.file, self._now = SqliteFile(path, SCHEMA, durable=False), now
        self._swept = 0

    async def take(self, key: str, rate: Rate, amount: float = 1.0) -> float:
        def work(database: sqlite3.Connection) -> float:
            now = self.moment(database)
            full, room = self.full(database, key, rate, now), rate.room(now, amount)
            if full > room:
                return (full - room) / MICRO
            self.fill(database, key, full + rate.cost(amount))
            return 0.0

        return await self.file.run(work)

    async def give_back(self, key: str, rate: Rate) -> None:
        cost = rate.cost(1)
        await self.file.run(lambda db: db.execute("UPDATE bucket SET full = full - ? WHERE key = ?", (cost, key)))

    def moment(self, database: sqlite3.Connection) -> int:
        """The time in microseconds; buckets that are long full are swept away by it."""
        now = round(self._now() * MICRO)
        if now - self._swept > FORGET:
            database.execute("DELETE FROM bucket WHERE full < ?", (now - FORGET,))
            self._swept = now
        return now

    def full(self, database: sqlite3.Connection, key: str, rate: Rate, now: int) -> int:
        """When the bucket will be full: now, at the earliest, and never later than an empty one would be. A machine's
        clock may be wrong for a while after it was started, and a limit that was lowered; that is mended here, so that
        the bucket drains from now on."""
        row = database.execute("SELECT full FROM bucket WHERE key = ?", (key,)).fetchone()
        full: int = row[0] if row else 0
        if full > (latest := now + rate.depth):
            self.fill(database, key, full := latest)
        return max(now, full)

    def fill(self, database: sqlite3.Connection, key: str, full: int) -> None:
        database.execute("REPLACE INTO bucket VALUES (?, ?)", (key, full))

    def close(self) -> None:
        self.file.close()
