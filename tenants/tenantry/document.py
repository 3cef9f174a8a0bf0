"""`ctx.state` and `ctx.shared`: one JSON document each, carried with the call and written back as a patch.

The patch names what was read as well as what was changed, so that the platform can merge calls that did not touch
the same keys and run the others again. Values are compared when the call ends: appending to a list inside counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from tenantry.errors import ToolError

MAX_BYTES = 256 * 1024  # of a whole document as JSON: it travels with every call (design, section 3)


class Document(MutableMapping[str, Any]):
    """A dict of JSON values that survives the call; keys are strings, 256 KB in all.

    Raises: TypeError at once for a key or value that is not JSON.
    """

    def __init__(self, name: str, values: Mapping[str, Any] | None) -> None:
        self._name = name
        self._before = dict(values or {})
        self._values: dict[str, Any] = {}  # own copies of what was touched
        self._deleted: set[str] = set()
        self._read: set[str] = set()
        self._read_all = False

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        if key in self._values:
            return self._values[key]
        if key in self._deleted:
            raise KeyError(key)
        self._values[key] = _copy(self._before[key])
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"A key of ctx.{self._name} is a str, not {type(key).__name__}.")
        self._text(key, value)
        self._deleted.discard(key)
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._values.pop(key, None)
        self._deleted.add(key)

    def __contains__(self, key: object) -> bool:
        self._read.add(str(key))
        return key in self._keys()

    def __iter__(self) -> Iterator[str]:
        self._read_all = True
        return iter(list(self._keys()))

    def __len__(self) -> int:
        self._read_all = True
        return len(self._keys())

    def __repr__(self) -> str:
        return f"<ctx.{self._name}: {len(self._keys())} keys>"

    def patch(self) -> dict[str, Any]:
        """{"set", "delete", "read"} without what is empty. Raises: ToolError beyond 256 KB, TypeError for not JSON."""
        texts = {key: self._text(key, value) for key, value in self._values.items()}
        changed = {
            key: json.loads(text)
            for key, text in texts.items()
            if key not in self._before or text != _text(self._before[key])
        }
        deleted = sorted(key for key in self._deleted if key in self._before)
        patch = {
            "set": changed,
            "delete": deleted,
            "read": True if self._read_all else sorted(self._read),
        }
        if changed:
            self._check_size(changed, deleted)
        return {key: value for key, value in patch.items() if value}

    def _keys(self) -> dict[str, None]:
        kept = dict.fromkeys(key for key in self._before if key not in self._deleted)
        return {**kept, **dict.fromkeys(self._values)}

    def _text(self, key: str, value: Any) -> str:
        try:
            return _text(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"ctx.{self._name}[{key!r}] is not JSON: {error}") from None

    def _check_size(self, changed: Mapping[str, Any], deleted: list[str]) -> None:
        after = {key: value for key, value in self._before.items() if key not in deleted}
        size = len(_text({**after, **changed}).encode())
        if size > MAX_BYTES:
            raise ToolError(f"There is no room for this: {size} bytes, {MAX_BYTES} at most.")


def _text(value: Any) -> str:
    _check_keys(value)
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _check_keys(value: Any) -> None:
    # json.dumps would turn {1: ...} into {"1": ...} without a word
    if isinstance(value, dict):
        for key, child in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is not a str")
            _check_keys(child)
    elif isinstance(value, list | tuple):
        for child in value:
            _check_keys(child)


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))
