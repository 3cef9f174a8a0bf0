"""The control plane's settings: read once from the environment (`TENANTRY_...`), by whoever composes the app."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class ControlSettings(BaseSettings):
    """Where things are. infra writes the function's environment from this class."""

    model_config = SettingsConfigDict(env_prefix="TENANTRY_", extra="ignore", frozen=True)

    mode: Literal["development", "production"] = "production"
    store: str = Field(default="", description="/folder or s3://bucket[/prefix]")
    store_endpoint: str = Field(default="", description="another S3 than AWS's")
    region: str = "us-east-1"
    base: str = Field(default="", description="the domain below which every plugin has its own host")
    origin: str = Field(default="http://localhost:8787", description="where plugins are served in path form")
    scheme: Literal["http", "https"] = "https"
    api_url: str = Field(default="http://localhost:8787/api", description="this API's own address, without /v1")
    target: str = Field(default="", description="the platform that releases run on; this machine, without")
    publisher: str = Field(default="", description="ARN of the publisher function")
    origin_secret: str = Field(default="", description="x-tenantry-origin must carry it for x-tenantry-viewer to count")
    secrets_key: str = Field(default="", description="ARN of the KMS key for secrets")
    usage_table: str = Field(default="", description="DynamoDB table of usage")
    log_group: str = Field(default="", description="CloudWatch group of the gateway's log")
    root_path: str = Field(default="", description="a prefix that the front door strips, such as /api")
