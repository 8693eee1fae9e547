"""mqnic_app_block.v holds to Corundum's ports: tuser, tags, reset, the window, the other tiers."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamFrame

from firmware.registers.register_maps import CARD_CLOCK, DELAY_LINE, FLOW_SOURCES, NIC, QCN_RP
from orchestrator.engine.node_api import BIT_PS
from orchestrator.engine.records import CNM, DATA
from tests.firmware.benches.clocking import drive, start
from tests.firmware.benches.registers import Host
from tests.firmware.benches.streams import descriptor, sink, source, users, written
from tests.firmware.benches.switch import understood
from tests.firmware.benches.windows import CLEAR, ENABLE, Windows

CLOCK_PS = 4_000
HOST_TAG = 1 << 16
"""Top bit of the tag in tuser: a frame of the host."""
CHAIN = ["qcn_nic", "qcn_rp", "token_bucket", "flow_sources", "delay_line", "card_clock"]
DELAY, CLOCK = 0x10000, 0x20000


class Bench:
    """An application block with one port."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.host_out = source(dut, self.rng, "s_axis_sync_tx")
        self.wire_out = sink(dut, self.rng, "m_axis_sync_tx")
        self.wire_in = source(dut, self.rng, "s_axis_sync_rx")
        self.host_in = sink(dut, self.rng, "m_axis_sync_rx")
        bus = AxiLiteBus.from_prefix(dut, "s_axil_app_ctrl")
        master = AxiLiteMaster(bus, dut.clk, dut.rst)
        self.windows = Windows(dut, self.rng, Host.through(master, self.rng))

    def host_frame(self, number: int) -> AxiStreamFrame:
        """A frame of the host's, its tag and one bit for a damaged one."""
        octets = written(
            descriptor(
                kind=DATA,
                length=self.rng.randrange(70, 400),
                source=3,
                destination=30,
                sequence=number,
            )
        )
        tag = HOST_TAG | self.rng.randrange(1 << 15) << 1 | self.rng.randrange(2)
        return AxiStreamFrame(octets, tuser=tag)

    async def wait(self, clocks: int) -> None:
        for _ in range(clocks):
            await FallingEdge(self.dut.clk)


async def received(port: Any, count: int) -> list[tuple[bytes, int]]:
    """So many frames, each with the one value that its tuser has."""
    frames = []
    for _ in range(count):
        frame = await port.recv()
        assert len(users(frame)) == 1
        frames.append((bytes(frame.tdata), users(frame).pop()))
    return frames


