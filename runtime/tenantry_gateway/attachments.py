"""Files of a call: the slots that tenant code may fill, the files it made of them, and the links that lead there.

A slot is room for one object below `pending/`. The kit writes an address of a file as a placeholder, and
says afterwards which slots became files, under which names; those are moved to `files/`, and the placeholders become
signed links. What the governor takes out of a result is kept the same way, and so is a whole reply that was too large
for the sandbox to return: it comes back through a slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from tenantry_registry import files, runner_wire
from tenantry_registry.domains import Domains
from tenantry_registry.errors import PlatformError
from tenantry_registry.links import Links
from tenantry_registry.manifest import ORIGIN
from tenantry_registry.objects import Kind, Objects

from tenantry_gateway.route import Site
from tenantry_gateway.turn import User

if TYPE_CHECKING:
    from tenantry_gateway.meter import Meter

LINK_SECONDS: Final = 86_400  # a link in a result; a widget asks again by file id


class Attachments:
    """Slots, files and links in `objects`. `meter` says whether there is room for another file."""

    def __init__(self, objects: Objects, links: Links, domains: Domains, meter: Meter | None = None) -> None:
        self._meter = meter
        self._objects = objects
        self._links = links
        self._domains = domains

    async def keep(
        self, site: Site, slots: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]]
    ) -> dict[str, str]:
        """Make files of the slots that the reply says were used; returns placeholder -> signed link.

        Raises: PlatformError `file.lost`, `file.quota`; StorageDown."""
        offered = {slot["id"]: slot["key"] for slot in slots}
        links = {}
        for file in made:
            file_id, filename = str(file.get("id")), str(file.get("name"))
            stored = await self._objects.get(offered[file_id]) if file_id in offered else None
            if stored is None:
                raise PlatformError("file.lost", "A file that the tool made did not arrive.", "Call it again.")
            if self._meter is not None:
                await self._meter.room(site.name, len(stored.data))
            clean = files.clean_name(filename)
            kind = Kind(files.clean_type(file.get("mime_type")))
            await self._objects.put_once(files.file_key(site.name, file_id, clean), stored.data, kind)
            await self._objects.delete(offered[file_id])
            links[f"{ORIGIN}/files/{file_id}/{quote(filename, safe='', errors='replace')}"] = await self._link(
                site, file_id, clean
            )
        return links

    async def offload(self, site: Site, user: User | None, data: bytes, mime: str, filename: str) -> dict[str, Any]:
        """Keep `data` as a file; the resource_link that stands for it.

        Raises: PlatformError `file.quota`; StorageDown."""
        if self._meter is not None:
            await self._meter.room(site.name, len(data))
        file_id = files.new_id(user)
        await self._objects.put_once(files.file_key(site.name, file_id, filename), data, Kind(files.clean_type(mime)))
        return {
            "type": "resource_link",
            "uri": await self._link(site, file_id, filename),
            "name": filename,
            "mimeType": mime,
            "size": len(data),
        }

    async def overflow(self, slots: Sequence[Mapping[str, Any]], overflow: Mapping[str, Any]) -> dict[str, Any]:
        """The whole reply that was too large to return. Raises: PlatformError `file.lost`; StorageDown."""
        key = next((slot["key"] for slot in slots if slot["id"] == overflow.get("id")), None)
        stored = await self._objects.get(key) if key else None
        reply = runner_wire.read(stored.data) if stored is not None else None
        if key is None or not isinstance(reply, dict):
            raise PlatformError("file.lost", "The tool's large result did not arrive.", "Call it again.")
        await self._objects.delete(key)
        return reply

    async def _link(self, site: Site, file_id: str, filename: str) -> str:
        token = await self._links.make(site.place.base, file_id, filename, LINK_SECONDS)
        return self._domains.file(site.place, token, filename)
