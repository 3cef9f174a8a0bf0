"""The publisher's settings: read once from the environment (`TENANTRY_...`), by whoever composes it."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class PublisherSettings(BaseSettings):
    """Where things are. infra writes the function's environment from this class."""

    model_config = SettingsConfigDict(env_prefix="TENANTRY_", extra="ignore", frozen=True)

    store: str = Field(description="/folder or s3://bucket[/prefix]")
    store_endpoint: str = Field(default="", description="another S3 than AWS's")
    region: str = "us-east-1"
    base: str = Field(default="", description="the domain below which every plugin has its own host")
    target: str = Field(default="lambda", description="the platform that dependencies must be built for")
    sandbox_public: str = Field(default="", description="ARN of the sandbox function with the open internet")
    sandbox_none: str = Field(default="", description="ARN of the sandbox function without any")
