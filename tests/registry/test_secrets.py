"""Secrets: written by their owner, read by the sandbox's side only, in the clear nowhere between."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.names import Name
from tenantry_registry.objects import ANY, JSON, Objects
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.objects_s3 import S3Objects
from tenantry_registry.secrets import PLUGINS, VALUE_BYTES, Drawer, KeyFileCipher, Reader, secret_key

ZOO = Name("acme", "zoo")
VALUE = "sk-live-Zürich-123"


@pytest.fixture
def cipher(tmp_path: Path) -> KeyFileCipher:
    return KeyFileCipher(tmp_path / "keys" / "secrets.key")


@pytest.fixture
def drawer(files: FileObjects, cipher: KeyFileCipher) -> Drawer:
    return Drawer(files, cipher)


@pytest.fixture
def reader(files: FileObjects, cipher: KeyFileCipher) -> Reader:
    return Reader(files, cipher, seconds=0)


async def refused(awaitable: Any) -> str:
    with pytest.raises(PlatformError) as caught:
        await awaitable
    assert VALUE not in str(caught.value)
    return caught.value.code


async def test_what_was_put_is_read_by_the_plugins_own_side_only(drawer: Drawer, reader: Reader) -> None:
    await drawer.put(ZOO, "ZOO_API_KEY", VALUE)
    assert await reader.read(ZOO, ["ZOO_API_KEY", "OTHER", "ZOO_API_KEY"]) == {"ZOO_API_KEY": VALUE}
    assert await reader.read(Name("evil", "zoo"), ["ZOO_API_KEY"]) == {}
    assert await reader.read(Name("acme", "other"), ["ZOO_API_KEY"]) == {}
    assert {verb for verb in dir(drawer) if not verb.startswith("_")} == {"put", "names", "remove"}  # no way back


async def test_a_secret_can_be_replaced_listed_and_removed(drawer: Drawer, reader: Reader) -> None:
    await drawer.put(ZOO, "B", "1")
    await drawer.put(ZOO, "A", "1")
    await drawer.put(ZOO, "A", "2")
    assert await drawer.names(ZOO) == ["A", "B"]
    assert await reader.read(ZOO, ["A", "B"]) == {"A": "2", "B": "1"}
    await drawer.remove(ZOO, "A")
    await drawer.remove(ZOO, "A")
    assert await drawer.names(ZOO) == ["B"]
    assert await reader.read(ZOO, ["A"]) == {}


async def test_previews_get_what_their_owner_lets_them_have(drawer: Drawer, reader: Reader) -> None:
    await drawer.put(ZOO, "LIVE", VALUE)
    await drawer.put(ZOO, "SANDBOX", "test", previews=True)
    assert await reader.read(ZOO, ["LIVE", "SANDBOX"], preview=True) == {"SANDBOX": "test"}
    assert set(await reader.read(ZOO, ["LIVE", "SANDBOX"])) == {"LIVE", "SANDBOX"}


async def test_the_store_holds_no_secret_in_the_clear(
    drawer: Drawer, files: FileObjects, cipher: KeyFileCipher
) -> None:
    await drawer.put(ZOO, "KEY", VALUE)
    for path in files.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert VALUE.encode() not in content
            assert b"sk-live" not in content


async def test_the_same_value_is_never_the_same_bytes_and_none_can_stand_in_anothers_place(
    drawer: Drawer, reader: Reader, files: FileObjects
) -> None:
    await drawer.put(ZOO, "A", VALUE)
    await drawer.put(ZOO, "B", VALUE)
    one, two = await files.get(secret_key(ZOO, "A")), await files.get(secret_key(ZOO, "B"))
    assert one is not None
    assert two is not None
    assert one.data != two.data
    await files.swap(secret_key(Name("evil", "zoo"), "A"), one.data, expected=ANY)
    assert await refused(reader.read(Name("evil", "zoo"), ["A"])) == "secret.sealed"


async def test_another_key_file_or_a_changed_byte_opens_nothing(
    drawer: Drawer, files: FileObjects, tmp_path: Path, cipher: KeyFileCipher
) -> None:
    await drawer.put(ZOO, "A", VALUE)
    other = Reader(files, KeyFileCipher(tmp_path / "other.key"), seconds=0)
    assert await refused(other.read(ZOO, ["A"])) == "secret.sealed"
    stored = await files.get(secret_key(ZOO, "A"))
    assert stored is not None
    for data in (b"", b"junk", stored.data[:-1], stored.data[:10], stored.data[:-1] + bytes([stored.data[-1] ^ 1])):
        await files.swap(secret_key(ZOO, "A"), data, expected=ANY)
        assert await refused(Reader(files, cipher).read(ZOO, ["A"])) == "secret.sealed"


def test_the_key_file_is_private_and_used_again(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secrets.key"
    sealed = KeyFileCipher(path).seal(b"x", "place")
    assert path.stat().st_mode & 0o777 == 0o600
    assert KeyFileCipher(path).open(sealed, "place") == b"x"


def test_a_key_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "short.key").write_bytes(b"short")
    for path in (tmp_path / "short.key", tmp_path / "short.key" / "below"):
        with pytest.raises(StorageDown, match="key file of secrets"):
            KeyFileCipher(path)


NAMES = ["", "lower", "1A", "A-B", "A B", "../X", "A/B", "A\n", "Ä", "X" * 129]
RESERVED = ["PATH", "HOME", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "AWS_ACCESS_KEY_ID", "LAMBDA_TASK_ROOT"]
MORE = ["TENANTRY_X", "HTTPS_PROXY", "NO_PROXY", "LC_ALL", "TZ", "TMPDIR", "DYLD_INSERT_LIBRARIES"]


@pytest.mark.parametrize("secret", NAMES + RESERVED + MORE)
async def test_a_name_that_could_change_how_code_is_started_is_refused(
    drawer: Drawer, reader: Reader, secret: str
) -> None:
    for awaitable in (drawer.put(ZOO, secret, "x"), drawer.remove(ZOO, secret), reader.read(ZOO, [secret])):
        assert await refused(awaitable) == "secret.name"


@pytest.mark.parametrize("secret", ["A", "PATHS", "PYTHONISTA_2", "HTTP_PROXY_2", "X" * 128])
async def test_a_name_that_only_looks_like_one_is_fine(drawer: Drawer, reader: Reader, secret: str) -> None:
    await drawer.put(ZOO, secret, "x")
    assert await reader.read(ZOO, [secret]) == {secret: "x"}


@pytest.mark.parametrize("value", ["", "a\0b", "\ud800", "x" * (VALUE_BYTES + 1), "ü" * (VALUE_BYTES // 2 + 1)])
async def test_a_value_that_no_environment_can_hold_is_refused(drawer: Drawer, value: str) -> None:
    assert await refused(drawer.put(ZOO, "A", value)) == "secret.value"


@settings(max_examples=25)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200))
async def test_every_other_value_comes_back_as_it_was(value: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        objects, cipher = FileObjects(folder), KeyFileCipher(Path(folder) / "key")
        await Drawer(objects, cipher).put(ZOO, "A", value)
        assert await Reader(objects, cipher).read(ZOO, ["A"]) == {"A": value}


async def test_a_plugin_has_so_many_secrets_and_no_more(drawer: Drawer) -> None:
    await drawer.put(ZOO, "A", "1", most=2)
    await drawer.put(ZOO, "B", "1", most=2)
    assert await refused(drawer.put(ZOO, "C", "1", most=2)) == "secret.too-many"
    await drawer.put(ZOO, "B", "2", most=2)  # replacing is not adding
    await drawer.put(ZOO, "C", "1")


async def test_values_are_kept_for_their_seconds_and_read_again_then(
    drawer: Drawer, files: FileObjects, cipher: KeyFileCipher
) -> None:
    clock = [0.0]
    reader = Reader(files, cipher, seconds=60, now=lambda: clock[0])
    assert await reader.read(ZOO, ["A"]) == {}
    await drawer.put(ZOO, "A", "1")
    assert await reader.read(ZOO, ["A"]) == {}
    clock[0] = 60.0
    assert await reader.read(ZOO, ["A"]) == {"A": "1"}
    await drawer.put(ZOO, "A", "2")
    assert await reader.read(ZOO, ["A"]) == {"A": "1"}
    clock[0] = 120.0
    assert await reader.read(ZOO, ["A"]) == {"A": "2"}


async def test_what_is_kept_is_bounded(files: FileObjects, cipher: KeyFileCipher) -> None:
    reader = Reader(files, cipher, seconds=60)
    for number in range(PLUGINS + 5):
        await reader.read(Name("acme", f"p{number}"), [f"S{n}" for n in range(10)])
    assert len(reader._kept) == PLUGINS * 10


async def test_on_s3_storage_encrypts_and_nothing_else_does(moto: str, bucket: Any, distant: S3Objects) -> None:
    objects: Objects = distant
    drawer, reader = Drawer(objects, None), Reader(objects, None)
    await drawer.put(ZOO, "A", VALUE)
    await drawer.put(ZOO, "A", VALUE)
    assert await reader.read(ZOO, ["A"]) == {"A": VALUE}
    await drawer.remove(ZOO, "A")
    versions = bucket.list_object_versions(Prefix=distant._prefix)
    assert "Versions" not in versions  # older values are gone, too
    assert "DeleteMarkers" not in versions


async def test_secrets_of_one_tenant_are_below_its_name(drawer: Drawer, files: FileObjects) -> None:
    await drawer.put(ZOO, "A", "1")
    await files.put_once("secrets/acme/zoo2/B", b"{}", JSON)
    assert [listed.key async for listed in files.list("secrets/acme/")] == ["secrets/acme/zoo/A", "secrets/acme/zoo2/B"]
    assert await drawer.names(ZOO) == ["A"]
