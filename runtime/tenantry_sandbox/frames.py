"""Messages on the socket between the runner and a worker: a kind (one byte), a length (four, big-endian), the content.

An answer to an event is one frame of kind REPLY. Before it, any number of uploads may be sent: a frame of kind PUT that
says `{"id", "size"}`, then that many raw bytes. The socket is inherited as a file descriptor of its own, so what a
tool prints, reads or closes on 0, 1 and 2 cannot disturb it.
"""

import json
import socket
import struct
from typing import Any

HEAD = struct.Struct(">BI")
REPLY = 0
PUT = 1


class Closed(Exception):
    """The runner has closed its end: there is nothing more to do."""


def read(sock: socket.socket) -> Any:
    """Wait for one frame and decode it. Raises: Closed."""
    _, size = HEAD.unpack(_exactly(sock, HEAD.size))
    return json.loads(_exactly(sock, size))


def write(sock: socket.socket, data: bytes) -> None:
    """Send an answer."""
    sock.sendall(HEAD.pack(REPLY, len(data)) + data)


def put(sock: socket.socket, slot: str, data: bytes) -> None:
    """Send what goes into the upload slot with this id."""
    header = json.dumps({"id": slot, "size": len(data)}).encode()
    sock.sendall(HEAD.pack(PUT, len(header)) + header)
    sock.sendall(data)


def _exactly(sock: socket.socket, size: int) -> bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    while view:
        got = sock.recv_into(view)
        if not got:
            raise Closed
        view = view[got:]
    return buffer
