"""Times of departure by the real error queue; what veth pairs do not have is refused by name."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.datapath import error_queue, launch_time
from orchestrator.engine.datapath.phc_mapping import HARDWARE_WORD, SOFTWARE_WORD
from orchestrator.errors import BadInput, Refused, TailbackError
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines
from orchestrator.targets.software.packet_backends import PACKETS, StampedPackets
from orchestrator.targets.software.timestamp_sources import ARRIVALS, BOTH, TimestampSources
from orchestrator.targets.software.worker_process import run_job
from tests.orchestrator.targets.software.test_arrivals import ADDRESSES, PLAN
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]

HERE = "tests.orchestrator.targets.software.test_timestamp_sources:"
AWAY_S = 0.05


def pair() -> Machines:
    machines = Machines()
    for name in "ab":
        machines.add(name)
    machines.join("a", "b")
    return machines


def left(control: Any) -> dict[str, Any]:
    """Send frames, look away, read the error queue; the kernel's times of departure."""
    from tests.orchestrator.targets.software.rigged import End

    machines = pair()
    near = End(machines, "a", StampedPackets(BOTH))
    End(machines, "b", PACKETS)
    heads = [ADDRESSES + bytes.fromhex(tag + "88b5") for tag in ("", "8100a001", "88a80fff")]
    sent = [head + bytes(range(70 - len(head))) for head in heads]
    before = time.clock_gettime_ns(time.CLOCK_REALTIME)
    near.send([(0, octets, 200) for octets in sent])
    after = time.clock_gettime_ns(time.CLOCK_REALTIME)
    time.sleep(AWAY_S)
    there = error_queue.error_messages(2)  # fewer than there are messages
    batch, found = there.batch, []
    end = time.monotonic() + PATIENCE_S
    while True:
        count = error_queue.receive_errors(batch, near.rig.sockets[0])
        if count <= 0 and (len(found) >= len(sent) or time.monotonic() > end):
            break
        for k in range(count):
            known = error_queue.parse_report(batch.control[k], batch.headers[k, 5], there.report)
            word = int(there.report[error_queue.TIMES])
            at = int(batch.control[k, word] * 10**9 + batch.control[k, word + 1])
            length = int(batch.headers[k, 7] & 0xFFFFFFFF)
            octets = batch.octets[k, :length].tobytes().hex()
            found.append((bool(known), there.report.tolist(), at, octets))
    return {
        "sent": [octets.ljust(200, b"\0").hex() for octets in sent],
        "found": found,
        "between": [before, after],
    }


def test_the_error_queue_brings_every_frame_and_when_it_left():
    told = run_job(HERE + "left")
    assert [row[3] for row in told["found"]] == told["sent"]
    before, after = told["between"]
    for known, what, at, _ in told["found"]:
        assert known
        assert what == [error_queue.TIMESTAMP_REPORT, 0, error_queue.SENT, 2]
        assert before <= at <= after  # when it was sent, not when it was read
    times = [row[2] for row in told["found"]]
    assert times == sorted(times)


def test_a_run_tells_how_late_frames_left_and_moves_echoes():
    done = run(Plan.load(PLAN), target="software", out=None, stamps="software")
    told = done.result["fidelity"]["datapath"]
    assert (told["arrivals"], told["departures"]) == ("by the kernel", "by the kernel")
    assert (told["asked"], told["stamps"]) == ("packet", "software")
    assert told["without_time"] == 0
    gone = told["left"]
    assert gone["timed"] > 1000
    assert gone["without_time"] <= 40  # the last ones
    assert gone["of_no_frame"] == 0
    assert gone["echoes_moved"] > gone["timed"] / 4  # half of the frames are segments
    assert 0 < gone["late_s"]["p50"] <= gone["late_s"]["p99"] <= gone["late_s"]["max"]
    (row,) = done.result["expectations"]
    assert row["value"] >= row["min"]  # whatever the machine makes uncertain


def test_auto_takes_the_kernels_times_and_says_why():
    done = run(Plan.load(PLAN), target="software", out=None, stamps="auto")
    told = done.result["fidelity"]["datapath"]
    assert told["departures"] == "by the kernel"
    assert told["why"] == (
        "p0 of h, a veth, has no receive times by hardware, no send times by hardware, "
        "no hardware clock"
    )


@pytest.mark.parametrize("asked", [{"stamps": "hardware"}, {"stamps": "hardware", "launch": True}])
def test_hardware_times_are_refused_by_name(asked):
    with pytest.raises(TailbackError) as refused:
        run(Plan.load(PLAN), target="software", out=None, **asked)
    assert refused.value.exit_code == Refused.exit_code
    said = str(refused.value)
    assert "p0 of h, a veth, has no receive times by hardware, no send times by hardware" in said
    assert "Accepted here: --stamps software, or auto" in said
    assert 'stamps = "hardware" in the inventory' in said


