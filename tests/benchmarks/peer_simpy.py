"""The peer most Python users know: the network of `peer_events.cpp` in SimPy.

Sources and the switch's output port are SimPy processes, links are timeouts with a callback:
the leanest form that is still SimPy. Times are integer ps, lengths octets, rates bit/s.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass

import simpy

SECOND = 10**12
LINK_RATE = 10**9
OFFERED = 1_050_000_000
DELAY = 50_000_000
LENGTH = 1500
BUFFER = 150_000


@dataclass(slots=True)
class Frame:
    """What travels."""

    created: int
    length: int


@dataclass
class Outcome:
    """Frames delivered and dropped, the sum of their latencies in ps, CPU seconds of the run."""

    delivered: int = 0
    dropped: int = 0
    latency_ps: int = 0
    cpu_s: float = 0.0


def wire_time(length: int) -> int:
    """ps that a frame of `length` octets occupies a link."""
    return length * 8 * (SECOND // LINK_RATE)


class Network:
    """n sources, a switch with one drop-tail queue, a sink."""

    def __init__(self, sources: int) -> None:
        self.env = simpy.Environment()
        self.outcome = Outcome()
        self.queue: deque[Frame] = deque()
        self.octets = 0
        self.idle: simpy.Event | None = None
        share = LENGTH * 8 * sources * SECOND // OFFERED
        self.env.process(self.output_port())
        for index in range(sources):
            interval = share + share // 16 * index // sources
            self.env.process(self.source(share // sources * index, interval))

    def source(self, start: int, interval: int) -> Generator[simpy.Event]:
        """Emit a frame every `interval` into the source's own link."""
        env, link_free = self.env, 0
        yield env.timeout(start)
        while True:
            frame = Frame(env.now, LENGTH)
            link_free = max(link_free, env.now) + wire_time(frame.length)
            arrival = env.timeout(link_free + DELAY - env.now, frame)
            arrival.callbacks.append(self.arrive)
            yield env.timeout(interval)

    def arrive(self, event: simpy.Event) -> None:
        """A frame reaches the switch."""
        frame = event.value
        if self.octets + frame.length > BUFFER:
            self.outcome.dropped += 1
            return
        self.octets += frame.length
        self.queue.append(frame)
        if self.idle is not None:
            self.idle.succeed()
            self.idle = None

    def output_port(self) -> Generator[simpy.Event]:
        """Send the queue's frames, one after the other, to the sink."""
        env = self.env
        while True:
            if not self.queue:
                self.idle = env.event()
                yield self.idle
            frame = self.queue[0]
            yield env.timeout(wire_time(frame.length))
            self.queue.popleft()
            self.octets -= frame.length
            env.timeout(DELAY, frame).callbacks.append(self.receive)

    def receive(self, event: simpy.Event) -> None:
        """A frame reaches the sink."""
        self.outcome.delivered += 1
        self.outcome.latency_ps += self.env.now - event.value.created


def run(sources: int, simulated_ms: int) -> Outcome:
    """Simulate the network for `simulated_ms`."""
    network = Network(sources)
    begin = time.process_time()
    network.env.run(until=simulated_ms * SECOND // 1000)
    network.outcome.cpu_s = time.process_time() - begin
    return network.outcome
