"""Target `gateware` on Verilated models: builds, configures, clocks and samples them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firmware.target.plan_check import IN_VERILOG, TARGET, UNCOUNTED, check, on_gateware
from firmware.target.timeline_player import play_timeline
from firmware.verilated.model_build import missing_tools
from orchestrator.capability import Capability
from orchestrator.progress import Progress
from orchestrator.target import Cards, Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from firmware.cards.card_target import OnCards
    from firmware.coverage.coverage_collector import RtlCoverage
    from firmware.target.cosimulation import Cosim
    from firmware.target.model_network import Rig
    from orchestrator.assembly import Assembly
    from orchestrator.errors import Refused
    from orchestrator.live.live_session import Session
    from orchestrator.plan import ResolvedPlan
    from orchestrator.progress import Report
    from orchestrator.recording import Recording

REPORT_PS = 10**9
"""Virtual time between two reports of progress."""


class Gateware(Target):
    """NICs and switches in Verilog, as Verilated models in virtual time."""

    name = TARGET
    summary = "the nodes' Verilog, Verilated, in virtual time"
    capabilities = IN_VERILOG | {Capability.CARDS, Capability.CORES, Capability.HELD}

    def __init__(self, lines: Path | None = None) -> None:
        """`lines`: folder into which each run writes its coverage of the Verilog."""
        self._lines = lines

    def probe(self) -> Refused | None:
        """Reason why models cannot be built here; None: they can."""
        return missing_tools()

    def noting(self) -> RtlCoverage:
        """Coverage of the algorithms' Verilog by runs, from Verilator's counters."""
        from firmware.coverage.coverage_collector import RtlCoverage

        return RtlCoverage(Gateware)

    def at(self, testbed: Cards) -> OnCards:
        """The same target on the cards of a testbed."""
        from firmware.cards.card_target import OnCards

        return OnCards(testbed)

    def check(self, resolved: ResolvedPlan, installed: Iterable[Target]) -> None:
        """Raises Refused, by name, for requirements of a plan that the gateware lacks."""
        from functools import partial

        from firmware.target.compiled_limiters import limiter_refusals
        from firmware.target.compiled_points import compiled_refusals
        from firmware.target.model_network import period_of, too_fast

        mine = on_gateware(resolved.plan)
        fast = too_fast(resolved, mine)
        clock_hz = 0 if fast or not mine else 10**12 // period_of(resolved, mine)
        given: dict[str, Any] = {"clock_hz": clock_hz, "installed": list(installed)}
        compiled = {
            "congestion_point": partial(compiled_refusals, resolved, **given),
            "reaction_point": partial(limiter_refusals, resolved, **given),
        }
        check(resolved, installed, fast, compiled)

    def run(
        self, resolved: ResolvedPlan, progress: Report, session: Session | None = None
    ) -> Recording:
        """Run the whole plan."""
        from firmware.target.cosimulation import Cosim
        from firmware.target.model_network import Rig
        from orchestrator.assembly import assemble, record
        from orchestrator.run.engine_compile import report_compiling

        plan = resolved.plan
        mine = on_gateware(plan)
        others = [name for name in plan.nodes if name not in mine]
        gate = assemble(resolved, mine)
        ports = [name for name, port in gate.indices.ports.items() if port.node in others]
        beside = assemble(resolved, others, ports) if ports else None
        cores = (session.cores if session is not None else None) or 1
        rig = Rig(resolved, gate, mine, progress, cores, counts=self._lines is not None)
        try:
            with report_compiling(progress):
                cosim = Cosim(rig, gate, beside, ports)
            cpu, wall = time.process_time(), time.perf_counter()
            rig.attach(lambda: cosim.run(0, accesses=True))
            for driver in rig.drivers:
                driver.begin()
            configured = rig.fabric.clocks
            rig.fabric.start()
            steps = _carry_out(gate, rig, cosim, progress)
            cosim.run(plan.duration + 1)
            cosim.catch_up(plan.duration + 1)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            if beside is not None:
                _end_samples(beside, plan.duration)
            shares = [(gate, mine), *([(beside, others)] if beside else [])]
            recording = record(self.name, shares, cpu_s=cpu, wall_s=wall)
            if self._lines is not None:
                rig.fabric.write_coverage(self._lines)
            clocks = rig.fabric.clocks - configured
            recording.fidelity = _fidelity(rig, cosim, clocks, cpu)
            recording.fidelity |= {"cores": cores, "clocks_per_s": clocks / max(wall, 1e-9)}
            recording.fidelity |= _lateness(steps)
            _in_order(recording)
            _leave_out(recording, UNCOUNTED, mine)
            return recording
        finally:
            rig.fabric.close()


@dataclass
class _Steps:
    """Registers of a rig, with the largest lateness (ps) of a step's last write, of a sample's last
    latched counter, and of its last register read."""

    rig: Rig
    cosim: Cosim
    instant: int = 0
    latest: int = 0
    held_latest: int = 0
    read_latest: int = 0

    def hold(self) -> None:
        self.rig.hold()
        self.held_latest = max(self.held_latest, self.cosim.time - self.instant)

    def read(self) -> None:
        self.rig.read()
        self.read_latest = max(self.read_latest, self.cosim.time - self.instant)

    def apply(self) -> None:
        self.rig.apply()
        self.latest = max(self.latest, self.cosim.time - self.instant)


def _lateness(steps: _Steps) -> dict[str, Any]:
    """Lateness of register accesses, also as text: virtual time goes on during an access."""
    held, read = steps.held_latest / 1e12, steps.read_latest / 1e12
    return {
        "steps_late_s": {"max": steps.latest / 1e12},
        "samples_late_s": {"counters": held, "registers": read},
        "note": "Verilated gateware in virtual time: no machine is in the path. Counters of a "
        f"sample are at most {held * 1e6:.2f} us late; the state of limiters, and what was sent "
        f"and received of each flow, at most {read * 1e6:.1f} us",
    }


def _carry_out(gate: Assembly, rig: Rig, cosim: Cosim, progress: Report) -> _Steps:
    """Play the plan's timeline in virtual time, up to the instant of each step."""
    duration = gate.resolved.plan.duration
    reported = 0
    steps = _Steps(rig, cosim)

    def clock(now: int, kind: str) -> None:
        nonlocal reported
        steps.instant = now
        while cosim.time < now:
            cosim.run(min(now, cosim.time + REPORT_PS))
            cosim.catch_up(cosim.time)
            if cosim.time >= reported + REPORT_PS:
                reported = cosim.time
                detail = f"t = {reported / 1e9:.0f} ms of {duration / 1e9:g} ms"
                progress(Progress("clocking", reported / duration, detail))

    play_timeline(gate, steps, clock)
    return steps


