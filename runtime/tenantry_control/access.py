"""Who may: a bearer token or a CI provider's identity becomes a principal, and a scope is asked for on every route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from tenantry_registry import names
from tenantry_registry.audit import Actor
from tenantry_registry.domains import from_edge
from tenantry_registry.errors import PlatformError
from tenantry_registry.names import PLUGIN, TENANT, Name
from tenantry_registry.tokens import Principal, Tokens

BEARER = HTTPBearer(auto_error=False, description="A token of `platform tokens issue`, or a trusted CI identity")

VIEWER = "x-tenantry-viewer"  # forward.js sets it, over whatever the viewer sent

TenantSlug = Annotated[str, Path(pattern=f"^{TENANT.pattern}$", description="The tenant's name", examples=["acme"])]
PluginSlug = Annotated[
    str, Path(pattern=f"^{PLUGIN.pattern}$", max_length=60, description="The plugin's name", examples=["zoo"])
]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{12,64}$", description="A release: its digest, or 12 digits of it")]


class Caller:
    """One authenticated request: who, from where (an address)."""

    def __init__(self, principal: Principal, source: str) -> None:
        self.principal = principal
        self.actor = Actor(principal.who, source)


class Access:
    """Makes the dependencies that routes ask for. `needs("publish")` is checked against the path's tenant.

    Behind CloudFront the connection is CloudFront's; who proves itself with `origin_secret` says whose it is.
    """

    def __init__(self, tokens: Tokens, *, origin_secret: str = "") -> None:
        self._tokens, self._secret = tokens, origin_secret

    def needs(self, scope: str) -> Any:
        """A dependency: the caller, when it may do `scope` to the tenant in the path (to the platform, without one).

        Raises: PlatformError `token.refused`, `access.denied`.
        """

        def check(principal: Principal, slug: str | None) -> None:
            if not principal.may(scope, slug):
                raise PlatformError(
                    "access.denied",
                    f"This token has no right to {scope} {f'for {slug}' if slug else 'on the platform'}.",
                    _instead(principal, scope, slug),
                )

        return Depends(self._caller(check))

    def needs_operator(self) -> Any:
        """A dependency: the caller, when it is an operator with every scope. Raises: as `needs`."""

        def check(principal: Principal, slug: str | None) -> None:
            if principal.tenant is not None or not principal.may("admin", None):
                raise PlatformError("access.denied", "Only an operator may do this.", "Ask your platform's operator.")

        return Depends(self._caller(check))

    def anyone(self) -> Any:
        """A dependency: the caller, whoever it is. Raises: PlatformError `token.refused`."""
        return Depends(self._caller(lambda principal, slug: None))

    def _caller(self, check: Callable[[Principal, str | None], None]) -> Callable[..., Awaitable[Caller]]:
        async def caller(
            request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]
        ) -> Caller:
            slug = request.path_params.get("tenant")
            if given is None:
                raise PlatformError("token.refused", "Send a token as Authorization: Bearer.", "platform login")
            principal = await self._tokens.principal(given.credentials, tenant=slug)
            check(principal, slug)
            return Caller(principal, self._source(request))

        return caller

    def _source(self, request: Request) -> str:
        viewer = request.headers.get(VIEWER)
        if viewer and from_edge(request.headers, self._secret):
            return viewer
        return request.client.host if request.client else ""


def _instead(principal: Principal, scope: str, slug: str | None) -> str:
    """What somebody would need who may not."""
    if principal.tenant is not None and slug is None:
        return f"It is a token of {principal.tenant}; this needs an operator's."
    if principal.tenant not in (None, slug):
        return f"It is a token of {principal.tenant}; use one of {slug}."
    return f"It has the scope {', '.join(principal.scopes)}; ask for a token with the scope {scope}."


def named(tenant: TenantSlug, plugin: PluginSlug) -> Name:
    """The plugin in the path, as a dependency. Raises: PlatformError `name.tenant`, `name.plugin`."""
    return Name(names.tenant(tenant), names.plugin(plugin))


Plugin = Annotated[Name, Depends(named)]
