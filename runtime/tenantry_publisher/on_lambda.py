"""The publisher on Lambda: `tenantry_publisher.on_lambda.handler`, composed once per environment.

Invoked without waiting, with {"tenant", "plugin", "id"}: one publish of the control plane's list. Lambda may deliver
an event twice; the job is taken by one worker only. A lost storage is raised, so that Lambda tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any

from tenantry_registry import names
from tenantry_registry.lambda_runner import LambdaRunner
from tenantry_registry.objects import Objects
from tenantry_registry.objects_open import open_objects
from tenantry_registry.runners import Runner

from tenantry_publisher.settings import PublisherSettings
from tenantry_publisher.work import work


class Handler:
    """One environment's handler, on an event loop of its own that outlives invocations."""

    def __init__(self, settings: PublisherSettings, objects: Objects, runner: Runner) -> None:
        self._settings, self._objects, self._runner = settings, objects, runner
        self._loop = asyncio.new_event_loop()

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Carry out one publish. Raises: PlatformError `name.*`, `publish.unknown`; StorageDown."""
        name = names.Name(names.tenant(str(event["tenant"])), names.plugin(str(event["plugin"])))
        job = self._loop.run_until_complete(
            work(
                objects=self._objects,
                runner=self._runner,
                name=name,
                job_id=str(event["id"]),
                base=self._settings.base,
                target=self._settings.target,
            )
        )
        return {"state": job.state if job else "taken"}

    def close(self) -> None:
        """End the loop."""
        self._loop.close()


def compose(settings: PublisherSettings, *, objects: Objects | None = None, runner: Runner | None = None) -> Handler:
    """The handler for these settings. Connects to nothing. `objects` and `runner` stand in for AWS's."""
    store = objects or open_objects(settings.store, endpoint=settings.store_endpoint or None, region=settings.region)
    functions = {"public": settings.sandbox_public, "none": settings.sandbox_none}
    return Handler(settings, store, runner or LambdaRunner(store, functions=functions))


@cache
def composed() -> Handler:
    """The handler of this environment, made at the first event."""
    return compose(PublisherSettings())  # type: ignore[call-arg]  # the store comes from the environment


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    return composed()(event, context)
