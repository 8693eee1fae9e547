"""The algorithms in Verilog equal their Python kernels, event by event."""

from __future__ import annotations

import pytest

from tests.firmware.simulate import Part, simulate, simulate_together

CORES: dict[str, tuple[str, dict[str, int]]] = {
    "random_source": ("lfsr32", {}),
    "jitter": ("jitter", {"BASE_W": 45}),
    "dividing": ("divide", {"DIVIDEND_W": 40, "DIVISOR_W": 40, "STEP": 1}),
    "multiplying": ("multiply", {"A_W": 40, "B_W": 34, "STEP": 2}),
    "quantiser": ("qcn_quantiser", {}),
    "sampler": ("qcn_sampler", {}),
    "culprits": ("culprit_array", {"UNITS": 64}),
    "occupancy": ("occupancy_sampler", {"UNITS": 64, "SLOTS": 32}),
    "congestion_point": ("qcn_cp", {}),
    "token_bucket": ("token_bucket", {"N": 4}),
    "pause_held": ("pause_timer", {}),
    "pause_sent": ("pause_control", {}),
    "service": ("service_limiter", {}),
}
REACTION_POINT = {"reaction_point": ("qcn_rp", {"N": 4})}
ALL = CORES | REACTION_POINT


@pytest.mark.parametrize("chosen", [CORES, REACTION_POINT], ids=["others", "reaction_point"])
def test_cores_equal_their_kernels_on_icarus(chosen: dict[str, tuple[str, dict[str, int]]]) -> None:
    """Two simulations, for two cores of the machine: the reaction point takes half of the time."""
    parts = [Part(bench, top, parameters) for bench, (top, parameters) in chosen.items()]
    simulate_together(f"cores_{len(chosen)}", parts)


BUILT_TWICE: dict[str, dict[str, int]] = {
    "random_source": {},
    "quantiser": {},
    "congestion_point": {},
    "culprits": {"UNITS": 1024},
    "occupancy": {"UNITS": 1024, "SLOTS": 256},
    "reaction_point": {"N": 64},
    "token_bucket": {"N": 64},
}
"""Those that Verilator, which takes long to build, has to confirm: with as many reaction points
and buckets as a card has."""


@pytest.mark.slow
@pytest.mark.parametrize("bench", BUILT_TWICE)
def test_core_equals_its_kernel_on_verilator(bench: str) -> None:
    top, parameters = ALL[bench]
    simulate("verilator", top, bench, seed=2, **parameters | BUILT_TWICE[bench])
