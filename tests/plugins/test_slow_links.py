"""Reaction points on links slower than their least rates: no limiter goes above its link."""

from __future__ import annotations

from random import Random

import pytest

from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import NEVER
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import Registry
from tests.plugins.scheme_driver import Driver

POINTS = {
    one.name: one for one in Registry.load().algorithms if one.kind == "reaction_point"
}  # fmt: skip
LINKS = (1, 7, 999, 10_000, 499_999, 999_999, 3_125_000, 5_000_001, 9_999_999, 10**9)
"""bit/s: all but the last are below the least rate of some preset."""
BEGIN = ("bound", "start", "started")
EVENTS = 60


def points() -> list[tuple[Algorithm, Params]]:
    """Every reaction point with each of its presets, and with a least rate above any link."""
    found = []
    for one in POINTS.values():
        tables: list[dict[str, object]] = [{}, *({"preset": name} for name in one.params.presets)]
        if "min_rate" in one.params.model_fields:
            tables.append({"min_rate": 10**12})
        found += [(one, one.params.from_table(table, bare=True)) for table in tables]
    return found


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("point", "params"), points(), ids=lambda one: getattr(one, "name", ""))
def test_a_limiter_never_goes_above_its_link(point: Algorithm, params: Params, link: int) -> None:
    draw = Random(f"{point.name} {params} {link}")
    rp = Driver(point, params, rate=link, target=link, link_rate=link, timer=NEVER)
    named = [*point.kernels, *point.timers]
    events = [name for name in BEGIN if name in named]
    events += draw.choices([name for name in named if name not in BEGIN], k=EVENTS)
    now = 0
    for event in events:
        now += draw.choice([1, 10**6, 10**9, 10**11])
        frame = {"length": draw.choice([64, 1500]), "feedback": draw.randint(0, 63)}
        rp.set(backlog=draw.choice([0, 1500]), rtt=draw.choice([1, 10**7, 10**9]), acked=1500)
        rp.come(event, now, **frame)
        assert 0 < rp.rate <= link, event
