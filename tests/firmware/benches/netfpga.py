"""netfpga_plus_datapath.v and netfpga_sume_datapath.v hold to NetFPGA's ports: tuser, resets, two
clocks, the window."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiStreamBus,
    AxiStreamFrame,
    AxiStreamSink,
    AxiStreamSource,
)

from firmware.registers.register_maps import SWITCH, SWITCH_PORT
from orchestrator.engine.records import DATA, PAUSE
from tests.firmware.benches.registers import Host
from tests.firmware.benches.streams import descriptor, pauses, users, written
from tests.firmware.benches.switch import understood
from tests.firmware.benches.windows import CLEAR, ENABLE, Windows

PLUS, SUME = (0x01, 0x04, 0x02), (0x01, 0x04, 0x10, 0x40, 0x02)
"""Codes of the ports, the host's DMA last, in tuser's source and destination octets."""
CLOCK_PS = {PLUS: 4000, SUME: 5000}
FRAMES = 36
OF_PORT = 40


class Bench:
    """A switch of three streams or five; addresses p are behind stream p."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.codes = SUME if hasattr(dut, "s_axis_4_tdata") else PLUS
        self.ports = range(len(self.codes))
        self.bases = [0x1000 + 0x2000 * port for port in self.ports]
        clocking = {"clock": dut.axis_aclk, "reset": dut.axis_resetn, "reset_active_level": False}
        self.sources = [
            AxiStreamSource(AxiStreamBus.from_prefix(dut, f"s_axis_{n}"), **clocking)
            for n in self.ports
        ]
        self.sinks = [
            AxiStreamSink(AxiStreamBus.from_prefix(dut, f"m_axis_{n}"), **clocking)
            for n in self.ports
        ]
        for port in (*self.sources, *self.sinks):
            port.set_pause_generator(pauses(self.rng))
            port.log.setLevel("WARNING")
        bus = AxiLiteBus.from_prefix(dut, "S0_AXI")
        master = AxiLiteMaster(bus, dut.axi_aclk, dut.axi_resetn, reset_active_level=False)
        self.windows = Windows(dut, self.rng, Host.through(master, self.rng))

    async def begin(self) -> None:
        """Clocks that have nothing to do with each other; resets are active low."""
        dut = self.dut
        for window in (1, 2):
            for name in ("AWVALID", "WVALID", "BREADY", "ARVALID", "RREADY"):
                getattr(dut, f"S{window}_AXI_{name}").value = 0
        dut.axis_resetn.value = dut.axi_resetn.value = 0
        cocotb.start_soon(Clock(dut.axis_aclk, CLOCK_PS[self.codes], unit="ps").start())
        cocotb.start_soon(Clock(dut.axi_aclk, 9998, unit="ps").start())
        for _ in range(8):
            await FallingEdge(dut.axi_aclk)
        for port in self.ports:
            assert int(getattr(dut, f"m_axis_{port}_tvalid").value) == 0
        dut.axis_resetn.value = dut.axi_resetn.value = 1
        for _ in range(4):
            await FallingEdge(dut.axi_aclk)

    def frame(self, port: int, to: int, number: int) -> AxiStreamFrame:
        """A frame with the tuser that NetFPGA's input queues give it."""
        length = self.rng.choice((70, 127, 128, self.rng.randrange(70, 400)))
        octets = written(
            descriptor(kind=DATA, length=length, source=port, destination=to, sequence=number)
        )
        return AxiStreamFrame(octets, tuser=self.codes[port] << 16 | length)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_have_their_length_source_and_destination(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED)
    await bench.begin()
    windows = bench.windows
    chain = await windows.chain()
    assert [name for name, _ in chain] == [
        "qcn_switch",
        *["switch_port", "qcn_cp"] * len(bench.codes),
    ]
    period, last = CLOCK_PS[bench.codes], bench.ports[-1]
    assert await windows.host.read(0x18) == 10**12 // period
    assert await windows.host.read(0xF000) == 0
    for port, base in enumerate(bench.bases):
        await windows.set(0, SWITCH, route_address=port)
        await windows.set(0, SWITCH, route=1 << 8 | port)
        await windows.set(base, SWITCH_PORT, address=OF_PORT + port, gain=10**12 * period)
    await windows.control(0, ENABLE | CLEAR)
    # one queue asks for PAUSE with its first frame: the other ports make one each
    await windows.set(bench.bases[last], SWITCH_PORT, pause_high=1, pause_low=0, pause_on=1)
    sent: dict[tuple[int, int], list[bytes]] = {}
    for number in range(FRAMES // len(bench.codes)):
        for port in bench.ports:
            to = bench.rng.choice(bench.ports)
            frame = bench.frame(port, to, number)
            sent.setdefault((port, to), []).append(bytes(frame.tdata))
            await bench.sources[port].send(frame)
    for to in bench.ports:
        wanted = sum(len(frames) for (_, t), frames in sent.items() if t == to)
        found: dict[int, list[bytes]] = {}
        made = 0
        while wanted:
            frame = await bench.sinks[to].recv()
            octets, values = bytes(frame.tdata), users(frame)
            assert len(values) == 1
            tuser = values.pop()
            assert tuser & 0xFFFF == len(octets)
            assert tuser >> 24 == bench.codes[to]
            if tuser >> 16 & 0xFF == 0:
                assert understood(octets).kind == PAUSE
                made += 1
                continue
            found.setdefault(bench.codes.index(tuser >> 16 & 0xFF), []).append(octets)
            wanted -= 1
        assert found == {port: frames for (port, t), frames in sent.items() if t == to}
        assert (made > 0) == (to != last)
