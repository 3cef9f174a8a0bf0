"""The wire: bytes to a message, a message's answer to bytes, and every refusal in between.

Any bytes in give a `Message` or a `Refusal`; a refusal is a JSON-RPC error with the HTTP status that the message's
era asks for (the table of the 2026-07-28 transport; earlier revisions put protocol errors into a 200). Nothing here
knows a plugin.

The order of checks on a stateless request is the specification's: envelope, repeated headers, `_meta`, headers
against the body, version. Whether a method exists is decided later, by the table in methods.py.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tenantry_registry.runner_wire import STRICT

from tenantry_gateway.request import JSON_TYPE, SSE_TYPE, Request, Response
from tenantry_gateway.revisions import (
    ALL,
    ASSUMED,
    BATCHING,
    CAPABILITIES_KEY,
    HANDSHAKE,
    HANDSHAKE_REVISIONS,
    STATELESS,
    STATELESS_REVISIONS,
    VERSION_KEY,
)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002  # handshake era only; a stateless server says INVALID_PARAMS
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

STATELESS_STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

BATCH_MOST: Final = 50  # messages in one array: a bound on what one request may cost
ID_CHARACTERS: Final = 1024  # of a request's id, which is echoed
DEPTH: Final = 200  # levels of nesting in a body; what is deeper can't be walked without recursion trouble

NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # what Mcp-Name repeats
ROUTING: Final = ("mcp-protocol-version", "mcp-method", "mcp-name")
SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=")

Id = str | int | None


class Refusal(Exception):
    """A JSON-RPC error. `status` is the HTTP status, or None: as the era's table says."""

    def __init__(self, code: int, message: str, data: Any = None, *, status: int | None = None, id: Id = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.status = status
        self.id = id


class Message(NamedTuple):
    """One request, notification (`id` is None) or posted response (`method` is empty, `params` the whole message)."""

    method: str
    params: dict[str, Any]
    id: Id = None
    era: str = HANDSHAKE
    revision: str = ASSUMED

    @property
    def meta(self) -> dict[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


class Incoming(NamedTuple):
    """A body as read: its messages, and whether they came as an array. A broken member of an array is a Refusal."""

    messages: list[Message | Refusal]
    batch: bool = False


def read(request: Request, noted: str | None = None) -> Incoming:
    """Read a POST. `noted` is the revision from the session's note, where there is one.

    Raises: Refusal, whatever the bytes are.
    """
    body = parse(request.body)
    header = request.headers.get("mcp-protocol-version")
    if is_stateless(body, header):
        return Incoming([stateless(request, body)])
    if header is not None and header not in HANDSHAKE_REVISIONS and not is_initialize(body):
        raise Refusal(
            UNSUPPORTED_VERSION,
            "This protocol version is not supported.",
            {"supported": list(ALL), "requested": header[:64]},
            status=400,
            id=id_of(body),
        )
    revision = header if header in HANDSHAKE_REVISIONS else noted or ASSUMED
    if isinstance(body, list):
        if revision != BATCHING:
            raise Refusal(INVALID_REQUEST, f"Revision {revision} has no arrays: send one message.", status=400)
        if not 0 < len(body) <= BATCH_MOST:
            raise Refusal(INVALID_REQUEST, f"An array holds 1 to {BATCH_MOST} messages.", status=400)
        return Incoming([member(item, revision) for item in body], batch=True)
    return Incoming([handshake(body, revision)])


def parse(data: bytes) -> Any:
    """JSON as RFC 8259 has it: no NaN, no infinity (1e999 neither), bounded depth. Raises: Refusal."""
    try:
        value = STRICT.decode(data.decode(json.detect_encoding(data), "surrogatepass"))  # as json.loads has it
    except (ValueError, RecursionError):
        raise Refusal(PARSE_ERROR, "The body is not JSON.", status=400) from None
    if data.count(b"{") + data.count(b"[") > DEPTH and too_deep(value):
        raise Refusal(PARSE_ERROR, f"The body is nested deeper than {DEPTH} levels.", status=400)
    return value


def too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(v for v in item.values() if isinstance(v, (dict, list)))
            elif isinstance(item, list):
                below.extend(v for v in item if isinstance(v, (dict, list)))
        if not below:
            return False
        level = below
    return True


def is_stateless(body: Any, header: str | None) -> bool:
    """Whether the request belongs to the stateless era: by its header, else by the body's own `_meta`."""
    if header in STATELESS_REVISIONS:
        return True
    if not isinstance(body, dict):
        return False
    params = body.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return (isinstance(meta, dict) and VERSION_KEY in meta) or body.get("method") == "server/discover"


def is_initialize(body: Any) -> bool:
    return isinstance(body, dict) and body.get("method") == "initialize"


def id_of(body: Any) -> Id:
    """The id to echo where the message itself is refused, when it has one that may be echoed."""
    value = body.get("id") if isinstance(body, dict) else None
    return value if is_id(value) else None


def is_id(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= ID_CHARACTERS
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def envelope(body: Any) -> tuple[str, dict[str, Any], Id]:
    """The JSON-RPC envelope of a request or notification. Raises: Refusal."""
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise Refusal(
            INVALID_REQUEST, "The body must be one JSON-RPC request or notification.", status=400, id=id_of(body)
        )
    if "id" in body and not is_id(body["id"]):
        raise Refusal(INVALID_REQUEST, "An id is a string or an integer.", status=400)
    params = body.get("params")
    if params is not None and not isinstance(params, dict):
        raise Refusal(INVALID_PARAMS, "params must be an object.", status=400, id=body.get("id"))
    return body["method"], params or {}, body.get("id")


def handshake(body: Any, revision: str) -> Message:
    """A message of the handshake era: request, notification, or the client's response to a request of ours."""
    if isinstance(body, dict) and body.get("jsonrpc") == "2.0" and "method" not in body:
        answered = is_id(body.get("id")) and ("result" in body) != ("error" in body)
        if answered:
            return Message("", body, body["id"], HANDSHAKE, revision)
    method, params, id = envelope(body)
    return Message(method, params, id, HANDSHAKE, revision)


def member(body: Any, revision: str) -> Message | Refusal:
    """One member of an array; `initialize` may not be one (2025-03-26, Lifecycle)."""
    try:
        message = handshake(body, revision)
    except Refusal as refusal:
        return refusal
    if message.method == "initialize":
        return Refusal(INVALID_REQUEST, "initialize must not be part of an array.", id=message.id)
    return message


def stateless(request: Request, body: Any) -> Message:
    """A message of the stateless era, its headers checked against it. Raises: Refusal."""
    method, params, id = envelope(body)
    header = request.headers.get("mcp-protocol-version")
    if id is None:
        if header is not None and header not in STATELESS_REVISIONS:
            raise unsupported(header, None)
        return Message(method, params, None, STATELESS, header or STATELESS_REVISIONS[0])
    for name in ROUTING:
        if name in request.repeated:
            raise mismatch(f"The header {name} came more than once.", id)
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        raise Refusal(INVALID_PARAMS, "params._meta is missing.", status=400, id=id)
    version, capabilities = meta.get(VERSION_KEY), meta.get(CAPABILITIES_KEY)
    for key, good in ((VERSION_KEY, isinstance(version, str)), (CAPABILITIES_KEY, isinstance(capabilities, dict))):
        if not good:
            raise Refusal(INVALID_PARAMS, f"params._meta needs {key}.", status=400, id=id)
    if header != version:
        raise mismatch("MCP-Protocol-Version must repeat the protocol version of params._meta.", id)
    if request.headers.get("mcp-method") != method:
        raise mismatch("Mcp-Method must repeat the request's method.", id)
    named = NAMED.get(method)
    if named is not None:
        value = params.get(named)
        sent = decode_header(request.headers.get("mcp-name"))
        if isinstance(value, str) and sent != value:
            raise mismatch(f"Mcp-Name must repeat params.{named}.", id)
    if version not in STATELESS_REVISIONS:
        raise unsupported(str(version), id)
    return Message(method, params, id, STATELESS, str(version))


def unsupported(requested: str, id: Id) -> Refusal:
    return Refusal(
        UNSUPPORTED_VERSION,
        "This protocol version is not supported.",
        {"supported": list(ALL), "requested": requested[:64]},
        status=400,
        id=id,
    )


def mismatch(message: str, id: Id = None) -> Refusal:
    return Refusal(HEADER_MISMATCH, message, status=400, id=id)


def decode_header(value: str | None) -> str | None:
    """A header's value without its base64 sentinel; None where it is absent or its sentinel is malformed."""
    if value is None:
        return None
    found = SENTINEL.fullmatch(value)
    if found is None:
        return value
    try:
        raw = base64.b64decode(found[1], validate=True)
        text = raw.decode()
    except (binascii.Error, ValueError):
        return None
    return text if base64.b64encode(raw).decode() == found[1] else None


# --- out ---


def dump(value: Any) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate, which UTF-8 can't carry, leaves as its escape."""
    text = WRITER.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


WRITER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def dump_id(id: Id) -> bytes:
    return str(id).encode() if isinstance(id, int) else dump(id)


def success(id: Id, result: bytes) -> bytes:
    """A JSON-RPC response around a result that is already JSON."""
    return b'{"jsonrpc":"2.0","id":' + dump_id(id) + b',"result":' + result + b"}"


def failure(refusal: Refusal, id: Id) -> bytes:
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        error["data"] = refusal.data
    return dump({"jsonrpc": "2.0", "id": id, "error": error})


def status_of(refusal: Refusal, era: str) -> int:
    if refusal.status is not None:
        return refusal.status
    return STATELESS_STATUS.get(refusal.code, 200) if era == STATELESS else 200


def event(data: bytes, *, id: str = "", retry: int | None = None) -> bytes:
    """One server-sent event; `retry` in milliseconds."""
    lines = [b"event: message"] if data else []
    if id:
        lines.append(b"id: " + id.encode())
    if retry is not None:
        lines.append(b"retry: %d" % retry)
    lines.append(b"data: " + data)
    return b"\n".join(lines) + b"\n\n"


def refuse(refusal: Refusal, era: str = HANDSHAKE) -> Response:
    """A whole HTTP answer for a body that could not be read."""
    return Response(status_of(refusal, era), failure(refusal, refusal.id), JSON_TYPE)


def accepts(request: Request) -> tuple[bool, bool]:
    """Whether the client takes (JSON, an event stream). No Accept header takes both."""
    accept = request.headers.get("accept", "*/*").lower()
    kinds = {part.partition(";")[0].strip() for part in accept.split(",")}
    everything = "*/*" in kinds
    return (
        everything or JSON_TYPE in kinds or "application/*" in kinds,
        everything or SSE_TYPE in kinds or "text/*" in kinds,
    )
