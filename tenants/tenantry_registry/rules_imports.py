"""The rules of imports: what the plugin's modules import must come along with the bundle, and find a network.

Under development an import finds whatever its author has installed; hosted, it finds the bundle, what was vendored for
it, the standard library and the kit. Modules are read, not run, from the entrypoint on along the bundle's own modules.
An import that the code can do without (in a `try` that catches it, under TYPE_CHECKING, for another version of Python
or another system) is none of this rule's.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from tenantry_registry.config import Config
from tenantry_registry.kit_folder import KIT
from tenantry_registry.report import Finding, Place
from tenantry_registry.rules import found

VENDOR = "_vendor/"
COMPILED = (".so", ".pyd", ".dylib")
ELSEWHERE = ("TYPE_CHECKING", "sys.version_info", "sys.platform", "os.name")  # in an if: it may not run here
CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}

# What is imported to reach a network; a plugin whose egress is "none" has it on its author's machine alone
NETWORK = frozenset(
    (
        *("socket", "urllib.request", "http.client", "ftplib", "smtplib", "imaplib", "poplib", "xmlrpc.client"),
        *("requests", "httpx", "aiohttp", "urllib3", "httplib2", "pycurl", "websockets", "websocket", "grpc"),
        *("boto3", "openai", "anthropic", "psycopg", "psycopg2", "asyncpg", "pymysql", "pymongo", "redis", "paramiko"),
    )
)


def check_imports(
    config: Config,
    files: Mapping[str, bytes],
    bundle: Iterable[str],
    provided: Collection[str],
    *,
    development: bool = False,
) -> Iterator[Finding]:
    """`files` is the author's part, `bundle` the path of every entry; `provided` are further names that may be
    imported: what the requirements bring where they were not vendored. Under `development` the import may find what
    is installed there, so it is only warned of."""
    own = importable(path for path in files if not path.startswith(VENDOR))
    vendored = importable(path.removeprefix(VENDOR) for path in bundle if path.startswith(VENDOR))
    known = {*own, *vendored, *provided, *KIT, *sys.stdlib_module_names, "__future__"}
    told: set[str] = set()
    for path in reached(config.entrypoint, files):
        for module, line in _imports(path, files[path]):
            top = module.partition(".")[0]
            if top not in known and top not in told:
                told.add(top)
                words = f"{path} imports {top}, which no requirement brings."
                finding = found("dependency.undeclared", top, words, Place(path, line))
                yield replace(finding, severity="warn") if development else finding


def check_egress(config: Config, files: Mapping[str, bytes]) -> Iterator[Finding]:
    """One finding where egress is "none" and the plugin's own modules import what reaches a network."""
    if config.egress != "none":
        return
    found_at = [
        (name, Place(path, line))
        for path in reached(config.entrypoint, files)
        for module, line in _imports(path, files[path])
        if (name := network(module))
    ]
    if found_at:
        names = " and ".join(dict.fromkeys(name for name, _ in found_at))
        place = found_at[0][1]
        yield found("dependency.egress", "", f"{place.file} imports {names}, and egress is none.", place)


def network(module: str) -> str:
    """The library that reaches a network, of which an imported module (or a name of one) is a part; "" for others."""
    return next((n for n in (module, module.rpartition(".")[0], module.partition(".")[0]) if n in NETWORK), "")


def importable(paths: Iterable[str]) -> set[str]:
    """The names that can be imported from a folder that holds these files."""
    names = set()
    for path in paths:
        first, slash, _ = path.partition("/")
        if slash:
            names.add(first)
        elif path.endswith((".py", *COMPILED)):
            names.add(first.partition(".")[0])
    return names


def reached(entrypoint: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """The bundle's own modules that the entrypoint leads to, itself first, each once."""
    module, colon, _ = entrypoint.partition(":")
    waiting = [*_paths(module, files)] if colon else [entrypoint.removeprefix("./")]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop(0)
        if path in seen or path not in files:
            continue
        seen.add(path)
        yield path
        for name, _ in _imports(path, files[path], optional=True):
            waiting += _paths(name, files)


def _paths(module: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """The files that importing `module` runs: each package on the way, and itself."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        yield from (path for path in (f"{stem}/__init__.py", f"{stem}.py") if path in files)


def _imports(path: str, source: bytes, *, optional: bool = False) -> Iterator[tuple[str, int]]:
    """(module, line) of each import; `from a import b` may mean the module a.b, so both are given."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # said by whoever runs it
        return
    package = path.removesuffix(".py").split("/")[:-1]
    for node in _nodes(tree, optional):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}".lstrip(".") for alias in node.names]
            yield from ((name, node.lineno) for name in ([module] if module else []) + names)


def _nodes(tree: ast.AST, optional: bool) -> Iterator[ast.AST]:
    """Every node, without those below what the code can do without unless `optional`."""
    for node in ast.iter_child_nodes(tree):
        if not optional and isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            continue
        if not optional and isinstance(node, ast.If) and any(word in ast.unparse(node.test) for word in ELSEWHERE):
            continue
        yield node
        yield from _nodes(node, optional)


def _catches(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(CAUGHT & {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)})
