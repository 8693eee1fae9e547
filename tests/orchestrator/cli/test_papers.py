"""`tailback papers` on made-up papers and plans: what a page has, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from orchestrator import __version__
from orchestrator.batch import paper_figures
from orchestrator.batch.paper_figures import Paper
from orchestrator.cli import main, papers_page
from orchestrator.registry import Registry
from tests.orchestrator.batch.made import FULL, random_flow

MADE_UP = (
    Paper("Alpha", {"figure 1": "a drawing"}),
    Paper("Beta queues", {}),
)
HALF = FULL | {"min": 0.3, "source": "text", "note": "a link | half full"}
TIGHT = FULL | {"min": 0.9}
IDLE = {"name": "idle", "set": {"traffic.gen.rate": "1Mb/s"}}


@pytest.fixture
def tailback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """The command line, with two papers and three plans; what it keeps is in the test's folder."""
    registry = Registry.load()
    plans = {
        "a2": made(tmp_path, "a2", "Alpha, figure 2", expect=[HALF, TIGHT], mutant=[IDLE]),
        "a10": made(tmp_path, "a10", "Alpha, figure 10", expect=[HALF]),
        "b": made(tmp_path, "b", "Beta queues, table I", expect=[HALF]),
        "other": made(tmp_path, "other", "Gamma, figure 2", expect=[HALF]),
    }
    monkeypatch.setattr(paper_figures, "PAPERS", MADE_UP)
    monkeypatch.setattr(type(registry), "plans", lambda self: plans)
    app = main.assemble(registry)
    fixed = ["--jobs", "1", "--runs", str(tmp_path / "runs")]
    return lambda *words: CliRunner().invoke(app, ["papers", *map(str, words), *fixed])


def made(folder: Path, name: str, paper: str, **changes: Any) -> Path:
    mutants = changes.pop("mutant", [])
    text = random_flow(name=name, paper=paper, **changes).check(Registry.load()).plan.to_toml()
    for mutant in mutants:
        sets = "".join(f'"{key}" = "{value}"\n' for key, value in mutant["set"].items())
        text += f'\n[[mutant]]\nname = "{mutant["name"]}"\n[mutant.set]\n{sets}'
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def test_a_page_has_each_row_of_each_plan_and_what_repeats_it(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    done = tailback("--seeds", 3, "--out", tmp_path / "docs" / "page.md")
    assert done.exit_code == 1, done.output  # one misses, and says no reason
    page = (tmp_path / "docs" / "page.md").read_text()
    heads = [line for line in page.splitlines() if line.startswith("#")]
    assert heads[1:] == [
        "## Alpha",
        "### Figure 2: `a2`",
        "### Figure 10: `a10`",
        "## Beta queues",
        "### Table I: `b`",
    ]
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) == 4
    assert "met, 3 of 3" in rows[0]
    assert r"a link \| half full" in rows[0]
    assert "**missed**, 0 of 3" in rows[1]
    assert "the plan says no reason" in rows[1]
    assert " ± " in rows[0]
    assert "mutants: 1 of 1 caught: `tailback mutate a2 --seeds 1..3`" in page
    assert "`tailback run a10 --target simulated --seeds 1..3`" in page
    assert "figure 1: a drawing" in page
    assert "| Alpha | simulated | 2 | 2 (0 refused) | 3 | 2 | 1 | 0 | 1 of 1 |" in page


def test_a_summary_has_a_row_for_each_plan_and_what_is_not_met(
    tailback: Callable[..., Result],
) -> None:
    page = tailback("--seeds", 3, "--target", "simulated,gateware", "--summary").stdout
    assert "tailback papers --target simulated,gateware --seeds 3 --summary`" in page
    assert "| Figure 2 | `a2` | 1 of 2 | refused | 1 of 1 |" in page
    assert "| Table I | `b` | 1 of 1 | refused | - |" in page
    missed = [line for line in page.splitlines() if "**missed**, 0 of 3" in line]
    assert len(missed) == 1
    assert missed[0].startswith("| `a2` | `utilization`")
    assert missed[0].endswith("| the plan says no reason |")
    assert "figure 1: a drawing" in page


