"""A run's report tells pauses by capture and by counter, and says when they disagree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.traces.oracle.plans import PAUSED
from traces.pause_agreement import paused_ports
from traces.report import report
from traces.run_reader import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run with pauses."""
    done = run(Plan.load(PAUSED), out=tmp_path_factory.mktemp("runs"), report=False)
    assert done.folder is not None
    return done.folder


def test_both_measurements_agree(folder: Path) -> None:
    loaded = load(folder)
    (row,) = paused_ports(folder, loaded.plan_text, loaded.table)
    assert row.entity == "nic>switch"
    assert row.frames > 50
    assert row.capture_s == pytest.approx(row.counter_s, abs=1e-6)
    assert 0.05 < row.capture_s < 0.1
    assert row.note == ""
    assert "they agree" in report(loaded)


def test_a_silent_capture_is_told(folder: Path, tmp_path: Path) -> None:
    loaded = load(folder)
    captures = tmp_path / "captures"
    captures.mkdir()
    octets = (folder / "captures" / "nic-switch.pcapng").read_bytes()
    # what a card swallows: the pauses become frames of another opcode
    (captures / "nic-switch.pcapng").write_bytes(
        octets.replace(b"\x88\x08\x00\x01", b"\x88\x08\x00\x07")
    )
    (row,) = paused_ports(tmp_path, loaded.plan_text, loaded.table)
    assert row.frames == 0
    assert "one measurement only" in row.note
    loaded.folder = tmp_path
    assert re.search("Pauses, by two measurements.*one measurement only", report(loaded), re.DOTALL)