@pytest.mark.parametrize("stamps", [None, "software", "auto"])
def test_launch_times_are_refused_by_name(stamps):
    with pytest.raises(TailbackError, match=r"--launch\): p0 of h, a veth, has no launch") as no:
        run(Plan.load(PLAN), target="software", out=None, stamps=stamps, launch=True)
    assert no.value.exit_code == Refused.exit_code
    said = str(no.value)
    assert "module sch_etf" in said or "its driver launches no frames" in said
    assert "launch = true in the inventory" in said


@pytest.mark.parametrize("options", [["--stamps", "hardware"], ["--launch"]])
def test_the_command_ends_with_2_before_anything_is_written(options, tmp_path: Path):
    (tmp_path / "p.toml").write_text(PLAN)
    command = [sys.executable, "-m", "orchestrator.cli", "run", "p.toml", "--target", "software"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "a veth, has no" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").rglob("result.json"))


def test_what_does_not_go_together_is_bad_input():
    plan = Plan.load(PLAN)
    with pytest.raises(BadInput, match="'quartz' is not accepted; known: auto, hardware, software"):
        run(plan, target="software", out=None, stamps="quartz")
    for datapath in ("xdp", "stamped", "auto"):
        with pytest.raises(BadInput, match=f"not together with datapath {datapath}"):
            run(plan, target="software", out=None, stamps="software", datapath=datapath)
    with pytest.raises(BadInput, match=r"launch.*not together with datapath xdp"):
        run(plan, target="software", out=None, launch=True, datapath="xdp")
    for asked in ({"stamps": "software"}, {"launch": True}):
        with pytest.raises(BadInput, match="target simulated does not take it"):
            run(plan, target="simulated", out=None, **asked)


def launched(control: Any) -> dict[str, Any]:
    """Send frames with launch times through a socket that is asked for them; what arrived, and what
    one without a time of its own does. The kernel's own queue takes no notice of times."""
    from tests.orchestrator.targets.software.rigged import End

    machines = pair()
    near = End(machines, "a", StampedPackets(TimestampSources(launched=frozenset("a"))))
    far = End(machines, "b", PACKETS)
    said = near_socket(machines).getsockopt(socket.SOL_SOCKET, 61, 8)
    control_row = near.rig.outgoing.control[0]
    control_row[:3] = (
        launch_time.LAUNCH_OCTETS,
        launch_time.LAUNCH_KIND,
        time.clock_gettime_ns(11),
    )
    headers = near.rig.outgoing.headers
    headers[0, 4], headers[0, 5] = control_row.ctypes.data, launch_time.LAUNCH_OCTETS
    frame = ADDRESSES + bytes.fromhex("88b5") + bytes(46)
    near.send([(0, frame, 60)])
    came = len(far.take(1))
    control_row[1] = 1 | 99 << 32  # no such control message: the kernel reads what is beside frames
    near.send([(0, frame, 60)])
    return {"said": said, "came": came, "unsent": int(near.rig.outgoing.state[3])}


def near_socket(machines: Machines) -> socket.socket:
    return machines.open("a")


def test_a_socket_takes_launch_times_beside_frames():
    told = run_job(HERE + "launched")
    assert struct.unpack("iI", told["said"]) == (launch_time.CLOCK_TAI, 2)
    assert (told["came"], told["unsent"]) == (1, 1)


def queue_of(control: Any) -> list[Any]:
    """What is said of a veth's queue, before and after it was asked to launch."""
    from orchestrator.targets.software import etf_qdisc

    machines = pair()
    with machines.inside("a"):
        before = etf_qdisc.root(FIRST_INTERFACE)
        lacks = [
            etf_qdisc.lack(FIRST_INTERFACE),
            etf_qdisc.lack(FIRST_INTERFACE, 2),
            etf_qdisc.lack(99),
        ]
        from pyroute2 import IPRoute

        with IPRoute() as netlink:
            netlink.tc("add", "tbf", FIRST_INTERFACE, 0x10000, rate=10**6, burst=3000, limit=9000)
        return [before, *lacks, etf_qdisc.root(FIRST_INTERFACE), etf_qdisc.lack(FIRST_INTERFACE)]


def test_a_queue_is_tried_and_put_back():
    before, one, two, none, own, kept = run_job(HERE + "queue_of")
    assert before == (0, "")
    assert one is not None
    assert two == one
    assert none == "etf is not taken (No such device)"
    assert own == (0x10000, "tbf")
    assert kept == "it has a queueing discipline of its own (tbf), which stays"


def test_whose_times_they_are():
    assert ARRIVALS.describe() == {"arrivals": "by the kernel"}
    both = TimestampSources(True, frozenset({"h/nics"}))
    assert both.describe() == {"arrivals": "by the NICs", "departures": "by the NICs"}
    assert (both.word("h/nics"), both.word("h")) == (HARDWARE_WORD, SOFTWARE_WORD)
