"""Departure times of messages: as soon as the port is free, before all waiting data."""

from __future__ import annotations

import numpy as np

from orchestrator.assembly import Assembly
from orchestrator.engine.node_api import by_clock, wire_time
from orchestrator.engine.records import DATA
from traces.oracle.capture_feeder import Timing, has_own_delays
from traces.oracle.captured_streams import StreamSource, frame_stream


class PortTimes:
    """Frames that a port has sent, by the capture: `starts` and `ends` int64[n] (ps), `data`
    bool[n]."""

    def __init__(self, place: StreamSource, built: Assembly, timing: Timing) -> None:
        port = built.world.ports[built.indices.port_rows[place.port]]
        self._rate, self._overhead = int(port.rate), int(port.overhead)
        self._delay, self._drift = int(port.delay), int(port.drift)
        parts = list(frame_stream(place, timing.epoch_ns, timing.until_ns))
        kinds = [part.frames["kind"] for part in parts]
        taken = [self._taken(part.frames["length"]) for part in parts]
        times = [part.times_ns * 1000 - self._delay for part in parts]
        none = np.zeros(0, np.int64)
        self.data = np.concatenate([none, *kinds]) == DATA
        self.ends = np.concatenate([none, *times])
        self.starts = self.ends - np.concatenate([none, *taken])

    def due_ps(self, length: int, ready_ps: int, seen_ps: int) -> int:
        """Capture time of a message of so many octets that is ready to leave, if it waits for the
        frame that is under way and for other control frames that left before it, and for no more.
        """
        before = self.ends < seen_ps - self._delay
        way = before & (self.starts <= ready_ps) & (self.ends > ready_ps)
        free = max(ready_ps, int(self.ends[way].max(initial=0)))
        control = before & ~self.data & (self.starts > ready_ps)
        free += int((self.ends[control] - self.starts[control]).sum())
        return free + int(self._taken(np.array([length]))[0]) + self._delay

    def _taken(self, lengths: np.ndarray) -> np.ndarray:
        """ps on the wire, by octets."""
        known = {
            n: by_clock(wire_time(n + self._overhead, self._rate), self._drift)
            for n in set(lengths.tolist())
        }
        return np.array([known[n] for n in lengths.tolist()], np.int64)


def times_of(place: StreamSource, built: Assembly, timing: Timing) -> PortTimes | None:
    """A port whose times are known; None where a pause may have held it, or its link changes."""
    port = built.world.ports[built.indices.port_rows[place.port]]
    changes = any(action.kind == "link" for action in built.resolved.actions)
    if changes or has_own_delays(port) or int(port.pause_received) > 0:
        return None
    return PortTimes(place, built, timing)
