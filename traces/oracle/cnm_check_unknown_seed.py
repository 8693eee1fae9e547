"""Check of congestion messages one by one, when the random seed of the device is unknown.

The queue is reconstructed from what came in and what the plan says of the port; a message is held
against the queue that its sampled frame met, and against the message before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from orchestrator.assembly.route_tables import ports_by_address
from orchestrator.engine.frames import frame_layout
from orchestrator.engine.records import CNM, DATA
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.plugin_catalog import Use
from traces.oracle import reference_driver
from traces.oracle.capture_feeder import Feeder, Timing, key_of, ranks_of
from traces.oracle.captured_streams import Reader, frame_stream, merged
from traces.oracle.diagnosis import Diagnosis
from traces.oracle.feedback_quantization import SAMPLE_BASE, SAMPLE_INTERVALS, fits, level
from traces.oracle.message_departure_times import PortTimes, times_of
from traces.oracle.node_check import CLOCK_NS, Deviation, Expected, SeenFrame
from traces.oracle.port_captures import Node
from traces.oracle.reference_model import build
from traces.oracle.rule_violation import Finding

JITTER = (85, 115)
"""Per cent of an interval."""
EVEN = 24
"""So many intervals in a row that are as in the table are not spread: a frame of 1500 octets is at
most 0.27 of the width of the spread, and 0.27^24 is one in 10^13."""
FIELDS = {"set_point", "weight", "sample_base", "counts"}


@dataclass
class SwitchJudged:
    """Judgement of one switch."""

    messages: int = 0
    """Messages that break no rule."""
    finding: Finding | None = None
    undecided: list[str] = field(default_factory=list)


@dataclass
class Sampled:
    """A captured message with what the reference says of the frame that it is about."""

    seen: SeenFrame
    place: tuple[str, str, str]
    """Port, where it was seen, file."""
    queue: int
    """Octets that the sampled frame met."""
    octets: int
    """Octets that were enqueued up to that frame, the frame included."""
    frame: int
    """Octets of that frame."""
    source: int
    """Source of the frame."""
    at_ps: int
    due_ps: int | None = None
    """Expected capture time of the message; None: unknown for its port."""


def judge_unknown_seed(
    resolved: ResolvedPlan, node: Node, timing: Timing, without: frozenset[str]
) -> SwitchJudged:
    """Judge the messages of a switch's congestion points by themselves."""
    judged = SwitchJudged()
    for holder, use in resolved.uses["congestion_point"].items():
        port = [p for p in resolved.plan.ports() if holder in (p.entity, p.input)]
        if not port or port[0].node != node.name:
            continue
        lack = _obstacle(use, holder)
        if lack:
            judged.undecided.append(lack)
            continue
        samples, unknown = _samples(resolved, node, timing, holder)
        if unknown:
            judged.undecided.append(
                f"{unknown} messages at {holder} are about frames that were not captured"
            )
        if any(one.due_ps is None for one in samples):
            judged.undecided.append(
                f"{holder}: whether its messages are late: a port was paused, or its link changes"
            )
        finding = _first(samples, use, node.name, without, judged, max(timing.late_ns, CLOCK_NS))
        if finding is not None and (
            judged.finding is None or finding.time_ns < judged.finding.time_ns
        ):
            judged.finding = finding
    judged.undecided.append(
        "which frames are sampled, and whether a sample without congestion was silent: the seed "
        "of the jitter is not known"
    )
    return judged


def _obstacle(use: Use, holder: str) -> str:
    params = use.params
    if not set(type(params).model_fields) >= FIELDS:
        return f"{holder}: {use.algorithm.name} is not QCN"
    if getattr(params, "sampling", "arrival") != "arrival":
        return f"{holder}: which frame's arrival made the sample is not in its messages"
    if holder.endswith("/in"):
        return f"{holder}: only queues before outputs are judged without a seed"
    return ""


