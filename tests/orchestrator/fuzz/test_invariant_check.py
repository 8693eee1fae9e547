"""What a hunt looks at: targets that differ, algorithms of a file, plans made small, a corpus."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies
import numpy as np
import pytest
from typer.testing import CliRunner

from orchestrator.cli.main import assemble
from orchestrator.errors import BadInput
from orchestrator.fuzz import algorithm_file, cross_target, fuzz_loop
from orchestrator.fuzz.fuzz_loop import Options, hunt
from orchestrator.fuzz.invariant_check import CheckedPlan, Finding, check_invariants, check_table
from orchestrator.fuzz.plan_corpus import as_numbers, as_text, keep, plans_in, write_captures
from orchestrator.fuzz.plan_minimizer import candidates, minimized
from orchestrator.fuzz.python_kernel_process import PythonKernels
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run import world_invariants
from orchestrator.targets.simulated import Simulated
from plugins import red_marking
from tests.orchestrator.worlds import ALIGNED, MS, Table, line_of_three, recorded

CORPUS = Path(__file__).parent / "corpus"


class Rounding(Simulated):
    """A target whose links take whole multiples of 300 Mb/s."""

    name = "rounding"

    def run(self, resolved: ResolvedPlan, progress: Any, session: Any = None) -> Recording:
        table = resolved.plan.to_table() | {"target": "simulated"}
        for link in table["links"].values():
            link["rate"] = f"{max(resolved.plan.links['up'].rate // 300_000_000, 1) * 300}Mb/s"
        return super().run(Plan(**table).check(Registry.load()), progress)


@pytest.fixture
def rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [*Registry.load().targets, Rounding()]
    monkeypatch.setattr(Registry.load(), "targets", targets)


def test_a_target_that_rounds_rates_is_found_out(rounding: None) -> None:
    finding = check_table(line_of_three(), (cross_target.OtherTarget("rounding"),)).finding
    assert finding is not None
    assert finding.what == "differs: rounding"
    assert check_table(line_of_three(), (cross_target.OtherTarget("simulated"),)).finding is None


def test_what_differs_is_made_small(rounding: None) -> None:
    checks = (cross_target.OtherTarget("rounding"),)

    def frames(table: Table) -> int | None:
        try:
            looked = check_table(table, checks)
        except Exception:
            return None
        return None if looked.finding is None else looked.frames

    table = line_of_three(duration=MS, **ALIGNED)
    small = minimized(table, frames, tries=40)
    assert check_table(small, checks).finding is not None
    assert small["duration"] < MS
    assert check_table(small, checks).frames <= 20


def test_what_seeds_do_is_no_difference() -> None:
    one = recorded(line_of_three())
    assert cross_target.beyond_seeds("there", one, [one]) is None
    other = recorded(line_of_three())
    column = other.column("gen", "frames_received")
    column[-1] -= 20
    finding = cross_target.beyond_seeds("there", other, [one])
    assert finding is not None
    assert "frames_received" in finding.text
    assert cross_target.beyond_seeds("there", other, [one, other]) is None


def test_unequal_samples_are_told_with_place_and_time() -> None:
    one, other = recorded(line_of_three()), recorded(line_of_three())
    assert cross_target.unequal("two cores", one, other) is None
    other.column("switch.sink", "frames_in")[3] += 1
    finding = cross_target.unequal("two cores", one, other)
    assert finding is not None
    assert "switch.sink frames_in" in finding.text


def test_two_cores_do_the_same() -> None:
    table = line_of_three()
    table["links"]["up"]["delay"] = 10**6
    assert check_table(table, (cross_target.CoreComparison(),)).finding is None


TOO_FAST = '''
"""A reaction point that sets twice its link's rate."""

from orchestrator.algorithm import reaction_point
from orchestrator.engine.records import record
from orchestrator.plan.algorithm_params import Params


class TooFast(Params):
    """None."""


def on_started(state, params, limiter, frame, now, message):
    """A flow is switched on."""
    limiter.active = 1
    limiter.rate = 2 * limiter.link_rate
    return 0


