"""Check of congestion messages without a plan, by given parameters.

Such a capture has other addresses than a plan's and payloads without numbers, so that no queue can
be reconstructed. What a message says of itself can be held against the rules all the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from orchestrator.engine.frames.address_index import UNKNOWN
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import CNM
from orchestrator.errors import BadInput
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import Registry
from traces.analysis.control_batch import distinct_rows
from traces.analysis.flow_labels import mac_text
from traces.capture import NO_TIME, Batch, open_capture
from traces.dissect import dissect, messages
from traces.oracle.captured_streams import SNAP
from traces.oracle.conformance_judge import Judgement, NodeJudged, check_rules
from traces.oracle.diagnosis import Diagnosis
from traces.oracle.feedback_quantization import LEVELS, WITHIN
from traces.oracle.node_check import Deviation, Expected, SeenFrame
from traces.oracle.rule_violation import Finding

ALGORITHM = "qcn-cp"
JUDGED = ("set_point", "weight")
"""Parameters by which a single message can be judged."""
MOST_POINTS = 1 << 12
MOST_WEIGHT = 8
"""Weights that are tried to explain a feedback."""
FEWEST = 8
"""Messages that a weight has to explain to be named."""
UNDECIDED = (
    "when it samples and which frames, and whether the queue was as it says: what it took in is "
    "not known without a plan"
)
BEHIND = 24


@dataclass
class _Point:
    judged: NodeJudged
    before: list[SeenFrame] = field(default_factory=list)


def parameters(given: Sequence[str]) -> Params:
    """The congestion point's parameters from KEY=VALUE. Raises BadInput for what is none."""
    words: dict[str, str] = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or key not in JUDGED:
            accepted = " or ".join(f"{name}=VALUE" for name in JUDGED)
            raise BadInput("--point", f"{one!r} is not accepted; {accepted} is expected")
        words[key] = value
    if missing := [name for name in JUDGED if name not in words]:
        raise BadInput("--point", f"{missing[0]} is missing: --point {missing[0]}=VALUE")
    params: type[Params] = Registry.load().find("congestion_point", ALGORITHM).params
    return params.from_table(words, "--point")


def judge_given_parameters(
    paths: Sequence[str | os.PathLike[str]], params: Params, without: frozenset[str]
) -> Judgement:
    """Judge every congestion point in the captures. Raises BadInput where there is none."""
    check_rules(without)
    points: dict[tuple[int, ...], _Point] = {}
    notes: list[str] = []
    first: int | None = None
    latest = 0
    for number, path in enumerate(paths):
        with open_capture(path) as stream:
            for batch in stream.batches():
                if first is None and (batch.time_ns != NO_TIME).any():
                    first = int(batch.time_ns[batch.time_ns != NO_TIME][0])
                latest = max(latest, int(batch.time_ns.max()) - (first or 0))
                cnms = messages(batch, dissect(batch, stream.interfaces))
                if not len(cnms):
                    continue
                found, member = distinct_rows([cnms["interface"], cnms["cpid"], cnms["source"]])
                for index, row in enumerate(found.tolist()):
                    key = (number, *row)
                    if key not in points and len(points) >= MOST_POINTS:
                        raise BadInput(
                            stream.path, f"holds more than {MOST_POINTS} congestion points"
                        )
                    if key not in points:
                        name = f"{row[1] % 2**64:016x} of {mac_text(row[2])}"
                        points[key] = _Point(NodeJudged(name, undecided=[UNDECIDED]))
                    place = (stream.interfaces[row[0]].name, stream.path)
                    mine = cnms[member == index]
                    _judge(points[key], mine, batch, place, first or 0, params, without)
            if stream.damage is not None:
                notes.append(f"{stream.path}: read up to the damage at {stream.damage}")
    if not points:
        raise BadInput(os.fspath(paths[0]), "nothing can be judged: there is no CNM in it")
    return Judgement([point.judged for point in points.values()], notes, latest)


