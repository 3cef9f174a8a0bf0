"""Where in the author's files something was declared: what every misuse error and every description names."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True, slots=True)
class Source:
    """A file, relative to the first entry of sys.path that holds it, and a line counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def to_wire(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line}


def caller() -> Source:
    """The nearest line of the call stack that is not the kit's own."""
    frame = _author_frame()
    return Source(_relative(frame.f_code.co_filename), frame.f_lineno)


def caller_names() -> Mapping[str, Any]:
    """The local names at that line: what annotations written as strings may refer to inside a function."""
    names: Mapping[str, Any] = _author_frame().f_locals
    return names


def of(function: FunctionType | MethodType) -> Source:
    """Where `function` begins; its first decorator's line counts."""
    code = function.__code__
    return Source(_relative(code.co_filename), code.co_firstlineno)


def _author_frame() -> Any:
    frame: Any = sys._getframe(1)
    while _is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _is_ours(filename: str) -> bool:
    # `<string>` is the __init__ that dataclasses write for our own classes
    return filename.startswith((HERE + os.sep, "<string>"))


def _relative(filename: str) -> str:
    for entry in sys.path:
        folder = os.path.abspath(entry or os.curdir).rstrip(os.sep) + os.sep
        if filename.startswith(folder):
            return filename[len(folder) :].replace(os.sep, "/")
    return filename
