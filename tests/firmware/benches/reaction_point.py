"""qcn_rp.v against the kernels of plugins.qcn_rp: the state of a limiter after every event."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, Timer

from orchestrator.engine.records import NEVER
from plugins.qcn_rp import QCN_RP
from tests.firmware.benches.clocking import drive, parameter, rarely_round, start, until
from tests.firmware.benches.drawn import examples
from tests.plugins.kernel_driver import KernelDriver

KINDS = ("feedback", "sent", "timer")
SEQUENCES = 40
EVENTS = 80
CLOCKS, MANY = 16_000, {"timer": 20, "feedback": 10, "released by timer": 4}
"""How long timers expire by themselves at least, and how many events there have to be."""
PORTS = {  # parameter of the kernel: port of the module
    "time_reset": "time_reset",
    "byte_reset": "byte_reset",
    "threshold": "threshold",
    "ai_rate": "ai_rate",
    "hai_rate": "hai_rate",
    "gd_num": "gd_num",
    "gd_den": "gd_den",
    "min_decrease_factor_num": "factor_num",
    "min_decrease_factor_den": "factor_den",
    "min_rate": "min_rate",
    "cap_target": "cap_target",
    "extra_fast_recovery": "extra_fast_recovery",
    "jitter": "jitter_on",
}
FIELDS = ("active", "rate", "target", "byte_stage", "timer_stage", "timer")
QUIET = {
    "clear": 0,
    "event_valid": 0,
    "seed_valid": 0,
    "scan_timers": 0,
    "update_ready": 1,
    "due_empty": 0,
    "now": 0,
    "link_rate": 10**9,
}


def _holder(kernel: KernelDriver, name: str) -> Any:
    """Where a field of a limiter lies: in its algorithm's state, or in the limiter itself."""
    return kernel.state if name in (QCN_RP.state.names or ()) else kernel.entity


