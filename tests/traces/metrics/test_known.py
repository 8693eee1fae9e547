"""Gauges that have no value yet are in no statistic, whichever algorithm shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.algorithm import Algorithm, reaction_point
from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import begins_with, probes
from orchestrator.engine.records import record
from orchestrator.plan import Plan
from orchestrator.plan.observables import Observed
from orchestrator.recording import Column
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from plugins.hpcc import HPCC
from plugins.nscc import NSCC
from tests.orchestrator.worlds import MS, US, Empty
from traces.metrics.compute_metrics import state_metrics
from traces.metrics.sample_table import Table
from traces.samples import read_samples, write_samples

LIMITED = {"depth": "30KB", "period": "1us"}
TRIP = 20.25e-6


def table_of(plugin: str, start: int = 0, **params: Any) -> dict[str, Any]:
    """20 us there and back at 100 Gb/s; one flow from `start` on."""
    link = {"rate": 10**11, "delay": 5 * US}
    point = {"plugin": plugin} | params
    return {
        "name": "known",
        "duration": 5 * MS,
        "sample_interval": 10 * US,
        "nodes": {
            "h1": {"kind": "nic", "reaction_point": point, "limiter": LIMITED},
            "s": {"kind": "switch", "buffer": "2MB", "congestion_point": {"plugin": "int"}},
            "d": {"kind": "sink"},
        },
        "links": {"a": link | {"ends": ["h1", "s"]}, "b": link | {"ends": ["s", "d"]}},
        "traffic": {
            "q": {
                "plugin": "bulk",
                "from": "h1",
                "to": "d",
                "start": start,
                "transport": {"plugin": "selective"},
            }
        },
    }


SCHEMES = [
    ("timely", {}),
    ("swift", {}),
    ("dctcp", {}),
    ("newreno", {}),
    ("cubic", {}),
    ("nscc", {"base_rtt": "20us"}),
    ("hpcc", {"base_rtt": "21us"}),
]


@pytest.mark.parametrize("start", [0, MS, 4 * MS], ids=["at-once", "late", "very-late"])
@pytest.mark.parametrize(("plugin", "params"), SCHEMES, ids=[name for name, _ in SCHEMES])
def test_no_mean_counts_the_time_before_a_gauge_is_known(
    plugin: str, params: dict[str, Any], start: int
) -> None:
    done = run(Plan(**table_of(plugin, start, **params)), out=None, report=False)
    found = done.result["metrics"]["run"]["h1.rp0"]
    assert found["rtt_s.mean"] >= 0.99 * TRIP
    smallest = found["window_bytes.mean"]
    assert smallest is None or smallest >= 1500, "a window of 0 is none"
    assert (smallest is None) == (plugin == "timely"), "it has a rate alone"
    if plugin == "hpcc":
        assert found["hpcc.u.min"] > 0, "U is measured"
    if plugin == "nscc":
        assert found["nscc.delay_s.mean"] is not None


@pytest.mark.parametrize(("plugin", "params"), SCHEMES, ids=[name for name, _ in SCHEMES])
def test_of_a_flow_that_never_begins_nothing_is_known(plugin: str, params: dict[str, Any]) -> None:
    table = table_of(plugin, 5 * MS - US, **params)
    found = run(Plan(**table), out=None, report=False).result["metrics"]["run"]["h1.rp0"]
    assert found["rtt_s.mean"] is None
    assert all(found[name] is None for name in found if name.startswith(f"{plugin}."))


def test_a_column_of_any_plugin_is_known_by_its_kind_or_as_it_says() -> None:
    state = record("level", "since")

    def made(column: Observed, **kernels: Any) -> Algorithm:
        return reaction_point("x", "x", Empty, state, columns=(column,), **kernels)

    level = Observed("level", "1", "x")
    assert begins_with(made(level, feedback=_nothing)) == "active"
    assert begins_with(made(level, acked=_nothing)) == "rtt_ps"
    assert begins_with(NSCC) == begins_with(HPCC) == "rtt_ps"
    with pytest.raises(ValueError, match="other is no field"):
        made(Observed("level", "1", "x", known="other"), acked=_nothing)
    with pytest.raises(ValueError, match="known from the start"):
        Observed("level", "1", "x", "counter", known="since")
    with pytest.raises(ValueError, match="note is of a counter"):
        Observed("level", "1", "x", note="y")


def _nothing(state, params, limiter, frame, now, message):
    return 0


def test_the_field_that_a_column_is_known_by_is_sampled_with_it() -> None:
    resolved = Plan(**table_of("hpcc", base_rtt="21us")).check(Registry.load())
    columns = {
        probe.column.quantity: probe.column
        for probe in probes(resolved, Indices(resolved.plan))
        if probe.column.entity == "h1.rp0"
    }
    assert columns["u"].known == "measured"
    assert columns["measured"].metric == ""


KNOWN = Column("n", "e", "level", "1", "gauge", "x.level", "since")
SINCE = Column("n", "e", "since", "1", "gauge")


@pytest.mark.parametrize(
    ("since", "mean"), [([0, 0, 1, 1], 6.0), ([0, 0, 0, 0], None), ([1, 1, 1, 1], 3.0)]
)
def test_statistics_are_of_known_samples(since: list[int], mean: float | None) -> None:
    values = np.array([[0, 0, 4, 8], since]).T
    table = Table(np.arange(4) * MS, [KNOWN, SINCE], values)
    assert state_metrics(table.window(0, 4 * MS), KNOWN)["x.level.mean"] == mean
    drawn = table.drawn("e", "level", values[:, 0].astype(float))
    assert np.isnan(drawn).tolist() == [one == 0 for one in since]
    alone = Table(np.arange(4) * MS, [KNOWN], values[:, :1])
    assert state_metrics(alone.window(0, 4 * MS), KNOWN)["x.level.mean"] == 3.0, (
        "not sampled: all are"
    )


def test_samples_keep_what_a_column_is_known_by(tmp_path: Any) -> None:
    done = run(Plan(**table_of("hpcc", base_rtt="21us")), out=None, report=False)
    write_samples(tmp_path / "s.parquet", done.recording)
    assert read_samples(tmp_path / "s.parquet")[1] == done.recording.columns
