"""An algorithm's own Verilog against its kernels: what parts them is found, made short and kept."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from firmware.equivalence import simulators
from firmware.equivalence.event_sequence import Event, Sequence
from firmware.equivalence.kernel_runner import Kernels
from firmware.equivalence.regression_test import stored_sequences
from firmware.equivalence.rtl_comparison import open_pair
from firmware.equivalence.sequence_fuzzer import fuzz_rtl, minimized
from firmware.verilog_modules import RTL
from orchestrator.algorithm import Algorithm
from orchestrator.cli.main import assemble
from orchestrator.errors import BadInput, Refused
from orchestrator.fuzz.algorithm_file import load_algorithms
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.rtl_module import Rtl, RtlOptions
from plugins.qcn_cp import QCN_CP, SAMPLE_BASE, SAMPLE_INTERVALS

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog is missing"
)
MODULE = """module above (
    input wire clk, input wire rst, input wire frame,
    input wire [31:0] queued, input wire [31:0] line, input wire [31:0] every,
    output reg notify, output reg [31:0] offset, output reg [15:0] seen
);
    wire due = queued >= line && seen + 1 >= every;
    always @(posedge clk) begin
        notify <= frame && due;
        offset <= queued - line;
        if (rst) seen <= 0;
        else if (frame) seen <= due ? 0 : seen + 1;
    end