class Limiters:
    """N kernels of their own behind one set of parameters, beside the module."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng, self.n = dut, rng, parameter("N")
        self.kernels = [KernelDriver(QCN_RP) for _ in range(self.n)]
        self.now, self.counts = 0, Counter[str]()
        self.modes = random.Random(self.n)
        """Draws apart, so that all others are what they would be without them."""

    def draw_params(self) -> dict[str, int]:
        """Parameters of ordinary size, or any that the registers may hold."""
        rng = self.rng
        gd_den, factor_den = rarely_round(rng, 16, 1), rarely_round(rng, 16, 1)
        params = {
            "time_reset": rng.randrange(10**6, 10**11),
            "byte_reset": rng.randrange(64, 20_000),
            "threshold": rng.randrange(1, 4),
            "ai_rate": rng.randrange(10**8),
            "hai_rate": rng.randrange(10**9),
            "gd_num": 1,
            "gd_den": rng.randrange(64, 256),
            "min_decrease_factor_num": rng.choice((0, 1, 2, 3, 4, 8)),  # 8: no cut at all
            "min_decrease_factor_den": 8,
            "min_rate": rng.randrange(1, 10**8),
            "cap_target": rng.randrange(2),
            "extra_fast_recovery": self.modes.randrange(2),
            "jitter": rng.randrange(2),
        }
        if rng.random() < 0.4:
            params |= {
                "time_reset": rarely_round(rng, 45),
                "byte_reset": rarely_round(rng, 40) if rng.random() < 0.3 else rng.randrange(2000),
                "threshold": rarely_round(rng, 16) if rng.random() < 0.3 else rng.randrange(3),
                "ai_rate": rarely_round(rng, 40),
                "hai_rate": rarely_round(rng, 40),
                "gd_num": rarely_round(rng, 16),
                "gd_den": gd_den,
                "min_decrease_factor_num": rng.randrange(factor_den + 1),
                "min_decrease_factor_den": factor_den,
                "min_rate": rarely_round(rng, 40),
            }
        return params

    async def begin(self) -> None:
        """New parameters; every limiter inactive with a seed of its own."""
        rng, dut = self.rng, self.dut
        params = self.draw_params()
        link_rate = rng.choice((10**9, 10**10, 10**11, 4 * 10**11, (1 << 40) - 1))
        drive(dut, **{port: params[name] for name, port in PORTS.items()})
        drive(dut, link_rate=link_rate, clear=1)
        await FallingEdge(dut.clk)
        drive(dut, clear=0)
        self.now = rng.randrange(10**12)
        drive(dut, now=self.now)
        for index, kernel in enumerate(self.kernels):
            kernel.written[:] = 0
            for name, value in params.items():
                kernel.params[name] = value
            for name in ("rate", "target", "link_rate"):
                kernel.entity[name] = link_rate
            kernel.entity["timer"] = NEVER
            seed = rarely_round(rng, 32, 1)
            kernel.state["lfsr"] = seed
            await until(dut, dut.ready_to_seed)
            drive(dut, seed_valid=1, seed_index=index, seed=seed)
            await FallingEdge(dut.clk)
            drive(dut, seed_valid=0, seed=0)
            await FallingEdge(dut.clk)
        await until(dut, dut.idle)

    def expected(self, index: int) -> dict[str, int]:
        """What a limiter's kernel state is now."""
        kernel = self.kernels[index]
        state = {name: int(_holder(kernel, name)[name][0]) for name in FIELDS}
        return state | {name: int(kernel.state[name][0]) for name in ("countdown", "lfsr")}

    def written(self) -> dict[str, int]:
        """The state that the module is writing."""
        dut = self.dut
        ports = {"lfsr": dut.write_random} | {
            name: getattr(dut, f"write_{name}") for name in FIELDS
        }
        state = {name: int(port.value) for name, port in ports.items()}
        return state | {"countdown": dut.write_countdown.value.to_signed()}

    def call(self, kind: str, index: int, at: int) -> None:
        """Run the event on the kernel, and count what it brought about."""
        kernel = self.kernels[index]
        before = self.expected(index)
        kernel.call(kind, at)
        after = self.expected(index)
        self.counts[kind] += 1
        self.counts["activated"] += before["active"] < after["active"]
        self.counts["released"] += before["active"] > after["active"]
        self.counts[f"released by {kind}"] += before["active"] > after["active"]
        at_once = not before["active"] and not after["active"] and before != after
        self.counts["released at once"] += at_once and kind == "feedback"
        self.counts["raised"] += before["rate"] < after["rate"]
        self.counts["cut"] += before["rate"] > after["rate"]
        stages = before["byte_stage"], before["timer_stage"]
        self.counts["hyper"] += min(stages) > int(kernel.params["threshold"][0])

    def is_active(self, index: int) -> bool:
        """Whether a limiter limits anything."""
        return int(self.kernels[index].entity["active"][0]) != 0

    async def event(self) -> None:
        """One event on a random limiter, as a node would meet it."""
        rng, dut = self.rng, self.dut
        index = rng.randrange(self.n) if rng.random() < 0.5 else 0
        kernel = self.kernels[index]
        kind = rng.choices(KINDS, (2, 8, 6))[0]
        if kind == "timer" and int(kernel.entity["timer"][0]) == NEVER:
            kind = "sent"
        if kind == "feedback" and rng.random() < 0.6:
            kind = "sent"
        at = int(kernel.entity["timer"][0]) if kind == "timer" else self.now
        kernel.frame["feedback"] = rng.randrange(64)
        kernel.frame["length"] = rng.choice((60, 1500, 9000, rng.randrange(1 << 16)))
        kernel.entity["backlog"] = rng.choice((0, 1500))
        before = self.expected(index)
        self.call(kind, index, at)
        after = self.expected(index)
        drive(
            dut,
            event_valid=1,
            event_kind=KINDS.index(kind),
            event_index=index,
            event_feedback=int(kernel.frame["feedback"][0]),
            event_length=int(kernel.frame["length"][0]),
            event_empty=int(kernel.entity["backlog"][0] == 0),
            event_now=at,
        )
        await until(dut, dut.event_ready)
        await FallingEdge(dut.clk)
        drive(dut, event_valid=0)
        stall = rng.randrange(4)
        written, update = None, None
        for clock in range(300):
            dut.update_ready.value = clock >= stall
            await FallingEdge(dut.clk)
            if dut.write_valid.value == 1:
                assert int(dut.write_index.value) == index
                written = self.written()
            if dut.update_valid.value == 1:
                update = [
                    int(port.value)
                    for port in (dut.update_index, dut.update_active, dut.update_rate)
                ]
            if dut.idle.value == 1 and clock > stall:
                break
        assert written == after or (written is None and before == after), (kind, before)
        if (before["active"], before["rate"]) != (after["active"], after["rate"]):
            assert update == [index, after["active"], after["rate"]]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_event_equals_the_kernels(dut: Any) -> None:
    await start(dut, **QUIET)
    limiters = Limiters(dut, random.Random(cocotb.RANDOM_SEED))

    async def sequence(rng: random.Random) -> None:
        limiters.rng = rng
        await limiters.begin()
        for _ in range(rng.randrange(1, EVENTS + 1)):
            limiters.now += rng.randrange(10**10)
            await limiters.event()

    await examples(dut, cocotb.RANDOM_SEED, SEQUENCES, QUIET, sequence)
    dut._log.info("%s", dict(limiters.counts))
    for kind in (*KINDS, "activated", "released", "raised", "cut", "hyper"):
        assert limiters.counts[kind] >= 8, limiters.counts
    assert limiters.counts["released by timer"] >= 3, limiters.counts


