"""Report of a storm: JSON table and verdict (gapless, lapsed, unproven)."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.histogram import percentile_ps
from orchestrator.pause_storm.hold_accounting import NONE_YET, OBSERVERS
from orchestrator.pause_storm.storm_runner import Outcome, lapse_times

NS = 1e9
PS = 1e12
MOST_LISTED = 100
"""Most lapses in the list."""
GAPLESS, LAPSED, UNPROVEN = "gapless", "lapsed", "unproven"


def observer_table(ledger: np.void) -> dict[str, Any]:
    """Table of one observer of one port."""
    span, worst = int(ledger["span_ns"]), int(ledger["worst_ns"])
    return {
        "frames": int(ledger["frames"]),
        "held_s": (span - int(ledger["lapsed_ns"])) / NS,
        "worst_margin_s": None if worst == NONE_YET else worst / NS,
        "lapses": int(ledger["lapses"]),
        "lapsed_s": int(ledger["lapsed_ns"]) / NS,
        "longest_lapse_s": int(ledger["longest_ns"]) / NS,
        "lapsed_share": int(ledger["lapsed_ns"]) / span if span > 0 else None,
    }


def port_table(outcome: Outcome, row: int) -> dict[str, Any]:
    """Table of one port with all its observers."""
    port, hold = outcome.ports[row], outcome.desk.holds[row]
    far = outcome.far_ends[row] if outcome.far_ends else None
    return {
        "interface": port.name,
        "driver": port.driver,
        "rate_bps": port.rate_bps,
        "hold_s": int(hold["hold_ns"]) / NS,
        "margin_s": int(hold["margin_ns"]) / NS,
        "refused": int(hold["refused"]),
        "missed_holds": int(hold["missed"]),
        "own": observer_table(outcome.desk.own[row]),
        "kernel": observer_table(outcome.desk.kernel[row]),
        "far_end": None
        if far is None
        else observer_table(far.ledger[row])
        | {"interface": outcome.request.far_ends[row], "dropped": far.dropped},
    }


def report_table(outcome: Outcome) -> dict[str, Any]:
    """Table of the storm. Times in seconds, rates in bit/s."""
    asked, ports = outcome.request, [port_table(outcome, row) for row in range(len(outcome.ports))]
    late = outcome.desk.lateness
    shares = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999, "max": 1.0}
    verdict, why = storm_verdict(ports)
    return {
        "verdict": verdict,
        "why": why,
        "priorities": None if asked.priorities is None else list(asked.priorities),
        "quanta": asked.quanta,
        "pattern": None
        if asked.pattern is None
        else {"on_s": asked.pattern.on_ns / NS, "off_s": asked.pattern.off_ns / NS},
        "asked_s": asked.seconds,
        "ran_s": outcome.ran_s,
        "interrupted": outcome.interrupted is not None,
        "scheduled": outcome.scheduled,
        "cpu_s": outcome.cpu_s,
        "taken_s": outcome.taken,
        "rehearsed_lateness_s": outcome.rehearsed_ns / NS,
        "lateness_s": {name: percentile_ps(late, share) / PS for name, share in shares.items()},
        "ports": ports,
        "lapses": [
            {
                "interface": outcome.ports[row].name,
                "observer": OBSERVERS[observer],
                "at_s": at / NS,
                "length_s": length / NS,
            }
            for row, observer, at, length in lapse_times(outcome)[:MOST_LISTED].tolist()
        ],
    }


def storm_verdict(ports: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """gapless, lapsed or unproven, and what is to be said of it, port by port.

    An observer is whole that saw every frame that was sent; what another has missed may look like
    lapses. The sender's own clock is asked only where no other observer is whole:
    it tells too many lapses, when it was kept from its core around the call, and never shows that
    frames did leave.
    """
    lapsed, said = False, []
    proven = bool(ports)
    for port in ports:
        name, sent = port["interface"], port["own"]["frames"]
        others = {word: port[word] for word in OBSERVERS[1:] if port[word] is not None}
        whole = {word: seen for word, seen in others.items() if seen["frames"] == sent}
        lost = {
            word: seen
            for word, seen in others.items()
            if word not in whole and seen.get("dropped") == 0
        }
        asked = (whole | lost) or {"own": port["own"]}
        for word, seen in asked.items():
            if seen["lapses"]:
                lapsed = True
                said.append(f"{name}: {seen['lapses']} lapses by {word.replace('_', ' ')}")
        for word, seen in others.items():
            if word not in whole:
                word = word.replace("_", " ")
                said.append(f"{name}: of {sent} frames {seen['frames']} were seen by {word}")
        if port["missed_holds"]:
            lapsed = True
            said.append(f"{name}: {port['missed_holds']} holds of the pattern did not begin")
        proven = proven and bool(whole) and not lost and sent > 0
    if lapsed:
        return LAPSED, said
    return (GAPLESS if proven else UNPROVEN), said
