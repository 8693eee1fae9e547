"""The controller that a session starts for the machines of its testbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import RunFailed
from orchestrator.plan import Plan
from orchestrator.testbed import curve_keys
from traces.pytest_plugin import testbed_session

PLAN = Path(__file__).parents[2] / "short.toml"


def test_a_machine_without_an_agent_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, the controller's start, the way of a plan there and of the refusal back."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = curve_keys.default_folder()
    curve_keys.make(folder, "lab")
    curve_keys.authorise(folder, str(folder / curve_keys.PUBLIC))
    bed = tmp_path / "testbed.toml"
    public = curve_keys.own(folder).public
    bed.write_text(
        f'[machines.left]\naddress = "tcp://127.0.0.1:9"\nkey = "{public}"\nnodes = ["*"]\n'
    )
    with (
        testbed_session.testbed_session(bed) as there,
        pytest.raises(RunFailed, match="left, where no agent answers"),
    ):
        there.run(Plan.load(PLAN))


def test_a_controller_that_does_not_come_up_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    curve_keys.make(curve_keys.default_folder(), "lab")
    with pytest.raises(RunFailed, match=r"(?s)did not come up: .*none.toml: cannot be read"):
        testbed_session.testbed_session(tmp_path / "none.toml").__enter__()
