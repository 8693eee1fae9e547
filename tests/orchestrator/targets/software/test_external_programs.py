"""Programs that talk through a device of others: what they count themselves is what is told of it.

The programs are the witness: what they sent and got they count on their own, in their namespaces.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.targets.software.worker_process import run_job

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]

DATAGRAMS = 300
SEND = f"""
import pathlib, socket, sys, time
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range({DATAGRAMS}):
    one.sendto(number.to_bytes(4, "big") + bytes(996), (sys.argv[1], 5001))
    time.sleep(0.002)
pathlib.Path(sys.argv[2]).touch()
"""
TAKE = """
import json, pathlib, socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", 5001))
one.settimeout(0.7)
came = []
while True:
    all_sent = pathlib.Path(sys.argv[1]).exists()
    try:
        came.append(int.from_bytes(one.recv(2000)[:4], "big"))
    except TimeoutError:
        if all_sent:
            break
print(json.dumps(came))
"""
"""A silence ends it only once the sender is done: a busy machine is silent, too."""
PLAN = """
name = "talks"
target = "software"
duration = "3s"
[nodes."h{1..2}"]
kind = "nic"
[nodes.sw]
kind = "external"
[links."cable{1..2}"]
ends = ["h{}", "sw"]
rate = "1Gb/s"
[traffic.talk]
plugin = "sockets"
from = "h1"
to = "h2"
bidirectional = true
"""
CABLES = ["sw.h1=e1", "sw.h2=e2"]


def plan(**programs: dict[str, Any]) -> str:
    """The plan with its programs, as text."""
    whole = Plan.load("\n" + PLAN).to_table()
    return "\n" + Plan.load("\n" + PLAN).with_data(whole | {"programs": programs}).to_toml()


def talked(text: str, **told: Any) -> dict[str, Any]:
    """What came of a run: the result, and what the programs wrote."""
    job = "tests.orchestrator.targets.software.bought:attempt"
    whole = {"cables": CABLES, "interfaces": ["e1", "e2"]} | told
    found: dict[str, Any] = run_job(job, text, whole)
    assert found["put back"]
    assert found["left"] == 0
    assert "result" in found, found
    return found


def counted(**told: Any) -> tuple[dict[str, Any], list[int]]:
    """The device's metrics, and the numbers of the datagrams that arrived, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        done = f"{folder}/done"
        take = [sys.executable, "-c", TAKE, done]
        send = [sys.executable, "-c", SEND, "{h2}", done]
        programs: dict[str, dict[str, Any]] = {
            "take": {"node": "h2", "command": take},
            "send": {"node": "h1", "command": send, "start": "0.3s"},
        }
        found = talked(plan(**programs), **told)
    assert [one["code"] for one in found["result"]["programs"]] == [0, 0]
    came: list[int] = json.loads(found["wrote"]["take"])
    return found["result"]["metrics"]["run"]["sw"], came


def test_what_programs_send_through_a_bridge_arrives_and_is_counted() -> None:
    """Datagram by datagram."""
    seen, came = counted()
    assert came == list(range(DATAGRAMS))
    assert seen["frames.received"] == seen["frames.sent"] == DATAGRAMS
    for name in ("dropped", "reordered", "duplicated", "foreign"):
        assert seen[f"frames.{name}"] == 0, name
    assert 0 < seen["latency_s.p50"] <= seen["latency_s.max"]


def test_what_a_shaper_in_the_device_drops_is_what_the_program_misses() -> None:
    """4 Mb/s are offered to a token bucket of 2 Mb/s with room for a few of them."""
    shaped = {"rate": "2mbit", "burst": 3000, "limit": 6000}
    seen, came = counted(shaped={"e2": shaped})
    assert seen["frames.received"] == DATAGRAMS
    assert seen["frames.sent"] == len(came) < DATAGRAMS
    assert seen["frames.dropped"] == DATAGRAMS - len(came) > DATAGRAMS // 10
    assert came == sorted(came)
    assert seen["latency_s.max"] > 0.004, "a datagram takes 4 ms at that rate"


def test_what_a_device_doubles_and_reorders_is_what_the_program_gets() -> None:
    """Of each ten one comes twice, one damaged, one late, and one has a PAUSE behind it."""
    seen, came = counted(device="errs")
    tenth = seen["frames.received"] // 10
    assert seen["frames.duplicated"] == len(came) - len(set(came)) == pytest.approx(tenth, abs=1)
    behind = sum(max(came[:at], default=-1) > number for at, number in enumerate(came))
    assert seen["frames.reordered"] > 0
    assert seen["frames.reordered"] <= behind
    assert seen["frames.foreign"] == pytest.approx(tenth, abs=1)
    assert seen["pause.count"] == pytest.approx(tenth, abs=1)


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_runs_through_a_bridge_as_the_shipped_plan_says() -> None:
    """What iperf3 itself says it carried is what the captures hold, less the headers."""
    registry = Registry.load()
    text = "\n" + Plan.load(registry.plans()["external-iperf"], registry).to_toml()
    found = talked(text)
    result = found["result"]
    told = json.loads(found["wrote"]["client"])["end"]
    seen = result["metrics"]["run"]["sw"]
    segments = told["sum_received"]["bytes"] / (1518 - 18 - 20 - 32)
    out = result["metrics"]["run"]["sw.h2"]["frames.sent"]
    assert segments <= out <= 1.3 * segments + 100
    assert seen["frames.dropped"] == 0
    assert seen["frames.duplicated"] == 0
    assert result["verdict"] in ("met", "degraded", "invalid"), result["expectations"]


def test_a_plan_of_programs_without_its_cables_is_refused_by_name() -> None:
    """Before anything is made."""
    registry = Registry.load()
    path: Path = registry.plans()["external-iperf"]
    with pytest.raises(Refused, match="no interface is named that leads to its ports h1, h2"):
        run(Plan.load(path, registry), target="software", out=None)
