"""HTTP endpoint at which Prometheus scrapes a process: `http://ADDRESS/metrics`.

It answers in the text format of Prometheus or, where the scraper accepts it, in OpenMetrics 1.0.
There is neither authentication nor encryption, so the address is loopback unless another one is
given. The endpoint reads state only while it answers; without a scraper it costs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import BadInput, Refused
from orchestrator.metrics_export.bounded_server import (
    IDLE_S,
    BoundedServer,
    BoundedServer6,
    RequestHandler,
)
from orchestrator.metrics_export.run_readings import Reading

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

T = TypeVar("T")

OPTION = "--metrics"
PATH = "/metrics"
EXAMPLE = "127.0.0.1:9464"
LOOPBACK = "127.0.0.1"
ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:\s]+):)?(?P<port>[0-9]{1,5})")

Source = Callable[[], Iterable[Reading]]
"""Current readings of a process; called by one thread at a time, not by the process's own."""


def parse_address(text: str, option: str = OPTION, example: str = EXAMPLE) -> tuple[str, int]:
    """Host and port of `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`, or `9464` (loopback).

    Raises BadInput, which names the option and the example.
    """
    match = ADDRESS.fullmatch(text)
    port = int(match["port"]) if match else -1
    if match is None or port > 65_535:
        raise BadInput(
            option,
            f"{text[:100]!r} is not accepted; IP:PORT is expected, such as {example} or "
            "[::1]:9464, with a port from 0 (any free one) to 65535; PORT alone is on the loopback",
        )
    host = (match["host"] or LOOPBACK).strip("[]")
    if host == "localhost":
        host = LOOPBACK
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise BadInput(
            option,
            f"{host[:100]!r} in {text[:100]!r} is not accepted; an IP address of this machine is "
            f"expected, such as {LOOPBACK}, or localhost",
        ) from None
    return host, port


def is_loopback(host: str) -> bool:
    """True if only processes of this machine reach the address."""
    return ipaddress.ip_address(host).is_loopback


def require_client() -> None:
    """Raises Refused without the extra `metrics`."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise Refused(
            OPTION,
            "prometheus-client is not installed",
            "pip install 'tailback-testbed[metrics]'",
        ) from None


def exposed(readings: Iterable[Reading]) -> list[Metric]:
    """Readings as metrics of prometheus-client, one for each family, in order of first use."""
    from prometheus_client import Metric

    metrics: dict[str, Metric] = {}
    for family, labels, value in readings:
        if (metric := metrics.get(family.name)) is None:
            metric = Metric(family.name, family.meaning, family.kind, family.unit)
            metrics[family.name] = metric
        values = dict(zip(family.labels, labels, strict=True))
        metric.add_sample(family.exported, values, value)
    return list(metrics.values())


class _Collector:
    """Collector of prometheus-client around the readings of a process."""

    def __init__(self, source: Source) -> None:
        self._source, self._lock = source, threading.Lock()

    def collect(self) -> list[Metric]:
        with self._lock:
            return exposed(self._source())

    def describe(self) -> list[Metric]:
        """Nothing: what there is to collect differs from scrape to scrape."""
        return []


class MetricsEndpoint:
    """Endpoint of a process. `url` is where it is scraped."""

    def __init__(self, host: str, port: int, source: Source) -> None:
        from prometheus_client import CollectorRegistry, make_wsgi_app

        registry: CollectorRegistry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(source))
        self._app = make_wsgi_app(registry)
        self._begun = self._answered = 0
        """Numbers of the latest scrape that began, and of the latest that was answered."""
        self._scraped = threading.Condition()
        kind = BoundedServer6 if ":" in host else BoundedServer
        try:
            self._server = kind((host, port), RequestHandler)
        except OSError as error:
            raise BadInput(
                OPTION,
                f"{host}:{port} cannot be listened on ({error.strerror}); another address or port "
                "is expected, such as port 0 for any free one",
            ) from None
        self._server.set_app(self._answer)
        bound = self._server.server_address[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{bound}{PATH}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True
        )
        try:
            with deferred_signals():
                self._thread.start()
        except BaseException:
            self.close()
            raise

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != PATH:
            start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [f"metrics are at {PATH}\n".encode()]
        with self._scraped:
            self._begun += 1
            number = self._begun
        try:
            answer: list[bytes] = self._app(environ, start_response)
        except TimeoutError:
            start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
            return [b"the process is busy\n"]
        if environ["REQUEST_METHOD"] == "GET":
            with self._scraped:
                self._answered = max(self._answered, number)
                self._scraped.notify_all()
        return answer

    def wait_for_scrape(self, seconds: float) -> bool:
        """Wait until a scrape that begins after this call is answered; False after the time."""
        with self._scraped:
            before = self._begun
            return self._scraped.wait_for(lambda: self._answered > before, seconds)

    def hold(self, seconds: float, say: Callable[[str], None]) -> None:
        """Keep the final values until a scrape has fetched them, at most so long, or Ctrl-C."""
        if not seconds:
            return
        say(f"final values stay at {self.url} for a scrape, at most {seconds:g} s")
        sys.stdout.flush()  # who reads the result through a pipe need not wait as long
        with contextlib.suppress(KeyboardInterrupt):
            self.wait_for_scrape(seconds)

    def close(self) -> None:
        """Stop listening."""
        with deferred_signals():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()


def warning_text(host: str, url: str) -> str:
    """Sentence about an endpoint that other machines may reach; empty for the loopback."""
    if is_loopback(host):
        return ""
    return (
        f"metrics at {url} are not authenticated: every machine that reaches this address can "
        "read them"
    )


def on_loop(loop: asyncio.AbstractEventLoop, snapshot: Callable[[], T]) -> T:
    """A snapshot that the thread of an event loop makes, for another thread.

    Raises TimeoutError when the loop is busy for longer than a scraper waits.
    """

    async def make() -> T:
        return snapshot()

    return asyncio.run_coroutine_threadsafe(make(), loop).result(IDLE_S)


@contextlib.contextmanager
def served(address: str, source: Source, say: Callable[[str], None]) -> Iterator[MetricsEndpoint]:
    """Endpoint as long as the block lasts.

    `say` is called with the endpoint's address and a warning where other machines may reach it.
    Raises BadInput for the address, Refused without the extra `metrics`.
    """
    host, port = parse_address(address)
    require_client()
    endpoint = MetricsEndpoint(host, port, source)
    try:
        say(f"metrics at {endpoint.url}")
        if warning := warning_text(host, endpoint.url):
            say(warning)
        yield endpoint
    finally:
        endpoint.close()
