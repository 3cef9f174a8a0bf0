"""Signature Version 4 for S3: presigned GET and HEAD, POST policies, and a header-signed request.

obstore signs neither response headers nor the size of an upload, so this is our own, small, and signature for signature
equal to botocore's (tests compare). Hosts are regional and virtual (`bucket.s3.region.amazonaws.com`), so that no
redirect breaks a signature or CORS; a dotted bucket or an own endpoint uses the path form.
AWS: "Authenticating Requests (AWS Signature Version 4)" of the S3 API reference.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from tenantry_registry.objects import Download, Signed, Upload

MAX_SECONDS = 7 * 24 * 3600  # the longest that SigV4 allows a presigned request to live
EMPTY = hashlib.sha256(b"").hexdigest()


class Credentials(NamedTuple):
    """An access key. `token` for a role's session; `until` when it dies (None: it does not)."""

    access_key: str
    secret_key: str
    token: str = ""
    until: datetime | None = None


class Bucket(NamedTuple):
    """Where requests for one bucket go. `endpoint` is empty for AWS itself."""

    name: str
    region: str
    endpoint: str = ""

    @property
    def url(self) -> str:
        """The bucket's own address, without a slash at its end."""
        if self.endpoint:
            return f"{self.endpoint.rstrip('/')}/{self.name}"
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        if "." in self.name:  # the wildcard certificate covers one label
            return f"https://s3.{self.region}.{suffix}/{self.name}"
        return f"https://{self.name}.s3.{self.region}.{suffix}"


def presign(bucket: Bucket, key: str, access: Download, credentials: Credentials, now: datetime) -> str:
    """The address of a GET or HEAD of `key` until `access.expires` seconds after `now` (UTC), at most 7 days."""
    scope = _scope(bucket, now)
    query = {
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": _stamp(now),
        "X-Amz-Expires": str(max(1, min(access.expires, MAX_SECONDS))),
        "X-Amz-SignedHeaders": "host",
    }
    if credentials.token:
        query["X-Amz-Security-Token"] = credentials.token
    if access.name:
        query["response-content-disposition"] = disposition(access.name)
    if access.content_type:
        query["response-content-type"] = access.content_type
    url = f"{bucket.url}/{_path(key)}"
    parts = urlsplit(url)
    text = _query(query)
    canonical = "\n".join([access.method, parts.path, text, f"host:{parts.netloc}", "", "host", "UNSIGNED-PAYLOAD"])
    return f"{url}?{text}&X-Amz-Signature={_sign(canonical, bucket, credentials, now)}"


def post_policy(bucket: Bucket, key: str, access: Upload, credentials: Credentials, now: datetime) -> Signed:
    """The form that lets its holder put one object: this key, this type, this range of sizes.

    AWS: "Creating a POST policy"; the file must be the form's last field.
    """
    fields = {
        "Content-Type": access.content_type,
        "key": key,
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": f"{credentials.access_key}/{_scope(bucket, now)}",
        "x-amz-date": _stamp(now),
    }
    if credentials.token:
        fields["x-amz-security-token"] = credentials.token
    until = now + timedelta(seconds=min(access.expires, MAX_SECONDS))
    policy = {
        "expiration": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conditions": [
            {"Content-Type": access.content_type},
            ["content-length-range", access.min_bytes, access.max_bytes],
            {"bucket": bucket.name},
            {"key": key},
            *({name: value} for name, value in fields.items() if name.startswith("x-amz-")),
        ],
    }
    fields["policy"] = base64.b64encode(json.dumps(policy).encode()).decode()
    fields["x-amz-signature"] = _mac(_key(bucket, credentials, now), fields["policy"]).hex()
    return Signed(bucket.url + ("" if urlsplit(bucket.url).path else "/"), fields)


def headers(
    bucket: Bucket, method: str, key: str, query: Mapping[str, str], credentials: Credentials, now: datetime
) -> dict[str, str]:
    """The headers that sign a request without a body; its address is `url(bucket, key, query)`."""
    signed = {
        "host": urlsplit(bucket.url).netloc,
        "x-amz-content-sha256": EMPTY,
        "x-amz-date": _stamp(now),
    }
    if credentials.token:
        signed["x-amz-security-token"] = credentials.token
    names = ";".join(signed)
    path = urlsplit(url(bucket, key, {})).path
    lines = [f"{name}:{value}" for name, value in signed.items()]
    signature = _sign("\n".join([method, path, _query(query), *lines, "", names, EMPTY]), bucket, credentials, now)
    signed["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credentials.access_key}/{_scope(bucket, now)}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return signed


def url(bucket: Bucket, key: str, query: Mapping[str, str]) -> str:
    """The address of `key` in the bucket with `query`, encoded as the signature wants it."""
    return f"{bucket.url}/{_path(key)}" + (f"?{_query(query)}" if query else "")


def disposition(name: str) -> str:
    """The Content-Disposition that saves a download as `name`, whatever is in it (RFC 6266, RFC 8187).

    ASCII only: S3 refuses a header value that ISO-8859-1 can't hold. Quotes, control characters and path separators
    are gone from the fallback and harmless in the encoded form.
    """
    clean = "".join(" " if ord(c) < 32 or ord(c) == 127 else c for c in name).replace("/", "_").replace("\\", "_")
    clean = clean.encode("utf-8", "replace").decode()
    plain = "".join(c if " " <= c <= "~" and c not in '"%' else "_" for c in clean)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(clean, safe='')}"


def _path(key: str) -> str:
    return quote(key, safe="/~")


def _query(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(k, safe='~')}={quote(v, safe='~')}" for k, v in sorted(query.items()))


def _stamp(now: datetime) -> str:
    return now.strftime("%Y%m%dT%H%M%SZ")


def _scope(bucket: Bucket, now: datetime) -> str:
    return f"{now:%Y%m%d}/{bucket.region}/s3/aws4_request"


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), "sha256").digest()


def _key(bucket: Bucket, credentials: Credentials, now: datetime) -> bytes:
    key = ("AWS4" + credentials.secret_key).encode()
    for part in _scope(bucket, now).split("/"):
        key = _mac(key, part)
    return key


def _sign(canonical: str, bucket: Bucket, credentials: Credentials, now: datetime) -> str:
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", _stamp(now), _scope(bucket, now), digest])
    return _mac(_key(bucket, credentials, now), text).hex()
