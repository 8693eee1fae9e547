"""The algorithms in Verilog equal their Python kernels, event by event."""

from __future__ import annotations

import pytest

from tests.firmware.simulate import simulate

CORES = {
    "random_source": ("lfsr", {}),
    "jitter": ("jitter", {"BASE_W": 45}),
    "quantiser": ("qcn_quantiser", {}),
    "congestion_point": ("qcn_cp", {}),
    "reaction_point": ("qcn_rp", {"N": 4}),
    "token_bucket": ("token_bucket", {"N": 4}),
    "pause_held": ("pause_timer", {}),
    "pause_sent": ("pause_control", {}),
    "service": ("service_limiter", {}),
}


@pytest.mark.parametrize("bench", CORES)
def test_core_equals_its_kernel_on_icarus(bench: str) -> None:
    top, parameters = CORES[bench]
    simulate("icarus", top, bench, **parameters)


BUILT_TWICE = ("random_source", "quantiser", "congestion_point", "reaction_point", "token_bucket")
"""Those that Verilator, which takes long to build, has to confirm."""


@pytest.mark.slow
@pytest.mark.parametrize("bench", BUILT_TWICE)
def test_core_equals_its_kernel_on_verilator(bench: str) -> None:
    top, parameters = CORES[bench]
    simulate("verilator", top, bench, seed=2, **parameters)
