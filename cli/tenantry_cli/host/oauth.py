"""OAuth 2.1 by authlib, with everything it asks of an application answered from a ledger.

Code grant with PKCE (S256 only), refresh tokens that rotate, dynamic registration (RFC 7591), JWT access tokens
(RFC 9068) whose `aud` is the `resource` that was asked for (RFC 8707: MCP clients always say it), and one grant of our
own: for a person, without a browser (`PersonGrant`), which tests and `platform call --as` use.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from authlib.oauth2 import OAuth2Error, OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationServer, InvalidRequestError, JsonRequest
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, BaseGrant, RefreshTokenGrant, TokenEndpointMixin
from authlib.oauth2.rfc6749.models import ClientMixin
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from starlette.requests import Request
from starlette.responses import Response

from tenantry_cli.host.ledger import KEPT_SECONDS, Grant, Ledger
from tenantry_cli.host.people import Person, found
from tenantry_cli.sign_in import PERSON

CODE_SECONDS = 120  # RFC 6749, section 4.1.2: short-lived
TOKEN_SECONDS = 600  # short enough that refreshing happens while an author watches
DEAD_SECONDS = 60  # how long ago an expired token expired: more than two clocks may differ by
ODD = re.compile(r"[\\@\x00-\x20]")  # in an address: what two readers of it may read differently
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CORS = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*"}


class InvalidTarget(OAuth2Error):
    """RFC 8707, section 2."""

    error = "invalid_target"


class Client(ClientMixin):
    """A public client, by its metadata."""

    def __init__(self, id: str, metadata: Mapping[str, Any]) -> None:
        self.id = id
        self.name: str = str(metadata.get("client_name") or "A client")
        self.redirect_uris = [uri for uri in metadata.get("redirect_uris") or () if isinstance(uri, str)]

    def get_client_id(self) -> str:
        return self.id

    def get_default_redirect_uri(self) -> str | None:
        return self.redirect_uris[0] if self.redirect_uris else None

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Equal to one that it registered; on this machine the port is free to differ (RFC 8252, section 7.3)."""
        return redirect_uri in self.redirect_uris or any(
            portless(redirect_uri) == portless(uri) != "" for uri in self.redirect_uris
        )

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


def portless(uri: str) -> str:
    """A loopback address without its port; "" for any other, and for one that a browser may take to be another: what
    looks like a user's name here may be a host's there, when a backslash stands before the @."""
    if ODD.search(uri):
        return ""
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.hostname).geturl() if parts.hostname in LOOPBACK else ""


class Form(OAuth2Request):
    """A request in authlib's terms. Authlib insists on https; this server is reached over loopback only.

    `agreed` is what the person on the consent page chose.
    """

    def __init__(self, request: Request, form: Mapping[str, str]) -> None:
        super().__init__(request.method, f"https://localhost{request.url.path}", headers=request.headers)
        self._args = dict(request.query_params)
        self._form = dict(form)
        self.payload = BasicOAuth2Payload({**self._args, **self._form})
        self.agreed: dict[str, Any] = {}

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

    def validate_authorization_request(self) -> str:
        redirect_uri: str = super().validate_authorization_request()
        targeted(self.request, redirect_uri)
        return redirect_uri

    def save_authorization_code(self, code: str, request: Any) -> None:
        data = request.payload.data
        self.server.ledger.codes[code] = Grant(
            client_id=request.client.id,
            redirect_uri=request.payload.redirect_uri or "",
            person=request.user,
            resource=data["resource"],
            expires=time.time() + CODE_SECONDS,
            code_challenge=data["code_challenge"],
            code_challenge_method=data["code_challenge_method"],
            **request.agreed,
        )

    def query_authorization_code(self, code: str, client: Client) -> Grant | None:
        grant: Grant | None = self.server.ledger.codes.get(code)
        return grant if grant and grant.client_id == client.id and grant.expires > time.time() else None

    def delete_authorization_code(self, authorization_code: Grant) -> None:
        ledger = self.server.ledger
        ledger.codes = {code: grant for code, grant in ledger.codes.items() if grant is not authorization_code}

    def authenticate_user(self, authorization_code: Grant) -> Person:
        return authorization_code.person


