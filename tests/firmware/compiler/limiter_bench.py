"""Bench of a reaction point's shell in Icarus Verilog, and its kernels as the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from firmware.compiler.form_interpreter import Cell, Interpreter
from firmware.compiler.kernel_lowering import lower_kernel
from firmware.compiler.limiter_shell import KEPT
from firmware.compiler.point_shell import STATE_WORD, PointShell
from firmware.verilog_modules import RTL
from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import NEVER, SOONEST
from tests.firmware.compiler.point_bench import MASK
from tests.firmware.icarus_bench import printed_lines

LIMITERS, LINK_RATE = 3, 10**9
BENCH = """\
`timescale 1ns/1ns
module bench;
    reg clk = 0, rst = 1, clear = 0, word_written = 0, valid = 0, sent = 0, binds = 0, empty = 0;
    reg [61:0] now = 0;
    reg [1:0] index, word_limiter = 0;
    reg [15:0] word_index, length;
    reg [63:0] word, a;
    reg [5:0] feedback;
    wire [63:0] state_word;
    wire [1:0] due_index, update_index, write_index;
    wire idle, ready, update, update_active, wrote, active;
    wire [39:0] update_rate, rate;
    wire [60:0] target;
    integer file, got, kind, clocks, rest;
    always #1 clk = !clk;
    kernel_limiter #(.N({limiters})) point (
        .clk(clk), .rst(rst), .clear(clear), .idle(idle), .link_rate(40'd{rate}),
        .word_written(word_written), .word_limiter(word_limiter), .word_index(word_index),
        .word(word), .state_word(state_word), .scan_timers(1'b1), .now(now),
        .event_valid(valid), .event_ready(ready), .event_sent(sent), .event_index(index),
        .event_binds(binds), .event_feedback(feedback), .event_length(length),
        .event_empty(empty), .event_now(now), .due_index(due_index), .due_empty(empty),
        .update_valid(update), .update_ready(1'b1), .update_index(update_index),
        .update_active(update_active), .update_rate(update_rate), .write_valid(wrote),
        .write_index(write_index), .write_active(active), .write_rate(rate),
        .write_target(target), .patience(40'd1), .event_started(), .late(), .longest_wait()
    );
    always @(negedge clk) begin
        if (wrote) $display("w %0d %0d %0d %0d", write_index, active, rate, target);
        if (update) $display("u %0d %0d %0d", update_index, update_active, update_rate);
    end
    initial begin
        file = $fopen("words", "r");
        repeat (3) @(negedge clk);
        rst = 0;
        while ($fscanf(file, "%d %h %h", kind, a, word) == 3) begin
            word_limiter = kind; word_index = a[15:0];
            word_written = 1; @(negedge clk); word_written = 0; @(negedge clk);
        end
        file = $fopen("events", "r");
        while ($fscanf(file, "%d %h %d %d %d %d %d", kind, a, index, binds, feedback, length,
                       empty) == 7) begin
            now = a[61:0]; clocks = 0;
            for (rest = 0; rest < 2 * {limiters} + 4; rest = rest + 1) begin
                @(negedge clk);
                if (point.state != 0) rest = 0;
                clocks = clocks + 1;
                if (clocks > {most}) begin
                    $display("stuck");
                    $finish;
                end
            end
            if (kind != 2) begin
                sent = kind == 1; valid = 1; #0.1;
                while (!ready) @(negedge clk);
                @(negedge clk);
                valid = 0;
                for (rest = 0; rest < 4; rest = rest + 1) begin
                    @(negedge clk);
                    if (point.state != 0) rest = 0;
                end
            end
            $display("e");
        end
        for (kind = 0; kind < {limiters} * {words}; kind = kind + 1) begin
            word_limiter = kind / {words}; word_index = 16'h8000 | (kind % {words});
            @(negedge clk); $display("s %0d", $signed(state_word));
        end
        $finish;
    end
endmodule
"""
MESSAGE, SENT, WAIT = range(3)


@dataclass(frozen=True)
class LimiterEvent:
    """A message, a frame that was sent, or time that goes on, at a limiter."""

    kind: int
    now: int
    limiter: int
    feedback: int
    length: int
    empty: bool


@dataclass
class LimiterReference:
    """The kernels on the records of all limiters, as the engine calls them."""

    algorithm: Algorithm
    shell: PointShell
    params: dict[Cell, int]
    seeds: list[int]
    state: list[dict[Cell, int]] = field(default_factory=list)
    rows: list[dict[str, int]] = field(default_factory=list)
    flows: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        seeds = [name for name in KEPT if name in self.shell.state]
        self.state = [{("state", name, 0): seed for name in seeds} for seed in self.seeds]
        start = {"active": 0, "rate": LINK_RATE, "target": LINK_RATE, "timer": NEVER}
        self.rows = [dict(start) for _ in self.seeds]
        self.flows = [False] * len(self.seeds)

    def binds(self, event: LimiterEvent) -> bool:
        return event.kind == MESSAGE and not self.flows[event.limiter]

    def reaches(self, event: LimiterEvent) -> bool:
        """A frame of a flow without a limiter is no event."""
        return event.kind != SENT or self.flows[event.limiter]

    def lines(self, event: LimiterEvent) -> Iterator[str]:
        """What the bench shows of an event."""
        for number, row in enumerate(self.rows):
            while row["timer"] <= event.now:
                yield from self._call("timer", number, row["timer"], event)
        if event.kind != WAIT:
            if self.binds(event):
                state = self.state[event.limiter]
                self.state[event.limiter] = {c: v for c, v in state.items() if c[1] in KEPT}
                self.flows[event.limiter] = True
            name = "feedback" if event.kind == MESSAGE else "sent"
            if name in self.shell.clocks:
                yield from self._call(name, event.limiter, event.now, event)
        yield "e"

    def _call(self, name: str, number: int, now: int, event: LimiterEvent) -> Iterator[str]:
        row = self.rows[number]
        before = dict(row)
        if name == "timer":
            row["timer"] = NEVER
        limiter = row | {"link_rate": LINK_RATE, "backlog": int(not event.empty)}
        frame = {} if name == "timer" else {"feedback": event.feedback, "length": event.length}
        cells = self.params | self.state[number]
        cells |= {("limiter", key, 0): value for key, value in limiter.items()}
        cells |= {("frame", key, 0): value for key, value in frame.items()}
        Interpreter(cells).run(lower_kernel(self.algorithm, name), now)
        self.state[number] = {c: v for c, v in cells.items() if c[0] == "state"}
        for key in row:
            row[key] = cells["limiter", key, 0]
        if name == "timer":
            row["timer"] = max(row["timer"], now + SOONEST)
        if row["active"] == 0:
            row["timer"] = NEVER
            self.flows[number] = False
        yield f"w {number} {row['active']} {row['rate']} {row['target']}"
        changed = (row["active"], row["rate"]) != (before["active"], before["rate"])
        if changed or (name == "feedback" and row["active"] == 0):
            yield f"u {number} {row['active']} {row['rate']}"

    def final(self) -> list[str]:
        return [f"s {one.get(('state', n, 0), 0)}" for one in self.state for n in self.shell.state]


def limiter_lines(
    shell: PointShell,
    params: dict[str, int],
    seeds: Sequence[int],
    events: Sequence[tuple[LimiterEvent, bool]],
    folder: Path,
) -> list[str]:
    """What the shell shows of these events; `bool`: the limiter gets a flow with it."""
    for name, text in shell.sources:
        (folder / name).write_text(text)
    bench, values = BENCH, {"limiters": LIMITERS, "rate": LINK_RATE, "words": len(shell.state)}
    values["most"] = 50_000
    for key, value in values.items():
        bench = bench.replace("{" + key + "}", str(value))
    (folder / "bench.v").write_text(bench)
    words = [(0, place, params[name]) for place, name in enumerate(shell.params)]
    words += [
        (number, STATE_WORD | place, seed if name in KEPT else 0)
        for number, seed in enumerate(seeds)
        for place, name in enumerate(shell.state)
    ]
    text = "".join(f"{number} {at:x} {value & MASK:x}\n" for number, at, value in words)
    (folder / "words").write_text(text)
    (folder / "events").write_text(
        "".join(
            f"{e.kind} {e.now:x} {e.limiter} {int(binds)} {e.feedback} {e.length} {int(e.empty)}\n"
            for e, binds in events
        )
    )
    files = ["bench.v", *(name for name, _ in shell.sources), RTL / "divide.v"]
    return printed_lines(folder, files)