TOO_FAST = reaction_point(
    "too-fast", "twice the rate", TooFast, record("unused"), started=on_started
)
'''


@pytest.fixture
def too_fast(tmp_path: Path) -> Iterator[Path]:
    """A file with an algorithm that nobody installed; the registry forgets it afterwards."""
    path = tmp_path / "too_fast_rp.py"
    path.write_text(TOO_FAST)
    yield path
    registry = Registry.load()
    module = sys.modules.pop("too_fast_rp", None)
    if module is not None:
        registry.manager.unregister(module)
        registry.algorithms = [one for one in registry.algorithms if one.name != "too-fast"]


def test_an_algorithm_of_a_file_is_hunted(too_fast: Path, tmp_path: Path) -> None:
    wanted = tuple(algorithm_file.load_algorithms(too_fast))
    assert [one.name for one in wanted] == ["too-fast"]
    done = hunt(Options(plans=30, seed=3, corpus=tmp_path / "found", wanted=wanted, most=1))
    (found,) = done.found
    assert found.finding.what == "invariant: highest rate of a limiter"
    assert found.frames <= 20
    assert found.path is not None
    assert 'plugin = "too-fast"' in found.path.read_text("utf-8")
    assert found.text.count("\n") <= 20
    again = hunt(Options(plans=1, corpus=tmp_path / "found", wanted=wanted, most=1))
    assert again.replayed == 1
    assert [one.finding.what for one in again.found] == [found.finding.what]


def test_the_file_of_an_installed_plugin_means_the_installed_algorithms(
    too_fast: Path, tmp_path: Path
) -> None:
    first = algorithm_file.load_algorithms(too_fast)
    assert algorithm_file.load_algorithms(too_fast) == first
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / "of_the_same.py"
    copy.write_text(TOO_FAST)
    assert algorithm_file.load_algorithms(copy) == first
    shipped = Path(red_marking.__file__)
    assert [one.name for one in algorithm_file.load_algorithms(shipped)] == ["red"]
    copy.write_text(TOO_FAST.replace("2 *", "3 *"))
    with pytest.raises(BadInput, match="no algorithm of its own, whose kind and name"):
        algorithm_file.load_algorithms(copy)


def test_a_batch_without_a_valid_plan_is_chance_and_twenty_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strategy = fuzz_loop._Fuzzer._strategy
    unlucky = [1, 2, 3]

    def drawn(self: Any, drawer: Any, seed: int) -> Any:
        invalid = hypothesis.strategies.just({"name": "nothing else"})
        return invalid if seed in unlucky else strategy(self, drawer, seed)

    monkeypatch.setattr(fuzz_loop._Fuzzer, "_strategy", drawn)
    done = hunt(Options(plans=2, seed=1))
    assert (done.plans, done.found) == (2, [])
    assert done.invalid >= 3
    unlucky += range(4, 40)
    with pytest.raises(BadInput, match=r"none of the .* is valid; the last one: .*duration"):
        hunt(Options(plans=2, seed=1))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "no algorithm of its own"),
        ("import nothing_of_the_kind\n", "cannot be imported"),
    ],
)
def test_a_file_without_algorithms_is_bad_input(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "some_file_of_mine.py"
    path.write_text(text)
    with pytest.raises(BadInput, match=said):
        algorithm_file.load_algorithms(path)
    with pytest.raises(BadInput, match="path of a Python file"):
        algorithm_file.load_algorithms(tmp_path / "not_there.py")


def test_plans_get_smaller_only() -> None:
    table = line_of_three(timeline=[{"at": 5, "stop": "gen"}])
    for one, _ in candidates(table):
        assert len(str(one)) < len(str(table)) or str(one) != str(table)
    tiny = minimized(table, lambda one: 1 if "gen" in one["traffic"] else None, tries=2_000)
    assert set(tiny["nodes"]) <= {"nic", "switch", "sink"}
    assert "timeline" not in tiny
    assert tiny["duration"] < 2 * 10**6


def test_a_plan_is_written_in_few_lines_and_read_back(tmp_path: Path) -> None:
    table = line_of_three(timeline=[{"at": 5, "set": "links.up.rate", "to": 10**8}])
    text = as_text(table, ["what\nit is"])
    assert text.startswith("# what it is\n")
    assert 'links.up = { ends = ["nic", "switch"], rate = "1Gb/s" }' in text
    again, first = (one.check(Registry.load()) for one in (Plan.load(text), Plan(**table)))
    assert again.plan.to_table() == first.plan.to_table()
    path = keep(tmp_path, "invariant: x y", text)
    assert path.name.startswith("invariant-x-y-")
    assert [found for found, _ in plans_in(tmp_path)] == [path]
    captures = write_captures(path)
    assert {one.name for one in captures} >= {"switch-sink.pcapng"}


@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*.toml")), ids=lambda path: path.stem)
def test_a_plan_that_was_written_is_varied_as_one_that_was_drawn(path: Path) -> None:
    plan = Plan.load(path)
    table = as_numbers(plan)
    assert Plan(**table).to_table() == Plan.load(path).to_table()
    numbers = [table["duration"], *(link["rate"] for link in table["links"].values())]
    assert {type(one) for one in numbers} == {int}
    json.dumps(table)


def test_plans_of_the_corpus_are_varied(tmp_path: Path) -> None:
    """Those that reach something new, in every other batch: seeds are odd there."""
    table = as_numbers(Plan.load(CORPUS / "branches" / "gateware-drawn.toml"))
    keep(tmp_path / "branches", "one", as_text(table))
    seen: list[Table] = []
    news = iter([1])
    options = Options(plans=30, seed=1, corpus=tmp_path, news=lambda: next(news, 0))
    done = hunt(options, seen=lambda table, looked: seen.append(table))
    assert done.replayed == 1
    assert len(done.reaching) == 1
    assert len({json.dumps(one) for one in seen}) > 15
    assert all({"h1", "h2", "s", "d"} == set(one["nodes"]) for one in seen), "all are like it"
    assert len({one["duration"] for one in seen}) > 1


def test_samples_that_break_an_invariant_make_a_run_invalid() -> None:
    table = line_of_three()
    resolved, recording = Plan(**table).check(Registry.load()), recorded(table)
    assert world_invariants.broken_in_samples(resolved, recording) == []
    for entity, quantity, value, name in (
        ("switch.sink", "queue_max_bytes", 151_000, "capacity of a buffer"),
        ("switch.sink", "queue_bytes", 5, "octets of a buffer"),
        ("gen", "frames_received", 10**6, "frames of a flow"),
        ("nic>switch", "bytes_out", 10**9, "rate of a link"),
    ):
        broken = recorded(table)
        broken.column(entity, quantity)[-1] = value
        told = world_invariants.broken_in_samples(resolved, broken)
        assert any(entity in one and name in one for one in told), (quantity, told)


def test_copies_that_the_timeline_makes_are_no_frames_too_many() -> None:
    table = line_of_three(timeline=[{"at": 0, "duplicate": "gen", "packets": 2}])
    table["traffic"]["gen"]["stop"] = MS
    resolved, recording = Plan(**table).check(Registry.load()), recorded(table)
    sent, received = (recording.column("gen", f"frames_{one}") for one in ("sent", "received"))
    assert received[-1] == sent[-1] + 2
    assert world_invariants.broken_in_samples(resolved, recording) == []
    received[-1] += 1
    (found,) = world_invariants.broken_in_samples(resolved, recording)
    assert "frames of a flow" in found


def test_each_invariant_takes_numbers_and_arrays() -> None:
    for one in world_invariants.INVARIANTS:
        zeros = one.holds(*[0] * len(one.fields))
        assert bool(zeros) is (one is not world_invariants.RATE)
        arrays = one.holds(*[np.zeros(3, np.int64)] * len(one.fields))
        assert arrays.shape == (3,)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.toml")), ids=lambda path: path.stem)
def test_what_was_found_once_is_not_found_again(path: Path) -> None:
    looked = check_invariants(
        Plan.load(path).check(Registry.load()), (cross_target.CoreComparison(),)
    )
    assert looked.finding is None, looked.finding


def test_plain_python_measures_the_same_and_tells_what_it_did_not_reach() -> None:
    """One of the plans was found so: a parameter called `base` was numpy's in plain Python."""
    with PythonKernels() as plain:
        for path in sorted(CORPUS.glob("*.toml")):
            looked = check_invariants(Plan.load(path).check(Registry.load()), (plain,))
            assert looked.finding is None, looked.finding
        reached = plain.reached()
    kernels, node = reached["kernels"], reached["node"]
    assert 0 < kernels["reached"] < kernels["branches"]
    assert node["branches"] > 1000
    assert node["reached"] + len(node["missing"]) == node["branches"]
    (swift,) = (one for one in reached["algorithms"] if one["name"] == "swift")
    assert swift["reached"] > 0
    assert any("plugins/swift.py" in one for one in swift["missing"])


def test_the_same_seed_finds_the_same_and_nothing_is_found() -> None:
    plans: list[list[str]] = [[], []]
    for seen in plans:

        def note(table: Table, looked: CheckedPlan, seen: list[str] = seen) -> None:
            seen.append(json.dumps(table))

        done = hunt(Options(plans=20, seed=11), seen=note)
        assert [one.finding for one in done.found] == []
        assert done.plans == 20
    assert plans[0] == plans[1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_thousand_plans_without_a_false_alarm() -> None:
    done = hunt(Options(plans=1000, seed=1000), (cross_target.CoreComparison(),))
    assert [one.finding for one in done.found] == []


def command(*words: str) -> Any:
    return CliRunner().invoke(assemble(Registry.load(), ["hunt"]), ["hunt", *words])


def test_the_command_says_what_it_found_by_exit_code_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = command("--plans", "2", "--json", "--out", str(tmp_path / "none"))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["plans"] == 2
    folder = tmp_path / "some"
    keep(folder, "a plan", as_text(line_of_three()))
    wrong = Finding("invariant: planted", "planted")
    monkeypatch.setattr("orchestrator.fuzz.invariant_check._of_samples", lambda *_: wrong)
    done = command("--plans", "1", "--json", "--out", str(folder))
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout)["found"][0]["what"] == wrong.what


@pytest.mark.parametrize(
    "words", [["--plans", "-1"], ["--sequences", "0"], ["--minutes", "-1"], ["--seed", "-1"],
              ["--target", "nowhere"], ["--against", "no.py"]],
)  # fmt: skip
def test_bad_input_is_told(words: list[str], tmp_path: Path) -> None:
    assert command(*words, "--out", str(tmp_path)).exit_code == 2