async def keep_written(limiters: Limiters, states: dict[int, dict[str, int]]) -> None:
    """The state that the module wrote last for each limiter."""
    dut = limiters.dut
    while True:
        await FallingEdge(dut.clk)
        if dut.write_valid.value == 1:
            states[int(dut.write_index.value)] = limiters.written()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def events_in_a_row_equal_the_kernels(dut: Any) -> None:
    """Bursts without a pause: what is under way must see what the event before it wrote."""
    await start(dut, **QUIET)
    limiters = Limiters(dut, random.Random(cocotb.RANDOM_SEED))
    rng = limiters.rng
    states: dict[int, dict[str, int]] = {}
    cocotb.start_soon(keep_written(limiters, states))
    for _ in range(20):
        await limiters.begin()
        for _ in range(12):
            limiters.now += rng.randrange(10**10)
            # each has to have many: dozens would share what makes one rise and be released
            few = rng.sample(range(limiters.n), rng.randrange(1, 5))
            for _ in range(rng.randrange(1, 20)):
                index, kind = rng.choice(few), rng.choices(KINDS, (1, 8, 3))[0]
                kernel = limiters.kernels[index]
                if kind == "timer" and int(kernel.entity["timer"][0]) == NEVER:
                    kind = "feedback"
                at = int(kernel.entity["timer"][0]) if kind == "timer" else limiters.now
                kernel.frame["feedback"] = rng.randrange(64)
                kernel.frame["length"] = rng.choice((60, 1500, 9000))
                kernel.entity["backlog"] = rng.choice((0, 1500, 1500, 1500))
                drive(
                    dut,
                    event_valid=1,
                    event_kind=KINDS.index(kind),
                    event_index=index,
                    event_feedback=int(kernel.frame["feedback"][0]),
                    event_length=int(kernel.frame["length"][0]),
                    event_empty=int(kernel.entity["backlog"][0] == 0),
                    event_now=at,
                )
                await until(dut, dut.event_ready)
                await FallingEdge(dut.clk)
                limiters.call(kind, index, at)
            drive(dut, event_valid=0)
            await until(dut, dut.idle)
            await FallingEdge(dut.clk)
            await FallingEdge(dut.clk)
            for index, state in states.items():
                assert state == limiters.expected(index)
    assert min(limiters.counts[kind] for kind in (*KINDS, "released", "raised", "cut")) >= 25


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def timers_expire_by_themselves(dut: Any) -> None:
    """The scan finds each timer once it is due; the kernels follow in the module's order."""
    await start(dut, **QUIET)
    limiters = Limiters(dut, random.Random(cocotb.RANDOM_SEED))
    rng = limiters.rng
    await limiters.begin()
    sizes = {"time_reset": 8_000_000, "byte_reset": 10**6, "threshold": 1, "ai_rate": 10**12}
    drive(dut, jitter_on=1, scan_timers=1, **sizes)
    for number, kernel in enumerate(limiters.kernels):
        for name, value in (sizes | {"jitter": 1}).items():
            kernel.params[name] = value
        kernel.entity["backlog"] = number % 2  # behind every other limiter nothing waits
    asked: tuple[str, int] | None = None
    taken: list[tuple[str, int, int]] = []
    latest = 0
    drive(dut, update_ready=1)
    for clock in range(4 * CLOCKS):
        if clock >= CLOCKS and all(limiters.counts[kind] >= least for kind, least in MANY.items()):
            break  # how soon events are taken hangs on where the scan stood when all began
        limiters.now += 8000
        drive(dut, now=limiters.now)
        if asked is None and not taken and rng.random() < 0.02:
            index = rng.randrange(limiters.n)
            kernel = limiters.kernels[index]
            kind = "feedback" if int(kernel.entity["active"][0]) == 0 else rng.choice(KINDS[:2])
            feedback = rng.randrange(1, 64)
            kernel.frame["feedback"], kernel.frame["length"] = feedback, 1500
            drive(
                dut,
                event_valid=1,
                event_kind=KINDS.index(kind),
                event_index=index,
                event_feedback=feedback,
                event_length=1500,
                event_empty=1 - index % 2,
            )
            asked = kind, index
        drive(dut, event_now=limiters.now)
        dut.due_empty.value = 1 - int(dut.due_index.value) % 2
        await Timer(1, "ns")  # an event is taken at the next rising edge if it can be by then
        if asked is not None and dut.event_ready.value == 1:
            taken.append((*asked, limiters.now))
            asked = None
        await FallingEdge(dut.clk)
        if asked is None:
            drive(dut, event_valid=0)
        if dut.write_valid.value == 1:
            kind, index = KINDS[int(dut.write_kind.value)], int(dut.write_index.value)
            if kind == "timer":
                at = int(limiters.kernels[index].entity["timer"][0])
                assert at <= limiters.now
                latest = max(latest, limiters.now - at)
            else:
                *wanted, at = taken.pop(0)
                assert wanted == [kind, index]
            limiters.call(kind, index, at)
            assert limiters.written() == limiters.expected(index)
        # a frame that leaves a limiter which a timer has released meanwhile is not written
        taken = [one for one in taken if one[0] == "feedback" or limiters.is_active(one[1])]
    dut._log.info("%s, at most %d clocks late", dict(limiters.counts), latest // 8000)
    for kind, least in MANY.items():
        assert limiters.counts[kind] >= least, limiters.counts
    assert latest <= 8000 * 200 * (limiters.n + 1)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def counting_events_pass_one_per_clock(dut: Any) -> None:
    await start(dut, **QUIET)
    limiters = Limiters(dut, random.Random(cocotb.RANDOM_SEED))
    await limiters.begin()
    drive(dut, byte_reset=10**9, gd_num=1, gd_den=128, event_now=0)
    drive(dut, event_valid=1, event_kind=0, event_index=0, event_feedback=10, event_empty=0)
    await FallingEdge(dut.clk)
    drive(dut, event_valid=0)
    await FallingEdge(dut.clk)
    await until(dut, dut.idle)
    drive(dut, event_valid=1, event_kind=1, event_index=0, event_length=100)
    for _ in range(100):
        assert dut.event_ready.value == 1
        await FallingEdge(dut.clk)
    drive(dut, event_valid=0)
    await until(dut, dut.idle)
    await FallingEdge(dut.clk)
    assert dut.write_countdown.value.to_signed() == 10**9 - 100 * 100
