"""The submission package: everything that the directory's form asks for, from one release, and what is still missing.

`platform submit` writes the files; nothing here knows a file system. Texts that a person must stand behind (the
justification of every hint, the reason of every frame) are made from what the plugin says of itself and marked to be
read before they are sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenantry_registry.contract import Comparison
from tenantry_registry.manifest import Manifest, WidgetEntry

HINTS = ("readOnlyHint", "destructiveHint", "openWorldHint")
REASONS = {
    ("readOnlyHint", True): "It only reads or computes; nothing outside the conversation is created, changed or sent.",
    ("readOnlyHint", False): "It creates or changes something outside the conversation.",
    ("destructiveHint", True): "It may delete or overwrite the user's data, so the host should ask first.",
    ("destructiveHint", False): "It deletes and overwrites nothing.",
    ("openWorldHint", True): "It reaches the public internet or outside parties.",
    ("openWorldHint", False): "It stays inside the plugin's own service or the user's account.",
}
MIN_PROMPTS = 3  # reviewers want the main uses shown
LISTED = ("display_name", "short_description", "long_description", "category", "developer", "support")
LINKED = ("privacy_policy", "terms", "icon")
NUMBERED = re.compile(r"^\d+-")  # before the name, in the file name of an example's picture
CHALLENGE = "/.well-known/openai-apps-challenge"  # row P01


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the checklist."""

    done: bool
    text: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """The package: files by path, and the checklist."""

    files: Mapping[str, bytes]
    checklist: tuple[Item, ...]

    @property
    def missing(self) -> tuple[Item, ...]:
        return tuple(item for item in self.checklist if not item.done)


