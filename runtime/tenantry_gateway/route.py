"""Which plugin an address belongs to: registry's domains.py, and what one request adds to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from tenantry_registry.domains import Domains
from tenantry_registry.hosts import Place
from tenantry_registry.names import Name

KEPT = 4_096  # addresses remembered; reading one takes some microseconds


class Site(NamedTuple):
    """One plugin at one address: `rest` is the path below it, `preview` the digits of a preview or "".

    `place.mcp_url` is the address as the client configured it, with a slash at the end where it was asked so;
    `resource` is the published one (RFC 9728), verbatim."""

    name: Name
    place: Place
    rest: str
    preview: str = ""

    @property
    def resource(self) -> str:
        return self.place.base + "/mcp"


class Sites:
    """Reads addresses and remembers them. `storage` is the origin that downloads are redirected to ("": our own)."""

    def __init__(self, domains: Domains, *, storage: str = "") -> None:
        self.domains = domains
        self._storage = storage
        self._found: OrderedDict[tuple[str, str], Site | None] = OrderedDict()

    def find(self, host: str, path: str) -> Site | None:
        """The plugin behind host and path, or None."""
        key = (host, path)
        if key in self._found:
            return self._found[key]
        site = self._found[key] = self._find(host, path)
        if len(self._found) > KEPT:
            self._found.popitem(last=False)
        return site

    def _find(self, host: str, path: str) -> Site | None:
        address = self.domains.parse(host, path)
        if address is None:
            return None
        place = self.domains.place(
            address.name, preview=address.preview, own_host=address.own_host, storage=self._storage
        )
        if address.rest == "/mcp/":
            place = place._replace(mcp_url=place.mcp_url + "/")
        return Site(address.name, place, address.rest, address.preview)
