"""The contract of a published plugin: what a host scanned and goes on using, and what a new release does to it.

"Scan Tools" takes a snapshot of names, titles, descriptions, schemas, sign-in, `_meta`, annotations, linked resources
and instructions (row P03). Calls and widgets go to the live server. So a release is one of three things for the users
of the snapshot: invisible (deploy only), something they get after a rescan and a new submission, or a break.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tenantry_registry.manifest import Manifest
from tenantry_registry.schema_changes import oversteps, refuses

DEPLOY, RESCAN, BREAKS = "deploy", "rescan", "breaks"
WORDS = {
    DEPLOY: "deploy only: same contract as the submitted release",
    RESCAN: "rescan and resubmit: users of the published plugin see the old contract until then",
    BREAKS: "breaks the submitted release",
}
# Of a descriptor, what a user or a model sees without a call being different
SHOWN = ("title", "description", "annotations", "icons")
LISTING = ("display_name", "short_description", "long_description", "category", "developer", "support")


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: `effect` is RESCAN or BREAKS."""

    effect: str
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a release is for the users of the published one."""

    differences: tuple[Difference, ...] = ()

    @property
    def verdict(self) -> str:
        effects = {difference.effect for difference in self.differences}
        return BREAKS if BREAKS in effects else RESCAN if effects else DEPLOY

    @property
    def words(self) -> str:
        return WORDS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "differences": [{"effect": d.effect, "subject": d.subject, "message": d.message} for d in self.differences],
        }


def compare(published: Manifest, new: Manifest) -> Comparison:
    """The contract of `new` against the one that was submitted."""
    return Comparison((*_tools(published, new), *_widgets(published, new), *_plugin(published, new)))


def gone(current: Manifest, new: Manifest) -> Iterator[tuple[str, str]]:
    """The tools of a release that a new one no longer has, each with what became of it: conversations under way, and
    prompts that people keep, name them whether or not the release was submitted."""
    for difference in _tools(current, new):
        if difference.message.startswith("The tool was re"):
            words = difference.message.removeprefix("The tool ").rstrip(".")
            yield difference.subject, "is gone" if words == "was removed" else words


def _tools(published: Manifest, new: Manifest) -> Iterator[Difference]:
    old = {str(tool["name"]): tool for tool in published.tools}
    now = {str(tool["name"]): tool for tool in new.tools}
    added = [name for name in now if name not in old]
    for name, tool in old.items():
        if name in now:
            yield from _tool(name, tool, now[name])
            continue
        twin = next((other for other in added if _alike(tool, now[other])), None)
        yield Difference(BREAKS, name, f"The tool was renamed to {twin}." if twin else "The tool was removed.")
    for name in added:
        yield Difference(RESCAN, name, "The tool is new.")


def _alike(tool: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return {**tool, "name": ""} == {**other, "name": ""}


def _tool(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    yield from _input(name, old["inputSchema"], new["inputSchema"])
    yield from _output(name, old.get("outputSchema"), new.get("outputSchema"))
    yield from _sign_in(name, old.get("securitySchemes"), new.get("securitySchemes"))
    for key in SHOWN:
        if old.get(key) != new.get(key):
            yield Difference(RESCAN, name, f"Its {key} changed{_which(old.get(key), new.get(key))}.")
    before, after = _meta(old), _meta(new)
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield Difference(RESCAN, name, f"Its _meta {key} changed.")


def _which(old: Any, new: Any) -> str:
    """The keys that differ, of two mappings."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return ""
    keys = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    return f" ({', '.join(keys)})"


def _input(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    reasons = refuses(old, new)
    for reason in reasons:
        yield Difference(BREAKS, name, f"Its input schema refuses what the published one allows: {reason}.")
    if not reasons and old != new:
        yield Difference(RESCAN, name, "Its input schema takes more, or is worded differently.")


def _output(name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[Difference]:
    if old == new:
        return
    if old is None:
        yield Difference(RESCAN, name, "It has an output schema now.")
    elif new is None:
        yield Difference(BREAKS, name, "Its output schema is gone, so its results promise nothing.")
    else:
        reasons = oversteps(old, new)
        for reason in reasons:
            yield Difference(BREAKS, name, f"Its results may fail the published output schema: {reason}.")
        if not reasons:
            yield Difference(RESCAN, name, "Its output schema promises more, or is worded differently.")


def _sign_in(name: str, old: Any, new: Any) -> Iterator[Difference]:
    if old == new:
        return
    if _is_open(old) and not _is_open(new):
        yield Difference(BREAKS, name, "It wants sign-in now, which the published plugin doesn't ask for.")
    elif missing := _scopes(new) - _scopes(old):
        yield Difference(BREAKS, name, f"It wants the scope {min(missing)} now, which users have not granted.")
    else:
        yield Difference(RESCAN, name, "Its securitySchemes changed.")


def _is_open(schemes: Any) -> bool:
    return not schemes or any(scheme.get("type") == "noauth" for scheme in schemes)


def _scopes(schemes: Any) -> set[str]:
    """What a call needs whatever the host chooses; none where it may go without."""
    if _is_open(schemes):
        return set()
    return {scope for scheme in schemes for scope in scheme.get("scopes", ())}


def _meta(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's `_meta` but for what is compared elsewhere: the mirror of sign-in, and the template's URI, which
    changes with the widget's content."""
    meta = {k: v for k, v in (tool.get("_meta") or {}).items() if k not in ("securitySchemes", "openai/outputTemplate")}
    if "ui" in meta:
        meta["ui"] = {k: v for k, v in meta["ui"].items() if k != "resourceUri"}
    return meta


def _widgets(published: Manifest, new: Manifest) -> Iterator[Difference]:
    """Every URI ever published goes on serving its own bytes, so nothing here breaks."""
    old = {widget.name: widget for widget in published.widgets}
    now = {widget.name: widget for widget in new.widgets}
    for name, widget in now.items():
        before = old.get(name)
        if before is None:
            yield Difference(RESCAN, name, "The widget is new.")
        elif before.meta != widget.meta:
            changed = sorted(k for k in {*before.meta, *widget.meta} if before.meta.get(k) != widget.meta.get(k))
            policy = any("csp" in str(key).lower() for key in changed) or _csp(before.meta) != _csp(widget.meta)
            words = "policy (CSP)" if policy else f"_meta ({', '.join(changed)})"
            yield Difference(RESCAN, name, f"The widget's {words} changed.")
        elif before.uri != widget.uri:
            yield Difference(RESCAN, name, f"The widget's content changed; it is {widget.uri} now.")
    for name in old:
        if name not in now:
            yield Difference(RESCAN, name, "The widget is gone; its published URI goes on serving.")


def _csp(meta: Mapping[str, Any]) -> Any:
    return (meta.get("ui") or {}).get("csp")


def _plugin(published: Manifest, new: Manifest) -> Iterator[Difference]:
    if published.instructions != new.instructions:
        yield Difference(RESCAN, "", "The instructions changed.")
    old, now = published.auth or {}, new.auth or {}
    for key in ("issuer", "audience", "client_id"):
        if old.get(key) != now.get(key):
            yield Difference(BREAKS, "", f"[auth] {key} changed: users would have to sign in again, to another server.")
    for key in LISTING:
        if published.listing.get(key) != new.listing.get(key):
            yield Difference(RESCAN, "", f"[listing] {key} changed.")
