"""The registry: publishes releases and moves pointers, in an order that leaves the old release serving at any crash.

Bundle, widget blobs, widget records, manifest: each immutable, each put once, at its content's address or behind it.
Then, last, the pointer, by compare-and-set. Whoever dies on the way has changed nothing that is served, and repeating
it goes on from there. Two publishes that race both get their turn: the loser of the swap reads again and decides again.

Pruning (prune.py) goes through the pointer too: it first marks there what it is about to remove. A publish that needs
something marked since it began, or shortly before, is refused (`registry.pruning`), at its own swap at the latest.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict, dataclass, replace

from tenantry_registry import pointer as pointers
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest, WidgetEntry
from tenantry_registry.names import Name, check_length
from tenantry_registry.objects import JSON, PARALLEL, ZIP, Kind, Objects, Stored, move, read_all
from tenantry_registry.pointer import Past as Past
from tenantry_registry.pointer import Pointer as Pointer

PRUNE_SECONDS = 600.0  # a prune is over by then, or stops
PREVIEW_SECONDS = 7 * 24 * 3600.0  # how long a release that is not made current stays a preview, where nothing is said

Blob = tuple[str, bytes, Kind]


@dataclass(frozen=True, slots=True)
class Published:
    """What a publish did. `previous` was current before; `changed` is False when it was this very release."""

    digest: str
    previous: str | None
    changed: bool


class Registry:
    """Releases and pointers in `objects`. `now` is the clock."""

    def __init__(self, objects: Objects, *, now: Callable[[], float] = time.time, base: str = "") -> None:
        self.objects, self._now, self._base = objects, now, base

    # -- reading ----------------------------------------------------------------------------------------------------

    async def current(self, name: Name) -> Pointer | None:
        """The plugin's pointer, or None where there never was such a plugin."""
        stored = await self.objects.get(pointers.key(name))
        return Pointer.from_json(stored.data, stored.version) if stored else None

    async def history(self, name: Name) -> tuple[pointers.Past, ...]:
        """The last 20 releases that were current, the newest first. Raises: PlatformError `registry.unknown`."""
        return (await self.known(name)).history

    async def manifest(self, name: Name, digest: str) -> Manifest:
        """A release. Raises: PlatformError `registry.no-release`, `manifest.format`."""
        stored = await self.objects.get(release_key(name, digest))
        if stored is None:
            raise PlatformError("registry.no-release", f"{name} has no release {digest[:12]}.", "See its releases.")
        return Manifest.from_json(stored.data)

    async def versions(self, name: Name, digests: Iterable[str]) -> dict[str, str]:
        """What the authors called these releases; nothing of those that are pruned. Raises: StorageDown."""
        wanted = list(digests)
        stored = await read_all(self.objects, (release_key(name, digest) for digest in wanted))
        return {
            digest: str(json.loads(one.data)["server"].get("version", ""))
            for digest, one in zip(wanted, stored, strict=True)
            if one
        }

    async def widget(self, name: Name, uri: str) -> WidgetEntry | None:
        """The widget that was ever published at `uri`, current or not."""
        stored = await self.objects.get(widget_key(name, uri))
        return WidgetEntry(**json.loads(stored.data)) if stored else None

    async def plugins(self, tenant: str) -> AsyncIterator[Name]:
        """A tenant's plugins by name, deleted ones too."""
        async for listed in self.objects.list(f"plugins/{tenant}/"):
            yield Name(tenant, listed.key.rpartition("/")[2].removesuffix(".json"))

    async def every(self, tenant: str) -> list[tuple[Name, Pointer]]:
        """A tenant's plugins with their pointers, by name, deleted ones too."""
        names = [name async for name in self.plugins(tenant)]
        stored = await read_all(self.objects, (pointers.key(name) for name in names))
        return [
            (name, Pointer.from_json(one.data, one.version)) for name, one in zip(names, stored, strict=True) if one
        ]

    # -- publishing -------------------------------------------------------------------------------------------------

    async def publish(
        self,
        manifest: Manifest,
        *,
        bundle: bytes | None,
        blobs: Iterable[Blob] = (),
        set_current: bool = True,
        preview_until: float | None = None,
        began: float | None = None,
    ) -> Published:
        """Make a release, and make it current or (`preview_until`, seconds since the epoch) a preview.

        `bundle` is the zip, None when it is stored already. `blobs` are compiled widgets and their files, at keys
        below `site/{tenant}/{plugin}/`; those that storage was found to hold since `began` (default: now) may be
        left out.

        Raises: PlatformError `registry.digest`, `registry.key`, `registry.widget-changed`, `registry.yanked`,
        `registry.deleted`, `registry.suspended`, `registry.pruning`, `name.too-long`; Conflict after too many
        lost races; StorageDown. The pointer is untouched then.
        """
        name, digest = Name(manifest.tenant, manifest.plugin), manifest.digest
        began = self._now() if began is None else began
        until = self._now() + PREVIEW_SECONDS if preview_until is None and not set_current else preview_until
        given = self._checked(name, blobs)
        wanted = {digest} | {part_of(key) for key, _, _ in given}
        wanted |= {part for widget in manifest.widgets for part in (widget.tree, part_of(widget.key))}

        def decide(pointer: Pointer) -> Pointer:
            self._check_open(name, pointer, digest, began, wanted)
            if until is not None:
                pointer = pointer.previewing(digest, until, self._now())
            return pointer.pointed(digest, self._now()) if set_current else pointer

        before = await self.current(name)
        if before is None and self._base:
            check_length(name, self._base)
        decide(before or Pointer())
        unchanged = before is not None and before.current == digest and until is None
        if unchanged and await self.objects.get(release_key(name, digest)):
            return Published(digest, digest, False)
        await self._store_bundle(name, digest, bundle)
        await self._put_all(given)
        for widget in manifest.widgets:
            await self._put_widget(name, widget)
        await self.objects.put_once(release_key(name, digest), manifest.to_json(), JSON)
        # A pointer that was there and is gone was erased meanwhile, with its tenant: it does not come back.
        old = await self.move(name, decide, create=before is None)
        return Published(digest, old.current, set_current and old.current != digest)

    async def _store_bundle(self, name: Name, digest: str, data: bytes | None) -> None:
        key, given = bundle_key(name, digest), data is not None
        if data is None:
            stored = await self.objects.get(key)
            data = stored.data if stored else b""
        if hashlib.sha256(data).hexdigest() != digest:  # bundle.digest, without its imports: the gateway starts cold
            raise PlatformError("registry.digest", "The bundle is not the one that its digest names.", "Upload again.")
        if given:
            await self.objects.put_once(key, data, ZIP)

    async def _put_all(self, blobs: list[Blob]) -> None:
        room = asyncio.Semaphore(PARALLEL)

        async def put(blob: Blob) -> None:
            async with room:
                await self.objects.put_once(*blob)

        try:
            async with asyncio.TaskGroup() as group:
                for blob in blobs:
                    group.create_task(put(blob))
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None

    def _checked(self, name: Name, blobs: Iterable[Blob]) -> list[Blob]:
        checked = list(blobs)
        for key, _, _ in checked:
            if not key.startswith(f"site/{name.tenant}/{name.plugin}/"):
                raise PlatformError("registry.key", f"A file of {name} can not be kept at {key[:80]!r}.")
        return checked

    async def _put_widget(self, name: Name, widget: WidgetEntry) -> None:
        data = json.dumps(asdict(widget), sort_keys=True, separators=(",", ":")).encode()
        key = widget_key(name, widget.uri)
        if await self.objects.put_once(key, data, JSON):
            return
        stored = await self.objects.get(key)
        if stored is None or stored.data != data:
            raise PlatformError(
                "registry.widget-changed",
                f"{widget.uri} was published with other content.",
                "Hosts keep what they have read of a URI: publish the new content at a new one.",
            )

    # -- moving the pointer -----------------------------------------------------------------------------------------

    async def point(self, name: Name, digest: str | None) -> Pointer:
        """Make a known release current (rollback, promotion of a preview), or withdraw the plugin (None).

        A release that was served before the current one is gone back to: what was served since is rolled away from.

        Raises: PlatformError `registry.unknown`, `registry.no-release`, `registry.yanked`, `registry.deleted`,
        `registry.suspended`, `registry.pruning`; Conflict; StorageDown.
        """

        def decide(pointer: Pointer) -> Pointer:
            if digest is None:
                return replace(pointer, current=None)
            self._check_open(name, pointer, digest)
            if not pointer.knows(digest):
                raise PlatformError("registry.no-release", f"{name} has no release {digest[:12]}.", "See its releases.")
            return pointer.returned(digest, self._now())

        await self.move(name, decide)
        return await self.known(name)

    async def preview(self, name: Name, digest: str, until: float) -> None:
        """Serve a known release at its preview address until then. Raises: as `point`."""

        def decide(pointer: Pointer) -> Pointer:
            self._check_open(name, pointer, digest)
            if not pointer.knows(digest):
                raise PlatformError("registry.no-release", f"{name} has no release {digest[:12]}.", "See its releases.")
            return pointer.previewing(digest, until, self._now())

        await self.move(name, decide)

    async def yank(self, name: Name, digest: str) -> None:
        """Serve a release nowhere from now on, for good; when it is current, the plugin has no release until one is
        pointed at. Raises: PlatformError `registry.unknown`, `registry.no-release`; Conflict; StorageDown."""

        def decide(pointer: Pointer) -> Pointer:
            if digest in pointer.yanked:
                return pointer
            if not pointer.knows(digest):
                raise PlatformError("registry.no-release", f"{name} has no release {digest[:12]}.", "See its releases.")
            current = None if pointer.current == digest else pointer.current
            previews = {d: until for d, until in pointer.previews.items() if d != digest}
            return replace(pointer, current=current, previews=previews, yanked=(*pointer.yanked, digest))

        await self.move(name, decide)

    async def submit(self, name: Name, digest: str) -> None:
        """Mark the release whose contract the directory has scanned; later ones are compared with it. Raises: as
        `preview`."""

        def decide(pointer: Pointer) -> Pointer:
            if not pointer.knows(digest):
                raise PlatformError("registry.no-release", f"{name} has no release {digest[:12]}.", "See its releases.")
            return replace(pointer, submitted=digest)

        await self.move(name, decide)

    async def challenge(self, name: Name, token: str) -> None:
        """Set (or, empty, remove) what `/.well-known/openai-apps-challenge` answers.

        Raises: PlatformError `registry.challenge`, `registry.deleted`; Conflict; StorageDown."""
        if len(token) > 512 or any(not "!" <= c <= "~" for c in token):
            raise PlatformError("registry.challenge", "That is not a challenge token.", "Copy it without spaces.")

        def decide(pointer: Pointer) -> Pointer:
            if pointer.own == "deleted":
                raise _deleted(name)
            return replace(pointer, challenge=token)

        await self.move(name, decide, create=True)

    async def reserve(self, name: Name) -> None:
        """Make sure that the plugin has a pointer, one without a release where it is new: from then on a suspension of
        its tenant finds it. Raises: PlatformError `name.too-long`; Conflict; StorageDown."""
        if await self.current(name) is None:
            if self._base:
                check_length(name, self._base)
            await self.move(name, lambda pointer: pointer, create=True)

    async def set_state(self, name: Name, state: pointers.State, *, tenant: bool = False) -> None:
        """Suspend, resume or delete the plugin, or (`tenant`) say so of its tenant. A deleted one stays deleted: its
        name is never issued again. Raises: PlatformError `registry.unknown`, `registry.deleted`; Conflict."""

        def decide(pointer: Pointer) -> Pointer:
            if (pointer.hold if tenant else pointer.own) == "deleted" != state:
                raise _deleted(name)
            return replace(pointer, hold=state) if tenant else replace(pointer, own=state)

        await self.move(name, decide)

    async def move(self, name: Name, decide: Callable[[Pointer], Pointer], *, create: bool = False) -> Pointer:
        """Swap the pointer for what `decide` makes of it, as often as somebody else was faster.

        Returns the one that was replaced (an empty one where there was none and `create`).
        Raises: what `decide` raises; PlatformError `registry.unknown`; Conflict; StorageDown.
        """

        def read(stored: Stored | None) -> Pointer:
            if stored is None and not create:
                raise _unknown(name)
            return Pointer.from_json(stored.data, stored.version) if stored else Pointer(created=self._now())

        moved = await move(
            self.objects, pointers.key(name), read=read, decide=decide, write=Pointer.to_json, what=str(name)
        )
        return moved.before

    def _check_open(
        self, name: Name, pointer: Pointer, digest: str, began: float | None = None, wanted: Iterable[str] = ()
    ) -> None:
        """Refuse to release or point at `digest` where the plugin's state, a yank or a prune is against it."""
        if pointer.state == "deleted":
            raise _deleted(name)
        if pointer.state == "suspended":
            raise PlatformError("registry.suspended", f"{name} is suspended.", "Ask the operator.")
        if digest in pointer.yanked:
            raise PlatformError("registry.yanked", f"Release {digest[:12]} of {name} was yanked.", "Publish a new one.")
        since = (self._now() if began is None else began) - PRUNE_SECONDS
        if any(pointer.pruned.get(part, 0.0) > since for part in (digest, *wanted)):
            raise PlatformError("registry.pruning", f"Old parts of {name} are being removed.", "Retry in ten minutes.")

    async def known(self, name: Name) -> Pointer:
        """The plugin's pointer. Raises: PlatformError `registry.unknown`; StorageDown."""
        pointer = await self.current(name)
        if pointer is None:
            raise _unknown(name)
        return pointer


