"""Estimate of the frames that the sources of a plan offer, and limit on a run of so many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.errors import Problem
from orchestrator.plan.algorithm_params import Sender
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plugin_catalog import Use
from orchestrator.plan.timeline_actions import Action
from orchestrator.plan.units import format_duration

MOST_FRAMES = 10**10
"""Frames that a run's sources may make: half an hour of simulating."""


def frame_problems(
    plan: PlanModel, uses: Mapping[str, Use], actions: Sequence[Action]
) -> Iterator[Problem]:
    """More frames than a run can be waited for: what sources offer, at most what links carry.

    `uses` are those of traffic entries. Of what a timeline sets of a source the most counts.
    """
    shortest = plan.headers.options().octets
    links: dict[str, list[int]] = {}
    for link in plan.links.values():
        for end in link.ends:
            links.setdefault(end, []).append(link.rate)
    offered: dict[str, int] = {}
    carried: dict[str, int] = {}
    for name, entry in plan.traffic.items():
        use = uses.get(name)
        pairs = entry.pairs
        for source, count in Counter(source for source, _ in pairs).items():
            rates = links.get(source, [0])
            flows = count * entry.flows
            sender = Sender(
                span=max(plan.duration - entry.start, 0),
                link_rate=max(rates),
                frame=entry.frame,
                headers=plan.headers.options().octets,
                flows=flows,
                all_flows=len(pairs) * entry.flows,
            )
            made = None if use is None else _largest(use, name, sender, actions)
            whole = made is None or use is None or not use.algorithm.messages
            octets = entry.frame if whole and not _has_own_lengths(use) else shortest
            most = sum(rates) * sender.span // (8 * 10**12 * octets)
            made = most if made is None else made  # no fewer than its links carry
            offered[source] = offered.get(source, 0) + made
            carried[source] = max(carried.get(source, 0), most)
    frames = sum(min(made, carried[name]) for name, made in offered.items())
    if frames > MOST_FRAMES:
        longest = plan.duration * MOST_FRAMES // frames // 10**6 * 10**6
        accepted = (
            f"the plan's sources would send {frames} frames in that time, more than {MOST_FRAMES}; "
            f"a duration of at most {format_duration(longest)} is expected"
        )
        yield Problem("duration", format_duration(plan.duration), accepted)


def _has_own_lengths(use: Use | None) -> bool:
    """Whether frames of a source may be shorter than the plan's `frame`, as those of a capture."""
    return use is not None and use.params.frame_lengths() is not None


def _largest(use: Use, name: str, sender: Sender, actions: Sequence[Action]) -> int | None:
    """The most frames that a NIC's sources of an entry offer with any of the parameters that the
    timeline gives them; None: as many as its links carry."""
    every = [use.params]
    for action in actions:
        if action.verb == "set" and action.kind == "traffic" and action.key.split(".")[1] == name:
            field = action.key.split(".")[2]
            every.append(every[-1].changed(field, action.to, bare=True))
    found = [params.frames_offered(sender) for params in every]
    return None if None in found else max(made for made in found if made is not None)
