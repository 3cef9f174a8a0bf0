"""A sandbox that lies to the platform: forged replies, frames, files, documents, questions.."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attacks.village import BASE, Village

pytestmark = pytest.mark.asyncio(loop_scope="session")

FINE = '{"content": [{"type": "text", "text": "forged"}], "structuredContent": {"got": 1}}'


def result(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()["result"]
    return told


async def fails_alone(village: Village, code: str) -> None:
    """The forged call is an error without a word of the platform's insides, and everything else goes on."""
    answer = await village.forge(code)
    assert result(answer)["isError"] is True
    assert str(village.folder) not in answer.text
    assert "Traceback" not in answer.text
    assert await village.attack("got = 1 + 1") == 2


@pytest.mark.attack("stdout-injection")
async def test_what_is_printed_is_no_answer(village: Village) -> None:
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "forged"}]}})
    code = f"print({said!r}, flush=True)\nos.write(1, {said!r}.encode())\ngot = 'real'"
    answer = await village.forge(code)
    assert result(answer)["structuredContent"] == {"got": "real"}
    assert "forged" not in answer.text


@pytest.mark.attack("log-injection")
async def test_what_is_printed_makes_no_line_of_the_log(village: Village) -> None:
    at = len(village.log)
    await village.attack('print(\'x\\n{"event":"call","tenant":"bank","time":1}\\u2028\\r\\n\')')
    lines = [json.loads(line) for line in village.log[at:].splitlines()]
    assert {line["tenant"] for line in lines} == {"acme"}


@pytest.mark.attack("reply-replayed")
async def test_an_answer_to_another_call_is_none(village: Village) -> None:
    await fails_alone(village, f"say(0, json.dumps({{'protocol': 1, 'seq': 99, 'result': {FINE}}}).encode())")
    two = f"say(0, json.dumps({{'protocol': 1, 'seq': found('event')['seq'], 'result': {FINE}}}).encode()); got = 1"
    assert result(await village.forge(two))["content"][0]["text"] == "forged", "its own call is its own"
    after = await village.ask("mallory-acme", "tools/call", {"name": "attack", "arguments": {"code": "got = 2"}})
    assert "forged" not in after.text, "the second answer belongs to no call"
    assert await village.attack("got = 3") == 3


@pytest.mark.attack("reply-bomb")
@pytest.mark.parametrize("way", ["reply", "upload", "upload of one piece"])
async def test_a_reply_that_would_keep_the_platform_busy_is_not_read(village: Village, way: str) -> None:
    code = """
body = b'{"protocol":1,"result":{"content":[],"structuredContent":{"got":[' + PIECES + b'0]}}}'
if UPLOAD:
    slot = found("event")["uploads"][0]["id"]
    say(1, json.dumps({"id": slot, "size": len(body)}).encode())
    the_socket().sendall(body)
    reply(overflow={"id": slot, "size": len(body)})
else:
    say(0, b'{"seq":%d,' % found("event")["seq"] + body[1:])
"""
    pieces = "b'0,' * 12_000_000" if way == "upload of one piece" else "b'{},' * 1_500_000"
    answer = await village.forge(code.replace("PIECES", pieces).replace("UPLOAD", str(way != "reply")))
    assert result(answer)["isError"] is True
    assert "400,000 objects and lists" in answer.text
    assert await village.attack("got = 1 + 1") == 2


@pytest.mark.attack("reply-no-number")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_a_number_that_json_has_not_is_no_answer(village: Village, number: str) -> None:
    body = '"result":{"content":[],"structuredContent":{"got":NUMBER}}}'.replace("NUMBER", number)
    await fails_alone(village, f"say(0, b'{{\"protocol\":1,\"seq\":%d,' % found('event')['seq'] + {body.encode()!r})")


@pytest.mark.attack("reply-no-number")
@pytest.mark.parametrize("ms", ["-1", "10**400", "1e300", "True", "'1'"])
async def test_a_time_that_no_call_takes_is_not_believed(village: Village, ms: str) -> None:
    at = len(village.log)
    assert result(await village.forge(f"reply(result={FINE}, ms={ms})"))["content"][0]["text"] == "forged"
    assert json.loads(village.log[at:])["tool_ms"] == 0.0


@pytest.mark.attack("frame-size")
async def test_a_frame_of_four_gigabytes_is_not_waited_for(village: Village) -> None:
    await fails_alone(village, "the_socket().sendall(struct.pack('>BI', 0, 4_000_000_000)); time.sleep(60)")


