"""Tokens by which people and programs speak to the control plane, and the identities of CI providers that need none.

A token is `tnt_{tenant}_{43 characters}` (`tno_{43 characters}` for an operator), shown once. What is kept is
`tokens/{tenant}/{sha256 of it}.json`: looking one up reads one object, and a tenant's tokens are listed without
reading anybody else's. (The design kept them in one flat folder, which can't be listed by tenant.)
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tenantry_registry import names
from tenantry_registry.errors import Conflict, PlatformError
from tenantry_registry.issuers import Issuers
from tenantry_registry.objects import Objects, Stored, read_all
from tenantry_registry.tenants import Tenant, Tenants, Trust

OPERATOR = "_operator"  # no tenant's name has an underscore
SCOPES = ("read", "publish", "admin")  # each holds those before it
FORM = re.compile(r"(?:tnt_([a-z0-9]{2,20})|tno)_([A-Za-z0-9_-]{43})")
ID_DIGITS = 12  # of the hash, by which a token is spoken of


@dataclass(frozen=True, slots=True)
class Principal:
    """Who speaks. `tenant` is None for an operator, who may do everything; `who` is what the audit is told."""

    tenant: str | None
    scopes: tuple[str, ...]
    who: str

    def may(self, scope: str, tenant: str | None) -> bool:
        """Whether it may do what `scope` names to `tenant` (None: to the platform itself)."""
        held = max((SCOPES.index(own) for own in self.scopes), default=-1)
        return self.tenant in (None, tenant) and held >= SCOPES.index(scope)


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token: not the token. Times are seconds since the epoch; `expires` None: never."""

    id: str
    sha256: str
    tenant: str
    scopes: tuple[str, ...]
    label: str
    created: float
    expires: float | None

    def public(self) -> dict[str, Any]:
        """What may be listed: everything but the hash."""
        raw = asdict(self)
        del raw["sha256"]
        return raw


