"""What the client says of itself and its user: rows M01 to M07. All optional, all forgeable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Unverified(str):
    """Text that anybody who reaches the endpoint can make up. Good for formatting, rate limits and correlation;
    never for deciding what somebody may see or do (rows M04 and M07): that is `ctx.user`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Location:
    """Roughly where the user may be (row M03). A hint like `Unverified`; every part may be missing."""

    city: Unverified | None = None
    region: Unverified | None = None
    country: Unverified | None = None
    timezone: Unverified | None = None
    longitude: float | None = None
    latitude: float | None = None


def text(meta: Mapping[str, Any], *keys: str) -> Unverified | None:
    """The first of `keys` that holds some text."""
    for key in keys:
        value = meta.get(key)
        if isinstance(value, str) and value:
            return Unverified(value)
    return None


def location(value: Any) -> Location | None:
    if not isinstance(value, Mapping):
        return None
    return Location(
        text(value, "city"),
        text(value, "region"),
        text(value, "country"),
        text(value, "timezone"),
        _degrees(value.get("longitude")),
        _degrees(value.get("latitude")),
    )


def _degrees(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if -180 <= number <= 180 else None
