"""/v1/plugins/{tenant}/{plugin}/secrets: set, named, removed. Nothing here can read one back."""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from tenantry_registry.audit import Audit
from tenantry_registry.secrets import NAME, VALUE_BYTES, Drawer
from tenantry_registry.tenants import Tenants

from tenantry_control.access import Access, Caller, Plugin
from tenantry_control.problems import RESPONSES
from tenantry_control.tenants import Body

SecretName = Annotated[str, Path(pattern=f"^{NAME.pattern}$", description="The secret's name", examples=["ZOO_KEY"])]


class NewSecret(Body):
    model_config = ConfigDict(str_max_length=VALUE_BYTES)

    value: str = Field(min_length=1, max_length=VALUE_BYTES)
    previews: bool = Field(default=False, description="previews get it, too; they may be anybody's draft")


class SecretView(BaseModel):
    name: str


def router(access: Access, drawer: Drawer, tenants: Tenants, audit: Audit) -> APIRouter:
    """The routes of this noun."""
    routes = APIRouter(prefix="/plugins/{tenant}/{plugin}/secrets", tags=["secrets"], responses=RESPONSES)

    @routes.get("", summary="List the names of a plugin's secrets")
    async def names(plugin: Plugin, caller: Annotated[Caller, access.needs("publish")]) -> list[SecretView]:
        return [SecretView(name=name) for name in await drawer.names(plugin)]

    @routes.put("/{secret}", status_code=204, summary="Set a secret")
    async def put(
        plugin: Plugin, secret: SecretName, body: NewSecret, caller: Annotated[Caller, access.needs("publish")]
    ) -> None:
        most = (await tenants.show(plugin.tenant)).allows().secrets
        await drawer.put(plugin, secret, body.value, previews=body.previews, most=most)
        after = {"name": secret, "previews": body.previews}
        await audit.record(caller.actor, "secret.set", tenant=plugin.tenant, target=str(plugin), after=after)

    @routes.delete("/{secret}", status_code=204, summary="Remove a secret, older values too")
    async def remove(plugin: Plugin, secret: SecretName, caller: Annotated[Caller, access.needs("publish")]) -> None:
        await drawer.remove(plugin, secret)
        await audit.record(
            caller.actor, "secret.remove", tenant=plugin.tenant, target=str(plugin), before={"name": secret}
        )

    return routes
