"""One HTTP request and one answer, as everything behind the web shell sees them.

Two plain objects, so that a handler is `(request) -> response` whether it was reached through uvicorn, Mangum or a
test. Header names are lower case; `repeated` names those that came more than once, which a mapping would hide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

JSON_TYPE: Final = "application/json"
SSE_TYPE: Final = "text/event-stream"


class Request:
    """What was asked: `path` is decoded and without the stage's prefix, `host` in lower case with its port."""

    __slots__ = ("body", "client", "headers", "host", "method", "path", "query", "repeated")

    def __init__(
        self,
        method: str,
        path: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        *,
        query: str = "",
        client: str = "",
    ) -> None:
        seen: dict[str, str] = {}
        repeated = set()
        for name, value in headers:
            key = name.lower()
            if key in seen:
                repeated.add(key)
            else:
                seen[key] = value.strip(" \t")
        self.method = method
        self.path = path
        self.headers: Mapping[str, str] = seen
        self.repeated = frozenset(repeated)
        self.body = body
        self.query = query
        self.client = client
        self.host = seen.get("host", "").lower()


class Response:
    """What is answered. `headers` in the order they are sent; the body is always whole (Lambda does not stream)."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self, status: int, body: bytes = b"", content_type: str = "", headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.status = status
        self.body = body
        self.headers = list(headers)
        if content_type:
            self.headers.append(("content-type", content_type))

    def header(self, name: str) -> str | None:
        """The first header of that (lower-case) name."""
        return next((value for key, value in self.headers if key == name), None)
