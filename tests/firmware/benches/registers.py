"""A generated decode against its declaration: every word, over AXI-Lite with pauses."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from firmware.registers import register_map as at
from firmware.registers.register_map import Register, RegisterMap
from firmware.registers.register_maps import MAPS
from tests.firmware.benches.clocking import start

MASK = (1 << 32) - 1


class Host:
    """32-bit accesses through the slave's five channels, with random pauses on each."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self._pause(AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst), rng)

    @classmethod
    def through(cls, master: AxiLiteMaster, rng: random.Random) -> Host:
        """The accesses of a master that has other names, clocks or resets."""
        host = cls.__new__(cls)
        host._pause(master, rng)
        return host

    def _pause(self, master: AxiLiteMaster, rng: random.Random) -> None:
        self.master = master
        for interface in (master.write_if, master.read_if):
            interface.log.setLevel("WARNING")
        channels = self.master.write_if, self.master.read_if
        for channel in (
            channels[0].aw_channel,
            channels[0].w_channel,
            channels[0].b_channel,
            channels[1].ar_channel,
            channels[1].r_channel,
        ):
            channel.set_pause_generator(rng.random() < 0.3 for _ in iter(int, 1))

    async def read(self, address: int) -> int:
        return int.from_bytes((await self.master.read(address, 4)).data, "little")

    async def write(self, address: int, value: int) -> None:
        await self.master.write(address, value.to_bytes(4, "little"))


class Model:
    """What the declaration says the words hold."""

    def __init__(self, dut: Any, map_: RegisterMap) -> None:
        self.dut, self.map = dut, map_
        self.values = {r.name: r.reset for r in map_.registers if r.writable}
        self.low: dict[str, int] = {}
        self.held: dict[str, int] = {}
        self.enable = 0
        self.words: dict[int, tuple[Register, int]] = {
            r.offset + at.WORD * word: (r, word) for r in map_.registers for word in range(r.words)
        }

    def write(self, address: int, value: int) -> None:
        if address == at.CONTROL:
            self.enable = value & 1
            if value >> at.SNAPSHOT_BIT & 1:
                self.held = {r.name: self.input(r) for r in self.map.registers}
            return
        register, word = self.words.get(address, (None, 0))
        if register is None or not register.writable:
            return
        if register.words == 2 and word == 0:
            self.low[register.name] = value
            return
        whole = value << 32 | self.low[register.name] if register.words == 2 else value
        self.values[register.name] = whole & (1 << register.width) - 1

    def input(self, register: Register) -> int:
        return int(getattr(self.dut, register.name).value)

    def read(self, address: int) -> int:
        fixed = {
            at.ID: self.map.identity,
            at.VERSION: self.map.version,
            at.CONTROL: self.enable,
            at.STATUS: int(self.dut.is_idle.value),
            at.NEXT: 0,
            at.CAPS: 0,
            at.CLK_HZ: 125_000_000,
        }
        if address in fixed:
            return fixed[address]
        register, word = self.words.get(address, (None, 0))
        if register is None:
            return 0
        if register.access == "counter":
            value = self.held.get(register.name, 0)
        elif register.access == "ro":
            value = self.input(register)
        else:
            value = self.values[register.name]
        return value >> 32 * word & MASK


async def count_pulses(dut: Any, signal: Any, counts: dict[str, int]) -> None:
    """Counts the clocks in which a signal is 1."""
    while True:
        await FallingEdge(dut.clk)
        counts[signal._name] = counts.get(signal._name, 0) + int(signal.value)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_window_is_as_declared(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    map_ = next(m for m in MAPS if dut._name.startswith(f"{m.module}_registers"))
    inputs = {r.name: 0 for r in map_.registers if not r.writable}
    host = Host(dut, rng)
    await start(dut, is_idle=0, **inputs)
    model = Model(dut, map_)
    pulses: dict[str, int] = {}
    commands = [r.name for r in map_.registers if r.access == "command"]
    for name in ("clear", "snapshot", *(f"{command}_written" for command in commands)):
        cocotb.start_soon(count_pulses(dut, getattr(dut, name), pulses))
    await host.write(at.CONTROL, 1 << at.SNAPSHOT_BIT)
    model.write(at.CONTROL, 1 << at.SNAPSHOT_BIT)
    listed = {*range(0, at.COUNTERS + 0x80, 4), *model.words, at.WINDOW - 4}
    for address in sorted(listed | {4 * rng.randrange(1024) for _ in range(60)}):
        expected = model.read(address)
        assert await host.read(address) == expected, f"{address:#x} after reset"
    wanted = {"clear": 0, "snapshot": 1} | {f"{command}_written": 0 for command in commands}
    for _ in range(100):
        for register in map_.registers:
            if not register.writable:
                getattr(dut, register.name).value = rng.getrandbits(register.width)
        dut.is_idle.value = rng.randrange(2)
        await FallingEdge(dut.clk)
        register = rng.choice(map_.registers)
        places = [register.offset + at.WORD * word for word in range(register.words)]
        places = rng.choice([places, places, [at.CONTROL], [4 * rng.randrange(1024)]])
        for address in places:
            if address in model.words and address not in places[:1] and len(places) == 1:
                continue
            first, word = model.words.get(address, (None, 0))
            if first and first.words == 2 and word == 1 and first.name not in model.low:
                continue  # nobody writes a high half alone; what it would take is not defined
            value = rng.getrandbits(32)
            await host.write(address, value)
            model.write(address, value)
            if address == at.CONTROL:
                wanted["clear"] += value >> at.CLEAR_BIT & 1
                wanted["snapshot"] += value >> at.SNAPSHOT_BIT & 1
            if first and first.access == "command" and word == first.words - 1:
                wanted[f"{first.name}_written"] += 1
        for name, value in model.values.items():
            assert int(getattr(dut, name).value) == value, name
        for address in (*places, 4 * rng.randrange(1024), rng.choice(list(model.words))):
            assert await host.read(address) == model.read(address), f"{address:#x}"
    assert pulses == wanted


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_partial_write_changes_nothing(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    host = Host(dut, rng)
    await start(dut)
    before = await host.read(at.CONFIGURATION)
    answer = await host.master.write(at.CONFIGURATION + 1, b"\xff")
    assert int(answer.resp) == 2  # SLVERR
    assert await host.read(at.CONFIGURATION) == before
