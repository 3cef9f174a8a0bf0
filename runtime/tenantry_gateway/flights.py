"""How many calls of one tenant run at once in this process: a slow tool must not take everybody's workers.

Not the plan's limit, which holds over all processes and is counted by the turnstile (meter.py), but the process's own:
it holds for tenants that have no plan, and while the counters do not answer. It costs a look into a dictionary. On
Lambda a process has one call at a time, and this refuses nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tenantry_registry.errors import PlatformError


class Flights:
    """Counts calls in flight by tenant, in this process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._flying: Counter[str] = Counter()

    @contextmanager
    def flight(self, tenant: str) -> Iterator[None]:
        """One call. Raises: PlatformError `tenant.busy`."""
        if self._flying[tenant] >= self._most:
            raise PlatformError(
                "tenant.busy", f"{self._most} calls of this tenant are running already.", "Try again in a few seconds."
            )
        self._flying[tenant] += 1
        try:
            yield
        finally:
            self._flying[tenant] -= 1
            if not self._flying[tenant]:
                del self._flying[tenant]
