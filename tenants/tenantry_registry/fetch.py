"""Fetching small documents from authorization servers: https only, never a private address, bounded in size and time.

The address rules are the kit's own (`tenantry.download`): resolve, check every address, connect to the one that was
checked, so that a name can't turn into an inside address between the check and the connection.
"""

from __future__ import annotations

import asyncio
import http.client
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tenantry.download import Fetcher, resolve
from tenantry.errors import FileError

from tenantry_registry.errors import PlatformError

DOCUMENT_BYTES = 256 * 1024  # the largest key set seen in the wild is a tenth of this
SECONDS = 5.0  # a tool call waits for it; hosts give up on a first request after 5 to 10


@dataclass(frozen=True, slots=True)
class Documents(Fetcher):
    """A fetcher that also sends a form (POST) and headers. A form is never sent on to where a redirect points."""

    form: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(self, connection: http.client.HTTPConnection, target: str) -> http.client.HTTPResponse:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", **self.headers}
        if self.form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request("GET" if self.form is None else "POST", target, body=self.form, headers=headers)
        response = connection.getresponse()
        if self.form is not None and response.status != http.client.OK:
            response.close()
            raise FileError(f"It answered {response.status}.")
        return response


class HttpsFetch:
    """`issuers.Fetch` over the network. `development` also allows this machine's own addresses, by http too."""

    def __init__(self, *, development: bool = False) -> None:
        self._development = development

    async def __call__(self, url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """The document's bytes. Raises: PlatformError `fetch.failed`."""
        fetcher = Documents(resolve, development=self._development, form=form, headers=headers or {})

        def read() -> bytes:
            with fetcher.open(url, max_bytes=DOCUMENT_BYTES, deadline=time.monotonic() + SECONDS) as document:
                return document.read()

        try:
            return await asyncio.to_thread(read)
        except FileError as fault:
            raise PlatformError(
                "fetch.failed", f"{urlsplit(url).netloc or 'That address'} could not be fetched from.", str(fault)
            ) from fault
