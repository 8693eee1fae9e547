"""`run(plan)`: what it keeps, what a seed decides, what it refuses, how it judges."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capability import Capability
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.progress import Progress
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, Table, line_of_three


def noisy(**changes: Any) -> Table:
    """A run in which random numbers matter."""
    plan = line_of_three(duration=5 * MS, **changes)
    plan["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp", "preset": "netfpga"}
    point = {"plugin": "qcn-cp", "sample_base": 3000, "set_point": 10_000}
    plan["nodes"]["switch"] |= {"service_rate": 3 * 10**8, "congestion_point": point}
    return plan


def samples(out: Path, plan: Table, **how: Any) -> bytes:
    done = run(Plan(**plan), out=out, report=False, **how)
    assert done.folder is not None
    return (done.folder / "samples.parquet").read_bytes()


def test_the_same_seed_gives_the_same_bytes_and_another_one_does_not(tmp_path: Path) -> None:
    first = samples(tmp_path, noisy(seed=3))
    assert samples(tmp_path, noisy(seed=3)) == first
    assert samples(tmp_path, noisy(seed=4)) != first
    assert samples(tmp_path, noisy(seed=4), seed=3) == first


def test_a_seed_given_is_the_one_kept(tmp_path: Path) -> None:
    done = run(Plan(**noisy(seed=3)), seed=9, out=tmp_path, report=False)
    assert done.folder is not None
    assert done.result["seed"] == 9
    manifest = json.loads((done.folder / "manifest.json").read_text())
    assert (manifest["seed"], manifest["clock"]) == (9, "virtual")
    kept = Plan.load(done.folder / "plan.toml", Registry.load())
    assert kept.seed == 9
    again = run(kept, out=None)
    assert again.result["metrics"] == done.result["metrics"]


def test_what_is_kept(tmp_path: Path) -> None:
    plan = noisy(capture={"ports": ["switch.sink"], "frames": 10})
    done = run(Plan(**plan), out=tmp_path)
    assert done.folder is not None
    assert done.folder.parent == tmp_path / "line-of-three"
    kept = sorted(p.relative_to(done.folder).as_posix() for p in done.folder.rglob("*.*"))
    assert kept == [
        "captures/switch-sink.pcapng",
        "events.jsonl",
        "latency.parquet",
        "manifest.json",
        "plan.toml",
        "report.html",
        "result.json",
        "samples.parquet",
    ]
    assert json.loads((done.folder / "result.json").read_text()) == done.result
    assert [p.name for p in (tmp_path / "line-of-three").iterdir()] == [done.folder.name]


def test_nothing_is_written_without_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(Plan(**noisy()), out=None)
    assert done.folder is None
    assert done.result["verdict"] == "unjudged"  # nothing is expected of it
    assert list(tmp_path.iterdir()) == []


def test_result_names_every_metric_with_a_unit() -> None:
    result = run(Plan(**noisy(phases={"late": {"from": MS, "to": 2 * MS}})), out=None).result
    assert set(result["metrics"]) == {"run", "late"}
    named = {
        metric
        for entities in result["metrics"].values()
        for values in entities.values()
        for metric in values
    }
    assert named <= set(result["units"])
    assert result["target"] == "simulated"
    assert result["fidelity"]["verdict"] == "valid"
    assert result["performance"]["data_frames"] > 50
    json.dumps(result, allow_nan=False)


def test_expectations_decide_the_verdict() -> None:
    band = {"metric": "utilization", "of": "switch.sink"}
    met = run(Plan(**noisy(expect=[band | {"max": 1.5}])), out=None).result
    missed = run(Plan(**noisy(expect=[band | {"max": 1.5}, band | {"min": 1.5}])), out=None).result
    assert (met["verdict"], missed["verdict"]) == ("met", "missed")
    assert [row["met"] for row in missed["expectations"]] == [True, False]


@pytest.mark.parametrize("where", ["plan", "argument"])
def test_an_unknown_target_is_named_with_those_there_are(tmp_path: Path, where: str) -> None:
    plan = noisy(target="simulatd") if where == "plan" else noisy()
    with pytest.raises(BadInput, match=r"no target 'simulatd'.*simulated"):
        run(Plan(**plan), target=None if where == "plan" else "simulatd", out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_on_several_cores_comes_to_the_same(tmp_path: Path) -> None:
    one, two = (run(Plan(**noisy()), out=tmp_path, report=False, cores=n) for n in (1, 2))
    assert one.result["metrics"] == two.result["metrics"]
    assert two.result["verdict"] == one.result["verdict"]


def test_a_run_on_several_cores_keeps_no_pace(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="keeps no pace; leave one of the two out"):
        run(Plan(**noisy()), out=tmp_path, cores=2, pace=1.0)
    assert list(tmp_path.iterdir()) == []


def test_an_algorithm_that_lacks_the_target_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry.load()
    changed = [
        replace(a, forms=frozenset({Capability.VERILOG})) if a.name == "qcn-cp" else a
        for a in registry.algorithms
    ]
    monkeypatch.setattr(registry, "algorithms", changed)
    expected = (
        "target simulated: the congestion_point qcn-cp of switch.nic does not run on it, "
        "which lacks verilog. It runs on: gateware."
    )
    with pytest.raises(Refused, match=re.escape(expected)):
        run(Plan(**noisy()), out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_is_not_to_be_had_gives_its_own_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = Refused("target simulated", "there is no time today", "Come back tomorrow.")
    target = Registry.load().target("simulated")
    monkeypatch.setattr(type(target), "probe", lambda self: refusal)
    with pytest.raises(Refused) as caught:
        run(Plan(**noisy()), out=tmp_path)
    assert caught.value is refusal
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_ran_out_of_descriptors_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that vanished for lack of room in the simulator are no result."""
    monkeypatch.setattr(
        "orchestrator.assembly.world_assembly.descriptors", lambda resolved, late: 2
    )
    result = run(Plan(**noisy()), out=None).result
    assert result["verdict"] == "invalid"


def test_progress_is_told_from_start_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.targets.simulated.EVENTS_PER_REPORT", 100)
    told: list[Progress] = []
    run(Plan(**noisy()), out=tmp_path, progress=told.append)
    stages = list(dict.fromkeys(p.stage for p in told if p.stage != "compiling"))
    assert stages == ["simulating", "writing", "drawing"]
    simulating = [p.done for p in told if p.stage == "simulating"]
    assert simulating == sorted(simulating)
    assert all(0 <= p.done <= 1 for p in told)


# With programs off a plan starts no command of this machine, and is refused by the command.

NODES = {"nic": {"kind": "nic"}, "switch": {"kind": "switch"}, "sink": {"kind": "nic"}}
SOCKETS = {"plugin": "sockets", "from": "nic", "to": "sink", "bidirectional": True}

TOUCH = {"node": "nic", "command": ["touch", "here"]}


@pytest.mark.parametrize(
    "programs",
    [
        {"one": TOUCH},
        {"one": TOUCH, "two": {"node": "sink", "command": ["sh", "-c", "id"]}},
    ],
)
@pytest.mark.parametrize("target", ["software", "simulated"])
def test_a_plan_with_programs_is_refused(tmp_path: Path, programs, target):
    gen = {"gen": SOCKETS}
    plan = Plan(**line_of_three(target=target, programs=programs, traffic=gen, nodes=NODES))
    with pytest.raises(
        Refused, match=r"(?s)wants to run 'touch here' .programs\.one.*--no-programs"
    ):
        run(plan, out=tmp_path, programs=False)
    assert list(tmp_path.iterdir()) == []
