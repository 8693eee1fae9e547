"""Strangers at the gRPC server: connections, half messages, frames without end."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Any

import pytest

pytest.importorskip("snappi", reason="the extra `otg` is not installed")
pytest.importorskip("aiohttp", reason="the extra `otg` is not installed")

import grpc
from google.protobuf import empty_pb2
from snappi import otg_pb2, otg_pb2_grpc

from orchestrator.otg import bounded_site, grpc_server
from tests.orchestrator.otg.serving import (
    MANY,
    MEMORY,
    closed,
    descriptors,
    resident,
    served,
    version,
)
from tests.patience import PATIENCE_S, eventually

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of HTTP/2 (RFC 9113, section 4.1)."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header field without indexing (RFC 7541, section 6.2.2); both texts below 127 octets."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


SETTINGS = frame(4, 0, 0, b"")
ASKED = b"".join(
    literal(name, value)
    for name, value in {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": b"/otg.Openapi/SetConfig",
        b":authority": b"localhost",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
    }.items()
)
HALF = frame(1, 4, 1, ASKED) + frame(0, 0, 1, b"\0" + (4 << 20).to_bytes(4, "big") + bytes(100))
GRPC_BEGINNINGS = {
    "silence": b"",
    "half a preface": PREFACE[:10],
    "no settings": PREFACE,
    "settings": PREFACE + SETTINGS,
    "half a message": PREFACE + SETTINGS + HALF,
}


def short_lived(monkeypatch: pytest.MonkeyPatch, **changes: int) -> None:
    """Have connections of gRPC end sooner."""
    options = dict(grpc_server.OPTIONS)
    options |= {f"grpc.{name}": value for name, value in changes.items()}
    monkeypatch.setattr(grpc_server, "OPTIONS", tuple(options.items()))


@pytest.mark.parametrize("kind", GRPC_BEGINNINGS)
def test_connections_of_grpc_end_and_are_few(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short_lived(
        monkeypatch,
        **{"server_handshake_timeout_ms": 500, "http2.settings_timeout": 500},
        max_connection_idle_ms=500,
        max_connection_age_ms=1000,
        max_connection_age_grace_ms=500,
    )
    with served() as server:
        assert version(server.grpc).startswith("tailback ")
        before, idle = descriptors(), []
        for _ in range(MANY):
            peer = socket.create_connection(("127.0.0.1", server.grpc), timeout=PATIENCE_S)
            idle.append(peer)
            with contextlib.suppress(OSError):
                peer.sendall(GRPC_BEGINNINGS[kind])
        most = before + len(idle) + bounded_site.CONNECTIONS + 4
        eventually(lambda: descriptors() <= most, "further ones are refused")
        assert version(server.grpc).startswith("tailback "), "they have ended"
        assert all(closed(peer) for peer in idle)
        for peer in idle:
            peer.close()


GRPC_ENDLESS = {
    "settings": frame(4, 0, 0, struct.pack(">HI", 3, 100) * 100),
    "pings": frame(6, 0, 0, bytes(8)) * 100,
    "headers without end": frame(1, 0, 1, literal(b"a", b"b" * 100))
    + frame(9, 0, 1, literal(b"a", b"b" * 100)) * 50,
    "calls that are reset": b"".join(
        frame(1, 4, 2 * n + 1, ASKED) + frame(3, 0, 2 * n + 1, bytes(4)) for n in range(50)
    ),
    "half messages": b"".join(
        frame(1, 4, 2 * n + 1, ASKED)
        + frame(0, 0, 2 * n + 1, b"\0" + (4 << 20).to_bytes(4, "big") + bytes(16_000))
        for n in range(50)
    ),
    "a message of 4 GB": frame(1, 4, 1, ASKED)
    + frame(0, 0, 1, b"\0" + b"\xff" * 4)
    + frame(0, 0, 1, bytes(16_000)) * 20,
    "a frame of 16 MB": frame(1, 4, 1, ASKED) + b"\xff\xff\xff\0\0\0\0\0\x01" + bytes(4096),
    "octets": bytes(4096),
}


@pytest.mark.parametrize("kind", GRPC_ENDLESS)
def test_frames_of_grpc_without_end_take_no_memory(
    kind: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    short_lived(monkeypatch, max_connection_age_ms=1000, max_connection_age_grace_ms=500)
    with served() as server:
        version(server.grpc)
        before = resident()
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            with socket.create_connection(("127.0.0.1", server.grpc)) as peer:
                peer.settimeout(0.5)
                with contextlib.suppress(OSError):
                    peer.sendall(PREFACE + SETTINGS)
                    while time.monotonic() < end:
                        peer.sendall(GRPC_ENDLESS[kind])
                        assert resident() - before < MEMORY
        assert version(server.grpc).startswith("tailback ")
    assert len(capfd.readouterr().err) < 10_000


def test_messages_of_grpc_are_bounded() -> None:
    """In one piece, in many pieces, compressed; and pieces that are none."""
    with served() as server, grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        stub = otg_pb2_grpc.OpenapiStub(channel)
        before = resident()

        def config(octets: int) -> Any:
            return otg_pb2.Config(ports=[otg_pb2.Port(name="x" * octets)])

        codes = []
        for ask in (
            lambda: stub.SetConfig(otg_pb2.SetConfigRequest(config=config(5 << 20))),
            lambda: stub.SetConfig(
                otg_pb2.SetConfigRequest(config=config(60 << 20)),
                compression=grpc.Compression.Gzip,
            ),
            lambda: stub.streamSetConfig(otg_pb2.Data(datum=b"x" * (1 << 20)) for _ in range(40)),
            lambda: stub.streamSetConfig(iter([otg_pb2.Data(datum=b"\xff")])),
            lambda: stub.streamSetControlState(iter([otg_pb2.Data(datum=b"\xff")])),
        ):
            with pytest.raises(grpc.RpcError) as refused:
                ask()
            codes.append(refused.value.code().name)
        assert codes == ["RESOURCE_EXHAUSTED"] * 2 + ["INVALID_ARGUMENT"] * 3
        assert resident() - before < 4 * MEMORY
        assert version(server.grpc).startswith("tailback ")


def test_a_client_of_grpc_outlives_its_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that polls for longer than a connection may live sees no error."""
    short_lived(monkeypatch, max_connection_age_ms=300, max_connection_age_grace_ms=300)
    with served() as server, grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:
        stub = otg_pb2_grpc.OpenapiStub(channel)
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            assert stub.GetVersion(empty_pb2.Empty(), timeout=10.0).version.app_version
