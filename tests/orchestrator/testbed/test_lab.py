"""`tailback lab`: two real agents over a veth cable, and nothing of it left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import python_command
from orchestrator.errors import BadInput, Refused
from orchestrator.targets.software import worker_process
from orchestrator.targets.software.concurrent_runs import concurrent_runs
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.kernel_refusals import refusal
from orchestrator.testbed import curve_keys
from orchestrator.testbed.lab.local_testbed import MACHINES, Lab
from tests.orchestrator.targets.software.processes import (
    MARK,
    NOBODY,
    as_nobody,
    gone,
    marked,
    ordinary_user_python,
)

ENDING_S = 60.0


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """In the environment of all that a test starts."""
    monkeypatch.setenv(MARK, tmp_path.name)
    return tmp_path.name


def tailback(*words: object) -> list[str]:
    return python_command.module("orchestrator.cli", *map(str, words))


def free_address() -> str:
    """A port of the loopback that no process listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"tcp://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def lab(
    tmp_path: Path, mark: str, namespaces: None
) -> Iterator[tuple[subprocess.Popen[str], dict[str, str], Path]]:
    """A lab's process, what it printed, its folder."""
    folder = tmp_path / "lab"
    process = subprocess.Popen(
        tailback("lab", "--folder", folder, "--listen", free_address(), "--cables", 2),
        env=python_command.environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=(tmp_path / "err").open("wb"),
        text=True,
    )
    assert process.stdout is not None
    told = {}
    for line in process.stdout:
        what, _, text = line.strip().partition(" ")
        told[what] = text.strip()
        if what == "run":
            break
    try:
        assert "run" in told, (tmp_path / "err").read_text()
        yield process, told, folder
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        assert gone(mark, ENDING_S), "nothing outlives it, not even when it is killed"


