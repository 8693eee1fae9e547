"""Strangers at the OTG server: connections, half handshakes, slow and endless requests.

None takes descriptors, memory or the log of the process, and a client is answered meanwhile.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import random
import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("snappi", reason="the extra `otg` is not installed")
pytest.importorskip("aiohttp", reason="the extra `otg` is not installed")

import grpc
from google.protobuf import empty_pb2
from snappi import otg_pb2, otg_pb2_grpc

from orchestrator.otg import bounded_site, grpc_server, rest_server
from orchestrator.otg.generator import Generator
from orchestrator.otg.grpc_server import GrpcServer
from orchestrator.otg.otg_service import OtgService
from orchestrator.otg.rest_server import MOST_OCTETS, RestServer
from tests.patience import PATIENCE_S, eventually

TOKEN = "0123456789abcdef-token"
MEMORY = 64 << 20
"""Octets by which a flood may let the process grow."""
MANY = 200
BEGINNINGS = {
    "silence": b"",
    "half a line": b"GET /capab",
    "headers that go on": b"GET /config HTTP/1.1\r\nA: b\r\n",
    "a body that never comes": b"POST /config HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{",
    "half a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
}


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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    folder = tmp_path_factory.mktemp("tls")
    names = [str(folder / "cert.pem"), str(folder / "key.pem")]
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    try:
        subprocess.run(
            [*line, "-out", names[0], "-keyout", names[1]],
            capture_output=True,
            check=True,
            timeout=60,
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    return rest_server.tls_context(*names), client


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


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("kind", BEGINNINGS)
def test_idle_connections_keep_no_client_out(
    kind: str, secured: bool, certificate: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    with served(tls=certificate if secured else None) as server:
        assert server.ask() == 200
        before, idle = descriptors(), []
        try:
            for number in range(MANY):
                one = server.connect()
                with contextlib.suppress(OSError):
                    one.sendall(BEGINNINGS[kind])
                idle.append(one)
                if number % 20 == 19:
                    time.sleep(0.2)  # within the rate of one address
                    assert server.ask() == 200
            most = before + len(idle) + bounded_site.OF_SOURCE
            eventually(lambda: descriptors() <= most, "the oldest have given way")
        finally:
            for one in idle:
                one.close()
        eventually(lambda: descriptors() <= before + 2, "no connection is left")
    assert len(server.said) <= 21


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("kind", BEGINNINGS)
def test_a_stranger_has_a_few_seconds(
    kind: str,
    secured: bool,
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_site, "FIRST_S", 0.4)
    with served(tls=certificate if secured else None) as server, server.connect() as peer:
        with contextlib.suppress(OSError):
            peer.sendall(BEGINNINGS[kind])
        began = time.monotonic()
        assert closed(peer)
        assert time.monotonic() - began < 5.0


def test_a_request_octet_by_octet_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each octet comes soon; the request as a whole does not."""
    monkeypatch.setattr(bounded_site, "FIRST_S", 0.5)
    with served() as server, server.connect() as slow:
        end = time.monotonic() + PATIENCE_S
        with pytest.raises(ConnectionError):
            while time.monotonic() < end:
                slow.sendall(b"x")
                time.sleep(0.05)


