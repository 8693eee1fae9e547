"""Runs across machines, with namespaces as machines and veth as cables.

Nothing here judges how fast this machine is: what is asserted is order and outcome; times are
printed. Whether a run is `met` in real time is for an idle machine to say (docs/testbed.md).
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from orchestrator.targets.software.namespace_probe import probe
from orchestrator.targets.software.worker_process import run_job
from tests.trials import plans
from tests.trials.scenarios import AHEAD_S
from traces.compare import compare
from traces.run_reader import load

SCENARIOS = "tests.trials.scenarios:"
PACE = 0.2

pytestmark = [pytest.mark.software, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    """They are to be had, and what is compiled is in the cache: not once per agent at a time."""
    refused = probe()
    if refused is not None:
        pytest.skip(str(refused))
    plans.compile_once()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = run_job(SCENARIOS + "failures", str(tmp_path_factory.mktemp("lab")))
    return found


def test_a_run_across_machines_leaves_a_whole_folder_and_clean_machines(told):
    sound = told["sound"]
    assert sound["verdict"] in ("unjudged", "invalid"), sound
    folder = Path(sound["folder"])
    names = {path.name for path in folder.iterdir()}
    assert {"plan.toml", "manifest.json", "samples.parquet", "events.jsonl", "result.json"} <= names
    assert (folder / "captures" / "sink-switch.pcapng").stat().st_size > 10_000
    result = json.loads((folder / "result.json").read_text())
    assert result["machines"] == {"left": ["nic", "switch"], "right": ["sink"]}
    assert sum(result["fidelity"]["lost_outside_queues"].values()) == 0, "nothing got lost"
    stalls = result["fidelity"]["stalls"]
    assert set(stalls["machines"]) == {"left", "right"}
    assert sum(row["count"] for row in stalls["machines"].values()) == stalls["count"]
    assert {row["machine"] for row in stalls["longest"]} <= {"left", "right"}
    assert result["metrics"]["run"]["gen"]["frames.received"] > 1000
    rows = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    said = [(row["entity"], row["detail"].get("text")) for row in rows if row["kind"] == "machine"]
    for machine in ("left", "right"):
        mine = [text for entity, text in said if entity == machine]
        assert mine[1:] == ["building", "compiling", "ready", "running", "ended", "collected"]
    assert sound["left"] == {}


def test_a_sweep_across_machines_takes_turns_and_goes_on_where_it_was(tmp_path: Path) -> None:
    """Killed with one point kept, of four: the second command runs the others."""
    import pyarrow.parquet as pq

    told: dict[str, Any] = run_job(SCENARIOS + "swept", str(tmp_path))
    assert told["code"] == 0, told["said"]
    result = told["result"]
    if result["invalid"] or not told["before"]:
        pytest.skip(f"this machine distorts it: {told['said'][-500:]}")
    assert (result["target"], result["points"]) == ("software", 4)
    assert (told["before"], told["kept"]) == (1, 4)
    again = told["said"].count("run again")
    assert told["begun"] - told["first"] == 3 + again, "what was kept is not run again"
    rows = pq.read_table(Path(result["folder"]) / "points").to_pylist()
    assert [(row["traffic.gen.rate"], row["seed"]) for row in rows] == [
        (rate, seed) for rate in (20e6, 40e6) for seed in (1, 2)
    ]
    for row in rows:
        assert row["throughput_bps of gen in run"] == pytest.approx(
            row["traffic.gen.rate"], rel=0.1
        )
    assert told["left"] == {}
    assert set(told["codes"].values()) == {0}


def test_whoever_asked_for_a_run_has_its_folder(told):
    mine = Path(told["sound"]["folder"])
    assert mine.parent.parent.name == "mine"
    there = mine.parents[2] / "runs" / mine.parent.name / mine.name
    names = [path.relative_to(there) for path in there.rglob("*") if path.is_file()]
    assert [(mine / name).read_bytes() for name in names] == [
        (there / name).read_bytes() for name in names
    ]
    assert load(mine).result.verdict == told["sound"]["verdict"]


def test_captures_say_whose_clock_they_are_by(told):
    folder = Path(told["sound"]["folder"])
    right = json.loads((folder / "result.json").read_text())["clocks"]["machines"]["right"]
    said = (folder / "captures" / "sink-switch.pcapng").read_bytes()[:1000]
    bound = re.search(
        rb"captured on right; times are by the controller's clock within (\d+) ns", said
    )
    assert bound is not None, said
    assert int(bound[1]) == round(right["error_s"] * 1e9)
    assert abs(right["captures"]["added_s"]) < 1


def test_clocks_that_are_far_apart_are_one_clock_in_the_result(told):
    """The right machine's clock is AHEAD_S ahead; frames take microseconds from left to right."""
    result = json.loads((Path(told["sound"]["folder"]) / "result.json").read_text())
    clocks = result["clocks"]
    right = clocks["machines"]["right"]
    assert clocks["machines"]["left"]["method"] == "one kernel, one clock"
    assert right["method"] == "exchanges"
    print(f"offset {right['offset_s']} s, known to {right['error_s'] * 1e6:.0f} us")
    assert abs(right["offset_s"] - AHEAD_S) <= right["error_s"] + 1e-6
    assert clocks["error_s"] >= right["error_s"] > 0
    assert (clocks["verdict"] == "valid") == (clocks["error_s"] <= clocks["measured_s"])
    told_so = any("clocks of the machines" in reason for reason in told["sound"]["reasons"])
    assert told_so == (clocks["verdict"] == "degraded")
    delays = clocks["delays"]["gen"]
    assert delays["error_s"] >= right["error_s"], "what the sink measured is by its clock"
    assert abs(delays["added_s"]) <= right["samples"]["off_s"] + 1e-12
    assert abs(result["metrics"]["run"]["gen"]["latency_s.p50"]) < 0.1 + right["error_s"]