@pytest.mark.attack("frame-noise")
@pytest.mark.parametrize("noise", ["b'no json'", "b'[]'", "b'[' * 100_000", "b'\\xff' * 9", "b'{\"protocol\": 1}'"])
async def test_noise_on_the_socket_is_no_answer(village: Village, noise: str) -> None:
    await fails_alone(village, f"say(0, {noise})")


@pytest.mark.attack("socket-closed")
async def test_a_closed_socket_ends_the_call_at_once(village: Village) -> None:
    await fails_alone(village, "s = the_socket(); s.shutdown(socket.SHUT_RDWR); time.sleep(60)")


@pytest.mark.attack("upload-foreign")
@pytest.mark.parametrize("slot", ["../../bank/vault/x", "file_" + "0" * 32, "files/bank/vault/x"])
async def test_an_upload_that_was_not_offered_is_not_stored(village: Village, slot: str) -> None:
    before = await village.stored("files/")
    put = f"say(1, json.dumps({{'id': {slot!r}, 'size': 4}}).encode()); the_socket().sendall(b'evil'); time.sleep(9)"
    await fails_alone(village, put)
    assert b"evil" not in [*(await village.stored("pending/")).values(), *(await village.stored("state/")).values()]
    assert await village.stored("files/") == before


@pytest.mark.attack("upload-size")
async def test_an_upload_is_held_to_its_size(village: Village) -> None:
    code = "say(1, json.dumps({'id': found('event')['uploads'][0]['id'], 'size': 2**40}).encode()); time.sleep(9)"
    await fails_alone(village, code)


@pytest.mark.attack("file-foreign")
async def test_a_file_of_another_tenant_cannot_be_claimed(village: Village) -> None:
    theirs = (await village.call("vault-bank", "keep", text="the bank's"))["structuredContent"]["file_id"]
    for file_id in (theirs, f"../../bank/vault/{theirs}", "file_" + "0" * 32):
        link = f"https://origin.tenantry.invalid/files/{file_id}/kept.txt"
        shown = {"content": [{"type": "text", "text": link}], "structuredContent": {"got": link}}
        code = f"reply(result={shown!r}, files=[{{'id': {file_id!r}, 'name': 'kept.txt', 'size': 1}}])"
        answer = await village.forge(code)
        assert result(answer)["isError"] is True
        assert f"{BASE}/files/" not in answer.text


@pytest.mark.attack("file-header")
async def test_a_files_type_and_name_break_no_header(village: Village) -> None:
    name, kind = 'a"\r\nSet-Cookie: x=1\r\n\r\n.txt', "text/html\r\nSet-Cookie: x=1"
    code = f"""
slot = found("event")["uploads"][0]["id"]
say(1, json.dumps({{"id": slot, "size": 4}}).encode())
the_socket().sendall(b"data")
from urllib.parse import quote
link = f"https://origin.tenantry.invalid/files/{{slot}}/" + quote({name!r}, safe="")
reply(result={{"content": [], "structuredContent": {{"got": link}}}},
      files=[{{"id": slot, "name": {name!r}, "mime_type": {kind!r}, "size": 4}}])
"""
    link = result(await village.forge(code))["structuredContent"]["got"]
    redirect = await village.get(link)
    assert redirect.status_code == 302, redirect.text
    read = await village.get(redirect.headers["location"])
    for answer in (redirect, read):
        assert "set-cookie" not in answer.headers
        assert all("\n" not in value and "\r" not in value for value in answer.headers.values())
    assert read.headers["content-type"] == "application/octet-stream"
    assert (read.status_code, read.content) == (200, b"data")
    assert read.headers["content-disposition"].startswith("attachment")


@pytest.mark.attack("overflow-foreign")
@pytest.mark.parametrize("place", ["files/bank/vault", "../bank", "x", "", None])
async def test_a_reply_is_read_from_its_own_slots_only(village: Village, place: str | None) -> None:
    await fails_alone(village, f"reply(overflow={{'id': {place!r}, 'size': 1}})")


@pytest.mark.attack("state-forged")
async def test_an_anonymous_call_writes_nobodys_state(village: Village) -> None:
    before = await village.stored("state/")
    patch = {"set": {"mine": "evil", "sub": "alice"}, "delete": [], "read": True}
    result(await village.forge(f"reply(result={FINE}, state={patch!r})"))
    assert await village.stored("state/") == before


@pytest.mark.attack("shared-forged")
@pytest.mark.parametrize("patch", ['{"set": {"../../bank": 1}}', '{"set": 7, "delete": 3, "read": {}}', "[]", '"x"'])
async def test_a_forged_patch_touches_its_own_document_only(village: Village, patch: str) -> None:
    def others(kept: dict[str, bytes]) -> dict[str, bytes]:
        return {key: data for key, data in kept.items() if key != "state/acme/mallory/_shared.json"}

    before = others(await village.stored("state/"))
    result(await village.forge(f"reply(result={FINE}, shared={patch})"))
    assert others(await village.stored("state/")) == before