def test_a_client_with_the_token_has_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no newcomer any more: between its requests, and while it sends a body."""
    monkeypatch.setattr(bounded_site, "FIRST_S", 0.3)
    with served() as server:
        client = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=PATIENCE_S)
        for _ in range(2):
            client.request("GET", "/config", headers={"Authorization": f"Bearer {TOKEN}"})
            assert client.getresponse().read() == b"{}"
            time.sleep(1.0)
        client.close()
        with server.connect() as peer:
            head = f"POST /config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
            peer.sendall(f"{head}Content-Length: 3\r\n\r\n[".encode())
            time.sleep(1.0)
            peer.sendall(b"1]")
            assert b" 400 " in peer.recv(100)


def test_a_body_that_does_not_come_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_server, "BODY_S", 0.4)
    with served() as server, server.connect() as peer:
        head = f"POST /config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
        peer.sendall(f"{head}Content-Length: 9\r\n\r\n[".encode())
        assert b"did not come within" in peer.recv(4096)
        assert closed(peer)


def test_an_answer_that_is_not_taken_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_server, "ANSWER_S", 0.4)
    monkeypatch.setattr(OtgService, "get_config", lambda self: {"name": "x" * (8 << 20)})
    with served() as server:
        idle = []
        for _ in range(rest_server.CALLS):
            peer = server.connect()
            head = f"GET /config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
            peer.sendall(f"{head}Connection: close\r\n\r\n".encode())
            idle.append(peer)
        time.sleep(0.2)
        assert server.ask() == 200, "their turns have ended"
        for peer in idle:
            assert closed(peer)
            peer.close()


ENDLESS = {
    "a line": (b"GET /", b"x" * 4096),
    "headers": (b"GET / HTTP/1.1\r\n", b"A: b\r\n" * 700),
    "long headers": (b"GET / HTTP/1.1\r\n", b"A: " + b"b" * 1500 + b"\r\n"),
    "a header": (b"GET / HTTP/1.1\r\nA: ", b"b" * 4096),
    "a chunked body": (
        b"POST /config HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1000\r\n" + b"x" * 4096 + b"\r\n",
    ),
    "a body": (
        b"POST /config HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n",
        b"x" * 4096,
    ),
    "a chunk's extension": (
        b"POST /config HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;",
        b"x" * 4096,
    ),
    "trailers": (
        b"POST /config HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        b"A: b\r\n" * 700,
    ),
    "requests": (b"", b"GET /config HTTP/1.1\r\nHost: a\r\n\r\n" * 100),
    "an upgrade": (
        b"GET /config HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"x" * 4096,
    ),
    "a tunnel": (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", b"x" * 4096),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_stranger_sends_nothing_without_end(kind: str) -> None:
    first, block = ENDLESS[kind]
    with served() as server:
        server.ask()
        before = resident()
        end = time.monotonic() + 2 * bounded_site.FIRST_S + PATIENCE_S
        with server.connect() as peer, contextlib.suppress(ConnectionError):
            peer.sendall(first)
            while True:
                peer.sendall(block)
                assert time.monotonic() < end, "it takes octets for ever"
                assert resident() - before < MEMORY
        assert server.ask() == 200
    assert len(server.said) <= 21


def test_a_body_of_a_client_is_bounded_and_not_unpacked() -> None:
    """The token does not help: neither to too many octets nor to a few that become many."""
    authorization = f"Authorization: Bearer {TOKEN}\r\n"
    bomb = gzip.compress(bytes(256 << 20), 9)
    with served() as server:
        server.ask()
        before = resident()
        with server.connect() as peer:
            head = f"POST /config HTTP/1.1\r\nHost: a\r\n{authorization}"
            head += "Transfer-Encoding: chunked\r\n\r\n"
            with contextlib.suppress(ConnectionError):
                peer.sendall(head.encode())
                for _ in range(2 * MOST_OCTETS // 4096):
                    peer.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            with contextlib.suppress(ConnectionError):
                assert b"at most" in peer.recv(4096)
        with server.connect() as peer:
            head = f"POST /config HTTP/1.1\r\nHost: a\r\n{authorization}Content-Encoding: gzip\r\n"
            peer.sendall(f"{head}Content-Length: {len(bomb)}\r\n\r\n".encode() + bomb)
            assert b" 400 " in peer.recv(4096)
        assert resident() - before < 2 * MEMORY
        assert server.ask() == 200


def garbage(draw: random.Random) -> bytes:
    """A request with something wrong."""
    targets = [b"//", b"http://[", b"%ff%0d%0a", b"\xff", b"/config" + b"/.." * 500]
    parts: list[Callable[[], bytes]] = [
        lambda: draw.randbytes(draw.randrange(1, 200)),
        lambda: b"GET /config HTTP/%d.%d\r\n" % (draw.randrange(10**9), draw.randrange(99)),
        lambda: (
            b"%s %s HTTP/1.1\r\n\r\n"
            % (draw.choice([b"GET", b"\0", b"A" * 99]), draw.choice(targets))
        ),
        lambda: b"Content-Length: %s\r\n\r\n" % draw.choice([b"-1", b"9" * 5000, b"\xb2"]),
        lambda: (
            b"Authorization: %s\r\n\r\n" % draw.choice([b"Basic =", b"Bearer \xff", b"x" * 999])
        ),
        lambda: b"Transfer-Encoding: chunked\r\n\r\n" + draw.choice([b"-1\r\n", b"f" * 99, b"\0"]),
        lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        lambda: b"Expect: 100-continue\r\n\r\n",
    ]
    return b"".join(draw.choice(parts)() for _ in range(draw.randrange(1, 4)))


def test_octets_that_are_no_request_fill_no_log(capfd: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(45)
    with served() as server:
        for _ in range(200):
            with server.connect() as peer, contextlib.suppress(OSError):
                peer.sendall(garbage(draw))
                peer.shutdown(socket.SHUT_WR)
                closed(peer)
            time.sleep(0.01)
        assert server.ask() == 200
    assert len(server.said) <= 21
    assert capfd.readouterr().err == ""


VALUES: dict[str, Callable[[], str]] = {
    "an integer of 10,000 digits": lambda: "9" * 10_000,
    "a text of 10,000 digits": lambda: '"' + "9" * 10_000 + '"',
    "a fraction of 10,000 digits": lambda: "0." + "3" * 10_000,
    "an exponent of 10,000 digits": lambda: "1e" + "9" * 10_000,
    "NaN": lambda: "NaN",
    "lists in lists": lambda: "[" * 100_000,
}
FIELDS = {
    "/config": [
        '{"flows":[{"name":"f","rate":{"pps":%s}}]}',
        '{"flows":[{"name":"f","size":{"fixed":%s}}]}',
        '{"flows":[{"name":"f","duration":{"fixed_packets":{"packets":%s}}}]}',
        '{"layer1":[{"mtu":%s}]}',
        '{"flows":[{"packet":[{"ipv4":{"src":{"value":%s}}}]}]}',
    ],
    "/monitor/metrics": ['{"flow":{"flow_names":[%s]}}', '{"port":{"port_names":[%s]}}'],
    "/monitor/capture": ['{"port_name":%s}'],
    "/control/state": ['{"port":{"capture":{"port_names":[%s],"state":"start"}}}'],
}


@pytest.mark.parametrize("path", FIELDS)
@pytest.mark.parametrize("kind", VALUES)
def test_a_hostile_value_of_a_field_is_an_error_of_the_request(kind: str, path: str) -> None:
    with served() as server:
        client = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=PATIENCE_S)
        for text in FIELDS[path]:
            body = text % VALUES[kind]()
            client.request("POST", path, body, {"Authorization": f"Bearer {TOKEN}"})
            answer = client.getresponse()
            octets = answer.read()
            assert answer.status == 400, (text, octets[:300])
            assert len(octets) < 10_000
            assert json.loads(octets)["errors"]
        client.close()
        assert not server.said


# gRPC

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


def version(port: int, within_s: float = PATIENCE_S) -> str:
    """Version of a server, by a client of gRPC that waits for it."""
    options = [("grpc.max_reconnect_backoff_ms", 200), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        stub = otg_pb2_grpc.OpenapiStub(channel)
        answer = stub.GetVersion(empty_pb2.Empty(), timeout=within_s, wait_for_ready=True)
        return str(answer.version.app_version)


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
