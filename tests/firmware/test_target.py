"""Target gateware: plans on Verilated nodes, against the same plans on the simulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firmware.cards.card_check import check_plan
from firmware.gateware_target import Gateware
from firmware.verilated.fabric_binding import Fabric
from firmware.verilated.model_build import missing_tools
from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import CNM
from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.recording import PortCapture, Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import RunResult, run
from traces import pcapng
from traces.oracle.conformance_judge import Judgement, judge
from traces.oracle.conformance_judge import Settings as Known
from traces.oracle.replay_command import clocked, lateness
from traces.oracle.rule_violation import Finding

PLANS = Path(__file__).parent / "plans"
SHIPPED = Path(__file__).parents[2] / "plugins" / "plans"
builds_models = pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools()))


def on(target: str, path: Path, *settings: str) -> RunResult:
    """Run a plan, keep nothing."""
    plan = Plan.load(path.read_text())
    return run(plan.with_settings([*settings]) if settings else plan, target=target, out=None)


def messages(recording: Recording, *more: str) -> list[tuple[int, ...]]:
    """(time in ps, feedback, `more` fields) of every message that the captured ports sent, in time
    order."""
    found = []
    for capture in recording.captures:
        for k in range(len(capture.times_ps)):
            frame = decoded(capture, k)
            if capture.outgoing[k] and frame.kind == CNM:
                fields = [int(frame[name]) for name in ("feedback", *more)]
                found.append((int(capture.times_ps[k]), *fields))
    return sorted(found)


def decoded(capture: PortCapture, k: int) -> Any:
    frame = empty_descriptors(1)
    decode(capture.octets[k], int(capture.lengths[k]), frame[0])
    return frame[0]


def clocks_of(folder: Path) -> Known:
    """What the oracle takes into account of a gateware run."""
    clocks = clocked(folder)
    assert clocks is not None
    return Known(late_ns=lateness(folder), window_ns=clocks.act_ns, clocked=clocks)


def totals(result: RunResult, entity: str) -> dict[str, Any]:
    metrics: dict[str, Any] = result.result["metrics"]["run"][entity]
    return metrics


@pytest.fixture(scope="module")
def overloaded() -> RunResult:
    """The plan without reaction points, on gateware."""
    if (lack := missing_tools()) is not None:
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


OCCUPANCY = "nodes.switch.congestion_point.sampling=occupancy-random"


@pytest.fixture(scope="module")
def occupied() -> RunResult:
    """The same, where a source is told by the room that it takes."""
    if (lack := missing_tools()) is not None:
        pytest.skip(str(lack))
    return on("gateware", PLANS / "overload.toml", OCCUPANCY)


def test_the_same_sources_are_told_by_occupancy(occupied: RunResult) -> None:
    """About the same frames: each message is drawn from what stood in the queue at its sample."""
    fields = ("destination", "flow", "sequence", "mark", "offset", "delta")
    simulated = on("simulated", PLANS / "overload.toml", OCCUPANCY)
    expected = messages(simulated.recording, *fields)
    found = messages(occupied.recording, *fields)
    assert len(expected) >= 30
    assert abs(len(found) - len(expected)) <= 1
    both = min(len(found), len(expected))
    assert [rest for _, *rest in found[:both]] == [rest for _, *rest in expected[:both]]
    arriving = messages(on("simulated", PLANS / "overload.toml").recording, *fields)
    assert [rest for _, *rest in arriving] != [rest for _, *rest in expected]
    assert len({destination for _, _, destination, *_ in found}) == 2
    assert occupied.result["fidelity"]["verdict"] == "valid"


@builds_models
def test_units_are_looked_through_after_some_searches() -> None:
    """The queue fills a few of its units only when it is sampled first: two searches miss."""
    short = ["duration=3ms", "phases.all.to=3ms", OCCUPANCY]
    short += ["nodes.switch.congestion_point.searches=2"]
    simulated, gateware = (
        on(target, PLANS / "overload.toml", *short) for target in ("simulated", "gateware")
    )
    fields = ("destination", "flow", "sequence")
    expected = [rest for _, *rest in messages(simulated.recording, *fields)]
    found = [rest for _, *rest in messages(gateware.recording, *fields)]
    assert len(found) >= 10
    assert found == expected[: len(found)]
    assert len(expected) - len(found) <= 1
    without = on("simulated", PLANS / "overload.toml", *short[:-1])
    assert expected != [rest for _, *rest in messages(without.recording, *fields)]


def kept(one: RunResult, plan: Plan, folder: Path) -> Known:
    """A run's captures in a folder, as `run.pcapng`; what the oracle takes into account of it."""
    pcapng.write(folder / "run.pcapng", one.recording.captures)
    (folder / "result.json").write_text(json.dumps(one.result))
    (folder / "plan.toml").write_text(plan.to_toml())
    return clocks_of(folder)


