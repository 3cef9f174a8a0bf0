"""Talking to a control plane: which one, with which token, and what it refuses in its own words.

Which: `--to` (a URL, or a stage that `platform deploy` recorded), TENANTRY_TO, the one last logged in to, or this
machine. With which token: TENANTRY_TOKEN, what `platform login` kept, or, on this machine, the operator's own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tenantry_registry.errors import PlatformError

from tenantry_cli import credentials
from tenantry_cli.control_plane import PREFIX, token_file
from tenantry_cli.settings import CliSettings

LOCAL_HOSTS = ("localhost", "127.0.0.1")
SECONDS = 30.0  # of one request; publishing is followed by many
FOLLOW_SECONDS = 900.0  # a publisher is ended after 15 minutes
WHERE = f"A control plane's address usually ends in {PREFIX}, like http://localhost:8787{PREFIX}."
VARIABLE = "It is TENANTRY_TOKEN's, which comes before what you logged in with: correct it, or unset it."
ELSEWHERE = "If it is served elsewhere, give its address with --to."
NO_API = (404, 405)  # what a platform's own address answers to its API's paths
PAUSE = 0.2  # seconds between two looks at a publish


def address(to: str | None) -> str:
    """The control plane's address without /v1. Raises: PlatformError `control.stage`."""
    settings = CliSettings()
    chosen = to or settings.to or credentials.default()
    if not chosen:
        return f"http://localhost:{settings.port}{PREFIX}"
    if "://" in chosen:
        return chosen.rstrip("/").removesuffix("/v1")
    file = Path(".platform") / f"{chosen}.json"
    try:
        return str(json.loads(file.read_text())["api_url"]).rstrip("/").removesuffix("/v1")
    except (OSError, ValueError, KeyError) as fault:
        raise PlatformError(
            "control.stage", f"There is no deployed stage {chosen!r} here.", f"{file} has none; or give a URL."
        ) from fault


def token_of(url: str) -> str:
    """The token for a control plane. Raises: PlatformError `control.no-token`."""
    settings = CliSettings()
    found = settings.token or credentials.find(url)
    if not found and here(url) and token_file(settings.store).exists():
        found = token_file(settings.store).read_text().strip()
    if not found:
        look(url)
        raise PlatformError("control.no-token", f"Not logged in to {url}.", f"platform login {url}")
    return found


def look(url: str) -> None:
    """Make sure that a control plane is at `url`, or below it. Raises: PlatformError `control.unreachable`."""
    import httpx

    with httpx.Client(timeout=SECONDS) as http:
        if not answers(http, url) and (url.endswith(PREFIX) or not answers(http, url + PREFIX)):
            try:
                http.get(f"{url}/v1/health")
            except (httpx.HTTPError, httpx.InvalidURL):
                raise nobody(url) from None
            raise other(url)


def answers(http: Any, url: str) -> bool:
    """Whether a control plane is at `url`; `http` is an httpx client."""
    import httpx

    try:
        answer = http.get(f"{url}/v1/health")
        return bool(answer.is_success and answer.json() == {"ok": True})
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return False


def nobody(url: str) -> PlatformError:
    """Nothing answers at `url`."""
    hint = f"Start it with `platform serve`. {ELSEWHERE}" if here(url) else f"{WHERE} See --to."
    return PlatformError("control.unreachable", f"Nobody answers at {url}.", hint)


def other(url: str) -> PlatformError:
    """What answers at `url` is something else."""
    hint = f"`platform dev` has none; `platform serve` has. {WHERE}" if here(url) else f"{WHERE} See --to."
    return PlatformError("control.unreachable", f"What answers at {url} is no control plane.", hint)


def here(url: str) -> bool:
    """Whether an address is one of this machine's."""
    return urlsplit(url).hostname in LOCAL_HOSTS