def _judge(
    point: _Point,
    cnms: np.ndarray,
    batch: Batch,
    place: tuple[str, str],
    first: int,
    params: Params,
    without: frozenset[str],
) -> None:
    """Go on with one congestion point, unless it has departed before."""
    judged = point.judged
    if judged.finding is not None:
        return
    broken = {rule: rows for rule, rows in _broken(cnms, params).items() if rule not in without}
    index = min((int(np.argmax(rows)) for rows in broken.values() if rows.any()), default=len(cnms))
    judged.frames += index
    point.before += [_seen(cnms[row], batch, first) for row in range(max(index - 8, 0), index)]
    point.before = point.before[-8:]
    if index == len(cnms):
        return
    rule = next(name for name, rows in broken.items() if rows[index])
    what, value, why = _why(rule, cnms[index:], params)
    seen = _seen(cnms[index], batch, first)
    expected = None
    if what:
        expected = Expected(seen.frame.copy(), seen.time_ns * 1000)
        expected.frame[what] = value
    judged.finding = Finding(
        Deviation(
            node=judged.name,
            port=place[0],
            seen_at=place[0],
            path=place[1],
            expected=expected,
            seen=seen,
            what=what or "octets",
            before=list(point.before),
            expected_next=[],
            seen_next=[_seen(one, batch, first) for one in cnms[index + 1 : index + BEHIND]],
        ),
        Diagnosis(rule, why),
        None,
    )


def _levels(params: Params, offset: np.ndarray, delta: np.ndarray, weight: int) -> np.ndarray:
    """The feedback of offsets and deltas: `levels.level` for arrays."""
    set_point = int(params.set_point)  # type: ignore[attr-defined]
    limit = set_point * (2 * weight + 1)
    return np.clip(offset + weight * delta, 0, limit) * LEVELS // limit


def _misfits(params: Params, cnms: np.ndarray, weight: int) -> tuple[np.ndarray, np.ndarray]:
    """Feedback that no offset and delta within their units give, and the nearest that one does."""
    offset, delta = cnms["offset_bytes"], cnms["delta_bytes"]
    least = _levels(params, offset, delta, weight)
    most = _levels(params, offset + WITHIN[-1], delta + WITHIN[-1], weight)
    nearest = np.clip(cnms["feedback"], least, most)
    return nearest != cnms["feedback"], nearest


def _broken(cnms: np.ndarray, params: Params) -> dict[str, np.ndarray]:
    """Rules and the messages that break them, bool[n]; the plainest rule first."""
    unit = WITHIN[-1]
    set_point, weight = int(params.set_point), int(params.weight)  # type: ignore[attr-defined]
    queue = cnms["offset_bytes"] + set_point
    misfits, nearest = _misfits(params, cnms, weight)
    near = np.abs(nearest - cnms["feedback"]) <= 1
    return {
        "cp.message": cnms["version"] != 0,
        "cp.send": cnms["feedback"] == 0,
        "cp.offset": queue < -unit,
        "cp.delta": cnms["delta_bytes"] > queue + unit,
        "cp.quantise": misfits & near,
        "cp.feedback": misfits & ~near,
    }


def _why(rule: str, cnms: np.ndarray, params: Params) -> tuple[str, int, str]:
    """The differing field of a frame, its expected value, and a sentence."""
    one = cnms[0]
    weight = int(params.weight)  # type: ignore[attr-defined]
    if rule == "cp.message":
        return "", 0, f"its version is {one['version']} and not 0"
    if rule == "cp.send":
        return "", 0, "its feedback is 0, and of that no message is sent"
    if rule == "cp.offset":
        return "", 0, "the queue would be shorter than nothing"
    if rule == "cp.delta":
        return "", 0, "the queue at the sample before would be shorter than nothing"
    nearest = int(_misfits(params, cnms[:1], weight)[1][0])
    for other in range(MOST_WEIGHT + 1):
        if len(cnms) >= FEWEST and not _misfits(params, cnms, other)[0].any():
            return "feedback", nearest, f"all is as if the weight were {other}"
    return "feedback", nearest, "it is not that of its offset and delta"


def _seen(cnm: np.ndarray, batch: Batch, first: int) -> SeenFrame:
    """A message as a descriptor; addresses of strangers are not in it."""
    frame = empty_descriptors(1)[0]
    frame["kind"] = CNM
    for name in ("source", "destination", "inner"):
        frame[name] = UNKNOWN
    for name in ("feedback", "flow", "sequence", "priority"):
        frame[name] = cnm[name]
    frame["offset"], frame["delta"] = cnm["offset_bytes"], cnm["delta_bytes"]
    frame["mark"] = cnm["msdu_length"]
    row = int(cnm["row"])
    frame["length"] = batch.original[row]
    octets = np.zeros(SNAP, np.uint8)
    kept = np.frombuffer(batch.frame(row)[:SNAP], np.uint8)
    octets[: len(kept)] = kept
    time = int(cnm["time_ns"])
    return SeenFrame(frame, 0 if time == NO_TIME else time - first, octets, batch.number + row + 1)
