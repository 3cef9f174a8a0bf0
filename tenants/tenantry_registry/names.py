"""Names of tenants and plugins, and the one DNS label that a plugin is served under.

A tenant's slug has no hyphen, so `{plugin}-{tenant}` splits at the LAST hyphen without doubt, and no label looks
like an IDNA A-label (`xn--`). ChatGPT turns an origin into a single label (dots become hyphens), so label, dot and
base together must fit the 63 octets of a DNS label (RFC 1035, section 2.3.4).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tenantry_registry.errors import PlatformError

TENANT = re.compile(r"[a-z0-9]{2,20}")
PLUGIN = re.compile(r"[a-z0-9](?:-?[a-z0-9])*")
DIGEST = re.compile(r"[0-9a-f]{64}")
LABEL_OCTETS = 63  # RFC 1035, section 2.3.4
PREVIEW_DIGITS = 12  # of a digest, in the address of a preview


class Name(NamedTuple):
    """One plugin of one tenant. `str()` gives `tenant/plugin`."""

    tenant: str
    plugin: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.plugin}"

    @property
    def label(self) -> str:
        """The DNS label `{plugin}-{tenant}`."""
        return f"{self.plugin}-{self.tenant}"


def tenant(slug: str) -> str:
    """Return `slug` when it names a tenant. Raises: PlatformError `name.tenant`."""
    if not TENANT.fullmatch(slug):
        raise PlatformError("name.tenant", f"{slug[:80]!r} is not a tenant name.", "Use 2 to 20 of a-z and 0-9.")
    return slug


def plugin(slug: str) -> str:
    """Return `slug` when it names a plugin. Raises: PlatformError `name.plugin`."""
    if len(slug) > LABEL_OCTETS or not PLUGIN.fullmatch(slug):
        raise PlatformError(
            "name.plugin",
            f"{slug[:80]!r} is not a plugin name.",
            "Use a-z, 0-9 and single hyphens; begin and end with a letter or digit.",
        )
    return slug


def parse(text: str) -> Name:
    """Read `tenant/plugin`. Raises: PlatformError `name.form`, `name.tenant`, `name.plugin`."""
    first, slash, second = text.partition("/")
    if not slash:
        raise PlatformError("name.form", f"{text[:80]!r} is not a plugin's full name.", "Write it as TENANT/PLUGIN.")
    return Name(tenant(first), plugin(second))


def split_label(label: str) -> Name | None:
    """The name behind a DNS label, or None where the label can't be one."""
    first, hyphen, last = label.rpartition("-")
    if not hyphen or len(label) > LABEL_OCTETS or not TENANT.fullmatch(last) or not PLUGIN.fullmatch(first):
        return None
    return Name(last, first)


def check_length(name: Name, base: str) -> None:
    """Refuse a name whose host `label.base` does not fit one DNS label once ChatGPT has joined it by hyphens.

    Raises: PlatformError `name.too-long`.
    """
    length = len(name.label) + 1 + len(base)
    if length > LABEL_OCTETS:
        raise PlatformError(
            "name.too-long",
            f"{name.label}.{base} is {length} characters long; ChatGPT gives it one label of {LABEL_OCTETS}.",
            f"Shorten the plugin's or the tenant's name by {length - LABEL_OCTETS}.",
        )
