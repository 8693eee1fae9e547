"""What seeds make of a difference between runs."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.run.execute_run import run
from traces.compare import compare, show
from traces.compare.comparison_result import Difference
from traces.compare.significance import assess_significance, seed_significance
from traces.run_reader import Run

SPREAD = [20.0, 24.0, 18.0, 26.0, 22.0, 21.0]
"""KB, say: most pairs are further apart than a tenth."""
CALM = [20.0, 20.2, 19.9, 20.1, 20.0, 19.8]


def differing(*values: float | None) -> Difference:
    bytes_ = [None if value is None else value * 1000 for value in values]
    return Difference("rise", "switch.sink", "queue_bytes.mean", "B", bytes_, None, None, False)


def thousands(values: list[float]) -> list[float]:
    return [value * 1000 for value in values]


def test_what_seeds_differ_by_is_chance() -> None:
    found = seed_significance(differing(19, 25), thousands(SPREAD))
    assert found.by_chance
    assert (found.least, found.most) == (18_000, 26_000)
    assert all(away is not None and away < 2 for away in found.away)


def test_what_lies_outside_of_the_seeds_is_not() -> None:
    found = seed_significance(differing(19, 40), thousands(SPREAD))
    assert not found.by_chance
    assert found.away[0] < 3 < found.away[1]  # type: ignore[operator]


def test_seeds_that_agree_excuse_nothing() -> None:
    """Also what lies within three deviations: bands are for what does not depend on the seed."""
    found = seed_significance(differing(19.6, 20.4), thousands(CALM))
    assert found.pairs_apart == 0
    assert not found.by_chance


def test_a_value_that_is_lacking_and_seeds_that_lack_it() -> None:
    assert not seed_significance(differing(20, None), thousands(SPREAD)).by_chance
    few = seed_significance(differing(19, 25), thousands(SPREAD[:4]))
    assert (few.by_chance, few.least, few.away) == (False, None, [])
    same = seed_significance(differing(19, 20), [20_000.0] * 6)
    assert same.away == [None, 0.0]


PLAN = """
name = "burst"
duration = "4ms"
sample_interval = "20us"

[nodes.nic]
kind = "nic"

[nodes.switch]
kind = "switch"
service_rate = "500Mb/s"

[nodes.sink]
kind = "sink"

[links.up]
ends = ["nic", "switch"]
rate = "1Gb/s"

[links.down]
ends = ["switch", "sink"]
rate = "1Gb/s"

[traffic.some]
plugin = "bernoulli"
from = "nic"
to = "sink"
frame = "1500B"
rate = "450Mb/s"

[phases.all]
from = "1ms"
to = "4ms"
"""


def ran(seed: int, *settings: str) -> Run:
    plan = Plan.load(PLAN).with_settings([*settings]) if settings else Plan.load(PLAN)
    done = run(plan, target="simulated", seed=seed, out=None)
    return Run.of(done.recording, plan.to_toml(), {}, done.result)


def test_random_traffic_differs_by_chance_and_another_rate_does_not() -> None:
    first = ran(1)
    other = next(one for seed in range(2, 20) if not compare([first, one := ran(seed)]).agree)
    found = compare([first, other])
    assess_significance(found, first.plan_text, 12, silent)
    assert found.by_chance
    assert not found.agree
    out = io.StringIO()
    show(found, Console(file=out, width=160))
    assert "agree as far as seeds do" in out.getvalue()
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["by_chance"] is True

    slower = compare([first, ran(1, "nodes.switch.service_rate=100Mb/s")])
    assess_significance(slower, first.plan_text, 12, silent)
    assert not slower.by_chance


def test_too_few_seeds_are_refused() -> None:
    first = ran(1)
    with pytest.raises(BadInput, match="expected 5 to 1000"):
        assess_significance(compare([first, first]), first.plan_text, 2, silent)
