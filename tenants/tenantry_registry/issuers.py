"""Tokens of other people's authorization servers, verified: for plugins' sign-in and for CI providers' identities.

A token is believed when its signature is by a key that its issuer publishes, its algorithm is on our list, and iss,
aud, exp and nbf say so (RFC 7519, RFC 9068, reference P05). Issuer strings are compared as they are written, never
normalised. Metadata and keys are fetched through `Fetch`, which is bounded in size and time and refuses private
addresses; they are cached, asked for again when an unknown key id appears, and served stale when the issuer is down.
Opaque tokens are introspected where the plugin says how (RFC 7662).
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from tenantry_registry.errors import PlatformError

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
LEEWAY = 30  # seconds that two clocks may differ by
FRESH = 600.0  # seconds before keys and metadata are asked for again
STALE = 86_400.0  # seconds that they may serve on while the issuer does not answer
ROTATION = 30.0  # seconds between two fetches that an unknown key id may cause: nobody can make us flood an issuer
TOKEN_BYTES = 16_384  # a longer token is refused unread; API Gateway allows 10,240 bytes of headers
ISSUERS = 512  # kept in memory; the least recently used goes first


class Fetch(Protocol):
    """Fetch one document over https from a public address. Raises: PlatformError `fetch.*`."""

    async def __call__(
        self, url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes: ...


class TokenRefused(PlatformError):
    """The token proves nothing (`auth.invalid-token`); the message is safe to send as `error_description`."""

    def __init__(self, message: str) -> None:
        super().__init__("auth.invalid-token", message, "Sign in again.")


@dataclass(frozen=True, slots=True)
class Introspection:
    """Where and as whom opaque tokens are introspected (RFC 7662): client credentials as HTTP Basic."""

    endpoint: str
    client_id: str
    client_secret: str


@dataclass(slots=True)
class Kept:
    """What is remembered of one issuer. Times are seconds of the injected clock; `fault` is how the last of the
    `asked` questions failed that did."""

    keys: Any = None
    fetched: float = 0.0
    tried: float = field(default=-ROTATION)
    asked: int = 0
    fault: PlatformError | None = None
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def lacks(self, kid: object) -> bool:
        return kid is not None and all(key.kid != kid for key in self.keys)


class Issuers:
    """Verifies tokens of any number of issuers. Make one at the composition root and keep it."""

    def __init__(self, fetch: Fetch, *, clock: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._kept: dict[str, Kept] = {}

    async def verify(
        self,
        token: str,
        *,
        issuer: str,
        audience: Sequence[str],
        introspection: Introspection | None = None,
    ) -> dict[str, Any]:
        """The token's claims, its `scope` as one space-separated string.

        `audience` lists the values of which `aud` must hold one. Raises: TokenRefused; PlatformError
        `auth.issuer-unavailable` when the issuer has never answered.
        """
        if len(token) > TOKEN_BYTES:
            raise TokenRefused("The token is too long.")
        if token.count(".") != 2:
            if introspection is None:
                raise TokenRefused("The token is not a JWT, and this plugin does not introspect tokens.")
            claims = await self._introspect(token, introspection)
        else:
            claims = await self._decode(token, issuer)
        self._check(claims, issuer=issuer, audience=audience, opaque=token.count(".") != 2)
        claims["scope"] = scopes_of(claims)
        return claims

    def _check(self, claims: Mapping[str, Any], *, issuer: str, audience: Sequence[str], opaque: bool) -> None:
        now = self._clock()
        # RFC 7662 makes iss optional in an introspection answer: the endpoint that answered is the issuer's own.
        if claims.get("iss", issuer if opaque else None) != issuer:
            raise TokenRefused("The token is from another issuer.")
        named = claims.get("aud")
        if not set(named if isinstance(named, list) else [named]) & set(audience):
            raise TokenRefused("The token is for another audience.")
        expires, starts = claims.get("exp"), claims.get("nbf", 0)
        if not isinstance(expires, int | float) or isinstance(expires, bool) or expires + LEEWAY <= now:
            raise TokenRefused("The token has expired.")
        if not isinstance(starts, int | float) or starts - LEEWAY > now:
            raise TokenRefused("The token is not valid yet.")
        if not isinstance(claims.get("sub"), str) or not claims["sub"]:
            raise TokenRefused("The token names no subject.")

    async def _decode(self, token: str, issuer: str) -> dict[str, Any]:
        # joserfc and cryptography cost 60 ms to import: only a server that verifies tokens pays for them.
        from joserfc import jwt
        from joserfc.errors import JoseError

        header = _header(token)
        algorithm = header.get("alg")
        if algorithm not in ALGORITHMS:
            raise TokenRefused("The token is signed with an algorithm that is not accepted.")
        if str(header.get("typ", "JWT")).lower().removeprefix("application/") not in ("jwt", "at+jwt"):
            raise TokenRefused("The token is not an access token.")
        kid = header.get("kid")
        keys = await self._keys(issuer, kid)
        try:
            decoded = jwt.decode(token, keys, algorithms=[algorithm])
        except (JoseError, ValueError) as fault:
            raise TokenRefused("The token's signature is not by a key of its issuer.") from fault
        return dict(decoded.claims)

    async def _keys(self, issuer: str, kid: object) -> Any:
        """The issuer's key set, fetched again when it is old or lacks `kid`, and stale when that fails."""
        kept = self._kept.pop(issuer, None) or Kept()
        self._kept[issuer] = kept  # the end of the dict: most recently used
        while len(self._kept) > ISSUERS:
            del self._kept[next(iter(self._kept))]
        now = self._clock()
        if kept.keys is None or kept.lacks(kid):
            asked = kept.asked
            async with kept.asking:  # who comes while somebody else asks waits for the answer, whatever it is
                if kept.keys is None and kept.asked != asked and kept.fault is not None:
                    raise kept.fault
                if kept.keys is None or (kept.lacks(kid) and now - kept.tried >= ROTATION):
                    await self._ask(issuer, kept, now)
        elif now - kept.fetched >= FRESH and now - kept.tried >= ROTATION:  # others go on with what there is
            await self._ask(issuer, kept, now)
        if now - kept.fetched >= STALE:
            raise _silent("does not answer", "Retry in a moment.")
        return kept.keys

    async def _ask(self, issuer: str, kept: Kept, now: float) -> None:
        """Fetch the keys. Raises: as `_fetch_keys`, where there are none to serve meanwhile."""
        kept.tried = now
        try:
            kept.keys, kept.fetched = await self._fetch_keys(issuer), now
        except PlatformError as fault:
            kept.fault = fault
            if kept.keys is None:
                raise
        finally:
            kept.asked += 1

    async def _fetch_keys(self, issuer: str) -> Any:
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        metadata = await self.metadata(issuer)
        address = metadata.get("jwks_uri")
        if not isinstance(address, str):
            raise _unusable("publishes no jwks_uri")
        try:
            found = await self._fetch(address)
        except PlatformError as fault:
            raise _silent("does not answer with its keys", fault.hint) from fault
        try:
            raw = json.loads(found)
            # Symmetric keys in a published set would let anyone who reads it sign.
            raw["keys"] = [key for key in raw["keys"] if key.get("kty") != "oct" and key.get("use", "sig") == "sig"]
            return KeySet.import_key_set(raw)
        except (JoseError, ValueError, KeyError, TypeError, AttributeError) as fault:
            raise _unusable("publishes keys that can't be read") from fault

    async def metadata(self, issuer: str) -> dict[str, Any]:
        """The issuer's own document (RFC 8414, then OpenID Connect Discovery), its `issuer` equal to the letter.

        Raises: PlatformError `auth.issuer-unavailable`, `auth.issuer-invalid`.
        """
        parts = urlsplit(issuer)
        origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        places = dict.fromkeys(
            (
                f"{origin}/.well-known/oauth-authorization-server{path}",
                f"{origin}/.well-known/openid-configuration{path}",
                f"{origin}{path}/.well-known/openid-configuration",
            )
        )
        fault: Exception | None = None
        for place in places:
            try:
                document = json.loads(await self._fetch(place))
            except (PlatformError, ValueError) as failed:
                fault = failed
                continue
            if not isinstance(document, dict) or document.get("issuer") != issuer:
                raise _unusable("names another issuer in its metadata")
            return document
        raise _silent(
            "publishes no metadata that can be read", f"It is looked for at {' and '.join(places)}."
        ) from fault

    async def _introspect(self, token: str, how: Introspection) -> dict[str, Any]:
        basic = base64.b64encode(f"{how.client_id}:{how.client_secret}".encode()).decode()
        body = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
        headers = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
        try:
            answer = json.loads(await self._fetch(how.endpoint, form=body, headers=headers))
        except PlatformError as fault:
            raise _silent("does not answer introspection", fault.hint) from fault
        except ValueError as fault:
            raise _unusable("answers introspection with something that is not JSON") from fault
        if not isinstance(answer, dict) or answer.get("active") is not True:
            raise TokenRefused("The token is not active.")
        return answer


def scopes_of(claims: Mapping[str, Any]) -> str:
    """The scopes of a token as one string: `scope` (RFC 8693), or the `scp` of some servers, string or list."""
    found = claims.get("scope", claims.get("scp", ""))
    return " ".join(str(scope) for scope in found) if isinstance(found, list) else str(found)


def _header(token: str) -> dict[str, Any]:
    first = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    except ValueError as fault:
        raise TokenRefused("The token is not a JWT.") from fault
    if not isinstance(header, dict):
        raise TokenRefused("The token is not a JWT.")
    return header


def _silent(what: str, hint: str) -> PlatformError:
    return PlatformError("auth.issuer-unavailable", f"The plugin's authorization server {what}.", hint)


def _unusable(what: str) -> PlatformError:
    return PlatformError("auth.issuer-invalid", f"The plugin's authorization server {what}.", "Tell its operator.")
