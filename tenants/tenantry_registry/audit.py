"""The audit: every change, who made it, from where, what stood before and after. Written once, never changed.

`audit/{tenant}/{yyyy}/{mm}/{dd}/{ulid}.json`; changes to no tenant in particular are under `_platform`. Values of
secrets and tokens never come here: callers hand over names only. Erasing a tenant removes its entries with everything
else; what stays is a tombstone under the hash of its name, by which the name is known as taken and nothing more.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tenantry_registry.objects import JSON, Objects, read_all

PLATFORM = "_platform"  # no tenant's name has an underscore
ERASED = "_erased"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ENTRIES = 1_000  # that one listing returns at most


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is doing something: `who` ("token:1a2b…", "ci:repo:acme/zoo", "operator"), `source` the network address."""

    who: str
    source: str = ""


class Audit:
    """The audit kept in `objects`. `now` gives seconds since the epoch."""

    def __init__(self, objects: Objects, *, now: Callable[[], float] = time.time) -> None:
        self._objects, self._now = objects, now

    async def record(
        self,
        actor: Actor,
        action: str,
        *,
        tenant: str = PLATFORM,
        target: str = "",
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one entry. `action` is a slug such as `release.promote`; `target` what it was done to."""
        now = self._now()
        entry = {
            "at": now,
            "who": actor.who,
            "source": actor.source,
            "action": action,
            "tenant": tenant,
            "target": target,
            "before": before,
            "after": after,
        }
        day = time.strftime("%Y/%m/%d", time.gmtime(now))
        await self._objects.put_once(f"audit/{tenant}/{day}/{ulid(now)}.json", _json(entry), JSON)

    async def entries(self, tenant: str, *, day: str = "") -> list[dict[str, Any]]:
        """A tenant's entries in the order they were made, of one `day` ("2026/11/30") or month or year, or all.

        At most ENTRIES, the latest.
        """
        keys = [listed.key async for listed in self._objects.list(f"audit/{tenant}/{day and day + '/'}")]
        found = await read_all(self._objects, keys[-ENTRIES:])
        return [json.loads(stored.data) for stored in found if stored is not None]

    async def bury(self, tenant: str) -> None:
        """Leave the tombstone of an erased tenant: the hash of its name and the day, nothing else."""
        day = time.strftime("%Y-%m-%d", time.gmtime(self._now()))
        await self._objects.put_once(tombstone(tenant), _json({"erased": day}), JSON)

    async def buried(self, tenant: str) -> bool:
        """Whether a tenant of this name was ever erased."""
        return await self._objects.get(tombstone(tenant)) is not None


def tombstone(tenant: str) -> str:
    return f"audit/{ERASED}/{hashlib.sha256(tenant.encode()).hexdigest()}.json"


def ulid(now: float) -> str:
    """A ULID: 48 bits of milliseconds, 80 random bits, in 26 characters that sort by time."""
    number = (int(now * 1000) << 80) | secrets.randbits(80)
    return "".join(CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def _json(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
