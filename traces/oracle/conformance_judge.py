"""Judgement of a run's captures: node by node, the first deviation and its rule."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.assembly import Assembly
from orchestrator.engine.records import CNM, DATA, PAUSE, PFC
from orchestrator.errors import BadInput, Problem
from orchestrator.plan import External, Nic, ResolvedPlan, Sink
from orchestrator.plan.input_problems import near
from traces.oracle.capture_feeder import Close, Key, Ranks, Tie, Timing, key_of, ranks_of
from traces.oracle.cnm_check_unknown_seed import judge_unknown_seed
from traces.oracle.conformance_rules import RULES
from traces.oracle.diagnosis import Case, Diagnosis, diagnose
from traces.oracle.diagnosis.diagnosis_case import Watch
from traces.oracle.node_check import CLOCK_NS, Deviation, Outcome, check
from traces.oracle.port_captures import (
    Node,
    by_answers,
    by_programs,
    by_stamps,
    horizon_ns,
    node_of,
    read_ports,
)
from traces.oracle.reference_model import Variant
from traces.oracle.rtl_tolerance import RtlTiming
from traces.oracle.rule_violation import Finding

DICE = (
    "its intervals are jittered from a seed that is not known: every expiry behind the first may "
    "come at another time"
)
MOST_NUDGES = 256
"""Ties that are decided by what agrees, per node."""
TRIES = 6
"""Of the last close calls before a departure, so many are tried in the other order."""
TRIES_DRAWN = 128
"""Of a mark: whether a number was drawn for a frame shows at the next one that is marked by chance,
which may come a hundred frames later."""
MOST_ORDERS = 24
"""Of frames that came in at one nanosecond so many orders are tried: all of four."""
MOST_ARRIVALS = 3
"""Times before which the last close calls are tried, besides that of the departure."""
TRIES_CLOCKED = 24
"""A clocked device has more of them, and what one did to a byte counter is seen frames later."""
MOST_ROUNDS = 16
LATE_NS = 10_000_000
"""Accepted lateness of a captured frame of a real-time run, by default."""
IGNORED = {
    "cp.offset": {(CNM, "offset")},
    "cp.delta": {(CNM, "delta")},
    "cp.feedback": {(CNM, "feedback")},
    "cp.quantise": {(CNM, "feedback")},
    "cp.culprit": {(CNM, "destination")},
    "cp.message": {(CNM, name) for name in ("source", "priority", "inner", "mark")},
    "cp.delay": {(CNM, "time")},
    "cp.mark": {(DATA, "mark")},
    "forward.ttl": {(DATA, "hops")},
    "pause.quanta": {
        (PAUSE, "feedback"),
        *((PFC, n) for n in ("feedback", "offset", "delta", "inner")),
    },
    "pause.class": {(PFC, "mark")},
    "pause.frame": {(PAUSE, "source"), (PFC, "source")},
}
"""Fields that are not compared when a rule is switched off that concerns them alone."""


@dataclass
class NodeJudged:
    """Judgement of one node. `finding` is its first deviation."""

    name: str
    frames: int = 0
    """Captured frames that were found as predicted."""
    finding: Finding | None = None
    excused: list[Finding] = field(default_factory=list)
    """Departures from rules that are switched off."""
    undecided: list[str] = field(default_factory=list)
    """Questions that the capture cannot decide, with reasons."""
    assembly: Assembly | None = None
    """The reference after it was driven."""

    def as_json(self) -> dict[str, Any]:
        """The judgement as plain data, for --json."""
        return {
            "node": self.name,
            "frames": self.frames,
            "finding": self.finding and self.finding.as_json(),
            "excused": [one.as_json() for one in self.excused],
            "undecided": self.undecided,
        }


@dataclass
class Judgement:
    """Judgement of all nodes."""

    nodes: list[NodeJudged]
    notes: list[str]
    until_ns: int

    @property
    def findings(self) -> list[Finding]:
        """All findings in order of time."""
        found = [node.finding for node in self.nodes if node.finding is not None]
        return sorted(found, key=lambda one: one.time_ns)

    @property
    def conforming(self) -> bool:
        """No departure was found."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """The judgement as plain data, for --json."""
        first = self.findings[0].as_json() if self.findings else None
        return {
            "tailback": 1,
            "conforming": self.conforming,
            "first": first,
            "nodes": [node.as_json() for node in self.nodes],
            "notes": self.notes,
            "until_s": self.until_ns / 1e9,
        }


@dataclass(frozen=True)
class Settings:
    """Options of a judgement."""

    epoch_ns: int | None = None
    late_ns: int | None = None
    real_time: bool | None = None
    without: frozenset[str] = frozenset()
    """Rules that are switched off."""
    window_ns: int = 0
    """Time in which a clocked device acts on a frame: within it the order is the device's."""
    clocked: RtlTiming | None = None
    """Of gateware: what is known of its clocks."""
    seed_known: bool = True
    """False: the device's random seed is unknown, so that each message is judged alone."""
    only: frozenset[str] | None = None
    """The nodes that are judged; None: all."""


