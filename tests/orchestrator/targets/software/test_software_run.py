"""Runs on real frames: what must hold on any machine, however busy it is.

A busy machine holds the clock of a run back, and the fidelity then says so; what is asserted here
is in emulated time and in counted frames, which a busy machine must not change.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator import private_cache
from orchestrator.plan import Plan
from orchestrator.run import guarded_link, run_fidelity
from orchestrator.run.execute_run import RunResult, run
from tests.orchestrator.targets.software import short_plans
from tests.orchestrator.targets.software.processes import as_nobody, ordinary_user_python
from traces.compare import compare
from traces.run_reader import load

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

FRAME, LINK = 1500, 10**9
LOOP_US = 100
FRAME_US = FRAME * 8 / 1000
IN_FLIGHT = int((LOOP_US + 2 * LOOP_US) / FRAME_US) + 2
"""Frames between two nodes: a link's delay, and what one thread may be ahead of the other. Every
plan here has a horizon of less than the loop's 100 us."""
CNM_IN_FLIGHT = 3
"""Messages about frames that are 100 frames apart, within such a time."""


@pytest.fixture(scope="module")
def out() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def carried_out(text: str, target: str, out: Path) -> RunResult:
    return run(Plan.load(text), target=target, out=out, report=False)


@pytest.fixture(scope="module")
def qcn(out: Path) -> RunResult:
    return carried_out(short_plans.QCN, "software", out)


@pytest.fixture(scope="module")
def qcn_simulated(out: Path) -> RunResult:
    return carried_out(short_plans.QCN, "simulated", out)


@pytest.fixture(scope="module")
def paused(out: Path) -> RunResult:
    return carried_out(short_plans.PAUSED, "software", out)


@pytest.fixture(scope="module")
def stepped(out: Path) -> RunResult:
    return carried_out(short_plans.TIMELINE, "software", out)


@pytest.fixture(params=["qcn", "paused", "stepped"])
def any_run(request: pytest.FixtureRequest) -> RunResult:
    done: RunResult = request.getfixturevalue(request.param)
    return done


def last(done: RunResult, entity: str, quantity: str) -> int:
    """A sampled quantity at the end of the run."""
    return int(done.recording.column(entity, quantity)[-1])


def metric(done: RunResult, phase: str, entity: str, name: str) -> float:
    found: float = done.result["metrics"][phase][entity][name]
    return found


# --- frames


def test_nothing_is_lost_outside_the_queues(any_run):
    lost = any_run.result["fidelity"]["lost_outside_queues"]
    assert set(lost) >= {"sockets", "interfaces", "between"}
    assert sum(lost.values()) == 0
    assert any_run.result["fidelity"]["capture_lost"] == 0


def test_every_frame_is_received_dropped_by_a_queue_or_on_its_way(any_run):
    sent = sum(last(any_run, f"gen.{n}", "frames_sent") for n in (0, 1))
    received = sum(last(any_run, f"gen.{n}", "frames_received") for n in (0, 1))
    cut = last(any_run, "nic>switch", "frames_dropped")
    dropped = last(any_run, "switch.sink", "frames_dropped")
    queued = last(any_run, "switch.sink", "queue_bytes") // FRAME
    assert received > 1000
    assert 0 <= sent - received - cut - dropped - queued <= IN_FLIGHT
    assert sent == last(any_run, "nic>switch", "frames_out")
    assert received == any_run.recording.data_frames


def test_a_queue_has_what_came_in_and_did_not_go_out(any_run):
    ins, outs, drops = (
        any_run.recording.column("switch.sink", f"frames_{part}")
        for part in ("in", "out", "dropped")
    )
    queued = any_run.recording.column("switch.sink", "queue_bytes")
    assert ((ins - outs - drops) * FRAME == queued).all()


def test_counters_never_go_back(any_run):
    for index, column in enumerate(any_run.recording.columns):
        if column.kind == "counter":
            assert (np.diff(any_run.recording.values[:, index]) >= 0).all(), column


def test_messages_travel_from_the_queue_to_the_limiters(qcn):
    sent = last(qcn, "switch.sink", "feedback_sent")
    received = sum(last(qcn, f"nic.rp{n}", "feedback_received") for n in (0, 1))
    assert sent > 50
    assert last(qcn, "nic", "feedback_ignored") == 0
    assert 0 <= sent - received - last(qcn, "nic", "feedback_unassigned") <= CNM_IN_FLIGHT
    assert 0 <= last(qcn, "switch>nic", "frames_out") - received <= CNM_IN_FLIGHT
    assert all(last(qcn, f"nic.rp{n}", "active") == 1 for n in (0, 1))


