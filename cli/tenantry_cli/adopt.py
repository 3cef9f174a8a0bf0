"""`platform init --from server.py`: reads an MCP server's source and writes the plugin.toml that hosts it as it is.

The source is parsed, never run. What it can't tell (a server built in a function, say) falls back to running the
script, which works as long as it ends in `.run()`.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenantry_registry.errors import PlatformError
from tenantry_registry.rules_imports import network
from tenantry_registry.rules_tools import HINTED, HINTS

from tenantry_cli import manual, scaffold
from tenantry_cli.beside import imported, imports
from tenantry_cli.folder import MANUAL

SERVERS = {"FastMCP", "MCPServer", "Server", "Plugin"}  # official SDK (v1, v2), fastmcp, the kit
APPS = {"Starlette", "FastAPI"}
APP_METHODS = {"streamable_http_app", "http_app", "sse_app"}
# Modules by which a server reaches the internet
# What a file imports that serves by itself: the SDKs, the kit, ASGI
LIBRARIES = {"mcp", "fastmcp", "tenantry", "starlette", "fastapi", "uvicorn"}
COMMON = {"Server", "Plugin"}  # names that other libraries have as well
STARTS = re.compile(r"run|serve|run_(\w+_)?async")  # the methods that start a server
RUNS_OTHERS = {"subprocess", "asyncio", "anyio", "trio"}  # whose run() starts no server
SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL")


@dataclass
class Found:
    """What the source says. `objects` maps a module-level name to how it was made, in order."""

    objects: dict[str, str] = field(default_factory=dict)
    title: str = ""
    runs: bool = False
    bare: list[str] = field(default_factory=list)  # tools that leave a hint out
    network: bool = False
    environment: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was written, and what its author should know."""

    folder: Path
    entrypoint: str
    notes: tuple[str, ...]


def write(server: Path, folder: Path | None) -> Adopted:
    """Write plugin.toml beside `server`, or into `folder` (when the server is not below it, it is copied there
    with what it imports from its own folder).

    Raises: PlatformError `init.no-server`, `init.not-python`, `init.no-entrypoint`, `init.not-empty`, `name.plugin`.
    """
    if not server.is_file():
        raise PlatformError("init.no-server", f"{server} is not a file.", "Name the file that makes the MCP server.")
    try:
        found = look(ast.parse(server.read_text("utf-8")), beside=server.parent)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise PlatformError("init.not-python", f"{server} is not Python: {error}") from None
    folder = folder or server.parent
    if (folder / MANUAL).exists():
        raise PlatformError("init.not-empty", f"{folder / MANUAL} is there already.", "Edit it, or remove it first.")
    beside = imported(server)
    for module in beside:
        other = glance(module)
        found.network = found.network or other.network
        found.environment = list(dict.fromkeys([*found.environment, *other.environment]))
    place, copied = settle(server, folder, beside)
    entry, notes = entrypoint(found, place)
    if copied:
        notes.append(f"copied {', '.join(copied)}: what else the server reads from its folder is not there")
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
    if found.bare:
        notes.append(f"before it can be published, {', '.join(found.bare)}: {HINTED['asgi']}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANUAL).write_text(manual.write(values), "utf-8")
    return Adopted(folder, entry, tuple(notes))


def settle(server: Path, folder: Path, beside: Sequence[Path]) -> tuple[Path, list[str]]:
    """The server's path below `folder`, and what was copied there: it, the files `beside` that it imports and its
    requirements, when it stands elsewhere. What is there already stays as it is."""
    try:
        return server.resolve().relative_to(folder.resolve()), []
    except ValueError:
        copied = []
        for source in (server, *beside, server.parent / "requirements.txt"):
            inside = source.relative_to(server.parent)
            if source.is_file() and not (folder / inside).exists():
                (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, folder / inside)
                copied.append(inside.as_posix() if inside.parent == Path() else f"{inside.parts[0]}/")
        return Path(server.name), list(dict.fromkeys(copied))


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
        f"{place} makes no MCP server or ASGI app at module level and runs none.",
        "Name the file with FastMCP(...), MCPServer(...), an ASGI app, or the .run() of one.",
    )


def glance(module: Path) -> Found:
    """What a file that the server imports says of the network and the environment; nothing, where it is no Python."""
    try:
        return look(ast.parse(module.read_text("utf-8")), beside=module.parent)
    except (SyntaxError, UnicodeDecodeError):
        return Found()


def look(tree: ast.Module, beside: Path) -> Found:
    """Read a module without running it. `beside` is its folder: a server may come from another module in it."""
    found = Found()
    asked = {name.partition(".")[0] for node in ast.walk(tree) for name in imports(node)}
    serves = any(name in LIBRARIES or (beside / f"{name}.py").exists() or (beside / name).exists() for name in asked)
    for node in tree.body:
        targets, value = assigned(node)
        made_by = name_of(value.func) if isinstance(value, ast.Call) else ""
        for target in targets:
            if made_by in (SERVERS | APPS | APP_METHODS) - (set() if serves else COMMON):
                found.objects[target] = made_by
        if isinstance(value, ast.Call) and made_by in SERVERS:
            found.title = found.title or text_of(value, 0, "name")
    found.network = any(network(name) for node in ast.walk(tree) for name in dotted(node))
    found.runs = serves and any(isinstance(inner, ast.Call) and starts(inner.func) for inner in ast.walk(tree))
    found.bare = [] if "tenantry" in asked else [*dict.fromkeys(bare(tree))]  # the kit says so itself
    found.environment = list(dict.fromkeys(environment(tree)))
    return found


def dotted(node: ast.AST) -> list[str]:
    """The modules that a statement imports, and the names that it takes from one: `http.client` of either kind."""
    taken = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
    return [*imports(node), *taken]


def assigned(node: ast.stmt) -> tuple[list[str], ast.expr | None]:
    if isinstance(node, ast.Assign):
        return [t.id for t in node.targets if isinstance(t, ast.Name)], node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id], node.value
    return [], None


def starts(func: ast.expr) -> bool:
    """Whether a call of this starts a server, as far as its name tells."""
    owner = name_of(func.value) if isinstance(func, ast.Attribute) else None
    return owner is not None and owner not in RUNS_OTHERS and STARTS.fullmatch(name_of(func)) is not None


def bare(tree: ast.Module) -> Iterator[str]:
    """The tools that leave out a hint without which nothing is published: `@x.tool` and `Tool(name=...)`. Annotations
    that are made elsewhere are trusted; what is published is asked again."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for made in node.decorator_list:
                call = made if isinstance(made, ast.Call) else None
                func = call.func if call else made
                if isinstance(func, ast.Attribute) and func.attr == "tool" and not hinted(call):
                    yield (text_of(call, 0, "name") if call else "") or node.name
        elif isinstance(node, ast.Call) and name_of(node.func) == "Tool" and not hinted(node):
            yield from filter(None, [text_of(node, 1, "name")])


def hinted(call: ast.Call | None) -> bool:
    """Whether the annotations of a tool, where they are written in its call, have every hint."""
    for keyword in call.keywords if call else []:
        if keyword.arg == "annotations" and isinstance(keyword.value, ast.Call):
            said = {name.arg for name in keyword.value.keywords}
            return None in said or all({hint, f"{word}_hint"} & said for hint, word in HINTS.items())
        if keyword.arg == "annotations" and isinstance(keyword.value, ast.Dict):
            keys = {key.value for key in keyword.value.keys if isinstance(key, ast.Constant)}
            return HINTS.keys() <= keys
        if keyword.arg in ("annotations", None):
            return not isinstance(keyword.value, ast.Constant)
    return False


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
