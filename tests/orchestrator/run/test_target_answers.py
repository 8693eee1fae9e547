"""What a third party's target answers wrongly is one sentence with the target, method and file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import Progress, silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.target_answers import probe_target, run_target
from orchestrator.target import Target
from orchestrator.targets.simulated import Simulated
from tests.orchestrator.worlds import line_of_three

RESOLVED = Plan(**line_of_three()).check(Registry.load())


class Rack(Target):
    """A target whose answers a test chooses."""

    name = "rack"
    summary = "of a test"

    def __init__(self, answer: Callable[..., Any], refusal: Any = None) -> None:
        self.answer, self.refusal = answer, refusal

    def probe(self) -> Any:
        return self.refusal

    def run(self, resolved: Any, progress: Any, session: Any = None) -> Any:
        return self.answer(progress)


class Narrow(Rack):
    """A target whose `run` takes no progress."""

    def run(self, resolved: Any) -> Any:  # type: ignore[override]
        return None


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Simulated().run(RESOLVED, silent)


CHANGES: dict[str, tuple[Callable[[Recording], Any], str]] = {
    "nothing": (lambda one: None, "returned None; return a Recording"),
    "table": (lambda one: vars(one), "return a Recording"),
    "floats": (lambda one: replace(one, values=one.values * 1.5), "values are float64"),
    "not a number": (lambda one: replace(one, values=one.values * np.nan), "int64 is expected"),
    "list": (lambda one: replace(one, values=one.values.tolist()), "values are list"),
    "short": (lambda one: replace(one, values=one.values[:3]), "have the shape (3, "),
    "narrow": (lambda one: replace(one, values=one.values[:, 1:]), "have the shape ("),
    "no columns": (lambda one: replace(one, columns=[]), "each of its 0 is expected"),
    "names": (lambda one: replace(one, columns=["a"] * len(one.columns)), "are no Column"),
    "times": (lambda one: replace(one, times_ps=one.times_ps[::-1]), "times do not rise"),
    "times twice": (lambda one: replace(one, times_ps=one.times_ps * 0), "times do not rise"),
    "float times": (lambda one: replace(one, times_ps=one.times_ps / 1e12), "times_ps are float64"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_recording_without_sound_samples(recording: Recording, name: str) -> None:
    change, told = CHANGES[name]
    with pytest.raises(BadInput) as caught:
        run_target(Rack(lambda progress: change(recording)), RESOLVED, silent)
    text = str(caught.value)
    assert text.startswith(f"target rack: {__file__}:")
    assert "its run returned " in text
    assert told in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (Rack(lambda progress: progress(0.5)), "its run reported 0.5; report Progress("),
        (Rack(lambda progress: progress(None)), "its run reported None"),
        (Rack(lambda progress: progress(Progress("odd", 7.5))), "done = 7.5 of 'odd'; 0 to 1 are"),
        (Rack(lambda progress: progress(Progress("odd", -0.1))), "done = -0.1 of 'odd'"),
        (Rack(lambda progress: progress(Progress("odd", float("nan")))), "done = nan of 'odd'"),
        (Rack(lambda progress: progress(Progress("odd", "half"))), "done = 'half' of 'odd'"),
        (Rack(lambda progress: progress(Progress("odd", None))), "done = None of 'odd'"),
        (Rack(lambda progress: progress(Progress(5, 0.5))), "its stage and detail are texts"),
        (Rack(lambda progress: sys.exit(0)), "its run ended the process"),
        (Rack(lambda progress: sys.exit("done")), "its run ended the process"),
        (Narrow(lambda progress: None), "it is called with (resolved, progress)"),
    ],
)
def test_a_run_that_does_something_else(place: Target, told: str) -> None:
    with pytest.raises(BadInput, match="target rack") as caught:
        run_target(place, RESOLVED, silent)
    assert told in str(caught.value)
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("answer", ["no rack here", False, 0, ValueError("no rack")])
def test_a_probe_that_answers_no_refusal(answer: object) -> None:
    with pytest.raises(BadInput, match="return None or a Refused"):
        probe_target(Rack(silent, answer))


def test_a_sound_target(recording: Recording) -> None:
    reported: list[Progress] = []

    def answer(progress: Any) -> Recording:
        progress(Progress("running", 0.5))
        return recording

    assert probe_target(Rack(answer)) is None
    assert run_target(Rack(answer), RESOLVED, reported.append) is recording
    assert reported == [Progress("running", 0.5)]
