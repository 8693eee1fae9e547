"""Queue pairs over a marking switch and lossy links: CNPs, captures of both targets, a long run."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.roce import AETH, BTH
from scapy.layers.l2 import Ether

from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US
from tests.traces.capture.tshark import needs_tshark, rows
from traces.analysis import analyze

MARKING = """
name = "marking"
duration = "20ms"
sample_interval = "1ms"
[nodes."h{1..2}"]
kind = "nic"
reaction_point = { plugin = "dcqcn-rp" }
limiter = { depth = "20KB" }
[nodes.s]
kind = "switch"
congestion_point = { plugin = "red", low = "15KB", high = "60KB", max_probability = 1 }
[nodes.d]
kind = "nic"
notification_point = { plugin = "notification-point", interval = "50us", message = "cnp" }
[links."l{1..2}"]
ends = ["h{}", "s"]
rate = "10Gb/s"
delay = "2us"
[links.o]
ends = ["s", "d"]
rate = "10Gb/s"
delay = "2us"
delay_line = { plugin = "lossy-delay", loss_rate = "1/500", frame_kinds = "data" }
[traffic.f]
plugin = "messages"
from = "h{1..2}"
to = "d"
size = "5MB"
count = 1
frame = "1500B"
transport = { plugin = "rc" }
[capture]
ports = ["d.s"]
snap = "1500B"
frames = 100000
"""
DUE = {0x400000, 0x400001}
"""Queue pairs of the two flows at their sources."""


def test_cnps_have_the_queue_pair_of_the_flow_and_their_least_interval(tmp_path: Path) -> None:
    done = run(Plan.load(MARKING), out=tmp_path, report=False)
    [capture] = done.recording.captures
    times: dict[int, list[int]] = {}
    marked = Counter[int]()
    frames = zip(capture.times_ps, capture.lengths, capture.octets, strict=True)
    for time, length, octets in frames:
        one = Ether(octets[: abs(int(length))].tobytes())
        if one[BTH].opcode == 0x81:
            times.setdefault(one[BTH].dqpn, []).append(int(time))
            assert marked[one[BTH].dqpn ^ 0xC00000] > 0, "a mark came before"
        elif AETH not in one:
            marked[one[BTH].dqpn] += octets[19] & 3 == 3
    assert set(times) == DUE
    for each in times.values():
        assert len(each) > 5
        gaps = [after - before for before, after in itertools.pairwise(each)]
        assert min(gaps) >= 49 * US  # the port sends some a little later than it wants to
    assert done.result["metrics"]["run"]["f"]["messages.completed"] == 2


def test_analyze_shows_queue_pairs_with_what_was_lost_and_answered(tmp_path: Path) -> None:
    done = run(Plan.load(MARKING), out=tmp_path, report=False)
    assert done.folder is not None
    found = analyze(done.folder / "captures" / "d-s.pcapng")
    [interface] = found.interfaces
    kinds = interface.frames
    naks = sum(done.result["metrics"]["run"][flow]["naks.received"] for flow in ("f.0", "f.1"))
    assert kinds["roce_nak"] == naks > 5
    assert kinds["cnp"] > 10


def lossy(drops: list[int], target: str, **more: Any) -> dict[str, int]:
    """Counts of a message of 1 200 packets of which some are dropped by their number."""
    plan = Plan(
        name="drops",
        duration=4000 * MS if target == "software" else 1000 * MS,
        sample_interval=10 * MS,
        nodes={"h1": {"kind": "nic"}, "h2": {"kind": "nic"}, "s": {"kind": "switch"}},
        links={h: {"ends": [h, "s"], "rate": 20_000_000, "delay": 20 * US} for h in ("h1", "h2")},
        traffic={
            "f": {"plugin": "messages", "from": "h1", "to": "h2", "size": 256 * 1200, "count": 1}
            | {"frame": 340, "transport": {"plugin": "rc", "window": 4, "timeout": 100 * MS} | more}
        },
        timeline=[{"at": 0, "drop": "f", "packet": packet} for packet in drops],
    )
    done = run(plan, target=target, out=None)
    metrics = done.result["metrics"]["run"]["f"]
    assert metrics["messages.completed"] == 1
    names = ("frames.sent", "frames.retransmitted", "naks.received", "timeouts", "rc.failed")
    return {name: metrics[name] for name in names}


@pytest.mark.software
def test_the_same_drops_cost_the_same_on_real_frames(namespaces: None) -> None:
    """Twelve in 1 200, of which two in a row and one of what is sent again."""
    drops = [40, 150, 151, 300, 420, 424, 600, 733, 850, 980, 1100, 1201]
    wanted = lossy(drops, "simulated", first_psn=16777000)
    assert wanted["naks.received"] >= 9
    assert lossy(drops, "software", first_psn=16777000) == wanted


def test_a_million_packets_of_which_one_in_a_thousand_is_lost() -> None:
    """Every message is whole, and the retransmissions are those of go-back-N: the window for each
    time that it goes back, which it does for each packet that is lost when it is due."""
    window, packets, messages = 64, 10_000, 100
    plan = Plan(
        name="million",
        duration=30_000 * MS,
        sample_interval=100 * MS,
        nodes={"h1": {"kind": "nic"}, "h2": {"kind": "nic"}, "s": {"kind": "switch"}},
        links={
            "a": {"ends": ["h1", "s"], "rate": 10**10, "delay": 20 * US}
            | {"delay_line": {"plugin": "lossy-delay", "loss_rate": "1/1000"}},
            "b": {"ends": ["s", "h2"], "rate": 10**10, "delay": 20 * US},
        },
        traffic={
            "f": {"plugin": "messages", "from": "h1", "to": "h2", "size": 1024 * packets}
            | {"count": messages, "interval": 20 * MS, "frame": 1500}
            | {"transport": {"plugin": "rc", "window": window, "timeout": 2 * MS}}
        },
    )
    done = run(plan, target="simulated", out=None)
    metrics = done.result["metrics"]["run"]["f"]
    assert metrics["messages.completed"] == messages
    assert metrics["rc.failed"] == 0
    assert metrics["frames.sent"] - metrics["frames.retransmitted"] == packets * messages
    back = metrics["naks.received"] + metrics["timeouts"]
    assert back == pytest.approx(1000, rel=0.12)
    assert metrics["frames.retransmitted"] == pytest.approx(back * window, rel=0.05)


@needs_tshark
@pytest.mark.software
@pytest.mark.parametrize("headers", ["", "[headers]\ntagged = false\npriority = 'dscp'\nip = 6\n"])
def test_real_packets_are_dissected_without_an_error(
    namespaces: None,
    headers: str,
    tmp_path: Path,
) -> None:
    """Data, ACK, NAK and CNP: tshark finds no error, scapy builds the same ICRC."""
    slow = MARKING.replace("10Gb/s", "20Mb/s").replace("2us", "100us").replace('"20ms"', '"600ms"')
    slow = slow.replace("5MB", "150KB").replace('loss_rate = "1/500"', 'loss_rate = "1/50"')
    slow = slow.replace('plugin = "rc"', 'plugin = "rc", window = 40, timeout = "200ms"')
    slow = slow.replace("[nodes.s]", f"{headers}[nodes.s]", 1)
    slow = slow.replace('low = "15KB", high = "60KB"', 'low = "5KB", high = "20KB"')
    done = run(Plan.load(slow), target="software", out=tmp_path, report=False)
    assert done.folder is not None
    fields = ["_ws.expert.severity", "infiniband.bth.opcode", "udp.checksum.status"]
    fields += ["infiniband.aeth.syndrome.opcode"]
    checks = ["udp.check_checksum:TRUE"]
    found = rows(done.folder / "captures" / "d-s.pcapng", fields, preferences=checks)
    assert {row["infiniband.bth.opcode"] for row in found} == {"6", "7", "8", "17", "129"}
    assert {row["infiniband.aeth.syndrome.opcode"] for row in found} == {"", "0", "3"}
    assert all(int(row["_ws.expert.severity"] or 0) < 0x600000 for row in found)
    if headers:
        assert {row["udp.checksum.status"] for row in found} == {"1"}
    [capture] = done.recording.captures
    for length, octets in zip(capture.lengths, capture.octets, strict=True):
        one = Ether(octets[: abs(int(length))].tobytes())
        icrc = bytes(one)[-4:]
        one[BTH].icrc = None
        assert bytes(Ether(bytes(one)))[-4:] == icrc
