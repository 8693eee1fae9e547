"""RoCEv2 reliable connections: packets and answers of both ends, judged by InfiniBand's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.contrib.roce import AETH, BTH
from scapy.layers.l2 import Ether

from orchestrator.engine.records import DATA
from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver
from tests.traces.capture.tshark import needs_tshark, rows
from tests.traffic.test_injected_losses import plan as injected
from traffic.go_back_n import NEGATIVE
from traffic.reliable_connection import RELIABLE_CONNECTION, ReliableConnection

RC = """
name = "rc"
duration = "60ms"
sample_interval = "1ms"
{more}
[nodes.h1]
kind = "nic"
[nodes.h2]
kind = "nic"
[nodes.s]
kind = "switch"
[links."l{{1..2}}"]
ends = ["h{{}}", "s"]
rate = "1Gb/s"
delay = "20us"
[traffic.f]
plugin = "messages"
from = "h1"
to = "h2"
size = "{size}"
interval = "5ms"
count = {count}
frame = "{frame}"
transport = {{ plugin = "rc", {rc} }}
[capture]
ports = ["h1.s"]
frames = 20000
snap = "{frame}"
"""
HEADERS = 18 + 20 + 8 + 12 + 4
RETH = 16
FIRST, MIDDLE, LAST, ONLY = 6, 7, 8, 10
REQUEST = 1 << 31


def load(rc: str = "", more: str = "", size: str = "5001B", count: int = 3, frame: str = "1500B"):
    return Plan.load(
        RC.format(rc=rc or "window = 64", more=more, size=size, count=count, frame=frame)
    )


def packets(done: Any) -> tuple[list[Ether], list[Ether]]:
    """Captured data packets and acknowledgements in order, by scapy."""
    sent, back = [], []
    for capture in done.recording.captures:
        for length, octets in zip(capture.lengths, capture.octets, strict=True):
            one = Ether(octets[: int(length)].tobytes())
            (back if AETH in one else sent).append(one)
    return sent, back


def answers(
    *arrivals: tuple[int, int], ack_every: int = 1, psn: int = 0
) -> list[tuple[int, int, int]]:
    """(answers, feedback, the packet that is expected) for each (packet, AckReq) that comes."""
    params = ReliableConnection(ack_every=ack_every, first_psn=psn)
    receiver = Driver(RELIABLE_CONNECTION, params)
    found = []
    for sequence, request in arrivals:
        receiver.message["feedback"] = 0
        said = receiver.come("arrived", kind=DATA, sequence=sequence, length=1086, delta=request)
        feedback, expected = (int(receiver.message[name][0]) for name in ("feedback", "sequence"))
        found.append((said, feedback if said else 0, expected))
    return found


def test_a_gap_is_answered_by_one_nak_until_the_packet_is_there():
    lost = answers((0, 1), (2, 1), (3, 1), (4, 1), (1, 1), (3, 1), (4, 1))
    assert [one[:2] for one in lost] == [
        (1, 0),
        (1, NEGATIVE),
        (0, 0),
        (0, 0),
        (1, 0),
        (1, 1),
        (0, 0),
    ]
    assert [one[2] for one in lost] == [1, 1, 1, 1, 2, 2, 2]


def test_a_responder_answers_what_requests_it_and_every_nth():
    some = [(0, 0), (1, 1), (2, 0), (3, 0), (4, 0), (5, 1), (6, 0)]
    assert [said for said, _, _ in answers(*some, ack_every=3)] == [0, 1, 0, 0, 1, 1, 0]


def test_numbers_begin_with_the_first_psn():
    assert answers((16777210, 1), (16777212, 1), psn=16777210) == [
        (1, 0, 16777211),
        (1, NEGATIVE, 16777211),
    ]


@pytest.mark.parametrize(
    ("frame", "mtu"),
    [("340B", 256), ("1500B", 1024), ("4173B", 2048), ("4174B", 4096), ("9000B", 4096)],
)
def test_the_path_mtu_is_the_largest_that_a_frame_has_room_for(frame: str, mtu: int):
    """4 174 octets: 62 of headers, 16 of a RETH and 4 096."""
    done = run(load(frame=frame, size="20000B", count=1), out=None)
    sent, _ = packets(done)
    assert len(sent[0]) == mtu + HEADERS + RETH
    assert len(sent[1]) == mtu + HEADERS
    last = 20000 - (len(sent) - 1) * mtu
    assert 0 < last <= mtu
    assert len(sent[-1]) == max(last, 16) + (-last % 4) + HEADERS
    assert done.result["metrics"]["run"]["f"]["messages.completed"] == 1


@pytest.mark.parametrize("operation", ["write", "send"])
@pytest.mark.parametrize("size", [1, 3, 16, 1024, 1025, 2048, 5001])
def test_opcodes_pads_and_dma_lengths_make_up_the_message(operation: str, size: int):
    done = run(load(f'operation = "{operation}", ack_every = 64', size=f"{size}B"), out=None)
    sent, back = packets(done)
    frames = -(-size // 1024)
    opcodes = [FIRST, *[MIDDLE] * (frames - 2), LAST] if frames > 1 else [ONLY]
    offset = 0 if operation == "write" else 6
    assert [one[BTH].opcode for one in sent] == [code - offset for code in opcodes] * 3
    assert [one[BTH].psn for one in sent] == list(range(3 * frames))
    for message in range(3):
        mine = sent[message * frames : (message + 1) * frames]
        payload = 0
        for one in mine:
            body = len(one) - HEADERS - one[BTH].padcount
            payload += body - (RETH if one[BTH].opcode in (FIRST, ONLY) else 0)
        if operation == "write":
            assert payload == int.from_bytes(bytes(mine[0][BTH].payload)[12:16], "big")
            assert payload - size == (max(16 - (size % 1024 or 1024), 0) if frames > 1 else 0)
        else:
            assert payload - size == max(16 - (size % 1024 or 1024), 0)
        assert mine[-1][BTH].ackreq == 1
    assert [one[AETH].msn for one in back][-1] == 3
    assert {one[AETH].syndrome for one in back} == {0x1F}
    assert done.result["metrics"]["run"]["f"]["messages.completed"] == 3


def test_psns_wrap_and_what_is_lost_there_is_sent_again():
    more = '[[timeline]]\nat = "0s"\ndrop = "f"\npacket = 7\n'
    lossy = load("first_psn = 16777210, window = 8", more=more, size="20000B")
    sent, back = packets(run(lossy, out=None))
    psns = [one[BTH].psn for one in sent]
    assert psns[:7] == [*range(16777210, 16777216), 1]  # the link has lost PSN 0
    nak = next(one for one in back if one[AETH].syndrome == 0x60)
    assert nak[BTH].psn == 0
    assert psns.count(0) == 1
    done = run(lossy, out=None).result["metrics"]["run"]["f"]
    assert (done["naks.received"], done["messages.completed"]) == (1, 3)
    assert done["frames.retransmitted"] == 8


@pytest.mark.parametrize("every", [1, 4, 16])
def test_acknowledgements_are_requested_and_coalesced(every: int):
    done = run(load(f'ack_every = {every}, ack_delay = "1ms"', size="65536B", count=1), out=None)
    sent, back = packets(done)
    requests = [one[BTH].psn for one in sent if one[BTH].ackreq]
    assert requests == [psn for psn in range(64) if psn % every == every - 1]
    assert [one[BTH].psn for one in back] == requests


def test_a_window_smaller_than_what_is_coalesced_does_not_wait():
    done = run(load("ack_every = 16, window = 4", size="65536B", count=1), out=None)
    assert done.result["metrics"]["run"]["f"]["timeouts"] == 0
    sent, _ = packets(done)
    assert [one[BTH].ackreq for one in sent].count(1) >= 16


@pytest.mark.parametrize("retries", [0, 2, 7])
def test_a_connection_fails_after_its_retries(retries: int):
    """All from the third packet on are lost: it is sent once and `retries` times more."""
    plan = injected(
        {"drop": "f", "packet": 3, "packets": 100_000},
        transport="rc",
        retry_count=retries,
        window=1,
        timeout=10**9,
    )
    done = run(plan, out=None)
    found = done.result["metrics"]["run"]["f"]
    assert found["rc.failed"] == 1
    assert found["timeouts"] == retries + 1
    assert found["frames.sent"] == 3 + retries
    assert found["messages.completed"] == 0
    assert any("retry_count" in note for note in done.result["notes"])


def test_progress_gives_all_retries_anew():
    steps = [{"drop": "f", "packet": packet, "packets": 2} for packet in (3, 9, 15)]
    done = run(injected(*steps, transport="rc", retry_count=2, window=1, timeout=10**9), out=None)
    found = done.result["metrics"]["run"]["f"]
    assert (found["rc.failed"], found["timeouts"]) == (0, 6)
    assert found["messages.completed"] == 1


@needs_tshark
@pytest.mark.parametrize(
    "headers", ["", "[headers]\ntagged = false\nip = 6", "[headers]\nvlan = 5\nouter_vlan = 9"]
)
def test_tshark_and_scapy_find_no_error_in_a_capture(headers: str, tmp_path: Path):
    done = run(load(more=headers), out=tmp_path, report=False)
    assert done.folder is not None
    paths = sorted((done.folder / "captures").iterdir())
    fields = ["_ws.expert.severity", "infiniband.bth.psn", "infiniband.invariant.crc"]
    fields += ["udp.checksum.status", "infiniband.reth.dmalen"]
    found = rows(paths[0], fields, preferences=["udp.check_checksum:TRUE"])
    assert len(found) == 3 * 5 * 2
    assert all(int(row["_ws.expert.severity"] or 0) < 0x600000 for row in found)
    assert {row["infiniband.reth.dmalen"] for row in found} == {"", "5001"}
    if "ip = 6" in headers:
        assert {row["udp.checksum.status"] for row in found} == {"1"}
    for one in [*packets(done)[0], *packets(done)[1]]:
        icrc = bytes(one)[-4:]
        one[BTH].icrc = None
        assert bytes(Ether(bytes(one)))[-4:] == icrc


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("[nodes.s.congestion_point]\nplugin = 'qcn-cp'\n", "CNM"),
        (
            "[nodes.h2.notification_point]\nplugin = 'notification-point'\npreset = 'p4qcn'\n",
            "return",
        ),
        ("[nodes.s.congestion_point]\nplugin = 'trim'\n", "trims"),
    ],
)
def test_points_that_need_tailbacks_own_frames_are_refused(more: str, wanted: str):
    text = RC.format(rc="", more="", size="5001B", count=1, frame="1500B").replace(
        'rc",  }', 'rc" }'
    )
    with pytest.raises(BadInput, match=wanted):
        run(Plan.load(text + more), out=None)


def test_a_frame_without_room_for_the_smallest_path_mtu_is_refused():
    with pytest.raises(BadInput, match="256"):
        run(load(frame="333B"), out=None)
    with pytest.raises(BadInput, match="path MTU"):
        run(load("mtu = '1000B'"), out=None)


def test_acknowledged_octets_and_round_trips_are_those_of_the_packets():
    done = run(load(size="65536B"), out=None)
    sent, _ = packets(done)
    assert done.result["metrics"]["run"]["f"]["frames.sent"] == len(sent) == 3 * 64
    assert np.isclose(done.result["metrics"]["run"]["f"]["fct_s.mean"], 0.000646, rtol=0.1)


def test_the_page_has_its_parameters():
    assert check_page("traffic.reliable_connection") > 0


def test_gateware_refuses_it_by_name():
    with pytest.raises(Refused, match=r"traffic.f: it has no transport"):
        run(load(), target="gateware", out=None)
