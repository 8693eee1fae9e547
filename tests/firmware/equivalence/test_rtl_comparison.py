"""One sequence on kernel and module: what the bench awaits, and each way in which they can part."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import Field

from firmware.equivalence import simulators
from firmware.equivalence.event_sequence import Event, Sequence
from firmware.equivalence.rtl_comparison import Difference, UnsupportedSequence, open_pair
from orchestrator.algorithm import congestion_point
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.rtl_module import Rtl

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog is missing"
)


class Line(Params):
    line: Size = Field(30_000, gt=0, description="queue length")


def arrival(state, params, queue, frame, now, message):
    """Notifies above a line."""
    state.seen += 1
    if queue.bytes < params.line:
        return 0
    message.offset = params.line - queue.bytes
    return 1


PORTS = "input clk, input rst, input frame, input [31:0] queued, input [31:0] line"
CLOCKED = f"""module m ({PORTS},
    output reg notify, output reg signed [32:0] offset, output reg [7:0] seen);
    always @(posedge clk) begin
        notify <= frame && queued >= line;
        offset <= line - queued;
        if (rst) seen <= 0; else if (frame) seen <= seen + 1;
    end
endmodule
"""
WIRES = f"""module m ({PORTS}, output notify, output signed [32:0] offset);
    assign notify = frame && queued >= line;
    assign offset = line - queued;
endmodule
"""
SLOW = f"""module m ({PORTS}, output ready, output reg valid, output reg signed [32:0] offset,
    output reg [7:0] seen);
    reg [1:0] left;
    reg above;
    assign ready = left == 0;
    always @(posedge clk) begin
        valid <= left == 2 && above;
        if (rst) begin left <= 0; seen <= 0; valid <= 0; end
        else if (left != 0) left <= left - 1;
        else if (frame) begin
            left <= 3; above <= queued >= line; offset <= line - queued; seen <= seen + 1;
        end
    end
endmodule
"""
OUTPUTS = {"notify": "result", "offset": "message.offset", "seen": "state.seen"}
AT_ONCE = {"notify": "result", "offset": "message.offset"}
LATER = {"offset": "message.offset", "seen": "state.seen"}
AROUND = Sequence(
    {"line": 1_000},
    {},
    tuple(Event("arrival", 0, idle, {"queue.bytes": queue}) for idle, queue in
          ((0, 999), (3, 1_000), (1, 40_000), (0, 0), (2, 1_001))),
)  # fmt: skip


def difference(
    folder: Path,
    text: str,
    outputs: Mapping[str, str],
    sequence: Sequence = AROUND,
    **more: object,
) -> Difference | None:
    """Where a module of this text parts from the kernel; each begins anew with the second run."""
    (folder / "m.v").write_text(text)
    inputs = {"line": "params.line"}
    events = {"arrival": {"frame": 1, "queued": "queue.bytes"}}
    rtl = replace(Rtl("m", (str(folder / "m.v"),), events, outputs, inputs), **more)
    state = np.dtype([("seen", np.int64)])
    algorithm = congestion_point("line", "a line", Line, state, arrival=arrival, rtl=rtl)
    with open_pair(algorithm, "icarus") as pair:
        return pair.difference(sequence) or pair.difference(sequence)


def test_modules_that_are_right_part_nowhere(tmp_path: Path) -> None:
    """One that has its answer behind a clock, one in the same, one that takes its time."""
    assert difference(tmp_path, CLOCKED, OUTPUTS) is None
    assert difference(tmp_path, WIRES, AT_ONCE, after=0) is None
    assert difference(tmp_path, SLOW, LATER, ready="ready", valid="valid") is None


def test_nothing_is_asked_of_a_module_that_is_not_ready_yet(tmp_path: Path) -> None:
    """It takes no frame in the first clocks behind its reset."""
    text = SLOW.replace("ready = left == 0", "ready = left == 0 && warm == 5")
    text = text.replace("reg above;", "reg above; reg [2:0] warm;")
    text = text.replace("valid <= left", "warm <= rst ? 0 : warm + (warm != 5); valid <= left")
    text = text.replace("else if (frame)", "else if (frame && ready)")
    assert difference(tmp_path, text, LATER, ready="ready", valid="valid") is None


@pytest.mark.parametrize(
    ("text", "was", "becomes", "what", "said"),
    [
        (CLOCKED, ">=", ">", "notify differs", "event 2 (arrival): notify is 0, the kernel ret"),
        (CLOCKED, "line - queued", "queued - line", "offset differs", "event 3 (arrival): off"),
        (CLOCKED, "else if (frame)", "else", "seen differs", "event 2 (arrival): seen is 5"),
        (CLOCKED, "if (rst) seen <= 0; else ", "", "seen differs", "seen is unknown (x"),
        (CLOCKED, "notify <=", "if (queued == 0) $finish; notify <=", "the simulation ends", ""),
        (WIRES, ">=", ">", "notify differs", "event 2 (arrival): notify is 0"),
        (SLOW, "ready = left == 0", "ready = left == 0 && seen < 3", "stuck", "event 3 (arrival)"),
        (SLOW, "left == 2 && above", "left == 2 && above || ready && !frame", "unasked", "event 2"),
        (SLOW, "left == 2 && above", "left > 1 && above", "valid differs", "event 2 (arrival): va"),
        (SLOW, "left == 2 && above", "0", "valid differs", "valid is 1 in 0 clocks, "),
        (SLOW, "line - queued", "queued - line", "offset differs", "event 3 (arrival): offset is"),
        (SLOW, "seen <= seen + 1", "seen <= 1", "seen differs", "event 2 (arrival): seen is 1"),
    ],
)  # fmt: skip
def test_each_way_to_part_is_told_with_its_event(
    text: str, was: str, becomes: str, what: str, said: str, tmp_path: Path
) -> None:
    assert was in text
    shown = {CLOCKED: OUTPUTS, WIRES: AT_ONCE, SLOW: LATER}[text]
    more = {"after": 0} if text is WIRES else {}
    more = {"ready": "ready", "valid": "valid", "most_clocks": 20} if text is SLOW else more
    found = difference(tmp_path, text.replace(was, becomes), shown, **more)
    assert found is not None
    assert found.what == what
    assert said in found.text


def test_a_number_that_a_port_has_no_room_for_is_none_of_the_modules(tmp_path: Path) -> None:
    narrow = CLOCKED.replace("input [31:0] queued", "input [15:0] queued")
    fits = replace(AROUND, events=AROUND.events[:2])
    assert difference(tmp_path, narrow, OUTPUTS, fits) is None
    wide = (Event("arrival", 0, 0, {"queue.bytes": 70_000}),)
    with pytest.raises(UnsupportedSequence, match="queued has 16 bits, not room for 70000"):
        difference(tmp_path, narrow, OUTPUTS, replace(AROUND, events=wide))


def test_a_module_that_goes_round_without_a_clock_is_bad_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At an event only: reading the ports comes to its end."""
    monkeypatch.setattr(simulators, "RUN_S", 2)
    text = CLOCKED.replace("notify <=", "while (frame) seen <= 0; notify <=")
    with pytest.raises(BadInput, match="no end"):
        difference(tmp_path, text, OUTPUTS)
