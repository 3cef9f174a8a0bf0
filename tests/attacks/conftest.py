"""One village for the whole suite: its sandboxes stay warm from one attack to the next."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from attacks.village import API, BASE, OPERATOR, SHARED, QuickDisk, Village, internet
from tenantry_control.app import create_app as control_plane
from tenantry_control.logs import FileLogs
from tenantry_control.publishing import LocalPublisher
from tenantry_control.settings import ControlSettings
from tenantry_gateway.app import create_app
from tenantry_gateway.door import Door
from tenantry_gateway.log import Log
from tenantry_gateway.settings import GatewaySettings
from tenantry_publisher.work import work
from tenantry_registry import links
from tenantry_registry.issuers import Issuers
from tenantry_registry.names import Name
from tenantry_registry.objects_file import FileObjects
from tenantry_registry.process_runner import ProcessRunner
from tenantry_registry.secrets import Drawer, KeyFileCipher, Reader
from tenantry_registry.tokens import Tokens
from tenantry_registry.usage_sqlite import SqliteUsage

SEAL = "k1:" + "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def village(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Village]:
    folder = tmp_path_factory.mktemp("village")
    objects = FileObjects(folder / "store", disk=QuickDisk(), origin=f"https://{SHARED}")
    runner = ProcessRunner(objects, folder=folder / "run", workers=8)
    lines = io.StringIO()
    cipher = KeyFileCipher(folder / "secrets.key")
    secrets = Reader(objects, cipher, seconds=0.0).read

    async def carry_out(name: Name, job_id: str) -> object:
        return await work(objects=objects, runner=runner, name=name, job_id=job_id, base=BASE)

    publisher = LocalPublisher(carry_out)
    usage = SqliteUsage(folder / "usage.db")
    control = control_plane(
        objects=objects,
        publisher=publisher,
        fetch=internet,
        usage=usage,
        logs=FileLogs(folder / "log"),
        drawer=Drawer(objects, cipher),
        settings=ControlSettings(mode="development", base=BASE, api_url=API),
    )
    gateway = create_app(
        objects=objects,
        runner=runner,
        settings=GatewaySettings(origin=f"https://{SHARED}", base=BASE, seal_keys=SEAL, pointer_seconds=0.0),
        authenticate=Door(Issuers(internet), secrets),
        secrets=secrets,
        log=Log(lines),
    )
    await links.ensure(objects)
    await Tokens(objects).adopt(OPERATOR)
    made = Village(folder, objects, runner, gateway, control, publisher, lines)
    await made.settle()
    yield made
    await publisher.aclose()
    await runner.aclose()
    usage.close()
