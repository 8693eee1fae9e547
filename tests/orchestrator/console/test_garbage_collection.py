"""The console's collector leaves Python's as it was: running, and with what others froze."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from orchestrator.console import garbage_collection
from orchestrator.console.garbage_collection import Collector


@pytest.fixture(autouse=True)
def frozen_again() -> Iterator[None]:
    """As all tests find it (tests/conftest.py)."""
    gc.freeze()
    yield
    gc.freeze()
    gc.enable()


def test_what_others_froze_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "ENOUGH", 1)
    collector, made = Collector(), [[]]
    before = gc.get_freeze_count()
    collector.begin()
    assert not gc.isenabled()
    assert gc.get_freeze_count() <= before, f"{made} is not frozen with them"
    collector.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1


def test_what_it_froze_itself_is_thawed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "ENOUGH", sys.maxsize)
    gc.unfreeze()
    collector = Collector()
    collector.begin()
    assert gc.get_freeze_count() > 1
    collector.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
