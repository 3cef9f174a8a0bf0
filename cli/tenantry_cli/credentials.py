"""What `platform login` keeps: a token for each control plane, in the system's keyring where there is one, else in a
file that only its owner can read. The list of control planes, without tokens, is always in the file."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

SERVICE = "tenantry"
IN_KEYRING = ""  # stands in the file for a token that the keyring holds


def file() -> Path:
    """Where it is kept: below XDG_CONFIG_HOME, or ~/.config."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "tenantry" / "credentials.json"


def keep(url: str, token: str) -> str:
    """Keep a token and make its control plane the default; says where it is kept ("keyring" or the file's path)."""
    held = _read()
    ring = _keyring()
    if ring is not None:
        ring.set_password(SERVICE, url, token)
    held["tokens"][url] = IN_KEYRING if ring is not None else token
    held["default"] = url
    _write(held)
    return "keyring" if ring is not None else str(file())


def find(url: str) -> str | None:
    """The token for a control plane, or None."""
    token = _read()["tokens"].get(url)
    if token == IN_KEYRING:
        ring = _keyring()
        return ring.get_password(SERVICE, url) if ring is not None else None
    return str(token) if token else None


def forget(url: str) -> bool:
    """Drop a token; False where there was none."""
    held = _read()
    if url not in held["tokens"]:
        return False
    if held["tokens"].pop(url) == IN_KEYRING and (ring := _keyring()) is not None:
        ring.delete_password(SERVICE, url)
    if held["default"] == url:
        held["default"] = ""
    _write(held)
    return True


def default() -> str:
    """The control plane that was logged in to last, or ""."""
    return str(_read()["default"])


def _read() -> dict[str, Any]:
    try:
        held: dict[str, Any] = json.loads(file().read_text())
        return held
    except (OSError, ValueError):
        return {"default": "", "tokens": {}}


def _write(held: dict[str, Any]) -> None:
    place = file()
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = place.with_suffix(".new")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        json.dump(held, out, indent=1)
    draft.replace(place)


def _keyring() -> Any:
    """The keyring package with a usable backend, or None: it is optional, and servers have none."""
    try:
        keyring = import_module("keyring")
        nothing = import_module("keyring.backends.fail").Keyring
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), nothing) else keyring
