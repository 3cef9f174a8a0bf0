"""Events and replies of protocol 1 as bytes, and the caps that both runners hold them to.

The reply comes from a process that the tenant's code owns: it is read as anything else from outside.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final

from tenantry_registry.errors import PlatformError
from tenantry_registry.runners import PROTOCOL, Call, Release, SandboxError

EVENT_BYTES: Final = 6_291_556  # of a synchronous invocation's request and of its response (AWS: Lambda quotas)
REPLY_BYTES: Final = EVENT_BYTES
# What a whole reply may be that came through an upload. Whoever reads it serves others too: a hundred megabytes of
# empty objects were two gigabytes of memory, and half a minute in which nobody was answered.
WHOLE_BYTES: Final = 20_971_520
PARTS: Final = 400_000  # objects and lists in any reply: six megabytes of short records have half of that
OUTCOMES: Final = frozenset(("description", "result", "input_required", "protocol_error", "error", "overflow"))
CALL: Final = tuple(field.name for field in fields(Call) if field.name != "uploads")
JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
SECRETS_ROUNDS: Final = 20_000  # of PBKDF2 in `fingerprint`: it is seen in AWS's logs, secrets may be guessable


def event(release: Release, verb: str, call: Call | None, bundle: Mapping[str, str]) -> dict[str, Any]:
    """The event for `verb`, without its uploads: those differ by runner."""
    return {**of_release(release, bundle), **of_call(verb, call)}


def of_release(release: Release, bundle: Mapping[str, str]) -> dict[str, Any]:
    """The part of an event that is the same for all calls of a release."""
    return {
        "protocol": PROTOCOL,
        "tenant": release.name.tenant,
        "plugin": release.name.plugin,
        "digest": release.digest,
        "entrypoint": release.entrypoint,
        "bundle": bundle,
        "env": dict(release.env),
        "secrets": dict(release.secrets),
        "timeout": release.timeout,
    }


def of_call(verb: str, call: Call | None) -> dict[str, Any]:
    """The part that is not."""
    return {"verb": verb} if call is None else {"verb": verb, "call": {name: getattr(call, name) for name in CALL}}


def encode(event: Mapping[str, Any], base: bytes = b"") -> bytes:
    """The event as JSON; `base` is a part of it that is encoded already. Raises: PlatformError `sandbox.too-large`."""
    data = JSON.encode(event).encode("utf-8", "replace")
    if base:
        data = base[:-1] + b"," + data[1:]
    if len(data) > EVENT_BYTES:
        raise PlatformError(
            "sandbox.too-large",
            f"The call is {len(data):,} bytes; {EVENT_BYTES:,} can be handed to a tool.",
            "Send less, or send a file.",
        )
    return data


def read(data: bytes | bytearray) -> Any:
    """JSON of a sandbox, or None where it is none: NaN and the infinities, which Python reads and writes, are none.

    Raises: SandboxError `sandbox.too-large`."""
    if len(data) > WHOLE_BYTES or data.count(b"{") + data.count(b"[") > PARTS:
        raise SandboxError(
            "sandbox.too-large",
            f"The reply has more than {WHOLE_BYTES:,} bytes, or {PARTS:,} objects and lists.",
            "Return less, or save it with ctx.files.save.",
        )
    try:
        return STRICT.decode(data.decode())
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> float:
    """A finite one (1e999 is none). Raises: ValueError."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


STRICT: Final = json.JSONDecoder(parse_constant=_number, parse_float=_number)  # JSON as RFC 8259 has it


def decode(data: bytes | bytearray) -> dict[str, Any]:
    """A reply. Raises: SandboxError `sandbox.crashed` when it is none, `sandbox.too-large`."""
    reply = read(data)
    if not isinstance(reply, dict) or reply.get("protocol") != PROTOCOL or len(OUTCOMES & reply.keys()) != 1:
        raise SandboxError("sandbox.crashed", "The plugin answered with something that is no reply.")
    return reply


def fingerprint(release: Release) -> str:
    """Eight hex digits that change with the secrets, or nothing where there are none: code that read them when it was
    imported must be imported again once they change, and secrets must not be guessed from this."""
    return _fingerprint(release.digest, tuple(sorted(release.secrets.items()))) if release.secrets else ""


@lru_cache(maxsize=512)
def _fingerprint(digest: str, secrets: tuple[tuple[str, str], ...]) -> str:
    told = json.dumps(secrets).encode()
    return hashlib.pbkdf2_hmac("sha256", told, digest.encode(), SECRETS_ROUNDS, 4).hex()
