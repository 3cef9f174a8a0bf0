"""The sandbox under the official Lambda runtime, invoked by boto3."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from simulators.lambda_runtime import Function, LambdaLoop
from tenantry_registry import runner_wire
from tenantry_registry.errors import PlatformError
from tenantry_registry.lambda_runner import LambdaRunner, default_client, tenant_id
from tenantry_registry.objects import ANY, Download
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.runners import Call, SandboxError

SLOT = {"id": "f1", "key": "files/f1", "max_bytes": 50_000_000}


@pytest.fixture(scope="module")
def aws() -> Iterator[LambdaLoop]:
    handler = "tenantry_sandbox.on_lambda.handler"
    functions = {
        "sandbox-public": Function(handler, timeout=6, per_tenant=True),
        "sandbox-closed": Function(handler, timeout=6, per_tenant=True),
        "slow": Function(handler, timeout=1.5, per_tenant=True),
        "broken": Function("tenantry_sandbox.nowhere.handler", per_tenant=True),
        "shared": Function(handler),
    }
    with LambdaLoop(functions) as loop:
        yield loop


@pytest.fixture
async def runner(aws: LambdaLoop, s3: S3Objects) -> AsyncIterator[LambdaRunner]:
    runner = LambdaRunner(
        s3,
        functions={"public": aws.arn("sandbox-public"), "none": "sandbox-closed", "slow": "slow"},
        client=client(aws),
    )
    yield runner
    await runner.aclose()


def client(aws: LambdaLoop) -> Any:
    config = Config(retries={"total_max_attempts": 1}, read_timeout=10)
    keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret", "region_name": "eu-central-1"}
    return lambda: boto3.client("lambda", endpoint_url=aws.url, config=config, **keys)


def calling(name: str, /, uploads: tuple[dict[str, Any], ...] = (), **arguments: object) -> Call:
    return Call("tools/call", {"name": name, "arguments": arguments}, uploads=uploads)


async def test_a_release_is_described_and_called_in_an_environment_of_its_own(aws, runner, publish_to_s3) -> None:
    release = await publish_to_s3(
        """
        import os
        def who(call, session):
            print("hello log")
            keys = [name for name in os.environ if "SECRET" in name or "TOKEN" in name]
            return {"result": {"keys": keys, "api": os.environ["API"]}}
        plugin = Plugin(who=who)
        """,
        egress="public",
        env={"API": "https://api.example"},
    )
    described = await runner.describe(release)
    called = await runner.call(release, calling("who"))
    assert described["description"]["tools"] == [{"name": "who"}]
    assert called["result"] == {"keys": [], "api": "https://api.example"}
    assert (called["cold"], called["stdout"]) == (False, "hello log\n")
    assert called["ran_ms"] > called["ms"]
    assert aws.environments.count(("sandbox-public", tenant_id(release))) == 1


async def test_files_and_overflow_go_straight_to_storage_by_signed_forms(runner, publish_to_s3, s3) -> None:
    release = await publish_to_s3(
        """
        def save(call, session):
            session.put(session.uploads.pop(0), b"a,b", "text/csv")
            return {"result": {"text": "x" * 7_000_000}}
        plugin = Plugin(save=save)
        """,
        egress="public",
    )
    reply = await runner.call(release, calling("save", uploads=(SLOT, {**SLOT, "id": "f2", "key": "files/f2"})))
    assert reply["overflow"]["id"] == "f2"
    stored, overflow = await s3.get("files/f1"), await s3.get("files/f2")
    assert stored is not None
    assert stored.data == b"a,b"
    assert overflow is not None
    assert len(overflow.data) == reply["overflow"]["size"]


async def test_secrets_that_change_get_an_environment_of_their_own(runner, publish_to_s3) -> None:
    source = """
    import os
    AT_IMPORT = os.environ["KEY"]
    plugin = Plugin(key=lambda call, session: {"result": {"key": AT_IMPORT}})
    """
    for value in ("one", "two"):
        release = await publish_to_s3(source, secrets={"KEY": value}, egress="public")
        assert (await runner.call(release, calling("key")))["result"] == {"key": value}
        assert value not in tenant_id(release)


ENDINGS = """
import os, time
def leave(call, session):
    os._exit(3)
