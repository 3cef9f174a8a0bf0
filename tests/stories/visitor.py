"""A visitor: the official client's own OAuth flow, and a person in a browser on its consent pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.oauth2 import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from stories.served import consent

BACK = "http://localhost:1/back"


class Storage:
    """What a client keeps between two runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


class Visitor:
    """One user of the plugin at `url`.

    `browser` makes an HTTP client that reaches everybody; `document` is the address of the client's metadata, where
    it is known by one. `answers` are the consent page's answers, one a visit, the last again and again; `asked` are
    the addresses that the client opened in the browser.
    """

    def __init__(
        self, url: str, *, browser: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient, document: str | None = None
    ) -> None:
        self.url, self.browser, self.document = url, browser, document
        self.storage = Storage()
        self.answers: list[dict[str, Any]] = [{}]
        self.asked: list[dict[str, str]] = []
        self.sent_back = AuthorizationCodeResult(code="", state=None, iss=None)

    async def sign_in(self, url: str) -> None:
        """The person opens the page, answers, and is sent back."""
        self.asked.append({key: values[0] for key, values in parse_qs(urlsplit(url).query).items()})
        async with self.browser() as browser:
            page = await browser.get(url)
            assert page.status_code == 200, page.text
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            action, form = consent(url, page.text, **answer)
            answered = await browser.post(action, data=form)
        query = {key: values[0] for key, values in parse_qs(urlsplit(answered.headers["location"]).query).items()}
        self.sent_back = AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query["iss"])

    async def back(self) -> AuthorizationCodeResult:
        return self.sent_back

    @asynccontextmanager
    async def client(self, mode: Any = "auto") -> AsyncIterator[Client]:
        metadata = OAuthClientMetadata(client_name="Stories", redirect_uris=[BACK], token_endpoint_auth_method="none")
        auth = OAuthClientProvider(
            self.url,
            metadata,
            self.storage,
            redirect_handler=self.sign_in,
            callback_handler=self.back,
            client_metadata_url=self.document,
        )
        async with (
            self.browser(auth=auth) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client
