"""qcn_nic.v: generators, the host's frames, limiters, PAUSE, all at once."""

from __future__ import annotations

import itertools
import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

from firmware.registers.register_maps import FLOW_SOURCES, NIC, QCN_RP, TOKEN_BUCKET
from orchestrator.engine.node_api import BIT_PS
from orchestrator.engine.records import CNM, DATA, PAUSE
from tests.firmware.benches.clocking import start
from tests.firmware.benches.streams import (
    descriptor,
    free,
    sink,
    source,
    written,
)
from tests.firmware.benches.switch import understood
from tests.firmware.benches.windows import CLEAR, ENABLE, Windows

CLOCK_PS = 8_000
FLOWS = 4
MESSAGES = 40
HOST_ADDRESS = 33
"""Address of host frames that no flow has."""


class Bench:
    """A NIC whose flow f has the address f and sends to 20 + f."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.wire_in, self.wire_out = source(dut, self.rng, "s"), sink(dut, self.rng, "m")
        self.host_in, self.host_out = source(dut, self.rng, "s_host"), sink(dut, self.rng, "m_host")
        self.windows = Windows(dut, self.rng)
        self.out: list[tuple[int, bytes]] = []
        self.frames: list[AxiStreamFrame] = []
        self.now = 0

    async def begin(self) -> None:
        await start(self.dut, now=0)
        await self.windows.control(0x1000, ENABLE | CLEAR)
        await self.windows.control(0x2000, ENABLE | CLEAR)
        await self.windows.control(0x3000, ENABLE | CLEAR)
        await self.windows.control(0, ENABLE | CLEAR)
        cocotb.start_soon(self._time())
        cocotb.start_soon(self._take())

    async def _time(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            self.now += CLOCK_PS
            self.dut.now.value = self.now

    async def _take(self) -> None:
        while True:
            frame = await self.wire_out.recv()
            self.frames.append(frame)
            self.out.append((self.now, bytes(frame.tdata)))

    async def flow(self, flow: int, rate: int, length: int, on: int, room: int = 4) -> None:
        await self.windows.set(
            0x3000,
            FLOW_SOURCES,
            index=flow,
            whole=length * BIT_PS // rate,
            rest=length * BIT_PS % rate,
            rate=rate,
            start=0,
            length=length,
            room=room,
            source=flow,
            destination=20 + flow,
            priority_code=flow,
            flow=100 + flow,
            commit=on * 3,
        )

    def of(self, flow: int) -> list[tuple[int, bytes]]:
        """Frames of a flow on the wire, with their times."""
        return [(time, octets) for time, octets in self.out if octets[11] == flow]

    async def wait(self, clocks: int) -> None:
        for _ in range(clocks):
            await FallingEdge(self.dut.clk)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_frame_passes_once_in_order_unchanged(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED)
    await bench.begin()
    lengths = {0: 70, 1: 71, 2: 300}
    for flow, length in lengths.items():
        await bench.flow(flow, 600_000_000, length, on=1)
    host = [
        written(
            descriptor(
                kind=DATA,
                length=bench.rng.randrange(70, 500),
                source=bench.rng.choice((3, HOST_ADDRESS)),
                destination=30,
                sequence=k,
            )
        )
        for k in range(60)
    ]
    inbound = [bench.rng.randbytes(bench.rng.randrange(60, 400)) for _ in range(60)]
    for mine, theirs in zip(host, inbound, strict=True):
        await bench.host_in.send(AxiStreamFrame(mine))
        await bench.wire_in.send(AxiStreamFrame(theirs))
    await bench.wait(10_000)
    received = [bytes(bench.host_out.recv_nowait().tdata) for _ in range(bench.host_out.count())]
    assert received == inbound
    assert [octets for _, octets in bench.out if octets[11] in (3, HOST_ADDRESS)] == host
    for flow, length in lengths.items():
        mine = bench.of(flow)
        assert len(mine) >= 15
        due = 0
        for number, (_, octets) in enumerate(mine):
            created = int.from_bytes(octets[62:70], "big")
            fields = {"source": flow, "destination": 20 + flow, "flow": 100 + flow}
            assert octets == written(
                descriptor(
                    kind=DATA,
                    length=length,
                    priority=flow,
                    sequence=number,
                    created=created,
                    **fields,
                )
            )
            assert created >= due
            due = created + length * BIT_PS // 600_000_000
    count = len(bench.out) + (not bench.wire_out.idle())
    assert abs(await bench.windows.get(0, NIC, "sent_frames") - count) <= 3


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_message_slows_down_its_flow_and_no_other(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED + 1)
    free(bench.wire_out)
    await bench.begin()
    await bench.windows.set(0x1000, QCN_RP, link_rate=1_000_000_000, min_rate=1_000_000)
    await bench.windows.set(0x2000, TOKEN_BUCKET, period=400_000, depth=3000 * 8 * 10**12)
    await bench.windows.control(0x1000, ENABLE | CLEAR)
    await bench.windows.control(0x2000, ENABLE | CLEAR)
    for flow in (0, 1):
        await bench.flow(flow, 400_000_000, 500, on=1)
    message = {"flow": 1, "source": 40, "destination": 1, "mark": 500, "inner": 21}
    for feedback in (63, 63, 63):
        octets = written(descriptor(kind=CNM, length=106, feedback=feedback, **message))
        await bench.wire_in.send(AxiStreamFrame(octets))
    foreign = written(descriptor(kind=CNM, length=106, feedback=5, **message | {"destination": 9}))
    await bench.wire_in.send(AxiStreamFrame(foreign))
    await bench.wait(2_500)
    begin = bench.now
    await bench.wait(18_000)
    await bench.windows.set(0, NIC, limiter_index=0)
    assert await bench.windows.get(0, NIC, "limiter_active") == 1
    assert await bench.windows.get(0, NIC, "limiter_feedback") == 3
    assert await bench.windows.get(0, NIC, "limiter_flow") == 1 << 16 | 1
    assert await bench.windows.get(0, NIC, "feedback_ignored") == 1
    rate = 10**9
    for _ in range(3):
        rate = max(rate * (128 - 63) // 128, rate // 2)
    assert await bench.windows.get(0, NIC, "limiter_rate") == rate
    seconds = (bench.now - begin) / 1e12
    octets = {f: sum(len(o) for t, o in bench.of(f) if t > begin) for f in (0, 1)}
    assert abs(octets[0] * 8 / seconds / 400e6 - 1) < 0.05
    assert abs(octets[1] * 8 / seconds / rate - 1) < 0.15


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def limiters_refill_in_the_phases_that_the_host_sets(dut: Any) -> None:
    """Each set while the buckets look round: a phase that finds them busy is not lost."""
    bench = Bench(dut, cocotb.RANDOM_SEED + 2)
    free(bench.wire_out)
    await bench.begin()
    period, phases = 4_000_000, {0: 500_000, 1: 2_500_000}
    await bench.windows.set(0x1000, QCN_RP, link_rate=1_000_000_000, min_rate=1_000_000)
    await bench.windows.set(0x2000, TOKEN_BUCKET, period=period, depth=3000 * BIT_PS)
    await bench.windows.control(0x1000, ENABLE | CLEAR)
    await bench.windows.control(0x2000, ENABLE | CLEAR)
    for limiter, phase in phases.items():
        await bench.windows.set(0x2000, TOKEN_BUCKET, phase_index=limiter, phase=phase)
    for flow in phases:
        await bench.flow(flow, 400_000_000, 100, on=1)
        message = {"flow": flow, "source": 40, "destination": flow, "mark": 500, "inner": 21}
        for _ in range(2):
            octets = written(descriptor(kind=CNM, length=106, feedback=63, **message))
            await bench.wire_in.send(AxiStreamFrame(octets))
    await bench.wait(2_000)
    begin = bench.now
    await bench.wait(5_000)
    for flow, phase in phases.items():
        # held back by the bucket, a frame starts some clocks behind a refill
        behind = [(t - phase) % period for t, _ in bench.of(flow) if t > begin]
        assert len(behind) >= 5
        assert max(behind) < 1_000_000, (flow, behind)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_in_one_go_are_all_obeyed(dut: Any) -> None:
    """A reaction point takes some 100 clocks for each, and none of a burst may be lost."""
    bench = Bench(dut, cocotb.RANDOM_SEED + 3)
    free(bench.wire_in)
    await bench.begin()
    await bench.flow(0, 400_000_000, 500, on=0)
    octets = written(
        descriptor(kind=CNM, length=106, feedback=1, source=40, destination=0, mark=500, inner=20)
    )
    for _ in range(MESSAGES):
        await bench.wire_in.send(AxiStreamFrame(octets))
    damaged = AxiStreamFrame(octets, tuser=1)
    await bench.wire_in.send(damaged)
    for _ in range(200 * MESSAGES):
        await bench.wait(1)
        if bench.wire_in.idle() and bench.host_out.count() > MESSAGES:
            break
    for _ in range(MESSAGES):  # no reaction point takes longer
        await bench.wait(150)
        if await bench.windows.get(0x1000, QCN_RP, "feedback_received") == MESSAGES:
            break
    assert await bench.windows.get(0x1000, QCN_RP, "feedback_received") == MESSAGES
    assert await bench.windows.get(0, NIC, "feedback_lost") == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def pause_silences_the_port_for_its_quanta(dut: Any) -> None:
    bench = Bench(dut, cocotb.RANDOM_SEED + 2)
    free(bench.wire_out)
    await bench.begin()
    await bench.windows.set(0, NIC, quantum=512_000)
    await bench.flow(0, 800_000_000, 100, on=1)
    await bench.wait(600)
    stop = written(descriptor(kind=PAUSE, length=60, source=40, feedback=30))
    free(bench.wire_in)
    await bench.wire_in.send(AxiStreamFrame(stop))
    await bench.wait(3_000)
    times = [time for time, _ in bench.out]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    quanta = 30 * 512_000
    assert quanta - 13 * 2 * CLOCK_PS <= max(gaps) <= quanta + 60 * CLOCK_PS + 100 * BIT_PS // 10**9
    assert sum(gap > quanta // 2 for gap in gaps) == 1
    paused = await bench.windows.get(0, NIC, "paused_clocks")
    assert abs(paused * CLOCK_PS - quanta) <= 2 * CLOCK_PS
    assert understood(bench.out[-1][1]).sequence == len(bench.out) - 1
