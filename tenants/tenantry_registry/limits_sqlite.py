"""Limits counted in a file: the local twin of DynamoDB, for any number of processes of one machine."""

from __future__ import annotations

import secrets
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
        self._file, self._now = SqliteFile(path, SCHEMA, durable=False), now
        self._swept = 0

    async def take(self, key: str, rate: Rate, amount: float = 1.0) -> float:
        def work(database: sqlite3.Connection) -> float:
            now = self._sweep(database)
            row = database.execute("SELECT full FROM bucket WHERE key = ?", (key,)).fetchone()
            full = max(now, row[0] if row else 0)
            room = rate.room(now, amount)
            if full > room:
                return (full - room) / MICRO
            database.execute("REPLACE INTO bucket VALUES (?, ?)", (key, full + rate.cost(amount)))
            return 0.0

        return await self._file.run(work)

    async def give_back(self, key: str, rate: Rate, amount: float = 1.0) -> None:
        cost = rate.cost(amount)
        await self._file.run(lambda db: db.execute("UPDATE bucket SET full = full - ? WHERE key = ?", (cost, key)))

    async def enter(self, key: str, most: int, seconds: float) -> str | None:
        def work(database: sqlite3.Connection) -> str | None:
            now, slot = self._moment(), secrets.token_hex(8)
            database.execute("DELETE FROM slot WHERE key = ? AND until <= ?", (key, now))
            taken = database.execute("SELECT count(*) FROM slot WHERE key = ?", (key,)).fetchone()[0]
            if taken >= most:
                return None
            database.execute("INSERT INTO slot VALUES (?, ?, ?)", (key, slot, now + round(seconds * MICRO)))
            return slot

        return await self._file.run(work)

    async def leave(self, key: str, slot: str) -> None:
        await self._file.run(lambda db: db.execute("DELETE FROM slot WHERE key = ? AND id = ?", (key, slot)))

    def close(self) -> None:
        self._file.close()

    def _moment(self) -> int:
        return round(self._now() * MICRO)

    def _sweep(self, database: sqlite3.Connection) -> int:
        now = self._moment()
        if now - self._swept > FORGET:
            database.execute("DELETE FROM bucket WHERE full < ?", (now - FORGET,))
            self._swept = now
        return now
