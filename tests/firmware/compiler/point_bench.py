"""Bench of a congestion point's shell in Icarus Verilog, and its kernels as the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from firmware.compiler.form_interpreter import Cell, Interpreter
from firmware.compiler.kernel_lowering import lower_kernel
from firmware.compiler.point_shell import STATE_WORD, PointShell
from firmware.verilog_modules import RTL
from orchestrator.algorithm import Algorithm
from orchestrator.engine.kernel_answers import DROP, NOTIFY_ARRIVING, NOTIFY_HEAD
from orchestrator.engine.records import NEVER, SOONEST
from tests.firmware.icarus_bench import printed_lines

ARRIVAL, DEPARTURE, WAIT = range(3)
VERDICTS = ("arrival", "departure")
"""Events at which a frame waits for its answer; their lines begin with the first letter."""
CAPACITY, LINE_RATE, SERVICE_RATE = 150_000, 10**9, 5 * 10**8
MASK = (1 << 64) - 1
BENCH = """\
`timescale 1ns/1ns
module bench;
    reg clk = 0, rst = 1, clear = 0, word_written = 0, ask = 0, left = 0;
    reg [61:0] now = 0, entered = 0;
    reg [15:0] index, length, frames;
    reg [63:0] word, a, b;
    reg [31:0] octets;
    reg [671:0] header = 0;
    wire [63:0] state_word;
    wire verdict, left_verdict, drop, marks, left_ready, message, head, started;
    wire [7:0] mark;
    wire [5:0] feedback;
    wire signed [32:0] offset, delta;
    integer file, got, kind, clocks, rest;
    always #1 clk = !clk;
    kernel_point point (
        .clk(clk), .rst(rst), .clear(clear), .on(1'b1), .now(now), .word_written(word_written),
        .word_index(index), .word(word), .state_word(state_word), .arrivals_on(1'b1),
        .line_rate(40'd{line}), .service_rate(40'd{service}), .capacity(32'd{capacity}),
        .pausing(1'b0), .queue_octets(octets), .queue_frames(frames), .ask_valid(ask),
        .ask_header(header), .ask_length(length), .ask_came(now), .verdict_valid(verdict),
        .verdict_drop(drop), .verdict_marks(marks), .verdict_mark(mark), .left_valid(left),
        .left_ready(left_ready), .left_verdict(left_verdict),
        .left_header(header), .left_length(length),
        .left_entered(entered), .left_time(now), .left_octets(octets), .left_frames(frames),
        .message_waits(1'b0), .message_valid(message), .message_head(head),
        .message_feedback(feedback), .message_offset(offset), .message_delta(delta),
        .event_header(), .event_length(), .event_started(started), .event_time()
    );
    always @(negedge clk) begin
        if (verdict) $display("a %0d %0d %0d", drop, marks, marks ? mark : 8'd0);
        if (left_verdict) $display("d %0d %0d %0d", drop, marks, marks ? mark : 8'd0);
        if (message) $display("m %0d %0d %0d %0d", head, feedback, offset, delta);
    end
    initial begin
        file = $fopen("words", "r");
        repeat (3) @(negedge clk);
        rst = 0;
        while ($fscanf(file, "%h %h", a, word) == 2) begin
            index = a[15:0]; word_written = 1; @(negedge clk); word_written = 0; @(negedge clk);
        end
        file = $fopen("events", "r");
        header[8*12 +: 16] = 16'h0081; header[8*16 +: 16] = 16'h0008;
        while ($fscanf(file, "%d %h %h %h %h", kind, a, octets, frames, length) == 5) begin
            got = $fscanf(file, "%h %h %h", b, header[8*19 +: 8], header[8*11 +: 8]);
            now = a[61:0]; entered = b[61:0];
            ask = kind == 0; left = kind == 1;
            clocks = 0;
            while ((kind == 0 ? !verdict : kind == 1 ? !left_ready : clocks < 4)
                   && clocks < {most}) begin
                @(negedge clk);
                clocks = clocks + 1;
            end
            if (clocks == {most}) begin
                $display("stuck");
                $finish;
            end
            ask = 0; left = 0;
            @(negedge clk);
            for (rest = 0; rest < 4 && clocks < {most}; rest = rest + 1) begin  // a timer is due
                @(negedge clk);
                if (point.state != 0) rest = 0;
                clocks = clocks + 1;
            end
            $display("e");
        end
        for (kind = {first}; kind < {last}; kind = kind + 1) begin
            index = kind; @(negedge clk); $display("s %0d", $signed(state_word));
        end
        $finish;
    end
endmodule
"""


@dataclass(frozen=True)
class PointEvent:
    """A frame that arrives or has left, or time that goes on; `mark` is its TOS octet."""

    kind: int
    now: int
    octets: int
    frames: int
    length: int = 1500
    entered: int = 0
    mark: int = 0
    source: int = 1


@dataclass
class PointReference:
    """The kernels on the records of one instance, as the engine calls them."""

    algorithm: Algorithm
    shell: PointShell
    cells: dict[Cell, int] = field(default_factory=dict)
    timer: int = NEVER

    def lines(self, events: Sequence[PointEvent]) -> Iterator[str]:
        """What the bench shows of these events."""
        for event in events:
            if event.kind == DEPARTURE:
                yield from self._call("departure", event)
            if self.timer <= event.now:
                yield from self._call("timer", event)
            if event.kind == ARRIVAL:
                yield from self._call("arrival", event)
            yield "e"
        for name in self.shell.state:
            yield f"s {self.cells.get(('state', name, 0), 0)}"

    def _call(self, name: str, event: PointEvent) -> Iterator[str]:
        timer = self.timer
        frame = {"length": event.length, "mark": event.mark, "entered": event.entered}
        frame |= {"source": event.source, "priority": 0}
        if name == "timer":
            self.timer, frame = NEVER, {}
        if name not in self.shell.clocks:
            yield from [f"{name[0]} 0 0 0"] if name in VERDICTS else []
            return
        queue = {"bytes": event.octets, "frames": event.frames, "capacity": CAPACITY}
        queue |= {"line_rate": LINE_RATE, "service_rate": SERVICE_RATE, "pausing": 0}
        queue |= {"congestion_point_timer": self.timer}
        for record, fields in (("frame", frame), ("queue", queue), ("message", {})):
            self.cells = {c: v for c, v in self.cells.items() if c[0] != record}
            self.cells |= {(record, key, 0): value for key, value in fields.items()}
        now = event.now
        answer = Interpreter(self.cells).run(lower_kernel(self.algorithm, name), now)
        self.timer = self.cells[("queue", "congestion_point_timer", 0)]
        if name == "timer":
            self.timer = max(self.timer, now + SOONEST)
        mark = self.cells.get(("frame", "mark", 0), 0)
        said = [self.cells.get(("message", key, 0), 0) for key in ("feedback", "offset", "delta")]
        if name in VERDICTS:
            marks = mark != event.mark
            yield f"{name[0]} {int(answer == DROP)} {int(marks)} {mark if marks else 0}"
        tells = answer == NOTIFY_HEAD or (answer == NOTIFY_ARRIVING and name != "timer")
        if tells and (name != "timer" or event.frames > 0):
            yield f"m {int(answer == NOTIFY_HEAD)} {' '.join(map(str, said))}"
        assert timer == NEVER or timer >= 0


def bench_lines(
    shell: PointShell,
    params: dict[str, int],
    state: dict[str, int],
    events: Sequence[PointEvent],
    folder: Path,
) -> list[str]:
    """What the shell shows of these events, in Icarus Verilog."""
    for name, text in shell.sources:
        (folder / name).write_text(text)
    first = STATE_WORD
    bench = BENCH
    values = {"line": LINE_RATE, "service": SERVICE_RATE, "capacity": CAPACITY, "most": 20_000}
    values |= {"first": first, "last": first + len(shell.state)}
    for key, value in values.items():
        bench = bench.replace("{" + key + "}", str(value))
    (folder / "bench.v").write_text(bench)
    words = [(place, params[name]) for place, name in enumerate(shell.params)]
    words += [(first | place, state.get(name, 0)) for place, name in enumerate(shell.state)]
    (folder / "words").write_text("".join(f"{at:x} {value & MASK:x}\n" for at, value in words))
    (folder / "events").write_text(
        "".join(
            f"{e.kind} {e.now:x} {e.octets:x} {e.frames:x} {e.length:x} {e.entered:x} "
            f"{e.mark:02x} {e.source:02x}\n"
            for e in events
        )
    )
    files = ["bench.v", *(name for name, _ in shell.sources), RTL / "divide.v"]
    return printed_lines(folder, files)
