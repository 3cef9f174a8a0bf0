"""The policies a widget runs under, built from what its resource publishes.

MCP Apps 2026-01-26: without `_meta.ui.csp` the strict default holds (no network, no frames); with it each list opens
exactly its directives. The alias `openai/widgetCSP` (snake_case) counts where `ui.csp` is absent (R08). The host's own
file origin is always added, as ChatGPT adds its own: widgets fetch download URLs and show images from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SOURCE = re.compile(r"(?:(?:https?|wss?)://(?:\*\.)?[A-Za-z0-9.\-]+(?::(?:\d+|\*))?(?:/[^\s;,'\"]*)?|blob:|data:)")
FEATURES = {
    "camera": "camera",
    "microphone": "microphone",
    "geolocation": "geolocation",
    "clipboardWrite": "clipboard-write",
}
DOMAINS = 100  # sources in one list; a header of more is cut off by browsers anyway
# What ChatGPT does for an unpublished app in developer mode: nothing is refused.
OPEN = "default-src * data: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'; object-src 'none'; base-uri *"


def sources(domains: object) -> list[str]:
    """The entries of a published list that can stand in a CSP; whatever else is there (a `;`, a space) is left out."""
    if not isinstance(domains, Sequence) or isinstance(domains, str):
        return []
    return [d for d in domains[:DOMAINS] if isinstance(d, str) and SOURCE.fullmatch(d)]


def content_security_policy(
    csp: Mapping[str, Any] | None, *, ancestors: Sequence[str], files: str, open_: bool = False
) -> str:
    """The value of the Content-Security-Policy header.

    `csp` is `_meta.ui.csp`, or None for the strict default; `ancestors` the origins that may frame the widget; `files`
    the URL prefix of the host's own files; `open_` the developer-mode toggle.
    """
    tail = f"; frame-ancestors {' '.join(ancestors)}"
    if open_:
        return OPEN + tail
    given = csp or {}
    resource = sources(given.get("resourceDomains"))
    connect = [*sources(given.get("connectDomains")), files]
    directives = {
        "default-src": ["'none'"],
        "script-src": ["'self'", "'unsafe-inline'", *resource],
        "style-src": ["'self'", "'unsafe-inline'", *resource],
        "img-src": ["'self'", "data:", *resource, files],
        "font-src": ["'self'", *resource],
        "media-src": ["'self'", "data:", *resource, files],
        "connect-src": connect if csp is None else ["'self'", *connect],
        "frame-src": sources(given.get("frameDomains")) or ["'none'"],
        "object-src": ["'none'"],
        "base-uri": sources(given.get("baseUriDomains")) or ["'self'"],
    }
    return "; ".join(f"{name} {' '.join(values)}" for name, values in directives.items()) + tail


def permissions_policy(permissions: Mapping[str, Any] | None, *, origin: str) -> str:
    """The value of the Permissions-Policy header: each feature of MCP Apps, allowed to the widget or to nobody."""
    asked = permissions or {}
    return ", ".join(
        f'{feature}=(self "{origin}")' if isinstance(asked.get(key), Mapping) else f"{feature}=()"
        for key, feature in FEATURES.items()
    )
