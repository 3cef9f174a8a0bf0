"""The control plane's Lambda function: composed once, at import, from the environment.

Mangum enters the lifespan on every invocation, so there is none: everything is built here. With SnapStart this runs
before the snapshot: nothing in it connects, holds a credential or draws a random number.
"""

from __future__ import annotations

import os
from functools import cache, partial
from typing import Any

from tenantry_registry.loading import loading

with loading():
    from mangum import Mangum
    from tenantry_registry.dynamodb import Table
    from tenantry_registry.fetch import HttpsFetch
    from tenantry_registry.objects_open import open_objects
    from tenantry_registry.secrets import Drawer
    from tenantry_registry.usage_dynamodb import DynamoUsage

    from tenantry_control.app import create_app
    from tenantry_control.logs import CloudWatchLogs
    from tenantry_control.publishing import LambdaPublisher
    from tenantry_control.settings import ControlSettings

CONNECT_SECONDS, READ_SECONDS = 2, 8  # twice within the 29 that API Gateway waits; botocore's own are 60 each


def compose(settings: ControlSettings) -> Mangum:
    """The function's handler for `settings`."""

    def client(service: str) -> Any:
        from botocore.config import Config
        from botocore.session import get_session

        patience = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries={"max_attempts": 2})
        return get_session().create_client(service, region_name=settings.region, config=patience)

    endpoint = settings.store_endpoint or None
    sealing = open_objects(settings.store, endpoint=endpoint, region=settings.region, kms_key=settings.secrets_key)
    app = create_app(
        objects=open_objects(settings.store, endpoint=endpoint, region=settings.region),
        publisher=LambdaPublisher(settings.publisher, client=partial(client, "lambda")),
        fetch=HttpsFetch(),
        usage=DynamoUsage(Table(settings.usage_table, region=settings.region)),
        logs=CloudWatchLogs(settings.log_group, client=partial(client, "logs")),
        drawer=Drawer(sealing, None),
        settings=settings,
    )
    return Mangum(app, lifespan="off", api_gateway_base_path=settings.root_path or "/")


@cache
def composed() -> Mangum:
    return compose(ControlSettings())


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """What Lambda calls."""
    return composed()(event, context)


if os.environ.get("AWS_LAMBDA_RUNTIME_API"):
    with loading():
        composed()  # in the init phase, which has a whole processor and which SnapStart keeps