def judge(
    paths: Sequence[str | os.PathLike[str]],
    resolved: ResolvedPlan,
    settings: Settings | None = None,
) -> Judgement:
    """Judge captures of one run of a plan. Raises BadInput when they cannot be read as such."""
    settings = settings or Settings()
    check_rules(settings.without)
    plan = resolved.plan
    found = read_ports(paths, plan)
    epoch = found.epoch_ns if settings.epoch_ns is None else settings.epoch_ns
    if epoch is None:
        raise BadInput(
            os.fspath(paths[0]),
            "does not say when the run began, as tailback's own captures do; "
            "give it with --epoch (ns since 1970)",
        )
    real_time = epoch > 0 if settings.real_time is None else settings.real_time
    late = settings.late_ns
    if late is None:
        late = LATE_NS if real_time else CLOCK_NS
    ends = {s.port: end for s in found.ports.values() if (end := horizon_ns(s, epoch)) is not None}
    timing = Timing(
        epoch,
        plan.duration // 1000,
        real_time,
        late,
        window_ns=settings.window_ns,
        clocked=settings.clocked,
    )
    notes = list(found.notes)
    if ends:
        port = min(ends, key=lambda one: ends[one])
        notes.append(
            f"the capture at {port} was full at {ends[port] / 1e9:.6f} s: nothing is judged behind"
        )
        timing = replace(timing, until_ns=min(timing.until_ns, ends[port]))
    nodes = []
    for name, node in plan.nodes.items():
        if isinstance(node, Sink) or (settings.only is not None and name not in settings.only):
            continue
        device = isinstance(node, External)
        captured = node_of(resolved, name, found, exact_peers=device or not real_time)
        if isinstance(node, External) and node.as_ is None:
            captured.lacks.append(f"{name} is external, and the plan does not say `as` what")
        if lack := by_programs(resolved) or by_stamps(resolved) or by_answers(resolved, name):
            captured.lacks.append(lack)
        if captured.lacks:
            nodes.append(NodeJudged(name, undecided=captured.lacks))
        elif not settings.seed_known and isinstance(node, Nic):
            nodes.append(NodeJudged(name, undecided=[DICE]))
        elif not settings.seed_known:
            by_message = judge_unknown_seed(resolved, captured, timing, settings.without)
            nodes.append(NodeJudged(name, by_message.messages, undecided=by_message.undecided))
            nodes[-1].finding = by_message.finding
        else:
            nodes.append(_Judge(resolved, captured, timing, settings.without).run())
    if not any(node.frames or node.finding for node in nodes):
        problems = [f"{node.name}: {line}" for node in nodes for line in node.undecided]
        raise BadInput(os.fspath(paths[0]), "nothing can be judged: " + "; ".join(problems))
    return Judgement(nodes, notes, timing.until_ns)


def check_rules(names: Set[str]) -> None:
    """Refuse names of rules that there are not."""
    problems = [
        Problem("--without", name, near(name, list(RULES))) for name in sorted(names - set(RULES))
    ]
    if problems:
        raise BadInput("--without", problems)


