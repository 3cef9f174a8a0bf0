"""The gateway's log as an author reads it: one short line a call, and all of what went wrong; the page is told too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.text import Text

from tenantry_cli import trace
from tenantry_cli.output import Terminal

CALLS = "tools/call", "prompts/get", "completion/complete", "http"  # methods that run the author's code
REFUSALS = {
    "sign-in": "refused: sign in",
    "scope": "refused: a scope is missing",
}


class Calls:
    """Writes calls into tenants' code to the terminal; lists and discovery are nobody's news."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal, self.quiet = terminal, False
        self.tell: Callable[[dict[str, Any]], None] | None = None

    def __call__(self, event: str, **fields: Any) -> None:
        ran = fields.get("method") in CALLS
        wrong = str(fields.get("code") or ("fault" if event != "call" else ""))
        if self.quiet or not (ran or wrong):
            return
        subject = str(fields.get("tool") or fields.get("method") or event)
        line = Text(f"{time.strftime('%H:%M:%S')}  {fields.get('plugin') or '':<12} {subject}")
        if fields.get("ms") is not None:
            line.append(f"   {fields['ms']:.0f} ms", style="dim")
        if refusal := REFUSALS.get(str(fields.get("outcome"))):
            line.append(f"   {refusal}", style="red")
        elif wrong:
            line.append(f"   {wrong} {fields.get('error_id') or ''}".rstrip(), style="bold red")
        elif fields.get("outcome") == "error":
            line.append("   error: the tool answered with one", style="red")
        self.terminal.line(line)
        printed = [text for stream in ("stdout", "stderr") for text in str(fields.get(stream) or "").splitlines()]
        failed = str(fields.get("traceback") or "")
        traceback = trace.own_frames(failed) or failed.splitlines()
        for text in [*printed, *traceback]:
            self.terminal.line(Text(f"          {text}", style="dim"))
        if self.tell and (printed or traceback):
            about = {key: str(fields.get(key) or "") for key in ("tenant", "plugin", "tool", "error_id")}
            self.tell({"event": "output", **about, "printed": printed, "traceback": traceback})
