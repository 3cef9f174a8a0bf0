"""Bundles that mean harm to whoever unpacks them."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from pathlib import Path

import pytest
from tenantry_sandbox.faults import LoadError
from tenantry_sandbox.unpack import ENTRIES, unpack


def unpacked(tmp_path: Path, data: bytes, digest: str = "") -> Path:
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(data)
    unpack(str(bundle), digest or hashlib.sha256(data).hexdigest(), str(tmp_path / "out"))
    return tmp_path / "out"


def zipped(*entries: tuple[str, bytes], mode: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.filename = info.orig_filename = name
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def test_files_and_folders_land_where_they_say(tmp_path: Path) -> None:
    out = unpacked(tmp_path, zipped(("server.py", b"1"), ("a/", b""), ("a/b/c.txt", b"2"), ("a/ü.txt", b"3")))
    assert {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()} == {
        "server.py": b"1",
        "a/b/c.txt": b"2",
        "a/ü.txt": b"3",
    }


@pytest.mark.parametrize(
    "name", ["../evil.py", "/evil.py", "a/../../evil.py", "a\\..\\evil.py", "a//b.py", "./a.py", "..", "a/./b", "//x"]
)
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    with pytest.raises(LoadError) as refused:
        unpacked(tmp_path, zipped(("first.py", b"1"), (name, b"2")))
    assert refused.value.code == "sandbox.bundle"
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil.py").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, kind: int) -> None:
    with pytest.raises(LoadError):
        unpacked(tmp_path, zipped(("link", b"/etc/passwd"), mode=kind | 0o777))


def test_bytes_of_another_release_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="not those of the release"):
        unpacked(tmp_path, zipped(("server.py", b"1")), digest="0" * 64)


def test_what_is_no_zip_or_a_broken_one_is_refused(tmp_path: Path) -> None:
    whole = zipped(("server.py", b"1" * 1_000), ("server.py2", b""))
    twice = whole.replace(b"server.py2", b"server.py\0")
    for data in (
        b"no zip",
        whole[:40],
        whole.replace(b"server.py2", b"server.py/"),
        twice,
        whole.replace(b"\x4b", b"\x4c", 3),
    ):
        with pytest.raises(LoadError):
            unpacked(tmp_path, data)
        assert not (tmp_path / "out").exists()


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    data = zipped(("a.py", b"1"), ("b.py", b"2")).replace(b"b.py", b"a.py")
    with pytest.raises(LoadError):
        unpacked(tmp_path, data)


def test_a_bomb_is_refused_before_it_is_lit(tmp_path: Path) -> None:
    data = bytearray(zipped(("zeros", bytes(1_000))))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = (600 * 1024**2).to_bytes(4, "little")
    with pytest.raises(LoadError, match="too much"):
        unpacked(tmp_path, bytes(data))
    many = zipped(*[(str(number), b"") for number in range(ENTRIES + 1)])
    with pytest.raises(LoadError, match="too much"):
        unpacked(tmp_path, many)
