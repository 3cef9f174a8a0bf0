"""A plugin written with the platform's kit, by the two methods that the kit promises to every runner of protocol 1."""

from typing import Any

from tenantry_sandbox.session import Session


class Kit:
    """Wraps an object with `__tenantry_describe__` and `__tenantry_call__`."""

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin

    def describe(self) -> dict[str, Any]:
        """The kit's own description."""
        described: dict[str, Any] = self._plugin.__tenantry_describe__()
        return described

    def call(self, call: dict[str, Any], session: Session) -> dict[str, Any]:
        """The kit's part of the reply."""
        replied: dict[str, Any] = self._plugin.__tenantry_call__(call, session)
        return replied
