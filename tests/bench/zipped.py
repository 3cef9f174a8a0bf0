"""The gateway's zip as Lambda runs it, beside the official SDK's app and fastmcp's on Mangum: cold, to tools/list.

Each is a folder with nothing else on the path but the official runtime (awslambdaric); each is a fresh process that
gets one event from a Runtime API of this module's own. Counted is its CPU from its start until it has answered. The
peers are built from PyPI into .build/bench: 20 tools, stateless, JSON answers, bytecode compiled as in our zip. The
floor is one FastAPI route on Mangum that returns our answer's bytes, with the libraries of our zip.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench import wire
from tenantry_infra import builder
from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".build" / "bench"
ANSWER_SECONDS = 60
TOOLS = '''
def make(number):
    @server.tool(name=f"tool_{number}")
    async def tool(text: str, count: int = 1) -> str:
        """Use this when the user wants something of the kind that this tool does well."""
        return text

for number in range(20):
    make(number)
'''
SDK = f"""
from mangum import Mangum
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

server = MCPServer("bench")
{TOOLS}
app = server.streamable_http_app(
    streamable_http_path={wire.PATH!r}, json_response=True, stateless_http=True,
    transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
)
handler = Mangum(app)
"""
FASTMCP = f"""
from fastmcp import FastMCP
from mangum import Mangum

server = FastMCP("bench")
{TOOLS}
app = server.http_app(path={wire.PATH!r}, json_response=True, stateless_http=True)
handler = Mangum(app)
"""
FLOOR = """
from pathlib import Path

from bench_bare import handler_for

handler = handler_for(Path(__file__).with_name("answer.json").read_bytes())
"""
PEERS = {
    "mcp": (SDK, ["mcp==2.3.0", "mangum==0.22.0"], 0.5),
    "fastmcp": (FASTMCP, ["fastmcp>=4,<5", "mangum==0.22.0"], 0.3),
}


def folders() -> dict[str, Path]:
    """The three functions, unzipped; what was built before is used again."""
    made = builder.build("gateway", "host", PLACE / "zips", cache=ROOT / ".build" / "zips")
    ours = PLACE / f"gateway-{made.sha256[:12]}"
    if not ours.exists():
        with zipfile.ZipFile(made.path) as archive:
            archive.extractall(ours)
    found = {"gateway": ours}
    for name, (source, wanted, _) in PEERS.items():
        folder = PLACE / name
        if not (folder / "function.py").exists():
            install = [find_uv_bin(), "pip", "install", "-q", "--compile-bytecode", "--target", str(folder),
                       "--python", sys.executable, *wanted]  # fmt: skip
            subprocess.run(install, check=True)
        (folder / "function.py").write_text(source)
        found[name] = folder
    return found


def runtime() -> Path:
    """The official runtime by itself, as AWS has it beside the function."""
    place = PLACE / "runtime"
    place.mkdir(parents=True, exist_ok=True)
    for name in ("awslambdaric", "snapshot_restore_py", "simplejson", "runtime_client"):
        found = importlib.util.find_spec(name)
        assert found
        assert found.origin
        origin = Path(found.origin)
        target = origin.parent if origin.name == "__init__.py" else origin
        if not (place / target.name).exists():
            (place / target.name).symlink_to(target)
    return place


def floor(answer: str) -> Path:
    """A folder with the bare route's function beside nothing; its libraries come from our zip's folder."""
    folder = PLACE / "floor"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answer.json").write_text(answer)
    (folder / "function.py").write_text(FLOOR)
    (folder / "bench_bare.py").write_text(Path(__file__).with_name("bare.py").read_text())
    return folder


def cold(folder: Path, handler: str, environment: Mapping[str, str], libraries: Path | None = None) -> float:
    """CPU milliseconds of one fresh process until its first tools/list is answered."""
    return answered_cold(folder, handler, environment, libraries)[0]


def answered_cold(
    folder: Path, handler: str, environment: Mapping[str, str], libraries: Path | None = None
) -> tuple[float, str]:
    """The same, with the body that it answered."""
    answered, over = threading.Event(), threading.Event()
    bodies: list[bytes] = []

    class RuntimeApi(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if answered.is_set():  # one event is enough: the next one never comes
                over.wait(ANSWER_SECONDS)
                self.close_connection = True
                return
            payload = json.dumps(wire.modern("tools/list")).encode()
            self.send_response(200)
            for name, value in headers(payload).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            spent.append(cpu(process.pid))
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            answered.set()

        def log_message(self, *_: object) -> None:
            return

    spent: list[float] = []

    class Api(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            if not over.is_set():  # a process that is killed leaves its connection open
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    server = Api(("127.0.0.1", 0), RuntimeApi)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": ":".join(str(place) for place in (folder, libraries, runtime()) if place),
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{server.server_port}",
        "AWS_LAMBDA_FUNCTION_NAME": "bench",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_LAMBDA_FUNCTION_VERSION": "1",
        "AWS_REGION": "us-east-1",
        **environment,
    }
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    process = subprocess.Popen(
        [sys.executable, "-S", "-s", "-m", "awslambdaric", handler], env=env,
        stdout=subprocess.DEVNULL, stderr=log,
    )  # fmt: skip
    try:
        assert answered.wait(ANSWER_SECONDS), f"{folder.name}: {os.pread(log.fileno(), 4000, 0).decode()}"
    finally:
        over.set()
        process.kill()
        process.wait()
        server.shutdown()
        server.server_close()
        log.close()
    answer = json.loads(bodies[0])
    assert answer["statusCode"] == 200, answer
    assert len(json.loads(answer["body"])["result"]["tools"]) == 20, answer["body"][:300]
    return spent[0], str(answer["body"])


def headers(payload: bytes) -> dict[str, str]:
    """What the Runtime API sends with an event; the runtime needs each of them."""
    return {
        "Lambda-Runtime-Aws-Request-Id": "1",
        "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + 1000 * ANSWER_SECONDS),
        "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:1:function:bench",
        "Content-Type": "application/json",
        "Content-Length": str(len(payload)),
    }


def cpu(pid: int) -> float:
    """CPU milliseconds that a process's threads have used, to the nanosecond."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6


def measure(environment: Mapping[str, str], rounds: int) -> tuple[float, dict[str, tuple[float, float, float]]]:
    """The floor's milliseconds; by peer: ours, the peer's, and the aim for the ratio. Medians of `rounds` fresh
    processes in turn."""
    wanted = {name: value for name, value in environment.items() if name.startswith(("TENANTRY_", "AWS_"))}
    found = folders()
    handlers = {
        "gateway": "tenantry_gateway.on_lambda.handler",
        "mcp": "function.handler",
        "fastmcp": "function.handler",
    }
    _, answer = answered_cold(found["gateway"], handlers["gateway"], wanted)
    found["floor"], handlers["floor"] = floor(answer), "function.handler"
    spent: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(rounds + 1):
        for name, folder in found.items():
            took = cold(folder, handlers[name], wanted, found["gateway"] if name == "floor" else None)
            if turn:  # the first of each fills the page cache
                spent[name].append(took)
    middle = {name: statistics.median(each) for name, each in spent.items()}
    return middle["floor"], {name: (middle["gateway"], middle[name], aim) for name, (_, _, aim) in PEERS.items()}
