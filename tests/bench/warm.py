"""One process, warm: CPU microseconds of a call through the gateway and through a bare route with the same bytes."""

from __future__ import annotations

import io
import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench import wire
from bench.bare import handler_for

BATCHES = 9
CALLS = 200  # in a batch

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class Echo:
    """A runner in this process: what is measured is the gateway."""

    async def describe(self, release: Any) -> dict[str, Any]:
        raise NotImplementedError

    async def call(self, release: Any, call: Any) -> dict[str, Any]:
        arguments = call.params["arguments"]
        structured = {"text": arguments["text"], "count": 1}
        return {
            "protocol": 1,
            "result": {"content": [{"type": "text", "text": arguments["text"]}], "structuredContent": structured},
        }

    async def aclose(self) -> None:
        return None


def gateway() -> Handler:
    from tenantry_gateway.app import create_app
    from tenantry_gateway.log import Log
    from tenantry_gateway.on_lambda import bridge
    from tenantry_gateway.settings import GatewaySettings
    from tenantry_registry.objects_open import open_objects

    settings = GatewaySettings()
    objects = open_objects(settings.store, endpoint=settings.store_endpoint, environment=os.environ)
    return bridge(create_app(objects=objects, runner=Echo(), settings=settings, log=Log(io.StringIO())))


def cost(handler: Handler, event: dict[str, Any]) -> float:
    """CPU microseconds a call, of one batch."""
    started = time.process_time()
    for _ in range(CALLS):
        handler(event, None)
    return 1_000_000 * (time.process_time() - started) / CALLS


def main() -> None:
    ours = gateway()
    listed = json.loads(ours(wire.modern("tools/list"), None)["body"])
    uri = next(t["_meta"]["ui"]["resourceUri"] for t in listed["result"]["tools"] if t["name"] == "echo")
    events = {
        "initialize": wire.initialize(),
        "tools/list": wire.modern("tools/list"),
        "tools/call": wire.modern("tools/call", {"name": "echo", "arguments": {"text": "again"}}),
        "resources/read": wire.modern("resources/read", {"uri": uri}),
    }
    measured = {}
    for name, event in events.items():
        answer = ours(event, None)
        assert answer["statusCode"] == 200, answer
        assert "error" not in json.loads(answer["body"]), answer["body"][:300]
        bare = handler_for(answer["body"].encode())
        cost(ours, event), cost(bare, event)
        pairs = [(cost(ours, event), cost(bare, event)) for _ in range(BATCHES)]
        measured[name] = [statistics.median(one) for one in zip(*pairs, strict=True)]
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
