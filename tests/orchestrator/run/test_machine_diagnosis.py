"""What `tailback doctor` finds, on machines of every sort."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestrator.errors import Refused
from orchestrator.run import machine_diagnosis, machine_info
from orchestrator.target import OptionalFeature

LACK = Refused("software", "no namespaces may be made here", "sudo sysctl user.max=1")

FURTHER = [
    OptionalFeature("datapath given", "sockets", None),
    OptionalFeature("datapath lacking", "other sockets", LACK),
]


def registry(*problems: str) -> SimpleNamespace:
    """A registry with a target that serves and one that does not."""
    serves = SimpleNamespace(
        name="simulated", summary="discrete events", probe=lambda: None, further=lambda: FURTHER
    )
    refuses = SimpleNamespace(name="software", summary="real frames", probe=lambda: LACK)
    return SimpleNamespace(targets=[serves, refuses], problems=list(problems), algorithms=[None])


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(machine_diagnosis, "IDLE_WATCH_S", 0.0)


def finding(what: str, **options) -> machine_diagnosis.Finding:
    found = machine_diagnosis.diagnose(registry("broken: ImportError"), **options)
    return next(f for f in found if f.what == what)


def test_each_target_says_whether_it_serves_and_what_mends_it():
    assert finding("target simulated").status == "ok"
    refused = finding("target software")
    assert (refused.status, refused.found, refused.remedy) == ("missing", LACK.lack, LACK.remedy)


def test_what_a_target_can_use_besides_is_told_and_no_lack_of_it_is_an_error():
    given, lacking = finding("datapath given"), finding("datapath lacking")
    assert (given.status, given.found) == ("ok", "sockets")
    assert (lacking.status, lacking.found, lacking.remedy) == ("note", LACK.lack, LACK.remedy)


def test_a_broken_plugin_is_found():
    assert finding("plugin").found == "broken: ImportError"


def test_one_core_is_a_limit(monkeypatch):
    monkeypatch.setattr(machine_info, "cores", lambda: 1)
    assert finding("cores").status == "note"
    assert "simulated" in finding("cores").remedy


@pytest.mark.parametrize(
    ("ticks", "status", "text"),
    [
        (["cpu 0 0 0 0 0 0 0 0", "cpu 10 0 0 90 0 0 0 0"], "ok", "10% busy"),
        (["cpu 0 0 0 0 0 0 0 0", "cpu 60 0 0 30 10 0 0 0"], "note", "60% busy"),
        ([None, None], "note", "could not be read"),
    ],
)
def test_a_busy_machine_is_told(monkeypatch, ticks, status, text):
    answers = iter(ticks)
    monkeypatch.setattr(machine_info, "read_text", lambda path: next(answers))
    found = machine_diagnosis._idle()
    assert found.status == status
    assert text in found.found


@pytest.mark.parametrize(
    ("governor", "status"), [(None, "ok"), ("performance", "ok"), ("powersave", "note")]
)
def test_a_governor_that_slows_down_is_told(monkeypatch, governor, status):
    monkeypatch.setattr(machine_info, "governor", lambda: governor)
    assert finding("frequency").status == status


def test_a_missing_program_comes_with_the_command_that_installs_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert finding("tshark").remedy == "sudo apt-get install tshark"


def test_lateness_is_measured_when_asked():
    assert "µs" in finding("wake-up", measure_s=0.01).found
    assert "lost" in finding("busy poll", measure_s=0.01).found
