"""AWS Lambda without AWS and without Docker: the Runtime API for the official `awslambdaric`, and Invoke for boto3.

    with LambdaLoop({"sandbox": Function("tenantry_sandbox.on_lambda.handler", per_tenant=True)}) as aws:
        aws.invoke("sandbox", {...}, tenant="acme/zoo/0123456789ab")     # an Invoked
        boto3.client("lambda", endpoint_url=aws.url, ...)                # or AWS_ENDPOINT_URL_LAMBDA=aws.url

What it does as Lambda does, because the platform depends on it: one process per environment, an environment serves one
tenant and one event at a time and is used again while it lives; a missing or unexpected tenant id is refused; request
and response are capped at 6,291,556 bytes; a function that is too slow is killed; a process that ends is an ExitError;
errors come back as FunctionError with the payloads that Lambda sends. `aws.environments` counts what was started.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CAP_BYTES = 6_291_556  # AWS: Lambda quotas, synchronous invocation
TENANT = re.compile(r"[a-zA-Z0-9._:/=+\-@ ]{1,256}")
INIT_SECONDS = 30.0
LEAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Function:
    """A function: its handler, its environment variables, its timeout in seconds, and whether it isolates tenants."""

    handler: str
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0
    per_tenant: bool = False
    python: str = sys.executable


@dataclass(frozen=True)
class Invoked:
    """What Invoke answers: `error` is the FunctionError, "" when the handler returned; `payload` as bytes."""

    payload: bytes
    error: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.payload)


class Environment:
    """One process that runs one function for one tenant, and the Runtime API that only it talks to."""

    def __init__(self, name: str, function: Function, tenant: str) -> None:
        self.name, self.function, self.tenant = name, function, tenant
        self._events: queue.Queue[tuple[str, bytes] | None] = queue.Queue()
        self._answers: queue.Queue[tuple[str, Invoked]] = queue.Queue()
        self._closing = False
        self._tmp = tempfile.TemporaryDirectory(prefix="lambda-")
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the environment
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        env = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        env |= {
            "PATH": os.environ.get("PATH", ""),
            "HOME": self._tmp.name,
            "TMPDIR": self._tmp.name,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_REGION": "eu-west-1",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "simulated",
            "AWS_SECRET_ACCESS_KEY": "simulated",
            "AWS_SESSION_TOKEN": "simulated",
            **function.env,
        }
        self.process = subprocess.Popen(
            [function.python, "-m", "awslambdaric", function.handler],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def invoke(self, payload: bytes) -> Invoked:
        """Hand it one event and wait for the answer."""
        request = str(uuid.uuid4())
        self._events.put((request, payload))
        end = time.monotonic() + self.function.timeout
        while time.monotonic() < end:
            with suppress(queue.Empty):
                answered, invoked = self._answers.get(timeout=min(0.02, self.function.timeout))
                if answered in (request, "init"):
                    return invoked
            if self.process.poll() is not None and self._answers.empty():
                return _failed("Runtime.ExitError", f"RequestId: {request} Error: Runtime exited {_how(self.process)}")
        self.process.kill()
        text = f"RequestId: {request} Error: Task timed out after {self.function.timeout:.2f} seconds"
        return _failed("Sandbox.Timedout", text)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def logged(self) -> str:
        """What the process wrote to stdout and stderr."""
        return os.pread(self.log.fileno(), 1_000_000, 0).decode("utf-8", "replace")

    def close(self) -> None:
        """Let the process end, as a runtime does whose next event never comes; then make sure."""
        self._closing = True
        self._events.put(None)
        try:
            self.process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self.log.close()
        self._tmp.cleanup()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        environment = self

        class RuntimeApi(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                given = environment._events.get()
                if given is None:  # the environment is shut down: the runtime ends at a refusal
                    _send(self, 410, b"{}", {})
                    return
                request, payload = given
                deadline = int((time.time() + environment.function.timeout) * 1000)
                headers = {
                    "Lambda-Runtime-Aws-Request-Id": request,
                    "Lambda-Runtime-Deadline-Ms": str(deadline),
                    "Lambda-Runtime-Invoked-Function-Arn": _arn(environment.name),
                    "Content-Type": "application/json",
                }
                if environment.tenant:
                    headers["Lambda-Runtime-Aws-Tenant-Id"] = environment.tenant
                _send(self, 200, payload, headers)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                *_, request, outcome = self.path.split("/")
                if outcome == "response" and len(body) > CAP_BYTES:
                    text = f"Response payload size exceeded maximum allowed payload size ({CAP_BYTES} bytes)."
                    environment._answers.put((request, _failed("Function.ResponseSizeTooLarge", text)))
                    _send(self, 413, b"{}", {})
                    return
                answered = Invoked(body) if outcome == "response" else Invoked(body, "Unhandled")
                environment._answers.put((request, answered))
                _send(self, 202, b"{}", {})

            def log_message(self, *_: Any) -> None:
                pass

        return RuntimeApi


class LambdaLoop:
    """Functions by name, with an Invoke endpoint at `url`."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = dict(functions)
        self._lock = threading.Lock()
        self._idle: list[Environment] = []
        self._all: list[Environment] = []

    def __enter__(self) -> LambdaLoop:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        for environment in self._all:
            environment.close()

    @property
    def url(self) -> str:
        """What AWS_ENDPOINT_URL_LAMBDA is set to."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environments(self) -> list[tuple[str, str]]:
        """(function, tenant) of every environment that was started, in order."""
        return [(environment.name, environment.tenant) for environment in self._all]

    def arn(self, name: str) -> str:
        return _arn(name)

    def logged(self) -> str:
        """What all environments wrote."""
        return "".join(environment.logged() for environment in self._all)

    def invoke(self, name: str, event: Any, tenant: str = "") -> Invoked:
        """Invoke a function with an event (JSON, or bytes as they are)."""
        payload = event if isinstance(event, bytes) else json.dumps(event).encode()
        environment = self._take(name, tenant)
        invoked = environment.invoke(payload)
        with self._lock:
            if environment.alive:
                self._idle.append(environment)
        return invoked

    def _take(self, name: str, tenant: str) -> Environment:
        with self._lock:
            for environment in reversed(self._idle):
                if (environment.name, environment.tenant) == (name, tenant):
                    self._idle.remove(environment)
                    if environment.alive:
                        return environment
            environment = Environment(name, self._functions[name], tenant)
            self._all.append(environment)
            return environment

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        loop = self

        class InvokeApi(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                found = re.fullmatch(r"/2015-03-31/functions/([^/]+)/invocations", self.path.replace("%3A", ":"))
                name = found[1].rpartition(":")[2] if found else ""
                tenant = self.headers.get("X-Amz-Tenant-Id", "")
                if name not in loop._functions:
                    return _refuse(self, 404, "ResourceNotFoundException", f"Function not found: {name}")
                if len(body) > CAP_BYTES:
                    return _refuse(self, 413, "RequestTooLargeException", f"{len(body)} byte payload is too large")
                if loop._functions[name].per_tenant != bool(TENANT.fullmatch(tenant)):
                    return _refuse(self, 400, "InvalidParameterValueException", "Unexpected or missing tenant id")
                invoked = loop.invoke(name, body, tenant)
                headers = {"X-Amz-Function-Error": invoked.error} if invoked.error else {}
                _send(self, 200, invoked.payload, headers)

            def log_message(self, *_: Any) -> None:
                pass

        return InvokeApi


def _arn(name: str) -> str:
    return f"arn:aws:lambda:eu-west-1:123456789012:function:{name}"


def _failed(kind: str, message: str) -> Invoked:
    return Invoked(json.dumps({"errorType": kind, "errorMessage": message}).encode(), "Unhandled")


def _how(process: subprocess.Popen[bytes]) -> str:
    status = process.returncode
    return f"with error: signal: {-status}" if status < 0 else f"with error: exit status {status}"


def _refuse(handler: BaseHTTPRequestHandler, status: int, kind: str, message: str) -> None:
    body = json.dumps({"Type": "User", "Message": message, "message": message}).encode()
    _send(handler, status, body, {"x-amzn-errortype": kind})


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(body))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)
