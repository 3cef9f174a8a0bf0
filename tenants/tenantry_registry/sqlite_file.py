"""A small database in one file, for what a machine's processes count together. The local twin of a DynamoDB table."""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tenantry_registry.errors import StorageDown

PATIENCE = 5.0  # seconds to wait for other processes' transactions, each of which takes microseconds

T = TypeVar("T")


class SqliteFile:
    """The database at `path`, made with `schema` when it is new. `durable`: what was counted survives a power cut.

    Raises: StorageDown when the file can't be opened.
    """

    def __init__(self, path: Path, schema: str, *, durable: bool) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path.with_name(path.name + ".lock"), "ab") as guard:
                fcntl.flock(guard, fcntl.LOCK_EX)  # sqlite does not wait for its turn when it changes to WAL
                self._connection = sqlite3.connect(
                    path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
                )
                try:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    self._connection.execute(f"PRAGMA synchronous = {'NORMAL' if durable else 'OFF'}")
                    self._connection.executescript(schema)
                except sqlite3.Error:
                    self._connection.close()
                    raise
        except (OSError, sqlite3.Error) as error:
            raise _down(error) from error

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """`work` in a transaction of its own, which no other process's overlaps. Raises: StorageDown."""
        return await asyncio.to_thread(self._run, work)

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                with self._connection:
                    return work(self._connection)
            except sqlite3.Error as error:
                raise _down(error) from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _down(error: Exception) -> StorageDown:
    return StorageDown(f"The store's database can't be used ({type(error).__name__}).", "Look at its disk.")
