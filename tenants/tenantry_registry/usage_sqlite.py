"""Usage added up in a file: the local twin of DynamoDB."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

from tenantry_registry.names import Name
from tenantry_registry.sqlite_file import SqliteFile
from tenantry_registry.usage import KEEP_DAYS, Used, day_of

SCHEMA = """
CREATE TABLE IF NOT EXISTS used (
    tenant TEXT, day TEXT, plugin TEXT, tool TEXT, calls INTEGER, errors INTEGER, ms INTEGER, bytes INTEGER,
    PRIMARY KEY (tenant, day, plugin, tool)
) WITHOUT ROWID;
"""
ADD = """
INSERT INTO used VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    calls = calls + excluded.calls, errors = errors + excluded.errors,
    ms = ms + excluded.ms, bytes = bytes + excluded.bytes
"""
READ = """
SELECT day, plugin, tool, calls, errors, ms, bytes FROM used
WHERE tenant = ? AND day BETWEEN ? AND ? ORDER BY day, plugin, tool
"""


class SqliteUsage:
    """Adds up in the file at `path`. `now` is the clock. Raises: StorageDown."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self._file, self._now = SqliteFile(path, SCHEMA, durable=True), now
        self._swept: date | None = None

    async def add(self, name: Name, tool: str, *, calls: int = 1, errors: int = 0, ms: int = 0, bytes: int = 0) -> None:
        day = day_of(self._now())

        def work(database: sqlite3.Connection) -> None:
            database.execute(ADD, (name.tenant, day.isoformat(), name.plugin, tool, calls, errors, ms, bytes))
            if self._swept != day:
                old = day - timedelta(days=KEEP_DAYS)
                database.execute("DELETE FROM used WHERE day < ?", (old.isoformat(),))
                self._swept = day

        await self._file.run(work)

    async def read(self, tenant: str, first: date, last: date) -> Sequence[Used]:
        wanted = (tenant, first.isoformat(), last.isoformat())
        rows = await self._file.run(lambda database: database.execute(READ, wanted).fetchall())
        return [Used(date.fromisoformat(row[0]), *row[1:]) for row in rows]

    async def forget(self, tenant: str) -> None:
        await self._file.run(lambda database: database.execute("DELETE FROM used WHERE tenant = ?", (tenant,)))

    def close(self) -> None:
        self._file.close()
