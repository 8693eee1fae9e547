"""`tailback mutate` and `tailback run --seeds`, as they are typed: tables, codes, what is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from orchestrator.batch import realtime_executors
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.cli import batch_options, main
from orchestrator.registry import Registry
from orchestrator.terminal.plan_loading import load_plan
from tests.orchestrator.batch.made import FULL, random_flow
from tests.orchestrator.cli.interrupted import interrupted

CAUGHT = {"name": "idle", "set": {"traffic.gen.rate": "1Mb/s"}}
MISSED_BY_NOBODY = {"name": "roomy", "set": {"nodes.switch.buffer": "900KB"}}
HALF = FULL | {"min": 0.3}


@pytest.fixture
def tailback() -> Callable[..., Result]:
    """The command line with everything that is installed, in this process."""
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(app, list(map(str, words)))


def written(folder: Path, *mutants: dict[str, object], **changes: object) -> Path:
    """A plan file: half of a link's rate by chance, with these mutants."""
    plan = random_flow(expect=[HALF], **changes)
    path = folder / "mine.toml"
    tables = [
        f'[[mutant]]\nname = "{one["name"]}"\n[mutant.set]\n'
        + "".join(f'"{key}" = "{value}"\n' for key, value in one["set"].items())  # type: ignore[attr-defined]
        for one in mutants
    ]
    resolved = plan.check(Registry.load()).plan
    path.write_text("\n".join([resolved.to_toml(), *tables]))
    return path


@pytest.mark.parametrize(
    ("mutants", "code", "said"),
    [
        ([CAUGHT], 0, "1 of 1 mutants caught (1 seed)"),
        ([CAUGHT, MISSED_BY_NOBODY], 1, "1 of 2 mutants caught (1 seed)"),
    ],
)
def test_a_survivor_is_the_exit_code(
    tailback: Callable[..., Result],
    tmp_path: Path,
    mutants: list[dict[str, object]],
    code: int,
    said: str,
) -> None:
    done = tailback("mutate", written(tmp_path, *mutants), "--out", tmp_path / "runs", "--jobs", 1)
    assert done.exit_code == code, done.output
    assert said in done.stdout
    assert "utilization of switch.sink" in done.stdout
    assert ("SURVIVED" in done.stdout) == (code == 1)


