"""Congestion points compiled from their kernels, on Verilated switches, against the simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firmware.verilated.model_build import missing_tools
from orchestrator.engine.records import DATA
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute_run import RunResult, run
from tests.firmware.test_target import PLANS, decoded, messages
from tests.test_third_party import HERE, cache, installed  # noqa: F401  (cache is a fixture)

builds_models = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))
FIELDS = ("feedback", "destination", "flow", "sequence", "mark", "offset", "delta")
OVERLOAD = (PLANS / "overload.toml").read_text()
BY_HAND = 'congestion_point = { plugin = "qcn-cp", preset = "netfpga", sample_base = "15KB" }'
NIC = 'kind = "nic"\n'
RED = 'plugin = "red", low = "5KB", high = "140KB", max_probability = "0.5"'
PIE = 'plugin = "pie", target = "50us", update_interval = "0.1ms", max_burst = "0s", '
PIE += 'alpha = "100", beta = "100"'
SHORT = ("--set", "duration=30ms", "--set", "phases.settled.from=10ms")
SHORT += ("--set", "phases.settled.to=30ms")


def plan(point: str, nic: str = NIC) -> Plan:
    """The plan without reaction points, with another congestion point."""
    assert BY_HAND in OVERLOAD
    text = OVERLOAD.replace(BY_HAND, f"congestion_point = {{ {point} }}")
    return Plan.load(text.replace(NIC, nic))


def on(target: str, made: Plan, **options: object) -> RunResult:
    return run(made, target=target, out=None, **options)


@pytest.mark.slow
@builds_models
def test_compiled_qcn_says_what_the_module_by_hand_says() -> None:
    made = Plan.load(OVERLOAD)
    by_hand, compiled = (on("gateware", made, forms=form) for form in ("by-hand", "compiled"))
    expected, found = (messages(one.recording, *FIELDS) for one in (by_hand, compiled))
    assert len(expected) >= 100
    assert [rest for _, *rest in found] == [rest for _, *rest in expected]
    later = [late - soon for (late, *_), (soon, *_) in zip(found, expected, strict=True)]
    assert 0 < min(later) <= max(later) < 10**6
    fidelity = compiled.result["fidelity"]
    assert fidelity["verdict"] == "valid"
    assert fidelity["compiled"]["switch.sink"]["events"] > 400
    assert "kernels of qcn-cp" in fidelity["models"]["switch"]


def tos(recording: Recording) -> list[tuple[int, int, int]]:
    """(flow, sequence, TOS octet) of the data frames that leave towards the sink."""
    found = []
    for capture in recording.captures:
        for k in range(len(capture.times_ps)):
            frame = decoded(capture, k)
            if capture.outgoing[k] and frame.kind == DATA:
                found.append((int(frame.flow), int(frame.sequence), int(frame.mark)))
    return found


@pytest.mark.slow
@builds_models
def test_the_same_frames_are_marked() -> None:
    """Sources send ECN-capable frames and do not react: CNPs would come from a NIC, not a sink."""
    made = plan(RED, NIC + 'reaction_points = 1\nreaction_point = { plugin = "dcqcn-rp" }\n')
    simulated, gateware = (on(target, made) for target in ("simulated", "gateware"))
    expected, found = tos(simulated.recording), tos(gateware.recording)
    assert abs(len(found) - len(expected)) <= 1  # one may be on its way when the run ends
    both = min(len(found), len(expected))
    assert found[:both] == expected[:both]
    marks = [mark for _, _, mark in found]
    assert marks.count(3) > 50
    assert marks.count(2) > 20
    sinks = [one.result["metrics"]["run"]["switch.sink"] for one in (simulated, gateware)]
    assert sinks[0]["frames.marked"] == sinks[1]["frames.marked"] > 200
    assert sinks[1]["queue_bytes.mean"] == pytest.approx(sinks[0]["queue_bytes.mean"], rel=0.02)
    assert gateware.result["fidelity"]["verdict"] == "valid"


LEAVING = {
    "red": RED + ', mark = "departure"',
    "codel": 'plugin = "codel", target = "200us", interval = "1ms"',
    "codel marking": 'plugin = "codel", target = "200us", interval = "0.1ms", ecn = true',
}
LINE_RATE = ("nodes.switch.service_rate=1Gb/s", "traffic.one.rate=600Mb/s")


@pytest.mark.slow
@builds_models
@pytest.mark.parametrize(
    ("point", "paced"),
    [(point, "service") for point in LEAVING] + [("red", "link"), ("codel", "link")],
)
def test_frames_that_leave_are_treated_as_on_the_simulator(point: str, paced: str) -> None:
    """They wait for the kernel's answer: the same are marked or dropped, in the same order.

    Where the link sets the pace the transmitter takes frames ahead by the time of an answer, and
    the marks of "codel marking" begin one frame later: docs/gateware.md.
    """
    react = 'reaction_points = 1\nreaction_point = { plugin = "dcqcn-rp" }\n'
    made = plan(LEAVING[point], NIC + react * (point != "codel"))
    made = made.with_settings([*LINE_RATE, "traffic.two.rate=600Mb/s"] if paced == "link" else [])
    simulated, gateware = (on(target, made) for target in ("simulated", "gateware"))
    expected, found = tos(simulated.recording), tos(gateware.recording)
    both = min(len(found), len(expected))
    ours, theirs = (one.result["metrics"]["run"]["switch.sink"] for one in (gateware, simulated))
    changed = "frames.dropped_early" if point == "codel" else "frames.marked"
    assert theirs[changed] >= 5
    # captures end a frame apart from counters: one may be on its way when the run ends
    assert abs(ours["frames.sent"] - theirs["frames.sent"]) <= 1
    assert both >= theirs["frames.sent"] - 1 > 200
    assert ours["queue_bytes.mean"] == pytest.approx(theirs["queue_bytes.mean"], rel=0.02)
    assert gateware.result["fidelity"]["verdict"] == "valid"
    assert found[:both] == expected[:both]
    assert abs(ours[changed] - theirs[changed]) <= 1


@pytest.mark.slow
@builds_models
def test_pie_drops_as_on_the_simulator() -> None:
    """Arrivals, departures and a timer call its kernels; a rule of chance drops."""
    simulated, gateware = (on(target, plan(PIE)) for target in ("simulated", "gateware"))
    early, full, mean = (
        [one.result["metrics"]["run"]["switch.sink"][name] for one in (simulated, gateware)]
        for name in ("frames.dropped_early", "frames.dropped", "queue_bytes.mean")
    )
    assert early[0] > 100
    assert abs(early[1] - early[0]) <= 2
    assert abs(full[1] - full[0]) <= 2
    assert mean[1] == pytest.approx(mean[0], rel=0.02)
    columns = [
        one.recording.values[-1, place]
        for one in (simulated, gateware)
        for place, column in enumerate(one.recording.columns)
        if (column.entity, column.quantity) == ("switch.sink", "delay")
    ]
    assert columns[1] == pytest.approx(columns[0], rel=0.02)
    assert columns[0] > 10**9


@pytest.mark.slow
@builds_models
def test_dcqcn_closes_its_loop_from_kernels_alone() -> None:
    """A switch marks, a simulated NIC notifies, NICs on gateware react to its CNPs."""
    made = Plan.load((PLANS / "marking.toml").read_text())
    simulated = on("simulated", made)
    gateware = on("gateware", made.with_settings(["nodes.receiver.target=simulated"]))
    for result in (simulated, gateware):
        metrics = result.result["metrics"]["settled"]
        assert metrics["switch.receiver"]["frames.marked"] > 100
        for limiter in ("nic1.rp0", "nic2.rp0"):
            assert metrics[limiter]["feedback.received"] > 20
            assert metrics[limiter]["rate_bps.min"] < 10**8
    means = [
        one.result["metrics"]["settled"]["switch.receiver"]["queue_bytes.mean"]
        for one in (simulated, gateware)
    ]
    assert means[1] == pytest.approx(means[0], rel=0.02)
    fidelity = gateware.result["fidelity"]
    assert fidelity["verdict"] == "valid"
    assert "kernels of dcqcn-rp" in fidelity["models"]["nic1"]
    assert fidelity["compiled"]["nic1"]["events"] > 200


@pytest.mark.slow
@builds_models
def test_an_algorithm_from_outside_runs_from_its_kernels_alone(
    cache: Path,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A package that pip installs, without a line of Verilog."""
    python = installed(HERE / "threshold-cp", tmp_path_factory, cache)
    found = []
    for target in ("simulated", "gateware"):
        command = [
            "-m",
            "orchestrator.cli",
            "run",
            HERE / "threshold.toml",
            "--target",
            target,
            "--json",
        ]
        command += ["--no-report", "--out", "runs", *SHORT]
        done = python(*command)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout)["metrics"]["run"])
    simulated, gateware = found
    for name in ("rate_bps.min", "rate_bps.max"):  # what the messages said, to the bit/s
        assert gateware["nic.rp0"][name] == simulated["nic.rp0"][name]
    ours, theirs = gateware["switch.sink"], simulated["switch.sink"]
    assert ours["feedback.sent"] == pytest.approx(theirs["feedback.sent"], abs=1)
    assert theirs["feedback.sent"] > 10
    assert ours["queue_bytes.max"] == pytest.approx(theirs["queue_bytes.max"], rel=0.05)
