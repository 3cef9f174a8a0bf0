"""A worker on one machine: a process that answers events of one release until the runner closes the socket.

Started by `tenantry_registry.process_runner` with the socket as an inherited file descriptor. The first frame says how
to live: `limits` for the process, `kit` folders for the end of sys.path, `bare` to forget the interpreter's own
site-packages, `warm` to import the kit before a bundle is known, `debug` for a terminal, `trace` the signal that asks
where a tool is.
"""

import faulthandler
import json
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

from tenantry_sandbox import frames, limits, output
from tenantry_sandbox.environment import Catcher, Environment

WARM = ("tenantry",)


def main(number: int) -> None:
    """Serve the socket that file descriptor `number` is."""
    sock = socket.socket(fileno=number)
    sock.set_inheritable(False)
    start = frames.read(sock)
    debug = bool(start.get("debug"))
    faulthandler.register(start["trace"], file=2)  # the runner asks where a tool is before it kills it
    limits.apply(start.get("limits") or {})
    limits.bind()
    if start.get("bare"):
        sys.path[:] = [path for path in sys.path if is_standard(path)]
    kit: list[str] = start.get("kit") or []
    sys.path.extend(path for path in kit if path not in sys.path)
    before = {*sys.modules}
    if start.get("warm"):
        for name in WARM:
            __import__(name)
    catcher: Catcher = output.Passed() if debug else output.Output(redirect=False)
    environment = Environment(output=catcher, locate=_folder, deliver=Deliver(sock), kit=kit)
    warmed = sorted({name.partition(".")[0] for name in {*sys.modules} - before})
    frames.write(sock, json.dumps({"ready": True, "pid": os.getpid(), "warmed": warmed}).encode())
    try:
        while not environment.spent:
            frames.write(sock, environment.answer(frames.read(sock)))
    except frames.Closed:
        pass
    finally:
        environment.close()  # or Python would wait for the threads that a hosted server keeps


class Deliver:
    """Fills an upload by handing its bytes to the runner, which puts them where they belong."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def __call__(self, upload: Mapping[str, Any], data: bytes, content_type: str) -> None:
        if len(data) > upload["max_bytes"]:
            raise OSError(f"{len(data):,} bytes are more than this upload may hold ({upload['max_bytes']:,}).")
        frames.put(self._sock, upload["id"], data)


def is_standard(path: str) -> bool:
    """Whether a folder of sys.path is the standard library's and not an installation's."""
    return path.startswith((sys.base_prefix, sys.base_exec_prefix)) and "-packages" not in path


def _folder(event: dict[str, Any]) -> str:
    folder: str = event["bundle"]["folder"]
    return folder
