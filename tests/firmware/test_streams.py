"""The AXI-Stream modules at several widths: octet-exact frames under idle and backpressure."""

from __future__ import annotations

import pytest

from tests.firmware.simulate import Part, simulate_together

STREAMS: dict[str, tuple[str, dict[str, int]]] = {
    "slice": ("axis_slice", {"USER_W": 1}),
    "header": ("frame_header", {"HEADER": 84}),
    "messages_out": ("cnm_generate", {}),
    "messages_in": ("cnm_parse", {}),
    "pause_out": ("pause_generate", {}),
    "pause_in": ("pause_parse", {}),
    "fifo": ("frame_fifo", {"WORDS": 512, "FRAMES": 256, "STAMP_W": 8, "LATE": 0}),
    "delay": ("delay_line", {"WORDS": 256, "FRAMES": 16}),
    "generator": ("packet_generator", {}),
    "arbiter": ("axis_arbiter", {"INPUTS": 2}),
}
SUSTAINED: dict[str, dict[str, int]] = {
    "axis_slice": {},
    "octet_count": {},
    "frame_fifo": {"WORDS": 512, "FRAMES": 256},
    "delay_line": {"WORDS": 512, "FRAMES": 64},
    "cnm_generate": {},
    "pause_generate": {},
    "packet_generator": {},
}
"""One word per clock, module by module. The arbiter's bench holds it to that; what only watches
(`frame_header` and the parsers) cannot hold a stream up."""
PATHS = {
    "switch": ("bench_switch", {"UNITS": 256}),
    "nic": ("qcn_nic", {"FLOWS": 4, "LIMITERS": 2, "ROOM": 8, "HOST_WORDS": 512}),
}
BENCHES = {
    "switch": ("switch", "switch_occupancy", "sustained_switch"),
    "nic": ("nic", "sustained_nic"),
}
"""Of each data path."""
BOARDS: dict[str, tuple[str, dict[str, int]]] = {
    "corundum": ("mqnic_app_block", {"AXIS_DATA_WIDTH": 64}),
    "netfpga": (
        "netfpga_plus_datapath",
        {"C_S_AXIS_DATA_WIDTH": 64, "C_M_AXIS_DATA_WIDTH": 64},
    ),
    "netfpga_1g": ("netfpga_1g_datapath", {}),
}
SUME = (
    "netfpga_sume_datapath",
    {"C_S_AXIS_DATA_WIDTH": 64, "C_M_AXIS_DATA_WIDTH": 64},
)
"""Held by the bench of PLUS: more streams, another clock."""
# What differs by width is how words are cut and counted: the widths between are for these two.
BETWEEN = ("header", "messages_out")


def parts(modules: dict[str, tuple[str, dict[str, int]]], width: int) -> list[Part]:
    return [
        Part(bench, top, {"DATA_W": width, **parameters})
        for bench, (top, parameters) in modules.items()
    ]


def sustained(width: int) -> list[Part]:
    return [
        Part("sustained", top, {"DATA_W": width, **parameters}, f"sustained_{top}")
        for top, parameters in SUSTAINED.items()
    ]


@pytest.mark.parametrize("width", [64, 512])
def test_stream_modules(width: int) -> None:
    chosen = parts(STREAMS, width) + sustained(width)
    late = {"DATA_W": width, "WORDS": 512, "FRAMES": 32, "STAMP_W": 8, "LATE": 8}
    chosen.append(Part("fifo", "frame_fifo", late, "fifo_late"))
    simulate_together(f"streams_{width}", chosen, seed=width)


@pytest.mark.parametrize("width", [128, 256])
def test_stream_modules_between(width: int) -> None:
    """Also a word per clock, from end to end of the data paths."""
    chosen = parts({bench: STREAMS[bench] for bench in BETWEEN}, width) + sustained(width)
    chosen += parts({f"sustained_{bench}": path for bench, path in PATHS.items()}, width)
    simulate_together(f"streams_{width}", chosen, seed=width)


@pytest.mark.parametrize("width", [64, pytest.param(512, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", PATHS)
def test_data_path(path: str, width: int) -> None:
    benches = dict.fromkeys(BENCHES[path], PATHS[path])
    simulate_together(f"{path}_{width}", parts(benches, width), seed=width)


def test_boards_hold_to_their_shells_ports() -> None:
    """At 64 bit, which is quick; the data paths behind the ports are held at 512 as well."""
    chosen = [Part(bench, top, parameters) for bench, (top, parameters) in BOARDS.items()]
    chosen.append(Part("netfpga", SUME[0], SUME[1], "netfpga_sume"))
    simulate_together("boards", chosen)
