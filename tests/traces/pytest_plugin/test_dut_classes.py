"""The conformance suite's figures of ECN marking, lossy class, DSCP map and PFC headroom, held to
devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.run import program_fidelity
from orchestrator.targets.software.worker_process import run_job

pytestmark = [
    pytest.mark.software,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("namespaces"),
]

JOB = "tests.hardware.tested:suite"
MARKED = {
    "rate": "100Mb/s",
    "load": "2Mb/s",
    "reaction": "20ms",
    "cores": 1,
    "does": ["pfc", "ecn"],
    "file": "test_device_marking.py",
}
ECN = {"kmin": "20KB", "kmax": "100KB", "pmax": "1/2"}
"""Of every device, and what is right."""
CLASSES = {
    "rate": "100Mb/s",
    "load": "2Mb/s",
    "service": "10Mb/s",
    "reaction": "20ms",
    "cores": 1,
    "does": ["pfc"],
    "lossless": [3],
    "file": "test_device_lossy.py",
}


def marking(**settings: Any) -> dict[str, Any]:
    """A switch that marks as stated, but for some settings."""
    right = {"plugin": "red", "low": "20KB", "high": "100KB", "max_probability": "1/2"}
    return {"buffer": "400KB", "congestion_point": right | settings}


def tried(folder: Path, told: dict[str, Any], box: dict[str, Any]) -> dict[str, Any]:
    """What the suite reports of a switch of ours; skipped where it judges nothing. A switch that
    forwards no frame fails, whatever the machine did."""
    found: dict[str, Any] = run_job(JOB, str(folder), {"device": "ours", **told}, box, "test")
    found["missed"] = {name for name, one in found["figures"].items() if not one["kept"]}
    assert "ERROR" not in found["said"], found["said"]
    assert "do not leave the device" not in found["said"], found["said"]
    if ": void" in found["said"]:
        pytest.skip("the machine did not let the suite judge: " + found["said"][-500:])
    return found


def unless_denied(found: dict[str, Any]) -> None:
    """Skip where a right switch misses a figure in time while it had no core."""
    if found["missed"] and found["waited"] > program_fidelity.DENIED[0]:
        pytest.skip(f"the box had no core for {found['waited']:.1%} of its time")


@pytest.mark.parametrize(("at", "mark"), [("enqueue", "arrival"), ("dequeue", "departure")])
def test_a_switch_that_marks_as_stated_passes(tmp_path: Path, at: str, mark: str) -> None:
    found = tried(tmp_path, MARKED | {"ecn": ECN | {"marks_at": at}}, marking(mark=mark))
    assert found["missed"] == set(), found["said"]
    assert found["code"] == 0, found["said"]
    assert len(found["figures"]) == 6, found["said"]


WRONG = {
    "kmin 10 KB": ({"low": "10KB"}, "ECN: frames marked below Kmin"),
    "kmax 130 KB": ({"high": "130KB"}, "ECN: frames not marked above Kmax"),
    "pmax 1": ({"max_probability": 1}, "ECN: share of frames marked from Kmin to Kmax"),
    "a step at 60 KB": ({"low": "60KB", "high": "60001B"}, "ECN: parts of the range off the line"),
    "at dequeue": ({"mark": "departure"}, "ECN: marks at dequeue"),
    "another class": (
        {"plugin": "red-by-class", "vector": 1 << 5},
        "ECN: frames not marked above Kmax",
    ),
}
"""Settings of a switch, and a figure that misses it."""


@pytest.mark.parametrize("name", WRONG)
def test_a_switch_that_marks_otherwise_misses(tmp_path: Path, name: str) -> None:
    settings, figure = WRONG[name]
    box = marking(**settings)
    if "plugin" in settings:
        box["congestion_point"] = settings
    found = tried(tmp_path, MARKED | {"ecn": ECN}, box)
    assert figure in found["missed"], found["said"]
    if name == "at dequeue":
        assert found["missed"] == {figure}, found["said"]
        assert "the device marks at dequeue, enqueue is stated" in found["said"]
    assert found["code"] == 1, found["said"]


def lossy(**settings: Any) -> dict[str, Any]:
    """A switch with PFC on priority 3 alone, but for some settings."""
    pause = {"plugin": "pfc", "high": "40KB", "low": "20KB"}
    right = {
        "buffer": "60KB",
        "ports": {"far": {"service_rate": "10Mb/s"}},
        "pause": pause,
        "pause_priorities": [3],
        "obeys_pfc": [3],
    }
    return {name: one for name, one in (right | settings).items() if one is not None}


ON = "PFC for a lossy class: frames of it that start meanwhile, of those sent"
OWN = "lossy class in congestion: PFC frames that pause it"


def test_a_switch_whose_lossy_class_ignores_pfc_passes(tmp_path: Path) -> None:
    found = tried(tmp_path, CLASSES, lossy())
    unless_denied(found)
    assert found["missed"] == set(), found["said"]
    assert found["code"] == 0, found["said"]
    assert len(found["figures"]) == 3, found["said"]


@pytest.mark.parametrize(
    ("settings", "figures"),
    [
        ({"obeys_pfc": None}, {ON}),
        ({"pause_priorities": None}, {OWN}),
    ],
    ids=["obeys all", "holds all"],
)
def test_a_switch_with_pfc_on_a_lossy_class_misses(
    tmp_path: Path, settings: dict[str, Any], figures: set[str]
) -> None:
    found = tried(tmp_path, CLASSES, lossy(**settings))
    assert figures <= found["missed"], found["said"]
    assert found["code"] == 1, found["said"]


MAPPED: dict[str, Any] = {
    "device": "bridge",
    "rate": "100Mb/s",
    "load": "2Mb/s",
    "reaction": "20ms",
    "cores": 1,
    "does": ["pfc", "dscp"],
    "lossless": [3, 4],
    "dscp": {"dscp_to_tc": {"0": 0, "4": 4, "26": 3}},
    "file": "test_device_dscp.py",
}


MAPS: dict[str, Any] = {
    "buffer": "400KB",
    "obeys_pfc": [3, 4],
    "dscp_to_tc": MAPPED["dscp"]["dscp_to_tc"],
}
"""A switch with the map that is stated."""
QUEUES = "DSCP map: DSCPs in another queue than stated"


def test_a_switch_with_the_map_that_is_stated_passes(tmp_path: Path) -> None:
    found = tried(tmp_path, MAPPED | {"device": "ours"}, MAPS)
    assert found["missed"] == set(), found["said"]
    assert found["code"] == 0, found["said"]
    assert len(found["figures"]) == 2, found["said"]


def test_a_switch_with_another_map_misses(tmp_path: Path) -> None:
    """Two DSCPs have each other's class, and nothing else is wrong."""
    exchanged = {"dscp_to_tc": {"0": 0, "4": 3, "26": 4}}
    found = tried(tmp_path, MAPPED | {"device": "ours"}, MAPS | exchanged)
    assert found["missed"] == {QUEUES}, found["said"]
    assert found["figures"][QUEUES]["seen"] == 2
    for dscp, queue, right in ((4, 3, 4), (26, 4, 3)):
        sentence = f"DSCP {dscp} waits in queue {queue}; the description says {right}"
        assert sentence in found["figures"][QUEUES]["why"], found["said"]
    assert found["code"] == 1, found["said"]


