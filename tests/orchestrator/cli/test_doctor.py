"""`tailback doctor`."""

from __future__ import annotations

import json

import pytest

from orchestrator.run import machine_diagnosis


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(machine_diagnosis, "IDLE_WATCH_S", 0.0)


def test_whatever_is_found_the_exit_code_is_0(tailback):
    done = tailback("doctor")
    assert done.exit_code == 0
    assert "target simulated" in done.stdout
    assert "broken 1.0: ImportError" in done.stdout


def test_a_machine_gets_json(tailback):
    found = json.loads(tailback("doctor", "--json").stdout)
    assert {f["status"] for f in found} <= {"ok", "note", "missing"}
    assert {"Python", "target simulated", "cores", "tshark"} <= {f["what"] for f in found}
