"""What is kept of points: whole lines count, everything else is as if it were not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.result_store import Store
from orchestrator.errors import BadInput

SUBJECT = Experiment("made", "simulated", {}, "0" * 64)
ONE, OTHER = Point(SUBJECT, 1), Point(SUBJECT, 2)
ROW = {"metrics": {"run": {"switch.sink": {"utilization": 0.1 + 0.2}}}, "text": "a\nb ü"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "points"


def file_of(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_what_was_put_is_got_to_the_last_digit_by_who_opens_it_later(folder: Path) -> None:
    Store(folder).put(ONE, ROW)
    assert Store(folder).get(ONE) == ROW
    assert Store(folder).get(OTHER) is None


def test_what_was_put_since_it_looked_is_got_as_well(folder: Path) -> None:
    store = Store(folder)
    assert store.get(ONE) is None
    store.put(ONE, ROW)
    store.put(OTHER, {"text": "other"})
    assert (store.get(ONE), store.get(OTHER)) == (ROW, {"text": "other"})


def test_of_two_lines_of_a_point_the_last_counts(folder: Path) -> None:
    Store(folder).put(ONE, {"text": "old"})
    Store(folder).put(ONE, ROW)
    assert Store(folder).get(ONE) == ROW


@pytest.mark.parametrize("kept", range(1, 120, 7))
def test_a_half_written_line_is_run_again_and_hurts_no_other(folder: Path, kept: int) -> None:
    Store(folder).put(ONE, ROW)
    path = file_of(folder)
    whole = path.read_bytes()
    path.write_bytes(whole + whole.replace(ONE.digest.encode(), OTHER.digest.encode())[:kept])
    assert Store(folder).get(ONE) == ROW
    assert Store(folder).get(OTHER) is None
    Store(folder).put(OTHER, {"text": "again"})
    assert Store(folder).get(OTHER) == {"text": "again"}
    assert Store(folder).get(ONE) == ROW


def test_a_changed_digit_is_noticed(folder: Path) -> None:
    Store(folder).put(ONE, ROW)
    path = file_of(folder)
    path.write_bytes(path.read_bytes().replace(b"0.3", b"0.4"))
    assert Store(folder).get(ONE) is None


def test_forgotten_is_not_removed(folder: Path) -> None:
    store = Store(folder)
    store.put(ONE, ROW)
    store.forget()
    assert store.get(ONE) is None
    assert Store(folder).get(ONE) == ROW


def test_a_place_that_cannot_be_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        Store(tmp_path / "file").put(ONE, ROW)
