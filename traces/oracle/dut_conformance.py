"""Conformance of external devices (DUT) to the plan, by the captures at adjacent ports.

The reference is fed what our ports sent, and what it sends is compared with what they got. A device
takes time of its own, which no plan says: how long its frames take is in its metrics, and no
frame is too late for the oracle by what the slowest one took. Its dice are its own as well: on real
frames messages of a congestion point are judged one by one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.engine.records import NONE
from orchestrator.errors import BadInput
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.external_nodes import externals
from orchestrator.recording import PortCapture, Recording
from traces.metrics.dut_frame_matching import MatchedFrames, match_frames
from traces.oracle.conformance_judge import LATE_NS, NodeJudged, Settings, judge
from traces.pcapng import write

# Device times: when frames entered and left a device, bounded by the captures at adjacent ports.
#
# Our end takes in what has waited for it at once, and the clock of a run may stand still meanwhile.
# Frames that it saw closer together than their cable carries them are taken to have come one after
# the other at the cable's rate, and none earlier than the cable could have carried it.
#
# Which of two inputs came first no capture tells, and what agrees is taken. Frames that our ports
# sent within the time that a device takes meet in it in an order of its own. A frame that came out
# behind one of another port is taken to have gone in no earlier than that one. Nothing is moved
# beyond the moment when it began to come out, and the order of frames of one port stays: a device
# that reorders those departs.

BIT_PS = 8 * 10**12
"""Octets over a rate in bit/s, times this: picoseconds."""
STEP_PS = 1000
"""A capture's resolution."""


def with_device_times(
    captures: Sequence[PortCapture],
    facing: Mapping[str, str],
    seen: MatchedFrames,
    rates: Sequence[int],
) -> list[PortCapture]:
    """The captures with the times at a device moved so; `rates` (bit/s) of its cables, in order."""
    on_cable = seen.out.octets_on_wire * BIT_PS // np.array(rates, np.int64)[seen.out.port]
    came = _arrival_times(seen, on_cable)
    moved = _entry_times(seen, came - on_cable)
    found = []
    numbers = {ours: number for number, ours in enumerate(facing.values())}
    for capture in captures:
        number = numbers.get(f"{capture.node}.{capture.port}")
        if number is None:
            found.append(capture)
            continue
        mine = seen.into.port == number
        times = capture.times_ps.copy()
        times[seen.into.row[mine]] = moved[mine]
        here = seen.out.port == number
        times[seen.out.row[here]] = came[here]
        out = capture.outgoing
        times[out] = np.maximum.accumulate(times[out])  # those between, which came out elsewhere
        order = np.argsort(times, kind="stable")
        columns = ("times_ps", "outgoing", "lengths", "kept", "octets")
        whole = replace(capture, times_ps=times)
        found.append(replace(whole, **{name: getattr(whole, name)[order] for name in columns}))
    return found


def _arrival_times(seen: MatchedFrames, on_cable: np.ndarray) -> np.ndarray:
    """int64[n of out]: when each frame is taken to have come, whole."""
    times = seen.out.times_ps.copy()
    known = seen.partner != NONE
    gone = seen.into.times_ps[seen.partner[known]] + on_cable[known]
    times[known] = np.maximum(times[known], gone)
    for port in range(len(seen.ports)):
        mine = seen.out.port == port
        before = np.cumsum(on_cable[mine])
        times[mine] = before + np.maximum.accumulate(times[mine] - before)
    return times


def _entry_times(seen: MatchedFrames, latest_ps: np.ndarray) -> np.ndarray:
    """int64[n of into]: when each frame is taken to have gone in; `latest_ps` int64[n of out]: by
    when those had that came out."""
    times = seen.into.times_ps.copy()
    latest: dict[int, dict[int, int]] = {}
    """Port of the device that frames come out of -> port that they went in by -> the latest."""
    for row in np.flatnonzero(seen.partner != NONE).tolist():
        frame, there = int(seen.partner[row]), int(seen.out.port[row])
        here = int(seen.into.port[frame])
        others = latest.setdefault(there, {})
        before = max((time for port, time in others.items() if port != here), default=None)
        if before is not None and before >= times[frame]:
            times[frame] = max(int(times[frame]), min(before + STEP_PS, int(latest_ps[row])))
        others[here] = max(others.get(here, 0), int(times[frame]))
    return times


CONFORMS, DEPARTS, UNDECIDED = "conforms", "departs", "not followed"
IN_ORDER = frozenset({"queue.service"})
"""Rules that a frame may seem to break because inputs of the device met in another order than our
ports sent (`meeting` takes what agrees, as far as one output tells)."""


