"""The reply as bytes, within Lambda's cap."""

import json
from typing import Any

from tenantry_sandbox import PROTOCOL
from tenantry_sandbox.session import Session

REPLY_BYTES = 6_291_556  # of a synchronous invocation's response (AWS: Lambda quotas); measured as Lambda encodes it
WHOLE_BYTES = 20_971_520  # of one that goes through an upload; the platform reads no larger one
JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
BESIDE_OVERFLOW = ("stdout", "stderr", "truncated", "ms", "cold", "seq")


def encode(reply: dict[str, Any]) -> bytes:
    """JSON exactly as Lambda's runtime for Python 3.13 writes it; lone surrogates, which UTF-8 can't hold, become "?".

    Raises: TypeError, ValueError for what JSON cannot say.
    """
    return JSON.encode(reply).encode("utf-8", "replace")


def fit(reply: dict[str, Any], session: Session) -> bytes:
    """Encode the reply; one that is too large is put into a free upload slot and its place is told instead."""
    data = encode(reply)
    if len(data) <= REPLY_BYTES:
        return data
    beside = {key: reply[key] for key in BESIDE_OVERFLOW if key in reply}
    if len(data) > WHOLE_BYTES:
        message = f"The reply is {len(data):,} bytes; {WHOLE_BYTES:,} is the most that a result may have."
        return encode({"protocol": PROTOCOL, "error": too_large(message), **beside})
    upload = session.free_upload()
    if upload is None:
        message = f"The reply is {len(data):,} bytes; {REPLY_BYTES:,} can be returned and no upload was given for more."
        return encode({"protocol": PROTOCOL, "error": too_large(message), **beside})
    try:
        session.put(upload, data, "application/json")
    except OSError:
        message = f"The reply is {len(data):,} bytes, more than can be returned, and storage did not take it."
        return encode({"protocol": PROTOCOL, "error": too_large(message), **beside})
    return encode({"protocol": PROTOCOL, "overflow": {"id": upload["id"], "size": len(data)}, **beside})


def too_large(message: str) -> dict[str, Any]:
    """The `error` of a reply that could not be returned."""
    return {"code": "sandbox.too-large", "message": message, "hint": "Return less, or save it with ctx.files.save."}
