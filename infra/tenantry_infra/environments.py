"""Writes a function's environment from its room's own settings class.

Each room has a `settings.py` with one pydantic-settings class, read once at its composition root. This module offers
values by field name; a class takes those it has a field for, under its own `env_prefix`. A field that has no default
and is not offered stops the synthesis, and a test stops a new field that is neither offered nor known to be right as
it is: so a setting can't be forgotten in a template.
"""

from __future__ import annotations

import base64
import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from pydantic_settings import BaseSettings
from tenantry_registry.errors import PlatformError

from tenantry_infra.place import Place

SETTINGS: Final[Mapping[str, str]] = {
    "gateway": "tenantry_gateway.settings:GatewaySettings",
    "control": "tenantry_control.settings:ControlSettings",
    "publisher": "tenantry_publisher.settings:PublisherSettings",
}

# Fields whose default is what a function on AWS wants.
LEFT: Final = frozenset(
    {"store_endpoint", "base_path", "origins", "pointer_seconds", "in_flight", "development_issuer"}
)

CONTROL_PATH: Final = "/api"  # which the HTTP API leads to control, wherever it is asked from

ENVIRONMENT_LIMIT: Final = 4096  # bytes of all names and values together; a quota of Lambda


def settings_class(room: str) -> type[BaseSettings] | None:
    """The settings class of `room`, or None where the room has none (the sandbox never has)."""
    module, _, name = SETTINGS.get(room, ":").partition(":")
    if not module or find_spec(module) is None:
        return None
    found: type[BaseSettings] = getattr(importlib.import_module(module), name)
    return found


def offered(place: Place, *, api_host: str, secrets_key: str) -> dict[str, str]:
    """Every value that a function may be told, by field name. Lists are JSON, as pydantic-settings reads them."""
    public = (place.public_url or f"https://{api_host}").rstrip("/")
    api = f"https://api.{place.domain}" if place.domain else f"{public}/api"
    return {
        "mode": "production",
        "stage": place.stage.name,
        "store": f"s3://{place.bucket}",
        "storage": f"https://{place.bucket}.s3.{place.region}.amazonaws.com",
        "region": place.region,
        "base": place.domain,
        "origin": public,
        "hosts": f'["{api_host}"]',
        "scheme": "https",
        "api_url": api,
        "root_path": CONTROL_PATH,
        "origin_secret": secret(place, "origin"),
        "seal_keys": ring(place, "seal"),
        "secrets_key": secrets_key,
        "limits_table": place.name("limits"),
        "usage_table": place.name("usage"),
        "sandbox_public": place.function_arn("sandbox-public"),
        "sandbox_none": place.function_arn("sandbox-closed"),
        "target": "lambda" if place.stage.target == "lambda" else "",
        "publisher": place.function_arn("publisher"),
        "log_group": f"/aws/lambda/{place.name('gateway')}",
    }


def environment(room: str, values: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of `room`: of `values`, those that its settings class has a field for.

    Raises: PlatformError `deploy.setting`.
    """
    found = settings_class(room)
    if found is None:
        return {}
    prefix = found.model_config.get("env_prefix", "")
    written: dict[str, str] = {}
    for name, field in found.model_fields.items():
        if name in values:
            written[f"{prefix}{name}".upper()] = values[name]
        elif field.is_required():
            raise PlatformError(
                "deploy.setting", f"Nothing says what {room}'s setting {name!r} is.", "Offer it in environments.py."
            )
    return written


def secret(place: Place, part: str) -> str:
    """A reference that CloudFormation resolves when it deploys; the value is in no template and no output."""
    return "{{" + f"resolve:secretsmanager:{place.name(part)}:SecretString" + "}}"


def ring(place: Place, part: str) -> str:
    """A key ring `kid:base64,...` of the keys that the stage has in use.

    A generated key is 64 letters and digits, which are base64 as they stand.
    """
    name = place.name(part)
    keys = ("{{" + f"resolve:secretsmanager:{name}:SecretString:{kid}" + "}}" for kid in place.stage.key_ids)
    return ",".join(f"{kid}:{key}" for kid, key in zip(place.stage.key_ids, keys, strict=True))


def fits(variables: Mapping[str, str]) -> bool:
    """Whether Lambda takes these variables; a reference counts for the value it stands for."""
    longest = len(base64.b64encode(b"x" * 64))
    total = sum(len(name) + min(len(value), longest) if "{{" in value else len(name) + len(value)
                for name, value in variables.items())  # fmt: skip
    return total <= ENVIRONMENT_LIMIT
