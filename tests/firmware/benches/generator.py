"""packet_generator.v: the times of traffic.cbr_source and the octets of
orchestrator.engine.frames."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.algorithm import ENTITIES
from orchestrator.engine.node_api import BIT_PS
from orchestrator.engine.records import DATA
from tests.firmware.benches.clocking import drive, start
from tests.firmware.benches.delay import CLOCK_PS
from tests.firmware.benches.streams import descriptor, sink, written
from tests.plugins.kernel_driver import KernelDriver
from traffic.cbr_source import CBR


class Source(KernelDriver):
    """The kernel of the source; it has no random source."""

    def restart(self, rate: int, length: int) -> None:
        self.written[:] = 0
        self.params["rate"], self.entity["length"] = rate, length
        self.state["rate"], self.state["length"] = 1, 0


async def run_clock(dut: Any, begin: int) -> None:
    now = begin
    while True:
        await FallingEdge(dut.clk)
        now += CLOCK_PS
        dut.now.value = now


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_and_times_are_the_kernels(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    assert "length" in ENTITIES[CBR.kind].names
    kernel, receiver = Source(CBR), sink(dut, rng)
    begin = rng.randrange(1 << 50)
    await start(dut, enable=0, clear=0, now=begin, user=0)
    cocotb.start_soon(run_clock(dut, begin))
    sequence = 0
    for rate in (950_000_000, 333_333_333, 7, rng.randrange(3 * 10**8, 10**10)):
        length = rng.choice((70, 71, 1500, rng.randrange(70, 3000)))
        kernel.restart(rate, length)
        fields = {
            "source": rng.randrange(1 << 24),
            "destination": rng.randrange(1 << 24),
            "flow": rng.randrange(1 << 31),
        }
        priority, ecn = rng.randrange(8), rng.randrange(4)
        drive(
            dut,
            enable=1,
            whole=length * BIT_PS // rate,
            rest=length * BIT_PS % rate,
            rate=rate,
            length=length,
            priority_code=priority,
            ecn=ecn,
            **fields,
        )
        due = None
        for _ in range(1 if rate == 7 else 6):
            received = await receiver.recv()
            octets = bytes(received.tdata)
            created = int.from_bytes(octets[62:70], "big")
            assert due is None or created == due
            assert octets == written(
                descriptor(
                    kind=DATA,
                    length=length,
                    priority=priority,
                    mark=ecn,
                    sequence=sequence,
                    created=created,
                    **fields,
                )
            )
            sequence += 1
            due = created + kernel.call("next", created)
        await FallingEdge(dut.clk)
        drive(dut, enable=0)
        while True:  # a frame under way is finished
            await FallingEdge(dut.clk)
            if dut.m_tvalid.value == 0:
                break
        for _ in range(4):
            await FallingEdge(dut.clk)
        while not receiver.empty():
            receiver.recv_nowait()
        sequence = int(dut.sequence_number.value)
