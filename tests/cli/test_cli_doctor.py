"""`platform doctor`: this machine always, AWS where somebody is signed in or insists."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

Platform = Callable[..., Any]
AWS = "What platform deploy --stage dev needs"


@pytest.fixture
def nobody(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """No AWS credentials; yields the socket that stands where EC2 tells a machine of its role."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(here / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(here / "credentials"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        yield server


def test_without_credentials_aws_is_not_looked_at_and_one_line_says_so(
    nobody: socket.socket, platform: Platform
) -> None:
    done = platform("doctor", "--stage", "dev")
    assert done.code == 0
    assert [line for line in done.out.splitlines() if "aws" in line.lower()] == [
        "  aws         not looked at: no AWS credentials here"
    ]
    with pytest.raises(BlockingIOError):  # nobody came and asked, which would have taken seconds
        nobody.accept()


def test_who_insists_on_aws_is_told_that_there_are_no_credentials(
    nobody: socket.socket, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    done = platform("doctor", "--aws", "--stage", "dev")
    assert done.code == 1
    assert AWS in done.out
    assert "There are no AWS credentials here." in done.out
    assert "in the way of a deployment" in done.out


def test_a_profile_that_is_not_there_is_not_taken_for_no_credentials(
    nobody: socket.socket, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "ghost")
    done = platform("doctor", "--stage", "dev")
    assert done.code == 1
    assert "There is no AWS profile 'ghost' here." in done.out


def test_with_credentials_aws_is_looked_at_unless_it_is_left_out(nobody: socket.socket, platform: Platform) -> None:
    with mock_aws():
        looked = platform("doctor", "--stage", "dev")
        left_out = platform("doctor", "--stage", "dev", "--no-aws")
        answer = json.loads(platform("doctor", "--no-aws", "--json").out)
    assert AWS in looked.out
    assert "123456789012 as " in looked.out
    assert left_out.code == 0
    assert "aws" not in left_out.out.lower()
    assert answer[-1] == {"name": "aws", "state": "unknown", "found": "not looked at: --no-aws", "cure": ""}
