"""Widgets: the UI templates that tools render into, and the only place where a content security policy can be said.

Rows R01 to R10. A widget has no `domain` here: the platform gives every plugin its own origin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from tenantry.errors import PluginError
from tenantry.source import Source, caller

DisplayMode = Literal["inline", "fullscreen", "pip"]
Permission = Literal["camera", "microphone", "geolocation", "clipboardWrite"]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # it becomes ui://widget/NAME.html
# One origin: scheme, host (perhaps *.host), perhaps a port. CSP source expressions with paths differ between hosts.
ORIGIN = re.compile(
    r"(?P<scheme>https|wss)://(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+(?::\d{1,5})?"
)


@dataclass(frozen=True, slots=True)
class CSP:
    """What a widget may reach beyond its own files (rows R03, R08, R09). All values are origins: "https://host".

    `connect`: fetch, XHR and wss. `resource`: images, fonts, scripts, styles. `frame`: nested frames, each with the
    reason that the submission asks for. `redirect`: where openExternal may be sent back from. "https://*.host" covers
    the sub-domains. The plugin's own origin need not be named.

    Raises: PluginError for anything that is not such an origin, and for a frame without a reason.
    """

    connect: Sequence[str] = ()
    resource: Sequence[str] = ()
    frame: Mapping[str, str] = field(default_factory=dict)
    redirect: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.frame, Mapping):
            raise PluginError("CSP(frame=...) is not a mapping.", 'Write frame={"https://host": "why it is needed"}.')
        for origin, reason in self.frame.items():
            if not isinstance(reason, str) or not reason.strip():
                raise PluginError(f"CSP(frame=...) gives no reason for {origin!r}.", "The submission asks for it.")
        object.__setattr__(self, "connect", _origins("connect", self.connect, ("https", "wss")))
        object.__setattr__(self, "resource", _origins("resource", self.resource, ("https",)))
        object.__setattr__(self, "redirect", _origins("redirect", self.redirect, ("https",)))
        frames = _origins("frame", list(self.frame), ("https",))
        object.__setattr__(self, "frame", dict(zip(frames, self.frame.values(), strict=True)))

    def describe(self) -> dict[str, Any]:
        return {
            "connect": list(self.connect),
            "resource": list(self.resource),
            "frame": dict(self.frame),
            "redirect": list(self.redirect),
        }


@dataclass(frozen=True, slots=True, init=False)
class Widget:
    """One UI template: `Widget("widgets/animals/index.html", ...)`, or `Widget(html="<!doctype html>…", name="x")`.

    `file` is relative to the plugin's folder; everything beside it may be used by relative URLs. `name` is by default
    the file's name, or its folder's where the file is index.html; it is published as ui://widget/NAME.{hash}.html.
    `description` tells the model what the user sees (R06), `border` asks for a bordered card (R02), `display_modes`
    lets the host choose before loading (R05), `permissions` are the browser's.

    Raises: PluginError for a path that leaves the folder, an unusable name, an unknown mode or permission.
    """

    name: str
    file: str | None
    html: str | None
    title: str | None
    description: str | None
    csp: CSP | None
    border: bool | None
    display_modes: tuple[DisplayMode, ...]
    permissions: tuple[Permission, ...]
    source: Source

    def __init__(
        self,
        file: str | None = None,
        *,
        html: str | None = None,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        csp: CSP | None = None,
        border: bool | None = None,
        display_modes: Sequence[DisplayMode] = (),
        permissions: Sequence[Permission] = (),
    ) -> None:
        if (file is None) == (html is None):
            raise PluginError("A widget has either a file or html.", 'Write Widget("widgets/x/index.html").')
        if csp is not None and not isinstance(csp, CSP):
            raise PluginError("csp= takes a CSP.", 'Write csp=CSP(connect=["https://api.example.com"]).')
        if file is not None:
            path = PurePosixPath(file)
            if path.is_absolute() or ".." in path.parts or "\\" in file or path.suffix not in {".html", ".htm"}:
                raise PluginError(
                    f"{file!r} can't be a widget's file.", "Name an .html file inside the plugin's folder, with /."
                )
            name = name or (path.parent.name if path.stem == "index" else path.stem)
        if not NAME.fullmatch(name or ""):
            raise PluginError(
                f"{name or ''!r} can't name a widget.", "Give it name=..., up to 64 letters, digits, _ and -."
            )
        _known("display_modes", display_modes, get_args(DisplayMode))
        _known("permissions", permissions, get_args(Permission))
        values = {
            "name": name,
            "file": file,
            "html": html,
            "title": title,
            "description": description,
            "csp": csp,
            "border": border,
            "display_modes": tuple(display_modes),
            "permissions": tuple(permissions),
            "source": caller(),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def describe(self) -> dict[str, Any]:
        optional = {
            "file": self.file,
            "html": self.html,
            "title": self.title,
            "description": self.description,
            "border": self.border,
            "display_modes": list(self.display_modes) or None,
            "permissions": list(self.permissions) or None,
        }
        return {
            "name": self.name,
            **{key: value for key, value in optional.items() if value is not None},
            "csp": self.csp.describe() if self.csp else None,
            "source": self.source.to_wire(),
        }


def _origins(kind: str, values: Sequence[str], schemes: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise PluginError(f"CSP({kind}=...) is a single string.", f'Write {kind}=["{values}"].')
    origins = []
    for value in values:
        origin = value.removesuffix("/").lower() if isinstance(value, str) else ""
        match = ORIGIN.fullmatch(origin)
        if match is None or match["scheme"] not in schemes:
            raise PluginError(
                f"CSP({kind}=...): {value!r} is not an origin that a published widget may use.",
                f"Write {' or '.join(s + '://host' for s in schemes)}, without a path.",
            )
        origins.append(origin)
    return tuple(origins)


def _known(name: str, values: Sequence[str], allowed: tuple[str, ...]) -> None:
    if isinstance(values, str) or any(value not in allowed for value in values):
        raise PluginError(f"{name}={values!r} is not known.", f"Choose from {', '.join(allowed)}, as a list.")
