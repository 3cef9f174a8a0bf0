"""The composition root: from settings to an app. The same for Lambda, `platform serve` and `platform dev`.

FastAPI is the outer shell only (`app.mount`): requests reach `Web` without its routing, models or threads. Nothing
here talks to anybody yet, so that a snapshot of the started process (SnapStart) holds no connection and no secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from fastapi import FastAPI
from tenantry_registry.domains import Domains
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Issuers
from tenantry_registry.links import Links
from tenantry_registry.names import Name
from tenantry_registry.objects import Objects
from tenantry_registry.registry import Registry
from tenantry_registry.runners import Runner

from tenantry_gateway.asgi import Gateway, Shell
from tenantry_gateway.attachments import Attachments
from tenantry_gateway.door import Door, on_this_machine, over_the_network
from tenantry_gateway.flights import Flights
from tenantry_gateway.log import Log
from tenantry_gateway.reads import Answers
from tenantry_gateway.route import Sites
from tenantry_gateway.seal import Seal
from tenantry_gateway.settings import GatewaySettings
from tenantry_gateway.shelf import Releases, Shelf
from tenantry_gateway.turn import Authenticate, Desk, SecretsOf
from tenantry_gateway.web import Web
from tenantry_gateway.wellknown import Pages

if TYPE_CHECKING:
    from tenantry_registry.limits import Limiter
    from tenantry_registry.turnstile import Turnstile


async def no_secrets(name: Name, wanted: Sequence[str], /, *, preview: bool = False) -> Mapping[str, str]:
    """A plugin without secrets."""
    return {}


def create_app(
    *,
    objects: Objects,
    runner: Runner,
    settings: GatewaySettings,
    mode: Literal["development", "production"] | None = None,
    authenticate: Authenticate | None = None,
    secrets: SecretsOf = no_secrets,
    limiter: Limiter | None = None,
    turnstile: Turnstile | None = None,
    log: Callable[..., None] | None = None,
) -> FastAPI:
    """The gateway as an ASGI app. `mode` overrides the settings'; `authenticate` the sign-in by plugins' own
    authorization servers (door.py).

    Raises: PlatformError `settings.keys`, `settings.issuer`, `domain.origin`, `domain.base`.
    """
    local = (mode or settings.mode) == "development"
    domains = Domains(settings.origin, base=settings.base, scheme=settings.scheme, hosts=settings.hosts)
    registry = Registry(objects)
    releases = signed_in_at(settings.development_issuer, registry, local=local)
    links = Links(objects)
    write = log or Log()
    meter = None
    if limiter and turnstile:
        from tenantry_gateway.meter import Meter, Plans

        meter = Meter(Plans(objects), limiter, turnstile, log=write)
    desk = Desk(
        objects=objects,
        runner=runner,
        shelf=Shelf(releases, pointer_seconds=0.0 if local else settings.pointer_seconds),
        seal=Seal(settings.keys(local=local)),
        log=write,
        flights=Flights(settings.in_flight),
        attachments=Attachments(objects, links, domains, meter),
        answers=Answers(),
        widget_of=registry.widget,
        authenticate=authenticate or Door(Issuers(on_this_machine if local else over_the_network), secrets),
        secrets=secrets,
        meter=meter,
    )
    web = Web(
        desk,
        Sites(domains, storage=settings.storage),
        Pages(desk, links),
        origins=settings.origins,
        local=local,
        origin_secret=settings.origin_secret,
    )
    app = Gateway(title="Tenantry gateway")
    if hasattr(objects, "receive"):  # a folder's twin of what S3 answers itself; on AWS none of it is imported
        from tenantry_gateway.local_objects import mount_local_objects

        mount_local_objects(app, objects)
    app.mount_root(Shell(web))
    return app


def signed_in_at(issuer: str, releases: Releases, *, local: bool) -> Releases:
    """The releases, with `issuer` in place of plugins' own authorization servers where one is set.

    Raises: PlatformError `settings.issuer` in production, where it would let its owner be anybody.
    """
    if not issuer:
        return releases
    if not local:
        raise PlatformError(
            "settings.issuer",
            "TENANTRY_DEVELOPMENT_ISSUER is for development: whoever runs it could sign in as anybody.",
            "Take it out of the environment; plugins are signed in to at their own [auth] issuer.",
        )
    from tenantry_gateway.standin import StandIn

    return StandIn(releases, issuer)