def bundle_key(name: Name, digest: str) -> str:
    return f"bundles/{name.tenant}/{name.plugin}/{digest}.zip"


def release_key(name: Name, digest: str) -> str:
    return f"releases/{name.tenant}/{name.plugin}/{digest}.json"


def widget_key(name: Name, uri: str) -> str:
    """Where the record of a published widget is kept: by its URI, which no two contents share."""
    return f"widgets/{name.tenant}/{name.plugin}/{hashlib.sha256(uri.encode()).hexdigest()[:32]}.json"


def state_folder(name: Name) -> str:
    """Where the documents of a plugin's tools are kept, ctx.state and ctx.shared."""
    return f"state/{name.tenant}/{name.plugin}/"


def previews_folder(name: Name) -> str:
    """Where those of its previews are kept: a folder for each, called by its digest."""
    return f"{state_folder(name)}previews/"


def part_of(key: str) -> str:
    """The digest or tree that a key below `{kind}/{tenant}/{plugin}/` belongs to."""
    return key.split("/", 4)[3].partition(".")[0]


def _unknown(name: Name) -> PlatformError:
    return PlatformError("registry.unknown", f"There is no plugin {name}.", "Publish it first.")


def _deleted(name: Name) -> PlatformError:
    return PlatformError("registry.deleted", f"{name} was deleted; its name is not given again.", "Use another name.")
