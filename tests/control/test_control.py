"""The control plane as its callers see it."""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import date
from typing import Any

import pytest
from tenantry_gateway.log import Log
from tenantry_registry.errors import PlatformError
from tenantry_registry.jobs import ALIVE
from tenantry_registry.names import Name
from tenantry_registry.registry import Registry

ZOO = Name("acme", "zoo")
NOW = 1_800_000_000.0


async def current(house: Any) -> str | None:
    pointer = await Registry(house.objects).current(ZOO)
    return pointer.current if pointer else None


class TestPublishing:
    async def test_a_bundle_becomes_the_current_release(self, house: Any) -> None:
        data = house.bundle()
        ended = await house.publish(data, token=await house.token("acme", "publish"))
        assert ended["state"] == "done"
        assert [step["code"] for step in ended["steps"]] == ["read", "described", "checked", "stored", "released"]
        assert await current(house) == hashlib.sha256(data).hexdigest()
        assert not [key async for key in house.objects.list("uploads/acme/zoo/")]

    async def test_a_bundle_that_is_stored_already_is_not_uploaded_again(self, house: Any) -> None:
        data = house.bundle()
        await house.publish(data)
        await house.publish(house.bundle("plugin = 2\n"))
        body = {"digest": hashlib.sha256(data).hexdigest(), "size": len(data)}
        started = await house.call("POST", "/v1/plugins/acme/zoo/publishes", status=201, json=body)
        assert started["upload"] is None
        ended = await house.publish(data)
        assert ended["result"]["changed"] is True
        assert await current(house) == body["digest"]

    async def test_an_upload_takes_nothing_but_what_was_announced(self, house: Any) -> None:
        data = house.bundle()
        body = {"digest": hashlib.sha256(data).hexdigest(), "size": len(data)}
        started = await house.call("POST", "/v1/plugins/acme/zoo/publishes", status=201, json=body)
        for wrong in (data + b"x", data[:-1]):
            with pytest.raises(PlatformError, match="upload"):
                await house.upload(started["upload"], wrong)
        again = await house.call("POST", f"/v1/plugins/acme/zoo/publishes/{started['id']}/upload")
        await house.upload(again["upload"], data[:-1] + b"x")
        await house.call("POST", f"/v1/plugins/acme/zoo/publishes/{started['id']}/finish", status=202)
        await house.publisher.aclose()
        ended = await house.call("GET", f"/v1/plugins/acme/zoo/publishes/{started['id']}")
        assert ended["error"]["code"] == "upload.digest"
        assert await current(house) is None

    async def test_finishing_twice_publishes_once(self, house: Any) -> None:
        data = house.bundle()
        base = "/v1/plugins/acme/zoo/publishes"
        body = {"digest": hashlib.sha256(data).hexdigest(), "size": len(data)}
        started = await house.call("POST", base, status=201, json=body)
        await house.upload(started["upload"], data)
        for _ in range(3):
            await house.call("POST", f"{base}/{started['id']}/finish", status=202)
        await house.publisher.aclose()
        ended = await house.call("POST", f"{base}/{started['id']}/finish", status=202)
        assert (ended["state"], ended["attempt"]) == ("done", 1)

    async def test_a_publish_without_an_upload_says_so(self, house: Any) -> None:
        base = "/v1/plugins/acme/zoo/publishes"
        started = await house.call("POST", base, status=201, json={"digest": "0" * 64, "size": 10})
        await house.call("POST", f"{base}/{started['id']}/finish", status=202)
        await house.publisher.aclose()
        ended = await house.call("GET", f"{base}/{started['id']}")
        assert ended["error"]["code"] == "upload.missing"

    async def test_a_failure_names_its_rule_and_leaves_the_current_release(self, house: Any) -> None:
        first = house.bundle()
        await house.publish(first)
        del house.runner.tool["annotations"]["openWorldHint"]
        ended = await house.publish(house.bundle("plugin = 2\n"))
        assert ended["state"] == "failed"
        assert ended["error"]["code"] == "publish.rules"
        assert ended["error"]["findings"][0]["code"] == "annotations_required"
        assert await current(house) == hashlib.sha256(first).hexdigest()

    async def test_a_fault_of_ours_shows_an_error_id_and_no_more(
        self, house: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        house.runner.fault = RuntimeError("secret path /var/x")
        with caplog.at_level(logging.ERROR):
            ended = await house.publish(house.bundle())
        assert ended["error"]["code"] == "internal"
        assert "secret" not in json.dumps(ended)
        assert "secret path" in caplog.text

    async def test_a_job_whose_worker_died_is_taken_up_again(self, house: Any) -> None:
        from tenantry_publisher.work import work
        from tenantry_registry.jobs import Jobs

        data, jobs = house.bundle(), Jobs(house.objects, now=house.clock)
        job = await jobs.start(ZOO, hashlib.sha256(data).hexdigest(), len(data), who="token:1")
        await jobs.finish_upload(ZOO, job.id)
        again = await house.call("POST", f"/v1/plugins/acme/zoo/publishes/{job.id}/upload")
        await house.upload(again["upload"], data)
        assert await jobs.take(ZOO, job.id) is not None  # and dies here
        assert (await jobs.finish_upload(ZOO, job.id)).state == "running"
        house.clock.now += ALIVE + 1
        assert (await jobs.finish_upload(ZOO, job.id)).state == "waiting"
        ended = await work(objects=house.objects, runner=house.runner, name=ZOO, job_id=job.id, now=house.clock)
        assert ended is not None
        assert (ended.state, ended.attempt) == ("done", 2)

    async def test_a_preview_is_not_current(self, house: Any) -> None:
        first = house.bundle()
        await house.publish(first)
        data = house.bundle("plugin = 2\n")
        await house.publish(data, preview_days=1)
        assert await current(house) == hashlib.sha256(first).hexdigest()
        shown = await house.call("GET", "/v1/plugins/acme/zoo")
        preview = next(r for r in shown["releases"] if r["digest"] == hashlib.sha256(data).hexdigest())
        assert preview["preview_until"] == house.clock.now + 86_400

    async def test_a_plan_bounds_the_number_of_plugins(self, house: Any) -> None:
        await house.call("PATCH", "/v1/tenants/acme", json={"limits": {"plugins": 1}})
        await house.publish(house.bundle())
        body = {"digest": "0" * 64, "size": 10}
        refused = await house.call("POST", "/v1/plugins/acme/two/publishes", status=409, json=body)
        assert refused["code"] == "plan.plugins"

    async def test_a_deleted_plugin_makes_room_for_another(self, house: Any) -> None:
        await house.call("PATCH", "/v1/tenants/acme", json={"limits": {"plugins": 1}})
        await house.publish(house.bundle())
        await house.call("DELETE", "/v1/plugins/acme/zoo")
        await house.publish(house.bundle(plugin="two"), name="acme/two")
        assert (await house.call("GET", "/v1/plugins/acme/two"))["current"]

    async def test_a_tenant_that_is_suspended_during_a_first_publish_is_not_served(self, house: Any) -> None:
        describe = house.runner.describe

        async def suspended(release: Any) -> Any:
            await house.call("POST", "/v1/tenants/acme/suspend")
            return await describe(release)

        house.runner.describe = suspended
        ended = await house.publish(house.bundle())
        assert ended["error"]["code"] == "registry.suspended"
        assert (await house.call("GET", "/v1/plugins/acme/zoo"))["state"] == "suspended"

    async def test_a_bundle_that_is_stored_already_is_not_read_to_know_it(self, house: Any) -> None:
        data, read = house.bundle(), []
        await house.publish(data)
        get = house.objects.get

        async def watched(key: str) -> Any:
            read.append(key)
            return await get(key)

        house.objects.get = watched
        body = {"digest": hashlib.sha256(data).hexdigest(), "size": len(data)}
        assert (await house.call("POST", "/v1/plugins/acme/zoo/publishes", status=201, json=body))["upload"] is None
        assert not [key for key in read if key.startswith("bundles/")]

    async def test_a_name_that_fits_no_dns_label_is_refused_before_the_upload(self, house: Any) -> None:
        long = "z" * 50
        refused = await house.call(
            "POST", f"/v1/plugins/acme/{long}/publishes", status=422, json={"digest": "0" * 64, "size": 10}
        )
        assert refused["code"] == "name.too-long"

    async def test_an_unknown_publish_is_not_found(self, house: Any) -> None:
        refused = await house.call("GET", f"/v1/plugins/acme/zoo/publishes/{'0' * 26}", status=404)
        assert refused["code"] == "publish.unknown"


class TestReleases:
    async def test_rollback_and_promotion_move_the_pointer(self, house: Any) -> None:
        digests = []
        for number in range(3):
            digests.append((await house.publish(house.bundle(f"plugin = {number}\n")))["digest"])
        back = await house.call("POST", "/v1/plugins/acme/zoo/rollback")
        assert back["current"] == digests[1]
        forward = await house.call("POST", f"/v1/plugins/acme/zoo/releases/{digests[2][:12]}/promote")
        assert forward["current"] == digests[2]
        assert len(forward["releases"]) == 3

    async def test_a_second_rollback_goes_further_back_and_never_forward(self, house: Any) -> None:
        digests = []
        for number in range(3):
            digests.append((await house.publish(house.bundle(f"plugin = {number}\n")))["digest"])
        await house.call("POST", "/v1/plugins/acme/zoo/rollback")
        back = await house.call("POST", "/v1/plugins/acme/zoo/rollback")
        assert back["current"] == digests[0]
        assert {one["digest"]: one["rolled_back"] for one in back["releases"]} == dict(
            zip(digests, (False, True, True), strict=True)
        )
        assert {one["version"] for one in back["releases"]} == {"0"}
        refused = await house.call("POST", "/v1/plugins/acme/zoo/rollback", status=404)
        assert refused["code"] == "registry.no-release"

    async def test_a_yanked_release_is_served_nowhere(self, house: Any) -> None:
        digest = (await house.publish(house.bundle()))["digest"]
        shown = await house.call("POST", f"/v1/plugins/acme/zoo/releases/{digest}/yank")
        assert shown["current"] is None
        refused = await house.call("POST", f"/v1/plugins/acme/zoo/releases/{digest}/promote", status=409)
        assert refused["code"] == "registry.yanked"
        refused = await house.call("POST", "/v1/plugins/acme/zoo/rollback", status=404)
        assert refused["code"] == "registry.no-release"

    async def test_a_release_can_be_looked_at_and_previewed(self, house: Any) -> None:
        digest = (await house.publish(house.bundle()))["digest"]
        shown = await house.call("GET", f"/v1/plugins/acme/zoo/releases/{digest[:12]}")
        assert shown["manifest"]["tools"][0]["name"] == "animals"
        previewed = await house.call("POST", f"/v1/plugins/acme/zoo/releases/{digest}/preview", json={"days": 2})
        assert previewed["releases"][0]["preview_until"] == house.clock.now + 2 * 86_400
        await house.call("GET", f"/v1/plugins/acme/zoo/releases/{'0' * 12}", status=404)

    async def test_a_deleted_plugins_name_is_never_given_again(self, house: Any) -> None:
        await house.publish(house.bundle())
        assert (await house.call("DELETE", "/v1/plugins/acme/zoo"))["state"] == "deleted"
        ended = await house.publish(house.bundle("plugin = 2\n"))
        assert ended["error"]["code"] == "registry.deleted"

    async def test_a_challenge_token_is_set_and_removed(self, house: Any) -> None:
        await house.publish(house.bundle())
        assert (await house.call("PUT", "/v1/plugins/acme/zoo/challenge", json={"token": "abc"}))["challenge"]
        assert not (await house.call("PUT", "/v1/plugins/acme/zoo/challenge", json={"token": ""}))["challenge"]

    async def test_pruning_says_how_much_it_removed(self, house: Any) -> None:
        await house.publish(house.bundle())
        assert await house.call("POST", "/v1/plugins/acme/zoo/prune") == {"objects": 0}

    async def test_a_tenants_plugins_are_listed(self, house: Any) -> None:
        await house.publish(house.bundle())
        await house.publish(house.bundle(plugin="farm"), name="acme/farm")
        assert [one["plugin"] for one in await house.call("GET", "/v1/plugins/acme")] == ["farm", "zoo"]
        refused = await house.call("GET", "/v1/plugins/acme/none", status=404)
        assert refused["code"] == "registry.unknown"


class TestTenants:
    async def test_a_suspended_tenant_publishes_nothing(self, house: Any) -> None:
        await house.publish(house.bundle())
        assert (await house.call("POST", "/v1/tenants/acme/suspend"))["state"] == "suspended"
        body = {"digest": "0" * 64, "size": 10}
        refused = await house.call("POST", "/v1/plugins/acme/zoo/publishes", status=403, json=body)
        assert refused["code"] == "tenant.suspended"
        assert (await house.call("GET", "/v1/plugins/acme/zoo"))["state"] == "suspended"
        assert (await house.call("POST", "/v1/tenants/acme/resume"))["state"] == "active"
        assert (await house.call("GET", "/v1/plugins/acme/zoo"))["state"] == "active"

    async def test_a_deleted_tenant_is_erased_when_its_time_has_come(self, house: Any) -> None:
        await house.publish(house.bundle())
        await house.call("DELETE", "/v1/tenants/acme", status=202, json={"grace_days": 1})
        refused = await house.call("POST", "/v1/tenants/acme/erase", status=409)
        assert refused["code"] == "tenant.not-due"
        house.clock.now += 86_400
        assert (await house.call("POST", "/v1/tenants/acme/erase"))["objects"] > 3
        await house.call("GET", "/v1/tenants/acme", status=404)
        refused = await house.call("POST", "/v1/tenants", status=409, json={"slug": "acme"})
        assert refused["code"] == "tenant.taken"

    async def test_tenants_are_listed_in_pages(self, house: Any) -> None:
        for slug in ("beta", "gamma"):
            await house.call("POST", "/v1/tenants", status=201, json={"slug": slug, "plan": "free"})
        first = await house.call("GET", "/v1/tenants?limit=2")
        assert [one["slug"] for one in first] == ["acme", "beta"]
        rest = await house.call("GET", "/v1/tenants?after=beta")
        assert [one["slug"] for one in rest] == ["gamma"]
        assert rest[0]["allows"]["plugins"] == 3

    async def test_trust_is_set_by_the_tenant_itself(self, house: Any) -> None:
        token = await house.token("acme", "admin")
        body = {"identities": [{"issuer": "https://ci.example", "claims": {"repository": "acme/zoo"}}]}
        shown = await house.call("PUT", "/v1/tenants/acme/trust", token=token, json=body)
        assert shown["trust"][0]["scopes"] == ["publish"]
        body["identities"][0]["claims"] = {}
        refused = await house.call("PUT", "/v1/tenants/acme/trust", token=token, status=422, json=body)
        assert refused["code"] == "token.trust"


class TestAccess:
    async def test_no_token_no_answer(self, house: Any) -> None:
        for token in ("", "nonsense", "tnt_acme_" + "x" * 43, "tno_" + "x" * 43):
            refused = await house.call("GET", "/v1/tenants/acme", token=token, status=401)
            assert refused["code"] == "token.refused"
        answer = await house.client.get("/v1/tenants/acme")
        assert answer.headers["www-authenticate"].startswith("Bearer")

    async def test_a_token_acts_on_its_own_tenant_only(self, house: Any) -> None:
        await house.call("POST", "/v1/tenants", status=201, json={"slug": "beta"})
        await house.publish(house.bundle(), name="acme/zoo")
        token = await house.token("beta", "admin")
        for method, path in [
            ("GET", "/v1/tenants/acme"),
            ("GET", "/v1/tenants"),
            ("GET", "/v1/plugins/acme"),
            ("GET", "/v1/plugins/acme/zoo"),
            ("POST", "/v1/plugins/acme/zoo/rollback"),
            ("GET", "/v1/tenants/acme/tokens"),
            ("DELETE", "/v1/plugins/acme/zoo"),
            ("GET", "/v1/tokens"),
            ("POST", "/v1/tenants/beta/suspend"),
        ]:
            refused = await house.call(method, path, token=token, status=403)
            assert refused["code"] == "access.denied"

    async def test_a_refusal_says_which_token_would_do(self, house: Any) -> None:
        reader = await house.token("acme", "read")
        for path, hint in [
            ("/v1/tenants", "It is a token of acme; this needs an operator's."),
            ("/v1/tenants/beta", "It is a token of acme; use one of beta."),
            ("/v1/tenants/acme/tokens", "It has the scope read; ask for a token with the scope admin."),
        ]:
            refused = await house.call("GET", path, token=reader, status=403)
            assert refused["hint"] == hint

    @pytest.mark.parametrize(
        ("claims", "source"),
        [
            ({"x-tenantry-viewer": "203.0.113.7", "x-tenantry-origin": "only CloudFront knows"}, "203.0.113.7"),
            ({"x-tenantry-viewer": "203.0.113.7", "x-tenantry-origin": "guessed"}, "192.0.2.7"),
            ({"x-tenantry-viewer": "203.0.113.7", "x-tenantry-origin": "gu\xe9ssed".encode("latin-1")}, "192.0.2.7"),
            ({"x-tenantry-viewer": "203.0.113.7"}, "192.0.2.7"),
        ],
    )
    async def test_the_audit_names_the_viewers_address_only_on_cloudfronts_word(
        self, house: Any, claims: dict[str, Any], source: str
    ) -> None:
        house.client.headers.update(claims)
        await house.call("POST", "/v1/tenants", status=201, json={"slug": "gamma"})
        (entry,) = await house.call("GET", "/v1/tenants/gamma/audit")
        assert entry["source"] == source

    async def test_a_scope_holds_those_before_it_and_no_other(self, house: Any) -> None:
        await house.publish(house.bundle())
        reader = await house.token("acme", "read")
        await house.call("GET", "/v1/plugins/acme/zoo", token=reader)
        await house.call("POST", "/v1/plugins/acme/zoo/rollback", token=reader, status=403)
        publisher = await house.token("acme", "publish")
        await house.call("GET", "/v1/plugins/acme/zoo", token=publisher)
        await house.call("DELETE", "/v1/plugins/acme/zoo", token=publisher, status=403)

    async def test_a_revoked_token_is_refused(self, house: Any) -> None:
        issued = await house.call("POST", "/v1/tenants/acme/tokens", status=201, json={"label": "laptop"})
        who = await house.call("GET", "/v1/whoami", token=issued["token"])
        assert who == {"tenant": "acme", "scopes": ["publish"], "who": f"token:{issued['id']}", "target": ""}
        listed = await house.call("GET", "/v1/tenants/acme/tokens")
        assert [(one["id"], one["label"]) for one in listed] == [(issued["id"], "laptop")]
        await house.call("DELETE", f"/v1/tenants/acme/tokens/{issued['id']}", status=204)
        await house.call("GET", "/v1/whoami", token=issued["token"], status=401)

    async def test_operators_tokens_are_issued_listed_and_revoked(self, house: Any) -> None:
        issued = await house.call("POST", "/v1/tokens", status=201, json={"scopes": ["admin"], "days": 1})
        assert len(await house.call("GET", "/v1/tokens", token=issued["token"])) == 2
        await house.call("DELETE", f"/v1/tokens/{issued['id']}", status=204)
        await house.call("GET", "/v1/whoami", token=issued["token"], status=401)


class TestTheBorder:
    @pytest.mark.parametrize(
        ("method", "path", "body", "status", "code"),
        [
            ("POST", "/v1/tenants", {"slug": "A!"}, 422, "name.tenant"),
            ("POST", "/v1/tenants", {"slug": 7}, 422, "request.invalid"),
            ("POST", "/v1/tenants/acme/tokens", {"scopes": ["write"]}, 422, "token.scope"),
            ("DELETE", "/v1/tenants/acme/tokens/nope", None, 404, "token.unknown"),
            ("PUT", "/v1/plugins/acme/zoo/secrets/bird-key", {"value": "x"}, 422, "secret.name"),
            ("DELETE", "/v1/plugins/acme/zoo/files/nope", None, 404, "file.unknown"),
            ("GET", "/v1/tenants/nosuch/usage", None, 404, "tenant.unknown"),
            ("GET", "/v1/plugins/Acme!/zoo", None, 422, "name.tenant"),
            ("POST", "/v1/tenants", {"slug": "beta", "wings": 2}, 422, "request.invalid"),
            ("POST", "/v1/tenants", {"slug": "beta", "plan": "golden"}, 422, "plan.unknown"),
            ("PATCH", "/v1/tenants/acme", {"limits": {"wings": 1}}, 422, "plan.limit"),
            ("GET", "/v1/nothing", None, 404, "request.unknown"),
            ("PUT", "/v1/tenants", None, 405, "request.method"),
        ],
    )
    async def test_a_refusal_has_a_code_a_sentence_and_a_status(
        self, house: Any, method: str, path: str, body: Any, status: int, code: str
    ) -> None:
        refused = await house.call(method, path, status=status, json=body)
        assert refused["code"] == code
        assert refused["message"].endswith(".")

    @pytest.mark.parametrize(
        ("path", "hint"),
        [
            ("/v1/tenants/acme/tokens/nope", "See: platform tokens list acme"),
            ("/v1/tokens/nope", "See: platform tokens list"),
            ("/v1/plugins/acme/zoo/files/nope", "See: platform files list acme/zoo"),
        ],
    )
    async def test_a_hint_says_whose_things_to_look_at(self, house: Any, path: str, hint: str) -> None:
        assert (await house.call("DELETE", path, status=404))["hint"] == hint

    async def test_every_change_is_in_the_audit(self, house: Any) -> None:
        from tenantry_registry.audit import Audit

        token = await house.token("acme", "publish")
        await house.publish(house.bundle(), token=token)
        await house.publish(house.bundle("plugin = 2\n"), token=token, preview_days=1)
        entries = await Audit(house.objects).entries("acme")
        by_action = {entry["action"]: entry for entry in entries}
        assert set(by_action) == {"tenant.create", "token.issue", "release.publish", "release.preview"}
        assert by_action["release.publish"]["who"].startswith("token:")
        assert by_action["release.publish"]["source"] == "192.0.2.7"
        assert token not in json.dumps(entries)

    async def test_health_needs_no_token(self, house: Any) -> None:
        assert await house.call("GET", "/v1/health", token="") == {"ok": True}


class TestSecrets:
    async def test_a_secret_is_set_named_and_removed_but_never_read(self, house: Any) -> None:
        token = await house.token("acme", "publish")
        value = "hush-hush-hush"
        await house.call("PUT", "/v1/plugins/acme/zoo/secrets/ZOO_KEY", token=token, status=204, json={"value": value})
        assert await house.call("GET", "/v1/plugins/acme/zoo/secrets", token=token) == [{"name": "ZOO_KEY"}]
        kept = b"".join(path.read_bytes() for path in (house.folder / "store").rglob("*") if path.is_file())
        assert value.encode() not in kept
        await house.call("DELETE", "/v1/plugins/acme/zoo/secrets/ZOO_KEY", token=token, status=204)
        assert await house.call("GET", "/v1/plugins/acme/zoo/secrets", token=token) == []

    async def test_a_long_secret_fits_and_a_reserved_name_does_not(self, house: Any) -> None:
        await house.call("PUT", "/v1/plugins/acme/zoo/secrets/PEM", status=204, json={"value": "x" * 32_768})
        refused = await house.call("PUT", "/v1/plugins/acme/zoo/secrets/AWS_KEY", status=422, json={"value": "x"})
        assert refused["code"] == "secret.name"

    async def test_a_plan_bounds_the_number_of_secrets(self, house: Any) -> None:
        await house.call("PATCH", "/v1/tenants/acme", json={"limits": {"secrets": 1}})
        await house.call("PUT", "/v1/plugins/acme/zoo/secrets/ONE", status=204, json={"value": "x"})
        refused = await house.call("PUT", "/v1/plugins/acme/zoo/secrets/TWO", status=409, json={"value": "x"})
        assert refused["code"] == "secret.too-many"

    async def test_a_reader_does_not_even_see_names(self, house: Any) -> None:
        await house.call("GET", "/v1/plugins/acme/zoo/secrets", token=await house.token("acme", "read"), status=403)


class TestRecords:
    async def test_usage_is_by_day_plugin_and_tool_and_is_erased_with_its_tenant(self, house: Any) -> None:
        await house.usage.add(ZOO, "animals", calls=2, errors=1, ms=30, bytes=500)
        (row,) = await house.call("GET", "/v1/tenants/acme/usage")
        assert row == {
            "day": "2027-01-15", "plugin": "zoo", "tool": "animals", "calls": 2, "errors": 1, "ms": 30, "bytes": 500
        }  # fmt: skip
        assert await house.call("GET", "/v1/tenants/acme/usage?first=2027-01-16") == []
        await house.call("DELETE", "/v1/tenants/acme", status=202, json={"grace_days": 0})
        await house.call("POST", "/v1/tenants/acme/erase")
        assert not await house.usage.read("acme", date(2027, 1, 1), date(2027, 2, 1))

    async def test_the_audit_is_read_by_its_tenant(self, house: Any) -> None:
        await house.call("PUT", "/v1/plugins/acme/zoo/secrets/KEY", status=204, json={"value": "hush-hush"})
        found = await house.call("GET", "/v1/tenants/acme/audit?day=2027", token=await house.token("acme", "admin"))
        assert {"tenant.create", "secret.set"} <= {entry["action"] for entry in found}
        assert "hush-hush" not in json.dumps(found)

    async def test_a_log_is_read_by_moment_error_and_session(self, house: Any) -> None:
        log = Log(house.logs, now=house.clock)
        for plugin, more in [("zoo", {"session": "s1"}), ("zoo", {"error_id": "e1"}), ("farm", {}), ("zoo", {})]:
            house.clock.now += 1
            log("call", tenant="acme", plugin=plugin, tool="animals", ms=1.5, **more)
        page = await house.call("GET", "/v1/plugins/acme/zoo/logs")
        assert [line["time"] - NOW for line in page["lines"]] == [1, 2, 4]
        assert page["next"] == NOW + 4
        for query, count in [("after=1800000002", 1), ("error_id=e1", 1), ("session=s1", 1), ("limit=2", 2)]:
            page = await house.call("GET", f"/v1/plugins/acme/zoo/logs?{query}")
            assert len(page["lines"]) == count
        assert (await house.call("GET", "/v1/plugins/acme/none/logs"))["lines"] == []

    async def test_old_log_files_go(self, house: Any) -> None:
        for _ in range(10):
            Log(house.logs, now=house.clock)("call", tenant="acme", plugin="zoo")
            house.clock.now += 86_400
        assert len(list((house.folder / "store" / "log").glob("*.jsonl"))) == 7

    async def test_files_are_listed_and_revoked(self, house: Any) -> None:
        from tenantry_registry import files
        from tenantry_registry.objects import Kind

        file_id = files.new_id(None)
        await house.objects.put_once(files.file_key(ZOO, file_id, "report.csv"), b"a,b", Kind("text/csv"))
        (found,) = await house.call("GET", "/v1/plugins/acme/zoo/files")
        assert (found["file_id"], found["name"], found["size"]) == (file_id, "report.csv", 3)
        await house.call("DELETE", f"/v1/plugins/acme/zoo/files/{file_id}", status=204)
        refused = await house.call("DELETE", f"/v1/plugins/acme/zoo/files/{file_id}", status=404)
        assert refused["code"] == "file.unknown"
