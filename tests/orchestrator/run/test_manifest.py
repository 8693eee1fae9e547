"""The manifest: what it tells, and how it tells what could not be read."""

from __future__ import annotations

import datetime
import json
import os
import subprocess

import pytest

from orchestrator import __version__
from orchestrator.run import machine_info, manifest


@pytest.fixture
def checkout(tmp_path):
    """A git checkout with one commit."""
    identity = {
        f"GIT_{who}_{what}": "t@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        try:
            subprocess.run(["git", *words], cwd=tmp_path, check=True, env=os.environ | identity)
        except FileNotFoundError:
            pytest.skip("git is not installed")
    return tmp_path


def test_it_says_what_was_run_with_what():
    begun = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    found = manifest.build_manifest("quickstart", "simulated", 7, "simulated", started=begun)
    assert found["tailback"] == __version__
    assert found["started"] == "2026-01-02T03:04:05+00:00"
    assert (found["plan"], found["target"], found["seed"]) == ("quickstart", "simulated", 7)
    assert found["libraries"]["numba"]
    assert found["machine"]["cores"] == machine_info.cores()
    assert "offloads" in found["absent"]
    assert json.loads(json.dumps(found)) == found


def test_what_cannot_be_read_is_listed_as_absent(monkeypatch):
    monkeypatch.setattr(machine_info, "read_text", lambda path: None)
    monkeypatch.setattr(machine_info.platform, "processor", lambda: "")
    monkeypatch.setattr(manifest, "LIBRARIES", ("no-such-library",))
    found = manifest.build_manifest("p", "simulated", 1, "simulated")
    assert found["machine"]["memory_bytes"] is None
    assert {
        "machine.processor",
        "machine.memory_bytes",
        "machine.governor",
        "libraries.no-such-library",
    } <= set(found["absent"])


def test_the_commit_and_whether_it_was_changed_are_told(checkout):
    state = manifest.git_state(checkout)
    assert state is not None
    assert len(state["commit"]) == 40
    assert state["modified"] is False
    (checkout / "new").write_text("")
    assert manifest.git_state(checkout) == state | {"modified": True}


def test_a_checkout_of_something_else_around_tailback_is_not_ours(checkout):
    inside = checkout / ".venv" / "site-packages"
    inside.mkdir(parents=True)
    assert manifest.git_state(inside) is None


def test_without_git_there_is_no_state(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert manifest.git_state() is None


def test_a_hypervisor_is_known_by_its_maker_or_its_flag(monkeypatch):
    files = {"/proc/cpuinfo": "flags\t\t: fpu hypervisor avx\n"}
    monkeypatch.setattr(machine_info, "read_text", files.get)
    assert machine_info.hypervisor() == "unnamed"
    files["/sys/class/dmi/id/sys_vendor"] = "QEMU"
    assert machine_info.hypervisor() == "QEMU"
    files.clear()
    assert machine_info.hypervisor() is None
