"""Target gateware: plans on Verilated nodes, against the same plans on the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firmware.model.build import lacking
from orchestrator.errors import Refused
from orchestrator.frames import decode
from orchestrator.node.records import CNM, FRAME
from orchestrator.plan import Plan
from orchestrator.recording import PortCapture, Recording
from orchestrator.registry import Registry
from orchestrator.run import RunResult, run
from traces import pcapng
from traces.replay.command import clocked, lateness
from traces.replay.judge import Judgement, judge
from traces.replay.judge import Settings as Known

PLANS = Path(__file__).parent / "plans"
SHIPPED = Path(__file__).parents[2] / "plugins" / "plans"
builds_models = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))


def on(target: str, path: Path, *settings: str) -> RunResult:
    """Run a plan, keep nothing."""
    plan = Plan.load(path.read_text())
    return run(plan.with_settings([*settings]) if settings else plan, target=target, out=None)


def messages(recording: Recording) -> list[tuple[int, int]]:
    """(time in ps, feedback) of every message that the captured ports sent, in time order."""
    found = []
    for capture in recording.captures:
        for k in range(len(capture.times_ps)):
            frame = decoded(capture, k)
            if capture.outgoing[k] and frame.kind == CNM:
                found.append((int(capture.times_ps[k]), int(frame.feedback)))
    return sorted(found)


def decoded(capture: PortCapture, k: int) -> Any:
    frame = np.zeros(1, FRAME).view(np.recarray)
    decode(capture.octets[k], int(capture.lengths[k]), frame[0])
    return frame[0]


def totals(result: RunResult, entity: str) -> dict[str, Any]:
    metrics: dict[str, Any] = result.result["metrics"]["run"][entity]
    return metrics


@pytest.fixture(scope="module")
def overloaded() -> RunResult:
    """The plan without reaction points, on gateware."""
    if (lack := lacking()) is not None:
        pytest.skip(str(lack))
    return on("gateware", PLANS / "overload.toml")


def test_same_arrivals_and_seed_give_the_same_feedback(overloaded: RunResult) -> None:
    simulated, gateware = on("simulated", PLANS / "overload.toml"), overloaded
    expected, found = messages(simulated.recording), messages(gateware.recording)
    assert len(expected) >= 30
    assert abs(len(found) - len(expected)) <= 1  # one may be on its way when the run ends
    both = min(len(found), len(expected))
    assert [f for _, f in found[:both]] == [f for _, f in expected[:both]]
    for (when, _), (then, _) in zip(found, expected, strict=False):
        assert 0 <= when - then < 16_000_000  # the path through the switch, its arbiter, its port
    assert gateware.result["fidelity"]["verdict"] == "valid"
    for entity in ("switch.sink", "nic1>switch", "nic2>switch", "switch>sink"):
        ours, theirs = totals(gateware, entity), totals(simulated, entity)
        for metric in ("frames.sent", "frames.dropped"):
            assert abs(ours[metric] - theirs[metric]) <= 2, (entity, metric)
    latency = [totals(r, "one")["latency_s.p50"] for r in (gateware, simulated)]
    assert latency[0] == pytest.approx(latency[1], rel=0.05)


def test_the_oracle_finds_nothing_in_its_captures(overloaded: RunResult, tmp_path: Path) -> None:
    plan = Plan.load((PLANS / "overload.toml").read_text())
    pcapng.write(tmp_path / "run.pcapng", overloaded.recording.captures)
    (tmp_path / "result.json").write_text(json.dumps(overloaded.result))
    known = Known(late_ns=lateness(tmp_path))
    found = judge([tmp_path / "run.pcapng"], plan.check(Registry.load()), known)
    assert found.conforming, [finding.as_json() for finding in found.findings]
    switch = next(node for node in found.nodes if node.name == "switch")
    assert switch.undecided == []
    assert switch.frames > 300
    assert len(messages(overloaded.recording)) >= 30
    # it is held to the plan's parameters: those of another one are a departure
    other = plan.with_settings(["nodes.switch.congestion_point.weight=3"]).check(Registry.load())
    wrong = judge([tmp_path / "run.pcapng"], other, known)
    assert [finding.rule for finding in wrong.findings] == ["cp.feedback"]


@builds_models
def test_the_oracle_finds_nothing_where_nics_react(tmp_path: Path) -> None:
    plan = Plan.load((PLANS / "react.toml").read_text())
    folder = run(plan, target="gateware", out=tmp_path, report=False).folder
    assert folder is not None
    window_ns, bus_bps = clocked(folder)
    known = Known(late_ns=lateness(folder), window_ns=window_ns, bus_bps=bus_bps)
    captures = sorted((folder / "captures").iterdir())

    def judged(*settings: str) -> Judgement:
        return judge(captures, plan.with_settings([*settings]).check(Registry.load()), known)

    found = judged()
    assert found.conforming, [finding.as_json() for finding in found.findings]
    assert {node.name for node in found.nodes if node.frames > 100} == {"nic1", "nic2", "switch"}
    # a limiter with another parameter, or another congestion point, is a departure all the same
    slower = judged("nodes.nic1.reaction_point.byte_reset=60KB")
    assert [finding.rule for finding in slower.findings if finding.departure.node == "nic1"]
    heavier = judged("nodes.switch.congestion_point.weight=3")
    assert [finding.departure.node for finding in heavier.findings] == ["switch"]


HELD = """
[[timeline]]
at = "2ms"
pause = "{port}"

