"""Programs on nodes: their sockets' frames cross the emulated network, and nothing outlives it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import RunResult, run
from tests.plugins.described import check_page

SERVE = """
import hashlib, socket
listening = socket.create_server(("0.0.0.0", 5001))
talk, _ = listening.accept()
seen = hashlib.sha256()
while part := talk.recv(65536):
    seen.update(part)
talk.sendall(seen.hexdigest().encode())
talk.close()
print(seen.hexdigest())
"""
SEND = """
import hashlib, socket, sys, time
octets = bytes(range(251)) * 12000
for _ in range(100):
    try:
        talk = socket.create_connection((sys.argv[1], 5001), timeout=5)
        break
    except ConnectionRefusedError:
        time.sleep(0.02)
talk.sendall(octets)
talk.shutdown(socket.SHUT_WR)
back = talk.recv(100).decode()
print(back)
sys.exit(back != hashlib.sha256(octets).hexdigest())
"""
ECHO = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", 5002))
while True:
    text, who = one.recvfrom(2000)
    one.sendto(text[::-1], who)
"""
CALL = """
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.settimeout(0.2)
for text in (b"x", b"abc", bytes(1400)):
    for _ in range(20):
        one.sendto(text, (sys.argv[1], 5002))
        try:
            assert one.recv(2000) == text[::-1]
            break
        except TimeoutError:
            continue
    else:
        sys.exit("no answer")
print("echoed")
"""
LINGER = """
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        time.sleep(0.01)
print("left one behind", flush=True)
while True:
    time.sleep(1)
"""


def plan(mark: str, **programs: list[str]) -> Plan:
    """Two hosts at a switch whose port to b is slow, with QCN; `mark` is in a command's words."""
    table = {
        "server": {"node": "b", "command": [sys.executable, "-c", SERVE]},
        "client": {"node": "a", "command": [sys.executable, "-c", SEND, "{b}"], "start": "100ms"},
        "echo": {"node": "b", "command": [sys.executable, "-c", ECHO]},
        "call": {"node": "a", "command": [sys.executable, "-c", CALL, "{b}"], "start": "100ms"},
        "linger": {"node": "a", "command": [sys.executable, "-c", LINGER, mark]},
        "absent": {"node": "a", "command": [sys.executable, "-c", "raise SystemExit('no')"]},
    }
    return Plan(
        name="programs",
        duration=2 * 10**12,
        sample_interval=10**9,
        target="software",
        nodes={
            "a": {"kind": "nic", "reaction_point": {"plugin": "qcn-rp", "preset": "netfpga"}},
            "b": {"kind": "nic"},
            "s": {
                "kind": "switch",
                "congestion_point": {
                    "plugin": "qcn-cp",
                    "set_point": "10KB",
                    "sample_base": "15KB",
                },
                "ports": {"b": {"service_rate": "60Mb/s"}},
            },
        },
        links={
            "left": {"ends": ["a", "s"], "rate": "1Gb/s", "delay": "20us"},
            "right": {"ends": ["s", "b"], "rate": "1Gb/s", "delay": "20us"},
        },
        traffic={"t": {"plugin": "sockets", "from": "a", "to": "b", "bidirectional": True}},
        programs={
            name: {k: v if k != "start" else 10**11 for k, v in program.items()}
            for name, program in table.items()
        },
        capture={"ports": ["a.s"], "frames": 200, "snap": 200},
    )


