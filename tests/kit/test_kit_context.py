"""The context: who calls, what survives, what is said on the way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tenantry import AuthRequired, Context, Location, Plugin, ToolError, Unverified
from tenantry.document import MAX_BYTES, Document
from tenantry.testing import Client, Crashed

READS = {"read_only": True, "destructive": False, "open_world": False}
LEVEL = "io.modelcontextprotocol/logLevel"


def calling(use: Any, **options: Any) -> Client:
    """A client of a plugin whose one tool, `go`, is `use(ctx)`."""
    plugin = Plugin()

    @plugin.tool(**READS)
    def go(ctx: Context) -> str | None:
        """Goes."""
        value = use(ctx)
        return None if value is None else str(value)

    return Client(plugin, **options)


@pytest.mark.row("M01", "M02", "M03", "M04", "M05", "M06", "M07", "S04")
def test_what_the_client_says_of_itself_are_unverified_hints_and_all_may_be_missing():
    seen: dict[str, Any] = {}

    def use(ctx: Context) -> None:
        for name in ("locale", "user_agent", "user_location", "subject", "session", "organization"):
            seen[name] = getattr(ctx, name)
        seen["widget"] = ctx.widget_session_id
        seen["meta"] = ctx.meta

    calling(use).call("go")
    assert set(seen.pop("meta")) == set()
    assert set(seen.values()) == {None}
    meta = {
        "openai/locale": "de-AT",
        "webplus/i18n": "en",
        "openai/userAgent": "ChatGPT/1",
        "openai/userLocation": {
            "city": "Wien",
            "region": 9,
            "country": "AT",
            "timezone": "Europe/Vienna",
            "longitude": "16.37",
            "latitude": 48.2,
        },
        "openai/subject": "v1/abc",
        "openai/session": "s",
        "openai/organization": "o",
        "openai/widgetSessionId": "w",
    }
    calling(use, meta=meta).call("go")
    assert seen["meta"] == meta
    assert seen["user_location"] == Location(
        Unverified("Wien"), None, Unverified("AT"), Unverified("Europe/Vienna"), 16.37, 48.2
    )
    for name, value in (("locale", "de-AT"), ("subject", "v1/abc"), ("session", "s"), ("organization", "o")):
        assert seen[name] == value
        assert type(seen[name]) is Unverified
    assert (seen["widget"], seen["user_agent"]) == ("w", "ChatGPT/1")


@pytest.mark.row("M01", "M03")
@pytest.mark.parametrize(
    ("meta", "locale", "location"),
    [
        ({"webplus/i18n": "fr"}, "fr", None),
        ({"openai/locale": 3, "webplus/i18n": ""}, None, None),
        ({"openai/userLocation": "Wien"}, None, None),
        ({"openai/userLocation": {"longitude": 999, "latitude": "north"}}, None, Location()),
    ],
)
def test_older_clients_and_nonsense_are_survived(meta, locale, location):
    assert calling(lambda ctx: ctx.locale, meta=meta).call("go").text == ("" if locale is None else locale)
    assert calling(lambda ctx: ctx.user_location == location, meta=meta).call("go").text == "True"


@pytest.mark.row("M07")
@pytest.mark.parametrize("meta", [None, [], "x", {LEVEL: [1], "progressToken": None}])
def test_meta_of_any_shape_is_survived(meta):
    plugin = calling(lambda ctx: f"{ctx.locale} {ctx.subject}").plugin
    reply = plugin.__tenantry_call__({"method": "tools/call", "params": {"name": "go", "_meta": meta}}, _Quiet())
    assert reply["result"]["content"][0]["text"] == "None None"


@pytest.mark.row("M01")
def test_the_locale_of_initialize_is_the_last_resort():
    context = Context({"client": {"locale": "it"}}, _Quiet())
    assert context.locale == "it"


def test_the_user_is_verified_or_the_sign_in_starts():
    signed_out = calling(lambda ctx: (ctx.signed_in, ctx.user))
    called = signed_out.call("go")
    assert called.is_error
    assert "invalid_token" in called.meta["mcp/www_authenticate"]
    user = {"sub": 7, "name": "Ada", "nickname": "A", "email": "a@b.example", "scope": "x y"}
    text = "7 Ada A a@b.example ('x', 'y') True 5 ['sub', 'name', 'nickname', 'email', 'scope'] User('7')"

    def use(ctx: Context) -> str:
        who = ctx.user
        rest = f"{who.scopes} {ctx.signed_in} {len(who)} {list(who)} {who!r}"
        return f"{who['sub']} {who.name} {who.nickname} {who.email} {rest}"

    assert calling(use, user=user).call("go").text == text
    assert calling(lambda ctx: ctx.user.scopes, user={"sub": "u"}).call("go").text == "()"


def test_state_belongs_to_a_user_and_shared_to_the_plugin():
    def use(ctx: Context) -> str:
        ctx.shared["calls"] = ctx.shared.get("calls", 0) + 1
        if ctx.signed_in:
            ctx.state.setdefault("seen", []).append(ctx.shared["calls"])
        return f"{dict(ctx.shared)} {dict(ctx.state)}"

    client = calling(use, user={"sub": "u"})
    client.call("go")
    assert client.call("go").text == "{'calls': 2} {'seen': [1, 2]}"
    assert (client.state, client.shared) == ({"seen": [1, 2]}, {"calls": 2})
    client.user = None
    assert client.call("go").is_error
    assert client.shared == {"calls": 2}, "a call that raises writes nothing"


def test_what_is_deleted_is_gone_in_the_next_call():
    client = calling(lambda ctx: ctx.shared.pop("a", "gone"), shared={"a": 1})
    assert [client.call("go").text, client.call("go").text] == ["1", "gone"]


def patched(change: Any, **before: Any) -> dict[str, Any]:
    document = Document("shared", before)
    change(document)
    return document.patch()


def swap_and_restore(document: Document) -> None:
    value = document.pop("a")
    document["a"] = value


@pytest.mark.parametrize(
    ("change", "patch"),
    [
        (lambda d: None, {}),
        (lambda d: d["a"], {"read": ["a"]}),
        (lambda d: d.get("zz"), {"read": ["zz"]}),
        (lambda d: "zz" in d, {"read": ["zz"]}),
        (lambda d: d["a"].append(3), {"read": ["a"], "set": {"a": [1, 2, 3]}}),
        (lambda d: d.__setitem__("b", {"x": (1,)}), {"set": {"b": {"x": [1]}}}),
        (lambda d: d.__setitem__("a", [1, 2]), {}),
        (lambda d: d.__setitem__("a", [True, 2]), {"set": {"a": [True, 2]}}),
        (lambda d: d.__delitem__("a"), {"read": ["a"], "delete": ["a"]}),
        (lambda d: (d.__setitem__("n", 1), d.__delitem__("n")), {"read": ["n"]}),
        (lambda d: len(d), {"read": True}),
        (lambda d: sorted(d), {"read": True}),
        (lambda d: d.clear(), {"read": True, "delete": ["a", "c"]}),
        (swap_and_restore, {"read": ["a"]}),
        (lambda d: d.update(c=2), {"set": {"c": 2}}),
    ],
)
def test_a_documents_patch_names_what_was_read_and_what_differs(change, patch):
    assert patched(change, a=[1, 2], c=1) == patch


def test_a_document_behaves_like_a_dict():
    document = Document("state", {"a": 1})
    assert dict(document) == {"a": 1}
    assert repr(document) == "<ctx.state: 1 keys>"
    del document["a"]
    for key in ("a", "b"):
        with pytest.raises(KeyError):
            document[key]
        with pytest.raises(KeyError):
            del document[key]
    document["a"] = 2
    assert list(document.items()) == [("a", 2)]


@pytest.mark.parametrize(
    ("key", "value"), [(1, 1), ("a", {1: 2}), ("a", [{"x": object()}]), ("a", float("nan")), ("a", b""), ("a", {1})]
)
def test_a_document_takes_json_only_and_says_so_at_once(key, value):
    document = Document("shared", {})
    with pytest.raises(TypeError, match=r"ctx\.shared"):
        document[key] = value


def test_a_value_that_stops_being_json_fails_the_call_and_a_full_document_is_said_to_be_full():
    def spoil(ctx: Context) -> None:
        ctx.shared["a"] = values = [1]
        values.append(object())  # type: ignore[arg-type]

    with pytest.raises(Crashed, match=r"ctx.shared\['a'\] is not JSON"):
        calling(spoil).call("go")

    def fill(ctx: Context) -> None:
        del ctx.shared["old"]
        ctx.shared["new"] = "x" * MAX_BYTES

    client = calling(fill, shared={"old": "y", "kept": 1})
    assert "There is no room" in client.call("go").text
    assert client.shared == {"old": "y", "kept": 1}


def test_secrets_are_read_by_name_and_never_shown():
    def use(ctx: Context) -> str:
        return f"{ctx.secrets['KEY']} {ctx.secrets!r} {list(ctx.secrets)} {len(ctx.secrets)} {'X' in ctx.secrets}"

    client = calling(use, secrets={"KEY": "k-1"})
    assert client.call("go").text == "k-1 Secrets(KEY) ['KEY'] 1 False"
    with pytest.raises(Crashed, match="The secret 'NO' is not set"):
        calling(lambda ctx: ctx.secrets["NO"]).call("go")


def test_a_call_knows_its_time_its_folder_and_its_name():
    client = calling(lambda ctx: f"{0 < ctx.time_left <= 25} {ctx.folder.is_dir()} {ctx.name} {ctx.revision}")
    assert client.call("go").text == "True True go 2026-07-28"


def test_progress_is_sent_when_asked_for_and_only_forwards():
    def use(ctx: Context) -> None:
        ctx.progress(0, 100)
        ctx.progress(50, 100, "half")
        ctx.progress(50)
        ctx.progress(20)
        ctx.progress(100)

    quiet = calling(use)
    quiet.call("go")
    assert quiet.notifications == []
    client = calling(use, meta={"progressToken": "t"})
    client.call("go")
    assert client.notifications == [
        ("notifications/progress", {"progressToken": "t", "progress": 0, "total": 100}),
        ("notifications/progress", {"progressToken": "t", "progress": 50, "total": 100, "message": "half"}),
        ("notifications/progress", {"progressToken": "t", "progress": 100}),
    ]


def speak(ctx: Context) -> None:
    ctx.log.debug("fine %s", "print")
    ctx.log.info("hello")
    logging.getLogger("zoo").log(25, "note")
    thread = threading.Thread(target=lambda: logging.getLogger("zoo.deep").error("broken"))
    thread.start()
    thread.join()
    try:
        raise ValueError("sk-1")
    except ValueError:
        logging.getLogger().critical("burning", exc_info=True)
    ctx.log.log(5, "whisper")


@contextmanager
def bare_root() -> Iterator[logging.Logger]:
    """The root logger as it is in a worker: nobody has configured it (pytest has, here)."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        yield root
    finally:
        root.handlers = handlers


