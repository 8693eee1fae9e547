"""Generator: configuration, state of traffic and captures, and the thread of the loop."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from orchestrator.deferred_signals import deferred_signals
from orchestrator.otg import traffic_loop
from orchestrator.otg.capture_files import pcap_file, pcapng_file
from orchestrator.otg.generator_state import (
    NAP_NS,
    NO_CAPTURE,
    PAUSED,
    RESET,
    START_NS,
    STARTED,
    STOP,
    STOPPED,
    TURNS,
    GeneratorState,
    new_state,
)
from orchestrator.otg.otg_config import OtgConfig
from orchestrator.otg.otg_ports import Interface
from orchestrator.otg.otg_reader import OtgError
from orchestrator.otg.rocev2_state import QueuePairs
from orchestrator.targets.software.linux_syscalls import set_timer_slack

NAP_LENGTH_NS = 500_000
SETTLE_S = 0.005
"""Between the start command and the first frame."""
SAMPLE_S = 0.25
RATE_SAMPLES = 5
"""Rates are means over the last second."""
TURN_LIMIT_S = 5.0
MOST_DRAINED = 100_000
RESULTS = (
    "sent", "sent_octets", "unsent", "skipped", "received", "received_octets", "expected", "lost",
    "reordered", "misdirected", "latency_count", "latency_sum_ns", "latency_min_ns",
    "latency_max_ns", "first_ns", "last_ns",
)  # fmt: skip
RATED = ("sent", "sent_octets", "received", "received_octets")


class Generator:
    """The generator of one server; its methods are called by one thread at a time."""

    def __init__(
        self,
        interfaces: Mapping[str, Interface],
        sockets: Mapping[str, socket.socket],
        sender: socket.socket,
    ) -> None:
        self.interfaces = interfaces
        self._sockets, self._sender = sockets, sender
        self._epoch = 0
        self._thread: threading.Thread | None = None
        self._sampler = threading.Thread(target=self._sample, name="otg-rates", daemon=True)
        self._closing = threading.Event()
        self._samples: deque[tuple[float, np.ndarray, np.ndarray]] = deque(maxlen=RATE_SAMPLES)
        self.config = OtgConfig()
        self.pairs = QueuePairs([])
        self.up: set[str] = set()
        self.state = self._build(self.config)

    def begin(self) -> None:
        """Compile the loop and begin to take frames in."""
        self.state.control[STOP] = 1
        traffic_loop.run_generator(self.state)
        self._launch()
        self._sampler.start()

    def configure(self, config: OtgConfig) -> None:
        """Replace the configuration; all counts begin anew."""
        self._halt()
        self._epoch += 1
        self._drain()
        self.pairs = QueuePairs(config.roce.flows)
        self.up = set(config.roce.peers) if config.roce.auto_start else set()
        self.config, self.state = config, self._build(config)
        self._launch()

    def close(self) -> None:
        """End the loop."""
        self._closing.set()
        self._halt()

    def start(self, rows: Sequence[int]) -> None:
        """Start flows that do not run: their counts begin anew, all at the same time.

        Rows of flows of queue pairs follow those of raw flows. Raises OtgError if a peer is down.
        """
        self._alive()
        self._check_up(rows)
        flows, count = self.state.flows, len(self.state.flows)
        pairs = self.pairs.state.pairs
        more = [row - count for row in rows if row >= count]
        new = [row for row in more if pairs[row]["state"] == STOPPED]
        for row in new:
            pairs[row]["state"] = RESET
        if new:
            self._turn()
        now_ps = self._now_ps() + int(SETTLE_S * 1e12)
        for row in new:
            self.pairs.reset(row, now_ps)
        for row in more:
            pairs[row]["state"] = STARTED
        rows = [row for row in rows if row < count and flows[row]["state"] != STARTED]
        for row in rows:
            flow = flows[row]
            if flow["state"] == PAUSED:
                continue
            for name in (*RESULTS, "begun"):
                flow[name] = 0
            flow["began_ps"] = flow["due_ps"] = now_ps + flow["delay_ps"]
        for row in rows:
            if flows[row]["state"] == STOPPED:
                flows[row]["state"] = STARTED
        self.resume([row for row in rows if flows[row]["state"] == PAUSED])

    def stop(self, rows: Sequence[int]) -> None:
        """Stop flows; returns once none of their frames is under way in the loop."""
        for row in rows:
            self._set_state(row, STOPPED)
        self._turn()

    def pause(self, rows: Sequence[int]) -> None:
        """Pause flows that run: they go on where they were."""
        running = [row for row in rows if self._state_of(row) == STARTED]
        for row in running:
            self._set_state(row, PAUSED)
        self._turn()
        now_ps = self._now_ps()
        for row in running:
            if row >= len(self.state.flows):
                continue
            flow = self.state.flows[row]
            flow["paused_ps"] = now_ps

    def resume(self, rows: Sequence[int]) -> None:
        """Let flows that are paused go on; the time of the pause does not count."""
        now_ps = self._now_ps()
        for row in rows:
            if row >= len(self.state.flows):
                if self._state_of(row) == PAUSED:
                    self._set_state(row, STARTED)
                continue
            flow = self.state.flows[row]
            if flow["state"] == PAUSED:
                lapse = now_ps - flow["paused_ps"]
                flow["due_ps"] += lapse
                flow["began_ps"] += lapse
                flow["state"] = STARTED

    def set_peers(self, names: Sequence[str], up: bool) -> None:
        """Bring peers up or down; flows of queue pairs of a peer that is down are stopped."""
        self.up = self.up | set(names) if up else self.up - set(names)
        first = len(self.state.flows)
        self.stop([first + row for row in range(len(self.pairs.config)) if self._down(row)])

    def _down(self, row: int) -> str | None:
        """Name of a peer of a flow of queue pairs that is down."""
        flow = self.pairs.config[row]
        return next(
            (p.peer for p in (flow.source, flow.destination) if p.peer not in self.up), None
        )

    def _check_up(self, rows: Sequence[int]) -> None:
        down = []
        for row in (row - len(self.state.flows) for row in rows):
            if row >= 0 and (peer := self._down(row)) is not None:
                down.append(f"flow {self.pairs.config[row].name}: the RoCEv2 peer {peer} is down")
        if down:
            raise OtgError(down)

    def _state_of(self, row: int) -> int:
        count = len(self.state.flows)
        records = self.state.flows if row < count else self.pairs.state.pairs
        return int(records[row if row < count else row - count]["state"])

    def _set_state(self, row: int, state: int) -> None:
        count = len(self.state.flows)
        records = self.state.flows if row < count else self.pairs.state.pairs
        records[row if row < count else row - count]["state"] = state

    def capture(self, rows: Sequence[int], on: bool) -> None:
        """Start captures, with empty buffers, or stop them."""
        for row in rows:
            port = self.state.ports[row]
            port["capturing"] = 0
        self._turn()
        for row in rows:
            port = self.state.ports[row]
            if on:
                port["captured"] = port["capture_lost"] = 0
                port["capturing"] = 1

    def captured(self, row: int) -> bytes:
        """Capture file of a port, in the format of its configuration, times in ns."""
        port, capture = self.state.ports[row].copy(), self.config.ports[row].capture
        assert capture is not None
        buffer = int(port["capture"])
        slots, count = int(self.state.capture_rules[buffer, 0]), int(port["captured"])
        frames = []
        for number in range(max(count - slots, 0), count):
            at_ns, length, kept = map(int, self.state.capture_notes[buffer, number % slots])
            octets = self.state.capture_octets[buffer, number % slots, :kept].tobytes()
            frames.append((at_ns, length, octets))
        name = self.config.ports[row].interface.name
        return pcapng_file(frames, name) if capture.pcapng else pcap_file(frames)

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """Per second, float[flows, 4] and float[ports, 4] in the order of RATED; flows of queue
        pairs follow raw flows."""
        oldest = self._samples[0] if self._samples else None
        now, flows, ports = self._snapshot()
        if oldest is None or oldest[1].shape != flows.shape or now <= oldest[0]:
            return np.zeros(flows.shape), np.zeros(ports.shape)
        seconds = now - oldest[0]
        return (
            np.maximum(flows - oldest[1], 0) / seconds,
            np.maximum(ports - oldest[2], 0) / seconds,
        )

    def _snapshot(self) -> tuple[float, np.ndarray, np.ndarray]:
        state = self.state
        both = [*state.flows, *state.roce.pairs]
        flows = np.array([[int(flow[name]) for name in RATED] for flow in both])
        ports = np.array([[int(port[name]) for name in RATED] for port in state.ports])
        return time.monotonic(), flows.reshape(-1, 4), ports.reshape(-1, 4)

    def _sample(self) -> None:
        while not self._closing.wait(SAMPLE_S):
            self._samples.append(self._snapshot())

    def _build(self, config: OtgConfig) -> GeneratorState:
        self._samples.clear()
        sockets = [self._sockets[port.location].fileno() for port in config.ports]
        indices = [socket.if_nametoindex(port.interface.name) for port in config.ports]
        sending, pairs = self._sender.fileno(), self.pairs.state
        return new_state(config, sockets, indices, sending, self._epoch, pairs)

    def _drain(self) -> None:
        """Throw away what came before the configuration."""
        for raw in self._sockets.values():
            with suppress(BlockingIOError):
                for _ in range(MOST_DRAINED):
                    raw.recv(1)

    def _launch(self) -> None:
        control = self.state.control
        control[STOP], control[NAP_NS] = 0, NAP_LENGTH_NS
        control[START_NS] = time.monotonic_ns()
        state = self.state

        def run() -> None:
            with suppress(OSError):
                set_timer_slack(1)
            traffic_loop.run_generator(state)

        self._thread = threading.Thread(target=run, name="otg-loop", daemon=True)
        with deferred_signals():
            self._thread.start()

    def _halt(self) -> None:
        with deferred_signals():  # the sockets are closed after it
            self.state.control[STOP] = 1
            if self._thread is not None and self._thread.ident is not None:
                self._thread.join()

    def _alive(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            raise OtgError(["the loop of the generator has ended"], internal=True)

    def _turn(self) -> None:
        """Wait until the loop has seen a change: two turns."""
        control = self.state.control
        until, seen = time.monotonic() + TURN_LIMIT_S, int(control[TURNS])
        while int(control[TURNS]) < seen + 2:
            self._alive()
            if time.monotonic() > until:
                raise OtgError(["the loop of the generator is not scheduled"], internal=True)
            time.sleep(0.000_2)

    def _now_ps(self) -> int:
        return (time.monotonic_ns() - int(self.state.control[START_NS])) * 1000

    def has_capture(self, row: int) -> bool:
        """True if a capture is configured at a port."""
        return int(self.state.ports[row]["capture"]) != NO_CAPTURE