def test_a_bridge_that_knows_no_dscp_misses(tmp_path: Path) -> None:
    """PFC holds none of its frames; those of the lossy class pass as they should."""
    found = tried(tmp_path, MAPPED, {})
    assert found["missed"] == {QUEUES}, found["said"]
    for dscp, queue in ((4, 4), (26, 3)):
        sentence = f"DSCP {dscp} waits in no queue that PFC holds (of 3-4); the description says"
        assert f"{sentence} {queue}" in found["said"], found["said"]
    assert "DSCP 0 waits" not in found["said"], found["said"]
    assert found["code"] == 1, found["said"]


BUFFERED: dict[str, Any] = {
    "rate": "100Mb/s",
    "load": "2Mb/s",
    "reaction": "20ms",
    "cores": 1,
    "does": ["pfc", "headroom"],
    "lossless": [3],
    "headroom": {"xoff_threshold": "40KB", "size": "20KB"},
    "file": "test_device_headroom.py",
}
AT = "XOFF: octets buffered when it comes"
SIZE = "headroom: octets after XOFF until the first drop"


def buffered(**settings: Any) -> dict[str, Any]:
    """A switch with the headroom that is stated, but for some settings of its inputs."""
    right = {
        "buffer": "60KB",
        "hold_until_departure": True,
        "pause": {"plugin": "pfc", "high": "40KB", "low": "20KB"},
        "pause_priorities": [3],
    }
    return {"buffer": "1MB", "inputs": right | settings}


def test_a_switch_with_the_headroom_that_is_stated_passes(tmp_path: Path) -> None:
    found = tried(tmp_path, BUFFERED, buffered())
    unless_denied(found)
    assert found["missed"] == set(), found["said"]
    assert found["code"] == 0, found["said"]
    assert len(found["figures"]) == 8, found["said"]
    assert found["figures"][AT]["seen"] == pytest.approx(40_500, abs=500)


LACKING: dict[str, tuple[dict[str, Any], set[str], str]] = {
    "short": ({"buffer": "55KB"}, {SIZE}, "short, so that a neighbour that sends on"),
    "late": (
        {"pause": {"plugin": "pfc", "high": "48KB", "low": "20KB"}},
        {AT, SIZE},
        "too late, which its headroom lacks",
    ),
    "another priority": (
        {"pause_priorities": [5], "lossy_buffer": "60KB"},
        {"XOFF: bursts above the threshold without it"},
        "gets no XOFF for priority 3; the device sends neither PFC nor PAUSE",
    ),
}
"""Settings of inputs, figures that miss it, and a part of a sentence about one of them."""


@pytest.mark.parametrize("name", LACKING)
def test_a_switch_with_another_headroom_misses(tmp_path: Path, name: str) -> None:
    settings, figures, sentence = LACKING[name]
    found = tried(tmp_path, BUFFERED, buffered(**settings))
    assert figures <= found["missed"], found["said"]
    assert any(sentence in found["figures"][one]["why"] for one in figures), found["figures"]
    assert found["code"] == 1, found["said"]
