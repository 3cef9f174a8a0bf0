"""Compiles every module below a folder to bytecode that depends on the source's bytes and on nothing else.

Run as a script by the very interpreter that will load the result (`python -I -S bytecode.py FOLDER`), with
PYTHONHASHSEED=0: sets of constants are marshalled in hash order. The .pyc are "unchecked" (PEP 552), so that
importing neither stats nor hashes the source; a zip without them doubles the cold start (0.70 s against 0.24 s).
"""

from __future__ import annotations

import importlib.util
import marshal
import sys
from pathlib import Path

TASK = "/var/task"  # where Lambda unpacks a zip: what tracebacks name
UNCHECKED = (0b01).to_bytes(4, "little")  # PEP 552: hash-based, not checked at import


def compile_tree(folder: Path) -> list[Path]:
    """Write `__pycache__/*.pyc` beside each `*.py` below `folder`; returns them in order.

    A file that does not compile (a template, a module for another Python) is left without one, as pip leaves it.
    """
    written: list[Path] = []
    for source in sorted(folder.rglob("*.py")):
        data = source.read_bytes()
        name = f"{TASK}/{source.relative_to(folder).as_posix()}"
        try:
            code = compile(data, name, "exec", dont_inherit=True, optimize=0)
        except (SyntaxError, ValueError):
            continue
        # Loading and dumping again makes the reference flags depend on the code alone, not on what was interned
        # while it was compiled.
        body = marshal.dumps(marshal.loads(marshal.dumps(code)))
        target = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(data) + body)
        written.append(target)
    return written


if __name__ == "__main__":
    compile_tree(Path(sys.argv[1]))
