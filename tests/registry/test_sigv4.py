"""The signer against botocore's own output, and against a verifier of AWS's description (moto checks none)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import boto3
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import sigv4
from tenantry_registry.objects import Download, Upload
from tenantry_registry.sigv4 import Bucket, Credentials

KEYS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SESSION = Credentials("ASIAEXAMPLE", KEYS.secret_key, "FQoGZXIvYXdzE+token/with=signs==")
BUCKET = Bucket("tenant-data", "eu-central-1")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def boto(credentials: Credentials) -> Any:
    return boto3.client(
        "s3",
        region_name="eu-central-1",
        aws_access_key_id=credentials.access_key,
        aws_secret_access_key=credentials.secret_key,
        aws_session_token=credentials.token or None,
        config=Config(signature_version="s3v4", s3={"addressing_style": "virtual"}),
    )


def stamp(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def refusal(url: str, method: str, secret: str, now: datetime) -> str:
    """Why S3 would refuse a presigned request ("" where it would not), from AWS's description of SigV4 alone."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    signature = query.pop("X-Amz-Signature")
    day, region, service, end = query["X-Amz-Credential"].split("/")[1:]
    made, life = stamp(query["X-Amz-Date"]), int(query["X-Amz-Expires"])
    if not 1 <= life <= 604800:
        return "X-Amz-Expires"
    if now > made + timedelta(seconds=life):
        return "expired"
    text = "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in sorted(query.items()))
    path = quote(unquote(parts.path), safe="/-_.~")
    canonical = f"{method}\n{path}\n{text}\nhost:{parts.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{query['X-Amz-Date']}\n{day}/{region}/{service}/{end}\n{digest}"
    return "" if hmac.digest(key, to_sign.encode(), "sha256").hex() == signature else "SignatureDoesNotMatch"


KEYS_TO_SIGN = ["a/b.txt", "files/acme/zoo/ü ~#%?*+&=.txt", "q\"'<>|{}^`[]\\.txt", "e\u0301/(1)!$,;:@.pdf"]