def judge_devices(resolved: ResolvedPlan, recording: Recording) -> dict[str, dict[str, Any]]:
    """Device -> what it is held to (`as`), what was found, a sentence, and the finding in full."""
    held_to = {name: node.as_ for name, node in externals(resolved.plan).items() if node.as_}
    if not held_to or not recording.captures:
        return {}
    real = recording.fidelity is not None
    found = {}
    for name, kind in held_to.items():
        if recording.apart_ps:
            text = (
                f"{name} cannot be followed: its ports were captured by clocks that agree to "
                f"{recording.apart_ps / 1e6:.0f} us and no better"
            )
            found[name] = {"as": kind, **_row(UNDECIDED, text, 0, None)}
            continue
        captures, late = recording.captures, None
        if real:
            captures, late = (
                _with_device_times(name, resolved, recording),
                _slowest_ns(name, recording),
            )
        dice = real and _has_dice(resolved, name)
        settings = Settings(late_ns=late, real_time=real, seed_known=not dice)
        with tempfile.TemporaryDirectory(prefix="tailback-") as folder:
            paths = []
            for capture in captures:
                paths.append(Path(folder) / f"{capture.node}-{capture.port}.pcapng")
                write(paths[-1], [capture], epoch_ns=recording.epoch_ns)
            judged = _judged(paths, resolved, name, settings)
        found[name] = {"as": kind, **_summary(name, kind, judged, recording, real)}
    return found


def _with_device_times(
    name: str, resolved: ResolvedPlan, recording: Recording
) -> list[PortCapture]:
    facing, plan = recording.facing[name], resolved.plan
    seen = match_frames(facing, recording.captures)
    if seen is None:
        return recording.captures
    links = {port.entity: port.link for port in plan.ports()}
    rates = [plan.links[links[port]].rate for port in facing]
    return with_device_times(recording.captures, facing, seen, rates)


def _has_dice(resolved: ResolvedPlan, name: str) -> bool:
    return any(holder.partition(".")[0] == name for holder in resolved.uses["congestion_point"])


def _slowest_ns(name: str, recording: Recording) -> int:
    """Longest latency of a frame through a device; `LATE_NS` at least."""
    seen = match_frames(recording.facing[name], recording.captures)
    if seen is None:
        return LATE_NS
    took = seen.latency_ps[seen.partner != NONE]
    return max(LATE_NS, int(took.max(initial=0)) // 1000 + 1)


def _judged(
    paths: list[Path], resolved: ResolvedPlan, name: str, settings: Settings
) -> NodeJudged | str:
    """Judgement of the device, or the reason why there is none."""
    try:
        return judge(paths, resolved, replace(settings, only=frozenset({name}))).nodes[0]
    except BadInput as none:  # no captured frame is the device's: the sentence says what lacks
        return str(none.problems[0].accepted if none.problems else none)


def _summary(
    name: str, kind: str | None, judged: NodeJudged | str, recording: Recording, real: bool
) -> dict[str, Any]:
    if isinstance(judged, str):
        return _row(UNDECIDED, f"{name} cannot be followed: {judged}", 0, None)
    finding = judged.finding
    if finding is None:
        text = f'{name} conforms to `as = "{kind}"`: {judged.frames} frames are as predicted'
        return _row(CONFORMS, text, judged.frames, None, judged.undecided)
    if real and finding.rule in IN_ORDER and not _reorders(name, recording):
        text = (
            f"{name} cannot be followed behind {finding.time_ns / 1e9:.6f} s: there two of its "
            "inputs met in another order than our ports sent, and no flow was reordered"
        )
        return _row(UNDECIDED, text, judged.frames, finding.as_json(), judged.undecided)
    expected, seen = finding.values()
    number = (finding.frames()[1] or {}).get("number")
    where = f"frame {number} of {finding.departure.seen_at}" if number else finding.departure.port
    text = (
        f'{name} departs from `as = "{kind}"` at {finding.time_ns / 1e9:.6f} s, {where}: '
        f"{finding.rule} (expected {expected}; seen {seen})"
    )
    return _row(DEPARTS, text, judged.frames, finding.as_json(), judged.undecided)


def _reorders(name: str, recording: Recording) -> bool:
    """True if some flow left the device in another order than it came."""
    from traces.metrics.dut_metrics import reordered

    seen = match_frames(recording.facing[name], recording.captures)
    return seen is not None and reordered(seen) > 0


def _row(
    said: str,
    text: str,
    frames: int,
    finding: dict[str, Any] | None,
    undecided: Sequence[str] = (),
) -> dict[str, Any]:
    return {
        "oracle": said,
        "text": text,
        "frames": frames,
        "finding": finding,
        "undecided": list(undecided),
    }
