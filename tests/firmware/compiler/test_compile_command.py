"""`tailback gateware compile`: files, JSON, refusals, completion; the table of the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from firmware.compiler import verilog_module
from firmware.compiler.compile_command import complete_compiled_name
from firmware.compiler.compiled_table import PAGE, page_text
from firmware.proof.symbolic_state import Untranslated
from firmware.verilog_modules import RTL
from orchestrator.cli.main import command_line


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr of `tailback gateware compile ...`."""
    try:
        code = command_line(["gateware", "compile", *words])
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr()
    return int(code or 0), printed.out, printed.err


def test_folder_gets_the_module_and_its_divider(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "qcn-rp"
    code, out, err = _run(capsys, "qcn-rp", "--out", str(folder))
    assert code == 0
    assert out.splitlines() == [str(folder / "kernel_qcn_rp.v"), str(folder / "divide.v")]
    assert (folder / "divide.v").read_bytes() == (RTL / "divide.v").read_bytes()
    text = (folder / "kernel_qcn_rp.v").read_text()
    assert "module kernel_qcn_rp (" in text
    clocks = json.loads(_run(capsys, "qcn-rp", "--json")[1])["events"]["feedback"]
    assert f"  {clocks['least']} to {clocks['most']}\n" in text
    assert "feedback: 4 clocks at least, at most: " in err
    code, out, _ = _run(capsys, "trim", "--out", str(folder))
    assert out.splitlines() == [str(folder / "kernel_trim.v")]


def test_module_is_printed_without_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "trim")
    assert code == 0
    assert out.startswith("// Cuts data frames to their headers above a threshold.\n")
    assert out.endswith("`default_nettype wire\n")


def test_json_has_ports_and_clocks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = _run(capsys, "trim", "--json")
    shown = json.loads(out)
    assert (code, shown["module"]) == (0, "kernel_trim")
    assert shown["events"] == {"arrival": {"number": 0, "least": 2, "most": 2}}
    assert shown["inputs"]["frame.length"] == 17
    assert shown["verilog"].startswith("//")
    _, out, _ = _run(capsys, "deficit-round-robin", "--json", "--out", str(tmp_path))
    shown = json.loads(out)
    assert shown["arrays"]["state.deficit"] == 8
    assert shown["files"] == [str(tmp_path / "kernel_deficit_round_robin.v")]
    assert shown["events"]["choose"]["most"] is None


def test_proofs_of_the_forms_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3", reason="z3 is missing: pip install 'tailback-testbed[prove]'")
    code, _, err = _run(capsys, "pfc", "--prove")
    assert code == 0
    assert "dequeue: 4 clocks at least, at most: 4; form proved\n" in err
    _, out, _ = _run(capsys, "deficit-round-robin", "--prove", "--json")
    forms = json.loads(out)["forms"]
    assert forms == {"choose": "open: it has a loop", "sent": "open: it uses an array"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qcn-pr", "unknown algorithm 'qcn-pr'"),
        ("poisson", "'poisson' is not accepted; an algorithm with kernels"),
    ],
)
def test_name_without_kernels_is_refused(
    capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    code, out, err = _run(capsys, name)
    assert (code, out) == (2, "")
    assert text in err


def test_file_as_folder_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, out, err = _run(capsys, "trim", "--out", str(tmp_path / "file"))
    assert (code, out) == (2, "")
    assert "--out: " in err
    assert "a folder that can be written is expected" in err


def test_kernel_outside_of_the_subset_is_refused_with_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(algorithm):
        raise Untranslated("plugins/packet_trimming.py", 12, "floats are not translated")

    monkeypatch.setattr(verilog_module, "compile_module", refuse)
    code, out, err = _run(capsys, "trim")
    assert (code, out) == (2, "")
    assert "trim: plugins/packet_trimming.py:12: floats are not translated" in err


def test_names_are_completed() -> None:
    assert [name for name, _ in complete_compiled_name("qcn-")] == ["qcn-cp", "qcn-rp"]
    assert not complete_compiled_name("poisson")


def test_table_of_the_page_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page_text(text) == text, "renew it: python -m firmware.compiler"
