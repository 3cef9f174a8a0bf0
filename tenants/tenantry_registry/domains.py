"""Every address of a plugin, written and read, in both forms (design: "Addresses").

Host form, what is published: `https://{label}.{base}/mcp`; the host is the plugin's alone. Path form, where there is no
domain yet and in development: `{origin}/t/{tenant}/{plugin}/mcp`. Both may go on with `v/{12 digits}` (a preview).
Addresses are made of configuration, never of a request's Host; a host that is not exactly one of ours has no plugin
behind it, and nobody's address falls back to somebody else's (field report R60). What a host wants as `ui.domain` is
in hosts.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from tenantry_registry import names
from tenantry_registry.errors import PlatformError
from tenantry_registry.hosts import Place
from tenantry_registry.names import PREVIEW_DIGITS, Name

RESOURCE = "/.well-known/oauth-protected-resource"  # RFC 9728, section 3
CHALLENGE = "/.well-known/openai-apps-challenge"  # row P01
ORIGIN_SECRET = "x-tenantry-origin"  # what CloudFront adds to each request
PREVIEW = re.compile(rf"/v/([0-9a-f]{{{PREVIEW_DIGITS}}})(/.*)?")
PATH = re.compile(rf"/t/({names.TENANT.pattern})/({names.PLUGIN.pattern})(/.*)?")


class Address(NamedTuple):
    """What a request's host and path name: a plugin, the digits of a preview (or ""), and `rest`, the path below.

    `own_host` is True in host form. `stem` is what comes before `rest` and the preview, without the origin.
    """

    name: Name
    rest: str
    preview: str = ""
    own_host: bool = False

    @property
    def stem(self) -> str:
        return "" if self.own_host else f"/t/{self.name.tenant}/{self.name.plugin}"


class Domains:
    """The addresses that one installation has.

    `origin` (scheme, host, port) serves path form and, below `/api`, control. `base` is the domain that plugins have
    their hosts under, with a port where it needs one ("" for none); `scheme` is the hosts' own. `hosts` are further
    host names that path form is served at.

    Raises: PlatformError `domain.origin`, `domain.base`.
    """

    def __init__(self, origin: str, *, base: str = "", scheme: str = "https", hosts: Iterable[str] = ()) -> None:
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path.strip("/") or parts.query:
            raise PlatformError("domain.origin", f"{origin!r} is not an origin.", "Write it like https://example.com.")
        if base and not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{1,5})?", base):
            raise PlatformError("domain.base", f"{base!r} is not a domain.", "Write it like plugins.example.com.")
        self.origin, self.base, self._scheme = f"{parts.scheme}://{parts.netloc.lower()}", base, scheme
        self._hosts = frozenset({parts.netloc.lower(), *(host.lower() for host in hosts)})

    # -- written ----------------------------------------------------------------------------------------------------

    def place(self, name: Name, *, preview: str = "", own_host: bool | None = None, storage: str = "") -> Place:
        """Where the plugin is served: in host form where there is a domain, or as `own_host` says."""
        own = bool(self.base) if own_host is None else own_host
        if own and not self.base:
            raise PlatformError("domain.base", "There is no domain for plugins' own hosts.", "Deploy with one.")
        base = f"{self._scheme}://{name.label}.{self.base}" if own else f"{self.origin}/t/{name.tenant}/{name.plugin}"
        if preview:
            base += f"/v/{preview[:PREVIEW_DIGITS]}"
        return Place(base, base + "/mcp", own, storage)

    def resource_metadata(self, place: Place) -> str:
        """The address of the RFC 9728 document for `place`: the well-known part stands before the path."""
        return f"{place.origin}{RESOURCE}{urlsplit(place.mcp_url).path}"

    def challenge(self, place: Place) -> str:
        """Where the verification token of `place` is read: its host's root, whatever its path (row P01)."""
        return place.origin + CHALLENGE

    def file(self, place: Place, token: str, name: str) -> str:
        """The address of a signed download that is saved as `name`."""
        return f"{place.base}/files/{token}/{quote(name, safe='')}"

    @property
    def control(self) -> str:
        """The root of the control API."""
        return f"{self._scheme}://api.{self.base}/v1" if self.base else f"{self.origin}/api/v1"

    # -- read -------------------------------------------------------------------------------------------------------

    def parse(self, host: str, path: str) -> Address | None:
        """The plugin behind a request, or None. `host` as the client sent it; `path` without query, unquoted."""
        host = host.lower()
        if self.base and host.endswith("." + self.base):
            name = names.split_label(host.removesuffix("." + self.base))
            return _below(name, path, own_host=True) if name else None
        if host not in self._hosts:
            return None
        before, after = (RESOURCE, path.removeprefix(RESOURCE)) if path.startswith(RESOURCE + "/t/") else ("", path)
        found = PATH.fullmatch(after)
        if not found or len(found[2]) > names.LABEL_OCTETS:
            return None
        return _below(Name(found[1], found[2]), before + (found[3] or ""), own_host=False)


def _below(name: Name, path: str, *, own_host: bool) -> Address:
    before, after = (RESOURCE, path.removeprefix(RESOURCE)) if path.startswith(RESOURCE + "/v/") else ("", path)
    found = PREVIEW.fullmatch(after)
    if found:
        return Address(name, before + (found[2] or ""), found[1], own_host)
    return Address(name, path, "", own_host)


def from_edge(headers: Mapping[str, str], secret: str) -> bool:
    """Whether CloudFront sent the request, which alone knows `secret`: only then do its headers say who asked whom."""
    given = headers.get(ORIGIN_SECRET, "").encode()  # as text, compare_digest takes ASCII alone
    return bool(secret) and compare_digest(given, secret.encode())
