"""Plans: what a tenant may use, as data. A tenant's own document may override single limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from tenantry_registry.errors import PlatformError


@dataclass(frozen=True, slots=True)
class Plan:
    """Limits of one tenant. Rates are calls a minute; `burst` how many of them may come at once, in seconds' worth."""

    plugins: int
    tenant_rate: int
    plugin_rate: int
    subject_rate: int
    in_flight: int  # a 25-second tool must not take the account's concurrency
    file_bytes: int  # of all live files of one plugin
    file_days: int
    secrets: int  # of one plugin
    burst: int = 10


PLANS: Mapping[str, Plan] = MappingProxyType(
    {
        "free": Plan(
            plugins=3,
            tenant_rate=300,
            plugin_rate=120,
            subject_rate=60,
            in_flight=10,
            file_bytes=100_000_000,
            file_days=1,
            secrets=20,
        ),
        "standard": Plan(
            plugins=20,
            tenant_rate=6_000,
            plugin_rate=3_000,
            subject_rate=120,
            in_flight=50,
            file_bytes=5_000_000_000,
            file_days=7,
            secrets=50,
        ),
        "large": Plan(
            plugins=200,
            tenant_rate=60_000,
            plugin_rate=30_000,
            subject_rate=300,
            in_flight=200,
            file_bytes=50_000_000_000,
            file_days=30,
            secrets=100,
        ),
    }
)
DEFAULT = "standard"
MOST = 10**15  # of any limit: a petabyte; what is counted with it stays exact in every database


def plan(name: str, overrides: Mapping[str, int] = MappingProxyType({})) -> Plan:
    """The plan `name` with single limits replaced. Raises: PlatformError `plan.unknown`, `plan.limit`."""
    if name not in PLANS:
        raise PlatformError("plan.unknown", f"There is no plan {name[:40]!r}.", f"Choose one of {', '.join(PLANS)}.")
    known = {f.name for f in fields(Plan)}
    for limit, value in overrides.items():
        if limit not in known or isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
            raise PlatformError(
                "plan.limit",
                f"{limit[:40]!r} can't be set to {value!r}.",
                f"Limits are whole numbers from 1 to {MOST:,} of: {', '.join(sorted(known))}.",
            )
    return replace(PLANS[name], **overrides)
