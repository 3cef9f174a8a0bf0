"""Where S3's access keys come from: the environment, or the address that Lambda gives a SnapStart function.

A function with SnapStart gets no keys in its environment but AWS_CONTAINER_CREDENTIALS_FULL_URI and a token for it;
obstore does not read them (it falls through to the instance metadata address). One source serves both obstore and
our own signer. Nothing is fetched before the first use, so that no key is made before a snapshot.
AWS SDKs reference guide: "Container credential provider".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from tenantry_registry.errors import PlatformError, StorageDown
from tenantry_registry.sigv4 import Credentials

CredentialSource = Callable[[], Awaitable[Credentials]]

EARLY = timedelta(minutes=5)  # fetched again this long before they die, so that no request outlives them
FETCH_SECONDS = 2.0  # the address is on the same machine
LINK_LOCAL = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}  # the only plain-http hosts beside loopback


def from_environment(environment: Mapping[str, str]) -> CredentialSource:
    """The source that `environment` describes. Raises: PlatformError `objects.credentials` when it describes none."""
    if uri := environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", "")
        return ContainerCredentials(uri, token, environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", ""))
    key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        raise PlatformError("objects.credentials", "There are no AWS credentials here.", "Set AWS_ACCESS_KEY_ID.")
    return fixed(Credentials(key, secret, environment.get("AWS_SESSION_TOKEN", "")))


def fixed(credentials: Credentials) -> CredentialSource:
    """A source that always answers `credentials`."""

    async def source() -> Credentials:
        return credentials

    return source


class ContainerCredentials:
    """Credentials fetched from `uri` with `token` (or the token in `token_file`, read each time), kept until EARLY.

    Raises: PlatformError `objects.credentials` for an address that is neither https, loopback nor link-local;
    StorageDown, when called, where it does not answer.
    """

    def __init__(
        self,
        uri: str,
        token: str = "",
        token_file: str = "",
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._uri, self._token, self._token_file, self._now = urlsplit(uri), token, token_file, now
        self._held: Credentials | None = None
        if self._uri.scheme != "https" and not _is_local(self._uri.hostname or ""):
            raise PlatformError("objects.credentials", "The address of the AWS credentials is not a local one.")

    async def __call__(self) -> Credentials:
        held = self._held
        if held is None or held.until is None or self._now() > held.until - EARLY:
            held = self._held = await asyncio.to_thread(self._fetch)
        return held

    def _fetch(self) -> Credentials:
        import http.client  # here, since most functions have their keys in the environment and start cold

        secure = self._uri.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = connect(self._uri.netloc, timeout=FETCH_SECONDS)
        target = self._uri.path + (f"?{self._uri.query}" if self._uri.query else "")
        try:
            token = Path(self._token_file).read_text().strip() if self._token_file else self._token
            connection.request("GET", target or "/", headers={"Authorization": token} if token else {})
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                raise StorageDown(f"The AWS credentials could not be fetched: status {response.status}.")
            raw = json.loads(body)
            until = datetime.fromisoformat(raw["Expiration"])
            return Credentials(raw["AccessKeyId"], raw["SecretAccessKey"], raw["Token"], until)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            raise StorageDown(f"The AWS credentials could not be fetched: {type(error).__name__}.") from error
        finally:
            connection.close()


def _is_local(host: str) -> bool:
    if host == "localhost" or host in LINK_LOCAL:
        return True
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