def test_pause_stops_the_nic_and_nothing_is_lost(paused):
    sent = last(paused, "switch.sink", "pause_sent")
    assert sent > 20
    assert last(paused, "switch.sink", "frames_dropped") == 0
    assert last(paused, "nic>switch", "frames_dropped") == 0
    assert metric(paused, "held", "switch.sink", "queue_bytes.max") <= 150_000
    # one fifth of the link's rate goes out, so the NIC is silent for four fifths of the time
    share = metric(paused, "held", "nic>switch", "pause.time_s") / 0.2
    assert 0.7 < share < 0.9
    assert metric(paused, "held", "switch.sink", "utilization") == pytest.approx(1, abs=0.01)


# --- timeline


def test_a_cut_link_loses_what_is_sent_and_a_mended_one_nothing(stepped):
    through = {
        phase: metric(stepped, phase, "traffic", "throughput_bps")
        for phase in ("before", "cut", "mended", "stopped", "started", "slower")
    }
    near = {"abs": 4e6}  # 33 frames of 1666: what is on the wires when a phase ends
    assert through["before"] == pytest.approx(200e6, **near)
    assert through["cut"] == pytest.approx(0, **near)
    assert through["mended"] == pytest.approx(200e6, **near)
    assert through["stopped"] == pytest.approx(0, **near)
    assert through["started"] == pytest.approx(200e6, **near)
    assert through["slower"] == pytest.approx(100e6, **near)
    cut = metric(stepped, "cut", "nic>switch", "frames.dropped")
    assert cut == metric(stepped, "run", "nic>switch", "frames.dropped")
    assert cut == pytest.approx(metric(stepped, "cut", "nic>switch", "frames.sent"), abs=2)


def test_a_source_keeps_its_times_however_late_the_machine_is(stepped, out):
    """What a source sends is the same as in the simulator, to the frame, at every sample."""
    simulated = carried_out(short_plans.TIMELINE, "simulated", out)
    for flow in ("gen.0", "gen.1"):
        counts = [done.recording.column(flow, "frames_sent") for done in (stepped, simulated)]
        assert (counts[0] == counts[1]).all()
    drops = [last(done, "nic>switch", "frames_dropped") for done in (stepped, simulated)]
    assert drops[0] == drops[1]


def test_the_service_rate_changes_in_the_middle(qcn):
    rates = qcn.recording.column("switch.sink", "service_rate")
    before = qcn.recording.times_ps < 300 * 10**9
    assert set(rates[before]) == {950_000_000}
    assert set(rates[~before][1:]) == {500_000_000}
    assert metric(qcn, "half", "switch.sink", "throughput_bps") == pytest.approx(0.5e9, rel=0.01)


# --- samples and results


def test_both_targets_sample_the_same_things_at_the_same_times(qcn, qcn_simulated):
    assert (qcn.recording.times_ps == qcn_simulated.recording.times_ps).all()
    assert qcn.recording.columns == qcn_simulated.recording.columns
    assert (np.diff(qcn.recording.times_ps) == 10**9).all()
    assert qcn.recording.latency_marks_ps.tolist() == (
        qcn_simulated.recording.latency_marks_ps.tolist()
    )
    assert qcn.result["units"] == qcn_simulated.result["units"]


def test_both_targets_agree(qcn, qcn_simulated):
    found = compare([load(done.folder) for done in (qcn_simulated, qcn)])
    told = {
        (one.phase, one.entity, one.metric): one.agree
        for one in found.differences
        if one.metric in ("queue_bytes.mean", "utilization") and one.entity == "switch.sink"
    }
    deciding = [(phase, name) for phase in ("high", "half") for name in ("mean", "utilization")]
    assert len([key for key in told if key[0] in ("high", "half")]) == len(deciding)
    assert all(told[key] for key in told if key[0] in ("high", "half")), found


