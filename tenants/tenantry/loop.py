"""The event loop that `async def` tools run in: one for the process, so that clients kept in globals stay usable."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_loop: asyncio.AbstractEventLoop | None = None


def settle(value: Any) -> Any:
    """`value`, or what it comes to when an `async def` returned it."""
    return run(value) if inspect.iscoroutine(value) else value


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run `coroutine` to its end and return its value. What it left running is cancelled: nothing outlives a call.

    Inside a running loop (a test of the author's, say) it runs in a thread and loop of its own.
    """
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run_here(coroutine)
    import contextvars
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, coroutine).result()


def _run_here(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio

    global _loop
    if _loop is None or _loop.is_closed():
        _loop = asyncio.new_event_loop()
    try:
        return _loop.run_until_complete(coroutine)
    finally:
        if left := asyncio.all_tasks(_loop):
            for task in left:
                task.cancel()
            _loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
