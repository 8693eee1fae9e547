"""RDMA for programs: refused by name where it is not to be had, made and taken away where it is.

`rdma` is a stand-in here, a program that notes what it was told and where, and fails when it is to:
what the kernel makes of the real one's words only a machine with rdma_rxe can tell.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator import python_command
from orchestrator.errors import BadInput, Refused, TailbackError
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.targets.software import soft_roce
from orchestrator.targets.software.network_namespaces import Machines, host_of
from orchestrator.targets.software.program_runner import Hosts, rdma_of
from orchestrator.targets.software.worker_process import Worker, run_job

REAL_FRAMES = [
    pytest.mark.software,
    pytest.mark.shares_cores,
    pytest.mark.usefixtures("namespaces"),
]
STAND_IN = f"""#!{sys.executable}
import json, os, sys
with open("/proc/self/net/dev") as file:
    devices = [line.split(":")[0].strip() for line in file if ":" in line]
row = {{"words": sys.argv[1:], "there": os.stat("/proc/self/ns/net").st_ino, "devices": devices}}
row["user"] = os.readlink("/proc/self/ns/user")
with open(os.environ["RDMA_TOLD"], "a") as file:
    file.write(json.dumps(row) + "\\n")
if os.environ.get("RDMA_FAILS", "nothing") in " ".join(sys.argv[1:]):
    sys.exit("error: Operation not supported")
"""
PLAN = """
name = "verbs"
target = "software"
duration = "1s"
[nodes."h{1..2}"]
kind = "nic"
[links.cable]
ends = ["h1", "h2"]
rate = "1Gb/s"
[traffic.talk]
plugin = "sockets"
rdma = true
from = "h1"
to = "h2"
bidirectional = true
[programs.says]
node = "h1"
command = ["echo", "-d", "{h1.rdma}", "{h2}"]
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the stand-in notes what it is told; it comes first on the path."""
    tool = tmp_path / "bin" / soft_roce.TOOL
    tool.parent.mkdir()
    tool.write_text(STAND_IN)
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("RDMA_TOLD", str(tmp_path / "told"))
    return tmp_path / "told"


def rows(told: Path) -> list[dict[str, Any]]:
    """What it noted."""
    return [json.loads(line) for line in told.read_text().splitlines()]


def modules(root: Path, **files: str) -> Path:
    """A root with some files of the kernel's modules."""
    folder = root / "lib/modules" / platform.release()
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"modules.{name}").write_text(text)
    return root


def test_what_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Path) -> None:
    """The kernel's part of it, the module, the program: each with its remedy."""
    refused = soft_roce.lack(tmp_path, lambda: OSError(93, "Protocol not supported"))
    assert refused is not None
    assert "the kernel has no RDMA (NETLINK_RDMA: Protocol not supported)" in str(refused)
    assert "CONFIG_RDMA_RXE" in str(refused)
    refused = soft_roce.lack(modules(tmp_path, dep="kernel/rdma_rxe2.ko: a.ko\n"), lambda: None)
    assert refused is not None
    assert f"the kernel {platform.release()} has no module rdma_rxe" in str(refused)
    monkeypatch.setenv("PATH", str(tmp_path))
    refused = soft_roce.lack(tmp_path, lambda: None)
    assert refused is not None
    assert "the program 'rdma' of iproute2 is not here" in str(refused)


@pytest.mark.parametrize(
    "files",
    [
        {"dep": "kernel/a.ko:\nkernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.zst: b.ko\n"},
        {"builtin": "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko\n"},
    ],
)
def test_a_module_that_the_kernel_finds_is_enough(
    tmp_path: Path, told: Path, files: dict[str, str]
) -> None:
    """It loads it when it is asked for a device."""
    assert soft_roce.lack(modules(tmp_path, **files), lambda: None) is None


def test_a_loaded_module_is_enough(tmp_path: Path, told: Path) -> None:
    """Wherever its file was."""
    (tmp_path / "sys/module/rdma_rxe").mkdir(parents=True)
    assert soft_roce.lack(tmp_path, lambda: None) is None


def test_a_run_without_it_is_refused_by_name() -> None:
    """On this machine, if it has none: before anything is made."""
    lack = soft_roce.lack()
    if lack is None:
        pytest.skip("this machine has soft-RoCE")
    with pytest.raises(Refused, match="soft-RoCE"):
        run(Plan.load("\n" + PLAN), out=None)


def test_doctor_has_a_line_of_it() -> None:
    """As it is here."""
    target = Registry.load().target("software")
    lines = {one.name: one for one in target.further()}
    assert str(lines["soft-RoCE"].lack) == str(soft_roce.lack())


def test_a_device_that_is_none_is_bad_input() -> None:
    """Of a node whose traffic has no `rdma`."""
    with pytest.raises(BadInput, match="h1 has no RDMA device"):
        Plan.load("\n" + PLAN.replace("rdma = true\n", ""))


def made(control: Any, text: str, fails: bool) -> dict[str, Any]:
    """A job: have the devices of a plan; what each host's namespace is, what was refused."""
    resolved = Plan.load(text).check(Registry.load())
    machines = Machines()
    for name in resolved.plan.nodes:
        machines.add(name)
    hosts = Hosts.of(resolved, machines)
    found: dict[str, Any] = {
        node: os.fstat(machines.machines[host_of(node)].descriptor).st_ino
        for node in resolved.plan.nodes
    }
    try:
        with hosts.with_rdma(rdma_of(resolved), machines):
            found["rdma"] = dict(hosts.rdma)
            if fails:
                raise KeyError("somewhere in the run")
    except Refused as refused:
        found["refused"] = str(refused)
    except KeyError:
        found["failed"] = True
    return found


JOB = f"{__name__}:made"