def _samples(
    resolved: ResolvedPlan, node: Node, timing: Timing, holder: str
) -> tuple[list[Sampled], int]:
    """Messages of one congestion point in order of sampling; how many are about unknown frames."""
    quiet = replace(resolved, uses=resolved.uses | {"congestion_point": {}})
    built = build(quiet, node.name)
    assert built is not None
    row = built.indices.queues[built.indices.buffers[holder][0]]
    sender = built.indices.port_address(built.indices.port_of[holder].entity)
    queue = built.world.queues[row]
    ways = ports_by_address(built.world, built.indices.nodes[node.name])
    way = built.indices.port_rows[built.indices.port_of[holder].entity]
    params = resolved.uses["congestion_point"][holder].params
    messages = _messages(node, timing, sender)
    wanted = {key_of(seen.frame): (seen, place) for seen, place in messages}
    found: list[Sampled] = []
    total = 0

    def met(times: np.ndarray, frames: np.ndarray, depths: np.ndarray) -> None:
        nonlocal total
        data = (frames["kind"] == DATA) & (ways[frames["destination"]] == way)
        if params.counts == "enqueued":  # type: ignore[attr-defined]
            data &= depths[:, 0] + frames["length"] <= queue.capacity
        for index in np.flatnonzero(data):
            total += int(frames["length"][index])
            key = key_of(frames[index])
            if key in wanted:
                seen, place = wanted[key]
                length = int(frames["length"][index])
                at = int(times[index])
                source = int(frames["source"][index])
                found.append(Sampled(seen, place, int(depths[index, 0]), total, length, source, at))

    feeder = Feeder(built, replace(node, outputs=[]), timing, ranks_of(node, timing)[0])
    feeder.state[reference_driver.MET] = row
    feeder.inputs_met = met
    feeder.run(lambda sent, wires, last: None)
    _set_due(found, {place.port: times_of(place, built, timing) for place in node.outputs})
    return found, len(messages) - len(found)


def _set_due(samples: list[Sampled], ports: dict[str, PortTimes | None]) -> None:
    for one in samples:
        times = ports[one.place[0]]
        if times is not None:
            length = int(one.seen.frame["length"])
            one.due_ps = times.due_ps(length, one.at_ps, one.seen.time_ns * 1000)


def _messages(
    node: Node, timing: Timing, sender: int
) -> list[tuple[SeenFrame, tuple[str, str, str]]]:
    """Captured messages of one congestion point, by its address."""
    found = []
    for place in node.outputs:
        reader = Reader(frame_stream(place, timing.epoch_ns, timing.until_ns))
        for seen, _ in merged([reader]):
            frames = seen.frames
            for row in np.flatnonzero((frames["kind"] == CNM) & (frames["source"] == sender)):
                one = SeenFrame(
                    frames[row].copy(),
                    int(seen.times_ns[row]),
                    seen.octets[row].copy(),
                    int(seen.numbers[row]),
                )
                found.append((one, (place.port, place.seen_at, place.path)))
    return sorted(found, key=lambda pair: pair[0].time_ns)


def _first(
    samples: list[Sampled],
    use: Use,
    node: str,
    without: frozenset[str],
    judged: SwitchJudged,
    late_ns: int,
) -> Finding | None:
    """The first message that breaks a rule."""
    params = use.params
    before: Sampled | None = None
    exact = 0
    for one in samples:
        due_ps = one.seen.time_ns * 1000
        rule, why, wanted = _addressed(one, without)
        if not rule and "cp.delay" not in without and one.due_ps is not None:
            apart = one.seen.time_ns - one.due_ps // 1000
            if apart > late_ns:
                rule, why, due_ps = "cp.delay", f"it leaves {apart / 1000:.3f} us late", one.due_ps
        if not rule:
            rule, why, wanted = _broken(one, before, params, without)
        if before is not None and _adjacent(one, before, params):
            exact = exact + 1 if _is_exact(one, before, params) else 0
            if exact >= EVEN and not rule and "cp.jitter" not in without:
                rule, why = "cp.jitter", f"{exact} intervals in a row are not spread at all"
        if rule:
            return _finding(one, node, rule, why, wanted, due_ps)
        judged.messages += 1
        before = one
    return None


