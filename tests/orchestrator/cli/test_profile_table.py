"""The table of a device profile: a row for each measured thing, and what was not seen."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.cli.profile_table import COLUMNS, rows, show_profile
from orchestrator.profile import Profile
from tests.orchestrator.profile.made import made, times


def cells(name: str, **changes: Any) -> list[tuple[str, ...]]:
    """Rows of a profile that begin with a word, without it and without their evidence."""
    found = rows(Profile.model_validate(made(**changes)))
    assert all(len(row) == len(COLUMNS) for row in found)
    assert all(row[-1] for row in found), "each has its evidence"
    return [tuple(cell.replace("µs", "us") for cell in row[1:5]) for row in found if row[0] == name]


def test_forwarding_and_departures_have_their_loads() -> None:
    found = cells("forwards per core")
    assert [row[0] for row in found] == ["70 octets", "1500 octets"]
    assert [row[1] for row in found] == ["400,000/s", "200,000/s"]
    assert all(row[2] == "" and row[3].endswith("/s") for row in found)
    late = cells("lateness of departures")
    assert [row[0].partition(",")[0] for row in late] == ["10%", "70%"]
    assert [row[1:] for row in late] == [("1 us", "2.5 us", "5 us")] * 2
    links = cells("a link beyond its delay")
    assert [row[0] for row in links] == [row[0] for row in late]
    assert [row[1] for row in links] == ["3 us", "9 us"]


def test_limiters_and_delay_lines_have_their_errors() -> None:
    limiter = {
        "rate_bps": 10**9,
        "mean_error_ppm": -12.4,
        "frame_octets": 1500,
        "frames": 9,
        "ideal_gap_ns": 12_000,
        "gap": times(1_000, 4_000),
        "windows": [
            {
                "window_ns": 1_000_000,
                "windows": 9,
                "p50_error_ppm": 10.4,
                "p99_error_ppm": 20.6,
                "max_error_ppm": 30.0,
            }
        ],
    }
    assert cells("limiter, mean error", limiter=[limiter]) == [("1000 Mb/s", "-12 ppm", "", "")]
    assert cells("limiter within", limiter=[limiter]) == [
        ("1000 Mb/s, 1 ms", "10 ppm", "21 ppm", "30 ppm")
    ]
    delay = {
        "delay_ns": 50_000,
        "load": 0.5,
        "rate_bps": 10**9,
        "frame_octets": 1500,
        "error": times(1_000, 4_000),
        "lost_frames": 0,
        "reordered_frames": 0,
    }
    assert cells("delay line, error", delay=[delay]) == [("50 us, 50%", "1 us", "2 us", "4 us")]
    assert cells("delay line, frames", delay=[delay]) == []
    for lost, late in ((3, 0), (0, 2)):
        one = delay | {"lost_frames": lost, "reordered_frames": late}
        assert cells("delay line, frames", delay=[one]) == [
            ("50 us, 50%", f"{lost} lost", "", f"{late} out of order")
        ]


def test_what_was_not_seen_is_said() -> None:
    assert cells("turnaround") == [
        ("CNM", "9 us", "10 us", "20 us"),
        ("PAUSE sent", "not seen", "", ""),
        ("PAUSE obeyed", "not seen", "", ""),
    ]
    assert cells("time of arrival, error") == [("against the kernel", "not seen", "", "")]
    seen = made()["timestamps"] | {"error": times(2_000, 8_000)}
    assert cells("time of arrival, error", timestamps=seen) == [
        ("against the kernel", "2 us", "4 us", "8 us")
    ]


def test_stalls_have_their_shares() -> None:
    stalls = made()["stalls"] | {
        "count": 7,
        "per_core_per_s": 1.25,
        "share": 0.0123,
        "longest_ns": 900_000,
        "at_once_count": 2,
        "waited_share": 0.5,
        "stolen_share": 0.25,
        "unexplained_share": 0.001,
    }
    assert cells("stalls", stalls=stalls) == [
        ("above 50 us", "1.2/s a core", "", "900 us"),
        ("all cores at once", "2", "", ""),
    ]
    assert cells("time taken", stalls=stalls) == [
        ("in all", "1.23%", "", ""),
        ("by processes", "50.00%", "", ""),
        ("by the hypervisor", "25.00%", "", ""),
        ("unexplained", "0.10%", "", ""),
    ]
    unknown = stalls | {"stolen_share": None}
    assert cells("time taken", stalls=unknown)[2][1] == "unknown"


def test_a_profile_is_printed_with_its_machine(capsys: pytest.CaptureFixture[str]) -> None:
    show_profile(Profile.model_validate(made()), "file.json")
    text = capsys.readouterr().out
    assert text.startswith(
        "bench, a processor, 2 cores, 6.1.0; veth pairs by packet; 2026-11-23 12:00 UTC, 30 s\n"
    )
    assert text.endswith("profile   file.json\n")
    path = {"kind": "nics", "datapath": "packet", "ports": ["eth1", "eth2"], "drivers": ["a", "b"]}
    machine = made()["machine"] | {"processor": ""}
    stalls = made()["stalls"] | {"waited_share": 0.5}
    show_profile(Profile.model_validate(made(path=path, machine=machine, stalls=stalls)), "x")
    text = capsys.readouterr().out
    assert "processor unknown" in text
    assert "eth1 to eth2 by packet" in text
    assert "other processes took 50% of the cores" in text
