from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from gateway.house import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
async def http(house: House) -> AsyncIterator[httpx.AsyncClient]:
    await house.publish()
    async with house.http() as client:
        yield client
