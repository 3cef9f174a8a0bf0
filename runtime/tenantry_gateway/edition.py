"""One release, ready to answer: its manifest, its validators, and its static answers as bytes.

Everything that does not need tenant code is said from here. Answers are made once per release and point of view (a
`Face`: the address it was reached by and the kind of client) and kept as the bytes of the JSON-RPC result, so that a
list of twenty tools costs what `initialize` costs: one concatenation.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tenantry_registry import hosts
from tenantry_registry.manifest import Manifest, WidgetEntry
from tenantry_registry.placeholders import fill

from tenantry_gateway import headers
from tenantry_gateway.revisions import (
    ALL,
    HANDSHAKE,
    HANDSHAKE_REVISIONS,
    SERVER_KEY,
    STATELESS,
    WIDGET_MIME,
)
from tenantry_gateway.route import Site
from tenantry_gateway.validate import Checker
from tenantry_gateway.wire import INVALID_PARAMS, Refusal, dump

FACES: Final = 16  # points of view kept per release: two forms of address, three kinds of client, some previews
PAGE: Final = 100  # entries a page of a list; nearly every plugin fits one
LIST_TTL: Final = 60_000  # ms a client may keep a list: after a publish everybody sees it within a minute
FOREVER_TTL: Final = 86_400_000  # ms a client may keep what can't change under its URI

BARE_URI: Final = "ui://widget/{}.html"  # what authors write; hosts cache by URI, so it is never listed

LISTENED: Final = frozenset({"listChanged", "subscribe"})  # promises to whoever listens, and nobody can

LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
}


class Tool:
    """One tool of a release: its entry as listed, and what is made of its schemas at first use."""

    __slots__ = ("_input", "_output", "_repeated", "entry")

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        self._input: Checker | None = None
        self._output: Checker | None = None
        self._repeated: list[headers.Declared] | None = None

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def repeated(self) -> list[headers.Declared]:
        """The arguments that a client must repeat in headers."""
        if self._repeated is None:
            self._repeated = headers.declared(self.entry["inputSchema"])
        return self._repeated

    def wrong_arguments(self, arguments: Mapping[str, Any]) -> list[str]:
        if self._input is None:
            self._input = Checker(self.entry["inputSchema"])
        return self._input.problems(arguments)

    def wrong_output(self, value: Any) -> list[str]:
        """What is wrong with structured data, of a tool that has an outputSchema. Raises: as Checker."""
        if self._output is None:
            self._output = Checker(self.entry["outputSchema"])
        return self._output.problems(value)


class Edition:
    """A release in memory. Of a server that was not written with the kit, what it said of itself at publish."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.guest = manifest.kind != "kit"
        self.tools = {str(entry["name"]): Tool(entry) for entry in self._all("tools/list")}
        self.prompts = {str(entry["name"]): entry for entry in self._all("prompts/list")}
        self.resources = {str(entry["uri"]): entry for entry in self._all("resources/list")}
        self.templates = [str(entry["uriTemplate"]) for entry in self._all("resources/templates/list")]
        self.widgets: dict[str, WidgetEntry] = {widget.uri: widget for widget in manifest.widgets}
        self.bare_widgets = {BARE_URI.format(widget.name): widget for widget in manifest.widgets}
        self.widget_uris = {widget.name: widget.uri for widget in manifest.widgets}
        self.server = {key: manifest.server[key] for key in ("name", "title", "version") if key in manifest.server}
        self._contents: dict[str, dict[str, dict[str, Any]]] = {}
        self._faces: OrderedDict[tuple[str, str], Face] = OrderedDict()

    @property
    def digest(self) -> str:
        return self.manifest.digest

    def face(self, site: Site, kind: str) -> Face:
        """The release as seen from an address by a kind of client."""
        key = (site.place.mcp_url, kind)
        face = self._faces.get(key)
        if face is None:
            face = self._faces[key] = Face(self, site, kind)
            if len(self._faces) > FACES:
                self._faces.popitem(last=False)
        return face

    def entries(self, era: str, method: str) -> Sequence[Mapping[str, Any]]:
        """The entries of a list, as published."""
        field, key = LISTS[method]
        own: Sequence[Mapping[str, Any]] = getattr(self.manifest, field)
        if not self.guest or (field == "tools" and self.manifest.auth):  # with the sign-in that plugin.toml adds
            return own
        return self.said(era, method).get(key) or own

    def said(self, era: str, method: str) -> Mapping[str, Any]:
        """What a guest answered to `method` at publish, in that era or, where it speaks one only, in the other."""
        answers = self.manifest.answers
        answer = (answers.get(era) or answers.get(HANDSHAKE) or {}).get(method) or {}
        result: Mapping[str, Any] = answer.get("result") or {}
        return result

    def contents(self, era: str) -> Mapping[str, dict[str, Any]]:
        """The results of resources/read that are known already, by URI."""
        if not self._contents:
            for each in (HANDSHAKE, STATELESS):
                kept = {uri: {"contents": [dict(content)]} for uri, content in self.manifest.contents.items()}
                answers = self.manifest.answers.get(each) or self.manifest.answers.get(HANDSHAKE) or {}
                for uri, answer in (answers.get("resources/read") or {}).items():
                    if uri not in self.widgets and isinstance(answer.get("result"), dict):
                        kept[uri] = answer["result"]
                self._contents[each] = kept
        return self._contents[era]

    def _all(self, method: str) -> list[Mapping[str, Any]]:
        """The entries of both eras; those of the newer one count."""
        return [*self.entries(HANDSHAKE, method), *self.entries(STATELESS, method)]

    def capabilities(self, era: str) -> dict[str, Any]:
        """What the server says it can do. Nobody is called back later on a stateless server, so it can't notify."""
        greeting = self.said(era, "server/discover") or self.said(HANDSHAKE, "initialize")
        said = dict(greeting.get("capabilities") or self.manifest.capabilities)
        if era == STATELESS:
            for name in ("tools", "prompts", "resources"):
                if name in said:
                    said[name] = {**said[name], **dict.fromkeys(said[name].keys() & LISTENED, False)}
            if "resources" in said:
                said["resources"]["subscribe"] = False
        return said


