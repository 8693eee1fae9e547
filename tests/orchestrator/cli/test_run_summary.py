"""What is printed at the end of a run."""

from __future__ import annotations

import pytest

from orchestrator.cli import run_summary


@pytest.fixture
def result():
    """A result as runs have it, with one expectation met and one missed."""
    common = {"of": "switch.sink", "unit": "B", "source": "measured"}
    return {
        "plan": "p",
        "target": "simulated",
        "seed": 3,
        "verdict": "missed",
        "units": {"queue_bytes.mean": "B"},
        "expectations": [
            {"metric": "queue_bytes.mean", "phase": "high", "min": 30_000, "max": 38_000}
            | {"value": 33_000.0, "met": True}
            | common,
            {"metric": "queue_bytes.sd", "phase": None, "min": None, "max": 4_000}
            | {"value": None, "met": False}
            | common,
        ],
        "fidelity": {"verdict": "degraded", "reasons": ["departures were 0.2 ms late (p99)"]},
        "performance": {
            "data_frames": 80_000,
            "cpu_s": 0.1,
            "wall_s": 0.25,
            "frames_per_cpu_s": 8e6,
        },
    }


def test_every_expectation_is_told_with_value_and_band(result, capsys, tmp_path):
    (tmp_path / "report.html").write_text("")
    run_summary.show_result(result, tmp_path)
    printed = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "met queue_bytes.mean switch.sink high 33 KB 30 KB to 38 KB" in lines
    assert "MISSED queue_bytes.sd switch.sink run - at most 4 KB" in lines
    assert "verdict missed (1 of 2)" in lines
    assert "fidelity degraded" in lines
    assert "departures were 0.2 ms late (p99)" in printed
    assert "p on simulated, seed 3" in printed
    assert "80000 data frames in 0.25 s, 8.00 M per CPU second" in printed
    assert f"folder    {tmp_path}\n" in printed
    assert f"report    {tmp_path}/report.html\n" in printed


def test_stalls_have_a_line_for_each_machine(result, capsys):
    none = {"count": 0, "floor_s": 5e-5, "felt": 0}
    older = {"untold": "it is older"}
    stalls = none | {"machines": {"left": none, "right": older}}
    result["fidelity"] |= {"stalls": stalls}
    run_summary.show_result(result, None)
    printed = capsys.readouterr().out
    wanted = "stalls    on left, none above 50 µs\n          on right, unknown: it is older\n"
    assert wanted in printed


def test_a_plan_without_expectations_and_a_run_without_folder(result, capsys):
    run_summary.show_result(result | {"expectations": [], "verdict": "unjudged"}, None)
    printed = capsys.readouterr().out
    assert "verdict   unjudged: the plan expects nothing\n" in printed
    assert "folder" not in printed


def test_an_uncertain_expectation_shows_its_error_bar(result, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    unsure = result["expectations"][0] | {"met": False, "uncertain": True, "uncertainty": 6000.0}
    run_summary.show_result(result | {"expectations": [unsure], "verdict": "uncertain"}, None)
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "uncertain queue_bytes.mean switch.sink high 33 KB ± 6 KB 30 KB to 38 KB" in printed
    assert "verdict uncertain (0 of 1)" in printed


@pytest.mark.parametrize(
    ("rate", "told"), [(8e6, "8.00 M"), (3_456.0, "3.46 k"), (12.34, "12.34"), (1e3, "1.00 k")]
)
def test_a_slow_run_has_a_speed_too(result, capsys, rate, told):
    result["performance"]["frames_per_cpu_s"] = rate
    run_summary.show_result(result, None)
    assert f", {told} per CPU second" in " ".join(capsys.readouterr().out.split())