@pytest.mark.software
@pytest.mark.shares_cores
def test_what_it_prints_is_true(lab: tuple[subprocess.Popen[str], dict[str, str], Path]) -> None:
    process, told, folder = lab
    assert int((folder / "pid").read_text()) == process.pid
    assert told["cables"] == "left:eth1 - right:eth1, left:eth2 - right:eth2"
    bed = tomllib.loads(Path(told["inventory"]).read_text())
    assert [f"{n} {m['address']}" for n, m in bed["machines"].items()] == told["agents"].split(", ")
    options = told["run"].split("--controller ")[1].split()
    asked = tailback("machines", "--controller", options[0], *options[1:], "--json")
    done = subprocess.run(asked, env=python_command.environment(), capture_output=True, check=True)
    machines = json.loads(done.stdout)["machines"]
    assert {one["name"]: one["state"] for one in machines} == dict.fromkeys(MACHINES, "up")
    assert {tuple(one["nics"]) for one in machines} == {("eth1", "eth2")}
    assert process.pid not in [one.process for one in concurrent_runs()], (
        "nothing of it takes cores"
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(ENDING_S) == 0
    assert not (folder / "pid").exists()


@pytest.mark.software
@pytest.mark.shares_cores
def test_it_takes_everything_along_when_it_is_killed(
    lab: tuple[subprocess.Popen[str], dict[str, str], Path], mark: str
) -> None:
    process, _, _ = lab
    assert len(marked(mark)) >= 4, "the lab, who holds the machines, two agents"
    process.kill()
    process.wait()
    assert gone(mark, ENDING_S)


@pytest.mark.software
@pytest.mark.slow
def test_a_plan_runs_across_it(
    lab: tuple[subprocess.Popen[str], dict[str, str], Path], tmp_path: Path
) -> None:
    plan = Path(__file__).parents[2] / "short.toml"
    words = lab[1]["run"].replace("quickstart", str(plan)).split()[1:]
    done = subprocess.run(
        tailback(*words, "--out", tmp_path / "runs", "--no-report", "--json"),
        env=python_command.environment(),
        capture_output=True,
        text=True,
        timeout=280,
    )
    result = json.loads(done.stdout)
    assert sorted(result["machines"]) == sorted(MACHINES), done.stderr
    assert sum(result["fidelity"]["lost_outside_queues"].values()) == 0


def test_without_namespaces_it_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack = refusal(Denied("user namespace", OSError(1, "Operation not permitted")))

    def denied(self: worker_process.Worker) -> list[object]:
        raise lack

    monkeypatch.setattr(worker_process.Worker, "reports", denied)
    monkeypatch.setattr("orchestrator.testbed.lab.lab_network.hold", None)
    monkeypatch.setattr(worker_process.Worker, "__enter__", lambda self: self)
    monkeypatch.setattr(worker_process.Worker, "__exit__", lambda self, *_: None)
    with pytest.raises(Refused) as error, Lab(tmp_path):
        pass
    assert error.value.who == "tailback lab"
    assert error.value.lack == lack.lack
    assert not list(tmp_path.glob("state"))


def test_a_lab_that_is_to_go_on_needs_a_place(tmp_path: Path) -> None:
    done = subprocess.run(
        tailback("lab", "--detach"),
        env=python_command.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "--detach: needs --folder DIR" in done.stderr


def test_a_path_of_forty_characters_is_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    curve_keys.make(tmp_path / "theirs", "them")
    name = "k" * 36 + ".pub"
    os.rename(tmp_path / "theirs" / curve_keys.PUBLIC, name)
    assert curve_keys.KEY.fullmatch(name)
    curve_keys.make(tmp_path / "mine", "me")
    assert curve_keys.authorise(tmp_path / "mine", name) == "them"
    assert curve_keys.public_key(name) == curve_keys.own(tmp_path / "theirs").public


@pytest.mark.root
def test_folders_above_keys_are_trusted_once_they_were_looked_at(tmp_path: Path) -> None:
    above = tmp_path / "above"
    folder = above / "keys"
    curve_keys.make(folder, "me")
    os.chown(above, NOBODY, NOBODY)
    with pytest.raises(BadInput, match="another user"):
        curve_keys.verify(folder)
    os.chown(above, 0, 0)
    curve_keys.verify(folder)
    os.chown(above, NOBODY, NOBODY)  # what root's folders look like from a user namespace
    assert curve_keys.own(folder).name == "me"
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(BadInput, match="another user"):
        curve_keys.listed(folder)


@pytest.mark.software
@pytest.mark.root
def test_an_ordinary_user_has_one_too(mark: str, namespaces: None) -> None:
    """Root in a user namespace of the lab's own is all that its machines and agents need."""
    python = ordinary_user_python()
    if python is None:
        pytest.skip("user nobody can execute no interpreter here")
    with tempfile.TemporaryDirectory(prefix="lab-") as home:
        os.chown(home, NOBODY, NOBODY)
        room = {"HOME": home, "TMPDIR": home, MARK: mark}
        place = Path(home) / "lab"

        def done(*words: object) -> subprocess.CompletedProcess[str]:
            return as_nobody([python, "-P", "-m", "orchestrator.cli", *map(str, words)], room)

        address = free_address()
        began = done("lab", "--folder", place, "--detach", "--listen", address)
        try:
            assert began.returncode == 0, began.stderr
            keys_of_user = place / "keys" / "user"
            asked = done("machines", "--controller", address, "--keys", keys_of_user, "--json")
            rows = json.loads(asked.stdout)["machines"]
            assert {one["name"]: one["state"] for one in rows} == dict.fromkeys(MACHINES, "up")
            assert {tuple(one["nics"]) for one in rows} == {("eth1",)}
            process = int((place / "pid").read_text())
            assert os.stat(f"/proc/{process}").st_uid == NOBODY
            os.kill(process, signal.SIGTERM)
            assert gone(mark, ENDING_S)
        finally:
            for left in marked(mark):
                os.kill(left, signal.SIGKILL)