def _addressed(one: Sampled, without: frozenset[str]) -> tuple[str, str, dict[str, int]]:
    """True if the message goes to the source of the frame that it is about."""
    if int(one.seen.frame["destination"]) == one.source or "cp.culprit" in without:
        return "", "", {}
    why = "its address is not that of the sampled frame's source"
    return "cp.culprit", why, {"destination": one.source}


def _broken(
    one: Sampled, before: Sampled | None, params: object, without: frozenset[str]
) -> tuple[str, str, dict[str, int]]:
    """Rule, reason and what should be, or an empty rule."""
    frame = one.seen.frame
    set_point, weight = params.set_point, params.weight  # type: ignore[attr-defined]
    unit = frame_layout.CNM_UNIT
    offset = (one.queue - set_point) // unit * unit
    if int(frame["offset"]) != offset and "cp.offset" not in without:
        flipped = abs(int(frame["offset"]) + offset) <= unit
        why = "its sign is the other one" if flipped else "it is not that of the queue at the frame"
        return "cp.offset", why, {"offset": offset}
    if before is not None and _adjacent(one, before, params):
        delta = (one.queue - before.queue) // unit * unit
        if int(frame["delta"]) != delta and "cp.delta" not in without:
            return "cp.delta", "it is not the growth since the message before", {"delta": delta}
    at = int(frame["offset"]), int(frame["delta"])
    if not fits(set_point, weight, *at, int(frame["feedback"])):
        value = level(set_point, weight, *at)
        apart = abs(value - int(frame["feedback"]))
        rule = "cp.quantise" if apart <= 1 else "cp.feedback"
        if rule not in without:
            return rule, "it is not that of offset and delta", {"feedback": value}
    if before is not None and "cp.interval" not in without:
        gone = one.octets - before.octets
        least = _interval(before, params) * JITTER[0] // 100
        if gone < least:
            return "cp.interval", f"{gone} octets since the message before, at least {least}", {}
        most = _interval(before, params) * JITTER[1] // 100 + one.frame
        if _adjacent(one, before, params) and gone > most:
            return "cp.interval", f"{gone} octets since the message before, at most {most}", {}
    return "", "", {}


def _interval(before: Sampled, params: object) -> int:
    base: int = params.sample_base  # type: ignore[attr-defined]
    return SAMPLE_INTERVALS[int(before.seen.frame["feedback"]) >> 3] * base // SAMPLE_BASE


def _adjacent(one: Sampled, before: Sampled, params: object) -> bool:
    """No silent sample can lie between: the interval behind it would be the longest one."""
    base: int = params.sample_base  # type: ignore[attr-defined]
    least = (_interval(before, params) + base) * JITTER[0] // 100
    return one.octets - before.octets < least


def _is_exact(one: Sampled, before: Sampled, params: object) -> bool:
    """The sample came with the first frame behind the interval of the table."""
    over = one.octets - before.octets - _interval(before, params)
    return 0 < over <= one.frame


def _finding(
    one: Sampled, node: str, rule: str, why: str, wanted: dict[str, int], due_ps: int
) -> Finding:
    expected = one.seen.frame.copy()
    for name, value in wanted.items():
        expected[name] = value
    port, seen_at, path = one.place
    is_late = due_ps < one.seen.time_ns * 1000
    what = "time" if is_late else next(iter(wanted), "frame")
    return Finding(
        Deviation(
            node=node,
            port=port,
            seen_at=seen_at,
            path=path,
            expected=Expected(expected, due_ps) if wanted or is_late else None,
            seen=one.seen,
            what=what,
            before=[],
            expected_next=[],
            seen_next=[],
        ),
        Diagnosis(rule, why),
        None,
    )
