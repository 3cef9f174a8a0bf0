"""The local host: a page that behaves like ChatGPT, and the small server behind it. `server` says how to mount it."""

from tenantry_cli.host.server import create_host, takes

__all__ = ["create_host", "takes"]