def test_mutants_are_judged_over_the_first_seeds_where_that_is_asked(
    tailback: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    carried = list[Any]()
    from orchestrator.cli import batch_options as shared

    whole = shared.run_points

    def counted(points: Any, *words: Any, **how: Any) -> Any:
        carried.extend(points)
        return whole(points, *words, **how)

    monkeypatch.setattr(shared, "run_points", counted)
    done = tailback("alpha", "--seeds", "4..6", "--mutants", 1, "--out", tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert done.exit_code == 1, done.output  # one misses, and says no reason
    assert "mutants: 1 of 1 caught: `tailback mutate a2 --seeds 4..4`" in page
    assert "`tailback run a2 --target simulated --seeds 4..6`" in page
    assert "`tailback papers alpha --target simulated --seeds 4..6 --mutants 1`" in page
    assert len(carried) == 3 + 3 + 1  # both plans over all seeds, the mutant over one


def test_what_is_kept_is_not_run_again_and_what_is_not_run_says_so(
    tailback: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tailback("--within", 0, "--json")
    assert before.exit_code == 1
    told = json.loads(before.stdout)
    runs = [on["verdict"] for paper in told["papers"] for p in paper["plans"] for on in p["on"]]
    assert runs == ["not run"] * 3
    first = tailback("beta", "--seeds", 2)
    assert first.exit_code == 0, first.output
    monkeypatch.setattr(
        "orchestrator.batch.process_pool.python_command.module", lambda *words: ["false"]
    )
    assert tailback("beta", "--seeds", 2).stdout == first.stdout
    page = tailback("--seeds", 2, "--within", 0).stdout
    assert "| Alpha | simulated | 2 | 0 (0 refused) | 3 | 0 | 0 | 3 | -, 1 not run |" in page
    assert "not run yet (0 of 2 seeds): `tailback run a2 --target simulated --seeds 1..2`" in page
    assert "met, 2 of 2" in page


def test_a_target_that_refuses_a_plan_has_no_column_and_says_why(
    tailback: Callable[..., Result],
) -> None:
    done = tailback("beta", "--target", "simulated:1,gateware:1")
    assert done.exit_code == 0, done.output
    assert "| expected | bound | from | simulated | met | what it says |" in done.stdout
    assert "- gateware: refused: target gateware: " in done.stdout
    assert "| Beta queues | gateware | 1 | 0 (1 refused) | 0 | 0 | 0 | 0 | - |" in done.stdout


def test_a_reason_settles_a_row_that_misses(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    made(tmp_path, "b", "Beta queues, table I", expect=[TIGHT | {"known_miss": "half a load"}])
    done = tailback("beta", "--seeds", 1)
    assert done.exit_code == 0
    assert "**missed**, 0 of 1" in done.stdout
    assert "**Why it differs:** half a load" in done.stdout


def test_another_target_goes_the_ordinary_way_with_seeds_of_its_own(
    tailback: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, int, Any]] = []

    def run(plan: Any, target: str, seed: int, **how: Any) -> SimpleNamespace:
        ran.append((target, seed, how["pace"]))
        metrics = {"run": {"switch.sink": {"utilization": 0.5}}}
        fidelity = {"verdict": "valid", "reasons": [], "pace": how["pace"]}
        return SimpleNamespace(result={"metrics": metrics, "fidelity": fidelity, "notes": []})

    monkeypatch.setattr("orchestrator.run.execute_run.run", run)
    monkeypatch.setattr("orchestrator.run.execute_run.refuse_unsupported", lambda *of: None)
    done = tailback("beta", "--target", "software:2", "--pace", 0.5)
    assert done.exit_code == 0, done.output
    assert ran == [("software", 1, 0.5), ("software", 2, 0.5)]
    assert "`tailback run b --target software --seeds 1..2 --pace 0.5`" in done.stdout


@pytest.mark.parametrize(
    ("verdict", "off", "changes", "code", "said"),
    [
        ("valid", 0.15, {}, 0, "**On software:** the machine may have put it off by 0.15, and a"),
        ("valid", 0.05, {}, 1, "**Why it differs:** the plan says no reason"),
        ("invalid", 0.0, {}, 0, "**On software:** the machine distorted the run"),
        ("valid", 0.0, {"of_seeds": "18/20"}, 0, "**On software:** one seed does not tell"),
    ],
)
def test_a_row_that_the_machine_or_one_seed_leaves_open_says_so(
    tailback: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    verdict: str,
    off: float,
    changes: dict[str, str],
    code: int,
    said: str,
) -> None:
    """A utilization of 0.2 where at least 0.3 is expected."""

    def run(plan: Any, target: str, seed: int, **how: Any) -> SimpleNamespace:
        link = {"switch.sink": {"utilization": 0.2}}
        bars = {"run": {"switch.sink": {"utilization": off}}} if off else {}
        fidelity = {"verdict": verdict, "reasons": [f"{verdict}: so it is"], "pace": 1.0}
        result = {"metrics": {"run": link}, "fidelity": fidelity, "notes": []}
        return SimpleNamespace(result=result | {"uncertainties": bars})

    monkeypatch.setattr("orchestrator.run.execute_run.run", run)
    monkeypatch.setattr("orchestrator.run.execute_run.refuse_unsupported", lambda *of: None)
    made(tmp_path, "b", "Beta queues, table I", expect=[HALF | changes])
    done = tailback("beta", "--target", "software:1")
    assert said in done.stdout
    assert done.exit_code == code, done.output


def test_columns_made_elsewhere_are_taken_and_not_run_again(
    tailback: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tailback("--seeds", 2)
    for paper in ("alpha", "beta"):
        (tmp_path / f"{paper}.json").write_text(tailback(paper, "--seeds", 2, "--json").stdout)
    monkeypatch.setattr(
        "orchestrator.batch.process_pool.python_command.module", lambda *words: ["false"]
    )
    joined = ("--with", tmp_path / "alpha.json", "--with", tmp_path / "beta.json")
    here = ("--target", "gateware:1", "--within", 0)
    page = tailback(*here, *joined).stdout
    rows = [line for line in whole.stdout.splitlines() if line.startswith("| `")]
    assert [line for line in page.splitlines() if line.startswith("| `")] == rows
    assert "- `beta.json` (simulated) is what `tailback papers beta --target sim" in page
    assert f"--json` printed, of tailback {__version__}" in page
    assert "- gateware: refused: target gateware: " in page
    told = json.loads(tailback(*here, *joined, "--json").stdout)
    assert [one["targets"] for one in told["joined"]] == [["simulated"], ["simulated"]]
    assert told["command"]["page"].endswith("--with alpha.json --with beta.json")


def test_a_column_that_asked_otherwise_or_was_not_run_is_left_out(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    path = tmp_path / "b.json"
    path.write_text(tailback("beta", "--seeds", 1, "--within", 0, "--json").stdout)
    assert "not run yet" in tailback("beta", "--with", path, "--within", 0).stdout
    path.write_text(tailback("beta", "--seeds", 1, "--json").stdout)
    made(tmp_path, "b", "Beta queues, table I", expect=[HALF | {"min": 0.35}])
    done = tailback("beta", "--with", path, "--within", 0)
    assert "not run yet" in done.stdout
    assert "b on simulated is left out: it expects otherwise by now" in done.output


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "JSON"), ("[]", "the whole"), ('{"command": {}, "papers": [1]}', "papers.0")],
)
def test_a_file_that_is_no_such_output_is_refused_by_name(
    tailback: Callable[..., Result], tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "odd.json").write_text(text)
    done = tailback("--with", tmp_path / "odd.json")
    assert done.exit_code == 2
    assert "odd.json" in done.output
    assert said in done.output
    assert "tailback papers --json" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gamma"], "Alpha, Beta queues"),
        (["--target", "hardware"], "simulated"),
        (["--target", "simulated,simulated:2"], "each once"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_what_is_not_accepted_says_what_is(
    tailback: Callable[..., Result], tmp_path: Path, words: list[str], said: str
) -> None:
    from orchestrator.errors import BadInput

    done = tailback(*words)
    assert done.exit_code == 2 or isinstance(done.exception, BadInput)
    assert said in done.output + str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_texts_of_plans_stay_as_they_are() -> None:
    assert papers_page.plain("a | b\n[c] <d> *e*") == r"a \| b \[c\] \<d\> \*e\*"
