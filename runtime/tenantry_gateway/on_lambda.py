"""The gateway on Lambda: `tenantry_gateway.on_lambda.handler`, composed once per environment.

Mangum translates API Gateway (v1 and v2), ALB and function-URL events; `normal` first takes off what a front door puts
before the path (field report R48) and what Mangum can't read. Lifespan is off: it would run on every invocation.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tenantry_registry.loading import loading

with loading():
    from mangum import Mangum
    from tenantry_registry.objects import Objects
    from tenantry_registry.objects_open import open_objects
    from tenantry_registry.runners import Call, Release, Runner
    from tenantry_registry.secrets import Reader

    from tenantry_gateway.app import create_app
    from tenantry_gateway.settings import GatewaySettings

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


def compose(settings: GatewaySettings) -> Handler:
    """The handler for these settings. Connects to nothing. Raises: PlatformError, as `create_app`."""
    objects = open_objects(settings.store, endpoint=settings.store_endpoint or None, region=settings.region)
    app = create_app(
        objects=objects,
        runner=Waking(lambda: lambda_runner(objects, settings)),
        settings=settings,
        secrets=Reader(objects, None).read,  # storage decrypts: the role may use the key of secrets
        **counters(settings),
    )
    return bridge(app, settings.base_path)


def lambda_runner(objects: Objects, settings: GatewaySettings) -> Runner:
    from tenantry_registry.lambda_runner import LambdaRunner

    return LambdaRunner(objects, functions={"public": settings.sandbox_public, "none": settings.sandbox_none})


def counters(settings: GatewaySettings) -> dict[str, Any]:
    """Where limits and usage are counted; nowhere, in a stage that has no tables for it."""
    if not (settings.limits_table and settings.usage_table):
        return {}
    from tenantry_registry.dynamodb import Table
    from tenantry_registry.limits_dynamodb import DynamoLimiter
    from tenantry_registry.turnstile_dynamodb import DynamoTurnstile

    limiter = DynamoLimiter(Table(settings.limits_table, region=settings.region))
    return {
        "limiter": limiter,
        "turnstile": DynamoTurnstile(Table(settings.usage_table, region=settings.region), limiter),
    }


class Waking:
    """A runner that is made when it is first needed: a cold list runs no tool, and need not load what runs one."""

    def __init__(self, make: Callable[[], Runner]) -> None:
        self._make = make
        self._made: Runner | None = None

    async def describe(self, release: Release) -> dict[str, Any]:
        return await self._runner().describe(release)

    async def call(self, release: Release, call: Call) -> dict[str, Any]:
        return await self._runner().call(release, call)

    async def aclose(self) -> None:
        if self._made is not None:
            await self._made.aclose()

    def _runner(self) -> Runner:
        if self._made is None:
            self._made = self._make()
        return self._made


def bridge(app: Any, base_path: str = "") -> Handler:
    """A Lambda handler for an ASGI app, on an event loop of its own that outlives invocations."""
    asyncio.set_event_loop(asyncio.new_event_loop())
    mangum = Mangum(app, lifespan="off")
    return lambda event, context: mangum(normal(event, base_path), context)


def normal(event: Mapping[str, Any], base_path: str = "") -> dict[str, Any]:
    """The event with the path that a client meant, and nothing that Mangum would stumble over."""
    context = dict(event["requestContext"])
    clean: dict[str, Any] = {**event, "requestContext": context}
    for key in ("headers", "multiValueHeaders"):
        if event.get(key):
            clean[key] = {name: value for name, value in event[key].items() if name.lower() != "x-forwarded-port"}
    clean["headers"] = {
        name: "" if name.lower() == "host" and not _host(str(value)) else value
        for name, value in (clean.get("headers") or {}).items()
    }
    body = event.get("body")
    if isinstance(body, str) and not event.get("isBase64Encoded"):
        clean["body"] = body.encode(errors="replace")
    stage = str(context.get("stage") or "")
    if isinstance(context.get("http"), dict):
        context["http"] = {**context["http"], "path": _below(str(context["http"]["path"]), stage, base_path)}
    else:
        clean["path"] = _below(str(event.get("path") or "/"), stage, base_path)
    return clean


def _below(path: str, stage: str, base_path: str) -> str:
    for prefix in (stage, base_path.strip("/")):
        if prefix and prefix != "$default" and (path == f"/{prefix}" or path.startswith(f"/{prefix}/")):
            path = path[len(prefix) + 1 :] or "/"
    return path


def _host(value: str) -> bool:
    """Whether Mangum can take it apart: a name, at most one colon, digits."""
    name, colon, port = value.partition(":")
    return bool(name) and (not colon or port.isdigit())


@cache
def composed() -> Handler:
    return compose(GatewaySettings())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    return composed()(event, context)


if os.environ.get("AWS_LAMBDA_RUNTIME_API"):
    with loading():
        composed()  # in the init phase, which has a whole processor and which SnapStart keeps