def test_the_console_sees_a_run_across_machines(told):
    seen = told["watched"]
    assert seen["rows"] > 100
    assert seen["contiguous"]
    assert seen["machines"] == {"left": ["nic", "switch"], "right": ["sink"]}
    assert seen["verdict"] == told["sound"]["verdict"]
    assert {"building", "ready", "running", "ended"} <= set(seen["events"])
    assert seen["stranger"] == 0
    assert "not among the authorised" in seen["said"]


def test_a_run_across_machines_is_changed_while_it_goes_on(told):
    """Every change by its number once, on all machines at one time, an event and a step."""
    steered = told["steered"]
    answers = {request: (done, at, text) for request, done, at, text in steered["answers"]}
    made = ["rate", "source", "pause", "resume", "cut", "mend"]
    assert [name for name, (done, at, _) in answers.items() if done and at] == made, answers
    times = [answers[name][1] for name in made]
    assert times == sorted(times)
    asked_again = [answer for answer in steered["answers"] if answer[0] == "cut"]
    assert len(asked_again) == 2
    assert asked_again[0] == asked_again[1]
    assert "a rate counts bits" in answers["wrong"][2]
    assert "has room for" in answers["large"][2]
    assert "agent" in answers["large"][2]
    assert "cannot start or stop traffic" in answers["traffic"][2]
    assert answers["end"][0]
    kinds = ["set", "set", "pause", "resume", "cut", "mend"]
    assert steered["happened"] == kinds
    assert steered["rates"] == [80_000_000, 100_000_000], "it showed in the samples"
    folder = Path(steered["folder"])
    rows = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    live = [row for row in rows if row["detail"].get("live")]
    assert [row["kind"] for row in live] == [*kinds, "stopped"]
    assert [row["time_ps"] for row in live[:-1]] == times
    assert live[-1]["time_ps"] < 60 * 10**12, "long before its end"
    steps = Plan.load(folder / "plan.toml").timeline
    assert [step.at for step in steps] == times, "the plan repeats it"
    assert steered["verdict"] in ("unjudged", "invalid", "stopped")


def test_a_killed_agent_ends_the_run_as_invalid_and_is_named(told):
    killed = told["kill_agent"]
    assert (killed["code"], killed["verdict"]) == (3, "invalid")
    assert re.search("agent right is gone", killed["reasons"][0])
    assert killed["left"] == {}


def test_an_agent_that_comes_back_cleans_up_after_its_predecessor(told):
    assert "left over by a predecessor: NIC eth1 of lease" in told["restarted"]
    assert "results of lease" in told["restarted"]


def test_a_cut_link_ends_the_run_and_says_where(told):
    cut = told["cut_link"]
    assert (cut["code"], cut["verdict"]) == (3, "invalid")
    assert "agent left" in cut["reasons"][0] or "lost outside" in " ".join(cut["reasons"])
    assert cut["left"] == {}


def test_late_answers_do_not_harm_a_run(told):
    late = told["delay_control"]
    assert late["verdict"] in ("unjudged", "invalid")
    assert Path(late["folder"], "samples.parquet").exists(), "it came to its end"
    assert late["left"] == {}


