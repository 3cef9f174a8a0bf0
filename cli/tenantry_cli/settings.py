"""The command line's settings, read once: options win over TENANTRY_* variables, which win over what stands here."""

from __future__ import annotations

from pydantic_settings import BaseSettings, SettingsConfigDict


class CliSettings(BaseSettings):
    """TENANTRY_STORE, TENANTRY_TENANT, TENANTRY_HOST, TENANTRY_PORT, TENANTRY_TO, TENANTRY_TOKEN."""

    model_config = SettingsConfigDict(env_prefix="TENANTRY_", frozen=True)

    store: str = ".tenantry"  # a folder, or s3://bucket[/prefix]
    tenant: str = "dev"
    host: str = "127.0.0.1"  # the address that is bound; addresses shown say localhost
    port: int = 8787
    to: str = ""  # the control plane: a URL, or a stage that was deployed from here
    token: str = ""  # for it
