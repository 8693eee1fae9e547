"""Lines over the maps of a sweep are in the units of its tables, and mistakes name their place."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.batch.map_overlay import overlay_lines
from orchestrator.batch.parameter_axis import read_axes
from orchestrator.errors import BadInput
from orchestrator.plan.sweep_table import Overlay

AXES = read_axes(["sources=1,2,4", "links.up.delay=10us..1ms/3:log", "mode=calm,wild"])


def line(**changes: Any) -> Overlay:
    table = {"label": "theory", "points": [["1", "20us"], ["4", "0.5ms"]]}
    return Overlay(**table | changes)


def test_points_and_places_are_numbers_in_si_units() -> None:
    (found,) = overlay_lines([line(at={"mode": "wild"})], AXES, "plan")
    assert (found["label"], found["at"]) == ("theory", {"mode": 1.0})
    assert found["points"][0] == pytest.approx([1, 20e-6])
    assert found["points"][1] == pytest.approx([4, 0.5e-3])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at": {"moode": "calm"}}, r"(?s)sweep.overlay\[0\].at.*mode"),
        ({"at": {"mode": "quiet"}}, r"(?s)overlay\[0\].at.*quiet.*a value of mode"),
        ({"points": [["1", "x"], ["2", "1ms"]]}, r"(?s)overlay\[0\].points.*links.up.delay"),
    ],
)
def test_a_mistake_names_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        overlay_lines([line(**changes)], AXES, "plan")


def test_one_parameter_has_no_plane() -> None:
    with pytest.raises(BadInput, match="two parameters"):
        overlay_lines([line()], AXES[:1], "plan")