def prepare(
    manifest: Manifest,
    *,
    mcp_url: str,
    own_host: bool,
    challenge: str = "",
    screenshots: Mapping[str, bytes] | None = None,
    frames: Mapping[str, Mapping[str, str]] | None = None,
    comparison: Comparison | None = None,
) -> Submission:
    """Make the package for one release.

    `own_host` says whether `mcp_url`'s host is this plugin's alone; `challenge` is the token that is served now;
    `screenshots` are pictures by file name, which begins with a widget's name or a tool's that shows it (a number and a
    hyphen may stand before it); `frames` maps a widget to its frame origins and their reasons;
    `comparison` is against the release submitted before, if any.
    """
    shots = screenshots or {}
    checklist = tuple(_checklist(manifest, mcp_url, own_host, challenge, shots))
    metadata = {
        "plugin": f"{manifest.tenant}/{manifest.plugin}",
        "release": manifest.digest,
        "mcp_url": mcp_url,
        "server": dict(manifest.server),
        "listing": dict(manifest.listing),
        "instructions": manifest.instructions,
        "auth": dict(manifest.auth) if manifest.auth else None,
        "tools": [_tool(tool) for tool in manifest.tools],
        "widgets": [{"name": w.name, "uri": w.uri, "csp": _csp(w.meta)} for w in manifest.widgets],
        "frames": {name: dict(reasons) for name, reasons in (frames or {}).items()},
        "test_prompts": [dict(example) for example in manifest.examples],
        "changes": comparison.to_dict() if comparison else None,
    }
    files = {
        "submission.json": json.dumps(metadata, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n",
        "tools.md": _tools_page(manifest).encode(),
        "prompts.md": _prompts_page(manifest.examples).encode(),
        "domain.md": _domain_page(manifest, mcp_url, own_host, challenge).encode(),
        "checklist.md": _checklist_page(checklist).encode(),
        **{f"screenshots/{name}": data for name, data in sorted(shots.items())},
    }
    return Submission(files, checklist)


def justification(tool: Mapping[str, Any], hint: str) -> str:
    """A sentence for the form's field beside a hint."""
    value = bool((tool.get("annotations") or {}).get(hint))
    return f"{REASONS[hint, value]} What it does: {_first_sentence(tool)}"


def _first_sentence(tool: Mapping[str, Any]) -> str:
    text = " ".join(str(tool.get("description") or "").split())
    head, stop, _ = text.partition(". ")
    return f"{head}." if stop else text


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    hints = tool.get("annotations") or {}
    return {
        "name": tool["name"],
        "title": tool.get("title", ""),
        "description": tool.get("description", ""),
        "annotations": {hint: {"value": hints.get(hint), "justification": justification(tool, hint)} for hint in HINTS},
        "securitySchemes": tool.get("securitySchemes", []),
    }


def _csp(meta: Mapping[str, Any]) -> Any:
    return meta.get("openai/widgetCSP", {})


def _tools_page(manifest: Manifest) -> str:
    lines = ["# Tools and the justification of their hints", "", "Read each sentence before you send it.", ""]
    for tool in manifest.tools:
        lines += [f"## {tool['name']}", "", str(tool.get("description", "")), ""]
        hints = tool.get("annotations") or {}
        lines += [f"- {hint} = {str(bool(hints.get(hint))).lower()}: {justification(tool, hint)}" for hint in HINTS]
        lines.append("")
    return "\n".join(lines)


def _prompts_page(examples: Sequence[Mapping[str, Any]]) -> str:
    lines = ["# Test prompts", ""]
    for number, example in enumerate(examples, 1):
        arguments = json.dumps(example.get("arguments", {}), ensure_ascii=False)
        lines += [f"{number}. {example['prompt']}", f"   - calls `{example['tool']}` with `{arguments}`"]
        if example.get("expect"):
            lines.append(f"   - expected: {example['expect']}")
    return "\n".join(lines) + "\n"


def _domain_page(manifest: Manifest, mcp_url: str, own_host: bool, challenge: str) -> str:
    plugin = f"{manifest.tenant}/{manifest.plugin}"
    host = mcp_url.split("/")[2]
    lines = ["# Domain verification", ""]
    if not own_host:
        return "\n".join(
            [*lines, f"{host} is shared. Deploy with a domain first: the token is read from the host.", ""]
        )
    lines += [
        f"1. Enter `{mcp_url}` in the form; it gives you a token.",
        f"2. `platform challenge {plugin} TOKEN`",
        f"3. `https://{host}{CHALLENGE}` answers the token alone, as text/plain. Press Verify.",
        "",
        f"Served now: {challenge or 'nothing (404)'}.",
        "",
        "Scheme, host and port of a published plugin never change (row P02).",
        "",
    ]
    return "\n".join(lines)


def _checklist(
    manifest: Manifest, mcp_url: str, own_host: bool, challenge: str, shots: Mapping[str, bytes]
) -> list[Item]:
    listing, plugin = manifest.listing, f"{manifest.tenant}/{manifest.plugin}"
    items = [
        Item(
            own_host,
            "The plugin has a host of its own",
            "Deploy the platform with a domain: platform deploy --domain DOMAIN",
        ),
        Item(mcp_url.startswith("https://"), "Its address is https", "Deploy the platform: platform deploy"),
        Item(bool(challenge), "The domain token is set", f"platform challenge {plugin} TOKEN"),
    ]
    items += [
        Item(bool(listing.get(key)), f"[listing] {key} is written", "Write it in plugin.toml.")
        for key in (*LISTED, *LINKED)
    ]
    items += [
        Item(bool(manifest.instructions), "The instructions are written", "Write them in plugin.toml."),
        Item(
            len(manifest.examples) >= MIN_PROMPTS,
            f"There are at least {MIN_PROMPTS} test prompts",
            "Write [[examples]] in plugin.toml.",
        ),
        Item(not manifest.findings, "`platform check` has no warnings", "Read them: reviewers will."),
    ]
    unshown = [widget.name for widget in manifest.widgets if not _pictured(widget, manifest.tools, shots)]
    items.append(
        Item(
            not unshown,
            "Every widget has a screenshot",
            f"Add --page URL, the address of a running `platform dev`; each needs an example: {', '.join(unshown)}.",
        )
    )
    return items


def _pictured(widget: WidgetEntry, tools: Sequence[Mapping[str, Any]], shots: Iterable[str]) -> bool:
    """Whether a picture's name says that it shows this widget."""
    shown_by = [tool["name"] for tool in tools if _template(tool) == widget.uri]
    return any(NUMBERED.sub("", name).startswith((widget.name, *shown_by)) for name in shots)


def _template(tool: Mapping[str, Any]) -> Any:
    return ((tool.get("_meta") or {}).get("ui") or {}).get("resourceUri")


def _checklist_page(checklist: Sequence[Item]) -> str:
    lines = ["# What is done and what is missing", ""]
    for item in checklist:
        lines.append(f"- [{'x' if item.done else ' '}] {item.text}" + ("" if item.done else f" - {item.cure}"))
    return "\n".join(lines) + "\n"
