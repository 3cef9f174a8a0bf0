"""Signing in without a browser: a token for a test person, for `platform call --as` and `platform dev --try`.

Any MCP address says where it is signed in to (RFC 9728), and that server what it can do (RFC 8414). The one of
`platform dev` has a grant for tests; no other is asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
from tenantry_registry.domains import RESOURCE
from tenantry_registry.errors import PlatformError

from tenantry_cli.client import http_client

PERSON = "urn:tenantry:person"  # the grant type; RFC 6749, section 4.5 asks for an absolute URI
SERVER = "/.well-known/oauth-authorization-server"


async def token_of(who: str, url: str, scopes: Sequence[str] = ()) -> str:
    """An access token of `who` (a subject or an email) for the plugin at `url`; without `scopes`, with all it knows.

    Raises: PlatformError `call.unreachable`; `call.no-sign-in` (the plugin has none), `call.real-issuer` (its
    authorization server is not `platform dev`'s), `call.not-signed-in` (that server refused).
    """
    async with http_client() as http:
        resource = await document(http, url, RESOURCE)
        servers = resource.get("authorization_servers")
        if not isinstance(servers, list) or not servers:
            raise PlatformError("call.no-sign-in", f"{url} has no sign-in.", "Call it without --as.")
        try:
            issuer = await document(http, str(servers[0]), SERVER)
        except PlatformError:  # a real one, which this machine can not reach: platform dev's stands beside the plugin
            issuer = {}
        if PERSON not in issuer.get("grant_types_supported", ()):
            raise PlatformError(
                "call.real-issuer",
                f"{servers[0]} signs users in there, and knows no test people.",
                "--as is for platform dev: serve the plugin with it, or send a token of that server with --token.",
            )
        wanted = scopes or resource.get("scopes_supported", ())
        form = {
            "grant_type": PERSON,
            "person": who,
            "scope": " ".join(wanted),
            "resource": resource.get("resource", ""),
        }
        answer = await asked(http, "POST", issuer["token_endpoint"], data=form)
        if answer.status_code != httpx2.codes.OK:
            said = parsed(answer).get("error_description") or f"HTTP {answer.status_code}"
            raise PlatformError("call.not-signed-in", f"{servers[0]}: {said}", "Name a subject or an email with --as.")
        return str(parsed(answer)["access_token"])


async def document(http: httpx2.AsyncClient, url: str, place: str) -> Mapping[str, Any]:
    """What stands at the well-known `place` of `url` (RFC 8615); {} where nothing does."""
    parts = urlsplit(url)
    return parsed(await asked(http, "GET", f"{parts.scheme}://{parts.netloc}{place}{parts.path.rstrip('/')}"))


async def asked(http: httpx2.AsyncClient, method: str, url: str, **options: Any) -> httpx2.Response:
    try:
        return await http.request(method, url, **options)
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        raise PlatformError("call.unreachable", f"Nobody answers at {url}: {error}", "Is it being served?") from None


def parsed(answer: httpx2.Response) -> Mapping[str, Any]:
    try:
        found = answer.json() if answer.status_code < httpx2.codes.INTERNAL_SERVER_ERROR else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
