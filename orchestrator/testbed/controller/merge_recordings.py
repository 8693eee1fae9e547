"""Merge of the agents' recordings into one, as if one machine had measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.assembly.marking_histograms import histogram_rows
from orchestrator.assembly.recording_builder import Share, build, captured
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.assembly.timeline_commands import marks
from orchestrator.engine.histogram import BINS
from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.external_nodes import externals
from orchestrator.recording import Recording
from orchestrator.run import guarded_link
from orchestrator.run.guarded_link import GuardedLink
from orchestrator.run.run_fidelity import Measured, advised_pace, judge
from orchestrator.targets.software.concurrent_runs import ConcurrentRun, with_concurrent_runs
from orchestrator.targets.software.dut.dut_cables import Cable
from orchestrator.targets.software.dut.dut_fidelity import with_devices
from orchestrator.targets.software.link_end_counters import END_WORDS, crossings_of, given_up
from orchestrator.targets.software.mtu_check import with_narrow
from orchestrator.targets.software.pace_step import SLOWEST
from orchestrator.targets.software.timing_demand import achieved_rates, demand_of
from orchestrator.testbed.controller import clock_correction, merge_stalls
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.wire.envelope import sentence
from orchestrator.testbed.wire.result_files import read_numbers, read_words

NEEDED = {"times", "columns", "values", "latency", "lateness"}
"""Arrays of every part."""
COUNTED = [int] * END_WORDS
MOST_LINES, LONGEST_LINE = 20, 300
"""Of what an agent says of its interfaces."""


Count = Annotated[int, Field(gt=-(2**62), lt=2**62)]


class PortWords(BaseModel):
    """A port that was captured."""

    model_config = ConfigDict(strict=True)

    port: str = Field(max_length=500)
    dropped: Count


class AgentWords(BaseModel):
    """Schema of the words that are read here; `merge_stalls` has that of its own."""

    model_config = ConfigDict(strict=True)

    sent: Count
    put_on_wires: Count
    interfaces_lost: Count
    socket_received: Count
    socket_dropped: Count
    unsent: Count
    no_descriptor: Count
    foreign: Count
    held_ps: Count
    holds: Count
    longest_hold_ps: Count
    captures: list[PortWords] = Field(default=[], max_length=100_000)
    offloads: dict[str, Any] = Field(default={}, max_length=1000)
    taken_s: dict[str, Annotated[float, Field(ge=0, lt=1e9)]] = Field(default={}, max_length=1000)
    datapath: dict[str, Any] = {}


@dataclass
class AgentRecording:
    """Recording of one agent: arrays and words, as its worker wrote them."""

    machine: str
    arrays: dict[str, np.ndarray]
    words: dict[str, Any]
    interfaces: dict[str, dict[str, int]]
    """Per NIC, what the kernel's counters moved by."""
    clock: ClockCorrection = field(default_factory=ClockCorrection)
    nodes: list[str] = field(default_factory=list)

    @classmethod
    def load(
        cls,
        machine: str,
        nodes: list[str],
        numbers: Path,
        words: Path,
        nics: dict[str, Any],
        clock: ClockCorrection,
        most: int,
    ) -> AgentRecording:
        """Read the files that came from an agent. Raises RunFailed when they are not right.

        The arrays may have `most` octets in all.
        """
        try:
            arrays, record = read_numbers(numbers, most), read_words(words)
        except RunFailed as wrong:
            raise RunFailed(f"agent {machine}: {wrong}") from None
        if lacking := NEEDED - set(arrays):
            raise RunFailed(f"agent {machine}: its results lack {min(lacking)}")
        try:
            AgentWords.model_validate(record)
        except ValidationError as error:
            text = f"its results are not understood ({sentence(error)})"
            raise RunFailed(f"agent {machine}: {text}") from None
        return cls(machine, arrays, record, nics, clock, nodes)

    def int(self, name: str) -> int:
        """A count among the words."""
        value = self.words.get(name)
        if type(value) is not int:
            raise RunFailed(f"agent {self.machine}: its results lack {name}")
        return value


