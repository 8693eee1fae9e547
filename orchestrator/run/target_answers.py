"""Answers of a target that a run relies on: its refusal, its progress reports, its recording.

A target of a third party that answers something else is refused in one sentence with its file; the
code behind it relies on these answers.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from orchestrator.errors import BadInput, TailbackError
from orchestrator.plan import ResolvedPlan
from orchestrator.progress import Report, lack_of
from orchestrator.recording import Column, Recording
from orchestrator.target import Target


def probe_target(place: Target) -> TailbackError | None:
    """The refusal of a target on this machine; None: there is none. Raises BadInput."""
    refusal: Any = place.probe()
    if refusal is None or isinstance(refusal, TailbackError):
        return refusal
    raise _mistake(place, "probe", f"returned {refusal!r:.80}; return None or a Refused")


def run_target(place: Target, resolved: ResolvedPlan, tell: Report, *session: Any) -> Recording:
    """Run a plan on a target; its recording, of sound form. Raises BadInput, and as `run` does."""

    def report(news: Any) -> None:
        if lack := lack_of(news):
            raise _mistake(place, "run", f"reported {lack}")
        tell(news)

    try:
        inspect.signature(place.run).bind(resolved, report, *session)
    except TypeError as error:
        text = f"takes {inspect.signature(place.run)}; it is called with (resolved, progress"
        more = ", session)" if session else ")"
        raise _mistake(place, "run", text + more) from error
    try:
        recording: Any = place.run(resolved, report, *session)
    except SystemExit as error:
        raise _mistake(place, "run", "ended the process; raise RunFailed instead") from error
    if lack := _lack(recording):
        raise _mistake(place, "run", f"returned {lack}")
    return recording


def _lack(recording: Any) -> str | None:
    """What a recording is that cannot be judged; None: its samples are sound."""
    if not isinstance(recording, Recording):
        return f"{recording!r:.80}; return a Recording (record_run makes one)"
    arrays = {"times_ps": recording.times_ps, "values": recording.values}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype != np.int64:
            kind = getattr(array, "dtype", type(array).__name__)
            return f"a recording whose {name} are {kind}; int64 is expected"
    if not all(isinstance(one, Column) for one in recording.columns):
        return "a recording whose columns are no Column"
    wanted = len(recording.times_ps), len(recording.columns)
    if recording.times_ps.ndim != 1 or recording.values.shape != wanted:
        return (
            f"a recording whose values have the shape {recording.values.shape}; one row for each "
            f"of its {wanted[0]} times and one column for each of its {wanted[1]} is expected"
        )
    if (np.diff(recording.times_ps) <= 0).any():
        return "a recording whose times do not rise; sort its rows"
    return None


def _mistake(place: Target, method: str, text: str) -> BadInput:
    """The refusal of a target, with the place of its method."""
    function = inspect.unwrap(getattr(type(place), method))
    code = getattr(function, "__code__", None)
    at = f"{code.co_filename}:{code.co_firstlineno}: " if code is not None else ""
    return BadInput(f"target {place.name}", f"{at}its {method} {text}")
