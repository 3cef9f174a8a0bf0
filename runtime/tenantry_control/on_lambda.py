"""The control plane's Lambda function: composed once, at import, from the environment.

Mangum enters the lifespan on every invocation, so there is none: everything is built here. With SnapStart this runs
before the snapshot: nothing in it connects, holds a credential or draws a random number.
"""

from __future__ import annotations

from typing import Any

from mangum import Mangum
from tenantry_registry.fetch import HttpsFetch
from tenantry_registry.objects_open import open_objects

from tenantry_control.app import create_app
from tenantry_control.publishing import LambdaPublisher
from tenantry_control.settings import ControlSettings


def compose(settings: ControlSettings) -> Mangum:
    """The function's handler for `settings`."""

    def client() -> Any:
        import boto3

        return boto3.client("lambda", region_name=settings.region)

    app = create_app(
        objects=open_objects(settings.store, endpoint=settings.store_endpoint or None, region=settings.region),
        publisher=LambdaPublisher(settings.publisher, client=client),
        fetch=HttpsFetch(),
        settings=settings,
    )
    return Mangum(app, lifespan="off", api_gateway_base_path=settings.root_path or "/")


handler = compose(ControlSettings())
