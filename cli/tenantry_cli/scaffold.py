"""What `platform init` writes: a folder from templates/, and its plugin.toml from the annotated example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenantry_registry import names
from tenantry_registry.errors import PlatformError

from tenantry_cli import manual

TEMPLATES = Path(__file__).parent / "templates"
PLACEHOLDER = "my-plugin"  # stands for the plugin's name in the templates' files
LONGEST = 40  # characters of a name made from a folder's


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of plugin: what it is in a line, what its plugin.toml says, what to do first, and what later."""

    what: str
    values: Mapping[str, Any]
    then: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    ignored: tuple[str, ...] = field(default=())


KINDS: Mapping[str, Template] = {
    "widget": Template(
        "a tool and a widget in plain HTML, CSS and JavaScript",
        {
            "instructions": "Rolls dice. The widget shows them: say what matters about the result, not each number.",
            "examples": [
                {"prompt": "Roll three dice", "tool": "roll_dice", "arguments": {"count": 3}},
            ],
        },
    ),
    "minimal": Template(
        "one tool, no widget",
        {
            "instructions": "Rolls dice.",
            "examples": [{"prompt": "Roll three dice", "tool": "roll_dice", "arguments": {"count": 3}}],
        },
    ),
    "react": Template(
        "a widget in React and TypeScript, built by Vite with your npm",
        {
            "instructions": "Keeps a packing list for a trip. The widget shows it: do not repeat it in text.",
            "examples": [
                {
                    "prompt": "What do I pack for three days of rain in Bergen?",
                    "tool": "pack_for",
                    "arguments": {"place": "Bergen", "days": 3, "weather": "rain"},
                }
            ],
        },
        then=("(cd {folder}/ui && npm install && npm run build)",),
        later=("(cd {folder}/ui && npm run watch), in a second terminal: builds again at each save",),
        ignored=("ui",),
    ),
    "files": Template(
        "takes a file from the user and gives one back",
        {
            "instructions": "Counts the words of a text file and gives the counts back as a CSV file.",
            "egress": "public",
            "examples": [
                {
                    "prompt": "Which words does this text use most?",
                    "tool": "count_words",
                    "arguments": {"text": "the cat and the hat"},
                }
            ],
        },
    ),
    "oauth": Template(
        "tools for signed-in users, by your own authorization server",
        {
            "instructions": "Keeps notes for the signed-in user.",
            "auth": {"issuer": "https://auth.example.com", "scopes": ["notes.read", "notes.write"]},
            "examples": [{"prompt": "What can I do here?", "tool": "about", "arguments": {}}],
        },
        later=("before publishing, set [auth] issuer in {folder}/plugin.toml to your authorization server",),
    ),
}


def write(folder: Path, kind: str) -> list[Path]:
    """Write a template into a folder that is new or empty; returns what was written.

    Raises: PlatformError `init.not-empty`, `name.plugin`.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlatformError("init.not-empty", f"{folder} holds something already.", "Choose a new folder.")
    name = slug(folder.resolve().name)
    template = KINDS[kind]
    written = []
    for source in sorted(p for p in (TEMPLATES / kind).rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        target = folder / source.relative_to(TEMPLATES / kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text("utf-8").replace(PLACEHOLDER, name), "utf-8")
        written.append(target)
    head = {"name": name, "title": title(name), "version": "0.1.0", "entrypoint": "server:plugin", "egress": "none"}
    files = {"plugin.toml": manual.write({**head, "timeout": 10, **template.values})}
    files[".gitignore"] = "__pycache__/\n.venv/\n.env\n.tenantry/\nnode_modules/\n"
    if template.ignored:
        files[".tenantryignore"] = "".join(f"{name}\n" for name in template.ignored)
    for path, text in files.items():
        (folder / path).write_text(text, "utf-8")
        written.append(folder / path)
    return sorted(written)


def slug(text: str) -> str:
    """A plugin's name made of any text. Raises: PlatformError `name.plugin` when nothing of it can be used."""
    return names.plugin(re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST].strip("-"))


def title(name: str) -> str:
    return name.replace("-", " ").capitalize()
