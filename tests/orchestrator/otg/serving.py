"""Servers of both transports of OTG without ports, a client of each, and what they hold."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2
from snappi import otg_pb2_grpc

from orchestrator.otg.generator import Generator
from orchestrator.otg.grpc_server import GrpcServer
from orchestrator.otg.otg_service import OtgService
from orchestrator.otg.rest_server import RestServer
from tests.patience import PATIENCE_S

TOKEN = "0123456789abcdef-token"
MEMORY = 64 << 20
"""Octets by which a flood may let the process grow."""
MANY = 200
"""Connections of a flood."""


@dataclass
class Served:
    """A server of both transports without ports; `said` is its log."""

    rest: int
    grpc: int
    tls: ssl.SSLContext | None
    server: RestServer
    said: list[str] = field(default_factory=list)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.rest), timeout=PATIENCE_S)

    def ask(self, path: str = "/capabilities/version", token: str | None = TOKEN) -> int:
        """Status of a request of a client."""
        kind: Any = http.client.HTTPConnection
        more: dict[str, Any] = {}
        if self.tls is not None:
            kind, more = http.client.HTTPSConnection, {"context": self.tls}
        client = kind("127.0.0.1", self.rest, timeout=PATIENCE_S, **more)
        try:
            client.request("GET", path, headers={"Authorization": f"Bearer {token}"})
            return int(client.getresponse().status)
        finally:
            client.close()


@contextlib.contextmanager
def served(
    token: str | None = TOKEN, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
) -> Iterator[Served]:
    with socket.socket() as sender:
        service = OtgService(Generator({}, {}, sender), "1.0")
        said: list[str] = []
        rest = RestServer(service, ("127.0.0.1", 0), token, tls[0] if tls else None, said.append)
        try:
            over_grpc = GrpcServer(service, ("127.0.0.1", 0))
            try:
                yield Served(rest.port, over_grpc.port, tls[1] if tls else None, rest, said)
            finally:
                over_grpc.close()
        finally:
            rest.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def closed(peer: socket.socket) -> bool:
    """True once the server has closed a connection; what it sends until then is dropped."""
    try:
        while peer.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def version(port: int, within_s: float = PATIENCE_S) -> str:
    """Version of a server, by a client of gRPC that waits for it."""
    options = [("grpc.max_reconnect_backoff_ms", 200), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        stub = otg_pb2_grpc.OpenapiStub(channel)
        answer = stub.GetVersion(empty_pb2.Empty(), timeout=within_s, wait_for_ready=True)
        return str(answer.version.app_version)
