"""Where this machine serves: one port of loopback, every plugin in path form and in host form."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from tenantry_registry.errors import PlatformError
from tenantry_registry.names import Name


@dataclass(frozen=True, slots=True)
class Address:
    """A port of this machine. Python clients take the path form: their resolver knows no *.localhost; browsers do."""

    port: int

    @property
    def base(self) -> str:
        """What plugins' hosts end in."""
        return f"localhost:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.base}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The further hosts that serve the path form."""
        return (f"127.0.0.1:{self.port}",)

    def mcp_url(self, name: Name) -> str:
        return f"{self.origin}/t/{name.tenant}/{name.plugin}/mcp"

    def host_url(self, name: Name) -> str:
        return f"http://{name.label}.{self.base}/mcp"


FREE = "Choose another: --port 8788; --port 0 takes a free one."


def bind(host: str, port: int) -> socket.socket:
    """Take the port (0: a free one) before anything is published. Raises: PlatformError `serve.port-taken`."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise PlatformError(
            "serve.port-taken",
            f"Port {port} of {host} can't be had: {error.strerror}.",
            FREE,
        ) from None
    listener.set_inheritable(True)
    return listener