def sleep(call, session):
    time.sleep(30)
def echo(call, session):
    return {"result": {"text": "x" * call["params"]["arguments"]["size"]}}
plugin = Plugin(leave=leave, sleep=sleep, echo=echo)
"""


async def test_a_crash_is_an_error_and_the_next_call_gets_a_new_environment(runner, publish_to_s3) -> None:
    release = await publish_to_s3(ENDINGS)
    with pytest.raises(SandboxError) as crashed:
        await runner.call(release, calling("leave"))
    assert crashed.value.code == "sandbox.crashed"
    assert "exit status 3" in crashed.value.stderr
    assert (await runner.call(release, calling("echo", size=1)))["cold"] is True


async def test_a_hosted_server_that_ends_itself_gets_a_new_environment(runner, publish_to_s3) -> None:
    release = await publish_to_s3(
        """
        import json
        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                raise RuntimeError("it has none")
            asked = json.loads((await receive())["body"])
            if asked["method"] == "tools/call":
                raise SystemExit("no such file")
            said = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "a", "version": "1"}}
            body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": said}).encode()
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        """,
        entrypoint="server:app",
    )
    call = Call("tools/call", {"name": "any", "arguments": {}}, revision="2025-11-25")
    assert (await runner.call(release, call))["error"]["code"] == "tool.failed"
    with pytest.raises(SandboxError) as ended:
        await runner.call(release, call)
    assert ended.value.code == "sandbox.crashed"
    again = await runner.call(release, call)
    assert (again["error"]["code"], again["cold"]) == ("tool.failed", True)


@pytest.mark.parametrize("seconds", [0.3, 20])
async def test_a_slow_tool_ends_by_its_own_time_or_by_the_functions(runner, publish_to_s3, seconds: float) -> None:
    release = await publish_to_s3(ENDINGS, timeout=seconds, egress="slow")
    with pytest.raises(SandboxError) as late:
        await runner.call(release, calling("sleep"))
    assert (late.value.code, late.value.ran_ms >= 300) == ("sandbox.timeout", True)


async def test_a_reply_of_just_the_cap_comes_back_and_one_byte_more_does_not(runner, publish_to_s3) -> None:
    release = await publish_to_s3(ENDINGS, egress="public")
    small = await runner.call(release, calling("echo", size=1))
    beside = len(json.dumps({**small, "ms": 0})) - 1 + 40
    fits = await runner.call(release, calling("echo", size=6_291_556 - beside))
    assert "result" in fits
    over = await runner.call(release, calling("echo", size=6_291_556))
    assert over["error"]["code"] == "sandbox.too-large"


async def test_a_bundle_that_is_not_what_it_should_be_is_not_unpacked(runner, publish_to_s3, s3) -> None:
    release = await publish_to_s3(ENDINGS + "# tampered with", egress="public")
    await s3.swap(release.bundle, b"tampered", expected=ANY)
    refused = await runner.describe(release)
    assert refused["error"]["code"] == "sandbox.bundle"
    await s3.delete(release.bundle)
    gone = await runner.describe(release)
    assert gone["error"]["message"] == "The bundle could not be fetched: HTTPError."


async def test_an_environment_refuses_everything_but_its_own_release(aws, publish_to_s3, s3) -> None:
    release = await publish_to_s3("plugin = Plugin()")
    signed = await s3.sign(release.bundle, Download(60))
    event = runner_wire.event(release, "describe", None, {"url": signed.url})
    assert "description" in aws.invoke("sandbox-public", event, "t/alone").json
    for changed in ({"digest": "0" * 64}, {"tenant": "other"}, {"secrets": {"A": "b"}}, {"protocol": 2}):
        refused = aws.invoke("sandbox-public", {**event, **changed}, "t/alone").json
        assert refused["error"]["code"] == "sandbox.refused"
    assert "description" in aws.invoke("sandbox-public", event, "t/alone").json
    assert aws.environments.count(("sandbox-public", "t/alone")) == 1


async def test_storage_that_refuses_an_upload_is_an_error_of_the_call(aws, publish_to_s3, s3) -> None:
    release = await publish_to_s3(
        """
        def save(call, session):
            session.put(session.uploads[0], b"x", "text/plain")
        plugin = Plugin(save=save)
        """
    )
    signed = await s3.sign(release.bundle, Download(60))
    event = runner_wire.event(release, "call", calling("save"), {"url": signed.url})
    with half_deaf_server() as url:
        for broken in ("http://127.0.0.1:9/", url):
            event["uploads"] = [{"id": "a", "url": broken, "fields": {}, "max_bytes": 10}]
            reply = aws.invoke("sandbox-public", event, "t/uploads").json
            assert "OSError" in reply["error"]["traceback"] or "URLError" in reply["error"]["traceback"]


@contextmanager
def half_deaf_server() -> Iterator[str]:
    """Hears a request and answers something that is no HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread.join()