@pytest.mark.parametrize(
    ("revision", "level", "levels"),
    [
        ("2026-07-28", None, []),
        ("2026-07-28", "nonsense", []),
        ("2026-07-28", "debug", ["debug", "info", "notice", "error", "critical"]),
        ("2026-07-28", "error", ["error", "critical"]),
        ("2025-11-25", None, ["info", "notice", "error", "critical"]),
        ("2025-11-25", "emergency", []),
    ],
)
def test_logging_reaches_the_client_from_the_level_it_asked_for(revision, level, levels, capsys):
    client = calling(speak, revision=revision, meta={LEVEL: level} if level else {})
    with bare_root():
        client.call("go")
    sent = [params for method, params in client.notifications if method == "notifications/message"]
    assert [params["level"] for params in sent] == levels
    assert "sk-1" not in str(sent)
    stderr = capsys.readouterr().err
    assert "INFO tenantry.go: hello" in stderr
    assert "ERROR zoo.deep: broken" in stderr
    assert "ValueError: sk-1" in stderr
    assert "fine print" not in stderr


def test_a_call_leaves_the_root_logger_as_it_was(capsys):
    client = calling(lambda ctx: ctx.log.info("%d", "no number"), revision="2025-11-25")
    with bare_root() as root:
        before = root.level
        client.call("go")
        assert (root.level, root.handlers) == (before, [])
    assert "Logging error" in capsys.readouterr().err


def test_an_author_who_configures_logging_keeps_that_configuration(capsys):
    handler = logging.NullHandler()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        client = calling(lambda ctx: logging.getLogger("zoo").debug("quiet"), meta={LEVEL: "debug"})
        client.call("go")
    finally:
        root.removeHandler(handler)
    assert client.notifications == []
    assert capsys.readouterr().err == ""


def test_a_context_stands_alone_in_tests_of_authors_too():
    context = Context({}, _Quiet())
    assert not context.signed_in
    assert context.outcome() == {}
    with pytest.raises(AuthRequired):
        context.state["a"] = 1
    assert isinstance(AuthRequired(), ToolError)
    assert context.log.name == "tenantry.call"


class _Quiet:
    secrets: dict[str, str] = {}
    uploads: list[dict[str, Any]] = []
    folder = "."
    deadline = 0.0

    def notify(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError(method)

    def put(self, upload: dict[str, Any], data: bytes, content_type: str) -> None:
        raise AssertionError(upload)
