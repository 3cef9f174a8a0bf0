"""The first operator of a deployment: whoever deployed it.

Their AWS credentials may write the store, so the token is made here, adopted there, and kept where `platform login`
keeps tokens: `platform tenants create` works next. It is never in a template, an output or a log.
"""

from __future__ import annotations

import secrets

from tenantry_registry.objects import Objects
from tenantry_registry.tokens import Tokens

from tenantry_cli import credentials

OPERATORS = "tno_"  # how an operator's token begins


async def token(objects: Objects, api_url: str) -> str:
    """This operator's token for `api_url`; made, adopted and kept when there is none. Raises: StorageDown."""
    kept = credentials.find(api_url) or ""
    text = kept if kept.startswith(OPERATORS) else OPERATORS + secrets.token_urlsafe(32)
    await Tokens(objects).ensure(text, label="platform deploy")
    if text != kept:
        credentials.keep(api_url, text)
    return text
