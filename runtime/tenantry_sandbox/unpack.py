"""A bundle's bytes -> a folder, on Lambda. Checked again although publishing has checked: they came over a network.

Never `extractall`: it renames `../../evil.py` to `evil.py` without a word and writes a symbolic link as a file
(field report R63).
"""

import hashlib
import os
import shutil
import stat
import zipfile

from tenantry_sandbox.faults import LoadError

ENTRIES = 25_000  # the author's 5,000 and the dependencies' 20,000
UNPACKED_BYTES = 512 * 1024 * 1024  # what /tmp of a Lambda function holds by default


def unpack(bundle: str, digest: str, folder: str) -> None:
    """Write every file of the zip at path `bundle` below `folder`, which must not exist.

    Raises: LoadError `sandbox.bundle` when the bytes are not those of `digest`, or a member is not a plain file inside
    the folder, or there is too much; then no folder is left.
    """
    with open(bundle, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise LoadError("sandbox.bundle", "The bundle's bytes are not those of the release.", "Publish it again.")
        try:
            with zipfile.ZipFile(file) as archive:
                _write(archive, folder)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise LoadError(
                "sandbox.bundle", f"The bundle cannot be unpacked: {error}.", "Publish it again."
            ) from error
        except LoadError:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def _write(archive: zipfile.ZipFile, folder: str) -> None:
    entries = archive.infolist()
    if len(entries) > ENTRIES or sum(entry.file_size for entry in entries) > UNPACKED_BYTES:
        raise LoadError("sandbox.bundle", "The bundle holds too much.", "")
    os.makedirs(folder)
    for entry in entries:
        name = entry.orig_filename
        parts = name.rstrip("/").split("/")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or "\\" in name or "\0" in name or {"", ".", ".."} & {*parts}:
            raise LoadError("sandbox.bundle", f"The bundle holds {name[:80]!r}, which is no plain file inside it.", "")
        path = os.path.join(folder, *parts)
        if name.endswith("/"):
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with archive.open(entry) as source, open(path, "xb") as target:
            shutil.copyfileobj(source, target)  # zipfile stops at the size that was announced
