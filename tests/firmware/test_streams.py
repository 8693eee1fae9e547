"""The AXI-Stream modules at several widths: octet-exact frames under idle and backpressure."""

from __future__ import annotations

import pytest

from tests.firmware.simulate import simulate

STREAMS = {
    "slice": ("axis_register", {"USER_W": 1}),
    "header": ("frame_header", {"HEADER": 84}),
    "messages_out": ("cnm_generate", {}),
    "messages_in": ("cnm_parse", {}),
    "pause_out": ("pause_generate", {}),
    "pause_in": ("pause_parse", {}),
    "fifo": ("frame_fifo", {"WORDS": 512, "FRAMES": 256}),
    "delay": ("delay_line", {"WORDS": 256, "FRAMES": 16}),
    "generator": ("packet_generator", {}),
}
CASES = [(bench, width) for bench in STREAMS for width in (64, 512)]
PATHS = {
    "switch": ("bench_switch", {}),
    "nic": ("qcn_nic", {"FLOWS": 4, "LIMITERS": 2, "ROOM": 8}),
}
# What differs by width is how words are cut and counted: the widths between are for these two.
BETWEEN = [(bench, width) for bench in ("header", "messages_out") for width in (128, 256)]


@pytest.mark.parametrize(
    ("bench", "width"), [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in BETWEEN)]
)
def test_stream_module(bench: str, width: int) -> None:
    top, parameters = STREAMS[bench]
    simulate("icarus", top, bench, seed=width, DATA_W=width, **parameters)


@pytest.mark.parametrize("bench", PATHS)
def test_data_path(bench: str) -> None:
    """At 64 bit, the width that the target builds; docs/gateware.md tells what fails at 512."""
    top, parameters = PATHS[bench]
    simulate("icarus", top, bench, seed=64, DATA_W=64, **parameters)
