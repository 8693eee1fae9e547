"""Completion times: statistics by entry, class and phase; their file; their figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.metric_registry import METRICS
from orchestrator.recording import MessageTable
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, line_of_three
from traces.message_table import read_messages, write_messages
from traces.metrics.completion_times import completions

S = 10**12


def table() -> MessageTable:
    """Entry m: ten messages of 1 KB that take 1 to 10 s, ideally 1; n: a large and an open one."""
    start = np.arange(12) * S
    return MessageTable(
        flows=[("m.0", "m"), ("m.1", "m"), ("n", "n")],
        flow=np.array([0, 1] * 5 + [2, 2]),
        start_ps=start,
        size=np.array([1000] * 10 + [20_000_000, 5]),
        done_ps=np.array([*(start[:10] + np.arange(1, 11) * S), start[10] + 4 * S, -1]),
        ideal_ps=np.array([S] * 10 + [2 * S, 1]),
    )


def test_statistics_are_exact() -> None:
    found = completions(table(), (0, 100 * S))
    m, n = found["m"], found["n"]
    assert (m["messages.started"], m["messages.completed"]) == (10, 10)
    assert m["fct_s.mean"] == pytest.approx(5.5)
    assert (m["fct_s.p50"], m["fct_s.p95"], m["slowdown.p99"]) == (5, 10, 10)
    assert m["fct_s.small.p50"] == 5
    assert "fct_s.large.p50" not in m
    assert (n["messages.started"], n["messages.completed"]) == (2, 1)
    assert (n["slowdown.mean"], n["slowdown.large.p99"]) == (2, 2)
    assert found["traffic"]["messages.completed"] == 11
    assert set(m) | set(n) <= set(METRICS["messages"])


def test_a_phase_has_the_messages_that_began_in_it() -> None:
    m = completions(table(), (2 * S, 4 * S))["m"]
    assert (m["messages.started"], m["fct_s.p50"]) == (2, 3)
    empty = completions(table(), (50 * S, 60 * S))["m"]
    assert (empty["messages.started"], empty["fct_s.mean"]) == (0, None)


def test_the_file_holds_all_of_it(tmp_path: Path) -> None:
    write_messages(tmp_path / "m.parquet", table())
    again, first = read_messages(tmp_path / "m.parquet"), table()
    assert again.flows == first.flows
    for name in ("flow", "start_ps", "size", "done_ps", "ideal_ps"):
        assert np.array_equal(getattr(again, name), getattr(first, name)), name


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(BadInput, match=r"m\.parquet.*messages"):
        read_messages(tmp_path / "m.parquet")


def test_a_run_is_judged_by_completion_times_and_shows_them(tmp_path: Path) -> None:
    plan = line_of_three(duration=20 * MS)
    plan["traffic"] = {
        "m": {"plugin": "messages", "from": "nic", "to": "sink", "count": 0}
        | {"size": 5_000, "every": 500 * US},
        "c": {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**8},
    }
    plan["phases"] = {"late": {"from": 10 * MS, "to": 20 * MS}}
    plan["expect"] = [
        {"metric": "slowdown.p99", "of": "m", "max": 3},
        {"metric": "fct_s.small.p50", "of": "m", "phase": "late", "max": 100 * US},
        {"metric": "messages.started", "of": "m", "phase": "late", "min": 20, "max": 20},
        {"metric": "fct_s.p50", "of": "c", "max": 1},
    ]
    done = run(Plan(**plan), out=tmp_path)
    assert [row["met"] for row in done.result["expectations"]] == [True, True, True, False]
    assert done.result["units"]["fct_s.small.p50"] == "s"
    assert done.folder is not None
    page = (done.folder / "report.html").read_text()
    assert "Slowdown of messages by size" in page
    assert "40 of 40 messages completed" in page


def test_a_run_in_which_no_message_completed_has_its_report(tmp_path: Path) -> None:
    plan = line_of_three(duration=1 * MS)
    endless = {"plugin": "messages", "size": 10**9, "from": "nic", "to": "sink"}
    plan["traffic"] = {"m": endless}
    done = run(Plan(**plan), out=tmp_path)
    assert done.folder is not None
    assert "0 of 1 messages completed" in (done.folder / "report.html").read_text()
