"""The gateway's settings: read once from the environment (`TENANTRY_...`), by whoever composes the app.

infra writes a function's environment from this class. A default that would be unsafe is refused outside development.
"""

from __future__ import annotations

import base64
import secrets
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict
from tenantry_registry.errors import PlatformError


class GatewaySettings(BaseSettings):
    """Where things are and what is trusted. Lists are JSON in the environment; `seal_keys` is `kid:base64,...`."""

    model_config = SettingsConfigDict(env_prefix="TENANTRY_", extra="ignore", frozen=True)

    mode: Literal["development", "production"] = "production"
    store: str = Field(default="", description="/folder or s3://bucket[/prefix]")
    store_endpoint: str = Field(default="", description="another S3 than AWS's")
    region: str = "us-east-1"
    origin: str = Field(default="", description="https://HOST that serves the path form /t/TENANT/PLUGIN/mcp")
    hosts: tuple[str, ...] = Field(default=(), description="further hosts that serve the path form, with their ports")
    base: str = Field(default="", description="the domain below which every plugin has its own host; may carry a port")
    scheme: Literal["http", "https"] = "https"
    storage: str = Field(default="", description="the origin that signed downloads are redirected to")
    base_path: str = Field(default="", description="a base-path mapping to strip from event paths, besides the stage")
    origins: tuple[str, ...] = Field(
        default=("https://chatgpt.com", "https://chat.openai.com", "https://claude.ai"),
        description="web origins whose pages may call /mcp, exactly; a plugin's own origin always may",
    )
    origin_secret: str = Field(default="", description="x-tenantry-origin must carry it for x-forwarded-host to count")
    development_issuer: str = Field(
        default="", description="an authorization server in place of every plugin's own; refused in production"
    )
    seal_keys: str = Field(default="", description="kid:base64 of 32 bytes, comma-separated; the first seals")
    pointer_seconds: float = Field(default=2.0, description="how long a pointer is believed before it is read again")
    in_flight: int = Field(default=50, description="calls of one tenant at a time in one process")
    limits_table: str = Field(default="", description="DynamoDB table of limits; nothing is counted without")
    usage_table: str = Field(default="", description="DynamoDB table of usage; nothing is counted without")
    sandbox_public: str = Field(default="", description="ARN of the sandbox function with the open internet")
    sandbox_none: str = Field(default="", description="ARN of the sandbox function without any")

    def keys(self, *, local: bool) -> dict[str, bytes]:
        """The sealing keys by id, the current one first. `local`: where none are set, a fresh one.

        Raises: PlatformError `settings.keys`.
        """
        text = self.seal_keys
        if not text and local:
            return {"dev": secrets.token_bytes(32)}
        try:
            pairs = [part.partition(":") for part in text.split(",")]
            found = {kid.strip(): base64.b64decode(key, validate=True) for kid, _, key in pairs}
        except ValueError:
            found = {}
        if not found or any(not kid or len(key) < 32 for kid, key in found.items()):
            raise PlatformError(
                "settings.keys",
                "TENANTRY_SEAL_KEYS must be kid:base64 of at least 32 bytes, comma-separated.",
                "Make one with: python -c 'import base64, secrets; "
                'print("k1:" + base64.b64encode(secrets.token_bytes(32)).decode())\'',
            )
        return found
