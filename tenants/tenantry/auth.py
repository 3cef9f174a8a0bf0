"""Who may call a tool: rows T02 and P05.

A tool's `auth` is a list of alternatives, as securitySchemes is on the wire. The kit enforces it once more at the
call, from the verified claims: annotations and descriptors are only ever hints (row N05).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenantry.errors import AuthRequired, PluginError
from tenantry.user import User

SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749, appendix A.4


@dataclass(frozen=True, slots=True)
class NoAuth:
    """Anybody may call it."""

    def describe(self) -> dict[str, Any]:
        return {"type": "noauth"}


@dataclass(frozen=True, slots=True, init=False)
class OAuth2:
    """A signed-in user who has granted all of `scopes`: `OAuth2("recipes.read", "recipes.write")`."""

    scopes: tuple[str, ...]

    def __init__(self, *scopes: str) -> None:
        for scope in scopes:
            if not isinstance(scope, str) or not SCOPE.fullmatch(scope):
                raise PluginError(f"{scope!r} can't be a scope.", "Write each scope as its own string.")
        object.__setattr__(self, "scopes", scopes)

    def describe(self) -> dict[str, Any]:
        return {"type": "oauth2", "scopes": list(self.scopes)}


Auth = NoAuth | OAuth2


def check(schemes: Sequence[Auth], user: User | None) -> None:
    """Pass when one of `schemes` is satisfied, or there are none. Raises: AuthRequired."""
    if not schemes:
        return
    oauth: OAuth2 | None = None
    for scheme in schemes:
        if isinstance(scheme, NoAuth):
            return
        if user is not None and set(scheme.scopes) <= set(user.scopes):
            return
        oauth = oauth or scheme
    assert oauth is not None
    description = "Sign in to use this." if user is None else "This needs further permission."
    raise AuthRequired(oauth.scopes, description=description)
