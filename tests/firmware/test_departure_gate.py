"""Gate behind a port's queue: frames leave, marked or dropped, as the simulator's port sends them.

The answers are scripted; the port, its queue, service rate and control frames are those of the
switch. Dropped frames take no time: the next one leaves in the same instant, before all others.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from firmware.verilog_modules import RTL
from tests.firmware.icarus_bench import printed_lines
from tests.firmware.test_arrival_gate import WORD, with_tos

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)
CLOCK_PS, RATE, FRAMES = 8_000, 2 * 10**9, 90
LONG, CONTROL = 600, b"\1"
"""Octets of the longest frames; what stands in octet 31 of control frames."""
CHANGED = ("departure_gate.v", "switch_port.v", "service_limiter.v", "tos_mark.v")
SOURCES = ("arrival_gate.v", "frame_fifo.v", "octet_count.v", "axis_slice.v", "frame_header.v")
SOURCES += ("pause_parse.v", "pause_generate.v", "pause_timer.v", "pause_control.v")
SOURCES += ("frame_sender.v", "octet_swap.v")
BENCH = """\
`timescale 1ns/1ns
`define KERNEL_POINT
module kernel_point (
    input wire clk, rst, clear, on, word_written, arrivals_on, pausing, ask_valid, left_valid,
    input wire message_waits,
    input wire [61:0] now, ask_came, left_entered, left_time,
    input wire [15:0] word_index, queue_frames, ask_length, left_length, left_frames,
    input wire [63:0] word, input wire [39:0] line_rate, service_rate,
    input wire [31:0] capacity, queue_octets, left_octets,
    input wire [671:0] ask_header, left_header,
    output wire [63:0] state_word, output reg verdict_valid, verdict_drop, verdict_marks,
    output reg [7:0] verdict_mark, output reg left_ready, left_verdict,
    output wire message_valid, message_head, output wire [5:0] message_feedback,
    output wire signed [32:0] message_offset, message_delta, output reg [671:0] event_header,
    output wire [15:0] event_length, output reg event_started, output wire [61:0] event_time
);
    integer answers, got, drop, marks, rest;
    reg [7:0] mark;
    reg [1:0] state;
    initial answers = $fopen("verdicts", "r");
    assign {state_word, message_valid, message_head, message_feedback, message_offset} = 0;
    assign {message_delta, event_length} = 0;
    assign event_time = left_time;
    always @(posedge clk) begin
        {verdict_valid, left_ready, left_verdict, event_started} <= 4'd0;
        if (rst || clear) state <= 0;
        else case (state)
            0: if (left_valid) begin
                got = $fscanf(answers, "%d %d %h %d", drop, marks, mark, rest);
                $display("l %0d %0d %0d %0d %0d", left_time, left_octets, left_frames, left_length,
                         left_entered);
                left_ready <= 1; event_started <= 1; event_header <= left_header; state <= 1;
            end else if (ask_valid) begin
                {verdict_valid, verdict_drop, verdict_marks} <= 3'b100; state <= 3;
            end
            1: begin
                rest = rest - 1;
                if (rest == 0) begin
                    left_verdict <= 1; verdict_drop <= drop; verdict_marks <= marks;
                    verdict_mark <= mark; state <= 3;
                end
            end
            default: state <= 0;
        endcase
    end