def test_a_slow_clock_on_one_core_changes_nothing_but_the_time_it_takes(qcn_simulated, out):
    plan = Plan.load(short_plans.QCN)
    slow = run(plan, target="software", out=out, report=False, pace=0.5, cores=1)
    told = slow.result["fidelity"]
    assert told["pace"] == 0.5
    assert [row["met"] for row in slow.result["expectations"]] == [True, True]
    assert slow.recording.times_ps.tolist() == qcn_simulated.recording.times_ps.tolist()
    took = slow.result["performance"]
    assert took["wall_s"] == 2 * slow.recording.times_ps[-1] / 1e12
    assert took["cpu_s"] == took["wall_s"]  # one core spins


def test_the_band_of_the_plan_is_met_in_emulated_time(qcn):
    assert [row["met"] for row in qcn.result["expectations"]] == [True, True]


def test_the_folder_has_every_file_and_json_says_what_the_run_returned(any_run):
    names = {str(p.relative_to(any_run.folder)) for p in any_run.folder.rglob("*") if p.is_file()}
    assert names == {
        *("plan.toml", "manifest.json", "events.jsonl", "result.json", "samples.parquet"),
        *("latency.parquet", "captures/switch-sink.pcapng", "captures/nic-switch.pcapng"),
    }
    kept = json.loads((any_run.folder / "result.json").read_text())
    assert kept == json.loads(json.dumps(any_run.result))
    assert kept["target"] == "software"
    manifest = json.loads((any_run.folder / "manifest.json").read_text())
    assert manifest["target"] == "software"
    assert "CLOCK_MONOTONIC" in json.dumps(manifest)


SPURIOUS = ("duplicated", "reordered")


def graded(share: float, bounds: list[float]) -> str:
    return "valid" if share <= bounds[0] else "degraded" if share <= bounds[1] else "invalid"


def of_guard(link: dict[str, Any], bounds: dict[str, list[float]]) -> list[str]:
    """Grades of a link's frames by kind, of its CE marks and of its windows of time."""
    grades = [
        graded(link["marks"][name] / max(link["marks"]["sent"], 1), bounds["missing_share"])
        for name in ("cleared", "added")
    ]
    windows = link["windows"]
    stalled = guarded_link.stalled_share(windows["stalled"], windows["used"])
    grades.append(graded(stalled, bounds["late_share"]))
    for kind in link["kinds"].values():
        frames = max(kind["timed"], guarded_link.LEAST_FRAMES)
        mean = kind["extra_delay_s"] * kind["timed"] / frames
        grades += [
            graded(kind["changed"] / max(kind["received"], 1), bounds["changed_share"]),
            graded(kind["missing"] / max(kind["sent"], 1), bounds["missing_share"]),
            graded(kind["delayed"] / frames, bounds["late_share"]),
            graded(mean, bounds["extra_delay_s"]),
        ]
    return grades


def test_the_verdict_on_the_machine_follows_from_the_numbers_beside_it(any_run):
    told: dict[str, Any] = any_run.result["fidelity"]
    bounds, late = told["bounds"], told["lateness_s"]
    assert set(late) == {"p50", "p99", "p99.9", "max"}
    assert 0 <= late["p50"] <= late["p99"] <= late["p99.9"] <= late["max"]
    assert set(told["held"]) == {"share", "time_s", "count", "longest_s"}
    assert told["held"]["longest_s"] <= told["held"]["time_s"]
    assert (told["held"]["count"] == 0) == (told["held"]["time_s"] == 0)
    assert "switch.sink" in told["rate_error"] or any_run.result["plan"] == "short-timeline"
    assert told["departures"] > 1000
    grades = [
        graded(late["p99"], bounds["lateness_p99_s"]),
        graded(told["displaced_share"], bounds["displaced_share"]),
        graded(late["max"], bounds["lateness_max_s"]),
        graded(told["held"]["share"], bounds["held_share"]),
        graded(
            sum(told["lost_outside_queues"].values()) / told["frames_sent"], bounds["lost_share"]
        ),
        *(graded(error, bounds["rate_error"]) for error in told["rate_error"].values()),
    ]
    for link in told["links"].values():
        sent = max(link["sent"], 1)
        grades += [graded(link[key] / sent, bounds["spurious_share"]) for key in SPURIOUS]
        extra = (link["delay_s"] or link["planned_delay_s"]) - link["planned_delay_s"]
        grades.append(graded(extra, bounds["extra_delay_s"]))
        grades += of_guard(link, bounds)
    assert told["verdict"] == max(grades, key=run_fidelity.ORDER.index)
    reasons = [one for one in told["reasons"] if one.startswith(("degraded", "invalid"))]
    assert len(reasons) == len([grade for grade in grades if grade != "valid"])
    rows = any_run.result["expectations"]
    expected = "met" if rows else "unjudged"
    if not all(row["met"] for row in rows):
        expected = "uncertain" if all(row["met"] or row["uncertain"] for row in rows) else "missed"
    assert any_run.result["verdict"] == ("invalid" if told["verdict"] == "invalid" else expected)


