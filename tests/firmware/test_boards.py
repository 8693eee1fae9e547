"""Boards: what the vendors' flows are told, and that our block fits a Corundum checkout."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from firmware.boards.board_build import BOARDS_BY_NAME, CORE, build, sources_of, verify_checkout
from firmware.driver.pcie_card import APP_ID
from firmware.verilog_modules import BOARDS, RTL
from orchestrator.cli.main import command_line
from orchestrator.errors import BadInput, Refused

BLOCK = "mqnic_app_block"


@pytest.mark.parametrize("name", BOARDS_BY_NAME)
def test_every_source_comes_behind_what_it_needs(name: str) -> None:
    made = build(name, {})
    names = [Path(path).stem for path in made.sources]
    assert names[-1] == made.top
    assert len(set(names)) == len(names)
    for place, path in enumerate(made.sources):
        text = Path(path).read_text()
        later = [n for n in names[place + 1 :] if re.search(rf"^\s*{n}\s+(#|\w+ \()", text, re.M)]
        assert later == []
    assert all(Path(path).is_file() for path in (*made.sources, *made.constraints))
    assert not any("{" in step for step in made.steps)


def test_the_file_list_for_corundum_is_complete() -> None:
    listed = (BOARDS / "corundum" / "files.mk").read_text()
    wanted = [f"$(TAILBACK)/{path.relative_to(RTL.parent)}" for path in sources_of(BLOCK)]
    assert re.findall(r"^SYN_FILES \+= (.+)$", listed, re.M) == wanted


def test_the_application_has_one_number() -> None:
    fragment = (BOARDS / "corundum" / "config.tcl").read_text()
    block = sources_of(BLOCK)[-1].read_text()
    assert f'APP_ID "32\'h{APP_ID:08x}"' in fragment
    assert f"parameter APP_ID = 32'h{APP_ID:08x}" in block
    assert set(re.findall(r"TAILBACK_\w+", fragment)) == set(re.findall(r"`ifndef (\w+)", block))


def test_a_build_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["gateware", "build", "--board", "corundum", "--limiters", "32"]
    assert command_line([*words, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["defines"] == {"TAILBACK_LIMITERS": 32}
    assert command_line(words) == 0
    shown = capsys.readouterr().out
    assert all(path in shown for path in made["sources"])
    assert "TAILBACK_LIMITERS=32" in shown


def test_what_is_no_build_is_refused() -> None:
    with pytest.raises(BadInput, match=r"(?s)--board.*corundun.*corundum, netfpga-plus"):
        build("corundun", {})
    with pytest.raises(BadInput, match=r"(?s)--limiters.*256.*1 to 255"):
        build("corundum", {"limiters": 256})
    with pytest.raises(BadInput, match=r"(?s)--flows.*netfpga-plus has no such size"):
        build("netfpga-plus", {"flows": 4})


def test_a_checkout_is_held_against_the_block(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)--checkout.*a Corundum checkout"):
        verify_checkout(tmp_path)
    core = tmp_path / CORE
    core.parent.mkdir(parents=True)
    instance = f"{BLOCK} #(\n  .APP_ID(APP_ID)\n)\nblock (\n  .clk(clk),\n  .gpio_in(g)\n);"
    core.write_text(instance)
    assert verify_checkout(tmp_path) == 3
    core.write_text(instance.replace(".clk(clk)", ".clk(clk),\n  .new_port(x)"))
    with pytest.raises(Refused, match="connects new_port"):
        verify_checkout(tmp_path)
    core.write_text(instance)
    other = tmp_path / "fpga" / "lib" / "axis" / "rtl" / "octet_count.v"
    other.parent.mkdir(parents=True)
    other.write_text("module octet_count (); endmodule\n")
    with pytest.raises(Refused, match=r"octet_count\.v and our octet_count"):
        verify_checkout(tmp_path)
