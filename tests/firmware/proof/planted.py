"""Faults in kernels and in Verilog: a text that is replaced, and by what."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import types
import unittest.mock
from dataclasses import dataclass
from pathlib import Path

from orchestrator.algorithm import Algorithm
from orchestrator.registry import Registry

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Fault:
    """In a kernel: of which algorithm, in which file."""

    kind: str
    algorithm: str
    file: str
    was: str
    becomes: str
    number: int
    defined: str = ""
    """The file that has the algorithm, where that is another one."""


def _faults(kind: str, algorithm: str, file: str, *pairs: tuple[str, str]) -> list[Fault]:
    return [Fault(kind, algorithm, file, *pair, number) for number, pair in enumerate(pairs)]


KERNELS = [
    *_faults(
        "reaction_point",
        "bcn-rp",
        "plugins/bcn.py",
        ("MAX_FRACTION = 900_000", "MAX_FRACTION = 1_000_000"),
        ("// params.gd_den\n", "* 10**6 // params.gd_den\n"),
        ("max(params.gd_den - params.gd_num * frame.feedback, 0)", "(params.gd_den << 44)"),
        ("now + params.time_reset", "now * params.time_reset"),
    ),
    *_faults(
        "congestion_point",
        "bcn-cp",
        "plugins/bcn.py",
        ("HIGHEST * above // params.threshold", "HIGHEST * above // (params.threshold - 64)"),
        ("HIGHEST * above // params.threshold", "(above << 40) // params.threshold"),
        ("queue.bytes - state.old", "queue.bytes % (state.old - 7)"),
    ),
    *_faults(
        "congestion_point",
        "csig",
        "plugins/csig.py",
        ("min(max(queue.bytes_out - state.sent, 0), MOST_OCTETS)", "queue.bytes_out - state.sent"),
        ("((now - state.since) // MILLION)", "((now - state.since) // MILLION - 1)"),
        ("max(rate >> halves, 1)", "(rate - left)"),
        ("1 if rate > MOST_RATE else 0", "0"),
        ("MILLION = 10**6", "MILLION = 10**8"),
        ("(now - frame.entered) // KILO", "(now - frame.entered) // queue.frames"),
    ),
    *_faults(
        "delay_line",
        "lossy-delay",
        "plugins/lossy_link.py",
        ("RatioLimit(10**9)", "RatioLimit(10**10)"),
        ("params.loss_rate_num << 32", "params.loss_rate_num << 62"),
        ("return LOST", "return 1 >> (port.delay - 1)"),
        ("return port.delay", "return port.delay << frame.length"),
    ),
    *_faults(
        "congestion_point",
        "red",
        "plugins/red_marking.py",
        ("// (high - low)", "// (high - queue.bytes)"),
        ("DRAW_BITS = 20", "DRAW_BITS = 38"),
        ("* num // den", "<< high"),
    ),
    *_faults(
        "congestion_point",
        "scripted-cnm",
        "plugins/scripted_cnm.py",
        ('le=10**12, description="interval between', 'le=10**15, description="interval between'),
        ("state.sent * params.feedback_step", "(state.sent << 50) * params.feedback_step"),
    ),
    *_faults(
        "pause",
        "scripted-pause",
        "plugins/scripted_pause.py",
        ('le=10**12, description="interval between', 'le=10**15, description="interval between'),
        ("state.sent * params.interval", "(state.sent << 55) + params.interval"),
        ("state.sent += 1", "state.sent += params.count"),
    ),
    *_faults(
        "pause",
        "pause",
        "plugins/pause.py",
        ("now + quanta_time(", "now * quanta_time("),
        ("quanta_time(params.quanta, queue.pause_rate)", "(params.quanta << 50)"),
        ("// 2\n", "// (queue.bytes - 77)\n"),
        (
            "message.feedback = params.quanta",
            "message.feedback = params.quanta << (queue.bytes & 127)",
        ),
        ("queue.bytes <= params.high", "queue.bytes * params.high * params.high > params.low"),
    ),
    *_faults(
        "congestion_point",
        "priority-demotion",
        "plugins/priority_demotion.py",
        ("queue.bytes + frame.length", "(queue.bytes << 34) + frame.length"),
        ("queue.bytes + frame.length", "queue.bytes // frame.length"),
        ("LANE + params.priority", "LANE << (params.priority * 10)"),
    ),
    # what was mended because a proof refuted it, planted back
    *_faults(
        "reaction_point",
        "swift",
        "plugins/swift.py",
        ("mul_div(limiter.window, num, den)", "(limiter.window * num // den)"),
        ("FixedRatio = Annotated[Ratio, RatioLimit(1_000_000)]", "FixedRatio = Ratio"),
    ),
    *_faults(
        "congestion_point",
        "fecn-cp",
        "plugins/fecn_cp.py",
        ("_room(params.interval // 1000, capacity // 1000)", "params.interval * capacity"),
        ("scaled(rate >> 4, step, UNIT_BITS - 4)", "((rate >> 4) * step >> (UNIT_BITS - 4))"),
    ),
    *_faults(
        "congestion_point",
        "codel",
        "plugins/codel.py",
        ("min(max(count, 1), 1 << 20)", "min(count, 1 << 20)"),
    ),
    *_faults(
        "congestion_point",
        "pie",
        "plugins/pie.py",
        ("min(now - frame.entered, LONGEST)", "(now - frame.entered)"),
    ),
    *_faults(
        "reaction_point",
        "newreno",
        "plugins/newreno.py",
        ("min(state.owed - limiter.window, limiter.window)", "state.owed - limiter.window"),
        ("min(limiter.window + params.segment, ENDLESS)", "limiter.window + params.segment"),
    ),
    *_faults(
        "reaction_point",
        "dctcp",
        "plugins/dctcp.py",
        ("min(state.marks + limiter.marked, ENDLESS)", "state.marks + limiter.marked"),
        ("min((state.marks << ALPHA_BITS) // state.seen, ALPHA_UNIT)", "(state.marks << 40)"),
    ),
    *_faults(
        "reaction_point",
        "cubic",
        "plugins/cubic.py",
        ("window = max(limiter.window, 1)", "window = limiter.window"),
        ("1000 // params.segment, MOST_MISSING)", "1000 // params.segment, 1 << 62)"),
    ),
    *_faults(
        "reaction_point",
        "timely",
        "plugins/timely.py",
        ("min(limiter.rtt, LONGEST)", "limiter.rtt"),
    ),
    *_faults(
        "reaction_point",
        "p4qcn-rp",
        "plugins/p4qcn_rp.py",
        ("RatioLimit(900_000)", "RatioLimit(9_000_000)"),
    ),
    *_faults(
        "traffic",
        "cbr",
        "traffic/cbr_source.py",
        ("min(state.carry - params.rate, params.rate)", "state.carry * params.rate"),
    ),
]

RARE = "a state within the bounds; no calls were found to lead to it"
UNTRIED = "refuted, or shown in a state within the bounds: not looked into"
UNREACHED = {
    ("bcn-cp", 2): "`old` is above the threshold, which is 64 at the least",
    ("scripted-cnm", 0): "so many messages with such an interval are longer than a run",
    ("scripted-pause", 0): "so many messages with such an interval are longer than a run",
    ("scripted-pause", 1): RARE,
    ("scripted-pause", 2): "`sent` is 0 or `count`",
    ("swift", 0): RARE,
    ("fecn-cp", 1): RARE,
    ("codel", 0): RARE,
    ("cubic", 0): "a flow's window is a segment at the least from `start` on",
    ("cubic", 1): RARE,
    ("dctcp", 0): UNTRIED,
    ("dctcp", 1): UNTRIED,
    ("cbr", 0): UNTRIED,
    ("newreno", 0): RARE,
    ("newreno", 1): RARE,
}
"""Those that are open: a call in a state within its bounds shows them, but no run is known."""

NOT_PROVED = [
    *_faults(
        "reaction_point",
        "swift",
        "plugins/swift.py",
        ("max(few - many, 1)", "(few - many)"),
    ),
    *_faults(
        "reaction_point",
        "hpcc",
        "plugins/hpcc.py",
        ("gap = min(gap, LONGEST_NS)", "gap = min(gap, LONGEST_NS << 2)"),
    ),
    *_faults(
        "reaction_point",
        "timely",
        "plugins/timely.py",
        ("RatioLimit(900_000)", "RatioLimit(10**9)"),
    ),
    *_faults(
        "receiver",
        "receiver-credits",
        "plugins/receiver_credits.py",
        ("took * params.link_share_den // params.link_share_num, NEVER", "took * 2000, NEVER"),
    ),
    *_faults(
        "traffic",
        "bernoulli",
        "traffic/bernoulli_source.py",
        (
            "min(gap + slot(state, flow.length, params.peak), NEVER)",
            "gap + slot(state, flow.length, params.peak)",
        ),
    ),
]
"""Of these no call is found that shows them; that they are not proved is what is asked."""


def with_fault(registry: Registry, fault: Fault) -> Algorithm:
    """The algorithm from a copy of its file in which the fault is."""
    text = (ROOT / fault.file).read_text()
    assert fault.was in text, fault
    name = f"planted_{fault.algorithm}_{Path(fault.file).stem}_{fault.number}".replace("-", "_")
    with tempfile.TemporaryDirectory(prefix="tailback-planted-") as folder:
        path = Path(folder) / f"{name}.py"
        path.write_text(text.replace(fault.was, fault.becomes))
        module = _loaded(name, path)
        _read_all(module)
        if fault.defined:
            real = ".".join(Path(fault.file).with_suffix("").parts)
            with unittest.mock.patch.dict(sys.modules, {real: module}):
                module = _loaded(f"{name}_defined", ROOT / fault.defined)
        for value in vars(module).values():
            if isinstance(value, Algorithm) and value.name == fault.algorithm:
                return value
    raise AssertionError(f"{fault.file} has no {fault.algorithm}")


def _read_all(module: types.ModuleType) -> None:
    """Have the text of its functions read while the file is there."""
    from firmware.proof.kernel_source import python_function, source_of

    for value in vars(module).values():
        code = getattr(python_function(value), "__code__", None)
        if code is not None and code.co_filename == module.__file__:
            source_of(python_function(value))


def _loaded(name: str, path: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


VERILOG = [
    ("lfsr_step", "lfsr_step.v", "32'h80200003", "32'h80200007"),
    ("lfsr_step", "lfsr_step.v", "at[0] ? MASK", "at[1] ? MASK"),
    ("lfsr_step", "lfsr_step.v", "step < 32 / STAGES", "step < 32 / STAGES - 1"),
    ("lfsr32", "lfsr32.v", "seed == 32'd0 ? 32'd1 : seed", "seed"),
    ("lfsr32", "lfsr32.v", "value <= 32'd1", "value <= 32'd2"),
    ("lfsr32", "lfsr32.v", "value <= next", "value <= next + 32'd1"),
    ("lfsr32", "lfsr32.v", "else if (draw)", "else"),
    ("multiply", "multiply.v", "left <= left - 1'b1;", "left <= left - 2'd2;"),
    ("multiply", "multiply.v", "high <= {A_W{1'b0}};", ""),
    ("multiply", "multiply.v", "next_high = sum[A_W:1]", "next_high = sum[A_W-1:0]"),
    ("multiply", "multiply.v", "next_low[0] ? {1'b0, by}", "next_low[1] ? {1'b0, by}"),
    ("divide", "divide.v", "trial >= {1'b0, by}", "trial > {1'b0, by}"),
    ("divide", "divide.v", "quotient <= dividend;", "quotient <= ~dividend;"),
    ("divide", "divide.v", "rest = trial[DIVISOR_W-1:0]", "rest = trial[DIVISOR_W-1:0] ^ 1"),
    ("divide", "divide.v", "left <= ROUNDS[COUNT_W-1:0]", "left <= ROUNDS[COUNT_W-1:0] - 1'b1"),
    ("divide", "divide.v", "remainder <= {DIVISOR_W{1'b0}};", "remainder <= divisor;"),
    ("octet_swap", "octet_swap.v", "OCTETS-1-octet", "octet"),
    ("octet_count", "octet_count.v", "{3'd0, s_tkeep[8*group + octet]}", "4'd1"),
    (
        "octet_count",
        "octet_count.v",
        "{3'd0, s_tkeep[8*group + octet]}",
        "{3'd0, s_tkeep[8*group]}",
    ),
    ("octet_count", "octet_count.v", "octet < 8", "octet < 7"),
    ("octet_count", "octet_count.v", "sum = 7'd0", "sum = 7'd1"),
    ("octet_count", "axis_slice.v", "second <= offered;", "second <= ~offered;"),
    ("octet_count", "axis_slice.v", "s_tready <= !second_full", "s_tready <= 1'b1"),
    ("pause_timer", "pause_timer.v", "now < until_ps", "now <= until_ps"),
    ("pause_timer", "pause_timer.v", "received_at <= now", "received_at <= now + 1"),
    ("pause_timer", "pause_timer.v", "{62{hold}}", "{62{!hold}}"),
    ("pause_timer", "pause_timer.v", "received_classes[i]", "received_classes[0]"),
    ("pause_timer", "pause_timer.v", "quanta[16*i +: 16] * quantum", "quanta[16*i +: 8] * quantum"),
    (
        "pause_timer",
        "pause_timer.v",
        "until_ps[62*i +: 62] <= 62'd0",
        "until_ps[62*i +: 62] <= 62'd1",
    ),
    ("ps_clock", "ps_clock.v", "carried - FULL", "carried"),
    ("ps_clock", "ps_clock.v", "now <= 62'd0", "now <= 62'd1"),
    ("ps_clock", "ps_clock.v", "carried >= FULL", "carried > FULL"),
    ("jitter", "jitter.v", "rest <= partial[3:0];", "rest <= partial[3:0] ^ 4'd1;"),
    ("jitter", "jitter.v", "width[BASE_W-1:1]}", "width[BASE_W-2:0]}"),
    ("jitter", "jitter.v", "left <= DIGITS[COUNT_W-1:0];", "left <= DIGITS[COUNT_W-1:0] - 1'b1;"),
    ("jitter", "jitter.v", "share = product[BASE_W+15:16]", "share = product[BASE_W+14:15]"),
    ("jitter", "multiply.v", "sum[0], next_low[B_W-1:1]", "sum[1], next_low[B_W-1:1]"),
    ("qcn_quantiser", "qcn_quantiser.v", "if (bit_index != 0)", "if (bit_index != 1)"),
    ("qcn_quantiser", "qcn_quantiser.v", "trial <= {limit, 5'd0}", "trial <= {limit, 5'd1}"),
    ("qcn_quantiser", "qcn_quantiser.v", "over <= to_limit[42]", "over <= !to_limit[42]"),
    ("qcn_quantiser", "qcn_quantiser.v", "if (raw[41])", "if (!raw[41])"),
    ("qcn_quantiser", "qcn_quantiser.v", "feedback[bit_index] <= 1'b1", "feedback[0] <= 1'b1"),
    ("qcn_sampler", "qcn_sampler.v", "reload_feedback[5:3] * 30", "reload_feedback[2:0] * 30"),
    ("qcn_sampler", "qcn_sampler.v", "if (left[32])", "if (left[31])"),
    ("qcn_sampler", "qcn_sampler.v", "state == DRAW && jitter_on", "state == DRAW"),
    ("qcn_sampler", "qcn_sampler.v", ".random(random[31:16])", ".random(random[15:0])"),
    (
        "pause_control",
        "pause_control.v",
        "event_queue > {2'd0, high}",
        "event_queue >= {2'd0, high}",
    ),
    ("pause_control", "pause_control.v", "timer_set && timer <= now", "timer_set && timer < now"),
    ("pause_control", "pause_control.v", "half <= whole[47:1]", "half <= whole[46:0]"),
    ("pause_control", "pause_control.v", "go ? 16'd0 : quanta", "go ? 16'd1 : quanta"),
    ("pause_control", "pause_control.v", "timer_set <= !go", "timer_set <= 1'b1"),
    ("qcn_cp", "qcn_cp.v", "old <= queue;", "old <= event_queue;"),
    ("qcn_cp", "qcn_cp.v", ".queue_bytes(queue)", ".queue_bytes(event_queue)"),
    ("qcn_cp", "qcn_cp.v", ".old(old),", ".old(queue),"),
    ("qcn_cp", "qcn_cp.v", "message_feedback != 6'd0", "message_feedback[5:1] != 5'd0"),
    ("qcn_cp", "qcn_cp.v", "sampling == HEAD ? FIRST", "sampling == HEAD ? THIS"),
    ("qcn_cp", "qcn_cp.v", "sampling == OCCUPANCY ? RANDOM", "sampling == OCCUPANCY ? FIRST"),
    (
        "qcn_cp",
        "qcn_cp.v",
        "(sampling == DEPARTURE) == event_departure",
        "(sampling == DEPARTURE) || !event_departure",
    ),
    ("qcn_cp", "qcn_cp.v", "counts_arriving || room", "room"),
    ("qcn_cp", "qcn_cp.v", "filled <= {1'b0, event_capacity}", "filled < {1'b0, event_capacity}"),
    ("qcn_cp", "qcn_cp.v", ".reload(quantised)", ".reload(message_valid)"),
    ("qcn_cp", "qcn_cp.v", ".reload_feedback(message_feedback)", ".reload_feedback(6'd0)"),
    (
        "qcn_cp",
        "qcn_cp.v",
        ".count_length(event_length)",
        ".count_length({1'b0, event_length[14:0]})",
    ),
    (
        "qcn_cp",
        "qcn_cp.v",
        "if (event_valid && event_ready)\n            queue",
        "if (event_valid)\n            queue",
    ),
]
"""Module, file, what is replaced, by what."""
VERILOG_SURVIVORS = {
    (
        "octet_count",
        "octet_count.v",
        "{3'd0, s_tkeep[8*group + octet]}",
        "4'd1",
    ): "open: refuted by "
    "the solver, but Icarus Verilog never enters an `always @*` that waits for nothing",
    (
        "qcn_quantiser",
        "qcn_quantiser.v",
        "over <= to_limit[42]",
        "over <= !to_limit[42]",
    ): "open: refuted where its one question is asked alone; among the others the "
    "steps of the solver are over before it has a run that shows it from outside",
    (
        "qcn_cp",
        "qcn_cp.v",
        "message_feedback != 6'd0",
        "message_feedback[5:1] != 5'd0",
    ): "open: a feedback of exactly 1 takes the solver more steps than a proof has",
}
"""Of those, what is not refuted, and why."""
