"""A recording comes out as it went in, and what is none of its plan is not taken for one."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import RunFailed
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.recording import MessageTable, Recording
from orchestrator.registry import Registry
from orchestrator.run import manifest
from orchestrator.testbed.wire.recording_codec import packed, unpacked
from tests.orchestrator.worlds import line_of_three

SAID = manifest.build_manifest("line-of-three", "simulated", 1, "virtual")
MADE_ON = {key: SAID[key] for key in manifest.OF_MACHINE}
FIDELITY = {"verdict": "valid", "reasons": [], "clocks": 7, "models": {"nic": "qcn_nic"}}


@pytest.fixture(scope="module")
def resolved() -> ResolvedPlan:
    changes = {
        "phases": {"late": {"from": 10**9, "to": 2 * 10**9}},
        "capture": {"ports": ["switch.sink", "nic.switch"], "frames": 40, "snap": 128},
        "timeline": [{"at": 10**9, "set": "traffic.gen.rate", "to": 5 * 10**8}],
    }
    return Plan(**line_of_three(**changes)).check(Registry.load())


@pytest.fixture(scope="module")
def recording(resolved: ResolvedPlan) -> Recording:
    """A run of the simulator, with what gateware says besides."""
    made = Registry.load().target("simulated").run(resolved, lambda news: None)
    made.fidelity = FIDELITY
    flows = [(flow.entity, flow.entry) for flow in resolved.plan.flows()]
    made.messages = MessageTable(flows, np.zeros(3, np.int64), *(np.arange(3) for _ in range(4)))
    return made


def sent(arrays: dict[str, np.ndarray], words: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """As files have it."""
    octets = io.BytesIO()
    np.savez(octets, **arrays)  # type: ignore[arg-type]
    octets.seek(0)
    with np.load(octets, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}, json.loads(json.dumps(words))


def parts(resolved: ResolvedPlan, recording: Recording) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays, words = packed(resolved, recording)
    return sent(arrays, words | {"made_on": MADE_ON})


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if hasattr(one, "__dataclass_fields__"):
        names = [field.name for field in fields(one)]
        return all(equal(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other)


def test_it_comes_out_as_it_went_in(resolved: ResolvedPlan, recording: Recording) -> None:
    came, made_on = unpacked(resolved, "simulated", *parts(resolved, recording))
    for field in fields(recording):
        ours, theirs = getattr(recording, field.name), getattr(came, field.name)
        assert equal(ours, theirs), field.name
    assert came.captures[0].outgoing.any()
    assert made_on.model_dump() == MADE_ON


def test_columns_that_a_target_leaves_out_stay_out(
    resolved: ResolvedPlan, recording: Recording
) -> None:
    arrays, words = parts(resolved, recording)
    arrays["columns"] = arrays["columns"][2:]
    arrays["values"] = arrays["values"][:, 2:]
    came, _ = unpacked(resolved, "simulated", arrays, words)
    assert came.columns == recording.columns[2:]
    assert np.array_equal(came.values, recording.values[:, 2:])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("values", lambda array: array[:-1]),
        ("values", lambda array: array.astype(float)),
        ("columns", lambda array: array + 1000),
        ("columns", lambda array: array * 0),
        ("times", lambda array: array[:0]),
        ("marks", lambda array: array + 1),
        ("latency0", lambda array: array[:, :-1]),
        ("kept0", lambda array: array + 10_000),
        ("lengths1", lambda array: array[:-1]),
        ("octets0", lambda array: array[:-1]),
        ("message_flow", lambda array: array + 5),
    ],
)
def test_arrays_of_something_else_are_refused(
    resolved: ResolvedPlan, recording: Recording, name: str, change: Any
) -> None:
    arrays, words = parts(resolved, recording)
    arrays[name] = change(arrays[name])
    with pytest.raises(RunFailed, match="its results"):
        unpacked(resolved, "simulated", arrays, words)


@pytest.mark.parametrize("name", ["values", "marks", "outgoing0", "times_ps1", "message_size"])
def test_arrays_that_are_not_there_are_named(
    resolved: ResolvedPlan, recording: Recording, name: str
) -> None:
    arrays, words = parts(resolved, recording)
    del arrays[name]
    with pytest.raises(RunFailed, match=f"its results lack {name}"):
        unpacked(resolved, "simulated", arrays, words)


@pytest.mark.parametrize(
    "change",
    [
        {"captures": [{"port": "/etc/passwd", "dropped": 0, "comment": ""}]},
        {"fidelity": {"verdict": "perfect", "reasons": []}},
        {"fidelity": {"verdict": "valid", "reasons": "none"}},
        {"fidelity": FIDELITY | {"rate": float("nan")}},
        {"made_on": {}},
        {"more": 1},
        {"cpu_s": "long"},
        {"data_frames": -1},
    ],
)
def test_words_of_something_else_are_refused(
    resolved: ResolvedPlan, recording: Recording, change: dict[str, Any]
) -> None:
    arrays, words = parts(resolved, recording)
    with pytest.raises(RunFailed, match="its results"):
        unpacked(resolved, "simulated", arrays, words | change)


RUBBISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.sampled_from(["events", "captures", "fidelity", "made_on", "epoch_ns", "cards"]), RUBBISH)
def test_rubbish_ends_in_a_sentence_or_is_harmless(
    resolved: ResolvedPlan, recording: Recording, name: str, rubbish: Any
) -> None:
    arrays, words = parts(resolved, recording)
    with contextlib.suppress(RunFailed):
        unpacked(resolved, "simulated", arrays, words | {name: rubbish})


def test_a_column_that_the_plan_does_not_have_is_not_sent(
    resolved: ResolvedPlan, recording: Recording
) -> None:
    shorter = Plan(**line_of_three(traffic={})).check(Registry.load())
    with pytest.raises(RunFailed, match="is no column that the plan has"):
        packed(shorter, recording)
