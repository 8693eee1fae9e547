"""What a defective device does once is found, and called what a reader would call it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.oracle.edits import EDITS, Edit
from tests.traces.oracle.test_mutants import captured, resolved_plan
from traces.oracle.conformance_judge import Settings, judge
from traces.oracle.rtl_tolerance import RtlTiming

SEEDLESS = [edit for edit in EDITS if edit.shows_without_seed]


def edited(edits: tuple[Edit, ...] | list[Edit]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("edit", edits, ids=lambda edit: edit.name.replace(" ", "-"))


@edited(EDITS)
def test_an_edit_is_found_and_its_rule_named(edit: Edit, tmp_path: Path) -> None:
    resolved = resolved_plan(edit.plan, edit.settings)
    paths = captured(resolved, tmp_path, edit.apply)
    clocks = RtlTiming(period_ps=8000)
    loose = Settings(window_ns=clocks.act_ns, late_ns=clocks.late_ns(resolved))
    for settings in (Settings(), loose):
        (finding,) = judge(paths, resolved, settings).findings
        assert finding.departure.node == edit.node
        if settings is not loose or edit.clocked:
            assert finding.rule == edit.rule
            assert edit.says in finding.diagnosis.why


@edited(SEEDLESS)
def test_an_edit_shows_without_the_seed(edit: Edit, tmp_path: Path) -> None:
    resolved = resolved_plan(edit.plan, edit.settings)
    paths = captured(resolved, tmp_path, edit.apply)
    (finding,) = judge(paths, resolved, Settings(seed_known=False)).findings
    assert (finding.departure.node, finding.rule) == (edit.node, edit.rule)
    excused = Settings(seed_known=False, without=frozenset({edit.rule}))
    assert judge(paths, resolved, excused).conforming


def test_messages_that_wait_for_their_port_are_not_late(tmp_path: Path) -> None:
    """Where nothing is wrong nothing is late, whatever else the port sends."""
    resolved = resolved_plan("open")
    found = judge(captured(resolved, tmp_path), resolved, Settings(seed_known=False))
    assert found.conforming
    assert not any("late" in line for node in found.nodes for line in node.undecided)
