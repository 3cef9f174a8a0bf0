"""`ctx.secrets`: the plugin's secrets by name, never shown by accident."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Secrets(Mapping[str, str]):
    """What `platform secrets set` stored, or .env in development. Its repr shows names only."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(f"The secret {name!r} is not set: list it under [secrets] required and set it.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"