endmodule
"""
ALGORITHM = '''"""Notifies above a line."""

from pydantic import Field

from orchestrator.algorithm import congestion_point
from orchestrator.engine.records import record
from orchestrator.plan.algorithm_params import Params, Size
from orchestrator.rtl_module import Rtl


class Above(Params):
    line: Size = Field(30_000, gt=0, description="queue length")
    every: int = Field(50, ge=1, description="frames between messages")


def arrival(state, params, queue, frame, now, message):
    """A frame arrives."""
    state.seen += 1
    if queue.bytes < params.line or state.seen < params.every:
        return 0
    state.seen = 0
    message.offset = queue.bytes - params.line
    message.feedback = 32
    return 1


ABOVE = congestion_point(
    "above",
    "above a line",
    Above,
    record("seen"),
    arrival=arrival,
    rtl=Rtl(
        top="above",
        files=("above.v",),
        inputs={"line": "params.line", "every": "params.every"},
        events={"arrival": {"frame": 1, "queued": "queue.bytes"}},
        outputs={"notify": "result", "offset": "message.offset", "seen": "state.seen"},
    ),
)
'''
FAULTS = {
    "a line that counts as below": ("queued >= line", "queued > line"),
    "one frame too few": ("seen + 1 >= every", "seen >= every"),
    "never counted anew": ("due ? 0 : seen + 1", "seen + 1"),
    "counts idle clocks": ("else if (frame) seen", "else seen"),
    "no reset": ("if (rst) seen <= 0;\n        else ", ""),
    "an offset that is cut": ("offset <= queued - line", "offset <= (queued - line) & 16'hffff"),
    "an offset of the line": ("offset <= queued - line", "offset <= line - queued"),
}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Path]:
    """A folder with an algorithm and its module; the registry forgets it afterwards."""
    (tmp_path / "above_the_line.py").write_text(ALGORITHM)
    (tmp_path / "above.v").write_text(MODULE)
    yield tmp_path
    registry, module = Registry.load(), sys.modules.pop("above_the_line", None)
    if module is not None:
        registry.manager.unregister(module)
        registry.algorithms = [one for one in registry.algorithms if one.name != "above"]


def brought(room: Path, was: str = "", becomes: str = "") -> Algorithm:
    text = (room / "above.v").read_text()
    assert was in text
    (room / "above.v").write_text(text.replace(was, becomes) if was else text)
    (algorithm,) = load_algorithms(room / "above_the_line.py")
    return algorithm


def options(room: Path, sequences: int = 20, **more: Any) -> RtlOptions:
    return RtlOptions(room / "above_the_line.py", room / "hunted", sequences, **more)


def test_a_module_that_does_what_the_kernel_does_is_not_accused(room: Path) -> None:
    done = fuzz_rtl(brought(room), options(room, 100), silent)
    assert done.found == []
    assert done.sequences == 100
    assert done.events > 500


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_is_found_and_its_sequence_is_short(fault: str, room: Path) -> None:
    done = fuzz_rtl(brought(room, *FAULTS[fault]), options(room), silent)
    assert done.found, fault
    assert min(one.events for one in done.found) <= 3
    for one in done.found:
        assert one.file.is_file()
        assert "$enddefinitions" in one.vcd.read_text()
    again = fuzz_rtl(Registry.load().find("congestion_point", "above"), options(room, 1), silent)
    assert again.replayed == len(done.found)
    assert {one.what for one in again.found} >= {done.found[0].what}


def test_a_written_test_fails_with_the_fault_and_passes_without(room: Path) -> None:
    done = fuzz_rtl(brought(room, *FAULTS["a line that counts as below"]), options(room), silent)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"]
    command += [str(room), str(done.found[0].file)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    (room / "above.v").write_text(MODULE)
    passed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert passed.returncode == 0, passed.stdout


def test_what_is_documented_is_no_difference(room: Path) -> None:
    shown = "output wire [1:0] seen\n);\n    reg [15:0] count;\n    assign seen = count[1:0];"
    text = MODULE.replace("seen", "count").replace("output reg [15:0] count\n);", shown)
    (room / "above.v").write_text(text)
    algorithm = brought(room)
    assert fuzz_rtl(algorithm, options(room), silent).found
    assert algorithm.rtl is not None
    rtl = replace(
        algorithm.rtl,
        documented={"seen": lambda seen: seen & 3},
        ranges={"params.every": (1, 3)},
    )
    (room / "hunted").rename(room / "before")
    assert fuzz_rtl(replace(algorithm, rtl=rtl), options(room), silent).found == []


def test_what_a_kernel_reads_and_the_module_is_not_given_is_found(room: Path) -> None:
    text = ALGORITHM.replace(
        "queue.bytes < params.line", "queue.bytes + frame.length < params.line"
    )
    (room / "above_the_line.py").write_text(text)
    done = fuzz_rtl(brought(room), options(room, 200), silent)
    assert done.found
    assert "frame.length" in done.found[0].file.read_text()


def _qcn(text: str, folder: Path, *fault: str) -> Algorithm:
    """QCN's own congestion point with the module that it is shipped with."""
    shutil.copytree(RTL, folder / "rtl", dirs_exist_ok=True)
    if fault:
        assert fault[0] in text
    (folder / "rtl" / "qcn_cp.v").write_text(text.replace(*fault) if fault else text)
    files = ["qcn_cp", "qcn_sampler", "qcn_quantiser", "jitter", "multiply", "lfsr32", "lfsr_step"]

    def intervals(params: Any) -> int:
        octets = [one * params.sample_base // SAMPLE_BASE for one in SAMPLE_INTERVALS]
        return sum(one << 30 * place for place, one in enumerate(octets))

    frame = {"event_valid": 1, "event_length": "frame.length", "event_queue": "queue.bytes"}
    rtl = Rtl(
        top="qcn_cp",
        files=tuple(str(folder / "rtl" / f"{one}.v") for one in files),
        inputs={
            "set_point": "params.set_point", "weight": "params.weight", "intervals": intervals,
            "sampling": "params.sampling", "counts_arriving": "params.counts",
            "jitter_on": "params.jitter", "seed": "state.lfsr", "rst": 0,
        },
        events={
            "arrival": {**frame, "event_capacity": "queue.capacity"},
            "departure": {**frame, "event_departure": 1},
        },
        outputs={
            "message_about": "result", "message_feedback": "message.feedback",
            "message_offset": "message.offset", "message_delta": "message.delta",
            "countdown": "state.countdown", "old": "state.old", "random": "state.lfsr",
        },
        reset={"clear": 1},
        ready="event_ready",
        valid="message_valid",
        ranges={"params.tell": (0, 0), "params.keep_alive": (0, 0), "params.sampling": (0, 3)},
    )  # fmt: skip
    return replace(QCN_CP, rtl=rtl)


@pytest.mark.slow
def test_a_module_that_takes_its_time_and_says_when(tmp_path: Path) -> None:
    """The shipped one, 60 clocks a sample, with a reset, a seed and ports made of parameters."""
    text = (RTL / "qcn_cp.v").read_text()
    done = fuzz_rtl(_qcn(text, tmp_path), options(tmp_path, 60), silent)
    assert done.found == []
    assert done.sequences == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        (".old(old)", ".old(queue)"),
        ("message_feedback != 6'd0", "1'b1"),
    ],
    ids=["old", "valid"],
)
def test_its_faults_are_found(fault: tuple[str, str], tmp_path: Path) -> None:
    text = (RTL / "qcn_cp.v").read_text()
    done = fuzz_rtl(_qcn(text, tmp_path, *fault), options(tmp_path, 150), silent)
    assert done.found, fault
    assert done.found[0].events <= 5


