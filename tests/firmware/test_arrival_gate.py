"""Gate before a queue: frames leave whole, in order, marked or dropped as their verdicts say."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from firmware.verilog_modules import RTL
from tests.firmware.icarus_bench import printed_lines

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None,
    reason="Icarus Verilog is missing: sudo apt-get install iverilog",
)
WORD, FRAMES = 8, 60
TOS, CHECKSUM, IP = 19, 28, 18
MANY, SLOW = 200, 60
"""Frames that fill the gate, and clocks that each waits for its verdict then."""
SOURCES = ("frame_fifo.v", "octet_count.v", "axis_slice.v", "frame_header.v")
BENCH = """\
`timescale 1ns/1ns
module bench;
    reg clk = 0, rst = 1, valid = 0, last = 0, verdict = 0, drop = 0, marks = 0, taken = 0;
    reg [63:0] data = 0, now = 0;
    reg [7:0] keep = 0, mark = 0;
    wire [671:0] header;
    reg [7:0] ended = 0;
    wire head, out_valid, out_last, full, lost;
    wire [671:0] head_header, out_header;
    wire [15:0] head_length;
    wire [61:0] came;
    wire [63:0] out_data;
    wire [7:0] out_keep;
    wire [0:0] user;
    integer in, answers, got, due, wait_clocks, a, b, c;
    reg more;
    always #1 clk = !clk;
    arrival_gate #(.DATA_W(64), .FULL_FRAMES({full})) gate (
        .clk(clk), .rst(rst), .now(now[61:0]), .header(header), .s_tdata(data), .s_tkeep(keep),
        .s_tvalid(valid), .s_tlast(last), .s_tuser(1'b0), .head_valid(head),
        .head_header(head_header), .head_length(head_length), .head_came(came),
        .verdict_valid(verdict), .verdict_drop(drop), .verdict_marks(marks),
        .verdict_mark(mark), .taken(taken), .m_tdata(out_data), .m_tkeep(out_keep),
        .m_tvalid(out_valid), .m_tlast(out_last), .m_tuser(user), .m_header(out_header),
        .full(full), .lost(lost)
    );
    frame_header #(.DATA_W(64), .HEADER(84)) watch (
        .clk(clk), .rst(rst), .tdata(data), .tkeep(keep), .tvalid(valid), .tlast(last),
        .frame_done(), .header(header), .length()
    );
    always @(negedge clk) begin
        now = now + 1;
        if (out_valid) $display("o %0d %b %h", out_last, out_keep, out_data);
        if (lost) $display("lost");
        ended = {ended[6:0], out_valid && out_last};
        taken = ended[2];
        verdict = 0;
        wait_clocks = head ? wait_clocks + 1 : 0;
        if (head && wait_clocks == {wait}) begin
            got = $fscanf(answers, "%d %d %h", a, b, mark);
            drop = a; marks = b; verdict = 1;
            $display("h %0d %h", head_length, head_header[8*30 +: 8]);
        end
    end
    initial begin
        in = $fopen("words", "r"); answers = $fopen("verdicts", "r");
        wait_clocks = 0;
        repeat (3) @(negedge clk);
        rst = 0;
        repeat (3) @(negedge clk);
        more = 1;
        while (more) begin
            got = $fscanf(in, "%h %h %d %d", data, keep, a, due);
            more = got == 4;
            if (more) begin
                last = a; valid = 1; @(negedge clk); #0.1;
                valid = 0;
                repeat (due) @(negedge clk);
                while (full && last) @(negedge clk);
            end
        end
        repeat (20000) @(negedge clk);
        $finish;
    end
endmodule
"""


def _checksum(octets: bytes) -> int:
    total = sum(octets[at] << 8 | octets[at + 1] for at in range(0, 20, 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _frame(rng: random.Random, number: int) -> bytearray:
    frame = bytearray(rng.randbytes(rng.choice((70, 71, 77, 128, 300))))
    frame[12:20] = bytes.fromhex("8100000108004502")
    frame[30] = number & 0xFF
    return with_tos(frame, 2)


def with_tos(frame: bytearray, tos: int) -> bytearray:
    changed = bytearray(frame)
    changed[TOS] = tos
    changed[CHECKSUM : CHECKSUM + 2] = b"\0\0"
    changed[CHECKSUM : CHECKSUM + 2] = _checksum(changed[IP : IP + 20]).to_bytes(2, "big")
    return changed


def _run(
    folder: Path, gate: str, full: int = 64, gap: int = 0, count: int = FRAMES, wait: int = 5
) -> tuple[list[bytes], list[bytes]]:
    """Frames that have to leave, and those that do."""
    rng, words, verdicts, expected = random.Random(5), list[str](), list[str](), list[bytes]()
    for number in range(count):
        frame, chance = _frame(rng, number), rng.random()
        drops, marks, tos = int(chance < 0.2), int(chance > 0.5), rng.choice((3, 0x83, 0xFF))
        if number % 7 == 3:  # no IPv4: it is not marked
            frame[16:18] = bytes.fromhex("22f3")
        for at in range(0, len(frame), WORD):
            part = bytes(frame[at : at + WORD])
            last = at + WORD >= len(frame)
            keep, data = (1 << len(part)) - 1, int.from_bytes(part, "little")
            words.append(f"{data:016x} {keep:02x} {int(last)} {gap if last else 0}")
        verdicts.append(f"{drops} {marks} {tos:02x}")
        if not drops:
            marked = marks and number % 7 != 3
            expected.append(bytes(with_tos(frame, tos) if marked else frame))
    (folder / "words").write_text("\n".join(words) + "\n")
    (folder / "verdicts").write_text("\n".join(verdicts) + "\n")
    (folder / "gate.v").write_text(gate)
    (folder / "bench.v").write_text(BENCH.replace("{full}", str(full)).replace("{wait}", str(wait)))
    files = ["bench.v", "gate.v", *(RTL / name for name in SOURCES)]
    found, frame = list[bytes](), b""
    for line in printed_lines(folder, files):
        kind, *rest = line.split()
        if kind == "o" and "x" not in rest[2]:
            octets = rest[1].count("1")
            frame += int(rest[2], 16).to_bytes(WORD, "little")[:octets]
            if rest[0] == "1":
                found, frame = [*found, frame], b""
    return expected, found


GATE = "".join((RTL / name).read_text() for name in ("arrival_gate.v", "tos_mark.v"))


@pytest.mark.parametrize(("full", "gap"), [(64, 0), (3, 0), (64, 40)])
def test_frames_leave_as_their_verdicts_say(tmp_path: Path, full: int, gap: int) -> None:
    expected, found = _run(tmp_path, GATE, full, gap)
    assert 20 < len(expected) < FRAMES
    assert found == expected


FAULTS = {
    "a drop that is forwarded": ("f_tvalid && !drops", "f_tvalid"),
    "a verdict of the frame before": (
        "active <= marks && is_ipv4;",
        "active <= active || (marks && is_ipv4);",
    ),
    "a stale checksum": ("sum <= sum_after;", "sum <= sum_before;"),
    "a checksum without its carry": ("{15'd0, total[17:16]}", "17'd0"),
    "a mark of 7 bits": ("tos <= mark;", "tos <= {1'b0, mark[6:0]};"),
    "a mark in another octet": ("TOS_AT = 19,", "TOS_AT = 20,"),
    "a mark on what is no IPv4": ("marks && is_ipv4", "marks"),
    "a frame that does not wait for its verdict": ("state == WAIT && verdict_valid", "1'b1"),
    "a lost handshake with the queue": ("default: if (taken)", "default: if (1'b0)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    right, wrong = FAULTS[fault]
    assert right in GATE
    expected, found = _run(tmp_path, GATE.replace(right, wrong))
    assert found != expected


def test_it_says_that_it_is_full_before_frames_are_lost(tmp_path: Path) -> None:
    expected, found = _run(tmp_path, GATE, 64, 0, MANY, SLOW)
    assert found == expected
    silent = GATE.replace("frames >= FULL_FRAMES_NUMBER[COUNT_W:0]", "1'b0")
    assert silent != GATE
    expected, found = _run(tmp_path, silent, 64, 0, MANY, SLOW)
    assert len(found) < len(expected)
