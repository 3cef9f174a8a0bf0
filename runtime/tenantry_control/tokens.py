"""/v1/tenants/{tenant}/tokens and /v1/tokens: issued once, listed without their values, revoked."""

# Annotations are evaluated here and now: a route asks for what `access`, an argument of `router`, makes.
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from tenantry_registry.audit import PLATFORM, Audit
from tenantry_registry.tokens import Token, Tokens

from tenantry_control.access import Access, Caller, TenantSlug
from tenantry_control.problems import RESPONSES
from tenantry_control.tenants import Body

TokenId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="A token's id, as listed")]


class NewToken(Body):
    scopes: list[Literal["read", "publish", "admin"]] = Field(default=["publish"], min_length=1, max_length=3)
    label: str = Field(default="", max_length=100, description="what it is for, for people")
    days: float | None = Field(default=None, gt=0, le=3650, description="until it expires; never, without")


class TokenView(BaseModel):
    """A token as listed. Times are seconds since the epoch."""

    id: str
    tenant: str
    scopes: list[str]
    label: str
    created: float
    expires: float | None

    @classmethod
    def of(cls, token: Token) -> Self:
        return cls.model_validate(token.public())


class IssuedToken(TokenView):
    token: str = Field(description="the token itself, shown this once")


class WhoAmI(BaseModel):
    tenant: str | None = Field(description="null for an operator")
    scopes: list[str]
    who: str
    target: str = Field(description="what its releases run on: lambda, or nothing for the control plane's machine")


def router(access: Access, tokens: Tokens, audit: Audit, *, target: str = "") -> APIRouter:
    """The routes of this noun. `target`: the platform that dependencies must be built for."""
    routes = APIRouter(tags=["tokens"], responses=RESPONSES)

    async def issue(caller: Caller, tenant: str | None, body: NewToken) -> IssuedToken:
        text, token = await tokens.issue(tenant, scopes=body.scopes, label=body.label, days=body.days)
        await audit.record(
            caller.actor, "token.issue", tenant=tenant or PLATFORM, target=token.id, after=token.public()
        )
        return IssuedToken(**TokenView.of(token).model_dump(), token=text)

    async def revoke(caller: Caller, tenant: str | None, token_id: str) -> None:
        token = await tokens.revoke(tenant, token_id)
        await audit.record(
            caller.actor, "token.revoke", tenant=tenant or PLATFORM, target=token.id, before=token.public()
        )

    @routes.post("/tenants/{tenant}/tokens", status_code=201, summary="Issue a token of a tenant")
    async def issue_for(
        tenant: TenantSlug, body: NewToken, caller: Annotated[Caller, access.needs("admin")]
    ) -> IssuedToken:
        return await issue(caller, tenant, body)

    @routes.get("/tenants/{tenant}/tokens", summary="List a tenant's tokens")
    async def list_of(tenant: TenantSlug, caller: Annotated[Caller, access.needs("admin")]) -> list[TokenView]:
        return [TokenView.of(token) for token in await tokens.list(tenant)]

    @routes.delete("/tenants/{tenant}/tokens/{token_id}", status_code=204, summary="Revoke a token of a tenant")
    async def revoke_of(
        tenant: TenantSlug, token_id: TokenId, caller: Annotated[Caller, access.needs("admin")]
    ) -> None:
        await revoke(caller, tenant, token_id)

    @routes.post("/tokens", status_code=201, summary="Issue an operator's token")
    async def issue_operator(body: NewToken, caller: Annotated[Caller, access.needs_operator()]) -> IssuedToken:
        return await issue(caller, None, body)

    @routes.get("/tokens", summary="List operators' tokens")
    async def list_operators(caller: Annotated[Caller, access.needs_operator()]) -> list[TokenView]:
        return [TokenView.of(token) for token in await tokens.list(None)]

    @routes.delete("/tokens/{token_id}", status_code=204, summary="Revoke an operator's token")
    async def revoke_operator(token_id: TokenId, caller: Annotated[Caller, access.needs_operator()]) -> None:
        await revoke(caller, None, token_id)

    @routes.get("/whoami", summary="Whose token this is")
    async def whoami(caller: Annotated[Caller, access.anyone()]) -> WhoAmI:
        who = caller.principal
        return WhoAmI(tenant=who.tenant, scopes=list(who.scopes), who=who.who, target=target)

    return routes