def merge(
    resolved: ResolvedPlan,
    parts: list[AgentRecording],
    epoch_ns: int,
    *,
    stopped: bool = False,
    pace: float = 1.0,
    cables: Sequence[Cable] = (),
) -> tuple[Recording, dict[str, dict[str, float]]]:
    """Merge parts into one recording, with the delay correction of each traffic entry (for
    result.json). Raises RunFailed when the parts do not fit together.

    A run that was `stopped` ends for all machines with the last row that all of them took. `pace`:
    seconds of the run per second. `cables` lead to DUTs.
    """
    if stopped:
        _pause_intervals(parts)
    indices = Indices(resolved.plan)
    wanted = probes(resolved, indices)
    latency, shifted = _delays(resolved, parts, indices)
    shares = [
        _share(part, own, indices, len(wanted)) for part, own in zip(parts, latency, strict=True)
    ]
    seconds = int(shares[0].times[-1]) / 1e12  # less than the plan's where it was stopped
    recording = build(
        "software",
        resolved,
        indices,
        wanted,
        shares,
        epoch_ns=epoch_ns,
        cpu_s=seconds / pace * len(parts),
        wall_s=seconds / pace,
    )
    recording.offloads = {
        f"{part.machine}: {name}": value
        for part in parts
        for name, value in part.words.get("offloads", {}).items()
    }
    recording.fidelity = _fidelity(resolved, recording, parts, stopped, pace)
    recording.fidelity = with_devices(recording.fidelity, _devices(parts, cables))
    if cables:
        errors = sorted(part.clock.error_ns for part in parts)
        recording.apart_ps = sum(errors[-2:]) * 1000
    if carried := {part.machine: record for part in parts if (record := _datapath(part))}:
        recording.datapath = {"backend": "packet", "machines": carried}
        recording.fidelity |= {"datapath": recording.datapath}
    return recording, shifted


def _devices(parts: list[AgentRecording], cables: Sequence[Cable]) -> dict[str, Any]:
    """Per device and port, the interface that leads there, and what it lost or damaged."""
    known = {part.machine: part.interfaces for part in parts}
    found: dict[str, Any] = {}
    for cable in cables:
        machine, _, nic = cable.interface.partition(":")
        row = known.get(machine, {}).get(nic, {})
        found.setdefault(cable.device, {})[cable.port] = {
            "interface": cable.interface,
            "port": cable.ours,
            "lost": sum(row.get(name, 0) for name in ("rx_errors", "tx_errors", "tx_dropped")),
        }
    return found


def _share(part: AgentRecording, latency: np.ndarray, indices: Indices, columns: int) -> Share:
    """Raises RunFailed for a part of another plan."""
    times, own, values = (part.arrays[name] for name in ("times", "columns", "values"))
    if own.size and not 0 <= own.min() <= own.max() < columns:
        raise RunFailed(f"agent {part.machine}: its results have columns of another plan")
    if not len(times) or values.shape != (len(times), len(own)):
        raise RunFailed(
            f"agent {part.machine}: its results have samples of {values.shape} for {len(times)} "
            f"rows of {len(own)} columns"
        )
    _check_captures(part, indices)
    captures = [
        captured(
            indices.ports[record["port"]],
            part.clock.apply(part.arrays[f"times{number}"]),
            part.arrays[f"lengths{number}"],
            part.arrays[f"octets{number}"],
            int(record["dropped"]),
            part.clock.comment(part.machine),
        )
        for number, record in enumerate(part.words.get("captures", []))
    ]
    vanished = part.int("no_descriptor")
    return Share(f"agent {part.machine}", times, own, values, latency, captures, vanished)