[[timeline]]
at = "3ms"
resume = "{port}"
"""


@builds_models
@pytest.mark.parametrize("port", ["switch.sink", "nic1.switch"])
def test_a_step_holds_a_port_and_lets_it_go(port: str) -> None:
    """As on the simulator: how long it was held, and what it sent before and afterwards."""
    plan = Plan.load((PLANS / "overload.toml").read_text() + HELD.format(port=port))
    simulated, gateware = (run(plan, target=t, out=None) for t in ("simulated", "gateware"))
    link = port.replace(".", ">")
    ours, theirs = totals(gateware, link), totals(simulated, link)
    assert theirs["pause.time_s"] == pytest.approx(1e-3)
    assert ours["pause.time_s"] == pytest.approx(1e-3, abs=2e-6)  # registers are written in turn
    assert abs(ours["frames.sent"] - theirs["frames.sent"]) <= 2
    assert gateware.result["fidelity"]["verdict"] == "valid"


@builds_models
@pytest.mark.parametrize("node", ["switch", "nic2"])
def test_gateware_among_simulated_nodes(node: str) -> None:
    """A gateware switch between simulated NICs, and a gateware NIC among simulated nodes."""
    others = [name for name in ("nic1", "nic2", "switch") if name != node]
    settings = [f"nodes.{name}.target=simulated" for name in others] + ["duration=3ms"]
    settings += ["phases.all.to=3ms"]
    mixed = on("gateware", PLANS / "overload.toml", *settings)
    pure = on("simulated", PLANS / "overload.toml", "duration=3ms", "phases.all.to=3ms")
    assert list(mixed.result["fidelity"]["models"]) == [node]
    assert [f for _, f in messages(mixed.recording)] == [f for _, f in messages(pure.recording)]
    for entity in ("switch.sink", "nic1>switch", "nic2>switch"):
        ours, theirs = totals(mixed, entity), totals(pure, entity)
        assert abs(ours["frames.sent"] - theirs["frames.sent"]) <= 1, entity


@builds_models
@pytest.mark.slow
def test_scaled_figure_11_is_met() -> None:
    plan = SHIPPED / "netfpga-fig11-scaled.toml"
    simulated, gateware = on("simulated", plan), on("gateware", plan)
    assert gateware.result["verdict"] == "met", gateware.result["expectations"]
    ours, theirs = totals(gateware, "switch.sink"), totals(simulated, "switch.sink")
    # every interval is spread by +-15 %, so is what two runs of different arrivals count
    assert ours["feedback.sent"] == pytest.approx(theirs["feedback.sent"], rel=0.15)
    assert ours["queue_bytes.mean"] == pytest.approx(theirs["queue_bytes.mean"], rel=0.1)
    assert ours["utilization"] == pytest.approx(theirs["utilization"], rel=0.03)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["nodes.nic1.host_queues=shared"], "nic1: its flows have queues of their own"),
        (["nodes.nic2.reaction_time=1us"], "nic2: its limiters act at once"),
        (["nodes.switch.congestion_point.sampling=occupancy-max"], "switch.*samples arrivals"),
        (["nodes.switch.target=software"], "switch: target 'software'"),
        (["links.up1.delay_line.plugin=jittered-delay"], "up1: the delay_line jittered-delay"),
        (["links.up1.rate=300Gb/s"], "links carry"),
        (["nodes.switch.spread=frames"], "switch: it knows no 'spread'"),
        (["nodes.switch.forwards_by=ip"], "switch: it knows no 'forwards_by'"),
        ([f"nodes.{n}.target=simulated" for n in ("nic1", "nic2", "switch")], "none of its nodes"),
    ],
)
@builds_models
def test_what_gateware_lacks_is_refused_by_name(settings: list[str], said: str) -> None:
    with pytest.raises(Refused, match=f"(?s)target gateware: .*{said}"):
        on("gateware", PLANS / "overload.toml", *settings)


def test_other_targets_do_not_join_nodes() -> None:
    with pytest.raises(Refused, match="nic1 wants to live on gateware"):
        on("simulated", PLANS / "overload.toml", "nodes.nic1.target=gateware")


def test_without_a_compiler_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Refused, match=r"g\+\+.*sudo apt-get install g\+\+|pip install"):
        on("gateware", PLANS / "overload.toml")