@pytest.mark.parametrize(
    ("settings", "others"), [([], []), ([OCCUPANCY], ["searches=1", "sampling=arrival"])]
)
def test_the_oracle_finds_nothing_in_its_captures(
    settings: list[str],
    others: list[str],
    overloaded: RunResult,
    occupied: RunResult,
    tmp_path: Path,
) -> None:
    plan = Plan.load((PLANS / "overload.toml").read_text()).with_settings(settings)
    one = occupied if settings else overloaded
    known = kept(one, plan, tmp_path)
    found = judge([tmp_path / "run.pcapng"], plan.check(Registry.load()), known)
    assert found.conforming, [finding.as_json() for finding in found.findings]
    switch = next(node for node in found.nodes if node.name == "switch")
    assert switch.undecided == []
    assert switch.frames > 300
    assert len(messages(one.recording)) >= 30

    # it is held to the plan's parameters: those of another one are a departure
    def departures(wrong: str) -> list[Finding]:
        other = plan.with_settings([f"nodes.switch.congestion_point.{wrong}"])
        return judge([tmp_path / "run.pcapng"], other.check(Registry.load()), known).findings

    assert [finding.rule for finding in departures("weight=3")] == ["cp.feedback"]
    for wrong in others:  # who is told is a matter of what is drawn
        assert [finding.departure.node for finding in departures(wrong)] == ["switch"], wrong


@builds_models
def test_the_oracle_finds_nothing_where_nics_react(tmp_path: Path) -> None:
    plan = Plan.load((PLANS / "react.toml").read_text())
    folder = run(plan, target="gateware", out=tmp_path, report=False).folder
    assert folder is not None
    known = clocks_of(folder)
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


@builds_models
def test_without_extra_fast_recovery_every_message_sets_the_target(tmp_path: Path) -> None:
    keys = [f"nodes.nic{number}.reaction_point.extra_fast_recovery" for number in (1, 2)]
    usual = Plan.load((PLANS / "react.toml").read_text())
    plan = usual.with_settings([f"{key}=false" for key in keys])
    folder = run(plan, target="gateware", out=tmp_path, report=False).folder
    assert folder is not None
    known, captures = clocks_of(folder), sorted((folder / "captures").iterdir())
    found = judge(captures, plan.check(Registry.load()), known)
    assert found.conforming, [finding.as_json() for finding in found.findings]
    with_it = judge(captures, usual.check(Registry.load()), known).findings
    assert {finding.departure.node for finding in with_it} == {"nic1", "nic2"}


@builds_models
@pytest.mark.parametrize("rates", [("500Mb/s", "500Mb/s"), ("200Mb/s", "800Mb/s")])
def test_a_nic_of_two_ports_is_a_block_for_each(rates: tuple[str, str], tmp_path: Path) -> None:
    """Messages reach the flow whose port they come in by, and each flow its own limiter, whichever
    is told first."""
    settings = [f"traffic.{flow}.rate={r}" for flow, r in zip(("one", "two"), rates, strict=True)]
    plan = Plan.load((PLANS / "ports.toml").read_text()).with_settings(settings)
    result = run(plan, target="gateware", out=tmp_path, report=False)
    assert result.folder is not None
    assert set(result.result["fidelity"]["models"]) == {"nic.up1", "nic.up2", "switch"}
    node, port = totals(result, "nic"), totals(result, "switch.sink")
    reacted = [totals(result, f"nic.rp{number}")["feedback.received"] for number in (0, 1)]
    assert min(reacted) >= 5
    assert node["feedback.ignored"] == 0
    assert port["feedback.sent"] - 2 <= sum(reacted) <= port["feedback.sent"]  # some on their way
    known, captures = clocks_of(result.folder), sorted((result.folder / "captures").iterdir())

    def judged(*settings: str) -> Judgement:
        return judge(captures, plan.with_settings([*settings]).check(Registry.load()), known)

    found = judged()
    assert found.conforming, [finding.as_json() for finding in found.findings]
    assert {node.name for node in found.nodes if node.frames > 200} == {"nic", "switch"}
    slower = judged("nodes.nic.reaction_point.byte_reset=60KB")
    assert [finding.departure.node for finding in slower.findings] == ["nic"]


