"""The payload governor: whatever a tool returns, what leaves fits into one Lambda response.

Lambda counts the serialised payload, in which the body is a JSON string: quotes and backslashes count twice, and
what is not ASCII may count six times (the runtime client escapes it). `weigh` measures that. What is too heavy is
put into a file and replaced by a link and a sentence for the model, heaviest first: text, images and sound, then
`_meta`; structured data that does not fit can't be cut without breaking its schema, so it becomes a clear error.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tenantry_gateway.wire import dump

PAYLOAD_BYTES: Final = 6_291_556  # Lambda's cap on a synchronous response (AWS, Lambda quotas)
ENVELOPE_BYTES: Final = 32_768  # headers, JSON-RPC frame, what the front door adds
ROOM: Final = PAYLOAD_BYTES - ENVELOPE_BYTES
LEAST_BYTES: Final = 8_192  # a block below this is not worth a file
PREVIEW_CHARACTERS: Final = 2_000  # of a long text that stay for the model

Offload = Callable[[bytes, str, str], Awaitable[Mapping[str, Any]]]  # (data, mime type, name) -> a resource_link


def weigh(body: bytes) -> int:
    """Bytes of `body` inside Lambda's payload, where it is a JSON string of ASCII characters."""
    return len(json.dumps(body.decode()))


def fits(body: bytes, room: int = ROOM) -> bool:
    return len(body) * 6 <= room or weigh(body) <= room


async def fit(result: Mapping[str, Any], offload: Offload, *, room: int = ROOM) -> dict[str, Any]:
    """`result` (a CallToolResult), small enough. What stays is what it was; what left is linked."""
    whole = dict(result)
    if fits(dump(whole), room):
        return whole
    content: list[list[Any]] = [[block] for block in whole.get("content") or []]
    weights = [_weight(block) for block in content]
    rest = _weight({**whole, "content": []})
    for index in sorted(range(len(content)), key=lambda i: -weights[i]):
        if rest + sum(weights) <= room or weights[index] <= LEAST_BYTES:
            break
        content[index] = await _replace(content[index][0], offload)
        weights[index] = _weight(content[index])
    whole["content"] = [block for blocks in content for block in blocks]
    if _weight(whole) <= room:
        return whole
    if "_meta" in whole:
        slim = {key: value for key, value in whole.items() if key != "_meta"}
        slim["content"] = [*slim["content"], _text("The data for the widget were too large and were left out.")]
        if _weight(slim) <= room:
            return slim
        whole = slim
    return await _give_up(whole, offload)


async def _give_up(whole: Mapping[str, Any], offload: Offload) -> dict[str, Any]:
    link = await offload(dump(whole.get("structuredContent", whole.get("content"))), "application/json", "result.json")
    return {
        "content": [
            _text(
                "The result is too large to return: its structured data have "
                f"{link.get('size', 0)} bytes. Ask for less at a time. All of it is in the linked file."
            ),
            dict(link),
        ],
        "isError": True,
    }


async def _replace(block: Mapping[str, Any], offload: Offload) -> list[Mapping[str, Any]]:
    """One content block as a sentence and a link to the whole of it."""
    kind = block.get("type")
    if kind == "text":
        text = str(block.get("text", ""))
        link = await offload(text.encode(errors="replace"), "text/plain; charset=utf-8", "text.txt")
        shown = text[:PREVIEW_CHARACTERS]
        return [
            {**block, "text": f"{shown}\n[cut: {len(text)} characters in all; the full text is linked below]"},
            link,
        ]
    if kind in ("image", "audio"):
        mime = str(block.get("mimeType") or "application/octet-stream")
        link = await offload(_decode(block.get("data")), mime, f"{kind}{_extension(mime)}")
        return [_text(f"The {kind} was too large to send along; it is linked below."), link]
    resource = block.get("resource")
    inner: Mapping[str, Any] = resource if isinstance(resource, dict) else {}
    mime = str(inner.get("mimeType") or "application/octet-stream")
    if "blob" in inner:
        data = _decode(inner["blob"])
    elif "text" in inner:
        data = str(inner["text"]).encode(errors="replace")
    else:
        data, mime = dump(block), "application/json"
    link = await offload(data, mime, "resource" + _extension(mime))
    return [_text(f"{inner.get('uri', 'A part of the result')} was too large to send along; it is linked below."), link]


def _weight(value: Any) -> int:
    return weigh(dump(value))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _decode(data: Any) -> bytes:
    try:
        return base64.b64decode(str(data), validate=False)
    except (binascii.Error, ValueError):
        return str(data).encode(errors="replace")


def _extension(mime: str) -> str:
    kind = mime.partition(";")[0].partition("/")[2].partition("+")[0]
    return f".{kind}" if re.fullmatch(r"[a-z0-9]{1,8}", kind) else ""