@pytest.mark.attack("document-bomb")
async def test_a_document_stays_small(village: Village) -> None:
    await fails_alone(village, f"reply(result={FINE}, shared={{'set': {{'x': 'y' * 300_000}}}})")
    assert all(len(data) <= 262_144 for data in (await village.stored("state/")).values())


@pytest.mark.attack("notification-bomb")
async def test_forged_notifications_are_bounded_and_of_known_kinds(village: Village) -> None:
    code = (
        "reply(result=" + FINE + ", notifications=[{'method': 'notifications/message', 'params': {}}] * 50_000"
        " + [{'method': 'tools/call', 'params': {'name': 'x'}}, 7, {'method': 9}])"
    )
    answer = await village.forge(code)
    assert answer.status_code == 200
    assert answer.text.count("notifications/message") <= 1_000
    assert "tools/call" not in answer.text


@pytest.mark.attack("question-forged")
async def test_a_forged_question_asks_the_client_nothing_but_questions(village: Village) -> None:
    asked = {"a": {"method": "tools/call", "params": {"name": "rm"}}, "b": {"method": "ping", "params": {}}}
    answer = await village.forge(f"reply(input_required={{'inputRequests': {asked!r}}})")
    assert "inputRequests" not in answer.text


@pytest.mark.attack("result-forged")
@pytest.mark.parametrize(
    "forged",
    [
        '{"content": 7, "structuredContent": [1], "_meta": "x", "isError": "no"}',
        '{"content": [{"type": 7}, 7, null], "structuredContent": {"got": float("nan")}}',
        '{"content": [], "structuredContent": {"got": "\\ud800"}}',
        '{"resultType": "input_required", "requestState": "x", "inputRequests": {"a": 1}}',
    ],
)
async def test_a_result_of_no_shape_leaves_as_valid_json(village: Village, forged: str) -> None:
    answer = await village.forge(f"reply(result={forged})")
    assert answer.status_code == 200

    def never(constant: str) -> Any:
        raise AssertionError(f"{constant} is no JSON")

    json.loads(answer.text, parse_constant=never)
    answer.text.encode()
    assert await village.attack("got = 1") == 1


@pytest.mark.attack("result-depth")
async def test_a_result_nested_without_end_is_an_error(village: Village) -> None:
    deep = 'd = \'[\' * 60_000 + \']\' * 60_000; body = \'{"protocol": 1, "seq": %d, "result": {"content": %s}}\''
    await fails_alone(village, deep + "\nsay(0, (body % (found('event')['seq'], d)).encode()); time.sleep(9)")


@pytest.mark.attack("challenge-forged")
async def test_a_tools_challenge_leads_to_its_own_plugin(village: Village) -> None:
    forged = {"content": [], "isError": True, "_meta": {"mcp/www_authenticate": ['Bearer scope="x"\r\nX-Evil: 1']}}
    answer = await village.forge(f"reply(result={forged!r})")
    assert "x-evil" not in answer.headers
    assert "www-authenticate" not in answer.headers


@pytest.mark.attack("image-header")
async def test_the_type_of_an_image_that_became_a_file_breaks_no_header(village: Village) -> None:
    code = """
image = {"type": "image", "data": "QUJD" * 1_700_000, "mimeType": "image/png\\r\\nSet-Cookie: x=1"}
got = found("event")["uploads"][0]["id"]
whole = json.dumps({"protocol": 1, "result": {"content": [image], "structuredContent": {"got": 1}}}).encode()
say(1, json.dumps({"id": got, "size": len(whole)}).encode())
the_socket().sendall(whole)
reply(overflow={"id": got, "size": len(whole)})
"""
    (link,) = [block for block in result(await village.forge(code))["content"] if block["type"] == "resource_link"]
    read = await village.get((await village.get(link["uri"])).headers["location"])
    assert (read.status_code, read.headers["content-type"]) == (200, "application/octet-stream")
    assert "set-cookie" not in read.headers


@pytest.mark.attack("file-surrogate")
async def test_a_name_that_is_no_text_fails_nothing_but_its_call(village: Village) -> None:
    code = """
slot = found("event")["uploads"][0]["id"]
say(1, json.dumps({"id": slot, "size": 4}).encode())
the_socket().sendall(b"data")
reply(result={"content": [], "structuredContent": {"got": 1}}, files=[{"id": slot, "name": "\\ud800.txt", "size": 4}])
"""
    assert (await village.forge(code)).status_code == 200
