"""Frames between emulated machines: exact octets, counted losses, a silent kernel."""

from __future__ import annotations

import os
import tempfile

import pytest

from orchestrator.targets.software.worker_process import run_job
from tests.orchestrator.targets.software.jobs import DATA, PLAIN
from tests.orchestrator.targets.software.processes import as_nobody, ordinary_user_python

JOBS = "tests.orchestrator.targets.software.jobs:"

pytestmark = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]


def sent_frames() -> list[tuple[int, int, bytes]]:
    """What job `exchange` sends: port, length, octets."""
    rows = [(DATA, 0, 60), (DATA, 1, 1500), (PLAIN, 0, 60), (DATA, 1, 2048), (PLAIN, 1, 1514)]
    rows.append((DATA, 0, 4000))
    frames = []
    for slot, (head, port, length) in enumerate(rows):
        known = 46 if length < 1000 else 100
        body = head + bytes([slot + 1]) * (known - len(head))
        frames.append((port, length, body + bytes(length - known)))
    return frames


@pytest.mark.parametrize("jit", ["0", "1"])
def test_frames_arrive_as_they_were_sent(monkeypatch, jit):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", jit)
    got = [
        (port, length, bytes.fromhex(octets)) for port, length, octets in run_job(JOBS + "exchange")
    ]
    expected = [(port, length, octets[:2048]) for port, length, octets in sent_frames()]
    assert got == expected


@pytest.mark.root
def test_an_ordinary_user_gets_the_same():
    python = ordinary_user_python()
    if python is None:
        pytest.skip("user nobody can execute no Python of this version with our packages")
    script = (
        "from orchestrator.targets.software.worker_process import run_job\n"
        "from orchestrator.targets.software.namespace_probe import require\n"
        "import os, sys\n"
        "require()\n"
        f"print(os.getuid(), len(run_job('{JOBS}exchange')))"
    )
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, 65534, 65534)
        done = as_nobody([python, "-c", script], {"HOME": home})
    assert (done.stdout.strip(), done.stderr) == (f"65534 {len(sent_frames())}", "")


def test_the_kernel_says_nothing_of_its_own():
    told = run_job(JOBS + "silence", 1.5)
    assert told["received"] == []
    assert all(row["rx_packets"] == row["tx_packets"] == 0 for row in told["interfaces"])
    assert told["offloads"][0]["gro"] is False
    assert told["offloads"][0]["tso"] is False


def test_frames_without_room_are_counted_where_they_are_lost():
    told = run_job(JOBS + "overflow")
    assert told["sent"] == 40_000
    assert told["first"]["received"] == 40_000
    assert 0 < told["first"]["dropped"] < 40_000
    assert told["again"] == told["first"]
    assert told["interface"]["rx_packets"] == 40_000
    assert told["losses"] == {
        "sockets": told["first"]["dropped"],
        "interfaces": 0,
        "between": 0,
    }
    assert told["state"][3] == 0


def test_preparing_for_real_time_says_what_was_possible():
    told = run_job(JOBS + "ready")
    assert told["told"]["timer_slack_1ns"] is True
    assert told["told"]["nice"] <= os.getpriority(os.PRIO_PROCESS, 0)
    assert told["collecting"] is False
    assert told["untouched"] is True
    assert all(seconds >= 0 for seconds in told["taken"].values())
    assert (told["pinned"], told["cores"]) == (True, 1)


def test_an_error_of_the_socket_comes_back():
    error, state = run_job(JOBS + "no_interface")
    assert error == -6  # ENXIO
    assert state == [0, 0, 0, 1]