@pytest.mark.slow
@pytest.mark.skipif(
    "verilator" not in simulators.installed_simulators(), reason="Verilator is missing"
)
def test_verilator_says_the_same(room: Path) -> None:
    algorithm = brought(room)
    assert fuzz_rtl(algorithm, options(room, 30, simulator="verilator"), silent).found == []
    (room / "above.v").write_text(MODULE.replace("queued >= line", "queued > line"))
    (found, *_) = fuzz_rtl(algorithm, options(room, 60, simulator="verilator"), silent).found
    assert found.events <= 3
    ((_, sequence),) = stored_sequences(room / "hunted", algorithm)
    with open_pair(algorithm, "icarus") as pair:
        assert pair.difference(sequence) is not None


def test_the_shortest_has_no_event_that_it_does_not_need() -> None:
    events = tuple(Event("arrival", now) for now in range(6))
    whole = Sequence({}, {}, events)
    found = minimized(whole, lambda one: {1, 4} <= {event.now for event in one.events})
    assert [event.now for event in found.events] == [1, 4]


def command(*words: str) -> Any:
    return CliRunner().invoke(assemble(Registry.load(), ["hunt"]), ["hunt", *words])


def test_the_command_tells_by_exit_code_and_json(room: Path) -> None:
    file, out = str(room / "above_the_line.py"), str(room / "hunted")
    (room / "above.v").write_text(MODULE.replace("queued >= line", "queued > line"))
    words = ("--against", file, "--rtl", "--sequences", "20", "--out", out)
    done = command(*words, "--json")
    assert done.exit_code == 1, done.output
    (module,) = json.loads(done.stdout)["rtl"]
    assert module["module"] == "above"
    assert module["found"][0]["what"] == "notify differs"


def test_beside_plans_it_is_hunted_too_and_not_where_it_is_not_asked_for(room: Path) -> None:
    file, out = str(room / "above_the_line.py"), str(room / "hunted")
    words = ("--against", file, "--plans", "1", "--sequences", "3", "--out", out, "--json")
    done = json.loads(command(*words).stdout)
    assert done["plans"] == 1
    assert done["rtl"][0]["sequences"] == 3


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('files=("above.v",)', 'files=("nowhere.v",)', "nowhere.v"),
        ('"queued": "queue.bytes"', '"waiting": "queue.bytes"', "does not take the module"),
        ("rtl=Rtl(", "rtl=None and Rtl(", "names a module of its own"),
        ('"queue.bytes"}', '"queue.octets"}', "queue.octets"),
        ('"message.offset"', '"message.sideways"', "message.sideways"),
        ('events={"arrival"', 'events={"departure"', "no such kernel"),
        ('"frame": 1', '"frame": "result"', "which a kernel is not"),
    ],
)
def test_what_cannot_be_run_is_told(was: str, becomes: str, said: str, room: Path) -> None:
    assert was in ALGORITHM
    (room / "above_the_line.py").write_text(ALGORITHM.replace(was, becomes))
    done = command("--against", str(room / "above_the_line.py"), "--rtl", "--out", str(room))
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert "Traceback" not in done.output


def test_without_a_simulator_it_says_what_brings_one(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulators, "installed_simulators", list)
    done = command("--against", str(room / "above_the_line.py"), "--rtl", "--out", str(room))
    assert done.exit_code == 2, done.output
    assert "apt-get install iverilog" in done.output
    with pytest.raises(Refused):
        simulators.select_simulator("verilator")
    with pytest.raises(BadInput, match="icarus, verilator"):
        simulators.select_simulator("modelsim")
    words = ("--rtl", "--out", str(room))
    assert command(*words).exit_code == 2


def test_a_file_of_before_that_is_spoilt_is_named(room: Path) -> None:
    done = fuzz_rtl(brought(room, *FAULTS["one frame too few"]), options(room), silent)
    path = done.found[0].file
    path.write_text(path.read_text().replace('"events"', '"others"'))
    with pytest.raises(BadInput, match=path.name):
        fuzz_rtl(Registry.load().find("congestion_point", "above"), options(room), silent)


def test_a_timer_that_is_not_set_is_no_event_and_one_that_is_comes_no_earlier() -> None:
    """The reaction point of `timer` sets its timer at a message."""
    kernels = Kernels(Registry.load().find("reaction_point", "dcqcn-rp"))
    early = Event("timer", 3)
    values = {"limiter.link_rate": 10**9, "limiter.rate": 10**9}
    assert list(kernels.run(Sequence({}, values, (early,)))) == []
    told, due = kernels.run(Sequence({}, values, (early, Event("feedback", 5), early)))
    assert told.after["now"] == 5
    assert due.after["now"] == due.before["limiter.timer"] > 5
