"""The signed-in user: claims of an access token that the platform has verified, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class User(Mapping[str, Any]):
    """The verified claims, read as a mapping; the usual ones are attributes.

    The only thing of a call that may decide what somebody may do. What the client says of itself are hints
    (`tenantry.Unverified`).
    """

    def __init__(self, claims: Mapping[str, Any]) -> None:
        self._claims = dict(claims)

    def __getitem__(self, claim: str) -> Any:
        return self._claims[claim]

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def __len__(self) -> int:
        return len(self._claims)

    def __repr__(self) -> str:
        return f"User({self.sub!r})"

    @property
    def sub(self) -> str:
        """The user's id at the plugin's authorization server."""
        return str(self._claims["sub"])

    @property
    def name(self) -> str | None:
        return self._text("name")

    @property
    def email(self) -> str | None:
        return self._text("email")

    @property
    def nickname(self) -> str | None:
        return self._text("nickname")

    @property
    def scopes(self) -> tuple[str, ...]:
        """What was granted, from `scope` (RFC 8693, section 4.2) or `scp`."""
        value = self._claims.get("scope", self._claims.get("scp", ()))
        return tuple(value.split()) if isinstance(value, str) else tuple(str(scope) for scope in value)

    def _text(self, claim: str) -> str | None:
        value = self._claims.get(claim)
        return value if isinstance(value, str) else None
