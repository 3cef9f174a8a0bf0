"""How a refusal is said over HTTP: `{"code", "message", "hint"}` and a status that follows from the code.

This is the control plane's border: PlatformError becomes a response here and nowhere else.
"""

from __future__ import annotations

import logging
import secrets
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from tenantry_registry.errors import PlatformError
from tenantry_registry.tokens import SCOPES

log = logging.getLogger("tenantry.control")

# A code's status; where it has no row, that of its last word; where that has none either, 422: understood and refused.
STATUS = {
    "access.denied": 403,
    "auth.issuer-unavailable": 503,
    "objects.conflict": 409,
    "objects.unavailable": 503,
    "plan.plugins": 409,
    "plan.unknown": 422,
    "registry.deleted": 410,
    "registry.no-release": 404,
    "registry.pruning": 409,
    "registry.suspended": 403,
    "registry.yanked": 409,
    "secret.too-many": 409,
    "tenant.deleted": 409,
    "tenant.not-due": 409,
    "tenant.suspended": 403,
    "tenant.taken": 409,
    "token.refused": 401,
    "upload.missing": 409,
}
LAST_WORD = {"unknown": 404}
# Fields whose form has a name of its own: what is wrong is said as the domain says it, not as a pattern. A hint may
# name the tenant and the plugin of the path.
WORDED = {
    "slug": ("name.tenant", "a tenant name", "Use 2 to 20 of a-z and 0-9."),
    "tenant": ("name.tenant", "a tenant name", "Use 2 to 20 of a-z and 0-9."),
    "plugin": (
        "name.plugin",
        "a plugin name",
        "Use a-z, 0-9 and single hyphens; begin and end with a letter or digit.",
    ),
    "secret": ("secret.name", "a secret's name", "Use A-Z, 0-9 and underscores, like ZOO_KEY."),
    "scopes": ("token.scope", "a scope", f"Scopes: {', '.join(SCOPES)}."),
    "token_id": ("token.unknown", "a token's id", "See: platform tokens list {tenant}"),
    "file_id": ("file.unknown", "a file's id", "See: platform files list {tenant}/{plugin}"),
    "digest": ("registry.no-release", "a release", "Give at least 12 digits of its digest."),
    "job_id": ("publish.unknown", "a publish", "Start one."),
}


class Problem(BaseModel):
    """A refusal: a stable code, a sentence, what to do next."""

    code: str
    message: str
    hint: str = ""
    findings: list[dict[str, Any]] = []


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "The request is not one",
        401: "No token, or one that is not accepted",
        403: "Not allowed",
        404: "There is no such thing",
        405: "Not with this method",
        409: "Not now: something else stands in the way",
        410: "Deleted for good",
        422: "Understood and refused",
        503: "Storage or an issuer does not answer; retry",
    }.items()
}


def status(code: str) -> int:
    """The HTTP status of an error's code."""
    return STATUS.get(code) or LAST_WORD.get(code.rpartition(".")[2]) or 422


def response(code: str, message: str, hint: str = "", *, at: int = 0) -> JSONResponse:
    """A refusal as a response; `at` overrides the status that follows from the code."""
    number = at or status(code)
    headers = {"Cache-Control": "no-store"}
    if number == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="tenantry"'
    if number == 503:
        headers["Retry-After"] = "5"
    return JSONResponse({"code": code, "message": message, "hint": hint, "findings": []}, number, headers)


def install(app: FastAPI) -> None:
    """Let every refusal and every fault of `app` leave in this form."""

    @app.exception_handler(PlatformError)
    async def refused(request: Request, error: PlatformError) -> JSONResponse:
        return response(error.code, error.message, error.hint)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        names = [part for part in first["loc"] if isinstance(part, str)]
        if names[-1] in WORDED and first["type"] in ("string_pattern_mismatch", "literal_error"):
            code, what, hint = WORDED[names[-1]]
            path = {"tenant": "", "plugin": "", **request.path_params}
            return response(code, f"{str(first['input'])[:80]!r} is not {what}.", hint.format_map(path).rstrip())
        where = ".".join(str(part) for part in first["loc"][1:]) or "The body"
        return response("request.invalid", f"{where}: {first['msg']}.", "See the API's description: /v1/openapi.json")

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        codes = {404: "request.unknown", 405: "request.method"}
        answer = response(codes.get(error.status_code, "request.invalid"), f"{error.detail}.", at=error.status_code)
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> JSONResponse:
        error_id = secrets.token_hex(8)
        log.error("request failed", extra={"error_id": error_id}, exc_info=error)
        return response("internal", f"Something went wrong here (error {error_id}).", "Retry; then report it.", at=500)
