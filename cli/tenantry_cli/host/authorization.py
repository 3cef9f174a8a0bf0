"""An authorization server for development: real OAuth 2.1 with people who don't exist.

Issuer `http://localhost:PORT/_host/oauth`. Authlib does the protocol: code grant with PKCE (S256 only), refresh tokens
that rotate, dynamic registration (RFC 7591), JWT access tokens (RFC 9068) whose `aud` is the `resource` asked for
(RFC 8707), the `iss` of RFC 9207, metadata (RFC 8414). Keys, clients and tokens live as long as the process. A plugin
in development points its resource server here instead of at the author's issuer.
"""

from __future__ import annotations

import html
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from authlib.oauth2 import OAuth2Error, OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationServer, InvalidRequestError, JsonRequest
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, RefreshTokenGrant
from authlib.oauth2.rfc6749.models import AuthorizationCodeMixin, ClientMixin, TokenMixin
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from joserfc.jwk import ECKey
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route, Router

from tenantry_cli.host.pages import SIGN_IN_POLICY, Pages

CODE_SECONDS = 120  # RFC 6749, section 4.1.2: short-lived
TOKEN_SECONDS = 600  # short enough that refreshing happens while an author watches
CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody to sign in as."""

    id: str
    name: str
    email: str

    def get_user_id(self) -> str:
        return self.id


PEOPLE = {
    person.id: person
    for person in (
        Person("user-ada", "Ada Example", "ada@people.example"),
        Person("user-ben", "Ben Example", "ben@people.example"),
    )
}


class Client(ClientMixin):
    """A registered public client."""

    def __init__(self, info: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        self.id: str = info["client_id"]
        self.name: str = metadata.get("client_name") or "A client"
        self.redirect_uris: list[str] = list(metadata.get("redirect_uris") or [])

    def get_client_id(self) -> str:
        return self.id

    def get_default_redirect_uri(self) -> str | None:
        return self.redirect_uris[0] if self.redirect_uris else None

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirect_uris

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


@dataclass(slots=True)
class Grant(AuthorizationCodeMixin, TokenMixin):
    """What a person agreed to: behind a code, then behind a refresh token."""

    client_id: str
    redirect_uri: str
    scope: str
    person: Person
    resource: str
    code_challenge: str
    code_challenge_method: str
    expires: float

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def check_client(self, client: Client) -> bool:
        return self.client_id == client.id


class Form(OAuth2Request):
    """A request in authlib's terms. Authlib insists on https; this server is reached over loopback only."""

    def __init__(self, request: Request, form: Mapping[str, str]) -> None:
        super().__init__(request.method, f"https://localhost{request.url.path}", headers=request.headers)
        self._args = dict(request.query_params)
        self._form = dict(form)
        self.payload = BasicOAuth2Payload({**self._args, **self._form})

    @property
    def args(self) -> dict[str, str]:
        return self._args

    @property
    def form(self) -> dict[str, str]:
        return self._form


class Body(JsonRequest):
    """A JSON request in authlib's terms."""

    def __init__(self, request: Request, data: Any) -> None:
        super().__init__(request.method, f"https://localhost{request.url.path}", headers=request.headers)
        self.payload = BasicOAuth2Payload(data if isinstance(data, dict) else {})


class OnlyS256(CodeChallenge):
    """PKCE as OAuth 2.1 has it: always there, always S256."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE with 'S256' is required", redirect_uri=redirect_uri)
        super().validate_code_challenge(grant, redirect_uri)


class CodeGrant(AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def save_authorization_code(self, code: str, request: Any) -> None:
        data = request.payload.data
        self.server.codes[code] = Grant(
            client_id=request.client.id,
            redirect_uri=request.payload.redirect_uri or "",
            scope=request.payload.scope or "",
            person=request.user,
            resource=data.get("resource", ""),
            code_challenge=data["code_challenge"],
            code_challenge_method=data["code_challenge_method"],
            expires=time.time() + CODE_SECONDS,
        )

    def query_authorization_code(self, code: str, client: Client) -> Grant | None:
        grant: Grant | None = self.server.codes.get(code)
        return grant if grant and grant.client_id == client.id and grant.expires > time.time() else None

    def delete_authorization_code(self, authorization_code: Grant) -> None:
        self.server.codes = {c: g for c, g in self.server.codes.items() if g is not authorization_code}

    def authenticate_user(self, authorization_code: Grant) -> Person:
        return authorization_code.person


class Refresh(RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Grant | None:
        grant: Grant | None = self.server.refreshable.get(refresh_token)
        return grant

    def authenticate_user(self, refresh_token: Grant) -> Person:
        return refresh_token.person

    def revoke_old_credential(self, refresh_token: Grant) -> None:
        self.server.refreshable.pop(self.request.form["refresh_token"], None)


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, request: Any) -> bool:
        return True  # open registration, as MCP clients expect of a server that has it

    def get_server_metadata(self) -> dict[str, Any]:
        return {}

    def generate_client_info(self, request: Any) -> dict[str, Any]:
        return {**super().generate_client_info(request), "token_endpoint_auth_method": "none"}

    def generate_client_secret(self, request: Any) -> str:
        return ""  # public clients only

    def save_client(self, info: dict[str, Any], metadata: dict[str, Any], request: Any) -> Client:
        client = Client(info, metadata)
        self.server.clients[client.id] = client
        return client


class Tokens(JWTBearerTokenGenerator):
    """Access tokens for the resource of the grant at hand."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.issuer, "ES256", self._refresh_token, lambda client, grant_type: TOKEN_SECONDS)
        self._server = server

    def get_jwks(self) -> Any:
        return self._server.key

    def get_audiences(self, client: Client, user: Person, scope: str) -> str:
        return self._server.resource or client.id

    def get_extra_claims(self, client: Client, grant_type: str, user: Person, scope: str) -> dict[str, str]:
        return {"name": user.name, "email": user.email}

    def _refresh_token(self, **_: Any) -> str:
        return secrets.token_urlsafe(32)


