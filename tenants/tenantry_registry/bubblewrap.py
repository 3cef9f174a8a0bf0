"""A worker's walls on Linux: bubblewrap, where it is installed and works.

Inside: a root that is made of the interpreter, the system's libraries and the release's own files, all read-only; an
own /tmp in memory; own processes, IPC and host name; no network at all with egress "none". Nothing of the store, of
other workers' folders or of the platform's environment is there to be read. The kernel ends every process of the
namespace together with its first one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

PROBE_SECONDS: Final = 10.0
TMP_BYTES: Final = 536_870_912  # what /tmp of a Lambda function holds by default
SHARED_BYTES: Final = 67_108_864  # of /dev/shm: semaphores of multiprocessing, not data
SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
NETWORK: Final = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates", "/etc/pki"),
    *("/etc/services", "/etc/protocols", "/etc/gai.conf"),
)
ETC: Final = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/alternatives",
    "/etc/mime.types",
)
OWN: Final = (
    *("--proc", "/proc", "--dev", "/dev", "--size", str(SHARED_BYTES), "--tmpfs", "/dev/shm"),
    *("--size", str(TMP_BYTES), "--tmpfs", "/tmp"),
)
WALLS: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns"),
    *("--die-with-parent", "--hostname", "sandbox", "--cap-drop", "ALL"),
)
# The root is a file system in memory without a bound; and as root, /proc/sys could be written though no capability is
# left: the kernel asks for the user there, and core_pattern would run a program outside.
READ_ONLY: Final = ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")


@cache
def usable() -> str:
    """The path of a bubblewrap that works here, or nothing: it may be missing, or namespaces may be forbidden."""
    return find(os.environ.get("PATH", os.defpath))


def find(path: str) -> str:
    """`usable`, looked for on `path`."""
    program = shutil.which("bwrap", path=path)
    if program is None:
        return ""
    tried = subprocess.run(
        [program, *WALLS, *_root(), "--unshare-net", *READ_ONLY, "true"],
        capture_output=True,
        timeout=PROBE_SECONDS,
        check=False,
    )
    return program if tried.returncode == 0 else ""


def command(program: str, *, readable: Iterable[Path], bundle: Path, network: bool) -> Sequence[str]:
    """The command that runs what follows it behind the walls; `bundle` is the working folder."""
    shown = [argument for path in (*readable, bundle) for argument in ("--ro-bind", str(path), str(path))]
    net = [argument for path in NETWORK for argument in ("--ro-bind-try", os.path.realpath(path), path)]
    return [
        *(program, *WALLS, *_root(), *shown),
        *(net if network else ["--unshare-net"]),
        *READ_ONLY,
        *("--chdir", str(bundle)),
    ]


def interpreter() -> list[Path]:
    """The folders that this interpreter needs to run."""
    return sorted({Path(sys.prefix), Path(sys.base_prefix)})


def _root() -> list[str]:
    system = []
    for path in SYSTEM:
        if os.path.islink(path):
            system += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            system += ["--ro-bind", path, path]
    etc = [argument for path in ETC for argument in ("--ro-bind-try", path, path)]
    return [*system, *etc, *OWN]
