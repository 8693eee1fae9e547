"""A session has less weight while a data path is at work here, and its own again afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.console.cpu_throttle import NICE, CpuThrottle


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [(0, NICE), (-10, None), (NICE + 5, None)],
    ids=["ordinary", "raised for a data path", "lowered by its owner"],
)
def test_a_session_gives_way_and_takes_its_weight_again(
    before: int, meanwhile: int | None, tmp_path: Path
) -> None:
    autogroup = tmp_path / "autogroup"
    autogroup.write_text(f"/autogroup-7 nice {before}\n")
    as_it_was = autogroup.read_text()
    yielding = CpuThrottle(autogroup)
    yielding.look(True)
    assert yielding.now
    assert autogroup.read_text() == (as_it_was if meanwhile is None else str(meanwhile))
    yielding.look(False)
    assert not yielding.now
    assert autogroup.read_text() == (as_it_was if meanwhile is None else str(before))


def test_a_system_without_such_weights_is_left_alone(tmp_path: Path) -> None:
    yielding = CpuThrottle(tmp_path / "none")
    yielding.look(True)
    assert yielding.now
    yielding.look(False)
    assert list(tmp_path.iterdir()) == []
