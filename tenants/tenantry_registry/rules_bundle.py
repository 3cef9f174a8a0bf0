"""Rules of the bundle: no secrets inside, and dependencies built for the platform that the release will run on."""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tenantry_registry.config import FILE, Config
from tenantry_registry.report import Finding, Place
from tenantry_registry.rules import found

SECRET_FILES = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx")
SECRET_NAMES = (
    *(".env", ".npmrc", ".pypirc", ".netrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.json"),
    *("service-account.json", ".htpasswd", "terraform.tfstate", ".git-credentials"),
)
PUBLIC_PEM = re.compile(rb"-----BEGIN (?:CERTIFICATE|PUBLIC KEY)-----")
SCAN_BYTES = 2 * 1024 * 1024  # of one file; keys are small, and files that hold them too
# what -> how it looks. Every pattern has a fixed beginning, so that scanning is a search for it.
SECRETS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("a private key", re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----\s+[A-Za-z0-9+/=\s:,-]{40}")),
    ("an AWS access key", re.compile(rb"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b")),
    ("an OpenAI key", re.compile(rb"\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}T3BlbkFJ[A-Za-z0-9_-]{20,}")),
    ("an Anthropic key", re.compile(rb"\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{40,}")),
    ("a GitHub token", re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})")),
    ("a GitLab token", re.compile(rb"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("a Slack token", re.compile(rb"\bxox[abeoprs]-[A-Za-z0-9-]{20,}")),
    ("a Stripe key", re.compile(rb"\b[rs]k_live_[A-Za-z0-9]{20,}")),
    ("a Google key", re.compile(rb"\bAIza[A-Za-z0-9_-]{35}\b")),
    ("an npm token", re.compile(rb"\bnpm_[A-Za-z0-9]{36}\b")),
    ("a PyPI token", re.compile(rb"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,}")),
    ("a SendGrid key", re.compile(rb"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}\b")),
    ("a Twilio key", re.compile(rb"\bSK[0-9a-f]{32}\b")),
    ("a Tenantry token", re.compile(rb"\btnt_[A-Za-z0-9_-]{30,}")),
)
# The beginnings of the patterns: a file with none of them is done in one pass
BEGINNINGS = re.compile(
    rb"-----BEGIN|AKIA|ASIA|sk-|gh[pousr]_|github_pat_|glpat-|xox|k_live_|AIza|npm_|pypi-Ag|SG\.|SK|tnt_"
)
# Media and compiled files: long, and full of chance
UNREAD = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".woff", ".woff2", ".mp4", ".webm", ".mp3", ".wasm", ".so")
# What AWS, Stripe and others print in their documentation
EXAMPLES = (b"AKIAIOSFODNN7EXAMPLE", b"EXAMPLE")


@dataclass(frozen=True, slots=True)
class Target:
    """A platform that dependencies may be built for: the ELF machine number, and the words in a wheel's tag."""

    machine: int
    words: tuple[str, ...]


MACHINES = {62: "x86_64", 183: "aarch64", 40: "arm", 3: "i386", 243: "riscv64"}
TARGETS = {
    "lambda": Target(183, ("aarch64",)),
    "aarch64": Target(183, ("aarch64",)),
    "x86_64": Target(62, ("x86_64",)),
}
VENDOR = "_vendor/"


def check_bundle(
    config: Config, files: Mapping[str, bytes], bundle: Mapping[str, Any], target: str
) -> Iterator[Finding]:
    """`files` is the author's part, `bundle` every entry by path (each with `read()`); `target` is "" when it is
    this very machine, whose imports have proven themselves."""
    told = False
    for name, value in config.env.items():
        if what := secret_in(value.encode()):
            told = True
            where = Place(FILE, config.line("env", name))
            yield found("bundle.env-secret", name, f"{name} looks like {what}.", where)
    for path in files:
        if not (told and path == FILE):
            yield from _secret_file(path, files)
    yield from _platform(bundle, target)


def secret_in(data: bytes) -> str:
    """What secret `data` seems to hold, or empty."""
    return next((what for what, _ in _secrets(data)), "")


def _secrets(data: bytes) -> Iterator[tuple[str, int]]:
    """Each kind of secret in `data`, with the offset of the first of it."""
    if BEGINNINGS.search(data):
        for what, pattern in SECRETS:
            starts = (m.start() for m in pattern.finditer(data) if not m.group().endswith(EXAMPLES))
            if (start := next(starts, None)) is not None:
                yield what, start


def _secret_file(path: str, files: Mapping[str, bytes]) -> Iterator[Finding]:
    name = posixpath.basename(path).lower()
    if name in SECRET_NAMES or (name.startswith(".env.") and not name.endswith((".example", ".sample", ".template"))):
        yield found("bundle.secret", path, f"{path} usually holds secrets.", Place(path))
        return
    if name.endswith(UNREAD):
        return
    data = files[path][:SCAN_BYTES]
    if name.endswith(SECRET_FILES) and not PUBLIC_PEM.search(data):
        yield found("bundle.secret", path, f"{path} usually holds a private key.", Place(path))
        return
    for what, start in _secrets(data):
        line = data.count(b"\n", 0, start) + 1
        yield found("bundle.secret", path, f"{path} holds {what}.", Place(path, line))


def _platform(bundle: Mapping[str, Any], target: str) -> Iterator[Finding]:
    wanted = TARGETS.get(target)
    reported: set[str] = set()
    for path, entry in bundle.items():
        package = _package(path)
        if package in reported:
            continue
        if path.endswith((".pyd", ".dll", ".dylib")):
            system = "macOS" if path.endswith(".dylib") else "Windows"
            reported.add(package)
            yield found("bundle.platform", package, f"{package} was built for {system} ({path}).", Place(path))
        elif wanted and (path.endswith(".so") or ".so." in posixpath.basename(path)):
            if reason := _wrong_elf(entry.read()[:64], wanted):
                reported.add(package)
                yield found("bundle.platform", package, f"{package} was built for {reason} ({path}).", Place(path))
        elif wanted and path.endswith(".dist-info/WHEEL") and (tag := _wrong_tag(entry.read(), wanted)):
            reported.add(package)
            yield found("bundle.platform", package, f"{package} was built for {tag}.", Place(path))


def _package(path: str) -> str:
    first = path.removeprefix(VENDOR).split("/")[0]
    return str(re.split(r"-\d|\.dist-info|\.libs|\.cpython|\.so|\.py|\.dll|\.dylib", first)[0])


def _wrong_elf(head: bytes, wanted: Target) -> str:
    if head[:4] in (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"):
        return "macOS"
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return ""
    order = "<" if head[5] == 1 else ">"
    machine: int = struct.unpack(f"{order}H", head[18:20])[0]
    return "" if machine == wanted.machine else MACHINES.get(machine, f"machine {machine}")


def _wrong_tag(wheel: bytes, wanted: Target) -> str:
    tags = re.findall(rb"^Tag: *(\S+)", wheel, re.MULTILINE)
    platforms = [tag.decode("ascii", "replace").rpartition("-")[2] for tag in tags]
    if not platforms or any(p == "any" or any(word in p for word in wanted.words) for p in platforms):
        return ""
    return str(platforms[0])
