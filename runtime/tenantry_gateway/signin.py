"""Sign-in for plugins: the plugin is an OAuth 2.1 protected resource, its authorization server is the author's own.

Three questions, answered apart: who is asking (`SignIn.user`), may this one do that (`lacking`), and how is a
refusal said (`challenge` for HTTP, `result_challenge` for ChatGPT, which signs in from inside a tool only when both
securitySchemes and an isError result with `mcp/www_authenticate` say so: reference P05, S05). Strings of the author
reach the wire verbatim: hosts compare issuers and resources to the letter (field report R68).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Introspection, Issuers, TokenRefused

UNAUTHORIZED = 401
FORBIDDEN = 403
CLIENT_SECRET = "OAUTH_CLIENT_SECRET"  # the plugin's secret that is sent with `client_id` when tokens are introspected


class Refusal(NamedTuple):
    """Why a request may not go on: the HTTP `status`, the RFC 6750 `error` ("" when no token came), the scopes that
    would do."""

    status: int
    error: str
    description: str
    scopes: tuple[str, ...] = ()


class SignIn:
    """Finds out who is asking, for every plugin that has an [auth] table."""

    def __init__(self, issuers: Issuers) -> None:
        self._issuers = issuers

    async def user(
        self, authorization: Sequence[str], auth: Mapping[str, Any], resource: str, secrets: Mapping[str, str]
    ) -> dict[str, Any] | None:
        """The verified claims of the request's token, or None when it brings none.

        `authorization` are the values of the header (more than one is refused), `resource` the plugin's exact MCP
        address, `secrets` the plugin's own, where an introspection's client secret is kept by name.
        Raises: TokenRefused; PlatformError `auth.issuer-unavailable`, `auth.issuer-invalid`, `auth.secret-missing`.
        """
        if not authorization:
            return None
        scheme, _, token = authorization[0].strip().partition(" ")
        if len(authorization) > 1 or scheme.lower() != "bearer" or not token.strip():
            raise TokenRefused("Send one Authorization header: Bearer and a token.")
        return await self._issuers.verify(
            token.strip(),
            issuer=auth["issuer"],
            audience=[resource, *([auth["audience"]] if auth.get("audience") else [])],
            introspection=_introspection(auth, secrets),
        )


def _introspection(auth: Mapping[str, Any], secrets: Mapping[str, str]) -> Introspection | None:
    if not auth.get("introspection"):
        return None
    if CLIENT_SECRET not in secrets:
        raise PlatformError(
            "auth.secret-missing",
            f"The plugin introspects tokens with the secret {CLIENT_SECRET}, which is not set.",
            f"Set it with: platform secrets set TENANT/PLUGIN {CLIENT_SECRET}",
        )
    return Introspection(auth["introspection"], auth["client_id"], secrets[CLIENT_SECRET])


def schemes_of(tool: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The securitySchemes of a tool as listed; a tool that states none may be called by anyone."""
    found: Sequence[Mapping[str, Any]] = tool.get("securitySchemes") or ({"type": "noauth"},)
    return found


def anonymous(tools: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a plugin with [auth] answers at all without a token: when at least one of its tools may be so called."""
    return any(scheme["type"] == "noauth" for tool in tools for scheme in schemes_of(tool))


def lacking(tool: Mapping[str, Any], claims: Mapping[str, Any] | None) -> Refusal | None:
    """What `claims` lack to call `tool`: nothing (None), a token (401), or scopes (403).

    The schemes of a tool are alternatives; one that is satisfied is enough.
    """
    schemes = schemes_of(tool)
    if any(scheme["type"] == "noauth" for scheme in schemes):
        return None
    wanted = [tuple(scheme.get("scopes") or ()) for scheme in schemes if scheme["type"] == "oauth2"]
    scopes = wanted[0] if wanted else ()
    if claims is None:
        return Refusal(UNAUTHORIZED, "", "Sign in to use this tool.", scopes)
    held = set(str(claims.get("scope", "")).split())
    if not wanted or any(held.issuperset(alternative) for alternative in wanted):
        return None
    return Refusal(FORBIDDEN, "insufficient_scope", f"This tool needs {' '.join(scopes)}.", scopes)


def challenge(metadata_url: str, refusal: Refusal) -> str:
    """The value of WWW-Authenticate (RFC 6750, section 3; RFC 9728, section 5.1; MCP authorization)."""
    parts = [f"resource_metadata={_quoted(metadata_url)}"]
    if refusal.error:
        parts += [f"error={_quoted(refusal.error)}", f"error_description={_quoted(refusal.description)}"]
    if refusal.scopes:
        parts.append(f"scope={_quoted(' '.join(refusal.scopes))}")
    return "Bearer " + ", ".join(parts)


def result_challenge(metadata_url: str, refusal: Refusal) -> dict[str, Any]:
    """The tool result that makes ChatGPT start sign-in: error and error_description are required there (S05)."""
    stated = Refusal(refusal.status, refusal.error or "invalid_token", refusal.description, refusal.scopes)
    return {
        "content": [{"type": "text", "text": refusal.description}],
        "isError": True,
        "_meta": {"mcp/www_authenticate": [challenge(metadata_url, stated)]},
    }


def protected_resource(auth: Mapping[str, Any], resource: str, name: str) -> dict[str, Any]:
    """The plugin's RFC 9728 document. `offline_access` is no scope of a resource (MCP authorization)."""
    document: dict[str, Any] = {
        "resource": resource,
        "authorization_servers": [auth["issuer"]],
        "bearer_methods_supported": ["header"],
        "resource_name": name,
    }
    scopes = [scope for scope in auth.get("scopes", ()) if scope != "offline_access"]
    if scopes:
        document["scopes_supported"] = scopes
    return document


def _quoted(text: str) -> str:
    """An RFC 7230 quoted-string: control characters and what is not ASCII have no place in one."""
    plain = "".join(c if " " <= c <= "~" else "?" for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