def test_stalls_are_told_beside_it_and_no_loop_has_felt_any(any_run):
    """However busy the machine is: the clock is held for all of them."""
    told: dict[str, Any] = any_run.result["fidelity"]
    stalls = told["stalls"]
    assert stalls["floor_s"] == pytest.approx(max(told["horizon_s"], 50e-6), abs=1e-9)
    assert stalls["count"] == sum(cause["count"] for cause in stalls["causes"].values())
    assert (stalls["count"] == 0) == (stalls["time_s"] == 0)
    assert stalls["longest_s"] <= stalls["time_s"]
    gone = [row["gone_s"] for row in stalls["longest"]]
    assert all(0 < each <= 1.1 * told["horizon_s"] for each in gone)
    assert stalls["felt"] == 0
    controlled = any_run.result["plan"] != "short-timeline"
    assert ("switch.sink" in stalls["loops"]) == controlled
    if controlled:
        loop = stalls["loops"]["switch.sink"]
        assert loop["sources"] == ["nic"]
        assert loop["reaction_time_s"] >= told["reaction_time_s"] * 0.999


def test_every_link_of_a_quiet_run_is_balanced(any_run):
    for name, link in any_run.result["fidelity"]["links"].items():
        assert link["sent"] == link["received"] + link["lost"] + link["under_way"], name
        assert link["duplicated"] == link["reordered"] == link["lost"] == 0, name
        assert link["under_way"] <= IN_FLIGHT, name


def test_rates_are_kept_in_emulated_time(any_run):
    assert all(error <= 0.005 for error in any_run.result["fidelity"]["rate_error"].values())


# --- captures