class Tokens:
    """The tokens in `objects`. `issuers` verifies identities of CI providers; `audience` is what they must name."""

    def __init__(
        self,
        objects: Objects,
        *,
        issuers: Issuers | None = None,
        audience: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._objects, self._issuers, self._audience, self._now = objects, issuers, audience, now
        self._tenants = Tenants(objects, now=now)

    async def issue(
        self, tenant: str | None, *, scopes: Sequence[str], label: str = "", days: float | None = None
    ) -> tuple[str, Token]:
        """A new token and its record; the first is nowhere to be had again.

        Raises: PlatformError `token.scope`, `name.tenant`, `tenant.unknown`.
        """
        if not scopes or any(scope not in SCOPES for scope in scopes):
            raise PlatformError("token.scope", "A token needs a known scope.", f"Scopes: {', '.join(SCOPES)}.")
        if tenant is not None:
            await self._tenants.show(tenant)
        text = f"{f'tnt_{tenant}' if tenant else 'tno'}_{secrets.token_urlsafe(32)}"
        expires = None if days is None else self._now() + days * 86_400
        return text, await self._keep(text, tenant, scopes, label, expires)

    async def adopt(self, text: str, *, label: str = "operator") -> Token:
        """Keep an operator's token that was made elsewhere (by `platform deploy`, which alone knows it).

        Raises: PlatformError `token.form`.
        """
        form = FORM.fullmatch(text)
        if form is None or form[1] is not None:
            raise PlatformError("token.form", "That is not an operator's token.", "Begin with tno_ and 43 characters.")
        return await self._keep(text, None, ("admin",), label, None)

    async def ensure(self, text: str, *, label: str = "operator") -> None:
        """As `adopt`, where it was not adopted before. Raises: PlatformError `token.form`."""
        if await self._objects.get(key(OPERATOR, sha256(text))) is None:
            try:
                await self.adopt(text, label=label)
            except Conflict:
                return  # another process just did

    async def _keep(
        self, text: str, tenant: str | None, scopes: Sequence[str], label: str, expires: float | None
    ) -> Token:
        hashed = sha256(text)
        token = Token(hashed[:ID_DIGITS], hashed, tenant or OPERATOR, tuple(scopes), label[:100], self._now(), expires)
        data = json.dumps(asdict(token), sort_keys=True).encode()
        await self._objects.swap(key(token.tenant, hashed), data, expected=None)
        return token

    async def list(self, tenant: str | None) -> list[Token]:
        """A tenant's tokens (None: operators'), expired ones too."""
        keys = [listed.key async for listed in self._objects.list(_folder(tenant))]
        return [_token(stored) for stored in await read_all(self._objects, keys) if stored is not None]

    async def revoke(self, tenant: str | None, token_id: str) -> Token:
        """End a token by its id. Raises: PlatformError `token.unknown`."""
        async for listed in self._objects.list(_folder(tenant)):
            if listed.key.startswith(f"{_folder(tenant)}{token_id}") and len(token_id) == ID_DIGITS:
                stored = await self._objects.get(listed.key)
                await self._objects.delete(listed.key)
                if stored is not None:
                    return _token(stored)
        raise PlatformError(
            "token.unknown", f"There is no token {token_id[:20]}.", f"See: platform tokens list {tenant or ''}".rstrip()
        )

    async def principal(self, text: str, *, tenant: str | None = None) -> Principal:
        """Who `text` proves to be: a token of ours, or a CI provider's identity that `tenant` trusts.

        Raises: PlatformError `token.refused` (the same for every cause), `auth.issuer-unavailable`.
        """
        form = FORM.fullmatch(text)
        if form is None:
            return await self._identity(text, tenant)
        hashed = sha256(text)
        stored = await self._objects.get(key(form[1] or OPERATOR, hashed))
        token = _token(stored) if stored is not None else None
        if token is None or not hmac.compare_digest(token.sha256, hashed):
            raise _refused()
        if token.expires is not None and token.expires <= self._now():
            raise _refused("It has expired: make another.")
        return Principal(form[1], token.scopes, f"token:{token.id}")

    async def _identity(self, text: str, slug: str | None) -> Principal:
        if slug is None or self._issuers is None or text.count(".") != 2:
            raise _refused()
        tenant = await self._tenants.find(slug)
        for trust in tenant.trust if tenant else ():
            try:
                claims = await self._issuers.verify(text, issuer=trust.issuer, audience=[self._audience])
            except PlatformError as fault:
                if fault.code != "auth.invalid-token":
                    raise
                continue
            if _matches(trust, claims):
                return Principal(slug, trust.scopes, f"ci:{claims['sub']}")
        raise _refused("No identity that this tenant trusts matches it.")


async def trusting(tenants: Tenants, slug: str, trust: Sequence[Trust]) -> Tenant:
    """Set whose identities may act for a tenant. Raises: PlatformError `token.trust`, `token.scope`."""
    for one in trust:
        # Without a claim every workflow of everybody at that provider would be trusted.
        narrow = [value for value in one.claims.values() if value.strip("*")]
        if not one.issuer.startswith("https://") or not narrow or len(narrow) != len(one.claims):
            raise PlatformError(
                "token.trust",
                "A trusted identity needs an https issuer and at least one claim with a value.",
                'For example issuer https://token.actions.githubusercontent.com, claim repository = "acme/zoo".',
            )
        if not one.scopes or any(scope not in SCOPES for scope in one.scopes):
            raise PlatformError(
                "token.scope", "A trusted identity needs a known scope.", f"Scopes: {', '.join(SCOPES)}."
            )
    return await tenants.change(
        names.tenant(slug), trust=tuple(replace(one, scopes=tuple(one.scopes)) for one in trust)
    )


def _matches(trust: Trust, claims: dict[str, Any]) -> bool:
    def fits(wanted: str, stated: object) -> bool:
        if wanted.endswith("*"):
            return isinstance(stated, str) and stated.startswith(wanted[:-1])
        return stated == wanted

    return all(fits(wanted, claims.get(name)) for name, wanted in trust.claims.items())


def key(tenant: str, hashed: str) -> str:
    return f"tokens/{tenant}/{hashed}.json"


def _folder(tenant: str | None) -> str:
    return f"tokens/{tenant or OPERATOR}/"


def _token(stored: Stored) -> Token:
    raw = json.loads(stored.data)
    return Token(**{**raw, "scopes": tuple(raw["scopes"])})


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _refused(hint: str = "Log in again: platform login") -> PlatformError:
    return PlatformError("token.refused", "The token is not accepted.", hint)
