"""Two runs beside each other: both are kept, and neither takes the other along."""

from __future__ import annotations

import json
from pathlib import Path

from tests.robustness.runs import ENDLESS, QUICK, RUNNING, whole
from tests.traces_of_runs import Run


def test_two_runs_at_once_are_both_kept(target, out):
    """On a busy machine the software target's verdict may be that the machine was too busy."""
    arguments = [*QUICK, "--target", target, "--out", out, "--json"]
    with Run(*arguments) as one, Run(*arguments) as two:
        ended = [run.end() for run in (one, two)]
        assert [run.left(out.parent) for run in (one, two)] == [[], []]
    results = [json.loads(output) for _, output, _ in ended]
    assert sorted(Path(result["folder"]) for result in results) == whole(out)
    assert len(whole(out)) == 2
    for (code, _, _), result in zip(ended, results, strict=True):
        assert {"met": 0, "unjudged": 0, "missed": 1, "invalid": 3}[result["verdict"]] == code
        assert all(row["met"] for row in result["expectations"])
        assert sum(result["fidelity"].get("lost_outside_queues", {}).values()) == 0


def test_a_run_that_is_killed_leaves_its_neighbour_alone(target, out):
    with Run(*ENDLESS[target], "--target", target, "--out", out) as one:
        assert one.wait_for(RUNNING[target])
        with Run(*QUICK, "--target", target, "--out", out) as two:
            assert two.wait_for("running" if target == "software" else "writing")
            one.process.kill()
            one.end()
            two.end()
            assert two.left(out.parent) == []
        assert one.left(out.parent) == []
    assert len(whole(out)) == 1