def offered(frames: list[AxiStreamFrame]) -> list[tuple[bytes, int]]:
    return [(bytes(frame.tdata), users(frame).pop()) for frame in frames]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_windows_are_one_chain(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED)
    await start(dut)
    found = await bench.windows.chain()
    assert [name for name, _ in found] == CHAIN
    assert found[-2:] == [("delay_line", DELAY), ("card_clock", CLOCK)]
    first = await bench.windows.get(CLOCK, CARD_CLOCK, "now")
    begun = get_sim_time("ps")
    await bench.wait(100)
    passed = await bench.windows.get(CLOCK, CARD_CLOCK, "now") - first
    assert 100 * CLOCK_PS <= passed <= get_sim_time("ps") - begun + 100 * CLOCK_PS
    assert await bench.windows.get(0, NIC, "quantum") == 51_200
    assert await bench.windows.host.read(0x18) == 250_000_000
    assert await bench.windows.host.read(0x80_0000) == 0  # beyond the last window


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def host_frames_pass_with_their_tags_before_anything_is_set(dut: Any) -> None:
    """More than the queue of the host holds: it waits, since every frame is to be completed."""
    bench = Bench(dut, cocotb.RANDOM_SEED + 1)
    await start(dut)
    frames = [bench.host_frame(number) for number in range(60)]
    inbound = [
        AxiStreamFrame(
            bench.rng.randbytes(bench.rng.randrange(60, 300)), tuser=bench.rng.randrange(1 << 97)
        )
        for _ in range(30)
    ]
    bench.wire_out.clear_pause_generator()
    bench.wire_out.pause = True
    for frame in frames:
        await bench.host_out.send(frame)
    for frame in inbound:
        await bench.wire_in.send(frame)
    assert await received(bench.host_in, len(inbound)) == offered(inbound)
    await bench.wait(200)
    assert not bench.host_out.idle()
    bench.wire_out.pause = False
    assert await received(bench.wire_out, len(frames)) == offered(frames)
    assert await bench.windows.get(0, NIC, "host_lost") == 0
    assert await bench.windows.get(DELAY, DELAY_LINE, "frames_out") == len(inbound)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_is_made_here_has_tag_0_and_damaged_messages_are_not_heard(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED + 2)
    await start(dut)
    for base in (0x1000, 0x2000, 0x3000, 0):
        await bench.windows.control(base, ENABLE | CLEAR)
    rate, length = 2_000_000_000, 100
    await bench.windows.set(
        0x3000,
        FLOW_SOURCES,
        whole=length * BIT_PS // rate,
        rest=length * BIT_PS % rate,
        rate=rate,
        length=length,
        room=4,
        source=1,
        destination=21,
        commit=3,
    )
    octets = written(
        descriptor(kind=CNM, length=106, feedback=9, source=40, destination=1, mark=100, inner=21)
    )
    for tuser in (0, 1 << 5 | 1, 1 << 96):
        await bench.wire_in.send(AxiStreamFrame(octets, tuser=tuser))
    host = [bench.host_frame(number) for number in range(8)]
    for frame in host:
        await bench.host_out.send(frame)
    frames = await received(bench.wire_out, 30)
    assert {tuser for octets, tuser in frames if understood(octets).source == 1} == {0}
    assert [frame for frame in frames if frame[1] != 0] == offered(host)
    assert await bench.windows.get(0x1000, QCN_RP, "feedback_received") == 2

    # reset is active high and ends everything, in the middle of a frame as well
    dut.rst.value = 1
    await bench.wait(2)
    assert int(dut.m_axis_sync_tx_tvalid.value) == 0
    assert int(dut.m_axis_sync_rx_tvalid.value) == 0
    dut.rst.value = 0
    await bench.wait(1)
    assert await bench.windows.host.read(8) == 0  # not enabled


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def other_tiers_and_completions_pass_and_the_rest_is_silent(dut: Any) -> None:
    await start(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    names = [
        f"axis_{tier}_{way}_{field}"
        for tier in ("direct", "if")
        for way in ("tx", "rx")
        for field in ("tdata", "tkeep", "tvalid", "tlast", "tuser")
    ]
    names += [f"axis_if_{way}_{field}" for way in ("tx", "rx") for field in ("tid", "tdest")]
    names += [
        f"axis_{tier}_tx_cpl_{field}"
        for tier in ("direct", "sync", "if")
        for field in ("ts", "tag", "valid")
    ]
    for name in names:
        given = getattr(dut, f"s_{name}")
        value = rng.randrange(1 << len(given))
        given.value = value
        await FallingEdge(dut.clk)
        assert int(getattr(dut, f"m_{name}").value) == value, name
    for way in ("direct_tx_tready", "if_rx_tready", "direct_tx_cpl_ready", "sync_tx_cpl_ready"):
        for value in (1, 0):
            drive(dut, **{f"m_axis_{way}": value})
            await FallingEdge(dut.clk)
            assert int(getattr(dut, f"s_axis_{way}").value) == value, way
    for name in (
        "m_axil_ctrl_awvalid",
        "m_axil_ctrl_arvalid",
        "m_axis_ctrl_dma_read_desc_valid",
        "m_axis_data_dma_write_desc_valid",
        "m_axi_ddr_awvalid",
        "m_axi_hbm_arvalid",
        "m_axis_stat_tvalid",
    ):
        assert int(getattr(dut, name).value) == 0, name
