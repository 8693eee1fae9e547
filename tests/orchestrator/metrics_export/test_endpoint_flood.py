"""Strangers at the endpoint: connections, slow and endless requests, octets that are no HTTP.

None takes threads, descriptors, memory or the terminal of the process, and a scraper is answered.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from wsgiref.simple_server import WSGIRequestHandler

import pytest

from orchestrator.metrics_export import bounded_server
from orchestrator.metrics_export.bounded_server import (
    CONNECTIONS,
    OF_SOURCE,
    OF_SOURCE_S,
    REQUEST_OCTETS,
)
from orchestrator.metrics_export.http_endpoint import served
from tests.orchestrator.metrics_export.scraping import fetched, samples
from tests.orchestrator.metrics_export.test_http_endpoint import READINGS
from tests.patience import PATIENCE_S, eventually

pytest.importorskip("prometheus_client")

MANY = 100
BEGINNINGS = {
    "silence": b"",
    "half a line": b"GET /met",
    "headers that go on": b"GET /metrics HTTP/1.1\r\nA: b\r\n",
    "a body that never comes": b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n",
}


def address(url: str) -> tuple[str, int]:
    host, port = url.split("/")[2].split(":")
    return host, int(port)


def threads() -> int:
    """Threads of connections."""
    return sum("process_request" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_idle_connections_keep_no_scraper_out(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        idle, most = [], 0
        try:
            for number in range(MANY):
                one = socket.create_connection(address(endpoint.url), timeout=PATIENCE_S)
                one.sendall(BEGINNINGS[kind])
                idle.append(one)
                if number % 25 == 24:
                    time.sleep(0.3)  # within the rate of one address
                    assert samples(fetched(endpoint.url)[1])
                    most = max(most, len(endpoint._server._open))
            assert 1 < most <= OF_SOURCE + 1, "those of one address"
            eventually(lambda: threads() <= OF_SOURCE, "few threads")
        finally:
            for one in idle:
                one.close()
        eventually(lambda: not threads(), "no thread is left")
    assert capfd.readouterr().err == ""


def test_new_connections_of_one_address_keep_no_other_address_out() -> None:
    """It has a share of the connections and of their rate; the rest is for others."""
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        flood, refused = [], 0
        try:
            for _ in range(2 * int(OF_SOURCE_S)):
                one = socket.create_connection(address(endpoint.url), timeout=PATIENCE_S)
                flood.append(one)
            with socket.create_connection(
                address(endpoint.url), timeout=PATIENCE_S, source_address=("127.0.0.2", 0)
            ) as other:
                other.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                assert b" 200 " in other.recv(100)
            for one in flood:
                one.settimeout(0.0)
                with suppress(BlockingIOError):
                    refused += not one.recv(1)
            held = len(flood) - refused
            assert held <= OF_SOURCE < CONNECTIONS
        finally:
            for one in flood:
                one.close()


def test_a_request_octet_by_octet_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each octet comes within the time of a read; the request as a whole does not."""
    monkeypatch.setattr(bounded_server, "IDLE_S", 0.5)
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        slow = socket.create_connection(address(endpoint.url), timeout=PATIENCE_S)
        end = time.monotonic() + PATIENCE_S
        with pytest.raises(ConnectionError):
            while time.monotonic() < end:
                slow.sendall(b"x")
                time.sleep(0.05)
        slow.close()


@pytest.mark.parametrize("line", [b"A: b" + b"x" * 995 + b"\r\n", b"x" * 1000])
def test_a_request_without_end_is_refused(line: bytes) -> None:
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        peer = socket.create_connection(address(endpoint.url), timeout=PATIENCE_S)
        peer.sendall(b"GET /metrics HTTP/1.1\r\n" + line * (REQUEST_OCTETS // len(line) + 1))
        assert b" 431 " in peer.recv(100), "there is no empty line yet"
        peer.close()
        assert samples(fetched(endpoint.url)[1])


def garbage(draw: random.Random) -> bytes:
    """A request with something wrong."""
    targets, types = [b"//", b"http://[", b"%ff%0d%0a", b"\xff"], [b"\xff", b"text/plain;q=nan"]
    parts: list[Callable[[], bytes]] = [
        lambda: draw.randbytes(draw.randrange(1, 200)),
        lambda: b"GET /metrics HTTP/%d.%d\r\n" % (draw.randrange(10**9), draw.randrange(99)),
        lambda: b"GET %s HTTP/1.1\r\n\r\n" % draw.choice(targets),
        lambda: (
            b"GET /metrics?%s HTTP/1.1\r\n\r\n" % draw.choice([b"name[]=%ff", b"a" * 9999, b"&="])
        ),
        lambda: b"Accept: %s\r\n\r\n" % draw.choice(types),
        lambda: b"Content-Length: %s\r\n\r\n" % draw.choice([b"-1", b"9" * 5000, b"\xb2"]),
        lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        lambda: b"GET /metrics\r\n",
    ]
    return b"".join(draw.choice(parts)() for _ in range(draw.randrange(1, 4)))


def test_octets_that_are_no_request_fill_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(45)
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        for _ in range(100):
            peer = socket.create_connection(address(endpoint.url), timeout=PATIENCE_S)
            with peer, suppress(ConnectionError):
                peer.sendall(garbage(draw))
                with suppress(OSError):  # the server has ended it
                    peer.shutdown(socket.SHUT_WR)
                while peer.recv(1 << 16):
                    pass
        assert samples(fetched(endpoint.url)[1])
    assert capfd.readouterr().err == ""


def test_a_mistake_in_a_request_is_reported_and_a_peer_that_left_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with bounded_server.BoundedServer(("127.0.0.1", 0), WSGIRequestHandler) as server:
        for error, reported in ((ConnectionResetError("it left"), False), (KeyError("k"), True)):
            try:
                raise error
            except (ConnectionResetError, KeyError):
                server.handle_error(None, ("127.0.0.1", 1))
            assert ("KeyError" in capsys.readouterr().err) is reported
