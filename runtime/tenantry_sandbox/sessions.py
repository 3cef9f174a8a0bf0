"""Sessions of a server object: served without them, since no two calls are sure to meet the same environment, but for a
call that may ask its client something. That call gets a session of its own, which ends with it.
"""

import contextlib
from collections.abc import Iterator
from typing import Any


class Sessions:
    """Turns sessions off in the SDK's session manager of an app that has started, and on within `open`.

    `possible` is whether it can: an author who chose to serve without sessions does so here too.
    """

    def __init__(self, app: Any = None) -> None:
        endpoints = [app, *(getattr(route, "endpoint", None) for route in getattr(app, "routes", ()))]
        manager: Any = next((one.session_manager for one in endpoints if hasattr(one, "session_manager")), None)
        self.possible = getattr(manager, "stateless", None) is False
        self._manager = manager
        if self.possible:
            manager.stateless = True

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """A client that greets the server in here gets a session."""
        self._manager.stateless = False
        try:
            yield
        finally:
            self._manager.stateless = True
