"""`platform init --from server.py`: reads an MCP server's source and writes the plugin.toml that hosts it as it is.

The source is parsed, never run. What it can't tell (a server built in a function, say) falls back to running the
script, which works as long as it ends in `.run()`.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenantry_registry.errors import PlatformError

from tenantry_cli import manual, scaffold
from tenantry_cli.folder import MANUAL

SERVERS = {"FastMCP", "MCPServer", "Server", "Plugin"}  # official SDK (v1, v2), fastmcp, the kit
APPS = {"Starlette", "FastAPI"}
APP_METHODS = {"streamable_http_app", "http_app", "sse_app"}
# Modules by which a server reaches the internet
NETWORK = {"httpx", "requests", "aiohttp", "urllib", "urllib3", "http", "socket", "boto3", "openai", "websockets"}
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL")


@dataclass
class Found:
    """What the source says. `objects` maps a module-level name to how it was made, in order."""

    objects: dict[str, str] = field(default_factory=dict)
    title: str = ""
    runs: bool = False
    network: bool = False
    environment: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was written, and what its author should know."""

    folder: Path
    entrypoint: str
    notes: tuple[str, ...]


def write(server: Path, folder: Path | None) -> Adopted:
    """Write plugin.toml beside `server`, or into `folder` (the server is copied there when it is not below it).

    Raises: PlatformError `init.no-server`, `init.not-python`, `init.no-entrypoint`, `init.not-empty`, `name.plugin`.
    """
    if not server.is_file():
        raise PlatformError("init.no-server", f"{server} is not a file.", "Name the file that makes the MCP server.")
    try:
        found = look(ast.parse(server.read_text("utf-8")))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise PlatformError("init.not-python", f"{server} is not Python: {error}") from None
    folder = folder or server.parent
    if (folder / MANUAL).exists():
        raise PlatformError("init.not-empty", f"{folder / MANUAL} is there already.", "Edit it, or remove it first.")
    place = settle(server, folder)
    entry, notes = entrypoint(found, place)
    secrets = [name for name in found.environment if SECRET.search(name)]
    env = {name: "" for name in found.environment if name not in secrets}
    title = found.title or folder.resolve().name
    values: dict[str, Any] = {
        "name": scaffold.slug(title),
        "title": title,
        "entrypoint": entry,
        "egress": "public" if found.network else "none",
    }
    if found.network:
        notes.append('egress = "public": the source imports a network library')
    if secrets:
        values["secrets"] = {"required": secrets}
        notes.append(f"secrets: put {', '.join(secrets)} into .env for development")
    if env:
        values["env"] = env
        notes.append(f"[env]: give {', '.join(env)} a value")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANUAL).write_text(manual.write(values), "utf-8")
    return Adopted(folder, entry, tuple(notes))


def settle(server: Path, folder: Path) -> Path:
    """The server's path below `folder`, copied there when it stands elsewhere."""
    try:
        return server.resolve().relative_to(folder.resolve())
    except ValueError:
        folder.mkdir(parents=True, exist_ok=True)
        for source in (server, server.parent / "requirements.txt"):
            if source.is_file() and not (folder / source.name).exists():
                shutil.copy(source, folder / source.name)
        return Path(server.name)


def entrypoint(found: Found, place: Path) -> tuple[str, list[str]]:
    """`module:object` for the best object at module level, else the script.

    Raises: PlatformError `init.no-entrypoint`.
    """
    for kinds in (SERVERS, APP_METHODS, APPS):
        for name, made_by in found.objects.items():
            if made_by in kinds:
                return f"{'.'.join(place.with_suffix('').parts)}:{name}", [f"{name} is made by {made_by}()"]
    if found.runs:
        return place.as_posix(), ["the script is run as it is, up to its .run()"]
    raise PlatformError(
        "init.no-entrypoint",
        f"{place} makes no MCP server at module level and runs none.",
        "Name the file with FastMCP(...), MCPServer(...), an ASGI app, or a call of .run().",
    )


def look(tree: ast.Module) -> Found:
    """Read a module without running it."""
    found = Found()
    for node in tree.body:
        targets, value = assigned(node)
        made_by = name_of(value.func) if isinstance(value, ast.Call) else ""
        for target in targets:
            if made_by in SERVERS | APPS | APP_METHODS:
                found.objects[target] = made_by
        if isinstance(value, ast.Call) and made_by in SERVERS:
            found.title = found.title or text_of(value, 0, "name")
    inner: ast.AST
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Import):
            found.network |= any(alias.name.partition(".")[0] in NETWORK for alias in inner.names)
        elif isinstance(inner, ast.ImportFrom):
            found.network |= (inner.module or "").partition(".")[0] in NETWORK
        elif isinstance(inner, ast.Call) and name_of(inner.func) in {"run", "run_async"}:
            found.runs = True
    found.environment = list(dict.fromkeys(environment(tree)))
    return found


def assigned(node: ast.stmt) -> tuple[list[str], ast.expr | None]:
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)], node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id], node.value
    return [], None


def environment(tree: ast.Module) -> Iterator[str]:
    """The variables that the source reads: os.environ["X"], os.environ.get("X"), os.getenv("X")."""
    for node in ast.walk(tree):
        read: ast.expr | None = None
        if isinstance(node, ast.Subscript) and name_of(node.value) == "environ":
            read = node.slice
        elif isinstance(node, ast.Call) and node.args:
            inside = node.func.value if isinstance(node.func, ast.Attribute) else None
            of_environ = name_of(node.func) == "get" and inside is not None and name_of(inside) == "environ"
            if of_environ or name_of(node.func) == "getenv":
                read = node.args[0] if len(node.args) == 1 else None  # a default says that it need not be set
        if isinstance(read, ast.Constant) and isinstance(read.value, str):
            yield read.value


def name_of(node: ast.expr) -> str:
    """The last name of `a.b.c`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def text_of(call: ast.Call, index: int, keyword: str) -> str:
    """A string argument by position or name, or ""."""
    given: list[ast.expr] = [k.value for k in call.keywords if k.arg == keyword]
    given += call.args[index : index + 1]
    for value in given:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return value.value
    return ""
