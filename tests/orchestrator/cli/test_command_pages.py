"""Commands without a test file of their own: their help, options and bounds are on the page."""

from __future__ import annotations

from types import ModuleType

import pytest

from orchestrator.cli import (
    agent,
    calibrate,
    controller,
    import_files,
    lab,
    mutate,
    otg,
    target_option_flags,
)
from orchestrator.errors import BadInput
from tests.orchestrator.cli.command_page import check_commands

COMMANDS = {
    agent: ["agent", "release"],
    calibrate: ["calibrate"],
    controller: ["controller", "machines"],
    lab: ["lab"],
    mutate: ["mutate"],
    otg: ["otg"],
}


@pytest.mark.parametrize("module", COMMANDS, ids=lambda one: one.__name__.rpartition(".")[2])
def test_the_page_has_the_command(module: ModuleType) -> None:
    assert check_commands(module) == COMMANDS[module]


def test_the_page_has_every_import() -> None:
    assert check_commands(import_files) == [
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
        calibrate._pair(text)
    assert str(caught.value) == (f"--ports: {text!r} is not accepted; two NICs as in eth1,eth2 are")


def test_names_of_nics_have_no_spaces_around_them() -> None:
    assert calibrate._pair(" eth1 ,eth2") == ("eth1", "eth2")
    assert calibrate._pair(None) is None
