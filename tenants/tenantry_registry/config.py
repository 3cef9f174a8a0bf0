"""plugin.toml: its schema, and errors that name the key and the line.

`config_example.toml` beside this file is the annotated example: it validates, it is what `platform init` writes, and
it is what the documentation shows. A test keeps its keys and this schema equal.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from tenantry_registry import names
from tenantry_registry.errors import PlatformError
from tenantry_registry.toml_lines import line_of

FILE = "plugin.toml"
EXPLAINED = "`platform init FOLDER` writes one with every key explained; so does docs/plugin-toml.md."
MAX_BYTES = 256 * 1024  # instructions and descriptions included; more is a mistake
MAX_TIMEOUT = 25.0  # seconds: the API in front answers within 29 (reference: AWS, front doors)
ENV_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
# Set by the runtime itself, or change what code it runs
RESERVED_ENV = ("AWS_", "LAMBDA_", "_HANDLER", "_X_AMZN", "PYTHON", "LD_", "PATH", "TENANTRY_")


def _https(url: str) -> str:
    """Loopback is let through for development; in production nothing fetches a loopback address."""
    if url and not url.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise ValueError("must begin with https://")
    return url


def _plugin(slug: str) -> str:
    try:
        return names.plugin(slug)
    except PlatformError as error:
        raise ValueError(error.hint) from None


def _free(name: str) -> str:
    if name.startswith(RESERVED_ENV):
        raise ValueError(f"{name} belongs to the runtime")
    return name


Https = Annotated[str, AfterValidator(_https)]
EnvName = Annotated[str, Field(pattern=ENV_NAME), AfterValidator(_free)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Auth(Section):
    """The plugin's own authorization server (row P05). Strings are kept verbatim: issuers are compared exactly."""

    issuer: Https
    audience: str = ""
    scopes: tuple[Annotated[str, Field(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]+$")], ...] = ()  # RFC 6749, 3.3
    introspection: Https = ""
    client_id: str = ""
    forward_token: bool = False


class Secrets(Section):
    required: tuple[EnvName, ...] = ()


class Limits(Section):
    """Calls a minute; 0: the plan's."""

    calls_per_minute: Annotated[int, Field(ge=0)] = 0
    calls_per_minute_per_user: Annotated[int, Field(ge=0)] = 0


class Listing(Section):
    """What the directory shows. Lengths are a rule (row P08), so that a text too long is reported with the others."""

    display_name: str = ""
    short_description: str = ""
    long_description: str = ""
    category: str = ""
    developer: str = ""
    support: str = ""
    privacy_policy: Https = ""
    terms: Https = ""
    icon: str = ""


class Example(Section):
    """A prompt, and the call that it should lead to."""

    prompt: str
    tool: str
    arguments: dict[str, Any] = {}
    expect: str = ""


class Config(Section):
    """plugin.toml as a whole. `text` is what was read (for the lines of keys)."""

    name: Annotated[str, AfterValidator(_plugin)]
    entrypoint: Annotated[str, Field(pattern=r"^(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_][\w.]*|[\w./-]+\.py)$")]
    title: str = ""
    version: str = ""
    description: str = ""
    instructions: str = ""
    website: Https = ""
    egress: Literal["none", "public"] = "none"
    timeout: Annotated[float, Field(gt=0, le=MAX_TIMEOUT)] = MAX_TIMEOUT
    files: bool | None = None
    auth: Auth | None = None
    env: dict[EnvName, str] = {}
    secrets: Secrets = Secrets()
    limits: Limits = Limits()
    listing: Listing = Listing()
    examples: tuple[Example, ...] = ()
    text: Annotated[str, Field(exclude=True, repr=False)] = ""

    def line(self, *path: str | int) -> int:
        """The line of a key, counted from 1."""
        return line_of(self.text, path)


def load(data: bytes | str) -> Config:
    """Read a plugin.toml.

    Raises: PlatformError `config.encoding`, `config.syntax`, `config.invalid` (every wrong key with its line).
    """
    if len(data) > MAX_BYTES:
        raise PlatformError("config.too-large", f"{FILE} is larger than {MAX_BYTES // 1024} KB.", "Shorten its texts.")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise PlatformError(
            "config.encoding", f"{FILE} is not UTF-8 (byte {error.start}).", "Save the file as UTF-8."
        ) from None
    text = text.replace("\r\n", "\n")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlatformError("config.syntax", f"{FILE}: {error}.", EXPLAINED) from None
    if "text" in raw:
        raise _invalid(text, [(("text",), "there is no such key")])
    try:
        return Config.model_validate({**raw, "text": text})
    except ValidationError as error:
        wrong = [(_path(item["loc"]), item) for item in error.errors()]
        raise _invalid(text, [(path, _words(item, path)) for path, item in wrong]) from None


def example() -> str:
    """The annotated example: schema, template and documentation in one."""
    return resources.files(__package__).joinpath("config_example.toml").read_text("utf-8")


def _path(location: Sequence[str | int]) -> tuple[str | int, ...]:
    return tuple(part for part in location if part != "[key]")


def _invalid(text: str, problems: list[tuple[tuple[str | int, ...], str]]) -> PlatformError:
    worded = [f"{FILE}:{line_of(text, path)}: {_dotted(path)}: {words}" for path, words in problems]
    return PlatformError(
        "config.invalid", "; ".join(worded).rstrip("?.") + ("?" if worded[-1].endswith("?") else "."), EXPLAINED
    )


def _dotted(path: Sequence[str | int]) -> str:
    words = ""
    for part in path:
        words += f"[{part}]" if isinstance(part, int) else f".{part}" if words else part
    return words


def _meant(path: Sequence[str | int]) -> str:
    """The key that was perhaps meant by one that does not exist."""
    section: Any = Config
    for part in path[:-1]:
        if isinstance(part, str):
            kinds = [section.model_fields[part].annotation, *get_args(section.model_fields[part].annotation)]
            section = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel))
    known = [key for key in section.model_fields if key != "text"]
    close = difflib.get_close_matches(str(path[-1]), known, 1)
    return f"; do you mean {close[0]}?" if close else ""


def _words(item: Any, path: Sequence[str | int]) -> str:
    """pydantic's message as a short clause."""
    kind, context = item["type"], item.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return f"there is no such key{_meant(path)}"
    if kind == "value_error":
        return str(context["error"]).rstrip(".")
    message = str(item["msg"])
    return message[:1].lower() + message[1:]