class Control:
    """One control plane. Requests raise PlatformError with the code, sentence and hint that it answered."""

    def __init__(self, to: str | None = None, *, token: str | None = None) -> None:
        import httpx

        self._http = httpx.Client(timeout=SECONDS)
        self.url = address(to)
        if token is None and not credentials.find(self.url) and credentials.find(self.url + PREFIX):
            self.url += PREFIX  # the platform's own address was given; the API that was logged in to is below it
        self.token = token or token_of(self.url)

    def seek(self) -> bool:
        """Where the API is not at the address that was given, look below /api; False where it is not there either."""
        at, below = self.url, self.url + PREFIX
        if at.endswith(PREFIX) or answers(self._http, at) or not answers(self._http, below):
            return False
        self.url = below
        return True

    def get(self, path: str, **query: Any) -> Any:
        return self.request("GET", path, query=query)

    def post(self, path: str, body: Any = None) -> Any:
        return self.request("POST", path, body=body)

    def put(self, path: str, body: Any) -> Any:
        return self.request("PUT", path, body=body)

    def delete(self, path: str, body: Any = None) -> Any:
        return self.request("DELETE", path, body=body)

    def request(self, method: str, path: str, *, body: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        """One request below /v1; its JSON. Raises: PlatformError, `control.unreachable` where nobody answers."""
        import httpx

        asked = {key: value for key, value in (query or {}).items() if value is not None}
        try:
            answer = self._http.request(
                method,
                f"{self.url}/v1{path}",
                json=body,
                params=asked,
                headers={"Authorization": f"Bearer {self.token}"},
            )
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise nobody(self.url) from fault
        if answer.status_code in NO_API and self.seek():
            return self.request(method, path, body=body, query=query)
        if answer.is_success:
            try:
                return answer.json() if answer.content else None
            except ValueError:
                raise other(self.url) from None
        try:
            problem = answer.json()
            hint = problem["hint"]
            if problem["code"] == "token.refused" and self.token == CliSettings().token:
                hint = f"{VARIABLE} {'' if hint.startswith('Log in') else hint}".strip()
            raise Refused(problem["code"], problem["message"], hint, problem.get("findings") or [])
        except (ValueError, KeyError, TypeError):
            if answer.status_code in NO_API:
                raise other(self.url) from None
            raise PlatformError(
                "control.unreachable", f"{self.url} answered {answer.status_code}.", f"{WHERE} See --to."
            ) from None

    def publish(
        self, name: str, bundle: bytes, *, force: bool, preview_days: float | None, step: Callable[[Any], None]
    ) -> dict[str, Any]:
        """Start, upload straight to storage, finish, follow; returns the publish as it ended.

        `step` is called for each step that is done. Raises: PlatformError, of the publish too.
        """
        from hashlib import sha256

        plugin = f"/plugins/{name}/publishes"
        body: dict[str, Any] = {"digest": sha256(bundle).hexdigest(), "size": len(bundle), "force": force}
        if preview_days is not None:
            body["preview_days"] = preview_days
        started = self.post(plugin, body)
        if started["upload"]:
            self._upload(started["upload"], bundle)
        followed = self.post(f"{plugin}/{started['id']}/finish")
        seen, until = 0, time.monotonic() + FOLLOW_SECONDS
        while True:
            for one in followed["steps"][seen:]:
                step(one)
            seen = len(followed["steps"])
            if followed["state"] == "done":
                return dict(followed)
            if followed["state"] == "failed":
                error = followed["error"]
                raise Refused(error["code"], error["message"], error["hint"], error.get("findings") or [])
            if time.monotonic() > until:
                raise PlatformError("control.slow", f"The publish {started['id']} takes too long.", "Look again later.")
            time.sleep(PAUSE)
            followed = self.get(f"{plugin}/{started['id']}")

    def _upload(self, upload: Mapping[str, Any], data: bytes) -> None:
        import httpx

        try:
            answer = self._http.post(
                upload["url"],
                data=upload["fields"],
                files={"file": ("bundle.zip", data, upload["fields"].get("Content-Type", "application/zip"))},
            )
        except httpx.HTTPError as fault:
            raise PlatformError("control.upload", "The upload broke off.", "Publish again: nothing is lost.") from fault
        if not answer.is_success:
            raise PlatformError(
                "control.upload", f"Storage refused the upload ({answer.status_code}).", "Publish again."
            )


class Refused(PlatformError):
    """What a control plane refused, with the findings of a check where there are some."""

    def __init__(self, code: str, message: str, hint: str, findings: list[dict[str, Any]]) -> None:
        super().__init__(code, message, hint)
        self.findings = findings
