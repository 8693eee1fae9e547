"""A hunt that is stopped keeps what it has, and says all the while where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.cli.main import assemble
from orchestrator.fuzz.branch_coverage import coverage_lines
from orchestrator.fuzz.fuzz_loop import Options, hunt
from orchestrator.fuzz.invariant_check import Finding
from orchestrator.fuzz.plan_corpus import as_text, keep, plans_in
from orchestrator.fuzz.python_kernel_process import PythonKernels
from orchestrator.progress import Progress
from orchestrator.registry import Registry
from orchestrator.terminal.exit_codes import Terminated
from tests.orchestrator.worlds import line_of_three

WRONG = Finding("wrong: it", "planted")


class Stops:
    """A check that finds something in its first plan, and is stopped in a later one."""

    def __init__(self, at: int, finds: bool, stop: BaseException) -> None:
        self.asked, self.at, self.finds, self.stop = 0, at, finds, stop

    def __call__(self, *_: Any) -> Finding | None:
        self.asked += 1
        if self.asked == self.at:
            raise self.stop
        return WRONG if self.finds else None


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), Terminated(15)])
def test_plans_until_a_signal_are_counted(stop: BaseException) -> None:
    done = hunt(Options(plans=1000, seed=1), (Stops(8, False, stop),))
    assert done.stopped is stop
    assert 0 < done.plans <= 7
    assert done.found == []
    assert done.seconds > 0


def test_what_is_being_made_small_is_kept_as_it_is(tmp_path: Path) -> None:
    check = Stops(3, True, KeyboardInterrupt())
    done = hunt(Options(plans=1000, seed=1, corpus=tmp_path), (check,))
    assert isinstance(done.stopped, KeyboardInterrupt)
    (found,) = done.found
    assert found.finding == WRONG
    assert [path for path, _ in plans_in(tmp_path)] == [found.path]


def test_other_errors_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr("orchestrator.fuzz.fuzz_loop._Fuzzer._is_enough", fails)
    with pytest.raises(ZeroDivisionError):
        hunt(Options(plans=3))


def command(*words: str) -> Any:
    return CliRunner().invoke(assemble(Registry.load(), ["hunt"]), ["hunt", *words])


def test_the_command_tells_and_keeps_what_was_found_before_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, "a plan", as_text(line_of_three()))
    check = Stops(2, True, KeyboardInterrupt())
    monkeypatch.setattr("orchestrator.fuzz.invariant_check._of_samples", check)
    done = command("--plans", "5", "--out", str(tmp_path), "--json")
    assert done.exit_code == 130, done.output
    assert "interrupted; what was found until then is above, and kept" in done.stderr
    told = json.loads(done.stdout)
    assert told["interrupted"] is True
    assert [one["what"] for one in told["found"]] == [WRONG.what]
    assert told["replayed"] == 1


def test_none_to_draw_and_none_that_is_there_is_bad_input(tmp_path: Path) -> None:
    done = command("--plans", "0", "--out", str(tmp_path / "none"))
    assert done.exit_code == 2
    assert "there is no plan in" in done.stderr
    keep(tmp_path, "a plan", as_text(line_of_three()))
    done = command("--plans", "0", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    assert "1 plans of the corpus" in done.stdout


def test_every_plan_is_told_whether_drawn_or_of_the_corpus(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        keep(tmp_path, name, as_text(line_of_three(name=name)), name)
    said: list[Progress] = []
    news = iter(range(100))
    options = Options(plans=4, seed=3, corpus=tmp_path, news=lambda: next(news))
    done = hunt(options, progress=said.append)
    replayed = [one.detail for one in said if one.stage == "replaying"]
    assert [one.partition(",")[2] for one in replayed] == [
        f" {number} of 3, 0 found" for number in (1, 2, 3)
    ]
    assert replayed[0].startswith("one")
    drawn = [one.detail for one in said if one.stage == "hunting"]
    assert len(drawn) == done.plans == 4
    assert drawn[0] == "1 plans, 0 found, 6 branches reached"
    assert done.branches == sum(range(7))


def test_what_is_made_small_is_told_too() -> None:
    said: list[Progress] = []
    hunt(Options(plans=3, seed=1, most=1), (lambda *_: WRONG,), progress=said.append)
    small = [one for one in said if one.stage == "shrinking"]
    assert len(small) > 3
    assert all(one.detail.startswith("wrong: it: ") for one in small)
    assert all(0 <= one.done <= 1 for one in small)


def test_plans_on_two_cores_are_counted(tmp_path: Path) -> None:
    table = line_of_three()
    keep(tmp_path, "whole", as_text(table), "whole")
    table["links"]["up"]["delay"] = 10**6
    keep(tmp_path, "cut", as_text(table), "cut")
    done = command("--plans", "0", "--cores", "--out", str(tmp_path), "--json")
    assert json.loads(done.stdout)["cores"] == {"cut": 1, "whole": 1}
    done = command("--plans", "0", "--cores", "--out", str(tmp_path))
    assert "on two cores: 1 plans; 1 cannot be cut" in done.stdout


def test_plans_that_a_target_ran_are_counted_apart_from_those_that_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hunt that finds nothing on a target that ran nothing has not looked there."""
    gateware = Registry.load().target("gateware")
    simulated = Registry.load().target("simulated")
    monkeypatch.setattr(gateware, "probe", lambda: None)
    monkeypatch.setattr(type(gateware), "run", lambda self, *how: simulated.run(*how))
    for point in ("qcn-cp", "fecn-cp"):
        table = line_of_three()
        table["nodes"]["switch"] |= {"congestion_point": {"plugin": point}}
        table["nodes"]["nic"] |= {"reaction_point": {"plugin": "qcn-rp"}}
        keep(tmp_path, point, as_text(table), point)
    words = ("--plans", "0", "--target", "gateware", "--out", str(tmp_path))
    done = command(*words, "--json")
    assert done.exit_code == 0, done.output
    counts = {"compared": 1, "refused": 1, "distorted": 0}
    assert json.loads(done.stdout)["targets"] == [{"target": "gateware"} | counts]
    assert "on gateware: 1 plans compared; 1 it cannot run" in command(*words).stdout


def test_what_was_reached_before_it_is_stopped_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    with PythonKernels() as plain:
        plain.run(line_of_three())
        before = set(plain.kernels.reached)

        def stop(*_: Any) -> bool:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(plain, "_pipe", type("", (), {"send": stop, "poll": stop}))
            with pytest.raises(KeyboardInterrupt):
                plain.run(line_of_three())
        assert set(plain.kernels.reached) == before != set()


def test_an_algorithm_that_no_plan_ran_is_not_listed_branch_by_branch() -> None:
    one = {"kind": "traffic", "branches": 3, "contradicted": []}
    some = one | {"name": "some", "reached": 2, "missing": ["x never"]}
    none = one | {"name": "none", "reached": 0, "missing": ["a", "b", "c"]}
    count = {"branches": 6, "reached": 2, "excused": 0}
    told = list(coverage_lines({"algorithms": [some, none], "kernels": count, "node": count}))
    of_some = ["   2 of   3  some (traffic)", "  missing: x never"]
    assert told[:3] == [*of_some, "   0 of   3  none (traffic)"]
    assert len(told) == 4
