"""A run's report tells pauses by capture and by counter, and says when they disagree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.execute_run import run
from tests.traces.oracle.plans import PAUSED
from traces.pause_agreement import paused_ports
from traces.report import has_no_pauses, report
from traces.run_reader import Run, load


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


# Captures are read again only where there may be pauses in them, or somebody has counted one.

PAUSE = 'pause = { plugin = "pause", high = "100KB", low = "60KB", quanta = 1000 }'
TYPE = np.array([0x88, 0x08], np.uint8)


def made(folder: Path, text: str) -> tuple[Path, Recording]:
    """A simulated run, and its recording."""
    done = run(Plan.load(text), out=folder, report=False)
    assert done.folder is not None
    return done.folder, done.recording


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recording]:
    """Without pauses, and with captures."""
    assert PAUSE in PAUSED
    return made(tmp_path_factory.mktemp("runs"), PAUSED.replace(PAUSE, ""))


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recording]:
    """With both."""
    return made(tmp_path_factory.mktemp("runs"), PAUSED)


def loaded(of: tuple[Path, Recording]) -> Run:
    """As the report of a run that was just made has it."""
    return load(of[0], of[1])


def test_a_run_without_pauses_has_none(quiet: tuple[Path, Recording]) -> None:
    one = loaded(quiet)
    assert one.captures
    assert sum(len(capture.octets) for capture in one.captures) > 50
    assert has_no_pauses(one)
    assert "Pauses" not in report(one)


def test_of_an_older_run_nobody_knows_before_its_captures_are_read(
    quiet: tuple[Path, Recording],
) -> None:
    assert not has_no_pauses(load(quiet[0]))


def test_a_run_with_pauses_is_told_alike_at_once_and_later(paused: tuple[Path, Recording]) -> None:
    assert not has_no_pauses(loaded(paused))
    assert "Pauses, by two measurements" in report(loaded(paused))
    assert report(loaded(paused)) == report(load(paused[0]))


def test_pauses_that_were_captured_but_not_counted_are_seen(paused: tuple[Path, Recording]) -> None:
    folder, recording = paused
    values = recording.values.copy()
    values[:, [n for n, c in enumerate(recording.columns) if c.quantity == "paused_ps"]] = 0
    assert not has_no_pauses(load(folder, replace(recording, values=values)))


def test_pauses_that_were_counted_but_not_captured_are_seen(paused: tuple[Path, Recording]) -> None:
    folder, recording = paused
    blank = [replace(one, octets=np.zeros_like(one.octets)) for one in recording.captures]
    assert not has_no_pauses(load(folder, replace(recording, captures=blank)))


@pytest.mark.parametrize("at", [12, 16, 20])
def test_one_frame_of_mac_control_is_enough(quiet: tuple[Path, Recording], at: int) -> None:
    folder, recording = quiet
    last = recording.captures[-1]
    octets = last.octets.copy()
    octets[-1, at : at + 2] = TYPE
    captures = [*recording.captures[:-1], replace(last, octets=octets)]
    assert not has_no_pauses(load(folder, replace(recording, captures=captures)))


def test_a_run_without_captures_has_nothing_to_compare(
    paused: tuple[Path, Recording], tmp_path: Path
) -> None:
    one = loaded(paused)
    one.folder = tmp_path
    assert has_no_pauses(one)
