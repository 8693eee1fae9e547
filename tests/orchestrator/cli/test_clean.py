"""`tailback clean`."""

from __future__ import annotations

import json

import pytest

from orchestrator.cli import clean
from orchestrator.run.run_folder import RunFolder


@pytest.fixture
def left(tmp_path):
    """What a run left that was killed together with its reaper."""
    folder = tmp_path / "runs" / "plan" / ".20260101T000000Z-abcdef.1.partial"
    folder.mkdir(parents=True)
    (folder / "samples").write_bytes(bytes(1500))
    return folder


def test_nothing_is_there(tailback, tmp_path):
    done = tailback("clean", "--out", tmp_path / "none")
    assert done.exit_code == 0
    assert done.stdout == f"nothing to remove in {tmp_path / 'none'}\n"


def test_it_lists_and_removes(tailback, tmp_path, left):
    out = tmp_path / "runs"
    first = tailback("clean", "--out", out, "--dry-run").stdout
    assert f"{left}  1.5 KB, last changed 20" in first
    assert first.endswith("1 would be removed\n")
    assert left.exists()
    assert tailback("clean", "--out", out).stdout.endswith("1 of 1 removed\n")
    assert not left.exists()


def test_a_run_that_is_going_on_is_not_touched(tailback, tmp_path):
    with RunFolder.open(tmp_path / "runs", "plan") as folder:
        done = tailback("clean", "--out", tmp_path / "runs")
        assert "1 belong to runs that are going on" in done.stdout
        assert folder.path.exists()


def test_a_folder_that_is_gone_meanwhile_is_passed_over(tmp_path):
    assert clean._describe(tmp_path / "gone") is None


def test_a_machine_gets_json(tailback, tmp_path, left):
    found = json.loads(tailback("clean", "--out", tmp_path / "runs", "--json").stdout)
    assert found["removed"] == [str(left)] == [f["path"] for f in found["stale"]]
    assert found["stale"][0]["bytes"] == 1500
    assert found["in_use"] == 0
