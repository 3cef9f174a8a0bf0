"""resources/read: widgets of this release and of every earlier one, fixed contents, and what only tenant code knows."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from tenantry_registry.errors import StorageDown
from tenantry_registry.manifest import WidgetEntry
from tenantry_registry.objects import Objects

from tenantry_gateway.calls import pass_on
from tenantry_gateway.edition import FOREVER_TTL, LIST_TTL
from tenantry_gateway.revisions import HANDSHAKE, WIDGET_MIME
from tenantry_gateway.templates import matches
from tenantry_gateway.turn import Desk, Reply, Turn
from tenantry_gateway.wire import INVALID_PARAMS, RESOURCE_NOT_FOUND, Refusal, dump

ANSWERS: Final = 128  # prepared answers kept per process
ANSWER_BYTES: Final = 524_288  # of one that is kept: the most a sensible widget has


class Answers:
    """Prepared answers to resources/read, by everything they depend on; immutable content, so the first one lasts."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], bytes] = OrderedDict()

    def get(self, key: tuple[str, ...]) -> bytes | None:
        return self._kept.get(key)

    def put(self, key: tuple[str, ...], answer: bytes) -> bytes:
        if len(answer) <= ANSWER_BYTES:
            self._kept[key] = answer
            if len(self._kept) > ANSWERS:
                self._kept.popitem(last=False)
        return answer


async def read(desk: Desk, turn: Turn) -> Reply:
    """resources/read."""
    uri = turn.message.params.get("uri")
    if not isinstance(uri, str):
        raise Refusal(INVALID_PARAMS, "params.uri must be a string.")
    edition = turn.edition
    fixed = edition.contents(turn.message.era).get(uri)
    if fixed is not None:
        return Reply(_fixed(turn, fixed))
    widget = edition.widgets.get(uri) or edition.bare_widgets.get(uri)
    if widget is None and uri.startswith("ui://"):
        widget = await desk.widget_of(turn.site.name, uri)
    if widget is not None:
        return Reply(await _widget(desk, turn, uri, widget))
    if edition.guest or uri in edition.resources or any(matches(template, uri) for template in edition.templates):
        return await pass_on(desk, turn)
    raise not_found(turn, uri)


def _fixed(turn: Turn, result: dict[str, Any]) -> bytes:
    """A result that is known already. A guest's template is read by its own URI, too, with the client's domain."""
    contents = result["contents"]
    if not any(content.get("mimeType") == WIDGET_MIME for content in contents):
        return _finish(turn, result, LIST_TTL, "public")
    shown = [{**content, "_meta": turn.face.widget_meta(content.get("_meta") or {})} for content in contents]
    return _finish(turn, {**result, "contents": shown}, LIST_TTL, "private")


def not_found(turn: Turn, uri: str) -> Refusal:
    code = RESOURCE_NOT_FOUND if turn.message.era == HANDSHAKE else INVALID_PARAMS
    return Refusal(code, "There is no such resource.", {"uri": uri})


async def _widget(desk: Desk, turn: Turn, uri: str, widget: WidgetEntry) -> bytes:
    """A widget's document, its addresses filled in and its domain as this client reads it."""
    key = (turn.site.place.mcp_url, turn.client.kind, turn.message.era, uri, widget.key)
    kept = desk.answers.get(key)
    if kept is not None:
        return kept
    content = {
        "uri": uri,
        "mimeType": WIDGET_MIME,
        "text": await _html(desk.objects, widget.key),
        "_meta": turn.face.widget_meta(widget.meta),
    }
    ttl = FOREVER_TTL if uri == widget.uri else LIST_TTL  # the bare name means another document after a publish
    return desk.answers.put(key, _finish(turn, {"contents": [content]}, ttl, "private"))


async def _html(objects: Objects, key: str) -> str:
    stored = await objects.get(key)
    if stored is None:
        raise StorageDown("A published widget's document is missing.")
    return stored.data.decode()


def _finish(turn: Turn, result: dict[str, Any], ttl: int, scope: str) -> bytes:
    if turn.edition.manifest.auth:
        scope = "private"
    return turn.face.fill(dump(turn.face.complete(turn.message.era, result, ttl, scope)))
