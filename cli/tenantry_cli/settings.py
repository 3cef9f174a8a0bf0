"""The command line's settings, read once: options win over TENANTRY_* variables, which win over what stands here."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class CliSettings(BaseSettings):
    """What several commands need to know."""

    model_config = SettingsConfigDict(env_prefix="TENANTRY_", frozen=True)

    store: str = Field(default=".tenantry", description="a folder, or s3://bucket[/prefix]")
    tenant: str = Field(default="dev", description="whose plugins these are")
    host: str = Field(default="127.0.0.1", description="the address that is bound; addresses shown say localhost")
    port: int = Field(default=8787, description="port on localhost")
    to: str = Field(default="", description="the control plane: a URL, or a stage that was deployed from here")
    token: str = Field(default="", description="token for the control plane")


def control_plane(to: str | None, store: str | None) -> str:
    """Which control plane a command means that works on stores, too: `--to`, or TENANTRY_TO where no `--store` was
    given, or "": the store on this machine. Never the last login: a release must not go where nobody said."""
    return to or ("" if store else CliSettings().to)
