"""Counterfactual congestion point: messages for the same arrivals with other parameters.

The answer is open-loop: the captured sources received the messages that were really sent. It means
something up to the first moment at which a source would have received another message, plus the
time that the news takes to the source and its answer back to the queue. That moment is the
horizon.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from orchestrator.engine.frames.address_index import mac_text
from orchestrator.engine.records import CNM, PAUSE, PFC
from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan, Sink, Switch
from orchestrator.terminal.format_output import table
from traces.oracle.capture_feeder import Timing, ranks_of
from traces.oracle.conformance_judge import Settings
from traces.oracle.node_check import CLOCK_NS, predicted
from traces.oracle.port_captures import horizon_ns, node_of, read_ports

SHOWN = 20
NAMES = ("feedback", "offset", "delta", "flow", "sequence", "mark")
KINDS = {CNM: "message", PAUSE: "PAUSE", PFC: "PFC"}


@dataclass
class Counterfactual:
    """Messages of a node under the other parameters, with those of its own reference."""

    node: str
    before: np.ndarray
    """FRAME[n]: messages and pauses of the plan as it is, `due` in ps."""
    after: np.ndarray
    """FRAME[n]: those of the changed plan."""
    horizon_ps: int | None
    """Behind it the answer means nothing; None: it holds to the end."""
    reason: str

    def as_json(self) -> dict[str, Any]:
        """The messages as plain data, for --json."""
        return {
            "node": self.node,
            "horizon_s": None if self.horizon_ps is None else self.horizon_ps / 1e12,
            "reason": self.reason,
            "as_it_was": _counted(self.before, self.horizon_ps),
            "what_if": _counted(self.after, self.horizon_ps),
            "frames": [_row(one) for one in self.after],
        }


@dataclass
class Answer:
    """All switches."""

    nodes: list[Counterfactual]
    undecided: dict[str, list[str]]

    def as_json(self) -> dict[str, Any]:
        """The answer as plain data, for --json."""
        return {
            "tailback": 1,
            "nodes": [node.as_json() for node in self.nodes],
            "undecided": self.undecided,
        }


def counterfactual(
    paths: Sequence[str | os.PathLike[str]],
    resolved: ResolvedPlan,
    other: ResolvedPlan,
    settings: Settings,
) -> Answer:
    """Compute for every switch of a captured run its messages under another plan.

    Raises BadInput when the captures cannot be read as that run's, or the plans differ in what is
    connected to what.
    """
    if list(resolved.plan.ports()) != list(other.plan.ports()):
        raise BadInput("--what-if", "nodes and links have to stay as they are")
    found = read_ports(paths, resolved.plan)
    epoch = found.epoch_ns if settings.epoch_ns is None else settings.epoch_ns
    if epoch is None:
        raise BadInput(os.fspath(paths[0]), "does not say when the run began; give --epoch")
    real_time = epoch > 0
    ends = [horizon_ns(seen, epoch) for seen in found.ports.values()]
    until = min([resolved.plan.duration // 1000, *(end for end in ends if end is not None)])
    late = CLOCK_NS if settings.late_ns is None else settings.late_ns
    timing = Timing(epoch, until, real_time, late)
    answer = Answer([], {})
    for name, node in resolved.plan.nodes.items():
        if not isinstance(node, Switch):
            continue
        captured = node_of(resolved, name, found, exact_peers=not real_time)
        lacks = [lack for lack in captured.lacks if "came in" in lack or "octets" in lack]
        if lacks:
            answer.undecided[name] = lacks
            continue
        ranks, _ = ranks_of(captured, timing)
        before, after = (
            _control(predicted(one, replace(captured, outputs=[]), timing, ranks))
            for one in (resolved, other)
        )
        horizon, reason = _horizon(resolved.plan, name, before, after)
        answer.nodes.append(Counterfactual(name, before, after, horizon, reason))
    if not answer.nodes:
        lacks = [f"{name}: {line}" for name, lines in answer.undecided.items() for line in lines]
        raise BadInput(os.fspath(paths[0]), "no switch can be computed: " + "; ".join(lacks))
    return answer


def _control(sent: np.ndarray) -> np.ndarray:
    return sent[np.isin(sent["kind"], list(KINDS))]


def _horizon(
    plan: Plan, name: str, before: np.ndarray, after: np.ndarray
) -> tuple[int | None, str]:
    """Time at which the loop would have closed differently, and the reason."""
    names = ["kind", "due", "destination", *NAMES]
    count = min(len(before), len(after))
    same = np.ones(count, bool)
    for field in names:
        same &= before[field][:count] == after[field][:count]
    first = count if same.all() else int(np.argmin(same))
    if first == len(before) == len(after):
        return None, "both send the same to the end"
    one = [frames[first] for frames in (before, after) if first < len(frames)]
    change = min(one, key=lambda frame: int(frame["due"]))
    back = [
        _back(plan, way.link)
        for way in plan.directions()
        if way.receiver.node == name and not isinstance(plan.nodes[way.sender.node], Sink)
    ]
    answer = min(back, default=0)
    return (
        int(change["due"]) + answer,
        f"at {int(change['due']) / 1e12:.9f} s {mac_text(int(change['destination']))} would have "
        f"received other messages than it did, and what it sent then comes {answer / 1e6:.3f} us "
        "later at the earliest",
    )


def _back(plan: Plan, link: str) -> int:
    """The shortest time of the shortest frame over a link (ps)."""
    table = plan.links[link]
    delays = [table.delay, table.delay if table.delay_back is None else table.delay_back]
    return min(delays) + 60 * 8 * 10**12 // table.rate


def _counted(frames: np.ndarray, horizon: int | None) -> dict[str, Any]:
    within = frames if horizon is None else frames[frames["due"] < horizon]
    messages = within[within["kind"] == CNM]
    return {
        "frames": len(frames),
        "messages_before_horizon": len(messages),
        "pauses_before_horizon": len(within) - len(messages),
        "mean_feedback": float(messages["feedback"].mean()) if len(messages) else None,
    }


def _row(frame: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": KINDS[int(frame["kind"])],
        "time_s": int(frame["due"]) / 1e12,
    }
    return found | {name: int(frame[name]) for name in NAMES}


def show_counterfactual(found: Answer, console: Console) -> None:
    """Print it: the horizon first, then the messages up to there."""
    for node in found.nodes:
        until = "the end" if node.horizon_ps is None else f"{node.horizon_ps / 1e12:.9f} s"
        console.print(Text(f"{node.node}: valid up to {until}", "bold"))
        console.print(Text(f"  {node.reason}"))
        rows = []
        for name, frames in (("as it was", node.before), ("counterfactual", node.after)):
            counts = _counted(frames, node.horizon_ps)
            mean = counts["mean_feedback"]
            rows.append(
                (
                    name,
                    counts["messages_before_horizon"],
                    "-" if mean is None else f"{mean:.1f}",
                    counts["pauses_before_horizon"],
                    counts["frames"],
                )
            )
        columns = ("", "messages", "mean feedback", "pauses", "to the end, open-loop")
        console.print(table(columns, rows))
        some = [_row(frame) for frame in node.after[:SHOWN]]
        console.print(
            table(
                ("time s", "kind", *NAMES[:5]),
                [(f"{r['time_s']:.9f}", r["kind"], *(r[n] for n in NAMES[:5])) for r in some],
                title=f"the first {len(some)} of the counterfactual frames",
            )
        )
    for name, lines in found.undecided.items():
        for line in lines:
            console.print(Text(f"{name}: cannot be asked: {line}"))
