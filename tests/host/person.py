"""Drives the page as a person does: clicks, keys, and looking at what is on the screen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Frame, Locator, Page, expect

PATIENCE = 15_000  # milliseconds: the machine is shared with another shard


class Person:
    """Somebody in front of the page. `errors` are what the page itself reported as broken."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, plugin: str, query: str = "") -> Person:
        """Open the page on one plugin and wait until it is connected."""
        self.page.goto(f"{self.origin}/?plugin=test/{plugin}{query}")
        expect(self.page.locator(".status[data-status=ready]")).to_be_visible(timeout=PATIENCE)
        return self

    def run(self, tool: str, arguments: dict[str, Any] | None = None) -> Locator:
        """Call a tool by pasting the call into the message box. Returns its card."""
        box = self.page.get_by_role("textbox", name="Message")
        box.fill(json.dumps({"name": tool, "arguments": arguments or {}}))
        box.press("Enter")
        return self.page.get_by_role("article", name=f"Call of {tool}").last

    def choose(self, tool: str) -> Locator:
        """Put a tool into the composer. Returns the composer."""
        self.page.locator(".tool", has=self.page.locator(".tool-name", has_text=tool)).first.click()
        return self.page.get_by_role("region", name="Composer")

    def run_chosen(self, tool: str) -> Locator:
        """Run what is in the composer. Returns the call's card."""
        self.page.get_by_role("region", name="Composer").get_by_role("button", name="Run").click()
        return self.page.get_by_role("article", name=f"Call of {tool}").last

    def pane(self, name: str) -> Locator:
        """Open a pane of the inspector."""
        tab = self.page.get_by_role("tab", name=name)
        panel = self.page.get_by_role("tabpanel")
        if tab.get_attribute("aria-selected") != "true" or not panel.is_visible():
            tab.click()
        return panel

    def pane_quietly(self, name: str) -> Locator:
        """Open a pane although a dialog stands before it, as its keyboard shortcut would."""
        self.page.get_by_role("tab", name=name, include_hidden=True).dispatch_event("click")
        return self.page.get_by_role("tabpanel", include_hidden=True)

    @property
    def account(self) -> Locator:
        """Who is signed in to the plugin, at the foot of the sidebar."""
        return self.page.get_by_role("region", name="Account")

    def account_menu(self, name: str) -> None:
        """Press a button of the accounts' menu, or the one that stands there while there is no account."""
        opener = self.account.get_by_role("button", name="Account: ")
        if opener.count() and not self.page.locator("#accounts").is_visible():
            opener.click()
        self.account.get_by_role("button", name=re.compile(f"^{re.escape(name)}")).click()

    def knob(self, name: str, value: str | bool | int) -> None:
        """Turn one knob."""
        knob = self.pane("Knobs").get_by_label(name, exact=True)
        if isinstance(value, bool):
            knob.set_checked(value)
        elif isinstance(value, int):
            knob.fill(str(value))
        else:
            knob.select_option(value)

    def widget(self, card: Locator | None = None) -> Widget:
        """The widget in a card, or the only one on the page."""
        scope = card or self.page.locator(".app")
        return Widget(scope.locator(".widget > .widget-stage iframe").last)

    def modal(self) -> Widget:
        """The widget in the dialog that is open."""
        return Widget(self.page.get_by_role("dialog", name="Widget dialog").locator("iframe"))

    def says(self) -> list[str]:
        """The bubbles of the conversation."""
        return self.page.locator(".said p").all_inner_texts()


class Widget:
    """The probe widget, in its frame in the proxy's frame."""

    def __init__(self, proxy: Locator) -> None:
        self.proxy = proxy
        self.inside = proxy.content_frame.frame_locator("iframe")

    def at(self, name: str) -> Locator:
        return self.inside.locator(f"#{name}")

    def frame(self) -> Frame:
        """The widget's frame itself."""
        handle = self.inside.locator("body").element_handle()
        found = handle.owner_frame()
        assert found is not None
        return found

    def ready(self) -> Widget:
        expect(self.at("place")).not_to_be_empty()
        return self

    def connect(self) -> dict[str, Any]:
        """Do the MCP Apps handshake. Returns the host's answer."""
        self.at("connect").click()
        expect(self.at("reply")).to_contain_text('"early":0,"value"')
        expect(self.at("bridge")).to_contain_text("ui/notifications/tool-")
        found: dict[str, Any] = self.read("reply")["value"]
        return found

    def begin(self, member: str, *args: Any) -> None:
        """Call a member of window.openai, without waiting for its answer."""
        self.at("member").fill(member)
        self.at("args").fill(json.dumps(args))
        self.at("call").click()

    def call(self, member: str, *args: Any) -> dict[str, Any]:
        """Call a member of window.openai: {"promise", "ok", "value" | "error"}, or {"threw"}."""
        self.begin(member, *args)
        return self.answer()

    def call_behind(self, member: str, *args: Any) -> dict[str, Any]:
        """As `call`, while a dialog of the page stands before the widget."""
        self.at("member").fill(member, force=True)
        self.at("args").fill(json.dumps(args), force=True)
        self.at("call").dispatch_event("click")
        return self.answer()

    def answer(self, where: str = "answer") -> dict[str, Any]:
        expect(self.at(where)).to_contain_text("{")
        found: dict[str, Any] = self.read(where)
        return found

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make an MCP Apps request: {"ok", "value"} or {"ok": false, "code", "error"}."""
        self.start(method, params)
        return self.answer("reply")

    def start(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.at("method").fill(method)
        self.at("params").fill(json.dumps(params or {}))
        self.at("request").click()

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.at("method").fill(method)
        self.at("params").fill(json.dumps(params or {}))
        self.at("notify").click()

    def read(self, where: str) -> Any:
        return json.loads(self.at(where).inner_text())

    def globals(self) -> dict[str, Any]:
        found: dict[str, Any] = self.read("globals")
        return found

    def events(self) -> list[dict[str, Any]]:
        text = self.at("events").inner_text()
        return json.loads(text) if text else []

    def bridge(self) -> list[dict[str, Any]]:
        """The notifications and requests that came from the host."""
        text = self.at("bridge").inner_text()
        return json.loads(text) if text else []


def page_of(folder: Path, name: str) -> str:
    """The HTML of a widget in tests/host/widgets."""
    return (folder / "widgets" / f"{name}.html").read_text()
