"""An authorization server for development: real OAuth 2.1 with people who don't exist.

Issuer `http://localhost:PORT/_host/oauth`. `platform dev` puts it in place of the author's own (gateway/standin.py),
so that a plugin is signed in to as ChatGPT would: metadata (RFC 8414), a client by its document (CIMD) or registered
(RFC 7591), PKCE, `resource`, `iss` (RFC 9207), refreshing. The consent page asks what no real server would: who to be,
which scopes to refuse, whether the token is to be a dead one. oauth.py is the protocol, ledger.py the memory,
people.py who there is; here are the endpoints.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from authlib.oauth2 import OAuth2Error
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, Router
from tenantry_registry.errors import PlatformError
from tenantry_registry.issuers import Fetch

from tenantry_cli.host.ledger import Ledger
from tenantry_cli.host.oauth import CORS, LOOPBACK, Body, Client, Form, Server
from tenantry_cli.host.pages import SIGN_IN_POLICY, Pages, foreign
from tenantry_cli.host.people import Person, person
from tenantry_cli.sign_in import PERSON

SOMEBODY_ELSE = "new"  # of the consent page's choice of people
NO_ADDRESS = "What it calls an address is none."
DOCUMENT = "It must be JSON with its own address as client_id, and a list of redirect_uris."


class Authorization:
    """The endpoints. The issuer is known from the first request's address, since the port is.

    `title(resource)` names a plugin by its MCP address; `fetch` reads the metadata documents of clients.
    """

    def __init__(
        self,
        pages: Pages,
        prefix: str,
        *,
        ledger: Ledger | None = None,
        title: Callable[[str], str] = lambda resource: "",
        fetch: Fetch | None = None,
    ) -> None:
        self._pages = pages
        self._prefix = prefix
        self._ledger = ledger or Ledger()
        self._title = title
        self._fetch = fetch
        self._servers: dict[str, Server] = {}
        self.app = Router(self._routes())

    def _routes(self) -> list[BaseRoute]:
        return [
            Route("/.well-known/oauth-authorization-server", self.metadata),
            Route("/jwks", self.jwks),
            Route("/register", self.register, methods=["POST", "OPTIONS"]),
            Route("/authorize", self.authorize, methods=["GET", "POST"]),
            Route("/token", self.token, methods=["POST", "OPTIONS"]),
        ]

    async def metadata(self, request: Request) -> Response:
        """RFC 8414."""
        issuer = self._server(request).issuer
        return JSONResponse(
            {
                "issuer": issuer,
                "authorization_endpoint": f"{issuer}/authorize",
                "token_endpoint": f"{issuer}/token",
                "registration_endpoint": f"{issuer}/register",
                "client_id_metadata_document_supported": True,
                "jwks_uri": f"{issuer}/jwks",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token", PERSON],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            },
            headers=CORS,
        )

    async def jwks(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._ledger.key.as_dict(private=False)]}, headers=CORS)

    async def register(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=CORS)
        try:
            data = await request.json()
        except ValueError:
            data = None
        uris = data.get("redirect_uris") if isinstance(data, dict) else None
        if isinstance(uris, list) and not all(isinstance(uri, str) for uri in uris):  # authlib takes them for text
            return JSONResponse({"error": "invalid_redirect_uri"}, 400, headers=CORS)
        response: Response = self._server(request).create_endpoint_response("client_registration", Body(request, data))
        return response

    async def token(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=CORS)
        server, form = self._server(request), texts(await request.form())
        if form.get("grant_type") == PERSON and foreign(request):
            return PlainTextResponse("No other web site signs people in here.\n", 403)
        try:
            await self._meet(server, form.get("client_id", ""), anew=False)
        except PlatformError:
            return JSONResponse({"error": "invalid_client"}, 400, headers=CORS)
        ledger = self._ledger
        grant = ledger.codes.get(form.get("code", "")) or ledger.refreshable.get(form.get("refresh_token", ""))
        if grant:
            server.answering = grant
        asked = form.get("resource")
        if grant and asked and asked != grant.resource:
            return JSONResponse({"error": "invalid_target"}, 400, headers=CORS)
        try:
            response: Response = server.create_token_response(Form(request, form))
        except ValueError:
            return JSONResponse({"error": "invalid_request"}, 400, headers=CORS)
        return response

    async def authorize(self, request: Request) -> Response:
        """GET: who do you want to be? POST: the answer."""
        if request.method == "POST" and foreign(request):
            return PlainTextResponse("No other web site signs people in here.\n", 403)
        server, asked = self._server(request), Form(request, {})
        try:
            await self._meet(server, request.query_params.get("client_id", ""), anew=request.method == "GET")
            grant = server.get_consent_grant(asked)
        except PlatformError as error:
            return self._stopped(f"{error.message} {error.hint}")
        except OAuth2Error as error:
            if getattr(error, "redirect_uri", None):
                failed: Response = server.handle_error_response(asked, error)
                return self._with_issuer(failed, server)
            return self._stopped(error.description or error.error)
        except ValueError:  # of urllib, and of authlib, which repeats what it was given in its own errors
            return self._stopped(NO_ADDRESS)
        if request.method == "GET":
            return self._choose(grant.client, asked, request)
        answer = await request.form()
        who = self._chosen(texts(answer))
        if who is not None:
            self._ledger.met(who)
        wanted = (asked.payload.scope or "").split()
        asked.agreed = {
            "scope": " ".join(scope for scope in wanted if scope in answer.getlist("scope")),
            "expired": "expired" in answer,
            "refreshes": "once" not in answer,
        }
        response: Response = server.create_authorization_response(asked, grant_user=who, grant=grant)
        return self._with_issuer(response, server)

    def _chosen(self, answer: dict[str, str]) -> Person | None:
        """Who was chosen; None: nobody, the person said no."""
        if "deny" in answer:
            return None
        if answer.get("person") == SOMEBODY_ELSE:
            return person(answer.get("subject", ""), answer.get("email", ""), answer.get("name", ""))
        return next((one for one in self._ledger.people if one.id == answer.get("person")), None)

    def _choose(self, client: Client, asked: Form, request: Request) -> Response:
        fill, resource = self._pages.fill, asked.payload.data["resource"]
        people = "".join(
            fill(
                "sign-in-person.html",
                id=html.escape(one.id),
                initials=html.escape(one.initials),
                title=html.escape(one.title),
                told=html.escape(one.told),
                checked="checked" if one is self._ledger.people[0] else "",
            )
            for one in self._ledger.people
        )
        scopes = [fill("sign-in-scope.html", scope=html.escape(one)) for one in (asked.payload.scope or "").split()]
        page = fill(
            "sign-in.html",
            client=html.escape(client.name),
            plugin=html.escape(self._title(resource) or urlsplit(resource).netloc),
            resource=html.escape(resource),
            action=html.escape(f"{self._prefix}/authorize?{urlencode(list(request.query_params.multi_items()))}"),
            people=people,
            scopes="".join(scopes) or self._pages.read("sign-in-no-scope.html"),
        )
        return HTMLResponse(page, headers=self._headers())

    async def _meet(self, server: Server, client_id: str, *, anew: bool) -> None:
        """Read the metadata document of a client whose id is its address (SEP-991). Raises: PlatformError
        `oauth.client`."""
        try:
            parts = urlsplit(client_id)
        except ValueError:
            raise unusable(client_id, NO_ADDRESS) from None
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            return
        if not anew and client_id in server.documented:
            return
        try:
            document: Any = json.loads(await self._reader()(client_id))
            uris = document["redirect_uris"]
            if document["client_id"] != client_id or not isinstance(uris, list):
                raise ValueError
        except PlatformError as error:
            raise unusable(client_id, error.hint) from error
        except (ValueError, KeyError, TypeError):
            raise unusable(client_id, DOCUMENT) from None
        server.documented[client_id] = Client(client_id, document)

    def _reader(self) -> Fetch:
        if self._fetch is None:
            from tenantry_registry.fetch import HttpsFetch

            self._fetch = HttpsFetch(development=True)
        return self._fetch

    def _stopped(self, why: str) -> Response:
        page = self._pages.fill("sign-in-error.html", error=html.escape(why))
        return HTMLResponse(page, 400, headers=self._headers())

    def _headers(self) -> dict[str, str]:
        return {"Content-Security-Policy": SIGN_IN_POLICY, "Cache-Control": "no-store"}

    def _with_issuer(self, response: Response, server: Server) -> Response:
        location = response.headers.get("location")
        if location:  # RFC 9207
            joint = "&" if "?" in location else "?"
            response.headers["location"] = f"{location}{joint}{urlencode({'iss': server.issuer})}"
        return response

    def _server(self, request: Request) -> Server:
        issuer = f"{request.url.scheme}://{request.url.netloc}{self._prefix}"
        if issuer not in self._servers:
            self._servers[issuer] = Server(issuer, self._ledger)
        return self._servers[issuer]


def texts(form: FormData) -> dict[str, str]:
    """The last text of each name."""
    return {name: value for name, value in form.items() if isinstance(value, str)}


def unusable(client_id: str, why: str) -> PlatformError:
    return PlatformError("oauth.client", f"The client's document at {client_id} can't be used.", why)
