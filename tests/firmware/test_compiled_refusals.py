"""Which algorithms gateware runs from their kernels, and which it refuses by name, before a run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firmware.cards.card_target import OnCards
from firmware.compiler.limiter_shell import limiter_shell
from firmware.compiler.point_shell import point_shell
from firmware.gateware_target import Gateware
from firmware.toolchain import verilator_environment
from firmware.verilated.model_build import sources
from orchestrator.errors import Refused
from orchestrator.plan import Plan
from orchestrator.registry import Registry

OVERLOAD = (Path(__file__).parent / "plans" / "overload.toml").read_text()
BY_HAND = 'congestion_point = { plugin = "qcn-cp", preset = "netfpga", sample_base = "15KB" }'
NIC = 'kind = "nic"\n'
REACTS = 'reaction_points = 2\nreaction_point = { plugin = "%s" }\n'
POINTS = ("red", "pie", "bcn-cp", "af-qcn", "scripted-cnm", "qcn-cp", "codel", "red-by-class")
POINTS += ('red", mark = "departure',)
LIMITERS = ("dcqcn-rp", "bcn-rp", "qcn-rp")
REFUSED = {
    "csig": r"no shell of a compiled congestion point has stamps",
    "int": r"no shell of a compiled congestion point has stamps",
    "fecn-cp": r"no shell calls the kernel 'probe'",
    "p4qcn-cp": r"keeps no state per flow",
    "trim": r"no shell of a compiled congestion point has trimming",
}


def _check(point: str, limiter: str = "", *settings: str, forms: str | None = None) -> None:
    registry = Registry.load()
    text = OVERLOAD.replace(BY_HAND, f'congestion_point = {{ plugin = "{point}" }}')
    text = text.replace(NIC, NIC + REACTS % limiter) if limiter else text
    plan = Plan.load(text, registry).with_settings(['target="gateware"', *settings])
    resolved = plan.with_options(registry, {"forms": forms} if forms else {}).check(registry)
    Gateware().check(resolved, registry.targets)


@pytest.mark.parametrize("point", POINTS)
def test_a_congestion_point_runs_from_its_kernels(point: str) -> None:
    links = ("up1", "up2", "down") if point == "af-qcn" else ()
    slow = [f"links.{link}.rate=200Mb/s" for link in links]
    _check(point, "", *slow, forms="compiled")


@pytest.mark.parametrize("limiter", LIMITERS)
def test_a_reaction_point_runs_from_its_kernels(limiter: str) -> None:
    _check("red", limiter, forms="compiled")


@pytest.mark.parametrize("point", REFUSED)
def test_a_congestion_point_without_a_shell_is_refused(point: str) -> None:
    with pytest.raises(Refused, match=REFUSED[point]) as refused:
        _check(point)
    assert "does not run on gateware" in str(refused.value)
    assert "simulated" in str(refused.value)


def test_a_reaction_point_without_a_shell_is_refused() -> None:
    with pytest.raises(Refused, match=r"fecn-rp does not run on gateware: .* a flow's start on"):
        _check("red", "fecn-rp")


def test_events_that_may_take_more_clocks_than_there_are_are_refused() -> None:
    short = [f'traffic.{name}.frame="100B"' for name in ("first", "one", "two")]
    with pytest.raises(Refused, match=r"may take \d+ clocks per second .* has 125000000"):
        _check("pie", "", *short)


def test_a_frame_that_waits_for_its_answer_counts_its_words() -> None:
    """A port sends no other frame while one waits for its answer and then leaves."""
    short = [f'traffic.{name}.frame="70B"' for name in ("first", "one", "two")]
    with pytest.raises(Refused, match=r"may take \d+ clocks per second .* has 125000000"):
        _check('red", mark = "departure', "", *short)


def test_a_switch_has_one_compiled_congestion_point() -> None:
    other = 'nodes.switch.ports.sink.congestion_point={ plugin = "bcn-cp" }'
    with pytest.raises(Refused, match="one compiled congestion point, and switch has"):
        _check("red", "", other)


class Lab:
    """A testbed without cards: none is opened before the options are looked at."""

    name = "lab.toml"
    cards: Mapping[str, Any] = {}


def test_cards_have_no_compiled_algorithms() -> None:
    registry = Registry.load()
    plan = Plan.load(OVERLOAD, registry).with_settings(['target="gateware"'])
    resolved = plan.with_options(registry, {"forms": "compiled"}).check(registry)
    with pytest.raises(Refused, match="cards have no algorithms that are compiled"):
        OnCards(Lab()).check(resolved, registry.targets)


def test_qcn_by_hand_is_checked_as_ever() -> None:
    settings = 'nodes.switch.congestion_point.sampling="occupancy-random"'
    _check("qcn-cp", "", settings)
    with pytest.raises(Refused, match="answers 3"):
        _check("qcn-cp", "", settings, forms="compiled")


@pytest.mark.skipif(verilator_environment() is None, reason="Verilator is missing")
@pytest.mark.parametrize(
    ("top", "macro", "kind", "name"),
    [
        ("qcn_switch", "KERNEL_POINT", "congestion_point", "pie"),
        ("qcn_nic", "KERNEL_LIMITER", "reaction_point", "dcqcn-rp"),
    ],
)
def test_a_node_with_compiled_kernels_has_no_warning(
    top: str, macro: str, kind: str, name: str, tmp_path: Path
) -> None:
    algorithm = Registry.load().find(kind, name)
    shell = (
        point_shell(algorithm, tuple(algorithm.kernels))
        if kind == "congestion_point"
        else limiter_shell(algorithm)
    )
    for file, text in shell.sources:
        (tmp_path / file).write_text(text)
    command = ["verilator", "--lint-only", "-Wall", "--language", "1364-2005", f"-D{macro}"]
    command += ["--top-module", top, *map(str, sources()), *(file for file, _ in shell.sources)]
    environment = os.environ | (verilator_environment() or {})
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert not done.stderr
    assert done.returncode == 0
