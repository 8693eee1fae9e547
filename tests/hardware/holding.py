"""When our end held a device by PAUSE or PFC, and when frames started meanwhile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.records import PAUSE, PFC
from traces.pytest_plugin.decoded_frames import Frames

OVERHEAD = 24
"""Octets on a wire that a capture has not: preamble, FCS, the gap behind a frame."""


class Hold(NamedTuple):
    """Ps: from the first frame that holds to the instant at which the last one lets go."""

    begin: int
    end: int


def holds(sent: Frames, quantum_ps: int, priority: int | None = None) -> list[Hold]:
    """The spans in which what was `sent` held the far end; with a priority, by PFC."""
    found: list[Hold] = []
    kind = PAUSE if priority is None else PFC
    frames = sent.where(sent["kind"] == kind)
    for at, fields in zip(frames.times_ps.tolist(), frames.fields, strict=True):
        if priority is None:
            quanta = int(fields["feedback"])
        elif int(fields["mark"]) >> priority & 1:
            quanta = int(quanta_of(fields.view(np.recarray), priority))
        else:
            continue
        until = at + quanta * quantum_ps
        if found and at <= found[-1].end:
            found[-1] = Hold(found[-1].begin, until)
        elif quanta:
            found.append(Hold(at, until))
    return found


class Stall(NamedTuple):
    """A stall of our data path (ps): its span in the run's time, which is held meanwhile, and for
    how long it lasted on the clock that a device goes by."""

    begin: int
    end: int
    lasted: int


def stalls(fidelity: dict[str, Any]) -> list[Stall]:
    """The longest stalls of our side in a run; none where time is not real."""
    rows = fidelity.get("stalls", {}).get("longest", [])
    return [
        Stall(*(int(row[name] * 1e12) for name in ("run_s", "run_s", "time_s")))._replace(
            end=int((row["run_s"] + row["gone_s"]) * 1e12)
        )
        for row in rows
    ]


def sound(found: list[Hold], stood: list[Stall], bound_ps: float) -> list[Hold]:
    """The holds in which our side did not stand still for longer than a bound.

    A device goes on meanwhile: what it was told to hold runs out, and frames that it sends in time
    are captured when our side goes on.
    """
    return [
        hold
        for hold in found
        if not any(
            one.lasted > bound_ps and one.begin < hold.end + bound_ps and one.end > hold.begin
            for one in stood
        )
    ]


def starts(came: Frames, rate: int) -> np.ndarray:
    """float64[n]: when frames that came in began to be sent, at a rate (ps)."""
    return came.times_ps - (came.lengths + OVERHEAD) * 8e12 / rate


def last_start(times: np.ndarray, hold: Hold) -> float:
    """From the beginning of a hold to the last start in its first half (ps); 0: there is none."""
    middle = (hold.begin + hold.end) // 2
    mine = times[(times >= hold.begin) & (times < middle)]
    return float(mine.max() - hold.begin) if len(mine) else 0.0


def within(times: np.ndarray, hold: Hold, allowed_ps: float) -> int:
    """How many start between what is allowed behind the beginning of a hold and its end."""
    return int(((times > hold.begin + allowed_ps) & (times < hold.end)).sum())


def first_start(times: np.ndarray, hold: Hold) -> float:
    """From the end of a hold to the next start (ps); infinite where there is none."""
    mine = times[times >= hold.end]
    return float(mine.min() - hold.end) if len(mine) else np.inf