@pytest.mark.parametrize(
    ("egress", "code"),
    [("broken", "sandbox.refused"), ("missing", "sandbox.refused"), ("shared", "sandbox.refused")],
)
async def test_a_function_that_is_not_as_it_should_be_is_said_so(aws, s3, publish_to_s3, egress, code) -> None:
    functions = {"broken": "broken", "missing": "missing", "shared": "shared"}
    runner = LambdaRunner(s3, functions=functions, client=client(aws))
    release = await publish_to_s3(ENDINGS, egress=egress)
    with pytest.raises(PlatformError) as refused:
        await runner.describe(release)
    assert refused.value.code == code
    await runner.aclose()


class Answering:
    """A boto3 client that answers one thing, whatever it is asked."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def invoke(self, **asked: Any) -> dict[str, Any]:
        if isinstance(self._answer, Exception):
            raise self._answer
        return {"FunctionError": "Unhandled", "Payload": io.BytesIO(self._answer)}

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke"), "sandbox.busy"),
        (ClientError({"Error": {"Code": "AccessDeniedException"}}, "Invoke"), "sandbox.refused"),
        (ReadTimeoutError(endpoint_url="https://lambda"), "sandbox.timeout"),
        (EndpointConnectionError(endpoint_url="https://lambda"), "sandbox.refused"),
        (b'{"errorType": "Function.ResponseSizeTooLarge"}', "sandbox.too-large"),
        (b'{"errorMessage": "2026 Task timed out after 29.00 seconds"}', "sandbox.timeout"),
        (b'{"errorType": "Runtime.OutOfMemory"}', "sandbox.crashed"),
        (b'{"errorType": "Runtime.ImportModuleError"}', "sandbox.refused"),
        (b"no json", "sandbox.refused"),
    ],
)
async def test_what_lambda_says_is_told_in_our_words(s3, publish_to_s3, answer: Any, code: str) -> None:
    runner = LambdaRunner(s3, functions={"none": "f"}, client=lambda: Answering(answer))
    with pytest.raises(PlatformError) as told:
        await runner.describe(await publish_to_s3(ENDINGS))
    assert told.value.code == code
    await runner.aclose()


async def test_a_slot_that_is_signed_already_is_passed_on(s3, publish_to_s3) -> None:
    asked: list[dict[str, Any]] = []

    class Recording(Answering):
        def invoke(self, **given: Any) -> dict[str, Any]:
            asked.append(given)
            return {"Payload": io.BytesIO(b'{"protocol": 1, "result": {}}')}

    runner = LambdaRunner(s3, functions={"none": "f"}, client=lambda: Recording(b""))
    slot = {**SLOT, "url": "https://storage.example", "fields": {"policy": "x"}}
    assert (await runner.call(await publish_to_s3(ENDINGS), calling("echo", (slot,))))["result"] == {}
    given = json.loads(asked[0]["Payload"])["uploads"]
    assert given == [{"id": "f1", "max_bytes": 50_000_000, "url": "https://storage.example", "fields": {"policy": "x"}}]
    await runner.aclose()


async def test_the_client_is_made_at_the_first_call_and_tries_once(s3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    made = default_client()
    assert (made.meta.config.retries["total_max_attempts"], made.meta.config.read_timeout) == (1, 29)
    made.close()
    await LambdaRunner(s3, functions={}).aclose()
