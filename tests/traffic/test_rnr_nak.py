"""RNR NAKs of RoCEv2 connections: a SEND without a receive buffer, and the time it waits for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.roce import AETH, BTH

from orchestrator.engine.records import ACK, DATA, NEVER
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.plugins.scheme_driver import Driver
from tests.traces.capture.tshark import needs_tshark, rows
from tests.traffic.test_reliable_connection import RC, packets
from tests.traffic.test_requester import answered, requester, sends
from traces.analysis import analyze
from traffic.go_back_n import NEGATIVE
from traffic.reliable_connection import RELIABLE_CONNECTION, RNR_NAK, ReliableConnection

US = 10**6
PACKETS = 5
"""Of a message of 5001 octets."""
TIMES_US = (
    *(655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840),
    *(5120, 7680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840),
    *(245_760, 327_680, 491_520),
)
"""By code (InfiniBand, volume 1, 9.7.5.2.8)."""
NAMES = ("frames.sent", "frames.retransmitted", "naks.received", "timeouts")
NAMES += ("messages.completed", "rc.failed", "rc.rnr_naks", "rc.not_ready")


def load(rc: str, count: int = 3, more: str = "") -> Plan:
    """Messages that begin at once, over links of 20 us."""
    text = RC.format(
        rc=f'operation = "send", {rc}', more=more, size="5001B", count=count, frame="1500B"
    )
    return Plan.load(text.replace('interval = "5ms"', 'interval = "1us"'))


def numbers(done: Any) -> dict[str, float]:
    metrics = done.result["metrics"]["run"]["f"]
    return {name: metrics[name] for name in NAMES}


@pytest.mark.parametrize("code", range(32))
def test_a_requester_waits_for_the_time_of_the_code(code: int) -> None:
    driver = requester(10)
    assert [sends(driver, US) for _ in range(10)] == [*range(10)]
    answered(driver, 4, 20 * US, RNR_NAK | code)
    assert (driver.naks, driver.losses, driver.flight) == (0, 0, 0)
    resumes = (20 + TIMES_US[code]) * US
    assert sends(driver, 21 * US) is None
    assert driver.next_frame == resumes
    assert sends(driver, resumes - 1) is None
    assert [sends(driver, resumes) for _ in range(6)] == [*range(4, 10)]
    assert int(driver.state["rnr_naks"][0]) == 1
    assert (driver.timeouts, driver.losses) == (0, 0)


def test_a_late_rnr_nak_holds_nothing_back() -> None:
    driver = requester(10)
    assert [sends(driver, US) for _ in range(6)] == [*range(6)]
    answered(driver, 5, 20 * US)
    answered(driver, 3, 21 * US, RNR_NAK | 12)
    assert sends(driver, 22 * US) == 6


def test_an_rnr_nak_measures_the_packet_that_it_answers() -> None:
    driver = requester(10)
    assert [sends(driver, (1 + n) * US) for n in range(6)] == [*range(6)]
    assert answered(driver, 4, 20 * US, RNR_NAK | 1) == 5 * US


@pytest.mark.parametrize("limit", [0, 2, 6, 7])
def test_only_rnr_naks_without_progress_count(limit: int) -> None:
    """Seven is no limit. A retry of either kind does not count as one of the other."""
    driver = requester(5, rnr_retry=limit, retry_count=0)
    now = US
    for expected, times in ((0, limit), (1, 30 if limit == 7 else limit + 1)):
        for _ in range(times):
            while sends(driver, now) is not None:
                pass
            assert int(driver.state["not_ready"][0]) == 0
            answered(driver, expected, now, RNR_NAK | 1)
            now += 20 * US
    assert int(driver.state["not_ready"][0]) == (limit < 7)
    assert int(driver.state["failed"][0]) == 0
    assert (sends(driver, now) is None) == (limit < 7)
    assert (driver.next_frame == NEVER) == (limit < 7)


def test_a_responder_takes_a_buffer_for_each_send_and_gets_it_back() -> None:
    """Two buffers; one that was taken is there again after 100 us, one after the other."""
    params = ReliableConnection(
        operation="send", receive_buffers=2, buffer_interval=100 * US, min_rnr_timer=9
    )
    responder = Driver(RELIABLE_CONNECTION, params)
    first, middle, last, only = 0, 1, 2, 4

    def answer(now: int, packet: int, opcode: int) -> tuple[int, int, int]:
        responder.message["feedback"] = 0
        answers = responder.come(
            "arrived", now * US, kind=DATA, sequence=packet, length=1086, delta=1, feedback=opcode
        )
        found = [int(responder.message[name][0]) for name in ("feedback", "sequence")]
        return answers, found[0] if answers else 0, found[1]

    assert answer(10, 0, first) == (1, 0, 1)
    assert answer(11, 1, middle) == (1, 0, 2)
    assert answer(12, 2, last) == (1, 0, 3)
    assert answer(20, 3, only) == (1, 0, 4)
    assert answer(30, 4, only) == (1, RNR_NAK | 9, 4)
    assert answer(31, 5, only)[0] == 0  # behind what was refused: neither NAK nor buffer
    assert answer(32, 3, only) == (1, 0, 4)
    assert answer(109, 4, only) == (1, RNR_NAK | 9, 4)
    assert answer(110, 4, only) == (1, 0, 5)
    assert answer(209, 5, only) == (1, RNR_NAK | 9, 5)
    assert answer(215, 5, only) == (1, 0, 6)
    assert answer(309, 6, only) == (1, RNR_NAK | 9, 6)
    assert answer(310, 6, only) == (1, 0, 7)
    assert answer(900, 7, only) == (1, 0, 8)
    assert answer(900, 8, only) == (1, 0, 9)
    assert answer(900, 9, only) == (1, RNR_NAK | 9, 9)
    assert answer(950, 11, only) == (0, 0, 9)


def test_each_message_waits_for_its_buffer() -> None:
    """A buffer each millisecond: the second message is refused at 0, 0.64 ms, and taken at the
    third try; all its packets are sent thrice."""
    done = run(load('receive_buffers = 1, buffer_interval = "1ms"'), out=None)
    sent, back = packets(done)
    assert numbers(done) == {
        "frames.sent": 45,
        "frames.retransmitted": 30,
        "naks.received": 0,
        "timeouts": 0,
        "messages.completed": 3,
        "rc.failed": 0,
        "rc.rnr_naks": 4,
        "rc.not_ready": 0,
    }
    refused = [one for one in back if one[AETH].syndrome != 0x1F]
    assert [(one[BTH].psn, one[AETH].syndrome, one[AETH].msn) for one in refused] == [
        (5, 0x2C, 1),
        (5, 0x2C, 1),
        (10, 0x2C, 2),
        (10, 0x2C, 2),
    ]
    assert [one[BTH].psn for one in sent] == [
        *range(15),
        *range(5, 15),
        *[*range(5, 15)],
        *[*range(10, 15)] * 2,
    ]


def test_a_lost_rnr_nak_costs_a_timeout() -> None:
    """The sixth answer is that which refuses the second message."""
    lost = '[[timeline]]\nat = "0s"\ndrop = "f"\nof = "ack"\npacket = 6\n'
    done = run(load('receive_buffers = 1, buffer_interval = "1ms"', more=lost), out=None)
    found = numbers(done)
    assert (found["timeouts"], found["messages.completed"], found["rc.rnr_naks"]) == (1, 3, 2)


def test_a_connection_without_buffers_fails_and_says_so() -> None:
    done = run(load("receive_buffers = 2, rnr_retry = 3, min_rnr_timer = 1"), out=None)
    found = numbers(done)
    assert (found["messages.completed"], found["rc.rnr_naks"]) == (2, 4)
    assert (found["rc.not_ready"], found["rc.failed"]) == (1, 0)
    assert any("rnr_retry" in note for note in done.result["notes"])


def test_seven_is_no_limit() -> None:
    done = run(load('receive_buffers = 1, buffer_interval = "4ms", min_rnr_timer = 1'), out=None)
    assert numbers(done)["rc.rnr_naks"] > 50
    assert numbers(done)["messages.completed"] == 3


@pytest.mark.software
@pytest.mark.parametrize("code", [14, 16])
def test_real_frames_are_refused_as_often(namespaces: None, code: int) -> None:
    """Tries at 0, 1.28 and 2.56 ms times 20, buffers after 40 ms: margins of many ms."""
    slow = load(
        f'receive_buffers = 1, buffer_interval = "40ms", min_rnr_timer = {code + 8}, timeout = "1s"'
    ).with_settings(["duration=300ms"])
    wanted = numbers(run(slow, target="simulated", out=None))
    assert wanted["messages.completed"] == 3
    assert numbers(run(slow, target="software", out=None)) == wanted


@needs_tshark
@pytest.mark.software
@pytest.mark.parametrize("target", ["simulated", "software"])
@pytest.mark.parametrize("ip", [4, 6])
def test_tshark_scapy_and_analyze_read_every_rnr_nak(
    namespaces: None, target: str, ip: int, tmp_path: Path
) -> None:
    rc = 'receive_buffers = 1, buffer_interval = "40ms", min_rnr_timer = 22, timeout = "1s"'
    plan = load(rc, more=f"[headers]\nip = {ip}").with_settings(["duration=300ms"])
    done = run(plan, target=target, out=tmp_path, report=False)
    assert done.folder is not None
    (path,) = (done.folder / "captures").iterdir()
    names = ("opcode", "timer")
    fields = ["_ws.expert.severity", "infiniband.bth.psn", "infiniband.invariant.crc"]
    fields += [f"infiniband.aeth.syndrome.{name}" for name in names]
    fields += ["infiniband.aeth.syndrome", "infiniband.aeth.msn", "udp.checksum.status"]
    found = rows(path, fields, preferences=["udp.check_checksum:TRUE"])
    assert all(int(row["_ws.expert.severity"] or 0) < 0x600000 for row in found)
    refused = [row for row in found if row["infiniband.aeth.syndrome.opcode"] == "1"]
    assert [(row["infiniband.bth.psn"], row["infiniband.aeth.msn"]) for row in refused] == [
        ("5", "1"),
        ("5", "1"),
        ("10", "2"),
        ("10", "2"),
    ]
    assert {row["infiniband.aeth.syndrome.timer"] for row in refused} == {"22"}
    assert {int(row["infiniband.aeth.syndrome"], 0) for row in refused} == {RNR_NAK | 22}
    if ip == 6:
        assert {row["udp.checksum.status"] for row in found} == {"1"}
    (one,) = analyze(path).interfaces
    assert one.frames["roce_rnr_nak"] == 4
    assert "roce_nak" not in one.frames


@pytest.mark.parametrize(
    ("rc", "wanted"),
    [
        ('operation = "write", receive_buffers = 3', r"receive_buffers.*operation"),
        ('operation = "send", buffer_interval = "1ms"', r"buffer_interval.*receive_buffers"),
        ('operation = "send", min_rnr_timer = 32', "min_rnr_timer"),
        ('operation = "send", rnr_retry = 8', "rnr_retry"),
        ('operation = "send", receive_buffers = -1', "receive_buffers"),
    ],
)
def test_what_does_not_fit_is_refused(rc: str, wanted: str) -> None:
    text = RC.format(rc=rc, more="", size="5001B", count=1, frame="1500B")
    with pytest.raises(BadInput, match=rf"traffic\.f\.transport.*{wanted}|{wanted}"):
        run(Plan.load(text), out=None)


def test_a_nak_for_a_gap_is_none_of_these() -> None:
    driver = requester(10, rnr_retry=0)
    assert [sends(driver, US) for _ in range(10)] == [*range(10)]
    answered(driver, 4, 20 * US, NEGATIVE)
    assert sends(driver, 21 * US) == 4
    driver.come("acknowledged", 22 * US, kind=ACK, sequence=5, feedback=0)
    assert int(driver.state["rnr_naks"][0]) == 0
