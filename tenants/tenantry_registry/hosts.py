"""Where a plugin is served, and what differs between the hosts that load it: one row a host (field report R23).

ChatGPT wants `ui.domain` to be an https origin of the plugin's own, another host a hash of the exact MCP address, and
a host we don't know gets nothing at all: a mismatch renders nothing, and omission is safe (row P09). Which kind a
client is changes presentation only, never what is allowed: all of it can be forged (row M07).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

WIDGET_DOMAIN = "openai/widgetDomain"  # row R10
HASH_DIGITS = 32  # of sha256(MCP address), in the label that the second kind of host expects


class Place(NamedTuple):
    """Where a plugin is served: `base` is origin plus path prefix without a trailing slash, `mcp_url` the exact
    configured MCP address, `own_host` whether the host is this plugin's alone, `storage` the origin that signed
    downloads are redirected to (empty: the plugin's own)."""

    base: str
    mcp_url: str
    own_host: bool
    storage: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port of `base`."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"


class Host(NamedTuple):
    """One kind of host: how it names itself at initialize and in its User-Agent (beginnings, in lower case), and the
    `ui.domain` it wants."""

    kind: str
    clients: tuple[str, ...]
    agents: tuple[str, ...]
    domain: Callable[[Place], str | None]


def _origin(place: Place) -> str | None:
    return place.origin if place.own_host else None


def _hashed(place: Place) -> str | None:
    return f"{hashlib.sha256(place.mcp_url.encode()).hexdigest()[:HASH_DIGITS]}.claudemcpcontent.com"


UNKNOWN = Host("", (), (), lambda place: None)
HOSTS: Mapping[str, Host] = {
    host.kind: host
    for host in (
        Host("chatgpt", ("openai-mcp", "chatgpt"), ("openai-mcp", "chatgpt"), _origin),
        Host("claude", ("claude", "anthropic"), ("claude", "anthropic"), _hashed),
    )
}


def recognise(name: str = "", agent: str = "", openai: bool = False) -> str:
    """The kind of host behind a request: from openai/* keys in `_meta` (`openai`), clientInfo's name, User-Agent.
    Empty where it can't be told."""
    if openai:
        return "chatgpt"
    for host in HOSTS.values():
        if name.lower().startswith(host.clients):
            return host.kind
    for host in HOSTS.values():
        if agent.lower().startswith(host.agents):
            return host.kind
    return ""


def with_domain(meta: Mapping[str, Any], kind: str, place: Place) -> dict[str, Any]:
    """A widget's `_meta` as a host of this `kind` must read it (rows R04, R10, P09).

    `openai/widgetDomain` is there wherever the plugin has a host of its own, for whoever asks.
    """
    domain = HOSTS.get(kind, UNKNOWN).domain(place)
    full = dict(meta)
    if domain is not None:
        full["ui"] = {**meta.get("ui", {}), "domain": domain}
    if place.own_host:
        full[WIDGET_DOMAIN] = place.origin
    return full
