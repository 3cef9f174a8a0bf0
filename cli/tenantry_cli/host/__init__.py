"""The local host: a page that behaves like ChatGPT, and the small server behind it. `server` says how to mount it."""

from tenantry_cli.host.server import OAUTH, create_host, takes

__all__ = ["OAUTH", "create_host", "takes"]
