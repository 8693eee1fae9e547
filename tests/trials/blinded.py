"""Checks of fidelity switched off, one at a time: what a trial of distorted runs must not pass."""

from __future__ import annotations

from dataclasses import dataclass

FIDELITY = "orchestrator.run.run_fidelity"
BALANCE = "orchestrator.run.link_conservation"


@dataclass(frozen=True)
class Blind:
    """What is exchanged for what, in which module; a kind of distortion that nobody sees then."""

    kind: str
    changes: tuple[tuple[str, str, str], ...]


BLIND: dict[str, Blind] = {
    "losses": Blind(
        "lost", ((FIDELITY, "            lost / max(measured.sent, 1),\n", "            0.0,\n"),)
    ),
    "what was not understood": Blind(
        "corrupted",
        (
            (
                "orchestrator.targets.software.plan_job",
                'lost["not understood"] = max(sum(foreign(thread) for thread in threads), 0)',
                'lost["not understood"] = 0',
            ),
        ),
    ),
    "frames that nobody sent": Blind(
        "doubled", ((BALANCE, '("brought", one.surplus,', '("brought", 0,'),)
    ),
    "frames beyond those that were lost": Blind(
        "exchanged",
        ((BALANCE, "return max(self.repeated, *(", "return max(0, *("),),
    ),
    "order": Blind(
        "swapped",
        ((BALANCE, '("brought", one.reordered,', '("brought", 0,'),),
    ),
    "delays of links": Blind(
        "late", ((BALANCE, "extra / reaction_ps, EXTRA_DELAY", "0.0, EXTRA_DELAY"),)
    ),
    "time": Blind(
        "stopped",
        (
            (FIDELITY, '            late["p99"] / reaction,\n', "            0.0,\n"),
            (
                FIDELITY,
                "            displaced,\n            DISPLACED,",
                "            0.0,\n            DISPLACED,",
            ),
            (
                FIDELITY,
                '            late["max"] / max(demand.shortest_phase_ps, 1),\n            STALL,',
                "            0.0,\n            STALL,",
            ),
            (
                FIDELITY,
                "            held if is_real_time(measured.pace) else 0.0,\n            HELD,",
                "            0.0,\n            HELD,",
            ),
        ),
    ),
}
