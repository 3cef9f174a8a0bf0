"""News for the page, as server-sent events: releases, saves that did not publish, and what tools printed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import StreamingResponse

BEAT = 15.0  # seconds between comments, so that a dead connection is noticed


def stream(request: Request, events: Callable[[], AsyncIterator[Mapping[str, Any]]] | None) -> StreamingResponse:
    """The event stream of one page, ending with it."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_lines(events), media_type="text/event-stream", headers=headers)


async def _lines(events: Callable[[], AsyncIterator[Mapping[str, Any]]] | None) -> AsyncIterator[str]:
    yield "retry: 1000\n: ready\n\n"
    if events is None:
        while True:
            await asyncio.sleep(BEAT)
            yield ": still here\n\n"
    source = events()
    waiting: asyncio.Future[Mapping[str, Any]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(source))
            done, _ = await asyncio.wait({waiting}, timeout=BEAT)
            if not done:
                yield ": still here\n\n"
                continue
            try:
                event = waiting.result()
            except StopAsyncIteration:
                return
            waiting = None
            data = {key: value for key, value in event.items() if key != "event"}
            yield f"event: {event.get('event', 'release')}\ndata: {json.dumps(data)}\n\n"
    finally:
        if waiting is not None:
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await waiting