@builds_models
@pytest.mark.parametrize("delay", ["0ns", "1us"])
def test_nodes_that_go_ahead_of_each_other_hear_nothing_late(
    delay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run with all nodes side by side, clock by clock."""
    first, rest = (PLANS / "react.toml").read_text().split("[nodes.nic1]")
    nics, switch = rest.split("[nodes.switch]")
    switch, later = switch.split("[nodes.sink]")
    # the switch goes first; it sends at once what it hears, then there is a queue and messages
    text = f"{first}[nodes.switch]{switch}[nodes.nic1]{nics}[nodes.sink]{later}"
    short = ["duration=1ms", "phases.all.from=0.2ms", "phases.all.to=1ms"]
    short += [f"links.{link}.delay={delay}" for link in ("up1", "up2")]
    short += ["traffic.one.rate=300Mb/s", "traffic.two.rate=900Mb/s", "traffic.two.start=0.4ms"]
    plan = Plan.load(text).with_settings(short)
    ahead = run(plan, target="gateware", out=None).recording
    in_one_go = Fabric.run

    def clock_by_clock(fabric: Fabric, until: int, *, accesses: bool = False) -> int:
        if accesses:
            return in_one_go(fabric, until, accesses=True)
        now = in_one_go(fabric, 0)
        while now < until:
            now = in_one_go(fabric, now + fabric.period)
        return now

    monkeypatch.setattr(Fabric, "run", clock_by_clock)
    beside = run(plan, target="gateware", out=None).recording
    assert np.array_equal(ahead.values, beside.values)
    assert len(messages(beside)) > 2
    for one, other in zip(ahead.captures, beside.captures, strict=True):
        assert len(one.times_ps) > 20
        for name in ("times_ps", "outgoing", "lengths", "octets"):
            assert np.array_equal(getattr(one, name), getattr(other, name))


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
def test_counters_of_a_phase_are_those_of_its_edges() -> None:
    """The rate rises tenfold where the phase ends: what leaves from then on is not the phase's."""
    steps = "".join(
        f'\n[[timeline]]\nat = "{at}"\nset = "nodes.switch.service_rate"\nto = "{rate}"\n'
        for at, rate in (("2ms", "100Mb/s"), ("4ms", "1Gb/s"))
    )
    text = (PLANS / "overload.toml").read_text()
    text = text.replace(
        "[phases.all]", f'{steps}\n[phases.low]\nfrom = "2ms"\nto = "4ms"\n[phases.all]'
    )
    plan = Plan.load(text)
    low = {
        target: (found := run(plan, target=target, out=None)).result["metrics"]["low"][
            "switch.sink"
        ]
        for target in ("simulated", "gateware")
    }
    assert abs(low["gateware"]["frames.sent"] - low["simulated"]["frames.sent"]) <= 1, low
    late = found.result["fidelity"]["samples_late_s"]
    assert 0 < late["counters"] < 2e-6 < late["registers"] < 1e-3
    assert f"{late['counters'] * 1e6:.2f} us late" in found.result["fidelity"]["note"]


@builds_models
@pytest.mark.slow
def test_scaled_figure_11_is_met() -> None:
    from scipy import stats  # slow to import

    plan = SHIPPED / "netfpga-fig11-scaled.toml"
    gateware = on("gateware", plan)
    assert gateware.result["verdict"] == "met", gateware.result["expectations"]
    # Every interval is spread by +-15 % and every source has a phase and a clock of its own: what
    # another 20 seeds give bounds what one more does (prediction interval, 99.8 %).
    ours = totals(gateware, "switch.sink")
    others = [totals(on("simulated", plan, f"seed={seed}"), "switch.sink") for seed in range(1, 21)]
    for name in ("feedback.sent", "queue_bytes.mean", "utilization"):
        values = np.array([other[name] for other in others])
        bound = stats.t.ppf(0.999, 19) * values.std(ddof=1) * (1 + 1 / 20) ** 0.5
        assert abs(ours[name] - values.mean()) <= bound, (name, ours[name], values)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["nodes.nic1.host_queues=shared"], "nic1: its flows have queues of their own"),
        (["nodes.nic2.reaction_time=1us"], "nic2: its limiters act at once"),
        (["nodes.switch.congestion_point.sampling=occupancy-max"], "switch.*occupies the most"),
        ([OCCUPANCY, "nodes.switch.congestion_point.keep_alive=true"], "switch.*by link time"),
        (["nodes.switch.inputs={}"], "switch: it is output queued"),
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


@pytest.mark.parametrize("verb", ["drop", "mark", "corrupt", "delay", "duplicate"])
def test_a_fault_of_a_single_frame_is_refused_by_the_port_on_a_circuit(verb: str) -> None:
    step = f'[[timeline]]\nat = "0s"\n{verb} = "one"\n' + 'by = "1us"\n' * (verb == "delay")
    text = (PLANS / "overload.toml").read_text()
    registry = Registry.load()
    with pytest.raises(Refused, match=rf"nic1\.switch: it cannot {verb} a single frame of one"):
        Gateware().check(Plan.load(text + step).check(registry), registry.targets)
    elsewhere = Plan.load(text + step).with_settings(["nodes.nic1.target=simulated"])
    Gateware().check(elsewhere.check(registry), registry.targets)