def alive(mark: str) -> list[str]:
    """Processes of this machine that have a mark among their words."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and process.name != str(os.getpid()):
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(process.name)
    return found


@pytest.fixture(scope="module")
def mark() -> str:
    return f"mark-{os.getpid()}-{time.monotonic_ns()}"


@pytest.fixture(scope="module")
def done(
    mark: str,
    namespaces: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunResult]:
    folder = tmp_path_factory.mktemp("runs")
    yield run(plan(mark), out=folder, report=False)
    shutil.rmtree(folder)


def program(done: RunResult, name: str) -> dict[str, object]:
    return next(one for one in done.result["programs"] if one["name"] == name)


def output(done: RunResult, name: str) -> str:
    assert done.folder is not None
    return (done.folder / "programs" / name).read_text()


@pytest.mark.software
def test_tcp_carries_every_octet_both_ways(done: RunResult) -> None:
    assert program(done, "client")["code"] == 0
    assert program(done, "server")["code"] == 0
    assert len(output(done, "client.out").strip()) == 64
    assert output(done, "client.out") == output(done, "server.out")


@pytest.mark.software
def test_udp_is_answered_whatever_its_length(done: RunResult) -> None:
    assert output(done, "call.out") == "echoed\n"
    assert program(done, "call")["code"] == 0


@pytest.mark.software
def test_programs_are_ended_with_the_run_and_so_is_what_they_started(
    done: RunResult, mark: str
) -> None:
    assert output(done, "linger.out") == "left one behind\n"
    assert program(done, "linger")["code"] is None
    assert program(done, "echo")["code"] is None
    assert alive(mark) == []


@pytest.mark.software
def test_a_program_that_fails_is_noted_with_its_last_words(done: RunResult) -> None:
    assert "program absent on a ended with code 1: no" in done.result["notes"]


@pytest.mark.software
def test_frames_of_programs_pass_queue_congestion_point_and_limiter(done: RunResult) -> None:
    recording = done.recording
    octets = recording.column("t.0", "bytes_received")[-1]
    assert octets > 251 * 12000
    assert recording.column("s.b", "bytes_out")[-1] == octets
    sent = recording.column("s.b", "feedback_sent")[-1]
    assert sent > 0
    assert recording.column("a.rp0", "feedback_received")[-1] > 0
    assert recording.column("t.1", "frames_received")[-1] > 100  # acknowledgements
    losses = done.result["fidelity"]["lost_outside_queues"]
    assert not any(losses.values()), losses


@pytest.mark.software
@pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is missing: sudo apt-get install tshark"
)
def test_the_capture_shows_the_programs_own_segments(done: RunResult) -> None:
    assert done.folder is not None
    fields = ["eth.src", "ip.src", "ip.dst", "vlan.id", "tcp.dstport"]
    text = subprocess.run(
        ["tshark", "-r", done.folder / "captures" / "a-s.pcapng", "-Y", "tcp.dstport == 5001"]
        + ["-o", "ip.check_checksum:TRUE", "-T", "fields"]
        + [word for field in fields for word in ("-e", field)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    rows = {tuple(line.split("\t")) for line in text.splitlines()}
    assert rows == {("02:54:42:00:00:00", "10.0.0.2", "10.0.0.3", "1", "5001")}


@pytest.mark.software
@pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is missing: sudo apt-get install tshark"
)
def test_routers_and_marks_write_into_packets_whose_checksums_stay_right(
    namespaces: None,
    tmp_path: Path,
) -> None:
    table = plan("x").model_dump(by_alias=True, exclude_unset=True)
    red = {"plugin": "red", "low": 3_000, "high": 30_000}
    table["nodes"] = {"a": {"kind": "nic"}, "b": {"kind": "nic"}} | {
        name: {"kind": "switch", "forwards_by": "ip"} for name in ("s", "r")
    }
    table["nodes"]["r"]["ports"] = {"b": {"service_rate": 60_000_000, "congestion_point": red}}
    table["links"]["right"]["ends"] = ("s", "r")
    table["links"]["last"] = {"ends": ("r", "b"), "rate": 10**9}
    table["traffic"]["t"]["ecn"] = True
    table["capture"] = {"ports": ["b.r"], "frames": 10_000, "snap": 200}
    table["programs"] = {name: table["programs"][name] for name in ("server", "client")}
    done = run(Plan(**table), out=tmp_path, report=False)
    assert program(done, "client")["code"] == 0
    assert done.folder is not None
    fields = ["ip.ttl", "ip.dsfield.ecn", "ip.checksum.status"]
    text = subprocess.run(
        ["tshark", "-r", done.folder / "captures" / "b-r.pcapng", "-Y", "tcp.dstport == 5001"]
        + ["-o", "ip.check_checksum:TRUE", "-T", "fields"]
        + [word for field in fields for word in ("-e", field)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    assert {(ttl, status) for ttl, _, status in rows} == {("62", "1")}
    marks = [mark for _, mark, _ in rows]
    assert {"2", "3"} <= set(marks)  # ECN-capable, and marked by the queue


@pytest.mark.software
def test_programs_do_not_outlive_a_run_that_is_killed(namespaces: None, tmp_path: Path) -> None:
    mark = f"killed-{os.getpid()}-{time.monotonic_ns()}"
    table = plan(mark).model_dump(by_alias=True, exclude_unset=True) | {"duration": 60 * 10**12}
    del table["capture"]
    (tmp_path / "plan.toml").write_text(Plan(**table).to_toml())
    words = [sys.executable, "-m", "orchestrator.cli", "run", str(tmp_path / "plan.toml")]
    with subprocess.Popen(
        [*words, "--out", str(tmp_path / "runs")], stdout=subprocess.DEVNULL, text=True
    ) as process:
        try:
            waited_for(lambda: len(alive(mark)) >= 2)
        finally:
            process.kill()
    waited_for(lambda: not alive(mark))


def waited_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until a condition holds; fail when it does not within the time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_simulator_refuses_programs_by_name() -> None:
    with pytest.raises(Refused, match=r"cannot run the programs of the plan \(server, client"):
        run(plan("x"), target="simulated", out=None)


def test_the_simulator_refuses_traffic_of_sockets_by_name() -> None:
    table = plan("x").model_dump(by_alias=True, exclude_unset=True)
    del table["programs"]
    with pytest.raises(Refused, match="the traffic sockets of t does not run on it"):
        run(Plan(**table), target="simulated", out=None)


@pytest.mark.software
def test_a_program_that_is_not_there_is_named_before_the_run(namespaces: None) -> None:
    table = plan("x").model_dump(by_alias=True, exclude_unset=True)
    table["programs"] = {"p": {"node": "a", "command": "no-such-program -x"}}
    with pytest.raises(Refused, match=r"'no-such-program' of programs\.p is not on this machine"):
        run(Plan(**table), out=None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"node": "s"}, r"programs\.p\.node: unknown NIC 's'"),
        ({"command": ""}, r"programs\.p\.command: '' is not accepted; a command is expected"),
        ({"command": ["x", 1]}, r"programs\.p\.command: .*the words of a command are texts"),
        ({"command": "x 'y"}, r"programs\.p\.command: .*cannot be split"),
        ({"command": "x {c}"}, r"programs\.p\.command: unknown NIC in braces 'c'"),
        ({"start": 3 * 10**12}, r"programs\.p\.start: 'start' before 'stop'"),
        ({"env": {}}, r"programs\.p\.env: unknown key"),
    ],
)
def test_a_program_that_makes_no_sense_is_refused(change: dict[str, object], says: str) -> None:
    table = plan("x").model_dump(by_alias=True, exclude_unset=True)
    table["programs"] = {"p": {"node": "a", "command": "true"} | change}
    with pytest.raises(BadInput, match=says):
        Plan(**table)


def test_sockets_need_a_way_back_and_programs_need_sockets() -> None:
    table = plan("x").model_dump(by_alias=True, exclude_unset=True)
    table["traffic"]["t"]["bidirectional"] = False
    with pytest.raises(BadInput, match="'bidirectional = true' is expected"):
        Plan(**table).check(Registry.load())
    table["traffic"] = {"t": {"plugin": "cbr", "from": "a", "to": "b"}}
    with pytest.raises(BadInput, match="no traffic of plugin 'sockets' begins or ends at"):
        Plan(**table).check(Registry.load())


def test_a_plan_with_programs_reads_back_as_it_was_written() -> None:
    first = plan("x")
    again = Plan.load(first.to_toml())
    assert again == first
    assert json.dumps(again.to_table()["programs"]) == json.dumps(first.to_table()["programs"])


def test_addresses_stand_for_nodes_in_braces() -> None:
    words = plan("x").programs["client"].words({"a": "10.0.0.1", "b": "10.0.0.2"})
    assert words[-1] == "10.0.0.2"


def test_the_page_has_its_parameters() -> None:
    assert check_page("traffic.socket_traffic") > 0