def test_several_plans_are_summed_up(tailback: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    plans = [written(tmp_path, CAUGHT), written(tmp_path / "other", CAUGHT, MISSED_BY_NOBODY)]
    done = tailback("mutate", *plans, "--out", tmp_path / "runs", "--jobs", 1)
    assert done.exit_code == 1
    assert "2 plans: 2 of 3 mutants caught (66.7%); not as said: " in done.stdout


def test_a_plan_that_is_not_met_by_itself_is_no_judge(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    plan = written(tmp_path, CAUGHT)
    words = ("mutate", plan, "--set", "expect[0].min=0.9", "--out", tmp_path / "runs")
    done = tailback(*words, "--jobs", 1)
    assert done.exit_code == 1
    assert "without a mutant the plan is missed: utilization of switch.sink in run" in done.stdout


def test_json_is_one_result_per_plan_and_a_second_time_nothing_is_run(
    tailback: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("mutate", written(tmp_path, CAUGHT), "--out", tmp_path / "runs", "--jobs", 1, "--json")
    first = tailback(*words)
    kept = (tmp_path / "runs" / ".points").iterdir()
    before = {path: path.read_bytes() for path in kept}
    monkeypatch.setattr(
        "orchestrator.batch.process_pool.python_command.module", lambda *words: ["false"]
    )
    again = tailback(*words)
    assert first.exit_code == again.exit_code == 0
    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert [one["plan"] for one in json.loads(first.stdout)] == ["line-of-three"]
    assert {path: path.read_bytes() for path in before} == before


def test_seeds_are_judged_together_and_kept(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    plan = written(tmp_path)
    words = ("run", plan, "--seeds", "2,5..6", "--out", tmp_path / "runs", "--jobs", 1)
    done = tailback(*words)
    assert done.exit_code == 0, done.output
    assert "3 of 3" in done.stdout
    (folder,) = (tmp_path / "runs" / "line-of-three").iterdir()
    kept = json.loads((folder / "seeds.json").read_text())
    assert [one["seed"] for one in kept["seeds"]] == [2, 5, 6]
    assert kept["expectations"][0]["met_in"] == 3
    assert "| metric |" in (folder / "seeds.md").read_text()
    spread = json.loads(tailback(*words, "--set", "expect[0].min=0.9", "--json").stdout)
    assert spread["verdict"] == "missed"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mutate"], "name plans, or --all"),
        (["mutate", "PLAN", "--seeds", "0"], "--seeds"),
        (["mutate", "PLAN", "--seeds", "4..2"], "--seeds"),
        (["run", "PLAN", "--jobs", "2"], "add --seeds"),
        (["run", "PLAN", "--seeds", "3", "--seed", "1"], "leave one of the two out"),
        (["run", "PLAN", "--seeds", "plan"], "no number of 'seeds'"),
    ],
)
def test_what_is_not_accepted_says_what_is(tmp_path: Path, words: list[str], said: str) -> None:
    plan = str(written(tmp_path, CAUGHT))
    command = [
        sys.executable,
        "-m",
        "orchestrator.cli",
        *(plan if w == "PLAN" else w for w in words),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_ctrl_c_leaves_no_worker_and_keeps_what_is_done(tmp_path: Path) -> None:
    """Points that are done stay; the same command then has only the others to run."""
    plan = written(tmp_path, duration="20ms")
    store = tmp_path / "runs" / ".points" / "line-of-three.jsonl"
    command = [sys.executable, "-m", "orchestrator.cli", "run", str(plan)]
    command += ["--seeds", "5000", "--jobs", "1"]
    code, said, workers = interrupted(command, store, tmp_path)
    assert code == 130, said
    assert "Traceback" not in said
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert store.read_bytes().endswith(b"\n")
    assert not (tmp_path / "runs" / "line-of-three").exists()


@pytest.mark.parametrize(("name", "paced"), [("quickstart", True), ("iperf-udp", False)])
def test_programs_keep_the_machines_own_time(
    name: str, paced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pace that is looked for is none for a plan with programs, which would refuse it."""
    told: list[dict[str, object]] = []

    def ordinarily(plan_of: object, **how: object) -> Callable[[Point], dict[str, object]]:
        def run(point: Point) -> dict[str, object]:
            told.append(how)
            return {"fidelity": {"verdict": "valid"}}

        return run

    monkeypatch.setattr(realtime_executors, "run_locally", ordinarily)
    plan = load_plan(name, [])
    batch_options.at_sustained_paces(lambda point: plan)(
        Point(Experiment(name, "software", {}, "digest"), 1)
    )
    assert [("pace" in how) for how in told] == [paced]


def test_drawn_mutants_are_those_of_the_seed(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    plan = written(tmp_path)
    words = ("mutate", plan, "--draw", 6, "--seeds", 2, "--out", tmp_path / "runs", "--jobs", 1)
    first, other = (
        json.loads(tailback(*words, "--seed", seed, "--json").stdout)[0] for seed in (2, 3)
    )
    shown = tailback(*words, "--seed", 2)
    changes = [one["change"] for one in first["mutants"]]
    assert len(set(changes)) == 6
    assert changes != [one["change"] for one in other["mutants"]]
    survivors = [one for one in first["mutants"] if one["outcome"] == "survived"]
    assert shown.exit_code == bool(survivors)
    assert f"{first['caught']} of {first['counted']} mutants that count caught" in shown.stdout
    assert shown.stdout.count("SURVIVED") == len(survivors)
    assert shown.stdout.count("(moved:") == sum(len(one["moved"]) for one in survivors)


def test_drawn_mutants_need_the_spread_of_seeds(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    done = tailback("mutate", written(tmp_path), "--draw", 3, "--seeds", 1)
    assert done.exit_code == 2
    assert "shows no spread" in done.output
