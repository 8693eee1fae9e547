"""Times of arrival by the kernel: every frame has one, it is right, delays are without waits."""

from __future__ import annotations

import time
from typing import Any

import pytest

from orchestrator.calibration.calibration_run import CalibrationRequest
from orchestrator.engine.datapath.mmsg_batch import STAMP_KIND
from orchestrator.engine.datapath.phc_mapping import SOFTWARE_WORD
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.packet_backends import PACKETS, StampedPackets
from orchestrator.targets.software.worker_process import run_job
from tests.patience import eventually

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]

HERE = "tests.orchestrator.targets.software.test_arrivals:"
ADDRESSES = bytes.fromhex("025442000002 025442000001")
AWAY_S = 0.05


def timed(control: Any) -> dict[str, Any]:
    """Send tagged and plain frames, look away, take them in; the kernel's times of them."""
    from orchestrator.engine.datapath import port_backend
    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    for name in "ab":
        machines.add(name)
    machines.join("a", "b")
    near, far = End(machines, "a", PACKETS), End(machines, "b", StampedPackets())
    heads = [ADDRESSES + bytes.fromhex(tag + "88b5") for tag in ("", "8100a001", "88a80fff")]
    sent = [head + bytes(range(60 - len(head))) for head in heads]
    before = time.clock_gettime_ns(time.CLOCK_REALTIME)
    near.send([(0, octets, 60) for octets in sent])
    time.sleep(AWAY_S)
    eventually(  # the kernel delivers when it has a core
        lambda: machines.socket_counters("b")["received"] >= len(sent), "frames at b"
    )
    awake = time.clock_gettime_ns(time.CLOCK_REALTIME)
    assert port_backend.poll_ports(far.pool, far.rig) == 1
    count = port_backend.receive(far.rig, 0)
    batch = far.rig.incoming
    words = batch.control[:count]
    word = SOFTWARE_WORD
    return {
        "sent": [octets.hex() for octets in sent],
        "came": [batch.octets[batch.slots[k], :60].tobytes().hex() for k in range(count)],
        "kinds": words[:, 1].tolist(),
        "times": (words[:, word] * 10**9 + words[:, word + 1]).tolist(),
        "between": [before, awake],
    }


def test_every_frame_brings_its_time_and_keeps_its_tag():
    told = run_job(HERE + "timed")
    assert told["came"] == told["sent"]
    assert told["kinds"] == [STAMP_KIND] * 3
    before, awake = told["between"]
    for at in told["times"]:  # when it was sent, not when it was taken in
        assert before <= at <= awake - int(AWAY_S * 1e9)
    assert told["times"] == sorted(told["times"])


PLAN = """
name = "acknowledged"
duration = "0.5s"

[nodes.h]
kind = "nic"
reaction_point = { plugin = "newreno", segment = "1500B" }

[nodes.d]
kind = "sink"

[links.wire]
ends = ["h", "d"]
rate = "100Mb/s"
delay = "2ms"

[traffic.t]
from = "h"
to = "d"
frame = "1500B"
plugin = "bulk"
transport = { plugin = "selective" }

[[expect]]
metric = "rtt_s.mean"
of = "h.rp0"
min = "4ms"
"""


def test_a_run_tells_what_frames_waited_and_delays_do_not_fall_below_the_links():
    done = run(Plan.load(PLAN), target="software", out=None, datapath="stamped")
    told = done.result["fidelity"]["datapath"]
    assert told["backend"] == "packet"
    assert told["arrivals"] == "by the kernel"
    assert told["without_time"] == 0
    waited = told["waited_s"]  # no system call takes less than a tenth of a microsecond
    assert 1e-7 < waited["p50"] <= waited["p99"] <= waited["max"]
    (row,) = done.result["expectations"]
    assert row["value"] >= row["min"]  # whatever the machine makes uncertain


def test_other_targets_and_calibration_do_not_take_it():
    with pytest.raises(BadInput, match="datapath: target simulated does not take it"):
        run(Plan.load(PLAN), target="simulated", out=None, datapath="stamped")
    with pytest.raises(BadInput, match="'stamped' is not accepted; packet, xdp, auto are"):
        CalibrationRequest(datapath="stamped").check()
