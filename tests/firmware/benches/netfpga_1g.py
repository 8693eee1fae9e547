"""netfpga_1g_datapath.v holds to NetFPGA 1G's queues: headers, octets in the top bits, ctrl."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from firmware.registers import register_map as at
from firmware.registers.register_maps import SWITCH, SWITCH_PORT
from orchestrator.engine.records import DATA
from tests.firmware.benches.clocking import drive
from tests.firmware.benches.streams import descriptor, written

HEADER = 0xFF
QUEUES = (0, 2, 4, 6, 1)
"""Of the switch's ports."""


async def request(dut: Any, address: int, value: int | None = None) -> int:
    """A register request, held until it is acknowledged; reads when there is no value."""
    drive(dut, reg_req=1, reg_rd_wr_L=int(value is None), reg_addr=address // 4)
    drive(dut, reg_wr_data=value or 0)
    for _ in range(100):
        await FallingEdge(dut.clk)
        if int(dut.reg_ack.value):
            break
    else:
        raise AssertionError(f"no answer at {address:#x}")
    read = int(dut.reg_rd_data.value) if value is None else 0
    drive(dut, reg_req=0)
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    return read


async def put(dut: Any, queue: int, octets: bytes) -> None:
    """A frame into an input queue: a header, which is not looked at, then its words."""
    words = [(HEADER, int.from_bytes(b"\0" * 6 + len(octets).to_bytes(2, "big"), "big"))]
    for place in range(0, len(octets), 8):
        part = octets[place : place + 8]
        last = place + 8 >= len(octets)
        words.append((0x80 >> len(part) - 1 if last else 0, int.from_bytes(part.ljust(8, b"\xa5"))))
    for ctrl, data in words:
        fields = {f"in_data_{queue}": data, f"in_ctrl_{queue}": ctrl, f"in_wr_{queue}": 1}
        drive(dut, **fields)
        await FallingEdge(dut.clk)
    drive(dut, **{f"in_wr_{queue}": 0})


async def take(dut: Any, rng: random.Random, queue: int, frames: list[tuple[int, bytes]]) -> None:
    """Frames that leave by a queue, each with its header; `out_rdy` now and then 0."""
    header, octets, ready = 0, b"", getattr(dut, f"out_rdy_{queue}")
    written_, ctrl, data = (getattr(dut, f"out_{name}_{queue}") for name in ("wr", "ctrl", "data"))
    begun = False
    while True:
        ready.value = int(rng.random() < 0.7)
        await FallingEdge(dut.clk)
        if not int(written_.value):
            continue
        if not begun:
            assert int(ctrl.value) == HEADER
            header, octets, begun = int(data.value), b"", True
            continue
        word, mark = int(data.value).to_bytes(8, "big"), int(ctrl.value)
        octets += word if mark == 0 else word[: 9 - mark.bit_length()]
        if mark:
            assert mark.bit_count() == 1
            frames.append((header, octets))
            begun = False


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_leave_as_the_output_queues_take_them(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    for queue in range(8):
        drive(dut, **{f"in_wr_{queue}": 0, f"out_rdy_{queue}": 1})
    drive(dut, reg_req=0, reset=1)

    cocotb.start_soon(Clock(dut.clk, 8, unit="ns").start())
    for _ in range(4):
        await FallingEdge(dut.clk)
    dut.reset.value = 0
    for _ in range(3):
        await FallingEdge(dut.clk)
    assert await request(dut, at.ID) == SWITCH.identity
    for port in range(len(QUEUES)):
        await request(dut, SWITCH["route_address"].offset, port)
        await request(dut, SWITCH["route"].offset, 1 << 8 | port)
        gain = 10**12 * 8000
        offset = 0x1000 * (1 + 2 * port) + SWITCH_PORT["gain"].offset
        await request(dut, offset, gain & 0xFFFF_FFFF)
        await request(dut, offset + 4, gain >> 32)
    await request(dut, at.CONTROL, 1 << at.ENABLE_BIT)
    left: dict[int, list[tuple[int, bytes]]] = {queue: [] for queue in QUEUES}
    for queue, frames in left.items():
        cocotb.start_soon(take(dut, rng, queue, frames))
    wanted: dict[int, list[tuple[int, bytes]]] = {queue: [] for queue in QUEUES}
    for number in range(16):
        port, to = rng.randrange(5), rng.randrange(5)
        length = 72 + number if number < 9 else rng.randrange(70, 300)
        octets = written(
            descriptor(kind=DATA, length=length, source=port, destination=to, sequence=number)
        )
        await put(dut, QUEUES[port], octets)
        header = 1 << 48 + QUEUES[to] | -(-length // 8) << 32 | QUEUES[port] << 16 | length
        wanted[QUEUES[to]].append((header, octets))
    for _ in range(3_000):
        await FallingEdge(dut.clk)
        if sum(map(len, left.values())) == 16:
            break
    assert left == wanted
    assert await request(dut, 0x1000 + at.ID) == SWITCH_PORT.identity