def _check_captures(part: AgentRecording, indices: Indices) -> None:
    """Raises RunFailed for captures of other ports, or whose arrays do not fit together."""
    for number, record in enumerate(part.words.get("captures", [])):
        if record["port"] not in indices.ports:
            raise RunFailed(
                f"agent {part.machine}: its results have a capture of a port that the plan does "
                "not have"
            )
        names = (f"{name}{number}" for name in ("times", "lengths", "octets"))
        times, lengths, octets = (part.arrays.get(name) for name in names)
        if (
            times is None
            or lengths is None
            or octets is None
            or times.ndim != 1
            or lengths.shape != times.shape
            or octets.ndim != 2
            or len(octets) != len(times)
            or octets.dtype != np.uint8
        ):
            raise RunFailed(f"agent {part.machine}: its capture of {record['port']} is none")


def _delays(
    resolved: ResolvedPlan, parts: list[AgentRecording], indices: Indices
) -> tuple[list[np.ndarray], dict[str, dict[str, float]]]:
    """Histograms of one-way delays of each machine, by one clock; per traffic entry what was added
    to them (the furthest from none) and the bound of what they may still be off by."""
    plan = resolved.plan
    clocks = {node: part.clock for part in parts for node in part.nodes}
    senders = {
        row: list({clocks[flow.node] for flow in plan.flows() if flow.entry == entry})
        for entry, row in indices.groups.items()
    }
    times, edges = np.array(marks(plan), np.int64), latency_edges()
    found = []
    record: dict[str, dict[str, float]] = {}
    for part in parts:
        mine = part.arrays["latency"]
        if mine.shape != (len(times), histogram_rows(resolved, indices), len(edges) - 1):
            raise RunFailed(f"agent {part.machine}: its histograms of delays are of another plan")
        fixed, shifts = clock_correction.corrected_histograms(
            mine, edges, times, part.clock, senders
        )
        found.append(fixed)
        for entry, row in indices.groups.items():
            if row in shifts:
                errors = [clock.error_ns for clock in senders[row] if clock != part.clock]
                own = part.clock.error_ns if errors else 0
                one = {
                    "added_s": int(max(shifts[row].added, key=abs)) / 1e12,
                    "error_s": (own + max(errors, default=0)) / 1e9 + shifts[row].spread / 1e12,
                }
                record[entry] = max(record.get(entry, one), one, key=lambda row: row["error_s"])
    return found, record


def _ends(part: AgentRecording, resolved: ResolvedPlan) -> dict[str, list[int]]:
    """Counters at each port of a part. Raises RunFailed where some are missing."""
    found = part.words.get("ends")
    due = {port.entity for port in resolved.plan.ports() if port.node in part.nodes}
    if not isinstance(found, dict) or set(found) != due:
        raise RunFailed(f"agent {part.machine}: its results lack the counts of its ports")
    for port, row in found.items():
        if not isinstance(row, list) or [type(word) for word in row] != COUNTED:
            raise RunFailed(f"agent {part.machine}: its results have no counts of {port}")
    return found


def _guarded(part: AgentRecording) -> dict[str, GuardedLink]:
    """Guarded links inside a part. Raises RunFailed for what is none."""
    try:
        return guarded_link.read(part.words.get("guarded", {}))
    except ValidationError as error:
        text = f"its results have no counts of guarded links ({sentence(error)})"
        raise RunFailed(f"agent {part.machine}: {text}") from None


def _pause_intervals(parts: list[AgentRecording]) -> None:
    rows = min(len(part.arrays["times"]) for part in parts)
    for part in parts:
        part.arrays |= {name: part.arrays[name][:rows] for name in ("times", "values")}


