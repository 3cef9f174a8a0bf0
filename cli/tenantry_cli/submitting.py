"""What a submission is made of: the release, where it is served, what was submitted before, and pictures."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tenantry_registry.contract import compare
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import Manifest
from tenantry_registry.names import Name
from tenantry_registry.registry import Registry
from tenantry_registry.submission import Submission, prepare

from tenantry_cli import store as stores
from tenantry_cli.address import Address
from tenantry_cli.control import Control
from tenantry_cli.output import Terminal
from tenantry_cli.settings import CliSettings, control_plane

WIDTH, HEIGHT = 768, 900  # about as wide as a conversation, and as high as a widget may be in it
PICTURES = (".png", ".jpg", ".jpeg", ".webp")
MARGIN = 32  # rows of a picture below the widget: as much as beside it


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin's current release. `before` is the release that was submitted last."""

    name: Name
    manifest: Manifest
    mcp_url: str
    own_host: bool
    challenge: str
    before: Manifest | None


def find(name: Name, *, store: str | None, to: str | None) -> Found:
    """The release to submit, from a platform or from a store on this machine. Raises: PlatformError."""
    if to := control_plane(to, store):
        control = Control(to)
        shown = control.get(f"/plugins/{name}")
        if not shown["current"]:
            raise _nothing(name)

        def release(digest: str) -> Manifest:
            raw = control.get(f"/plugins/{name}/releases/{digest}")["manifest"]
            return Manifest.from_json(json.dumps(raw).encode())

        before = release(shown["submitted"]) if shown["submitted"] else None
        challenge = "(set)" if shown["challenge"] else ""
        return Found(name, release(shown["current"]), shown["mcp_url"], shown["own_host"], challenge, before)
    return asyncio.run(_local(name, store or CliSettings().store))


async def _local(name: Name, store: str) -> Found:
    with stores.opened(store) as objects:
        registry = Registry(objects)
        pointer = await registry.current(name)
        if pointer is None or pointer.current is None:
            raise _nothing(name)
        manifest = await registry.manifest(name, pointer.current)
        before = await registry.manifest(name, pointer.submitted) if pointer.submitted else None
    return Found(name, manifest, Address(CliSettings().port).mcp_url(name), False, pointer.challenge, before)


async def package(found: Found, *, page: str | None, kept: Path, progress: Terminal) -> Submission:
    """The package, with the pictures that lie in the folder `kept`; with `page` (a running `platform dev`), also a
    picture of each example whose tool has a widget."""
    there = sorted(kept.glob("*")) if kept.is_dir() else []
    shots = {file.name: file.read_bytes() for file in there if file.suffix.lower() in PICTURES}
    shots |= await _pictures(found, page, progress) if page else {}
    return prepare(
        found.manifest,
        mcp_url=found.mcp_url,
        own_host=found.own_host,
        challenge=found.challenge,
        screenshots=shots,
        comparison=compare(found.before, found.manifest) if found.before else None,
    )


async def _pictures(found: Found, page: str, progress: Terminal) -> dict[str, bytes]:
    from tenantry_cli.host.png import trimmed
    from tenantry_cli.host.screenshots import capture

    shown = {
        tool["name"] for tool in found.manifest.tools if (tool.get("_meta") or {}).get("ui", {}).get("resourceUri")
    }
    made: dict[str, bytes] = {}
    for number, example in enumerate(one for one in found.manifest.examples if one["tool"] in shown):
        query: dict[str, Any] = {
            "plugin": str(found.name),
            "tool": example["tool"],
            "arguments": json.dumps(example.get("arguments") or {}),
        }
        title = f"{number + 1}-{example['tool']}.png"
        picture = await capture(f"{page.rstrip('/')}/?{urlencode(query)}&bare", width=WIDTH, height=HEIGHT)
        made[title] = trimmed(picture, MARGIN)
        progress.step("pictured", title)
    return made


def _nothing(name: Name) -> PlatformError:
    return PlatformError("submit.nothing", f"{name} has no current release.", "Publish one first.")