def test_a_host_that_forwards_is_refused_by_name() -> None:
    more = '[links.two]\nends = ["nic1", "sink"]\nrate = "1Gb/s"\n\n[phases.all]'
    plan = Plan.load((PLANS / "overload.toml").read_text().replace("[phases.all]", more))
    plan = plan.with_settings(["nodes.nic1.forwards=true"])
    with pytest.raises(Refused, match=r"nic1: it forwards no frames of others"):
        Gateware().check(plan.check(Registry.load()), Registry.load().targets)


@pytest.mark.parametrize(
    ("before", "after"), [("arrival", "occupancy-random"), ("occupancy-random", "head")]
)
def test_sampling_by_occupancy_neither_begins_nor_ends_in_a_run(before: str, after: str) -> None:
    key = "nodes.switch.congestion_point.sampling"
    step = f'[[timeline]]\nat = "2ms"\nset = "{key}"\nto = "{after}"\n'
    text = (PLANS / "overload.toml").read_text()
    plan = Plan.load(text.replace("[phases.all]", f"{step}\n[phases.all]"))
    plan = plan.with_settings([f"{key}={before}"])
    with pytest.raises(Refused, match="it does not change to or from sampling by occupancy"):
        Gateware().check(plan.check(Registry.load()), Registry.load().targets)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('via = "up2"', "", "traffic.two: nic has several ports.*`via`"),
        ("reaction_points = 2", "reaction_points = 1", "nic: its ports share no limiters, and 1 "),
    ],
)
def test_ports_of_a_nic_need_flows_and_limiters_of_their_own(old: str, new: str, said: str) -> None:
    plan = Plan.load((PLANS / "ports.toml").read_text().replace(old, new))
    with pytest.raises(Refused, match=f"(?s)target gateware: {said}"):
        Gateware().check(plan.check(Registry.load()), Registry.load().targets)


@pytest.mark.parametrize("figure", range(8, 14))
def test_figures_of_netfpga_are_accepted(figure: int) -> None:
    plan = Plan.load(SHIPPED / f"netfpga-fig{figure:02}.toml")
    Gateware().check(plan.check(Registry.load()), Registry.load().targets)


def test_a_nic_of_a_card_has_one_port() -> None:
    plan = Plan.load((PLANS / "ports.toml").read_text())
    with pytest.raises(Refused, match="nic: a NIC of a card has one port, the plan wants 2"):
        check_plan(plan.check(Registry.load()), {"nic", "switch"})


def test_all_that_gateware_lacks_is_refused_at_once() -> None:
    settings = [
        "nodes.nic1.host_queues=shared",
        "nodes.nic2.reaction_time=1us",
        "nodes.switch.spread=frames",
        "nodes.switch.congestion_point.sampling=occupancy-max",
        "links.up1.rate=300Gb/s",
    ]
    plan = Plan.load((PLANS / "overload.toml").read_text()).with_settings(settings)
    with pytest.raises(Refused) as refusal:
        Gateware().check(plan.check(Registry.load()), Registry.load().targets)
    said = str(refusal.value)
    assert said.startswith("target gateware: it lacks 6 things"), said
    for words in (
        "nic1: its flows have queues of their own. Set host_queues",
        "nic2: its limiters act at once. Set reaction_time to 0.",
        "switch: it knows no 'spread'",
        "the source that occupies the most. Set sampling",
        "nic1: its links carry 300 Gb/s",
        "switch: its links carry",
    ):
        assert words in said, said


def test_what_many_nodes_lack_is_said_once() -> None:
    plan = Plan.load(SHIPPED / "ibm-rack64.toml")
    with pytest.raises(Refused) as refusal:
        Gateware().check(plan.check(Registry.load()), Registry.load().targets)
    said = str(refusal.value)
    assert "\n  h1, h2, h3, h4 and 60 more: its flows have queues of their own. Set host" in said
    lines = said.splitlines()
    assert lines[0].startswith(f"target gateware: it lacks {len(lines) - 1} things. Where")
    assert len(lines) < 10


def test_other_targets_do_not_join_nodes() -> None:
    with pytest.raises(Refused, match="nic1 wants to live on gateware"):
        on("simulated", PLANS / "overload.toml", "nodes.nic1.target=gateware")


def test_without_a_compiler_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Refused, match=r"g\+\+.*sudo apt-get install g\+\+|pip install"):
        on("gateware", PLANS / "overload.toml")
