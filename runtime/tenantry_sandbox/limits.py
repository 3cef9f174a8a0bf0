"""What a worker may use, set by itself before it knows any code: hard limits, which only root could raise again."""

import ctypes
import resource
import signal
import sys

LIMITS = {
    "memory": resource.RLIMIT_AS,  # bytes of address space
    "file": resource.RLIMIT_FSIZE,  # bytes of one file; what a tool prints is a file too
    "files": resource.RLIMIT_NOFILE,
    "core": resource.RLIMIT_CORE,
}
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def apply(limits: dict[str, int]) -> None:
    """Set the named limits; one above what the process inherited stays at that."""
    for name, value in limits.items():
        _, inherited = resource.getrlimit(LIMITS[name])
        lowest = value if inherited == resource.RLIM_INFINITY else min(value, inherited)
        try:
            resource.setrlimit(LIMITS[name], (lowest, lowest))
        except (ValueError, OSError):  # pragma: no cover  (macOS refuses RLIMIT_AS)
            continue


def bind() -> None:
    """Die with the runner, and become the parent of grandchildren whose parent dies, so that it still finds them.

    On Linux only (prctl(2)). A namespace of processes does both better.
    """
    if sys.platform == "linux":  # pragma: no branch
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
