"""The floor: FastAPI behind Mangum, one route, prepared bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from mangum import Mangum

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def handler_for(body: bytes) -> Handler:
    """A Lambda handler that reads the request's body and answers these bytes."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)

    @app.post("/{path:path}")
    async def answer(request: Request) -> Response:
        await request.body()
        return Response(body, media_type="application/json")

    asyncio.set_event_loop(asyncio.new_event_loop())
    return Mangum(app, lifespan="off")
