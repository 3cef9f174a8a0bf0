"""Where sign-in meets requests: who is let in at all, which tool asks for more, and how each host is told so.

A plugin with [auth] where no tool may be called anonymously challenges every request (401), so that a client learns
at its first one where to sign in (field report R70). Otherwise tools ask one by one: ChatGPT in an isError result,
which is what starts its sign-in (S05), every other client by 401 or 403 (MCP authorization).

The challenge is sent twice: API Gateway renames WWW-Authenticate on its way out, and the HTTP API's response mapping
writes it back from `x-mcp-challenge` (design section 11, field report R69).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tenantry_registry.domains import RESOURCE
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Issuers, TokenRefused

from tenantry_gateway import signin
from tenantry_gateway.edition import Edition
from tenantry_gateway.request import JSON_TYPE, Request, Response
from tenantry_gateway.route import Site
from tenantry_gateway.signin import Refusal, SignIn
from tenantry_gateway.wire import INVALID_REQUEST, failure
from tenantry_gateway.wire import Refusal as WireRefusal

if TYPE_CHECKING:
    from tenantry_gateway.turn import SecretsOf, Turn, User

CHALLENGE: Final = "mcp/www_authenticate"
CHATGPT: Final = "chatgpt"


class Door:
    """`turn.Authenticate` for every plugin that has an [auth] table; all others have no users."""

    def __init__(self, issuers: Issuers, secrets: SecretsOf) -> None:
        self._signin, self._secrets = SignIn(issuers), secrets

    async def __call__(self, request: Request, site: Site, edition: Edition) -> User | None:
        """The verified claims, or None for nobody. Raises: Answer with a challenge, or 503 while nobody can tell."""
        from tenantry_gateway.turn import Answer

        auth = edition.manifest.auth
        if not auth:
            return None
        values = [request.headers["authorization"]] if "authorization" in request.headers else []
        if "authorization" in request.repeated:
            values *= 2
        secrets: Mapping[str, str] = {}
        if auth.get("introspection"):
            secrets = await self._secrets(site.name, (signin.CLIENT_SECRET,))
        try:
            user = await self._signin.user(values, auth, site.resource, secrets)
        except TokenRefused as error:
            raise Answer(challenged(site, Refusal(401, "invalid_token", error.message), edition)) from error
        except PlatformError as error:
            refused = WireRefusal(INVALID_REQUEST, error.message, {"code": error.code, "hint": error.hint})
            raise Answer(Response(503, failure(refused, None), JSON_TYPE, [("retry-after", "5")])) from error
        if user is None and not signin.anonymous(edition.manifest.tools):
            raise Answer(challenged(site, Refusal(401, "", "Sign in to use this plugin."), edition))
        if user is not None and auth.get("forward_token"):
            user["token"] = values[0].partition(" ")[2].strip()
        return user


def refused(turn: Turn, tool: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a call of `tool` is answered when the user may not make it, else None. Raises: Answer, 401 or 403."""
    from tenantry_gateway.turn import Answer

    lacking = signin.lacking(tool, turn.user)
    if lacking is None:
        return None
    if not turn.edition.manifest.auth:
        text = f"{tool['name']} asks for sign-in, and this plugin has no authorization server."
        return {"content": [{"type": "text", "text": text}], "isError": True}
    if turn.client.kind == CHATGPT:
        return signin.result_challenge(metadata_url(turn.site), lacking)
    raise Answer(challenged(turn.site, lacking, turn.edition, turn.message.id))


def challenged(site: Site, refusal: Refusal, edition: Edition, id: Any = None) -> Response:
    """An HTTP challenge. Where it names no scopes, it names all that the plugin knows (MCP: scope selection)."""
    auth = edition.manifest.auth or {}
    scopes = refusal.scopes or tuple(scope for scope in auth.get("scopes", ()) if scope != "offline_access")
    value = signin.challenge(metadata_url(site), Refusal(refusal.status, refusal.error, refusal.description, scopes))
    body = failure(WireRefusal(INVALID_REQUEST, refusal.description, {"error": refusal.error}), id)
    headers = [("www-authenticate", value), ("x-mcp-challenge", value), ("cache-control", "no-store")]
    return Response(refusal.status, body, JSON_TYPE, headers)


def completed(site: Site, result: dict[str, Any]) -> dict[str, Any]:
    """A tool's own challenge with the plugin's resource_metadata, where it names none (S05)."""
    meta = result.get("_meta")
    given = meta.get(CHALLENGE) if isinstance(meta, dict) else None
    if not given or not isinstance(meta, dict):
        return result
    url = metadata_url(site)

    def complete(value: Any) -> Any:
        if not isinstance(value, str) or "resource_metadata" in value or not value.lower().startswith("bearer"):
            return value
        scheme, _, rest = value.partition(" ")
        return f'{scheme} resource_metadata="{url}"' + (f", {rest}" if rest else "")

    value = [complete(one) for one in given] if isinstance(given, list) else complete(given)
    return {**result, "_meta": {**meta, CHALLENGE: value}}


def metadata_url(site: Site) -> str:
    """The address of the plugin's RFC 9728 document, in either form of address."""
    return f"{site.place.origin}{RESOURCE}{site.resource.removeprefix(site.place.origin)}"


async def over_the_network(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    """`issuers.Fetch` in production; what it needs is imported when the first plugin with sign-in is called."""
    from tenantry_registry.fetch import HttpsFetch

    return await HttpsFetch()(url, form=form, headers=headers)


async def on_this_machine(url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
    """`issuers.Fetch` in development, where an authorization server may be on this machine."""
    from tenantry_registry.fetch import HttpsFetch

    return await HttpsFetch(development=True)(url, form=form, headers=headers)
