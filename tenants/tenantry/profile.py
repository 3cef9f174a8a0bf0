"""Who is signed in, for hosts that let a user connect several accounts: rows T06 and P06."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1, "pattern": "\\S"},
        "name": {"type": "string"},
        "email": {"type": "string"},
        "nickname": {"type": "string"},
    },
    "required": ["id"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """The current account. `id` is not blank, stays the same for ever and is never given to anybody else."""

    id: str
    name: str | None = None
    email: str | None = None
    nickname: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            raise ValueError("A profile's id can't be blank.")

    def to_wire(self) -> dict[str, str]:
        values = {"id": self.id, "name": self.name, "email": self.email, "nickname": self.nickname}
        return {key: value for key, value in values.items() if value is not None}
