"""What a target's times are good to: where tolerances of figures in time come from."""

from __future__ import annotations

import pytest

from traces.pytest_plugin.run_outcome import Outcome

TAKE_CLOCKS = 32
"""Of gateware: from a free transmitter to the next frame's first word (docs/gateware.md)."""

HELD = "the clock was held back"


def grain(outcome: Outcome, share: str = "max") -> tuple[int, str]:
    """(ps, the reason). A run that its machine has distorted is skipped, with the number.

    A clock that was held back while the machine was busy is no distortion here: emulated time, in
    which frames are captured and lateness is measured, went on as it should
    (orchestrator/run/run_fidelity.py). `share`: of all departures, those that the figure may hang
    on. A median hangs on no single one: p99 is for it.
    """
    fidelity = outcome.result["fidelity"]
    worst = [reason for reason in fidelity["reasons"] if reason.startswith("invalid")]
    worst = [reason for reason in worst if HELD not in reason]
    if worst:
        pytest.skip(f"void: our side: times of this run are the machine's: {worst[0]}")
    if "clock_hz" in fidelity:
        clocks = TAKE_CLOCKS * 10**12 // int(fidelity["clock_hz"])
        return clocks, f"gateware: {TAKE_CLOCKS} clocks until a transmitter takes a frame"
    if outcome.late_ps:
        late = int(fidelity["lateness_s"][share] * 1e12)
        which = "the latest departure" if share == "max" else f"{share} of departures' lateness"
        # A node that has no core hears what comes in as late; the clock goes on by this and stops.
        heard = int(fidelity["horizon_s"] * 1e12) if share == "max" else 0
        more = f", and {heard / 1e6:.3g} us until it is heard" if heard else ""
        return late + heard, f"software: {which} that the run itself saw{more}"
    return 0, "simulated: exact"
