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
WIDTHS = [
    64,
    pytest.param(128, marks=pytest.mark.slow),
    pytest.param(256, marks=pytest.mark.slow),
    512,
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("bench", STREAMS)
def test_stream_module(bench: str, width: int) -> None:
    top, parameters = STREAMS[bench]
    simulate("icarus", top, bench, seed=width, DATA_W=width, **parameters)
