"""The composition root of the control plane: collaborators come in, one FastAPI application goes out."""

from __future__ import annotations

import time
from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from tenantry_registry.audit import Audit
from tenantry_registry.domains import Domains
from tenantry_registry.issuers import Fetch, Issuers
from tenantry_registry.objects import Objects
from tenantry_registry.registry import Registry
from tenantry_registry.secrets import Drawer
from tenantry_registry.tenants import Tenants
from tenantry_registry.tokens import Tokens
from tenantry_registry.usage import Usage

from tenantry_control import files, problems, publishes, records, releases, secrets, tenants, tokens
from tenantry_control.access import Access
from tenantry_control.logs import Logs
from tenantry_control.publishing import Publisher
from tenantry_control.settings import ControlSettings


class Health(BaseModel):
    ok: bool


def create_app(
    *,
    objects: Objects,
    publisher: Publisher,
    fetch: Fetch,
    usage: Usage,
    logs: Logs,
    drawer: Drawer,
    settings: ControlSettings,
    now: Callable[[], float] = time.time,
) -> FastAPI:
    """The API below `/v1`.

    `fetch` reads the keys of CI providers that tenants trust; `drawer` is where secrets are put and not read.
    """
    app = FastAPI(
        title="Tenantry",
        version="1",
        summary="Publish and run ChatGPT plugins for many tenants.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    problems.install(app)
    desk = Tokens(objects, issuers=Issuers(fetch, clock=now), audience=settings.api_url, now=now)
    access = Access(desk, origin_secret=settings.origin_secret)
    house, audit = Tenants(objects, now=now), Audit(objects, now=now)
    domains = Domains(settings.origin, base=settings.base, scheme=settings.scheme)
    registry = Registry(objects, now=now, base=settings.base)
    v1 = APIRouter(prefix="/v1")
    v1.include_router(tenants.router(access, house, audit, usage))
    v1.include_router(tokens.router(access, desk, audit, target=settings.target))
    v1.include_router(publishes.router(access, objects, house, publisher, audit, base=settings.base, now=now))
    v1.include_router(releases.router(access, registry, audit, domains, now=now))
    v1.include_router(secrets.router(access, drawer, house, audit))
    v1.include_router(files.router(access, objects, audit))
    v1.include_router(records.router(access, house, usage, audit, logs, now=now))

    @v1.get("/health", tags=["health"], summary="Whether this process answers")
    async def health() -> Health:
        return Health(ok=True)

    app.include_router(v1)
    return app