@pytest.mark.parametrize("credentials", [KEYS, SESSION], ids=["user", "role"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("key", KEYS_TO_SIGN)
def test_a_presigned_request_is_botocores_own(credentials: Credentials, method: str, key: str) -> None:
    theirs = boto(credentials).generate_presigned_url(
        f"{method.lower()}_object",
        Params={
            "Bucket": BUCKET.name,
            "Key": key,
            "ResponseContentDisposition": sigv4.disposition('Käse "1".txt'),
            "ResponseContentType": "text/plain; charset=utf-8",
        },
        ExpiresIn=900,
    )
    now = stamp(dict(parse_qsl(urlsplit(theirs).query))["X-Amz-Date"])
    ours = sigv4.presign(
        BUCKET, key, Download(900, 'Käse "1".txt', "text/plain; charset=utf-8", method), credentials, now
    )
    assert ours.partition("?")[0] == theirs.partition("?")[0]
    assert sorted(ours.partition("?")[2].split("&")) == sorted(theirs.partition("?")[2].split("&"))


@pytest.mark.parametrize("credentials", [KEYS, SESSION], ids=["user", "role"])
def test_an_upload_form_is_botocores_own(credentials: Credentials) -> None:
    key = "uploads/ü 1.zip"
    theirs = boto(credentials).generate_presigned_post(
        BUCKET.name,
        key,
        Fields={"Content-Type": "application/zip"},
        Conditions=[{"Content-Type": "application/zip"}, ["content-length-range", 22, 1000]],
        ExpiresIn=600,
    )
    until = json.loads(base64.b64decode(theirs["fields"]["policy"]))["expiration"]
    now = datetime.fromisoformat(until) - timedelta(seconds=600)
    ours = sigv4.post_policy(BUCKET, key, Upload(600, 1000, "application/zip", 22), credentials, now)
    assert (ours.url, ours.fields) == (theirs["url"], theirs["fields"])


@pytest.mark.parametrize("credentials", [KEYS, SESSION], ids=["user", "role"])
def test_a_header_signed_request_is_botocores_own(credentials: Credentials) -> None:
    bucket = Bucket("data", "eu-central-1", "http://localhost:9000")
    query = {"versions": "", "prefix": "t/ü x/", "key-marker": "a+b"}
    address = sigv4.url(bucket, "", query)
    request = AWSRequest("GET", address, headers={})
    boto_credentials = BotoCredentials(credentials.access_key, credentials.secret_key, credentials.token or None)
    S3SigV4Auth(boto_credentials, "s3", "eu-central-1").add_auth(request)
    ours = sigv4.headers(bucket, "GET", "", query, credentials, stamp(request.headers["X-Amz-Date"]))
    assert ours["authorization"] == request.headers["Authorization"]


text = st.text(st.characters(codec="utf-8"), max_size=60)


@given(key=text.map(lambda t: "files/" + t), name=text, seconds=st.integers(-5, 10**7), role=st.booleans())
def test_every_presigned_address_verifies_until_it_expires(key: str, name: str, seconds: int, role: bool) -> None:
    credentials = SESSION if role else KEYS
    address = sigv4.presign(BUCKET, key, Download(seconds, name), credentials, NOW)
    life = max(1, min(seconds, 604800))
    assert refusal(address, "GET", credentials.secret_key, NOW + timedelta(seconds=life)) == ""
    assert refusal(address, "GET", credentials.secret_key, NOW + timedelta(seconds=life + 1)) == "expired"
    assert refusal(address, "HEAD", credentials.secret_key, NOW) == "SignatureDoesNotMatch"
    assert refusal(address, "GET", "another secret", NOW) == "SignatureDoesNotMatch"
    other = address.replace("/files/", "/filez/", 1)
    assert refusal(other, "GET", credentials.secret_key, NOW) == "SignatureDoesNotMatch"


def test_a_key_with_a_tilde_is_signed_as_s3_reads_it() -> None:
    """botocore leaves `~` alone in a path, and so does S3: escaping it would break the signature."""
    address = sigv4.presign(BUCKET, "a/~b", Download(60), KEYS, NOW)
    assert "/a/~b?" in address
    assert refusal(address, "GET", KEYS.secret_key, NOW) == ""


@given(text)
def test_a_download_is_saved_under_its_name_and_nothing_else_is_in_the_header(name: str) -> None:
    value = sigv4.disposition(name)
    assert value.isascii()
    assert value.isprintable()
    plain, star = value.removeprefix('attachment; filename="').split("\"; filename*=UTF-8''")
    assert not set('"%/\\') & set(plain)
    clean = "".join(" " if ord(c) < 32 or ord(c) == 127 else c for c in name).replace("/", "_").replace("\\", "_")
    assert unquote(star) == clean
    assert not set(star) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%-_.~")


def test_a_name_that_is_not_unicode_is_still_a_header() -> None:
    assert sigv4.disposition("a\ud800b") == "attachment; filename=\"a?b\"; filename*=UTF-8''a%3Fb"


def test_hosts_are_regional_and_virtual_where_they_can_be() -> None:
    assert Bucket("data", "us-east-1").url == "https://data.s3.us-east-1.amazonaws.com"
    assert Bucket("my.data", "us-east-1").url == "https://s3.us-east-1.amazonaws.com/my.data"
    assert Bucket("data", "cn-north-1").url == "https://data.s3.cn-north-1.amazonaws.com.cn"
    assert Bucket("data", "x", "http://localhost:5000/").url == "http://localhost:5000/data"


def test_an_upload_form_by_path_goes_to_the_bucket_itself() -> None:
    form = sigv4.post_policy(Bucket("data", "x", "http://localhost:5000"), "k", Upload(10**9, 5, "a/b"), KEYS, NOW)
    assert form.url == "http://localhost:5000/data"
    assert json.loads(base64.b64decode(form.fields["policy"]))["expiration"] == "2026-12-07T12:00:00Z"
