"""Compiles every module below a folder to bytecode that depends on the source's bytes and on nothing else.

Run as a script by the very interpreter that will load the result (`python -I -S bytecode.py FOLDER [PATTERN...]`), with
PYTHONHASHSEED=0: sets of constants are marshalled in hash order. The .pyc are "unchecked" (PEP 552), so that
importing does not hash the source; a zip without them doubles the cold start (0.70 s against 0.24 s).

A source that no PATTERN matches is replaced by its bytecode, as `compileall -b` lays it out: Python loads the
`module.pyc` that stands where `module.py` would. Tracebacks name file and line as before and can't quote the line.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import marshal
import sys
from collections.abc import Sequence
from pathlib import Path

TASK = "/var/task"  # where Lambda unpacks a zip: what tracebacks name
UNCHECKED = (0b01).to_bytes(4, "little")  # PEP 552: hash-based, not checked at import


def compile_tree(folder: Path, sources: Sequence[str] = ("*",)) -> list[Path]:
    """Write `__pycache__/*.pyc` beside each `*.py` below `folder` that one of `sources` matches, and a `*.pyc` instead
    of each other one; returns them in order.

    A file that does not compile (a template, a module for another Python) is left without one, as pip leaves it.
    """
    written: list[Path] = []
    for source in sorted(folder.rglob("*.py")):
        data = source.read_bytes()
        name = source.relative_to(folder).as_posix()
        try:
            code = compile(data, f"{TASK}/{name}", "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError):
            continue
        # Loading and dumping again makes the reference flags depend on the code alone, not on what was interned
        # while it was compiled.
        body = marshal.dumps(marshal.loads(marshal.dumps(code)))
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in sources):
            target = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
            target.parent.mkdir(exist_ok=True)
        else:
            target = source.with_suffix(".pyc")
            source.unlink()
        target.write_bytes(importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(data) + body)
        written.append(target)
    return written


if __name__ == "__main__":
    compile_tree(Path(sys.argv[1]), sys.argv[2:])