def test_a_run_across_machines_goes_at_the_pace_that_is_asked_for(told):
    """A second of that run lasts two, for everything that is told of it."""
    folder = Path(told["delay_control"]["folder"])
    result = json.loads((folder / "result.json").read_text())
    assert result["fidelity"]["pace"] == 0.5
    assert result["performance"]["wall_s"] == pytest.approx(0.8)
    assert result["metrics"]["run"]["gen"]["frames.received"] > 1000, "as many as in real time"
    rows = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    at = {row["detail"].get("text"): row["time_ps"] for row in rows if row["kind"] == "machine"}
    assert at["timeline: delay_control"] >= 99 * 10**9, "in its time, and not in half of it"
    right = result["clocks"]["machines"]["right"]
    said = (folder / "captures" / "sink-switch.pcapng").read_bytes()[:1000]
    assert f"within {math.ceil(right['error_s'] * 1e9 - 1e-3)} ns".encode() in said


def test_agents_tear_down_when_their_controller_is_gone(told):
    gone = told["controller_killed"]
    assert gone["code"] == 3
    assert "goes on there if it can" in gone["said"]
    assert gone["left"] == {}
    for said in told["agents_say"]:
        assert "silent for 4 s; torn down" in said


def test_a_nic_has_one_controller_at_a_time(told):
    rival = told["rival"]
    assert (rival["code"], rival["verdict"]) == (3, "invalid")
    assert re.search(r"NIC eth1 is held by controller lab", rival["reasons"][0])


def test_a_run_that_nobody_wants_any_more_is_torn_down(told):
    assert told["cancelled"]["code"] in (143, 3)
    assert told["cancelled"]["left"] == {}


def test_a_wrong_cable_is_named_before_anything_runs(told):
    wrong = told["wrong_cable"]
    assert (wrong["code"], wrong["verdict"]) == (3, "invalid")
    assert (
        "what left:eth1 sends arrives at right:eth1, right:eth9 is expected"
        in (wrong["reasons"][0])
    )


def test_agents_and_controllers_end_in_good_order(told):
    assert set(told["codes"].values()) == {0}


def test_the_papers_experiment_over_four_machines(tmp_path: Path):
    """NetFPGA-QCN, figure 11, its first second: what one machine alone measures.

    At a fifth of real time two cores keep up with nine nodes. A busy machine distorts runs, and
    they say so: then the figures need only be plausible.
    """
    plan = plans.figure11(whole=False)
    done = run_job(SCENARIOS + "paper", str(tmp_path), plan.to_toml(), None, 0, PACE)
    result = done["result"]
    assert done["left"] == {}
    assert set(done["codes"].values()) == {0}
    assert len(result["machines"]) == 4
    assert sum(result["fidelity"]["lost_outside_queues"].values()) == 0, done["said"]
    assert all(error <= 0.005 for error in result["fidelity"]["rate_error"].values())
    print(result["fidelity"]["reasons"])
    alone = run(plan, out=tmp_path / "alone", report=False, pace=PACE)
    assert alone.folder is not None
    found = compare([load(Path(result["folder"])), load(alone.folder)])
    decided = {(d.phase, d.entity, d.metric): d for d in found.differences if d.agree is not None}
    queue = decided["high", "switch.sink", "queue_bytes.mean"]
    use = decided["high", "switch.sink", "utilization"]
    print(queue.values, use.values)
    assert all(25_000 < value < 45_000 for value in queue.values)
    assert all(value > 0.98 for value in use.values)
    grades = {told["fidelity"]["verdict"] for told in (result, alone.result)}
    apart = [d for d in found.differences if d.agree is False]
    assert found.agree or grades != {"valid"}, apart


def test_an_inventory_asks_for_times_and_launches_and_veths_are_refused_by_name(tmp_path: Path):
    told: dict[str, Any] = run_job(SCENARIOS + "timed", str(tmp_path))
    lacks = "NIC eth1 (veth) has no receive by hardware, no transmit by hardware, no hardware clock"
    for name in ("software", "auto"):
        assert told[name]["verdict"] in ("unjudged", "invalid"), told[name]
        result = json.loads((Path(told[name]["folder"]) / "result.json").read_text())
        carried = result["fidelity"]["datapath"]
        assert carried["backend"] == "packet"
        for machine in ("left", "right"):
            one = carried["machines"][machine]
            assert (one["arrivals"], one["departures"]) == ("by the kernel", "by the kernel")
            assert one["without_time"] == one["left"]["of_no_frame"] == 0
            assert one.get("why", "").startswith(lacks if name == "auto" else "")
        assert carried["machines"]["left"]["left"]["timed"] > 1000
    for name, words in (
        ("hardware", lacks),
        ("near", "us, and frames are handed to a NIC 500 us before they are launched"),
        ("launch", "NIC eth1 has no launch times: "),
    ):
        assert told[name]["code"] == 2, told[name]
        assert words in told[name]["said"]
        assert told[name]["left"] == {}
