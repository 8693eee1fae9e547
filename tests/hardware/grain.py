"""What a target's times are good to: where tolerances of figures in time come from."""

from __future__ import annotations

import pytest

from traces.inloop.outcome import Outcome

TAKE_CLOCKS = 32
"""Of gateware: from a free transmitter to the next frame's first word (docs/gateware.md)."""


def grain(outcome: Outcome) -> tuple[int, str]:
    """(ps, the reason). A run that its machine has distorted is skipped, with the number."""
    fidelity = outcome.result["fidelity"]
    if fidelity["verdict"] == "invalid":
        pytest.skip(f"times of this run are the machine's: {fidelity['reasons'][0]}")
    if "clock_hz" in fidelity:
        clocks = TAKE_CLOCKS * 10**12 // int(fidelity["clock_hz"])
        return clocks, f"gateware: {TAKE_CLOCKS} clocks until a transmitter takes a frame"
    if outcome.late_ps:
        return outcome.late_ps, "software: the latest departure that the run itself saw"
    return 0, "simulated: exact"
