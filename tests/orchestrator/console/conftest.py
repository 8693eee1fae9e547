"""The console over made-up runs; a folder of runs and a private folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.console import run_catalog
from orchestrator.live import session_registry
from orchestrator.registry import Registry
from tests.orchestrator.console.made import Catalog
from tests.orchestrator.console.settle import settled

ENTRIES = [
    run_catalog.Entry("live", "abc", "demo", "● running", "now", "on simulated"),
    run_catalog.Entry("plan", "quickstart", "quickstart", "plan", "2s", "A first run"),
    run_catalog.Entry("run", "runs/demo/20260101T120000Z-aa", "demo", "met", "01-01 12:00", "on x"),
    run_catalog.Entry(
        "run", "runs/demo/20260101T110000Z-bb", "demo", "missed", "01-01 11:00", "on x"
    ),
]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of a pilot are done when the console has come to rest, however long that takes."""
    monkeypatch.setattr("textual.pilot.wait_for_idle", settled)
    monkeypatch.setattr("textual.app.wait_for_idle", settled)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """The registry that everything sees."""
    found = Catalog()
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: found))
    return found


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No other run of this machine is seen; a working directory of its own."""
    private = tmp_path / "live"
    private.mkdir(mode=0o700)
    monkeypatch.setenv(session_registry.VARIABLE, str(private))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[run_catalog.Entry]:
    """What the view Runs finds."""
    found = list(ENTRIES)
    monkeypatch.setattr(run_catalog, "entries", lambda base: found)
    return found
