"""Whether a difference is by chance, number by number, and what is asked of the seeds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.batch import batch_executor
from orchestrator.batch.experiment import Point
from orchestrator.batch.result_store import Store
from orchestrator.errors import BadInput
from orchestrator.progress import silent
from tests.traces.test_chance import differing, thousands
from traces.compare.comparison_result import Comparison, Difference
from traces.compare.significance import assess_significance, seed_significance

PLAN = """
name = "short"
duration = "1ms"

[nodes.nic]
kind = "nic"

[nodes.sink]
kind = "sink"

[links.only]
ends = ["nic", "sink"]
rate = "1Gb/s"
"""


def test_what_is_told_of_a_difference() -> None:
    """Mean 3 and standard deviation 1.58 of five seeds: 1.73 with one more to come."""
    found = seed_significance(differing(1, 6), thousands([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (found.least, found.most, found.mean) == (1000, 5000, 3000)
    assert found.away == [pytest.approx(2 / 3**0.5), pytest.approx(3 / 3**0.5)]
    assert found.pairs_apart == 0.6, "of ten pairs four are within the 1500 B that are nothing"
    assert found.by_chance


def test_three_deviations_are_near_and_more_is_not() -> None:
    seeds = thousands([10.0, 12.0, 14.0, 16.0, 18.0])
    far = 3 * (10 * 1.2) ** 0.5  # KB: the variance is 10, and a sixth value is to come
    assert seed_significance(differing(14, 14 + 0.999 * far), seeds).by_chance
    assert not seed_significance(differing(14, 14 + 1.001 * far), seeds).by_chance
    assert seed_significance(differing(14 - 0.999 * far, 14), seeds).by_chance


def test_a_twentieth_of_the_pairs_is_rare() -> None:
    """One seed beside n alike is in 2 of n + 1 pairs: of 40 that is a twentieth, of 39 more."""
    for count, excused in ((40, False), (39, True)):
        found = seed_significance(differing(20, 21.6), thousands([20.0] * (count - 1) + [24.0]))
        assert found.pairs_apart == pytest.approx(2 / count)
        assert found.by_chance is excused


def test_five_seeds_are_enough_and_four_are_not() -> None:
    assert seed_significance(differing(1, 6), thousands([1.0, 2.0, 3.0, 4.0, 5.0])).least == 1000
    few = seed_significance(differing(1, 6), thousands([1.0, 2.0, 3.0, 4.0]))
    assert (few.least, few.by_chance) == (None, False)


def test_a_run_that_lacks_the_metric_is_not_near() -> None:
    found = seed_significance(differing(3, None), thousands([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.away == [0.0, None]
    assert not found.by_chance


def test_seeds_that_are_all_alike_are_far_from_everything_else() -> None:
    found = seed_significance(differing(3, 4), [3000.0] * 5)
    assert found.away == [0.0, None]
    assert (found.pairs_apart, found.by_chance) == (0, False)


def apart(metric: str, agree: bool | None = False) -> Difference:
    return Difference("rise", "port", metric, "B", [19_000, 25_000], None, None, agree)


def weighed(
    patch: pytest.MonkeyPatch, values: list[float | None], seeds: int, *differences: Difference
) -> tuple[Comparison, list[Point]]:
    """What comes of differences where the seeds' metric has these values; what was run."""
    asked: list[Point] = []

    def carry_out(points: list[Point], **how: Any) -> list[Any]:
        assert how == {"store": None, "progress": silent}
        asked.extend(points)
        tables: list[dict[str, Any]] = [
            {"port": {} if value is None else {"queue_bytes.mean": value}}
            | {"another": {"queue_bytes.mean": 1}}
            for value in values
        ]
        tables[0]["port"]["utilization"] = 0.5
        return [SimpleNamespace(row={"metrics": {"rise": table}}) for table in tables]

    patch.setattr(batch_executor, "run_points", carry_out)
    made: Any = SimpleNamespace(differences=list(differences), chances=["as before"])
    assess_significance(made, PLAN, seeds, silent)
    return made, asked


SEEDS = [20_000.0, 24_000.0, 18_000.0, 26_000.0, 22_000.0, 21_000.0]


def test_each_seed_is_simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = weighed(monkeypatch, [*SEEDS], 6, apart("queue_bytes.mean"))
    assert [(one.subject.name, one.subject.target) for one in asked] == [("short", "simulated")] * 6
    assert [one.seed for one in asked] == [1, 2, 3, 4, 5, 6]
    assert found.chances == [seed_significance(apart("queue_bytes.mean"), SEEDS)]
    assert found.chances[0].by_chance


def test_only_what_a_rule_decides_and_differs_is_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    agree, undecided = (apart("queue_bytes.mean", agree=one) for one in (True, None))
    found, asked = weighed(monkeypatch, [*SEEDS], 6, agree, undecided)
    assert found.chances == ["as before"]
    assert asked == []
    found, _ = weighed(monkeypatch, [*SEEDS], 6, agree, apart("queue_bytes.mean"), undecided)
    assert len(found.chances) == 1


def test_a_seed_without_the_metric_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = weighed(monkeypatch, [*SEEDS, None], 7, apart("queue_bytes.mean"))
    assert found.chances[0].mean == pytest.approx(sum(SEEDS) / 6)
    found, _ = weighed(monkeypatch, [*SEEDS], 6, apart("utilization"))
    assert (found.chances[0].least, found.chances[0].away) == (None, []), "one seed has it"


def test_a_phase_or_an_entity_that_seeds_do_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    for phase, entity in (("fall", "port"), ("rise", "nobody")):
        one = Difference(phase, entity, "queue_bytes.mean", "B", [1, 2], None, None, False)
        found, _ = weighed(monkeypatch, [*SEEDS], 6, one)
        assert found.chances[0].least is None


def test_seeds_that_were_run_before_are_not_run_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made: Any = SimpleNamespace(differences=[apart("queue_bytes.mean")], chances=[])
    assess_significance(made, PLAN, 5, silent, store)
    (path,) = tmp_path.iterdir()
    first = path.read_bytes()
    assert first.count(b"\n") == 5
    assess_significance(made, PLAN, 6, silent, Store(tmp_path))
    assert path.read_bytes().startswith(first)
    assert path.read_bytes().count(b"\n") == 6


def test_few_seeds_and_too_many_are_refused_before_anything_is_run() -> None:
    nothing: Any = SimpleNamespace(differences=[], chances=[])
    for seeds in (4, 1001):
        with pytest.raises(BadInput, match=f"{seeds}; expected 5 to 1000"):
            assess_significance(nothing, PLAN, seeds, silent)
    for seeds in (5, 1000):
        assess_significance(nothing, PLAN, seeds, silent)
