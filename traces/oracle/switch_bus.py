"""Bus model of a gateware switch: times at which received frames enter their output queues.

Clock by clock as in firmware/rtl: an input keeps a frame until its last word is there
(frame_fifo.v), the inputs take turns on the bus, one frame each (axis_arbiter.v), and behind it
the lookup and the output queue take as many clocks for every frame (switch_lookup.v,
frame_fifo.v). The switch's own messages take turns like one more input; when they did is reckoned
back from when they left, through a port that sends nothing else as a rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.records import PAUSE, PFC
from traces.oracle.rtl_tolerance import MESSAGE_CLOCKS, QUEUE_CLOCKS, STORE_CLOCKS, WORD

OWN = 1 << 30
"""In place of a port's row: the switch made it. Its turn is behind that of all ports."""
BACK_CLOCKS = QUEUE_CLOCKS + MESSAGE_CLOCKS
"""A message had the bus at most so long before it left."""


@dataclass
class BusFrame:
    """A frame at an input."""

    seen_clock: int
    """From here on the arbiter sees it."""
    words: int
    frame: np.ndarray
    port: int
    """Row of the port that it came in through."""


class Bus:
    """`inputs` are the rows of the switch's ports, ascending; `slow` those of them whose
    frames come from nodes beside the gateware: their words stand at the input from the arrival
    on and are taken one per clock. `ranks` are the places of frames among those that left."""

    def __init__(
        self,
        period_ps: int,
        inputs: list[int],
        slow: frozenset[int],
        ranks: Mapping[tuple[int, ...], float],
    ) -> None:
        self._period, self._slow, self._ranks = period_ps, slow, ranks
        self._waiting: dict[int, deque[BusFrame]] = {row: deque() for row in [*inputs, OWN]}
        self._turn = inputs[0]
        self._free = 0
        """The clock in which the last word of the frame before is handed over."""
        self._done: deque[tuple[int, int, np.ndarray]] = deque()

    def enqueue(self, time_ps: int, port: int, frame: np.ndarray) -> None:
        """A frame came in whole, none before it is put later."""
        clock = -(-time_ps // self._period)
        words = -(-int(frame["length"]) // WORD)
        if port in self._slow:
            clock += words - 1
        self._waiting[port].append(BusFrame(clock + STORE_CLOCKS, words, frame, port))

    def sent(self, time_ps: int, frame: np.ndarray) -> None:
        """A message of the switch started on its link; in order of time, like `put`."""
        words = -(-int(frame["length"]) // WORD)
        clock = time_ps // self._period - QUEUE_CLOCKS - words
        self._waiting[OWN].append(BusFrame(clock, words, frame, OWN))

    def passed(self, until_ps: int | None) -> list[tuple[int, int, np.ndarray]]:
        """(ps, port's row, frame) of what is queued up to a time, in order; None: all. Nothing that
        comes in up to then may be put later, nor what left."""
        last = None if until_ps is None else until_ps // self._period - BACK_CLOCKS
        while (turn := self._next(last)) is not None:
            clock, one = turn
            self._waiting[one.port].popleft()
            self._turn, self._free = one.port, clock + one.words
            if one.port != OWN:
                queued = (self._free + QUEUE_CLOCKS) * self._period
                self._done.append((queued, one.port, one.frame))
        found = []
        while self._done and (until_ps is None or self._done[0][0] <= until_ps):
            found.append(self._done.popleft())
        return found

    def _next(self, last: int | None) -> tuple[int, BusFrame] | None:
        """The next input to be served and its first clock; None when a frame that is not known yet
        might be first."""
        heads = [queue[0] for queue in self._waiting.values() if queue]
        if not heads:
            return None
        # with its own next frame an input waits for a clock
        ready = [max(h.seen_clock, self._free + (h.port == self._turn)) for h in heads]
        clock = min(ready)
        if last is not None and clock > last:
            return None
        asked = [h for h, at in zip(heads, ready, strict=True) if at <= clock]
        first = min(asked, key=lambda one: (one.port <= self._turn, one.port))
        for other, at in zip(heads, ready, strict=True):  # whole nanoseconds: a clock more or less
            if at <= clock + 1 and self._left_before(other.frame, first.frame):
                first = other
        return clock, first

    def _left_before(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Order of two frames to one output: a queue keeps their order."""
        if one["destination"] != other["destination"]:
            return False
        mine, its = (self._ranks.get((int(f["flow"]), int(f["sequence"]))) for f in (one, other))
        return mine is not None and its is not None and mine < its


def acts_at_once(frame: np.ndarray) -> bool:
    """True if a port acts on a frame as it comes in, without the bus."""
    return int(frame["kind"]) in (PAUSE, PFC)