class Face:
    """A release from one point of view. All answers are the bytes of a JSON-RPC result."""

    def __init__(self, edition: Edition, site: Site, kind: str) -> None:
        self.edition = edition
        self.place = site.place
        self._kind = kind
        self._made: dict[tuple[str, str], Any] = {}
        varies = bool(edition.manifest.widgets)  # ui.domain differs by client
        self._scope = {
            method: "private" if edition.manifest.auth or (varies and field == "resources") else "public"
            for method, (field, _) in LISTS.items()
        }

    # -- lists ------------------------------------------------------------------------------------------------------

    def page(self, era: str, method: str, cursor: Any) -> bytes:
        """One page of a list. Raises: Refusal, when the cursor is none of ours."""
        pages: list[bytes] | None = self._made.get((era, method))
        if pages is None:
            pages = self._made[era, method] = self._pages(era, method)
        if cursor is None:
            return pages[0]
        for number in range(1, len(pages)):
            if cursor == self._cursor(method, number):
                return pages[number]
        raise Refusal(INVALID_PARAMS, "This cursor is not known; begin again without one.")

    def _pages(self, era: str, method: str) -> list[bytes]:
        _, key = LISTS[method]
        entries = [self.entry(entry, era) for entry in self.edition.entries(era, method)]
        said = self.edition.said(era, method) if era in self.edition.manifest.answers else {}
        beside = {name: value for name, value in said.items() if name not in (key, "nextCursor")}
        pages: list[bytes] = []
        for start in range(0, max(len(entries), 1), PAGE):
            result: dict[str, Any] = {**beside, key: entries[start : start + PAGE]}
            if start + PAGE < len(entries):
                result["nextCursor"] = self._cursor(method, len(pages) + 1)
            pages.append(self.fill(dump(self.complete(era, result, LIST_TTL, self._scope[method]))))
        return pages

    def _cursor(self, method: str, number: int) -> str:
        """Opaque and stable: the same for the same page of the same release, wherever it is asked for."""
        text = f"{self.edition.digest[:16]}:{method}:{number}"
        return base64.urlsafe_b64encode(text.encode()).decode()

    def entry(self, entry: Mapping[str, Any], era: str) -> Mapping[str, Any]:
        """An entry of a list for an era and this client."""
        if entry.get("mimeType") == WIDGET_MIME and "uri" in entry:
            return {**entry, "_meta": self.widget_meta(entry.get("_meta", {}))}
        if era == HANDSHAKE and "outputSchema" in entry and entry["outputSchema"].get("type") != "object":
            return {key: value for key, value in entry.items() if key != "outputSchema"}  # objects only, until 2026
        return entry

    def widget_meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """A widget's `_meta` with its domain: the client's dialect in `ui.domain`, ChatGPT's alias always."""
        return hosts.with_domain(meta, self._kind, self.place)

    # -- whole answers ----------------------------------------------------------------------------------------------

    def initialize(self, revision: str) -> bytes:
        made: bytes | None = self._made.get(("initialize", revision))
        if made is None:
            result = {
                "protocolVersion": revision,
                "capabilities": self.edition.capabilities(HANDSHAKE),
                "serverInfo": dict(self.edition.manifest.server),
                **self._instructions(),
                **self.edition.said(HANDSHAKE, "initialize"),
            }
            result["protocolVersion"] = revision
            made = self._made["initialize", revision] = self.fill(dump(result))
        return made

    def discover(self) -> bytes:
        made: bytes | None = self._made.get(("discover", STATELESS))
        if made is None:
            said = self.edition.said(STATELESS, "server/discover")
            result: dict[str, Any] = {
                "supportedVersions": list(ALL),
                "capabilities": self.edition.capabilities(STATELESS),
                **self._instructions(),
                "_meta": {SERVER_KEY: dict(self.edition.manifest.server)},
                **said,
            }
            result |= {"supportedVersions": list(ALL), "capabilities": self.edition.capabilities(STATELESS)}
            whole = self.complete(STATELESS, result, LIST_TTL, "public")
            made = self._made["discover", STATELESS] = self.fill(dump(whole))
        return made

    def _instructions(self) -> dict[str, str]:
        text = self.edition.manifest.instructions
        return {"instructions": text} if text else {}

    def empty(self, era: str) -> bytes:
        return b"{}" if era == HANDSHAKE else dump(self.complete(era, {}))

    # -- parts ------------------------------------------------------------------------------------------------------

    def complete(
        self, era: str, result: Mapping[str, Any], ttl: int | None = None, scope: str = "private"
    ) -> dict[str, Any]:
        """A finished result as its era has it."""
        if era == HANDSHAKE:
            return dict(result)
        whole: dict[str, Any] = {**result, "resultType": result.get("resultType", "complete")}
        if ttl is not None:
            whole = {"ttlMs": ttl, "cacheScope": scope} | whole  # a guest's own word counts
        given = result.get("_meta")
        whole["_meta"] = {SERVER_KEY: self.edition.server} | (given if isinstance(given, dict) else {})
        return whole

    def fill(self, data: bytes) -> bytes:
        """Put the real address where the release has its placeholder."""
        return fill(data, self.place.base, self.place.storage)


def supported(revision: Any) -> str:
    """The revision that initialize answers with: the asked one where it is served, else our newest of that era."""
    return str(revision) if revision in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[0]