class TestMade:
    pytestmark = REAL_FRAMES

    @pytest.mark.parametrize("fails", [False, True])
    def test_devices_are_made_where_the_programs_are_and_taken_away(
        self, told: Path, fails: bool
    ) -> None:
        """Also of a run that breaks."""
        found = run_job(JOB, "\n" + PLAN, fails)
        assert found.get("failed", False) == fails
        names = found["rdma"]
        assert list(names) == ["h1", "h2"]
        assert len(set(names.values())) == 2
        add = [["link", "add", names[n], "type", "rxe", "netdev", "p0"] for n in ("h1", "h2")]
        gone = [["link", "delete", names[n]] for n in ("h2", "h1")]
        assert [row["words"] for row in rows(told)] == [*add, *gone]
        there = [found[n] for n in ("h1", "h2", "h2", "h1")]
        assert [row["there"] for row in rows(told)] == there
        assert all(set(row["devices"]) == {"lo", "p0"} for row in rows(told))

    def test_a_device_that_cannot_be_made_is_refused_with_the_words_of_the_tool(
        self, told: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And what was made before is taken away."""
        monkeypatch.setenv("RDMA_FAILS", "n1 type")
        found = run_job(JOB, "\n" + PLAN, False)
        assert "error: Operation not supported" in found["refused"]
        assert "did not make the device tb" in found["refused"]
        words = [row["words"][1] for row in rows(told)]
        assert words == ["add", "add", "delete"]
        assert rows(told)[2]["words"][2] == rows(told)[0]["words"][2]

    def test_programs_are_told_the_name(self, told: Path) -> None:
        """In a whole run, whose worker stays root of where it is started."""
        text = Plan.load("\n" + PLAN).to_toml()
        job = "orchestrator.targets.software.plan_job:run"
        with Worker(job, text, stays=True) as worker:
            for _ in worker.reports():
                pass
            recording = worker.result
        made = rows(told)[0]["words"][2]
        assert recording.programs[0].out.decode().split() == ["-d", made, "10.0.0.3"]
        assert [row["words"][1] for row in rows(told)] == ["add", "add", "delete", "delete"]

    @pytest.mark.root
    def test_a_run_makes_them_as_root_of_where_it_is_started(
        self, told: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By the target as users have it, once the machine is said to have what it takes."""
        monkeypatch.setattr(soft_roce, "lack", lambda: None)
        done = run(Plan.load("\n" + PLAN), out=None)
        assert done.recording.programs[0].code == 0
        here = os.readlink("/proc/self/ns/user")
        assert [row["user"] for row in rows(told)] == [here] * 4

    def test_a_run_whose_device_cannot_be_made_ends_as_bad_input(
        self, told: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the worker: the sentence and the exit code come through."""
        monkeypatch.setenv("RDMA_FAILS", "link add")
        worker = Worker("orchestrator.targets.software.plan_job:run", "\n" + PLAN, stays=True)
        with worker, pytest.raises(TailbackError, match="Operation not supported") as found:
            for _ in worker.reports():
                pass
        assert found.value.exit_code == 2


SPEAK = """
import socket, sys, time
head = lambda opcode, psn: bytes([opcode, 0x40, 255, 255, 0, 0, 0, 0x11]) + psn.to_bytes(4, "big")
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", 49152))
for number in range(60):
    frame = head(4, number) + bytes(256) + bytes(4)
    if number % 10 == 9:
        frame = bytes([0x81, 0x40, 255, 255, 0x40, 0, 0, 0x11]) + bytes(4) + bytes(16) + bytes(4)
    one.sendto(frame, (sys.argv[1], 4791))
    time.sleep(0.005)
"""
TAKE = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", 4791))
while True:
    one.recv(2000)
"""


@pytest.mark.software
@pytest.mark.shares_cores
@pytest.mark.usefixtures("namespaces")
def test_what_verbs_would_send_is_told_by_analyze(tmp_path: Path) -> None:
    """RoCEv2 packets of a program, CNPs among them, through a switch: kinds and counts."""
    without = PLAN.replace("rdma = true\n", "").replace("{h1.rdma}", "none")
    plan = Plan.load("\n" + without)
    speak = [sys.executable, "-c", SPEAK, "{h2}"]
    table = plan.to_table() | {
        "programs": {
            "take": {"node": "h2", "command": [sys.executable, "-c", TAKE]},
            "speak": {"node": "h1", "command": speak, "start": "0.3s"},
        },
        "capture": {"ports": ["h2.h1"], "snap": "512B"},
    }
    done = run(plan.with_data(table), target="software", out=tmp_path, report=False)
    assert done.folder is not None
    words = ["analyze", str(done.folder / "captures" / "h2-h1.pcapng"), "--json"]
    said = subprocess.run(
        python_command.module("orchestrator.cli", *words),
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(said.stdout)
    flows = {one["kind"]: one for one in told["interfaces"][0]["conversations"]}
    assert {kind: one["frames"] for kind, one in flows.items()} == {"roce": 54, "cnp": 6}
    for one in flows.values():
        assert (one["qp"], one["from_address"], one["to_address"]) == (17, "10.0.0.2", "10.0.0.3")


def whose(control: Any) -> str:
    """A job: the user namespace that it runs in."""
    return os.readlink("/proc/self/ns/user")


@pytest.mark.usefixtures("namespaces")
@pytest.mark.root
@pytest.mark.parametrize("stays", [False, True])
def test_a_worker_stays_in_the_user_namespace_where_it_is_to(stays: bool) -> None:
    """The kernel makes RDMA devices for nobody who is root in one of his own."""
    with Worker(f"{__name__}:whose", stays=stays) as worker:
        for _ in worker.reports():
            pass
        assert (worker.result == os.readlink("/proc/self/ns/user")) == stays
