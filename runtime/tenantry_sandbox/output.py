"""What the tenant's code writes to stdout and stderr, caught where C code and child processes write too.

File descriptors 1 and 2 are pointed at two files that nobody else has open; they are emptied when a call begins and
read when it ends. On one machine the runner makes the files and keeps them open, so the last words of a worker that
died are not lost. A pipe would need somebody to drain it while the tool runs; a file does not.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from tenantry_sandbox.masks import blank

KEPT_BYTES = 65_536  # of each stream, with each call: the log line it ends in has a limit
STREAMS = {"stdout": 1, "stderr": 2}


class Output:
    """The two streams. `redirect`: point them at new files first (on Lambda); else they already are files."""

    def __init__(self, *, redirect: bool) -> None:
        if redirect:
            for number in STREAMS.values():
                with tempfile.TemporaryFile(buffering=0) as file:
                    os.dup2(file.fileno(), number)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # in order, and not lost in a crash
        self._flush()

    def begin(self) -> None:
        """Forget what was written before, by the import or by a thread of an earlier call."""
        self._flush()
        for number in STREAMS.values():
            if os.fstat(number).st_size:
                os.ftruncate(number, 0)
            os.lseek(number, 0, os.SEEK_SET)

    def end(self, secrets: Mapping[str, str]) -> dict[str, Any]:
        """What was written since `begin`, as the reply's `stdout`, `stderr` and `truncated`."""
        self._flush()
        caught: dict[str, Any] = {}
        for name, number in STREAMS.items():
            size = os.fstat(number).st_size
            if size:
                caught[name] = blank(os.pread(number, KEPT_BYTES, 0).decode("utf-8", "replace"), secrets)
            if size > KEPT_BYTES:
                caught["truncated"] = True
        return caught

    def _flush(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, ValueError, OSError):
                continue  # a tool replaced or closed it, or the file is full: what reached the file is still read


class Passed:
    """Debugging: the author's terminal is stdin, stdout and stderr, so that a breakpoint can talk; nothing is kept."""

    def begin(self) -> None:
        """Nothing to forget."""

    def end(self, secrets: Mapping[str, str]) -> dict[str, Any]:
        """Nothing was caught."""
        return {}
