"""A recording of a target that lacks a column: judged all the same, or refused in one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.run_result import judge_recording
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import line_of_three

REGISTRY = Registry.load()
TABLE = line_of_three()
TABLE["nodes"]["nic"]["reaction_point"] = {"plugin": "qcn-rp"}
TABLE["nodes"]["switch"]["congestion_point"] = {"plugin": "qcn-cp"}


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Simulated().run(Plan(**TABLE).check(REGISTRY), silent)


def without(recording: Recording, place: int) -> Recording:
    """The recording of a target called fluid, without one column."""
    columns = [one for at, one in enumerate(recording.columns) if at != place]
    values = np.delete(recording.values, place, axis=1)
    return replace(recording, target="fluid", columns=columns, values=values, events=[])


def refusal(recording: Recording) -> str:
    """The sentence with which a recording is refused; empty: it was judged."""
    try:
        judge_recording(REGISTRY, Plan(**TABLE).check(REGISTRY), recording)
    except BadInput as error:
        return str(error)
    return ""


def test_each_column_in_turn(recording: Recording) -> None:
    refused = set()
    for place, column in enumerate(recording.columns):
        text = refusal(without(recording, place))
        if text:
            assert "\n" not in text
            assert text.startswith("target fluid: ")
            assert f"no column {column.quantity!r} of {column.entity!r}" in text
            refused.add(column.quantity)
    assert "frames_dropped" in refused


FLUID = ("queue_bytes", "queue_max_bytes", "service_rate", "bytes_out", "frames_dropped")


def test_a_target_that_samples_a_port_alone(recording: Recording) -> None:
    """Five columns are enough; without one of them it is judged or refused by name."""
    places = [
        at
        for at, one in enumerate(recording.columns)
        if one.entity == "switch.sink" and one.quantity in FLUID
    ]
    alone = replace(
        recording,
        target="fluid",
        columns=[recording.columns[at] for at in places],
        values=recording.values[:, places],
        events=[],
    )
    assert len(places) == len(FLUID)
    assert refusal(alone) == ""
    names = [column.quantity for column in alone.columns]
    texts = {name: refusal(without(alone, names.index(name))) for name in FLUID}
    assert "target fluid" in texts["frames_dropped"]
    assert "no column 'frames_dropped' of 'switch.sink'" in texts["frames_dropped"]
    for name, text in texts.items():
        assert text == "" or f"no column {name!r} of 'switch.sink'" in text
