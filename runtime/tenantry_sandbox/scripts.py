"""Scripts: an entrypoint "script.py" that builds its server and calls `.run()` under `__main__`.

The script runs as it would from a terminal, as `__main__`, with one difference: the methods that would start a
transport hand over the object they were called on and unwind the script. They are put in place when the library is
imported, wherever the script does that, and taken out again before the server is used.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tenantry_sandbox import servers
from tenantry_sandbox.faults import LoadError

# module -> the class that it defines -> the methods that would start a transport
STARTERS: dict[str, dict[str, tuple[str, ...]]] = {
    "mcp.server.mcpserver.server": {
        "MCPServer": ("run", *(f"run_{t}_async" for t in ("stdio", "sse", "streamable_http")))
    },
    "mcp.server.fastmcp.server": {"FastMCP": ("run", *(f"run_{t}_async" for t in ("stdio", "sse", "streamable_http")))},
    "mcp.server.lowlevel.server": {"Server": ("run",)},
    "fastmcp.server.server": {"FastMCP": ("run", "run_async", "run_stdio_async", "run_http_async")},
    "uvicorn.main": {"": ("run",)},
    "uvicorn.server": {"Server": ("run", "serve")},
}


class Started(BaseException):
    """Unwinds the script; not an Exception, so that the script's own handlers let it pass."""


def serve(path: str) -> Any:
    """Run the script until it starts its server and return that server.

    A script that only defines one, at its top level, is understood too. Raises: LoadError, and what the script raises.
    """
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
    except FileNotFoundError:
        raise LoadError(
            "plugin.entrypoint", f"The bundle has no file {name}.", "Set the entrypoint in plugin.toml."
        ) from None
    module = ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.argv = [path]
    caught: list[Any] = []
    with _intercepted(caught.append):
        try:
            exec(code, module.__dict__)
        except BaseException:
            if not caught:
                raise
    found = caught or [value for value in vars(module).values() if servers.is_server(value)]
    if not found:
        raise LoadError(
            "plugin.entrypoint",
            f"{name} started no server and defines none.",
            'Call .run() on it under __main__, or name the object: entrypoint = "module:object".',
        )
    return servers.app_of(found[0])


@contextmanager
def _intercepted(caught: Callable[[Any], None]) -> Iterator[None]:
    replaced: list[tuple[Any, str, Any]] = []

    def hold(module: ModuleType) -> None:
        for owner_name, methods in STARTERS[module.__name__].items():
            owner = getattr(module, owner_name) if owner_name else module
            for method in methods:
                if hasattr(owner, method):
                    replaced.append((owner, method, vars(owner).get(method)))
                    setattr(owner, method, _starter(caught))

    finder = _Watcher(hold)
    for name in STARTERS.keys() & sys.modules.keys():
        hold(sys.modules[name])
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for owner, method, original in replaced:
            if original is None:  # it was inherited
                delattr(owner, method)
            else:
                setattr(owner, method, original)


def _starter(caught: Callable[[Any], None]) -> Callable[..., Any]:
    def start(server: Any, *args: Any, **kwargs: Any) -> Any:
        caught(server)
        raise Started

    return start


class _Watcher(importlib.abc.MetaPathFinder):
    """Finds nothing itself: lets the others find the modules of STARTERS and acts once they are executed."""

    def __init__(self, then: Callable[[ModuleType], None]) -> None:
        self._then = then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in STARTERS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Executed(spec.loader, self._then)
        return spec


class _Executed(importlib.abc.Loader):
    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)
