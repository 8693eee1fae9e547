"""qcn_switch.v: frames through a whole switch; messages and PAUSE as the kernels have them."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

from firmware.registers.register_maps import QCN_CP, SWITCH, SWITCH_PORT
from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import CNM, DATA, PAUSE
from plugins.qcn_cp import QCN_CP as KERNEL
from plugins.qcn_cp import SAMPLE_INTERVALS
from tests.firmware.benches.clocking import start
from tests.firmware.benches.streams import (
    descriptor,
    sink,
    source,
    written,
)
from tests.firmware.benches.windows import CLEAR, ENABLE, Windows
from tests.plugins.kernel_driver import KernelDriver

PORTS = 3
CLOCK_PS = 8_000
OF_PORT = 40
"""Address index of port 0; sources have their port's number, destinations 10 and more."""


def port_base(port: int) -> int:
    return 0x1000 * (1 + 2 * port)


class Bench:
    """A switch with routes: addresses p and 10 + p are behind port p."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.sources = [source(dut, self.rng, f"s{port}") for port in range(PORTS)]
        self.sinks = [sink(dut, self.rng, f"m{port}") for port in range(PORTS)]
        self.windows = Windows(dut, self.rng)
        self.sent: dict[int, list[bytes]] = defaultdict(list)
        self.received: dict[int, list[bytes]] = defaultdict(list)
        self.frames: dict[int, list[AxiStreamFrame]] = defaultdict(list)

    async def begin(self, **port_settings: int) -> None:
        await start(self.dut, now=0)
        for port in range(PORTS):
            for address in (port, 10 + port):
                await self.windows.set(0, SWITCH, route_address=address)
                await self.windows.set(0, SWITCH, route=1 << 8 | port)
            settings = {"capacity": 30_000, "gain": 10**12 * CLOCK_PS} | port_settings
            await self.windows.set(port_base(port), SWITCH_PORT, address=OF_PORT + port, **settings)
        await self.windows.control(0, ENABLE | CLEAR)
        cocotb.start_soon(self._time())
        for port in range(PORTS):
            cocotb.start_soon(self._take(port))

    async def _time(self) -> None:
        now = 0
        while True:
            await FallingEdge(self.dut.clk)
            now += CLOCK_PS
            self.dut.now.value = now

    async def _take(self, port: int) -> None:
        while True:
            frame = await self.sinks[port].recv()
            self.frames[port].append(frame)
            self.received[port].append(bytes(frame.tdata))

    def frame(self, port: int, to: int, number: int, kind: int = DATA) -> bytes:
        """A frame from `port` to the node behind port `to`."""
        length = self.rng.choice((70, 71, 72, 127, 128, 129, self.rng.randrange(70, 700)))
        fields = {"source": port, "destination": 10 + to, "flow": port, "sequence": number}
        if kind == CNM:
            fields |= {"mark": length, "inner": 9, "feedback": 1 + number % 63}
            length = 106
        return written(descriptor(kind=kind, length=length, priority=number % 8, **fields))

    async def send(self, port: int, octets: bytes) -> None:
        self.sent[port].append(octets)
        await self.sources[port].send(AxiStreamFrame(octets))

    async def quiet(self, clocks: int = 900) -> None:
        """Wait until nothing has come out for so long."""
        count, still = -1, 0
        while still < clocks:
            await FallingEdge(self.dut.clk)
            now = sum(map(len, self.received.values())) + sum(not s.empty() for s in self.sources)
            still = still + 1 if now == count and all(s.idle() for s in self.sources) else 0
            count = now


def understood(octets: bytes) -> Any:
    """The descriptor of a frame."""
    frame = empty_descriptors(1)
    decode(np.frombuffer(octets, np.uint8), len(octets), frame[0])
    return frame[0]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def no_frame_is_lost_doubled_reordered_or_changed(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED)
    await bench.begin()
    foreign = 0
    for number in range(40):
        for port in range(PORTS):
            to = bench.rng.randrange(PORTS)
            kind = CNM if bench.rng.random() < 0.2 else DATA
            octets = bench.frame(port, to, number, kind)
            if bench.rng.random() < 0.05:  # to nobody
                octets = octets[:5] + b"\x63" + octets[6:]
                await bench.sources[port].send(AxiStreamFrame(octets))
                foreign += 1
            else:
                await bench.send(port, octets)
    await bench.quiet()
    for port in range(PORTS):
        for origin in range(PORTS):
            for kind in (DATA, CNM):  # messages overtake data, nothing else overtakes
                wanted = [
                    octets
                    for octets in bench.sent[origin]
                    if octets[5] == 10 + port and understood(octets).kind == kind
                ]
                found = [
                    octets
                    for octets in bench.received[port]
                    if octets[11] == origin and understood(octets).kind == kind
                ]
                assert found == wanted, (port, origin, kind)
    assert sum(map(len, bench.received.values())) == sum(map(len, bench.sent.values()))
    assert await bench.windows.get(0, SWITCH, "unroutable") == foreign
    for port in range(PORTS):
        lost = await bench.windows.get(port_base(port), SWITCH_PORT, "frames_lost")
        overrun = await bench.windows.get(port_base(port), SWITCH_PORT, "overrun")
        sent = await bench.windows.get(port_base(port), SWITCH_PORT, "sent_frames")
        octets = await bench.windows.get(port_base(port), SWITCH_PORT, "sent_octets")
        assert (lost, overrun, sent) == (0, 0, len(bench.received[port]))
        assert octets == sum(map(len, bench.received[port]))


async def events_of(dut: Any, events: list[tuple[int, int]]) -> None:
    while True:
        await FallingEdge(dut.clk)
        if dut.event_valid.value == 1:
            events.append((int(dut.event_length.value), int(dut.event_queue.value)))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_are_the_kernels_and_reach_their_source(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED + 1)
    capacity = 9_000
    await bench.begin(capacity=capacity, gain=2 * 10**9 * CLOCK_PS)
    base = port_base(2) + 0x1000
    settings = {"set_point": 2_000, "weight": 2, "seed": 77, "jitter_on": 1}
    scaled = {f"interval_{k}": octets // 150 for k, octets in enumerate(SAMPLE_INTERVALS)}
    await bench.windows.set(base, QCN_CP, **settings, **scaled)
    await bench.windows.control(base, ENABLE | CLEAR)
    events: list[tuple[int, int]] = []
    cocotb.start_soon(events_of(dut, events))
    for number in range(70):
        for port in (0, 1):
            await bench.send(port, bench.frame(port, 2, number))
    await bench.quiet()
    kernel = KernelDriver(KERNEL)
    kernel.state["lfsr"] = 77
    kernel.params["set_point"], kernel.params["weight"] = 2_000, 2
    kernel.params["sample_base"], kernel.params["jitter"] = 1_000, 1
    wanted = []
    for length, queue in events:
        kernel.frame["length"] = length
        kernel.entity["bytes"], kernel.entity["capacity"] = queue, capacity
        if kernel.call("arrival", 0):
            wanted.append(tuple(int(kernel.message[k][0]) for k in ("feedback", "offset", "delta")))
    told = [o for port in (0, 1) for o in bench.received[port] if understood(o).kind == CNM]
    assert len(wanted) >= 12
    assert len(told) == len(wanted)
    found = []
    for octets in told:
        message = understood(octets)
        assert message.source == OF_PORT + 2
        assert message.destination in (0, 1)
        assert octets in bench.received[int(message.destination)]
        found.append(int(message.feedback))
    assert sorted(found) == sorted(feedback for feedback, _, _ in wanted)
    for port in (0, 1):  # each source hears its own in order
        mine = [int(understood(o).feedback) for o in bench.received[port]]
        rest = iter(feedback for feedback, _, _ in wanted)
        assert all(any(value == one for one in rest) for value in mine)
    lost = await bench.windows.get(port_base(2), SWITCH_PORT, "frames_lost")
    assert len(bench.received[2]) + lost == 140
    assert await bench.windows.get(base, QCN_CP, "messages") == len(wanted)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_full_queue_stops_the_other_ports_and_lets_them_go(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED + 2)
    await bench.begin(gain=10**9 * CLOCK_PS)
    await bench.windows.set(
        port_base(2),
        SWITCH_PORT,
        pause_high=1_500,
        pause_low=500,
        pause_quanta=65_535,
        pause_quantum=51_200,
        pause_on=1,
    )
    for number in range(30):
        await bench.send(0, bench.frame(0, 2, number))
    await bench.quiet()
    for port, octets in bench.received.items():
        pauses = [understood(o) for o in octets if understood(o).kind == PAUSE]
        if port == 2:
            assert pauses == []
            continue
        assert [int(p.feedback) for p in pauses] == [65_535, 0]
        assert {int(p.source) for p in pauses} == {OF_PORT + port}
    assert await bench.windows.get(port_base(2), SWITCH_PORT, "pause_asked") == 4

    # and what is told to stop does so: only PAUSE gets through meanwhile
    base = port_base(1)
    await bench.windows.set(base, SWITCH_PORT, quantum=64_000)
    stop = written(descriptor(kind=PAUSE, length=60, source=1, feedback=100))
    await bench.sources[1].send(AxiStreamFrame(stop))
    for _ in range(100):
        await FallingEdge(dut.clk)
    before = len(bench.received[1])
    await bench.send(0, bench.frame(0, 1, 99))
    for _ in range(600):
        await FallingEdge(dut.clk)
    assert len(bench.received[1]) == before  # 100 quanta of 8 clocks each
    await bench.quiet(600)
    assert bench.received[1][-1] == bench.sent[0][-1]
    paused = await bench.windows.get(base, SWITCH_PORT, "paused_clocks")
    assert abs(paused - 800) <= 2