def _end_samples(beside: Assembly, duration: int) -> None:
    """Drop samples past the end of compiled nodes, which run ahead of the gateware."""
    clock, times = beside.world.clock[0], beside.world.row_times
    while clock.row and times[clock.row - 1] > duration:
        clock.row -= 1


def _leave_out(recording: Recording, quantities: frozenset[str], nodes: Sequence[str]) -> None:
    """Remove the columns of these quantities of these nodes: no register counts them."""
    kept = [
        place
        for place, column in enumerate(recording.columns)
        if column.quantity not in quantities or column.node not in nodes
    ]
    recording.columns = [recording.columns[place] for place in kept]
    recording.values = recording.values[:, kept]


def _fidelity(rig: Rig, cosim: Cosim, clocks: int, cpu_s: float) -> dict[str, Any]:
    """Fidelity of a run in virtual time: valid, unless frames were lost inside of a node."""
    lost: dict[str, int] = {}
    for driver in rig.drivers:
        lost |= driver.losses()
    for link in rig.links:
        late = rig.fabric.link_counts(link.number)[2]
        if late:
            lost[f"words too late on direction {link.number}"] = late
    lost["frames not understood"] = int(cosim.foreign)
    waiting: dict[str, dict[str, int]] = {}
    for driver in rig.drivers:
        waiting |= driver.waiting()
    reasons = [f"invalid: {where}: {count}" for where, count in lost.items() if count]
    invalid = bool(reasons)
    reasons += [
        f"degraded: {port}: {one['late']} of {one['events']} events of its congestion point waited "
        f"too long, one for {max(n for k, n in one.items() if k.endswith('_ps')) / 1e6:.3g} us"
        for port, one in waiting.items()
        if one["late"]
    ]
    return {
        "verdict": "invalid" if invalid else "degraded" if reasons else "valid",
        "reasons": reasons,
        **({"compiled": waiting} if waiting else {}),
        "lost_outside_queues": lost,
        "clock_hz": 10**12 // rig.period,
        "clocks": clocks,
        "clocks_per_cpu_s": clocks / max(cpu_s, 1e-9),
        "models": {name: model.title for name, model in rig.models.items()},
    }


def _in_order(recording: Recording) -> None:
    """Sort captured frames by time: the two directions of a port were read one after the other."""
    import numpy as np

    for capture in recording.captures:
        order = np.argsort(capture.times_ps, kind="stable")
        for name in ("times_ps", "outgoing", "lengths", "kept", "octets"):
            setattr(capture, name, getattr(capture, name)[order])
