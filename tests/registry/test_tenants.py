"""Tenants, their tokens and the audit, from creation to erasure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from tenantry_registry import audit, plans
from tenantry_registry.audit import Actor, Audit
from tenantry_registry.errors import Conflict, PlatformError, StorageDown
from tenantry_registry.issuers import Issuers
from tenantry_registry.names import Name
from tenantry_registry.objects import JSON, Objects
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.pointer import Pointer
from tenantry_registry.pointer import key as pointer_key
from tenantry_registry.registry import Registry
from tenantry_registry.tenants import Tenants, Trust
from tenantry_registry.tokens import Principal, Tokens, trusting

NOW = 1_800_000_000.0
DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def objects(tmp_path: Path) -> FileObjects:
    return FileObjects(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def code(refused: pytest.ExceptionInfo[PlatformError]) -> str:
    return refused.value.code


class TestTenants:
    async def test_a_name_is_given_once(self, objects: FileObjects) -> None:
        house = Tenants(objects)
        made = await house.create("acme", title="Acme Ltd")
        assert made.state == "active"
        assert (await house.show("acme")) == made
        with pytest.raises(PlatformError) as refused:
            await house.create("acme")
        assert code(refused) == "tenant.taken"
        assert [tenant.slug async for tenant in house.all()] == ["acme"]
        assert await house.find("other") is None

    @pytest.mark.parametrize(
        ("slug", "plan", "expected"),
        [("Acme!", "free", "name.tenant"), ("acme", "golden", "plan.unknown")],
    )
    async def test_what_can_not_be_created_is_refused(
        self, objects: FileObjects, slug: str, plan: str, expected: str
    ) -> None:
        with pytest.raises(PlatformError) as refused:
            await Tenants(objects).create(slug, plan=plan)
        assert code(refused) == expected

    async def test_limits_are_the_plans_and_what_overrides_them(self, objects: FileObjects) -> None:
        house = Tenants(objects)
        await house.create("acme", plan="free")
        changed = await house.change("acme", limits={"in_flight": 7})
        assert changed.allows().in_flight == 7
        assert changed.allows().plugins == plans.PLANS["free"].plugins
        assert (await house.change("acme", limits={"in_flight": 7})) == changed
        for wrong in ({"in_flight": 0}, {"in_flight": True}, {"wings": 2}):
            with pytest.raises(PlatformError) as refused:
                await house.change("acme", limits=wrong)
            assert code(refused) == "plan.limit"

    async def test_a_suspended_tenants_plugins_are_suspended_with_it(self, objects: FileObjects) -> None:
        house, registry, zoo = Tenants(objects), Registry(objects), Name("acme", "zoo")
        await house.create("acme")
        await objects.swap(pointer_key(zoo), Pointer().to_json(), expected=None)

        async def state() -> str:
            pointer = await registry.current(zoo)
            assert pointer is not None
            return pointer.state

        await house.suspend("acme")
        assert await state() == "suspended"
        await house.resume("acme")
        assert await state() == "active"
        await house.delete("acme")
        assert await state() == "suspended"
        with pytest.raises(PlatformError) as refused:
            await house.suspend("acme")
        assert code(refused) == "tenant.deleted"
        await house.resume("acme")
        assert await state() == "active"

    async def test_after_the_grace_period_nothing_is_left_and_the_name_is_gone(
        self, objects: FileObjects, clock: Clock, tmp_path: Path
    ) -> None:
        house, book = Tenants(objects, now=clock), Audit(objects, now=clock)
        for slug in ("acme", "beta"):
            await house.create(slug)
            await book.record(Actor("operator"), "tenant.create", tenant=slug)
            for room in ("bundles", "secrets", "files", "state"):
                await objects.put_once(f"{room}/{slug}/zoo/one", b"theirs", JSON)
        await house.delete("acme", grace_days=2)
        clock.now += DAY
        with pytest.raises(PlatformError) as refused:
            await house.erase("acme")
        assert code(refused) == "tenant.not-due"
        due = datetime.fromtimestamp(clock.now + DAY, UTC)
        assert refused.value.hint == f"Its grace period ends on {due:%Y-%m-%d at %H:%M} UTC."
        clock.now += DAY
        assert await house.erase("acme") == 6
        left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*@")]
        assert not [path for path in left if "acme" in path]
        assert len([path for path in left if "/beta" in path]) == 6
        with pytest.raises(PlatformError) as refused:
            await house.create("acme")
        assert code(refused) == "tenant.taken"
        stored = await objects.get(audit.tombstone("acme"))
        assert stored is not None
        assert "acme" not in stored.data.decode()

    async def test_an_active_tenant_is_never_erased(self, objects: FileObjects) -> None:
        house = Tenants(objects)
        await house.create("acme")
        with pytest.raises(PlatformError) as refused:
            await house.erase("acme")
        assert code(refused) == "tenant.not-due"
        assert refused.value.hint == "Delete it first: platform tenants delete acme"
        with pytest.raises(PlatformError) as refused:
            await house.erase("other")
        assert code(refused) == "tenant.unknown"
        with pytest.raises(PlatformError) as refused:
            await house.suspend("other")
        assert code(refused) == "tenant.unknown"

    async def test_what_vanishes_while_it_is_listed_is_left_out(self, objects: FileObjects) -> None:
        class Vanishing:
            """Whatever is listed is gone when it is read."""

            def list(self, prefix: str) -> Any:
                return objects.list(prefix)

            async def get(self, key: str) -> None:
                return None

            async def delete(self, key: str) -> None:
                return None

        await Tenants(objects).create("acme")
        _, token = await Tokens(objects).issue("acme", scopes=["read"])
        vanishing: Objects = Vanishing()  # type: ignore[assignment]
        assert [tenant async for tenant in Tenants(vanishing).all()] == []
        assert await Tokens(vanishing).list("acme") == []
        with pytest.raises(PlatformError) as refused:
            await Tokens(vanishing).revoke("acme", token.id)
        assert code(refused) == "token.unknown"

    async def test_a_change_that_loses_every_race_says_so(self, objects: FileObjects) -> None:
        class Contested:
            """Somebody else always gets there first."""

            def __getattr__(self, verb: str) -> Any:
                return getattr(objects, verb)

            async def swap(self, *_: Any, **__: Any) -> str:
                raise Conflict("Somebody was faster.")

        await Tenants(objects).create("acme")
        contested: Objects = Contested()  # type: ignore[assignment]
        with pytest.raises(Conflict):
            await Tenants(contested).suspend("acme")
        assert (await Tenants(objects).show("acme")).state == "active"

    async def test_what_is_kept_elsewhere_goes_before_the_tenant_and_erasing_may_be_repeated(
        self, objects: FileObjects
    ) -> None:
        async def down(slug: str) -> None:
            raise StorageDown("The table does not answer.")

        async def note(slug: str) -> None:
            gone.append(slug)

        gone: list[str] = []
        house = Tenants(objects)
        await house.create("acme")
        await house.delete("acme", grace_days=0)
        with pytest.raises(StorageDown):
            await house.erase("acme", also=down)
        await house.erase("acme", also=note)
        assert gone == ["acme"]
        assert await house.find("acme") is None

    async def test_of_two_that_suspend_and_resume_at_once_all_plugins_are_as_the_tenant_is(
        self, objects: FileObjects
    ) -> None:
        """The suspension stands still before it comes to the second plugin; the tenant is resumed meanwhile."""

        class Halting:
            def __getattr__(self, verb: str) -> Any:
                return getattr(objects, verb)

            async def swap(self, key: str, data: bytes, **more: Any) -> str:
                if key == "plugins/acme/two.json" and not halted.is_set():
                    halted.set()
                    await go_on.wait()
                return await objects.swap(key, data, **more)

        halted, go_on = asyncio.Event(), asyncio.Event()
        await Tenants(objects).create("acme")
        registry = Registry(objects)
        for plugin in ("one", "two"):
            await registry.reserve(Name("acme", plugin))
        halting: Objects = Halting()  # type: ignore[assignment]
        suspending = asyncio.create_task(Tenants(halting).suspend("acme"))
        await halted.wait()
        await Tenants(objects).resume("acme")
        go_on.set()
        assert (await suspending).state == "active"
        assert [pointer.state for _, pointer in await registry.every("acme")] == ["active", "active"]

    async def test_limits_are_numbers_that_every_database_can_count_with(self, objects: FileObjects) -> None:
        await Tenants(objects).create("acme")
        for wrong in (0, 10**15 + 1, True):
            with pytest.raises(PlatformError) as refused:
                await Tenants(objects).change("acme", limits={"in_flight": wrong})
            assert code(refused) == "plan.limit"


class TestTokens:
    async def test_two_that_start_at_once_both_find_the_operators_token(self, objects: FileObjects) -> None:
        text = "tno_" + "z" * 43
        await asyncio.gather(*(Tokens(objects).ensure(text) for _ in range(4)))
        assert len(await Tokens(objects).list(None)) == 1

    async def test_revoking_reads_one_token_of_many(self, objects: FileObjects) -> None:
        class Counted:
            reads = 0

            def __getattr__(self, verb: str) -> Any:
                return getattr(objects, verb)

            async def get(self, key: str) -> Any:
                self.reads += 1
                return await objects.get(key)

        await Tenants(objects).create("acme")
        issued = [(await Tokens(objects).issue("acme", scopes=["read"]))[1] for _ in range(20)]
        counted: Any = Counted()
        assert await Tokens(counted).revoke("acme", issued[7].id) == issued[7]
        assert counted.reads == 1
        for wrong in (issued[7].id, issued[3].id[:4], ""):
            with pytest.raises(PlatformError) as refused:
                await Tokens(objects).revoke("acme", wrong)
            assert code(refused) == "token.unknown"
            assert refused.value.hint == "See: platform tokens list acme"
        with pytest.raises(PlatformError) as refused:
            await Tokens(objects).revoke(None, issued[7].id)
        assert refused.value.hint == "See: platform tokens list"
        assert len(await Tokens(objects).list("acme")) == 19

    async def test_a_token_is_shown_once_and_kept_as_a_hash(self, objects: FileObjects) -> None:
        await Tenants(objects).create("acme")
        desk = Tokens(objects)
        text, token = await desk.issue("acme", scopes=["publish"], label="laptop")
        assert text.startswith("tnt_acme_")
        stored = [await objects.get(listed.key) async for listed in objects.list("tokens/acme/")]
        assert all(one is not None and text.encode() not in one.data for one in stored)
        who = await desk.principal(text)
        assert who == Principal("acme", ("publish",), f"token:{token.id}")
        assert [one.public() for one in await desk.list("acme")] == [token.public()]
        assert "sha256" not in token.public()

    async def test_a_token_acts_on_its_own_tenant_within_its_scopes(self) -> None:
        publisher = Principal("acme", ("publish",), "token:1")
        assert publisher.may("read", "acme")
        assert publisher.may("publish", "acme")
        assert not publisher.may("admin", "acme")
        assert not publisher.may("read", "beta")
        assert not publisher.may("read", None)
        assert not Principal("acme", (), "token:2").may("read", "acme")
        assert Principal(None, ("admin",), "token:3").may("admin", None)

    async def test_an_operators_token_belongs_to_no_tenant(self, objects: FileObjects) -> None:
        desk = Tokens(objects)
        text, _ = await desk.issue(None, scopes=["admin"])
        assert (await desk.principal(text)).tenant is None
        made = "tno_" + "x" * 43
        await desk.adopt(made)
        assert (await desk.principal(made)).may("admin", "acme")
        for _ in range(2):
            await desk.ensure("tno_" + "y" * 43)
        assert len(await desk.list(None)) == 3
        for wrong in ("tnt_acme_" + "x" * 43, "hello"):
            with pytest.raises(PlatformError) as refused:
                await desk.adopt(wrong)
            assert code(refused) == "token.form"

    async def test_tokens_end_by_time_and_by_hand(self, objects: FileObjects, clock: Clock) -> None:
        await Tenants(objects).create("acme")
        desk = Tokens(objects, now=clock)
        brief, _ = await desk.issue("acme", scopes=["read"], days=1)
        other, kept = await desk.issue("acme", scopes=["read"])
        clock.now += DAY
        with pytest.raises(PlatformError) as refused:
            await desk.principal(brief)
        assert code(refused) == "token.refused"
        await desk.revoke("acme", kept.id)
        with pytest.raises(PlatformError) as refused:
            await desk.principal(other)
        assert code(refused) == "token.refused"
        with pytest.raises(PlatformError) as refused:
            await desk.revoke("acme", kept.id)
        assert code(refused) == "token.unknown"

    @pytest.mark.parametrize("scopes", [[], ["root"]])
    async def test_a_token_needs_a_known_scope(self, objects: FileObjects, scopes: list[str]) -> None:
        with pytest.raises(PlatformError) as refused:
            await Tokens(objects).issue(None, scopes=scopes)
        assert code(refused) == "token.scope"

    @pytest.mark.parametrize("text", ["", "tnt_acme_" + "x" * 43, "tno_" + "x" * 43, "a.b.c", "tnt_../x_" + "x" * 43])
    async def test_what_proves_nothing_is_refused_alike(self, objects: FileObjects, text: str) -> None:
        with pytest.raises(PlatformError) as refused:
            await Tokens(objects).principal(text, tenant="acme")
        assert code(refused) == "token.refused"


ISSUER = "https://ci.example"
KEY = RSAKey.generate_key(2048, {"kid": "one"})
AUDIENCE = "https://api.plugins.example.com"


class TestIdentities:
    async def web(self, url: str, *, form: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        if "down" in url:
            raise PlatformError("fetch.status", "It answered 500.")
        if url.endswith("/keys"):
            return json.dumps({"keys": [KEY.as_dict(private=False)]}).encode()
        return json.dumps({"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"}).encode()

    def identity(self, **claims: Any) -> str:
        stated = {"iss": ISSUER, "aud": AUDIENCE, "sub": "repo:acme/zoo", "exp": NOW + 60, **claims}
        return jwt.encode({"alg": "RS256", "kid": "one"}, stated, KEY)

    async def desk(self, objects: FileObjects, *trust: Trust) -> Tokens:
        house = Tenants(objects)
        await house.create("acme")
        await trusting(house, "acme", trust)
        issuers = Issuers(self.web, clock=lambda: NOW)
        return Tokens(objects, issuers=issuers, audience=AUDIENCE, now=lambda: NOW)

    async def test_a_trusted_identity_needs_no_token_of_ours(self, objects: FileObjects) -> None:
        desk = await self.desk(objects, Trust(ISSUER, {"repository": "acme/zoo", "ref": "refs/tags/*"}))
        good = self.identity(repository="acme/zoo", ref="refs/tags/v1")
        assert await desk.principal(good, tenant="acme") == Principal("acme", ("publish",), "ci:repo:acme/zoo")

    @pytest.mark.parametrize(
        "claims",
        [
            {"repository": "evil/zoo", "ref": "refs/tags/v1"},
            {"repository": "acme/zoo", "ref": "refs/heads/x"},
            {"repository": "acme/zoo", "ref": 7},
            {"repository": "acme/zoo", "ref": "refs/tags/v1", "aud": "https://else.example"},
            {},
        ],
    )
    async def test_any_other_identity_is_refused(self, objects: FileObjects, claims: dict[str, Any]) -> None:
        desk = await self.desk(objects, Trust(ISSUER, {"repository": "acme/zoo", "ref": "refs/tags/*"}))
        with pytest.raises(PlatformError) as refused:
            await desk.principal(self.identity(**claims), tenant="acme")
        assert code(refused) == "token.refused"

    async def test_an_identity_that_names_no_tenant_or_an_unknown_one_is_refused(self, objects: FileObjects) -> None:
        desk = await self.desk(objects, Trust(ISSUER, {"repository": "acme/zoo"}))
        for tenant in (None, "beta"):
            with pytest.raises(PlatformError) as refused:
                await desk.principal(self.identity(repository="acme/zoo"), tenant=tenant)
            assert code(refused) == "token.refused"

    async def test_a_provider_that_is_down_is_not_called_a_bad_token(self, objects: FileObjects) -> None:
        desk = await self.desk(objects, Trust("https://down.example", {"repository": "acme/zoo"}))
        with pytest.raises(PlatformError) as refused:
            await desk.principal(self.identity(), tenant="acme")
        assert code(refused) == "auth.issuer-unavailable"

    @pytest.mark.parametrize(
        ("trust", "expected"),
        [
            (Trust("http://ci.example", {"a": "b"}), "token.trust"),
            (Trust(ISSUER, {}), "token.trust"),
            (Trust(ISSUER, {"repository": "*"}), "token.trust"),
            (Trust(ISSUER, {"repository": "acme/zoo", "ref": ""}), "token.trust"),
            (Trust(ISSUER, {"a": "b"}, ()), "token.scope"),
            (Trust(ISSUER, {"a": "b"}, ("root",)), "token.scope"),
        ],
    )
    async def test_a_trust_that_would_trust_everybody_is_refused(
        self, objects: FileObjects, trust: Trust, expected: str
    ) -> None:
        with pytest.raises(PlatformError) as refused:
            await self.desk(objects, trust)
        assert code(refused) == expected


class TestAudit:
    async def test_entries_are_added_in_order_and_never_changed(self, objects: FileObjects, clock: Clock) -> None:
        book = Audit(objects, now=clock)
        for number in range(3):
            clock.now += 1
            await book.record(
                Actor("token:1", "192.0.2.1"), "plan.change", tenant="acme", target="acme", after={"n": number}
            )
        clock.now += DAY
        await book.record(Actor("operator"), "tenant.suspend", tenant="acme")
        await book.record(Actor("operator"), "platform.deploy")
        found = await book.entries("acme")
        assert [entry["after"] and entry["after"]["n"] for entry in found] == [0, 1, 2, None]
        assert found[0]["source"] == "192.0.2.1"
        assert len(await book.entries("acme", day="2027/01/15")) == 3
        assert len(await book.entries(audit.PLATFORM)) == 1
        assert not await book.buried("acme")

    def test_names_of_entries_sort_by_time(self) -> None:
        names = [audit.ulid(NOW + n) for n in range(5)]
        assert sorted(names) == names
        assert len(names[0]) == 26
