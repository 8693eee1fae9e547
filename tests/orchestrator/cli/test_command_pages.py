"""Commands without a test file of their own: their help, options and bounds are on the page."""

from __future__ import annotations

from types import ModuleType

import pytest

import orchestrator.cli.agent as agent_module
import orchestrator.cli.calibrate as calibrate_module
import orchestrator.cli.controller as controller_module
import orchestrator.cli.import_files as import_files_module
import orchestrator.cli.lab as lab_module
import orchestrator.cli.mutate as mutate_module
import orchestrator.cli.otg as otg_module
from orchestrator.cli import target_option_flags
from orchestrator.cli.calibrate import _pair
from orchestrator.errors import BadInput
from tests.orchestrator.cli.command_page import check_commands

COMMANDS = {
    agent_module: ["agent", "release"],
    calibrate_module: ["calibrate"],
    controller_module: ["controller", "machines"],
    lab_module: ["lab"],
    mutate_module: ["mutate"],
    otg_module: ["otg"],
}


@pytest.mark.parametrize("module", COMMANDS, ids=lambda one: one.__name__.rpartition(".")[2])
def test_the_page_has_the_command(module: ModuleType) -> None:
    assert check_commands(module) == COMMANDS[module]


def test_the_page_has_every_import() -> None:
    assert check_commands(import_files_module) == [
        f"import {words}" for words in ("hpcc", "htsim", "containerlab", "graphml")
    ]


def test_options_of_targets_are_grouped_and_named_as_they_are_written() -> None:
    assert target_option_flags.panel("software") == "Options of target software"
    given = {"start_delay": "1s", "pace": "0.5"}
    assert target_option_flags.flags(given) == {"start_delay": "--start-delay", "pace": "--pace"}


def test_a_value_that_no_target_takes_is_refused_by_its_flag() -> None:
    target_option_flags.check_options({"pace": "0.5"})
    with pytest.raises(BadInput, match="--pace"):
        target_option_flags.check_options({"pace": "fast"})


@pytest.mark.parametrize("text", ["eth1", "eth1,eth2,eth3", "eth1,", ",eth2", "", " , "])
def test_a_path_to_calibrate_is_of_two_nics(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        _pair(text)
    assert str(caught.value) == (f"--ports: {text!r} is not accepted; two NICs as in eth1,eth2 are")


def test_names_of_nics_have_no_spaces_around_them() -> None:
    assert _pair(" eth1 ,eth2") == ("eth1", "eth2")
    assert _pair(None) is None
