"""The rules for names inside a bundle (row P07): what a path may look like, and which two may not stand together.

A name that one system reads differently from another (case, Unicode form, `\\`, a file where another entry wants a
folder) is refused, not repaired.
"""

from __future__ import annotations

import unicodedata

from tenantry_registry.errors import PlatformError

MAX_SEGMENTS = 20  # of a path (P07)
SEGMENT_BYTES = 255  # of UTF-8: no file system takes a longer name


class Names:
    """The names of a bundle, added one by one. `add` raises PlatformError `bundle.*`, one code a rule."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._declared: set[str] = set()  # folders that are entries themselves
        self._forms: dict[str, str] = {}  # by normal form
        self._cases: dict[str, str] = {}  # by normal form without case

    def add(self, name: str) -> None:
        """Take the entry `name`; one that ends in `/` is a folder."""
        check(name)
        path = name.removesuffix("/")
        if path in self._files or (name.endswith("/") and path in self._declared):
            clash = name.endswith("/") and path in self._files
            raise _refuse(
                "bundle.file-and-folder" if clash else "bundle.duplicate", f"{name[:80]!r} stands there twice."
            )
        above = path
        while above:
            self._check_alike(above)
            above = above.rpartition("/")[0]
            if above in self._files:
                raise _refuse("bundle.file-and-folder", f"{above[:80]!r} is a file and a folder.")
            if above:
                self._folders.add(above)
        if name.endswith("/"):
            self._folders.add(path)
            self._declared.add(path)
        elif path in self._folders:
            raise _refuse("bundle.file-and-folder", f"{path[:80]!r} is a file and a folder.")
        else:
            self._files.add(path)

    def _check_alike(self, path: str) -> None:
        form = unicodedata.normalize("NFC", path)
        if self._forms.setdefault(form, path) != path:
            raise _refuse("bundle.unicode-collision", f"{path[:80]!r} is spelt in two Unicode forms.")
        case = unicodedata.normalize("NFC", form.casefold())
        if self._cases.setdefault(case, path) != path:
            raise _refuse("bundle.case-collision", f"{path[:80]!r} and {self._cases[case][:80]!r} differ only by case.")


def check(name: str) -> None:
    """Refuse a path that is not a plain relative one. Raises: PlatformError `bundle.*`."""
    shown = f"{name[:80]!r}"
    if "\\" in name:
        raise _refuse("bundle.backslash", f"{shown} has a backslash.")
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in name):
        raise _refuse("bundle.control-character", f"{shown} has a control character.")
    if name.startswith("/") or name[1:2] == ":":
        raise _refuse("bundle.absolute-path", f"{shown} is an absolute path.")
    segments = name.removesuffix("/").split("/")
    if not all(segments) or "." in segments:
        raise _refuse("bundle.empty-segment", f"{shown} has an empty segment.")
    if ".." in segments:
        raise _refuse("bundle.parent-path", f"{shown} leaves the bundle.")
    if any(s != s.strip() for s in segments):
        raise _refuse("bundle.white-space", f"{shown} begins or ends with white space.")
    if len(segments) > MAX_SEGMENTS:
        raise _refuse("bundle.too-deep", f"{shown} has {len(segments)} segments; at most {MAX_SEGMENTS} are allowed.")
    if any(len(s.encode()) > SEGMENT_BYTES for s in segments):
        raise _refuse("bundle.name-too-long", f"{shown} has a name of more than {SEGMENT_BYTES} bytes.")


def _refuse(code: str, message: str) -> PlatformError:
    return PlatformError(code, message, "Rename it and pack it again.")
