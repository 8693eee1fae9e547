"""With programs off a plan starts no command of this machine, and is refused by the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import line_of_three

NODES = {"nic": {"kind": "nic"}, "switch": {"kind": "switch"}, "sink": {"kind": "nic"}}
SOCKETS = {"plugin": "sockets", "from": "nic", "to": "sink", "bidirectional": True}

TOUCH = {"node": "nic", "command": ["touch", "here"]}


@pytest.mark.parametrize(
    "programs",
    [
        {"one": TOUCH},
        {"one": TOUCH, "two": {"node": "sink", "command": ["sh", "-c", "id"]}},
    ],
)
@pytest.mark.parametrize("target", ["software", "simulated"])
def test_a_plan_with_programs_is_refused(tmp_path: Path, programs, target):
    gen = {"gen": SOCKETS}
    plan = Plan(**line_of_three(target=target, programs=programs, traffic=gen, nodes=NODES))
    with pytest.raises(
        Refused, match=r"(?s)wants to run 'touch here' .programs\.one.*--no-programs"
    ):
        run(plan, out=tmp_path, programs=False)
    assert list(tmp_path.iterdir()) == []