endmodule
module bench;
    reg clk = 0, rst = 1, valid = 0, last = 0, control = 0, ready = 1, clear = 0;
    reg [63:0] data = 0, now = 0;
    reg [7:0] keep = 0;
    wire [671:0] header;
    wire head_done, out_valid, out_last, frame_in, frame_out, hold, marked, dropped, late;
    wire [63:0] out_data;
    wire [7:0] out_keep;
    wire [31:0] octets;
    wire [15:0] out_length, sent_length;
    wire sent;
    integer in, got, a, b, due, seed;
    reg more;
    always #1 clk = !clk;
    switch_port #(.DATA_W(64), .WORDS(4096), .FRAMES(256)) port (
        .clk(clk), .rst(rst), .now(now[61:0]), .capacity(32'd100000), .gain(56'd{gain}),
        .quantum(32'd512000), .pause_on(1'b0), .pause_high(30'd0), .pause_low(30'd0),
        .pause_quanta(16'd0), .pause_quantum(32'd512000), .address(24'd1), .hold_port_valid(1'b0),
        .hold_port(1'b0), .cp_clear(clear), .cp_on(1'b1), .set_point(30'd0), .weight(7'd0),
        .intervals(240'd0), .sampling(2'd0), .counts_arriving(1'b0), .jitter_on(1'b0),
        .seed(32'd0), .searches(20'd0), .units(24'd0), .units_seed(32'd0), .word_written(1'b0),
        .word_index(16'd0), .word(64'd0), .arrivals_on(1'b0), .departures_on(1'b1),
        .line_rate(40'd0), .service_rate(40'd0), .patience(40'hFFFFFFFFFF), .gated(1'b1),
        .allowance(40'd{allowance}), .marked(marked), .dropped_leaving(dropped), .late(late),
        .bus_tdata(data), .bus_tkeep(keep), .bus_tlast(last), .bus_tuser(1'b0), .hold(hold),
        .data_valid(valid && !control), .control_valid(valid && control),
        .header_done(head_done), .header(header), .rx_tdata(64'd0), .rx_tkeep(8'd0),
        .rx_tvalid(1'b0), .rx_tlast(1'b0), .m_tdata(out_data), .m_tkeep(out_keep),
        .m_tvalid(out_valid), .m_tready(ready), .m_tlast(out_last), .message_ready(1'b0),
        .stop_ready(1'b0), .send_valid(1'b0), .send_quanta(16'd0), .queue_octets(octets),
        .frame_in(frame_in), .frame_out(frame_out), .frame_out_length(out_length), .sent(sent),
        .sent_length(sent_length)
    );
    frame_header #(.DATA_W(64), .HEADER(84)) watch (
        .clk(clk), .rst(rst), .tdata(data), .tkeep(keep), .tvalid(valid), .tlast(last),
        .frame_done(head_done), .header(header), .length()
    );
    always @(negedge clk) begin
        now = now + 64'd{clock};
        ready = $random(seed) % 4 != 0;        // at the coming edge
        clear = {clears} && port.asks && port.departure.length == 16'd300
                && $random(seed) % 4 == 0;
        #0.1;
        if (out_valid && ready) $display("o %0d %b %h", out_last, out_keep, out_data);
        if (frame_in) $display("i %0d %0d", now - 64'd{clock}, port.in_length);
        if (port.c_in) $display("c %0d", now - 64'd{clock});
        if (frame_out) $display("f %0d", out_length);
        if (sent) $display("s %0d", sent_length);
        if (marked) $display("marked");
        if (dropped) $display("dropped");
        if (late) $display("late");
    end
    initial begin
        seed = 3;
        in = $fopen("words", "r");
        repeat (3) @(negedge clk);
        rst = 0;
        repeat (3) @(negedge clk);
        more = 1;
        while (more) begin
            got = $fscanf(in, "%h %h %d %d %d", data, keep, a, b, due);
            more = got == 5;
            if (more) begin
                last = a; control = b; valid = 1; @(negedge clk); #0.1;
                valid = 0;
                repeat (due) @(negedge clk);
            end
        end
        repeat (8000) @(negedge clk);
        $display("q %0d", octets);
        $finish;
    end
endmodule
"""


@dataclass
class Observed:
    """What a run of the bench shows."""

    frames: list[bytes] = field(default_factory=list)
    left: list[tuple[int, ...]] = field(default_factory=list)
    """Of each frame that left the queue: time, octets and frames that stayed, length, entry."""
    came: list[tuple[int, ...]] = field(default_factory=list)
    control: list[int] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    octets: int = -1


def _frame(rng: random.Random, number: int, control: bool) -> bytes:
    frame = bytearray(rng.randbytes(rng.choice((70, 77, 300, LONG))))
    frame[12:20] = bytes.fromhex("8100000108004502")
    frame[30], frame[31] = number, control
    return bytes(with_tos(frame, 2))


def _run(folder: Path, changed: dict[str, str], clears: int = 0) -> tuple[list, Observed]:
    """Data frames with their answers (None: dropped), and what the port shows."""
    rng, words, verdicts, scripted = random.Random(8), list[str](), list[str](), []
    for number in range(FRAMES):
        control = number % 10 == 9
        frame = _frame(rng, number, control)
        # bursts, so that frames come while a dropped one is taken out; and a queue that empties
        gap = rng.choice((0, 0, 0, 30, 60)) + (1500 if number % 20 == 19 else 0)
        for at in range(0, len(frame), WORD):
            part = frame[at : at + WORD]
            last = at + WORD >= len(frame)
            keep, data = (1 << len(part)) - 1, int.from_bytes(part, "little")
            words.append(f"{data:016x} {keep:02x} {int(last)} {int(control)} {gap if last else 0}")
        if control:
            continue
        drops, marks, tos = int(rng.random() < 0.4), int(rng.random() < 0.5), rng.choice((3, 0x83))
        verdicts.append(f"{drops} {marks} {tos:02x} {rng.choice((2, 9, 40))}")
        marked = bytes(with_tos(bytearray(frame), tos)) if marks else frame
        scripted.append((frame, None if drops else marked))
    (folder / "words").write_text("\n".join(words) + "\n")
    (folder / "verdicts").write_text("\n".join(verdicts) + "\n")
    values = {"gain": RATE * CLOCK_PS, "clock": CLOCK_PS, "clears": clears, "allowance": 200_000}
    bench = BENCH
    for name, value in values.items():
        bench = bench.replace("{" + name + "}", str(value))
    (folder / "bench.v").write_text(bench)
    for name, text in changed.items():
        (folder / name).write_text(text)
    seen, frame = Observed(), b""
    for line in printed_lines(folder, ["bench.v", *changed, *(RTL / name for name in SOURCES)]):
        kind, *rest = line.split()
        if kind == "o" and "x" not in rest[2]:
            frame += int(rest[2], 16).to_bytes(WORD, "little")[: rest[1].count("1")]
            if rest[0] == "1":
                seen.frames, frame = [*seen.frames, frame], b""
        elif kind in "licfsq":
            assert "x" not in line, line
            numbers = tuple(map(int, rest))
            lists = {"l": seen.left, "i": seen.came}
            ones = {"c": seen.control, "f": seen.counted, "s": seen.started}
            if kind in lists:
                lists[kind].append(numbers)
            elif kind in ones:
                ones[kind].append(numbers[0])
            else:
                seen.octets = numbers[0]
        else:
            seen.events.append(kind)
    return scripted, seen


def _holds(scripted: list, seen: Observed) -> None:
    """Raise AssertionError where the port does not send as the simulator's."""
    data = [frame for frame in seen.frames if frame[31:32] != CONTROL]
    assert data == [sent for _, sent in scripted if sent is not None]
    drops = [sent is None for _, sent in scripted]
    lengths = [len(frame) for frame, _ in scripted]
    assert [length for *_, length, _ in seen.left] == lengths == [n for _, n in seen.came]
    assert seen.counted == [n for n, dropped in zip(lengths, drops, strict=True) if not dropped]
    assert sorted(seen.started) == sorted(map(len, seen.frames))
    assert seen.events.count("dropped") == sum(drops)
    assert seen.events.count("marked") == sum(s not in (None, f) for f, s in scripted)
    assert seen.octets == 0
    free = 0  # when the service rate lets the next frame go
    chains = paced = 0
    for k, (time, octets, frames, length, entered) in enumerate(seen.left):
        came = [n for at, n in seen.came if at < time]
        assert frames == len(came) - k - 1
        assert octets == sum(came) - sum(lengths[: k + 1])
        assert entered <= seen.came[k][0] <= entered + 2 * CLOCK_PS
        if k and drops[k - 1] and seen.left[k - 1][2] > 0:
            assert time == seen.left[k - 1][0]
            chains += 1
        assert time >= free - 2 * CLOCK_PS
        between = [at for at in seen.control if seen.left[k - 1][0] < at < time]
        if k and not drops[k - 1] and lengths[k - 1] == LONG and entered < free and not between:
            assert time <= free + 3 * CLOCK_PS  # that frame has left before its time is over
            paced += 1
        if not drops[k]:
            free = max(time, free) + length * 8 * 10**12 // RATE
    assert chains >= 5
    assert paced >= 3
    for at, (frame, sent) in zip([left[0] for left in seen.left], scripted, strict=True):
        if sent is not None:
            before = seen.frames[: seen.frames.index(sent)]
            late = [time for time in seen.control if time > at + 2 * CLOCK_PS]
            assert sum(one[31:32] == CONTROL for one in before) <= len(seen.control) - len(late), (
                frame[30]
            )
    assert "late" in seen.events  # a chain waits longer than its allowance


def _texts() -> dict[str, str]:
    return {name: (RTL / name).read_text() for name in CHANGED}


def test_frames_leave_as_the_simulator_sends_them(tmp_path: Path) -> None:
    _holds(*_run(tmp_path, _texts()))


def test_a_frame_goes_on_when_the_point_is_cleared(tmp_path: Path) -> None:
    scripted, seen = _run(tmp_path, _texts(), clears=1)
    assert seen.octets == 0
    assert len(seen.counted) + seen.events.count("dropped") == len(scripted)
    assert len(seen.left) <= len(scripted)
    stuck = _texts()
    text = stuck["departure_gate.v"]
    stuck["departure_gate.v"] = text.replace("asks && (clear ||", "asks && (0 ||")
    assert stuck["departure_gate.v"] != text
    assert _run(tmp_path, stuck, clears=1)[1].octets > 0


FAULTS = {
    "a dropped frame that is sent": ("s_tvalid && !asks && !draining", "s_tvalid && !asks"),
    "a frame that does not wait": ("s_tvalid && !asks && !draining", "s_tvalid && !draining"),
    "a drop that leaks": ("m_tlast) || ended)", "m_tlast))"),
    "lost back-pressure": ("draining || (m_tready && !asks)", "draining || !asks"),
    "a mark on the next frame": ("active <= marks && is_ipv4;", "active <= active || marks;"),
    "a mark of a dropped frame": ("answered && !verdict_drop && verdict_marks", "verdict_marks"),
    "a mark of 7 bits": ("tos <= mark;", "tos <= {1'b0, mark[6:0]};"),
    "another instant behind a drop": ("at = chained ? left_at : now;", "at = now;"),
    "what came meanwhile": ("chained ? octets - {16'd0, left_length} : left_octets", "left_octets"),
    "one frame too many": ("frames - 16'd1 : left_frames", "frames : left_frames"),
    "a chain without an end": ("chained <= frames != 16'd0;", "chained <= 1'b1;"),
    "a dropped frame that is charged": ("(d_go && !gate_on) || released;", "d_go;"),
    "a rate that forgets": ("!start && !keeps ? saved", "!start ? saved"),
    "a length of another frame": (
        "held_length : head_length), .open",
        "out_length : head_length), .open",
    ),
    "a counted length of another": ("released ? held_length : out_length;", "out_length;"),
    "a dropped frame that is counted": ("(out_valid && !asks) || released;", "out_valid;"),
    "a control frame between": ("!port_held && !chained;", "!port_held;"),
    "an entry before the queue": ("q_stamp = {now, q_header}", "q_stamp = {ask_came, q_header}"),
    "a late frame that is not counted": ("held_for > {22'd0, allowance}", "1'b0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    right, wrong = FAULTS[fault]
    texts = _texts()
    assert sum(right in text for text in texts.values()) == 1
    changed = {name: text.replace(right, wrong) for name, text in texts.items()}
    with pytest.raises(AssertionError):
        _holds(*_run(tmp_path, changed))
