"""The endpoint: addresses, formats, refusals, the last scrape."""

from __future__ import annotations

import builtins
import http.client
import socket
import threading
import time
import urllib.error
from typing import Any

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.metrics_export import bounded_server, http_endpoint
from orchestrator.metrics_export.http_endpoint import parse_address, served
from orchestrator.metrics_export.metric_families import Family
from orchestrator.metrics_export.run_readings import Reading
from tests.orchestrator.metrics_export.scraping import OPENMETRICS, fetched, parsed, samples
from tests.patience import PATIENCE_S, eventually

pytest.importorskip("prometheus_client")

QUEUE = Family("tailback_queue_bytes", "gauge", "bytes", 'octets "there"\nnow', ("entity",))
DROPS = Family("tailback_drops", "counter", "", "drops", ("entity",))
READINGS: list[Reading] = [(QUEUE, ('a"\\b\n',), 1.5), (DROPS, ("c",), 7.0), (QUEUE, ("d",), 0.0)]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("9464", ("127.0.0.1", 9464)),
        ("localhost:0", ("127.0.0.1", 0)),
        ("[::1]:9464", ("::1", 9464)),
        ("0.0.0.0:65535", ("0.0.0.0", 65535)),
    ],
)
def test_an_address_is_read(text: str, address: tuple[str, int]):
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "::1:9464", "a b:1",
     "example:9464", "999.0.0.1:1", "http://127.0.0.1:9464", "127.0.0.1:9464/metrics", "-1"],
)  # fmt: skip
def test_another_address_is_refused_with_what_is_expected(text: str):
    with pytest.raises(BadInput, match=r"^--metrics: .*is not accepted; .*expected"):
        parse_address(text)


@pytest.mark.parametrize("accept", ["text/plain", OPENMETRICS])
def test_both_formats_say_the_same(accept: str):
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        kind, text = fetched(endpoint.url, accept)
    assert kind.startswith(accept.partition(";")[0])
    assert samples(text, accept) == {
        ("tailback_queue_bytes", frozenset({("entity", 'a"\\b\n')})): 1.5,
        ("tailback_queue_bytes", frozenset({("entity", "d")})): 0.0,
        ("tailback_drops_total", frozenset({("entity", "c")})): 7.0,
    }
    types = {family.name: family.type for family in parsed(text, accept)}
    assert types == {"tailback_queue_bytes": "gauge", "tailback_drops": "counter"}
    if accept == OPENMETRICS:
        assert {f.name: f.unit for f in parsed(text, accept)}["tailback_queue_bytes"] == "bytes"


def test_one_machine_alone_reaches_the_loopback_and_another_address_is_warned_of():
    said: list[str] = []
    with served("127.0.0.1:0", lambda: READINGS, said.append) as endpoint:
        assert said == [f"metrics at {endpoint.url}"]
    said.clear()
    with served("0.0.0.0:0", lambda: READINGS, said.append) as endpoint:
        assert "are not authenticated" in said[1]
        assert endpoint.url in said[1]
        assert samples(fetched(endpoint.url.replace("0.0.0.0", "127.0.0.1"))[1])


def test_ipv6_is_served():
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError as error:
            pytest.skip(f"no IPv6 loopback: {error}")
    with served("[::1]:0", lambda: READINGS, lambda text: None) as endpoint:
        assert samples(fetched(endpoint.url)[1])


def test_a_port_that_is_taken_is_refused_and_one_that_was_served_is_free_afterwards():
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        address = endpoint.url.removeprefix("http://").removesuffix("/metrics")
        with (
            pytest.raises(BadInput, match=r"--metrics: 127\.0\.0\.1:\d+ cannot be listened on"),
            served(address, lambda: READINGS, lambda text: None),
        ):
            pass
    with served(address, lambda: READINGS, lambda text: None) as endpoint:
        fetched(endpoint.url)
    assert not [t for t in threading.enumerate() if t.name == "metrics"]


def test_nothing_but_get_of_the_metrics_is_answered():
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        for path in ("/", "/metricsx", "/../etc/passwd", "/favicon.ico"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                fetched(endpoint.url.replace("/metrics", path))
        host, port = endpoint.url.split("/")[2].split(":")
        for method in ("POST", "PUT", "DELETE"):
            connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
            connection.request(method, "/metrics", body=b"x")
            assert connection.getresponse().status == 405
            connection.close()


def test_a_process_that_is_busy_answers_so_and_is_no_last_scrape():
    def busy() -> list[Reading]:
        raise TimeoutError

    with served("127.0.0.1:0", busy, lambda text: None) as endpoint:
        with pytest.raises(urllib.error.HTTPError, match="503"):
            fetched(endpoint.url)
        assert endpoint._answered == 0


def test_a_client_that_says_nothing_holds_nobody_else(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounded_server.RequestHandler, "timeout", 0.2)
    with served("127.0.0.1:0", lambda: READINGS, lambda text: None) as endpoint:
        host, port = endpoint.url.split("/")[2].split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as silent:
            assert samples(fetched(endpoint.url)[1])
            assert silent.recv(1) == b"", "it is closed"


def test_without_the_extra_it_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("prometheus_client"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Refused) as refused:
        http_endpoint.require_client()
    assert str(refused.value) == (
        "--metrics: prometheus-client is not installed. pip install 'tailback-testbed[metrics]'"
    )


def test_the_last_values_stay_until_a_scrape_that_begins_afterwards():
    entered, go_on = threading.Event(), threading.Event()

    def slow() -> list[Reading]:
        entered.set()
        assert go_on.wait(PATIENCE_S)
        return READINGS

    said: list[str] = []
    with served("127.0.0.1:0", slow, lambda text: None) as endpoint:
        early = threading.Thread(target=fetched, args=(endpoint.url,))
        early.start()
        assert entered.wait(PATIENCE_S)
        holding = threading.Thread(target=endpoint.hold, args=(PATIENCE_S, said.append))
        holding.start()
        eventually(lambda: said, "it says that it holds")
        go_on.set()
        early.join()
        holding.join(0.3)
        assert holding.is_alive(), "the scrape that had begun before may not have the last values"
        fetched(endpoint.url)
        holding.join(PATIENCE_S)
        assert not holding.is_alive()
        began = time.monotonic()
        endpoint.hold(0.05, said.append)
        assert time.monotonic() - began >= 0.05
        assert not endpoint.wait_for_scrape(0.0)
