"""The publisher as a Lambda function: one event is one publish of the control plane's list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tenantry_publisher import on_lambda
from tenantry_publisher.on_lambda import Handler, compose
from tenantry_publisher.settings import PublisherSettings
from tenantry_registry.bundle import digest
from tenantry_registry.errors import PlatformError
from tenantry_registry.jobs import Jobs
from tenantry_registry.names import Name
from tenantry_registry.objects import ZIP
from tenantry_registry.registry import Registry

NAME = Name("acme", "zoo")


def waiting(workshop: Any, bundle: bytes) -> str:
    """A publish whose upload is there."""

    async def make() -> str:
        jobs = Jobs(workshop.objects)
        job = await jobs.start(NAME, digest(bundle), len(bundle), who="test")
        await workshop.objects.put_once(job.upload, bundle, ZIP)
        await jobs.finish_upload(NAME, job.id)
        return job.id

    return asyncio.run(make())


@pytest.fixture
def handler_of(workshop: Any, make: SimpleNamespace) -> Iterator[Callable[..., Handler]]:
    """A handler whose plugins say that they have these tools."""
    made: list[Handler] = []

    def compose_(*tools: Any) -> Handler:
        settings = PublisherSettings(store=str(workshop.folder / "store"), target="")
        made.append(compose(settings, objects=workshop.objects, runner=make.runner(make.description(*tools))))
        return made[-1]

    yield compose_
    for handler in made:
        handler.close()


def test_an_event_publishes_the_upload(workshop: Any, make: SimpleNamespace, handler_of: Any) -> None:
    bundle = workshop.bundle({})
    job_id = waiting(workshop, bundle)
    handle = handler_of(make.tool())
    event = {"tenant": "acme", "plugin": "zoo", "id": job_id}
    assert handle(event, None) == {"state": "done"}
    pointer = asyncio.run(Registry(workshop.objects).current(NAME))
    assert pointer is not None
    assert pointer.current == digest(bundle)
    assert handle(event, None) == {"state": "taken"}  # delivered twice: nothing happens again


def test_a_release_that_breaks_rules_ends_the_job_with_its_findings(
    workshop: Any, make: SimpleNamespace, handler_of: Any
) -> None:
    job_id = waiting(workshop, workshop.bundle({}))
    handle = handler_of(make.tool("a.b"))
    assert handle({"tenant": "acme", "plugin": "zoo", "id": job_id}, None) == {"state": "failed"}
    job = asyncio.run(Jobs(workshop.objects).show(NAME, job_id))
    assert job.error is not None
    assert job.error["code"] == "publish.rules"
    assert [finding["code"] for finding in job.error["findings"]] == ["tool.name"]
    assert [step["code"] for step in job.steps] == ["read", "described", "checked"]


def test_an_event_that_names_no_plugin_is_refused(workshop: Any, make: SimpleNamespace, handler_of: Any) -> None:
    with pytest.raises(PlatformError) as error:
        handler_of()({"tenant": "../x", "plugin": "zoo", "id": "1"}, None)
    assert error.value.code == "name.tenant"


def test_the_handler_is_composed_once_from_the_environment(
    workshop: Any, make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENANTRY_STORE", str(workshop.folder / "store"))
    monkeypatch.setenv("TENANTRY_SANDBOX_NONE", "arn:aws:lambda:eu-west-1:123456789012:function:sandbox")
    on_lambda.composed.cache_clear()
    with pytest.raises(PlatformError) as error:
        on_lambda.handler({"tenant": "acme", "plugin": "zoo", "id": "none"}, None)
    assert error.value.code == "publish.unknown"
    assert on_lambda.composed() is on_lambda.composed()
    on_lambda.composed().close()
    on_lambda.composed.cache_clear()
    settings = PublisherSettings()  # type: ignore[call-arg]
    assert (settings.target, settings.base) == ("lambda", "")
