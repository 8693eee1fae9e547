"""Target `gateware` on cards: a plan in wall time through their register windows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from firmware.cards.wall_clock import Clock, WallClock
from firmware.registers.register_window import WindowError
from firmware.target.plan_check import IN_VERILOG, TARGET, check, on_gateware, refusal
from firmware.target.timeline_player import SAMPLES, STEPS, play_timeline
from orchestrator.capability import Capability
from orchestrator.errors import RunFailed
from orchestrator.progress import Progress
from orchestrator.target import Cards, Target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware.cards.card_fleet import Fleet
    from orchestrator.assembly import Assembly
    from orchestrator.errors import Refused
    from orchestrator.live.live_session import Session
    from orchestrator.plan import ResolvedPlan
    from orchestrator.progress import Report
    from orchestrator.recording import Recording

REPORT_PS = 250_000_000_000
"""Least interval between two reports of progress."""


class OnCards(Target):
    """NICs and switches on the cards of a testbed, in real time."""

    name = TARGET
    summary = "the nodes' Verilog on cards, in real time"
    capabilities = IN_VERILOG | {Capability.CARDS}

    def __init__(self, bed: Cards, clock: Clock | None = None) -> None:
        self.bed, self.clock = bed, clock or WallClock()

    def probe(self) -> Refused | None:
        """Return None: cards are detected when they are opened."""
        return None

    def check(self, resolved: ResolvedPlan, installed: Iterable[Target]) -> None:
        """Raises Refused, by name, for requirements of a plan that the cards lack.

        All cards are opened for it and closed again.
        """
        from firmware.cards.card_check import check_card, check_plan
        from firmware.cards.card_inventory import opened_cards

        if getattr(resolved.options, "forms", None) == "compiled":
            lack = "cards have no algorithms that are compiled from kernels"
            raise refusal("a card", lack, "Leave --forms out, or run without --testbed.")
        check(resolved, installed)
        check_plan(resolved, {node for card in self.bed.cards.values() for node in card.nodes})
        with opened_cards(dict(self.bed.cards), on_gateware(resolved.plan)) as cards:
            for one in cards.values():
                check_card(resolved, one)

    def run(
        self, resolved: ResolvedPlan, progress: Report, session: Session | None = None
    ) -> Recording:
        """Run the whole plan. Raises RunFailed when a register does not keep its value."""
        from firmware.cards.card_fidelity import fidelity, without_unmeasured
        from firmware.cards.card_fleet import Fleet
        from firmware.cards.card_inventory import opened_cards
        from firmware.driver.plan_records import Records
        from orchestrator.assembly import assemble, record
        from orchestrator.run.engine_compile import report_compiling

        mine = on_gateware(resolved.plan)
        gate = assemble(resolved, mine)
        with opened_cards(dict(self.bed.cards), mine) as cards:
            fleet = Fleet(cards, Records(gate), self.clock)
            cpu, wall = time.process_time(), time.perf_counter()
            try:
                with report_compiling(progress):
                    _warm(resolved, mine)
                progress(Progress("arming", 0.0, ", ".join(cards)))
                fleet.arm()
                epoch_ns = time.time_ns() + (fleet.origin - self.clock.now()) // 1000
                late = _carry_out(gate, fleet, self.clock, progress)
                lost, drifts = fleet.losses(), fleet.drifts()
            except WindowError as error:
                raise RunFailed(f"target {TARGET}: {error}") from None
            finally:
                fleet.end()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            shares = [(gate, list(resolved.plan.nodes))]
            recording = record(self.name, shares, epoch_ns=epoch_ns, cpu_s=cpu, wall_s=wall)
            recording.cards = {name: one.manifest() for name, one in cards.items()}
            recording.fidelity = fidelity(resolved, fleet, late, lost, drifts)
            return without_unmeasured(resolved, recording)


def _warm(resolved: ResolvedPlan, mine: list[str]) -> None:
    """Compile everything before the start, on a scratch world."""
    from orchestrator.assembly import assemble
    from orchestrator.engine.node_api import COMMANDS_ACTOR, step, take_row

    world = assemble(resolved, mine).world
    take_row(world, 0)
    step(world, COMMANDS_ACTOR, 0)


def _carry_out(gate: Assembly, fleet: Fleet, clock: Clock, progress: Report) -> dict[str, Any]:
    """Play the plan's timeline by the clock; returns the lateness of each step (ps), by kind."""
    duration = gate.resolved.plan.duration
    late: dict[str, list[int]] = {STEPS: [], SAMPLES: []}
    reported = -REPORT_PS

    def wait(now: int, kind: str) -> None:
        nonlocal reported
        if now >= reported + REPORT_PS:
            reported = now
            detail = f"t = {reported / 1e9:.0f} ms of {duration / 1e9:g} ms"
            progress(Progress("running", reported / duration, detail))
        clock.until(fleet.origin + now)
        late[kind].append(clock.now() - fleet.origin - now)

    play_timeline(gate, fleet, wait)
    return late
