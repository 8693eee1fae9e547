"""Stages of a link on real frames: what they count is what they count on `simulated`."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

LOSS = {"plugin": "lossy-delay", "loss_rate": "1/20"}
COPIES = {"plugin": "duplication", "duplication_rate": "1/10"}
ERRORS = {"plugin": "bit-errors", "bit_error_rate": "1/200000"}
ALTERED = {"plugin": "bit-errors", "bit_error_rate": "1/50000", "fcs": "right"}
HELD = {"plugin": "reordering", "reordering_rate": "1/20", "hold": 20 * MS}
BURSTS = {"plugin": "gilbert-elliott", "to_bad": "1/50", "to_good": "1/3"}
UP = "h>s"
NAMES = ("frames.sent", "frames.dropped", "frames.fcs_errors", "frames.duplicated")


def counts(target: str, stages: list[Any]) -> dict[str, dict[str, Any]]:
    """What the link and its stages counted, and what arrived of 500 frames."""
    plan = Plan(
        name="staged",
        duration=700 * MS,
        sample_interval=10 * MS,
        nodes={"h": {"kind": "nic"}, "s": {"kind": "switch"}, "d": {"kind": "sink"}},
        links={
            "up": {"ends": ["h", "s"], "rate": 10**8, "delay": 5 * MS, "delay_line": stages},
            "down": {"ends": ["s", "d"], "rate": 10**8, "delay": 5 * MS},
        },
        traffic={
            "gen": {"plugin": "cbr", "from": "h", "to": "d", "rate": 8_000_000, "frame": 1000}
            | {"stop": 499 * MS + MS // 2}
        },
    )
    done = run(plan, target=target, out=None)
    metrics = done.result["metrics"]["run"]
    assert not [one for one in done.result["fidelity"]["reasons"] if "accounted" in one]
    found = {name: dict(values) for name, values in metrics.items() if f"{UP}/stage" in name}
    found[UP] = {name: metrics[UP][name] for name in NAMES}
    found["gen"] = {"frames.received": metrics["gen"]["frames.received"]}
    return found


@pytest.mark.parametrize(
    "stages", [[LOSS, COPIES, ALTERED, ERRORS, HELD, BURSTS], [BURSTS, COPIES, COPIES, LOSS]]
)
def test_equal_counts_on_both_targets(stages: list[Any]) -> None:
    simulated = counts("simulated", stages)
    assert simulated[UP]["frames.dropped"] > 10
    assert simulated[UP]["frames.duplicated"] > 10
    assert counts("software", stages) == simulated
