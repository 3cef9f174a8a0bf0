"""The sandbox as a Lambda function: one environment, one release, one event at a time.

The function's role grants nothing, and what credentials there are go before any code of a tenant is imported. A tool
that is too slow ends the process: Lambda then starts another, and the platform's runner knows how long it took.
"""

import faulthandler
import http.client
import json
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError

from tenantry_sandbox import output, unpack
from tenantry_sandbox.environment import Environment
from tenantry_sandbox.faults import LoadError

PLACE = os.path.join(tempfile.gettempdir(), "tenantry")  # below the only folder of a function that can be written
FETCH_SECONDS = 20.0  # for 100 MB out of S3 in the same region
UPLOAD_SECONDS = 20.0


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one event. Raises: nothing that a tool raises; a tool that is too slow ends the process."""
    faulthandler.dump_traceback_later(event["timeout"], exit=True)
    try:
        environment = _environment()
        if environment.spent:  # this call fails, and Lambda makes a new one for the next
            raise SystemExit("The server has ended itself in an earlier call.")
        answered: dict[str, Any] = json.loads(environment.answer(event))
        return answered
    finally:
        faulthandler.cancel_dump_traceback_later()


_made: list[Environment] = []


def _environment() -> Environment:
    """Made for the first event: importing this module changes nothing."""
    if not _made:
        for name in [name for name in os.environ if name.startswith(("AWS_ACCESS_", "AWS_SECRET_", "AWS_SESSION_"))]:
            del os.environ[name]
        own = str(Path(__file__).parent.parent)  # of the function's own zip: the kit and pydantic lie there too
        _made.append(Environment(output=output.Output(redirect=True), locate=fetch, deliver=upload, kit=[own]))
    return _made[0]


def fetch(event: dict[str, Any], place: str = PLACE) -> str:
    """Get the bundle by its signed address, verify it, unpack it. Raises: LoadError `sandbox.bundle`."""
    folder = os.path.join(place, event["digest"])
    os.makedirs(place, exist_ok=True)
    archive = f"{folder}.zip"
    try:
        with (
            urllib.request.urlopen(event["bundle"]["url"], timeout=FETCH_SECONDS) as answer,
            open(archive, "wb") as file,
        ):
            while piece := answer.read(1_048_576):
                file.write(piece)
        shutil.rmtree(folder, ignore_errors=True)  # of a process that ended in this environment: /tmp outlives it
        unpack.unpack(archive, event["digest"], folder)
    except (URLError, OSError, http.client.HTTPException) as error:
        raise LoadError("sandbox.bundle", f"The bundle could not be fetched: {type(error).__name__}.") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(archive)
    return folder


def upload(slot: Mapping[str, Any], data: bytes, content_type: str) -> None:
    """POST a form as a signed policy asks for: its fields, then the file. Raises: OSError."""
    boundary = os.urandom(16).hex()
    parts = []
    for name, value in {"Content-Type": content_type, **slot["fields"]}.items():
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n')
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'
    body = "".join([*parts, head]).encode() + data + f"\r\n--{boundary}--\r\n".encode()
    request = urllib.request.Request(
        slot["url"], body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=UPLOAD_SECONDS):
            pass
    except http.client.HTTPException as error:
        raise OSError(f"storage did not take the file: {type(error).__name__}") from error