class _Judge:
    def __init__(
        self, resolved: ResolvedPlan, node: Node, timing: Timing, without: frozenset[str]
    ) -> None:
        self.resolved, self.node, self.timing = resolved, node, timing
        self.without = without
        self.ranks: Ranks
        self.ranks, self.ties = ranks_of(node, timing)
        self.variants: tuple[Variant, ...] = ()
        self.ignored: frozenset[tuple[int, str]] = frozenset(
            one for rule in without for one in IGNORED.get(rule, ())
        )
        self.judged = NodeJudged(node.name)
        self.reordered = 0
        """Times that another order of frames that came in at one nanosecond was taken."""

    def run(self) -> NodeJudged:
        for _ in range(MOST_ROUNDS):
            outcome = self._decide()
            self.judged.frames, self.judged.assembly = outcome.agreed, outcome.assembly
            if outcome.departure is None:
                break
            diagnosis = self._diagnose(outcome)
            finding = self._finding(outcome, diagnosis)
            if diagnosis.rule not in self.without:
                self.judged.finding = finding
                break
            self.judged.excused.append(finding)
            if diagnosis.variant is None or diagnosis.variant in self.variants:
                self.judged.undecided.append(
                    f"behind {finding.time_ns / 1e9:.9f} s: {diagnosis.rule} is switched off, and "
                    "what the device does instead is not known"
                )
                break
            self.variants += (diagnosis.variant,)
        nudged = len(self.timing.nudges.get(self.node.name, ())) + self.reordered
        if nudged:
            window = self.timing.window_ns
            within = f"{window / 1000:g} us" if window else "one nanosecond"
            self.judged.undecided.append(
                f"the order of {nudged} frames and events of the node within {within}: it was "
                "taken as what agrees"
            )
        return self.judged

    def _check(self, timing: Timing, *more: Variant, watch: Watch | None = None) -> Outcome | None:
        return check(
            self.resolved,
            self.node,
            timing,
            (*self.variants, *more),
            watch=watch,
            ranks=self.ranks,
            ignored=self.ignored,
        )

    def _decide(self) -> Outcome:
        """Compare; where two events are closer than the clock tells apart, try both orders."""
        outcome = self._check(self.timing)
        assert outcome is not None
        for _ in range(MOST_NUDGES):
            if outcome.departure is None:
                return outcome
            better = self._with_swapped_order(outcome)
            if better is None:
                return outcome
            outcome = better
        return outcome

    def _with_swapped_order(self, outcome: Outcome) -> Outcome | None:
        name = self.node.name
        done = self.timing.nudges.get(name, frozenset())
        assert outcome.departure is not None
        known = {ordinal for ordinal, _ in done}
        by = (outcome.departure.time_ns + self.timing.window_ns) * 1000
        closes = [one for one in outcome.closes if one[0] not in known and one[1] <= by]
        ties = [one for one in outcome.ties if one[0] not in known and one[1] <= by]
        departure = outcome.departure
        tries = self._tries(closes, departure) + self._tries(ties, departure)
        moves = [{close} for close in tries]
        if (
            self.timing.window_ns == 0
        ):  # what is in step stays so: all of one time, all from then on
            calls = {*closes, *ties}
            times = dict.fromkeys(time for _, time in tries)
            moves += [{one for one in calls if one[1] == time} for time in times]
            moves += [{one for one in calls if one[1] >= time} for time in times]
        for move in moves:
            timing = replace(self.timing, nudges={name: done | move})
            other = self._check(timing)
            if other is not None and self._is_better(other, outcome):
                self.timing = timing
                return other
        return self._with_other_ranks(outcome, by // 1000)

    def _tries(self, closes: list[Close], departure: Deviation) -> list[Close]:
        """The last close calls before a deviation, and before the frame that deviates came in: a
        queue decides of a frame when it comes, and that is seen when it leaves."""
        tries = TRIES_CLOCKED if self.timing.window_ns else TRIES
        last = TRIES_DRAWN if departure.what == "mark" else tries
        found = closes[: -last - 1 : -1]
        if self.timing.window_ns == 0:
            came = self._arrivals_ps(departure)
            for entered in came:
                earlier = [one for one in closes if one[1] <= entered + CLOCK_NS * 1000]
                found += [one for one in earlier[: -tries - 1 : -1] if one not in found]
        return found

    def _arrivals_ps(self, departure: Deviation) -> list[int]:
        """When the predicted frame, and the captured one, came in, where it is known (ps)."""
        found = [int(departure.expected.frame["entered"])] if departure.expected else []
        frames = [one.frame for one in (departure.expected, departure.seen) if one is not None]
        names = {key_of(frame) for frame in frames}
        until = departure.time_ns + CLOCK_NS
        for tie in reversed(self.ties):
            tied = {key[:2] for key in tie.keys}
            if names & tied and tie.time_ns <= until and len(found) < MOST_ARRIVALS:
                found.append(tie.time_ns * 1000)
        return [came for came in found if came > 0]

    def _with_other_ranks(self, outcome: Outcome, by_ns: int) -> Outcome | None:
        """Try other places of frames that came in at one time with others."""
        assert outcome.departure is not None
        if self.timing.window_ns:
            return None
        limits = [by_ns, *(came // 1000 for came in self._arrivals_ps(outcome.departure))]
        ties = list[Tie]()
        for limit in limits:
            earlier = [one for one in self.ties if one.time_ns <= limit]
            ties += [one for one in earlier[: -TRIES - 1 : -1] if one not in ties]
        before = self.ranks
        for tie in ties:
            now = sorted(tie.keys, key=lambda key: before.get(key, math.inf))
            orders = itertools.islice(itertools.permutations(now), 1, MOST_ORDERS)
            for order in orders:
                for tied in (self._followers(tie, order), [order]):
                    places = {key: place for keys in tied for place, key in enumerate(keys)}
                    self.ranks = {**before, **places}
                    other = self._check(self.timing)
                    if other is not None and self._is_better(other, outcome):
                        self.reordered += len(tied)
                        return other
        self.ranks = before
        return None

    def _followers(self, tie: Tie, order: Sequence[Key]) -> list[list[Key]]:
        """Frames of a tie in this order, and of all later ties of the same flows in the order of
        flows: senders in step meet again and again, and keep their distance of less than a
        nanosecond."""
        flow_places = {key[0]: place for place, key in enumerate(order)}
        later = [one.keys for one in self.ties if one.time_ns >= tie.time_ns]
        return [
            sorted(keys, key=lambda key: flow_places[key[0]])
            for keys in later
            if flow_places.keys() == {key[0] for key in keys} and len(keys) == len(order)
        ]

    def _is_better(self, other: Outcome, outcome: Outcome) -> bool:
        """True if more agrees. The other order moves predictions by the window at most, so a gain
        within the window proves nothing."""
        more = other.reached_ns - outcome.reached_ns
        moved = max(self.timing.window_ns, CLOCK_NS)
        return more > moved or (more > 0 and other.agreed > outcome.agreed)

    def _diagnose(self, outcome: Outcome) -> Diagnosis:
        departure = outcome.departure
        assert departure is not None
        return diagnose(
            Case(
                self.resolved,
                departure,
                outcome.reached_ns,
                max(self.timing.late_ns, CLOCK_NS),
                lambda variant, watch: self._check(self.timing, variant, watch=watch),
                self._state_at,
            )
        )

    def _state_at(self, time_ns: int, watch: Watch | None) -> Outcome:
        """The unconditioned reference, up to a time."""
        state = check(
            self.resolved,
            replace(self.node, outputs=[]),
            replace(self.timing, until_ns=time_ns),
            self.variants,
            watch=watch,
            ranks=self.ranks,
        )
        assert state is not None
        return state

    def _finding(self, outcome: Outcome, diagnosis: Diagnosis) -> Finding:
        departure = outcome.departure
        assert departure is not None
        return Finding(departure, diagnosis, self._trace(outcome))

    def _trace(self, outcome: Outcome) -> Any:
        """States of the reference before the deviation: limiter or queue."""
        departure = outcome.departure
        assert departure is not None
        watch = watched(self.resolved, outcome, departure)
        if watch is None:
            return None
        timing = replace(self.timing, until_ns=departure.time_ns + 1_000_000)
        again = self._check(timing, watch=watch)
        return None if again is None else (watch[0], again.trace)


def watched(resolved: ResolvedPlan, outcome: Outcome, departure: Any) -> Watch | None:
    """The limiter or the queue that a departure is about."""
    world, indices = outcome.assembly.world, outcome.assembly.indices
    one = departure.expected or departure.seen
    if departure.node in resolved.plan.limiters():
        flow = int(one.frame["flow"])
        if flow < 0:
            return None
        row = int(world.flows[flow].limiter)
        if row < 0:
            first = world.nodes[indices.nodes[departure.node]]
            row = int(first.first_limiter) if first.limiters else -1
        return None if row < 0 else ("limiters", row)
    holders = resolved.uses["congestion_point"] | resolved.uses["pause"]
    mine = [h for h in holders if indices.port_of[h].node == departure.node]
    names = [name for holder in mine for name in indices.buffers.get(holder, [])]
    rows = [indices.queues[name] for name in names]
    busiest = max(rows, key=lambda row: int(world.queues["bytes_max"][row]), default=None)
    return None if busiest is None else ("queues", busiest)
