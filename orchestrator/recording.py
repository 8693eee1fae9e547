"""Recording of a run: samples, counters' history, latency, events, fidelity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ACTIVE, WINDOW, RTT = "active", "window_bytes", "rtt_ps"
"""Quantities of limiters by which it is known whether gauges have a value."""
KNOWN = {"current_rate": ACTIVE, "target_rate": ACTIVE, WINDOW: WINDOW, RTT: RTT}
"""The core's gauges that do not always have a value -> what is 0 while they have none."""


@dataclass(frozen=True, slots=True)
class Column:
    """One sampled quantity. `kind` is "gauge" (a value) or "counter" (cumulative since start).

    `metric` is what an algorithm's metrics of it are called (orchestrator.plan.observables); the
    core's quantities, and those that have none, leave it empty. `known`: of an algorithm's gauge,
    the sampled quantity of the same entity that is 0 while this one has no value; empty: it always
    has one. For the core's quantities see KNOWN.
    """

    node: str
    entity: str
    quantity: str
    unit: str
    kind: str
    metric: str = ""
    known: str = ""


class MissingColumn(KeyError):
    """A column that the samples of a run do not have: of `entity`, called `quantity`."""

    def __init__(self, entity: str, quantity: str) -> None:
        self.entity, self.quantity = entity, quantity
        super().__init__(f"{entity} has no sampled {quantity}")


STOPPED = "stopped"
"""Kind of the event of a run that a user ended before its time."""


@dataclass(frozen=True)
class Event:
    """Something that happened at an instant: a timeline step, a fault, a first loss."""

    time_ps: int
    kind: str
    entity: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FrameSeen:
    """A captured frame for people: what it is (data, CNM, PAUSE, PFC, other), its fields."""

    time_ps: int
    port: str
    outgoing: bool
    kind: str
    text: str


@dataclass
class PortCapture:
    """Frames seen at one port, in time order.

    `times_ps` int64[n]; `outgoing` bool[n]; `lengths` int64[n], octets on the wire without FCS;
    `octets` uint8[n, snap], zero-padded; `kept` int64[n], how many of them are real;
    `dropped` counts the frames that came after the buffer was full; `comment` goes into the file.
    """

    node: str
    port: str
    times_ps: np.ndarray
    outgoing: np.ndarray
    lengths: np.ndarray
    kept: np.ndarray
    octets: np.ndarray
    dropped: int
    comment: str = ""


@dataclass
class MessageTable:
    """Every message with an end, one row each, in the order of flows and of their start.

    `flow` int64[n] counts in `flows`, pairs of (flow, traffic entry); `start_ps` is when the
    application had it, `done_ps` when its last octet arrived (-1 each: not within the run),
    `ideal_ps` what the empty path would have taken. `size` is in octets without headers. `round`
    and `step` are those of a collective (-1: it is of none).
    """

    flows: list[tuple[str, str]]
    flow: np.ndarray
    start_ps: np.ndarray
    size: np.ndarray
    done_ps: np.ndarray
    ideal_ps: np.ndarray
    round: np.ndarray | None = None
    step: np.ndarray | None = None

    def fct_s(self) -> np.ndarray:
        """Completion times in seconds, float64[n]; NaN for what was not completed."""
        done = self.done_ps >= 0
        return np.where(done, (self.done_ps - self.start_ps) / 1e12, np.nan)

    def slowdown(self) -> np.ndarray:
        """Completion times as multiples of the ideal ones, float64[n]; NaN likewise."""
        return self.fct_s() / (self.ideal_ps / 1e12)


@dataclass(frozen=True)
class ProgramRun:
    """A program that ran on a node, and what it wrote. `code` is None when it had to be ended."""

    name: str
    node: str
    command: list[str]
    start_ps: int
    end_ps: int
    code: int | None
    out: bytes
    err: bytes
    waited_s: float | None = None
    """Time (s) for which the worst of its threads was ready and had no core; None: not measured."""


@dataclass
class Recording:
    """Everything measured in one run.

    `times_ps` int64[n]; `values` int64[n, m] with one `Column` per column. Rows lie on the
    sampling grid and exactly on every phase boundary, so that counters can be differenced.
    `latency` maps a traffic entry to int64[k, bins], cumulative histograms at `latency_marks_ps`
    (the phase boundaries and the end); bin b holds latencies in
    [latency_edges_ps[b], latency_edges_ps[b + 1]).
    `fidelity` holds what the machine did to the run (None for `simulated`, which has no machine
    in its path): see `orchestrator.run.run_fidelity`.
    """

    target: str
    times_ps: np.ndarray
    columns: list[Column]
    values: np.ndarray
    latency: dict[str, np.ndarray]
    latency_marks_ps: np.ndarray
    latency_edges_ps: np.ndarray
    events: list[Event]
    captures: list[PortCapture]
    epoch_ns: int
    """Wall-clock time (ns since 1970) that captures and events count from; 0 when simulated."""
    data_frames: int
    """Data frames delivered to sinks."""
    cpu_s: float
    wall_s: float
    vanished: int = 0
    """Frames lost for want of a descriptor: none in a sound run."""
    fidelity: dict[str, Any] | None = None
    offloads: dict[str, Any] | None = None
    """Offloads of the interfaces, by interface; None where there are none."""

    datapath: dict[str, Any] | None = None
    """Backend that carried its frames, and the requested one; None without real frames."""
    messages: MessageTable | None = None
    """Results of the messages that the plan's flows carry; None where there are none."""
    programs: list[ProgramRun] = field(default_factory=list)
    """The programs that ran on nodes."""
    on: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """When the source of each flow was on, [from, to) in ps; one that is not here always was."""
    changes: dict[str, dict[str, list[tuple[int, int]]]] = field(default_factory=dict)
    """Entity -> gauge -> (ps, new value) of the timeline, in the order in which they came to pass:
    rates of links, service rates of ports. Between samples nothing else tells when."""
    cards: dict[str, Any] | None = None
    """Identity of each card and its bitstream, by name; None where there was none."""
    facing: dict[str, dict[str, str]] = field(default_factory=dict)
    """External node -> port of it -> emulated port at the other end of its cable, whose
    frames are among `captures`."""

    marking: dict[str, np.ndarray] = field(default_factory=dict)
    """Queue whose congestion point marks -> int64[k, 3, bins], cumulative at `latency_marks_ps`:
    frames that it saw, ECN-capable ones of these, those that it marked, by the octets in the
    queue; bin b holds lengths in [latency_edges_ps[b], latency_edges_ps[b + 1]) octets."""

    apart_ps: int = 0
    """By how much the clocks of those captures may differ: several machines'."""

    def column(self, entity: str, quantity: str) -> np.ndarray:
        """The samples of one quantity, int64[n]. Raises MissingColumn when it was not sampled."""
        for index, column in enumerate(self.columns):
            if column.entity == entity and column.quantity == quantity:
                return self.values[:, index]
        raise MissingColumn(entity, quantity)