class Refresh(RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Grant | None:
        grant: Grant | None = self.server.ledger.refreshable.get(refresh_token)
        return grant if grant and grant.expires > time.time() else None

    def authenticate_user(self, refresh_token: Grant) -> Person:
        return refresh_token.person

    def revoke_old_credential(self, refresh_token: Grant) -> None:
        self.server.ledger.refreshable.pop(self.request.form["refresh_token"], None)
        self.server.ledger.keep()


class PersonGrant(BaseGrant, TokenEndpointMixin):
    """A token for `person` (a subject or an email), `scope` and `resource`, at once: nobody is asked."""

    GRANT_TYPE = PERSON

    def validate_token_request(self) -> None:
        data = self.request.payload.data
        if not data.get("person"):
            raise InvalidRequestError("Missing 'person' in request.")
        targeted(self.request)
        self.request.client = Client("tests", {})
        self.request.user = found(data["person"], self.server.ledger.people)

    def create_token_response(self) -> Any:
        data = self.request.payload.data
        granted = Grant(
            client_id="tests",
            redirect_uri="",
            scope=self.request.payload.scope or "",
            person=self.request.user,
            resource=data["resource"],
            expires=0,
            expired=data.get("expired") == "true",
            refreshes=False,
        )
        self.server.answering = granted
        self.server.ledger.met(granted.person)
        return 200, self.generate_token(user=granted.person, scope=granted.scope), self.TOKEN_RESPONSE_HEADER


def targeted(request: Any, redirect_uri: str | None = None) -> None:
    """Raises: InvalidTarget where the request names no plugin, or not by an absolute address (RFC 8707)."""
    parts = urlsplit(request.payload.data.get("resource") or "")
    if not parts.scheme or not parts.netloc or parts.fragment:
        text = "Say in 'resource' which plugin the token is for: its MCP address."
        raise InvalidTarget(text, redirect_uri=redirect_uri, state=request.payload.state if redirect_uri else None)


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
        self.server.ledger.clients[info["client_id"]] = metadata
        self.server.ledger.keep()
        return Client(info["client_id"], metadata)


class Tokens(JWTBearerTokenGenerator):
    """Access tokens for the grant that is being answered."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.issuer, "ES256", lambda **_: secrets.token_urlsafe(32), self._lifetime)
        self._server = server

    def __call__(self, *args: Any, include_refresh_token: bool = True, **options: Any) -> dict[str, Any]:
        refreshes = include_refresh_token and self._server.answering.refreshes
        token: dict[str, Any] = super().__call__(*args, include_refresh_token=refreshes, **options)
        return {"scope": "", **token}  # said even where none was granted: left out, it would mean all of them

    def get_jwks(self) -> Any:
        return self._server.ledger.key

    def get_audiences(self, client: Client, user: Person, scope: str) -> str:
        return self._server.answering.resource

    def get_extra_claims(self, client: Client, grant_type: str, user: Person, scope: str) -> dict[str, Any]:
        dead = int(time.time()) - DEAD_SECONDS
        times = {"iat": dead - TOKEN_SECONDS, "exp": dead} if self._server.answering.expired else {}
        return {**user.claims(), **times}

    def _lifetime(self, client: Client, grant_type: str) -> int:
        """Seconds; 0 is not said, so that a client finds out by the plugin's answer."""
        return 0 if self._server.answering.expired else TOKEN_SECONDS


class Server(AuthorizationServer):
    """Authlib's engine on a ledger. One request at a time: `answering` is the grant that a token is made for."""

    answering: Grant

    def __init__(self, issuer: str, ledger: Ledger) -> None:
        super().__init__()
        self.issuer = issuer
        self.ledger = ledger
        self.documented: dict[str, Client] = {}  # clients whose id is the address of their metadata
        self.register_grant(CodeGrant, [OnlyS256(required=True)])
        self.register_grant(Refresh)
        self.register_grant(PersonGrant)
        self.register_endpoint(Registration)
        self.register_token_generator("default", Tokens(self))

    def query_client(self, client_id: str) -> Client | None:
        if client_id in self.documented:
            return self.documented[client_id]
        metadata = self.ledger.clients.get(client_id)
        return Client(client_id, metadata) if metadata is not None else None

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        grant: Grant = request.authorization_code or request.refresh_token
        if "refresh_token" in token:
            kept = replace(grant, expires=time.time() + KEPT_SECONDS, expired=False)
            self.ledger.refreshable[token["refresh_token"]] = kept
            self.ledger.keep()

    def create_oauth2_request(self, request: Any) -> Any:
        return request

    def create_json_request(self, request: Any) -> Any:
        return request

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Authlib announces each step; nobody here listens."""

    def handle_response(self, status: int, body: Any, headers: Any) -> Response:
        text = json.dumps(body) if isinstance(body, dict) else body
        return Response(text, status, headers={**dict(headers), **CORS})