def dissected(path: Path, condition: str, *fields: str) -> list[list[str]]:
    """What tshark reads of the frames that fulfil a condition."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    command = ["tshark", "-n", "-r", str(path), "-o", "ip.check_checksum:TRUE", "-Y", condition]
    command += ["-T", "fields", *(part for field in fields for part in ("-e", field))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in done.stderr.splitlines() if "as user" not in line]
    assert (done.returncode, complaints) == (0, [])
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_captured_data_is_tagged_udp_in_order(stepped):
    rows = dissected(
        stepped.folder / "captures" / "switch-sink.pcapng",
        "frame",
        *("vlan.priority", "vlan.id", "vlan.etype", "ip.checksum.status", "udp.dstport"),
        *("frame.len", "eth.src", "udp.srcport", "data.data", "frame.time_epoch"),
    )
    assert 0 <= last(stepped, "switch>sink", "frames_out") - len(rows) <= 1, "one is on its way"
    assert {tuple(row[:6]) for row in rows} == {("3", "1", "0x0800", "1", "51121", "1500")}
    sources = {row[6] for row in rows}
    assert len(sources) == 2, "each flow has a MAC of its own"
    assert all(source.startswith("02:54:42:") for source in sources)
    for source in sources:
        mine = [row for row in rows if row[6] == source]
        assert len({row[7] for row in mine}) == 1, "and a port"
        payloads = [bytes.fromhex(row[8]) for row in mine]
        assert all(payload[:4] == b"tBK1" for payload in payloads)
        numbers = [int.from_bytes(payload[8:16], "big") for payload in payloads]
        created = [int.from_bytes(payload[16:24], "big") for payload in payloads]
        cut = last(stepped, "nic>switch", "frames_dropped")
        assert numbers == sorted(set(numbers))
        assert 0 < numbers[-1] - numbers[0] + 1 - len(numbers) < cut, "the cut left a gap"
        assert created == sorted(created)
    times = [float(row[9]) for row in rows]
    assert times == sorted(times)
    assert 0.5 < times[-1] - times[0] < 0.6, "captures are in emulated time"


def test_captured_messages_are_congestion_notifications(qcn):
    path = qcn.folder / "captures" / "nic-switch.pcapng"
    rows = dissected(
        path, "vlan.etype == 0x22e7", *("eth.dst", "eth.src", "vlan.priority", "vlan.id"),
        *("frame.len", "data.data"),
    )  # fmt: skip
    assert len(rows) > 20
    assert {(row[2], row[3], row[4]) for row in rows} == {("3", "1", "106")}
    data = dissected(path, "udp", "eth.src", "eth.dst")
    sources, sinks = ({row[n] for row in data} for n in (0, 1))
    assert {row[0] for row in rows} <= sources, "told is a source of the flows"
    assert len({row[1] for row in rows}) == 1, "one congestion point"
    for to, point, _, _, _, octets in rows:
        pdu = bytes.fromhex(octets)
        version, feedback = pdu[0] >> 4, int.from_bytes(pdu[:2], "big") & 0x3F
        assert (version, pdu[0] & 0xF, pdu[1] >> 6) == (0, 0, 0)
        assert 1 <= feedback <= 63
        assert pdu[2:10] == bytes.fromhex(point.replace(":", "")) + bytes(2), "CPID"
        offset = int.from_bytes(pdu[10:12], "big", signed=True) * 64
        assert -33_000 <= offset <= 150_000 - 33_000
        assert pdu[14] >> 5 == 3, "the sampled frame's priority"
        assert pdu[16:22].hex(":") in sinks
        assert int.from_bytes(pdu[22:24], "big") == FRAME - 16
        sampled = pdu[24:]
        assert len(sampled) == 64
        assert sampled[:2] == bytes.fromhex("0800")
        assert sampled[14:18] == bytes([10, *bytes.fromhex(to.replace(":", ""))[3:]]), "its source"
        assert sampled[30:34] == b"tBK1"


def test_captured_pauses_are_mac_control_frames(paused):
    rows = dissected(
        paused.folder / "captures" / "nic-switch.pcapng",
        "macc",
        *("eth.dst", "eth.type", "macc.opcode", "macc.pause_time", "frame.len"),
    )
    sent = last(paused, "switch.sink", "pause_sent")
    assert 0 <= sent - len(rows) <= 2
    assert {(row[0], row[1], row[4]) for row in rows} == {("01:80:c2:00:00:01", "0x8808", "60")}
    assert {int(row[2], 16) for row in rows} == {1}
    assert {int(row[3]) for row in rows} == {0, 1000}


def test_the_capture_says_how_many_frames_came_after_it_was_full(qcn):
    for capture in qcn.recording.captures:
        assert len(capture.times_ps) == 20_000
        assert capture.dropped > 10_000


# --- plans with corners


def test_a_plan_without_any_delay_or_control_comes_to_its_end():
    """Nothing in it reacts to anything: the clock must be free to move all the same."""
    text = short_plans.TIMELINE.replace('delay = "50us"', "").replace("0.6s", "0.02s")
    text = text[: text.index("[[timeline]]")]
    done = run(Plan.load(text), target="software", out=None)
    assert last(done, "gen.0", "frames_received") > 100


# --- an ordinary user


@pytest.mark.slow
@pytest.mark.root
def test_an_ordinary_user_gets_the_same():
    python = ordinary_user_python()
    if python is None:
        pytest.skip("user nobody can execute no Python of this version with our packages")
    with tempfile.TemporaryDirectory() as home:
        cache = Path(home) / "numba"  # saves compiling again where it fits
        shutil.copytree(os.environ["NUMBA_CACHE_DIR"], cache)
        key = Path(home) / "cache.key"
        shutil.copy(private_cache.key_file(), key)
        (Path(home) / "plan.toml").write_text(short_plans.QCN)
        for path in (Path(home), *Path(home).rglob("*")):
            os.chown(path, 65534, 65534)
        command = [python, "-m", "orchestrator.cli", "run", f"{home}/plan.toml"]
        command += ["--target", "software", "--out", f"{home}/runs", "--json", "--no-report"]
        caches = {"NUMBA_CACHE_DIR": str(cache), private_cache.KEY: str(key)}
        done = as_nobody(command, {"HOME": home, **caches})
        assert done.returncode in (0, 3), done.stderr
        told = json.loads(done.stdout)
        assert os.stat(told["folder"]).st_uid == 65534
        assert (Path(told["folder"]) / "samples.parquet").exists()
    assert (done.returncode == 3) == (told["verdict"] == "invalid")
    assert sum(told["fidelity"]["lost_outside_queues"].values()) == 0
    assert [row["met"] for row in told["expectations"]] == [True, True]
    assert "Traceback" not in done.stderr
