"""The pointer: the small object that says which release of a plugin is current. The only thing that moves.

`plugins/{tenant}/{plugin}.json`, changed by compare-and-set only. Everything it names is immutable and was written
before it. A request reads this and nothing else to find its release.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import PREVIEW_DIGITS, Name

FORMAT = 1
HISTORY = 20  # releases one can go back to
PREVIEWS = 20  # at once; the oldest makes room

State = Literal["active", "suspended", "deleted"]
SEVERITY: Mapping[str, int] = {"active": 0, "suspended": 1, "deleted": 2}


@dataclass(frozen=True, slots=True)
class Past:
    """A release that was current: `digest`, and `at`, when it last became so (seconds since the epoch)."""

    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class Pointer:
    """What is known of a plugin without opening a release.

    `own` is the plugin's state, `hold` its tenant's; `state` is the stricter of the two and what serving goes by.
    `previews` maps a digest to its expiry. `yanked` digests are served nowhere, ever. `pruned` maps a digest or tree
    that is being removed to the time when that began. `submitted` is the release whose contract the directory has
    scanned. `left` are releases that were rolled away from: until they are published or pointed at again, no rollback
    leads to them. `version` is what `swap` compares; it is not stored.
    """

    current: str | None = None
    history: tuple[Past, ...] = ()  # the newest first
    previews: Mapping[str, float] = field(default_factory=dict)
    yanked: tuple[str, ...] = ()
    challenge: str = ""
    own: State = "active"
    hold: State = "active"
    pruned: Mapping[str, float] = field(default_factory=dict)
    submitted: str = ""
    left: tuple[str, ...] = ()
    created: float = 0.0
    version: str = ""

    @property
    def state(self) -> State:
        return max(self.own, self.hold, key=SEVERITY.__getitem__)

    def preview(self, digits: str, now: float | None = None) -> str | None:
        """The preview whose digest begins with `digits`, when it is not over. `now`: the clock's time by default."""
        moment = time.time() if now is None else now
        for digest, until in self.previews.items():
            if digest[:PREVIEW_DIGITS] == digits and until > moment and digest not in self.yanked:
                return digest
        return None

    def knows(self, digest: str) -> bool:
        """Whether the release may be pointed at: it was current once, or is a preview, and is not yanked."""
        return digest in self.known and digest not in self.yanked

    @property
    def known(self) -> list[str]:
        """Every release that the pointer names: those of the history, the newest first, then previews and yanked."""
        return list(dict.fromkeys([*(past.digest for past in self.history), *self.previews, *self.yanked]))

    @property
    def served(self) -> list[str]:
        """The releases that were served before one another, the newest first: of the history, what was not rolled away
        from. The current one is the first, where there is one."""
        return [past.digest for past in self.history if past.digest not in self.left]

    @property
    def before(self) -> str | None:
        """The release that a rollback leads to: the one that was served before the current one."""
        gone = {self.current, *self.yanked}
        return next((digest for digest in self.served if digest not in gone), None)

    def pointed(self, digest: str, now: float) -> Pointer:
        """With `digest` current, and first in the history."""
        older = [past for past in self.history if past.digest != digest]
        history = (Past(digest, now), *older)[:HISTORY]
        kept = {past.digest for past in history[1:]}
        return replace(self, current=digest, history=history, left=tuple(one for one in self.left if one in kept))

    def returned(self, digest: str, now: float) -> Pointer:
        """With `digest` current again. Where it was served before what is current, that is rolled away from, and so is
        all that was served between them; else it takes its turn as a new release does."""
        served = self.served
        newer = served[: served.index(digest)] if digest in served else []
        return replace(self, left=(*self.left, *newer)).pointed(digest, now)

    def previewing(self, digest: str, until: float, now: float) -> Pointer:
        """With `digest` as a preview until then. Expired ones go; of too many, the first to expire."""
        live = {d: t for d, t in self.previews.items() if t > now and d != digest}
        kept = sorted(live.items(), key=lambda item: item[1], reverse=True)[: PREVIEWS - 1]
        return replace(self, previews={**dict(kept), digest: until})

    def to_json(self) -> bytes:
        raw = {k: v for k, v in asdict(self).items() if k != "version" and (v or k != "left")}
        return json.dumps({"format": FORMAT, **raw}, sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes, version: str) -> Pointer:
        """Raises: PlatformError `registry.format`."""
        raw = json.loads(data)
        if raw.pop("format") != FORMAT:
            raise PlatformError("registry.format", "This plugin's pointer is of another format.", "Update Tenantry.")
        raw["history"] = tuple(Past(**past) for past in raw["history"])
        tuples = {name: tuple(raw.get(name, ())) for name in ("yanked", "left")}
        return cls(**{**raw, **tuples, "version": version})


def key(name: Name) -> str:
    """Where the plugin's pointer is kept."""
    return f"plugins/{name.tenant}/{name.plugin}.json"
