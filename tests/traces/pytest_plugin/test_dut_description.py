"""The conformance suite held to devices: one of ours passes, those that err fail by the figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.run import program_fidelity
from orchestrator.targets.software.worker_process import run_job

pytestmark = [
    pytest.mark.software,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("namespaces"),
]

JOB = "tests.hardware.tested:suite"
SAID = {
    "rate": "100Mb/s",
    "load": "2Mb/s",
    "service": "20Mb/s",
    "reaction": "40ms",
    "cores": 1,
    "set_point": "10KB",
    "weight": 2,
    "does": ["pause", "pfc", "qcn"],
}
"""Of every device here; a data path in software that shares its core is slow to hear."""
SWITCH = {
    "buffer": "150KB",
    "congestion_point": {
        "plugin": "qcn-cp",
        "preset": "ieee",
        "set_point": "10KB",
        "sample_base": "15KB",
    },
    "ports": {"far": {"service_rate": "20Mb/s"}},
}


def tried(folder: Path, device: str, chosen: str = "test", **said: Any) -> dict[str, Any]:
    """What the suite says of a device."""
    told = {**SAID, **said, "device": device}
    found: dict[str, Any] = run_job(JOB, str(folder), told, SWITCH, chosen)
    return found


def missed(found: dict[str, Any]) -> set[str]:
    """The figures that are not kept."""
    return {name for name, one in found["figures"].items() if not one["kept"]}


def test_a_switch_of_ours_in_a_box_passes(tmp_path: Path) -> None:
    """Every figure; none is skipped but for what the machine itself did in the run."""
    found = tried(tmp_path, "ours")
    if missed(found) and found["waited"] > program_fidelity.DENIED[0]:
        pytest.skip(f"the box had no core for {found['waited']:.1%} of its time")
    assert missed(found) == set(), found["said"]
    assert found["code"] == 0, found["said"]
    skipped = [line for line in found["said"].splitlines() if line.startswith("SKIPPED")]
    assert all(OURS in line for line in skipped), found["said"]
    assert skipped or len(found["figures"]) == 18, found["said"]


OURS = ": void: our side"
"""Of a figure that says nothing of the device, as our own machine stood still or lost frames."""
NOTHING = {
    "PAUSE: last start behind its arrival",
    "PFC: last start behind its arrival",
    "QCN: sources that overload it, and hear nothing",
}


@pytest.mark.slow
def test_a_bridge_that_obeys_nothing_fails_by_name(tmp_path: Path) -> None:
    """It forwards well, and does none of the three things that are said of it."""
    found = tried(tmp_path, "bridge")
    assert found["code"] == 1, found["said"]
    assert missed(found) == NOTHING, found["said"]
    kept = {name for name in found["figures"] if name.startswith("forwarding")}
    assert len(kept) == 6, found["said"]
    for name in NOTHING - {"QCN: sources that overload it, and hear nothing"}:
        assert found["figures"][name]["seen"] > 140, "half of 0.3 s"


def test_a_bridge_of_which_nobody_says_more_passes(tmp_path: Path) -> None:
    """What is not said of it is not held against it, and told as skipped."""
    found = tried(tmp_path, "bridge", "comes_out or stops or goes_on or told", does=[])
    assert found["code"] == 0, found["said"]
    assert "is not said to do it" in found["said"]
    assert set(found["figures"]) == {
        f"forwarding: frames {what}"
        for what in ("lost", "reordered", "duplicated", "damaged, or never sent")
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "chosen", "figures"),
    [
        ("loses", "once_in_order or messages_of_others", {"frames lost", "CNMs lost"}),
        ("loses_messages", "messages_of_others", {"CNMs lost"}),
        ("doubles", "once_in_order", {"frames duplicated"}),
        ("reorders", "once_in_order", {"frames reordered"}),
        (
            "damages",
            "once_in_order",
            {"frames lost", "frames damaged, or never sent"},
        ),
        ("demotes", "priorities", {"frames of another priority than they had"}),
        ("strips", "once_in_order", None),
        ("forwards_pauses", "stays_with", {"PAUSE", "PFC"}),
    ],
)
def test_a_device_that_errs_fails_by_the_figure(
    tmp_path: Path, device: str, chosen: str, figures: set[str] | None
) -> None:
    """And by no other."""
    found = tried(tmp_path, device, chosen)
    assert found["code"] == 1, found["said"]
    if figures is None:  # refused before a run
        assert "without the VLAN tag" in found["said"]
        assert not found["figures"]
    elif chosen == "stays_with":
        assert missed(found) == {f"{one}: forwarded to other ports" for one in figures}
    else:
        assert missed(found) == {f"forwarding: {one}" for one in figures}, found["said"]
