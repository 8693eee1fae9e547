"""Strangers at the REST server: connections, half handshakes, slow and endless requests.

None takes descriptors, memory or the log of the process, and a client is answered meanwhile.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import random
import socket
import ssl
import subprocess
import time
from collections.abc import Callable

import pytest

pytest.importorskip("snappi", reason="the extra `otg` is not installed")
pytest.importorskip("aiohttp", reason="the extra `otg` is not installed")

from orchestrator.otg import bounded_site, rest_server
from orchestrator.otg.otg_service import OtgService
from orchestrator.otg.rest_server import MOST_OCTETS
from tests.orchestrator.otg.serving import (
    MANY,
    MEMORY,
    TOKEN,
    closed,
    descriptors,
    resident,
    served,
)
from tests.patience import PATIENCE_S, eventually

BEGINNINGS = {
    "silence": b"",
    "half a line": b"GET /capab",
    "headers that go on": b"GET /config HTTP/1.1\r\nA: b\r\n",
    "a body that never comes": b"POST /config HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{",
    "half a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40),
}


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


@pytest.mark.parametrize("secured", [False, True])
@pytest.mark.parametrize("kind", BEGINNINGS)
def test_idle_connections_keep_no_client_out(
    kind: str,
    secured: bool,
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_site, "FIRST_S", 10 * PATIENCE_S)  # their time does not end them
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
            eventually(lambda: descriptors() <= most, "the oldest have given way", 20.0)
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
            answer = peer.recv(4096)
            assert b" 400 " in answer
            assert b"at most" not in answer, "it was unpacked"
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
