"""Development only: another authorization server in place of each author's own.

An author's server knows neither this machine's addresses nor test people. So `platform dev` signs people in itself,
and everything that a release says about sign-in (its RFC 9728 document, challenges, whose tokens count) names that
server: replaced where releases are read, it can't be half replaced. app.py refuses the setting in production.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.pointer import Pointer

from tenantry_gateway.shelf import Releases

LOCAL = ("localhost", "127.0.0.1", "::1")


class StandIn:
    """Releases, signed in to at `issuer`."""

    def __init__(self, releases: Releases, issuer: str) -> None:
        self._releases, self._issuer = releases, issuer

    async def current(self, name: Name) -> Pointer | None:
        return await self._releases.current(name)

    async def manifest(self, name: Name, digest: str) -> Manifest:
        found = await self._releases.manifest(name, digest)
        # Its tokens are JWTs that the plugin's address is named in: nothing to introspect.
        auth = {**found.auth, "issuer": self._issuer, "introspection": ""} if found.auth else None
        return replace(found, auth=auth) if stands_in(found.auth) else found


def stands_in(auth: Mapping[str, Any] | None) -> bool:
    """Whether a plugin's own server is replaced: it has one, and that is not on this machine already, where an author
    who started one means it."""
    return auth is not None and urlsplit(auth["issuer"]).hostname not in LOCAL