class Server(AuthorizationServer):
    """Authlib's engine with everything in memory. One request at a time: `resource` is the one being answered."""

    def __init__(self, issuer: str, key: ECKey) -> None:
        super().__init__()
        self.issuer = issuer
        self.key = key
        self.clients: dict[str, Client] = {}
        self.codes: dict[str, Grant] = {}
        self.refreshable: dict[str, Grant] = {}
        self.resource = ""
        self.register_grant(CodeGrant, [OnlyS256(required=True)])
        self.register_grant(Refresh)
        self.register_endpoint(Registration)
        self.register_token_generator("default", Tokens(self))

    def query_client(self, client_id: str) -> Client | None:
        return self.clients.get(client_id)

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        self.refreshable[token["refresh_token"]] = request.authorization_code or request.refresh_token

    def create_oauth2_request(self, request: Any) -> Any:
        return request

    def create_json_request(self, request: Any) -> Any:
        return request

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Authlib announces each step; nobody here listens."""

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        text = json.dumps(body) if isinstance(body, dict) else body
        return Response(text, status, headers={**dict(headers), **CORS})


class Authorization:
    """The endpoints. The issuer is known from the first request's address, since the port is."""

    def __init__(self, pages: Pages, prefix: str) -> None:
        self._pages = pages
        self._prefix = prefix
        self.app = Router(self._routes())
        self._key = ECKey.generate_key("P-256", {"use": "sig"}, auto_kid=True)
        self._servers: dict[str, Server] = {}

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
                "jwks_uri": f"{issuer}/jwks",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            },
            headers=CORS,
        )

    async def jwks(self, _: Request) -> Response:
        return JSONResponse({"keys": [self._key.as_dict(private=False)]}, headers=CORS)

    async def register(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=CORS)
        body = Body(request, await request.json())
        response: Response = self._server(request).create_endpoint_response("client_registration", body)
        return response

    async def token(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=CORS)
        server = self._server(request)
        form = await _form(request)
        grant = server.codes.get(form.get("code", "")) or server.refreshable.get(form.get("refresh_token", ""))
        server.resource = grant.resource if grant else ""
        response: Response = server.create_token_response(Form(request, form))
        return response

    async def authorize(self, request: Request) -> Response:
        """GET: who do you want to be? POST: the answer (`person`, or none: denied)."""
        server = self._server(request)
        answer = await _form(request) if request.method == "POST" else {}
        asked = Form(request, {})
        try:
            grant = server.get_consent_grant(asked)
        except OAuth2Error as error:
            if getattr(error, "redirect_uri", None):
                failed: Response = server.handle_error_response(asked, error)
                return self._with_issuer(failed, server)
            return HTMLResponse(
                self._pages.fill("sign-in-error.html", error=html.escape(str(error))), 400, headers=self._headers()
            )
        if request.method == "GET":
            return self._choose(grant.client, asked, request)
        person = PEOPLE.get(answer.get("person", ""))
        response: Response = server.create_authorization_response(asked, grant_user=person, grant=grant)
        return self._with_issuer(response, server)

    def _choose(self, client: Client, asked: Form, request: Request) -> Response:
        people = "".join(
            self._pages.fill("sign-in-person.html", id=p.id, name=html.escape(p.name), email=html.escape(p.email))
            for p in PEOPLE.values()
        )
        page = self._pages.fill(
            "sign-in.html",
            client=html.escape(client.name),
            resource=html.escape(asked.payload.data.get("resource", "")),
            scope=html.escape(asked.payload.scope or "nothing in particular"),
            action=html.escape(f"{self._prefix}/authorize?{urlencode(list(request.query_params.multi_items()))}"),
            people=people,
        )
        return HTMLResponse(page, headers=self._headers())

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
        return self._servers.setdefault(issuer, Server(issuer, self._key))


async def _form(request: Request) -> dict[str, str]:
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