def _fidelity(
    resolved: ResolvedPlan,
    recording: Recording,
    parts: list[AgentRecording],
    stopped: bool,
    pace: float,
) -> dict[str, Any]:
    nics = [row for part in parts for row in part.interfaces.values()]
    ends = [_ends(part, resolved) for part in parts]
    left = sum(part.int("put_on_wires") for part in parts) + sum(r["tx_packets"] for r in nics)
    lost = {
        "sockets": sum(part.int("socket_dropped") for part in parts),
        "interfaces": sum(_interfaces_lost(*one) for one in zip(parts, ends, strict=True)),
        "between": max(0, left - sum(part.int("socket_received") for part in parts)),
        "unsent": sum(part.int("unsent") for part in parts),
        "no descriptor": sum(part.int("no_descriptor") for part in parts),
        "not understood": max(sum(part.int("foreign") for part in parts), 0),
    }
    guarded = {name: one for part in parts for name, one in _guarded(part).items()}
    crossings = crossings_of(resolved.plan, ends, int(recording.times_ps[-1]), guarded)
    lost["between"] = max(lost["between"], sum(one.lost for one in crossings))
    if externals(resolved.plan):  # a DUT's drops and duplicates are not our losses
        lost["between"] = sum(one.lost for one in crossings)
    if stopped:  # the machines end milliseconds apart: frames under way then have no receiver
        del lost["between"]
    for part in parts:
        if part.arrays["lateness"].shape != (BINS + 1,):
            raise RunFailed(
                f"agent {part.machine}: its histogram of lateness is of another tailback"
            )
    lateness = np.sum([part.arrays["lateness"] for part in parts], axis=0)
    lateness[-1] = max(int(part.arrays["lateness"][-1]) for part in parts)
    measured = Measured(
        lateness=lateness,
        sent=sum(part.int("sent") for part in parts),
        lost=lost,
        capture_lost=0,
        rates=achieved_rates(resolved, recording),
        duration_ps=int(recording.times_ps[-1]),
        held_ps=[part.int("held_ps") for part in parts],
        holds=sum(part.int("holds") for part in parts),
        longest_hold_ps=max(part.int("longest_hold_ps") for part in parts),
        pace=pace,
        crossings=crossings,
        taken_s={
            f"{part.machine}: {key}": value
            for part in parts
            for key, value in part.words.get("taken_s", {}).items()
        },
    )
    prepared = {part.machine: part.words.get("prepared") for part in parts}
    demand = demand_of(resolved)
    advised = advised_pace(measured, demand, SLOWEST)
    record = judge(measured, demand) | {"prepared": prepared, "advised_pace": advised}
    record["stalls"] = merge_stalls.merged_stalls(resolved, parts, pace)
    record = with_narrow(record, [line for part in parts for line in _narrow(part)])
    return with_concurrent_runs(record, [one for part in parts for one in _neighbours(part)])


def _datapath(part: AgentRecording) -> dict[str, Any]:
    """Timestamp entries of a part. Raises RunFailed for malformed ones."""
    record = part.words.get("datapath", {})
    if not isinstance(record, dict):
        raise RunFailed(f"agent {part.machine}: what it tells of its data path is no table")
    return record


def _interfaces_lost(part: AgentRecording, ends: dict[str, list[int]]) -> int:
    """Frames that interfaces of a part, and NICs lent to it, took and never sent, or damaged."""
    nics = part.interfaces.values()
    dropped = part.int("interfaces_lost") + sum(n["tx_dropped"] + n["tx_errors"] for n in nics)
    left = sum(nic["tx_packets"] for nic in nics)
    lost = given_up(ends.values(), dropped, part.int("unsent"), left)
    return lost + sum(nic["rx_errors"] for nic in nics)


def _narrow(part: AgentRecording) -> list[str]:
    """Sentences of a part about interfaces. Raises RunFailed for what is none."""
    record = part.words.get("narrow", [])
    if not isinstance(record, list) or not all(isinstance(line, str) for line in record):
        raise RunFailed(f"agent {part.machine}: its results have no list of narrow interfaces")
    return [f"agent {part.machine}: {line[:LONGEST_LINE]}" for line in record[:MOST_LINES]]


def _neighbours(part: AgentRecording) -> list[ConcurrentRun]:
    """Other runs that had cores of a part's machine. Raises RunFailed for what is none."""
    try:
        return [
            ConcurrentRun.of_agent(part.machine, one) for one in part.words.get("neighbours", [])
        ]
    except (ValueError, TypeError):
        raise RunFailed(f"agent {part.machine}: its results have no list of other runs") from None
