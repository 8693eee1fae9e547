"""Algorithms: parameters, state and kernels, for one kind of place in a node.

A kernel is a plain Python function `kernel(state, params, entity, frame, now, message) -> int`
written in the subset that numba compiles. `state` and `params` are records of the algorithm's own
fields, `entity` is the record that its kind works on (`ENTITIES`), `frame` and `message` are FRAME
records (orchestrator.engine.records), `now` is in ps. All fields are int64.

================== ========= ================================================================
kind               entity    kernels: answers (orchestrator.engine.kernel_answers)
================== ========= ================================================================
congestion_point   QUEUE     arrival: FORWARD, NOTIFY_ARRIVING, NOTIFY_HEAD,
                             NOTIFY_RANDOM_UNIT, NOTIFY_LARGEST, DROP, TRIM, LANE + priority;
                             departure: the same without TRIM and LANE, with STAMP,
                             STAMP_IF_LARGER, STAMP_IF_SMALLER; timer: NOTHING or NOTIFY_HEAD,
                             NOTIFY_RANDOM_UNIT, NOTIFY_LARGEST; probe: FORWARD
notification_point NODE      arrival: NOTHING, SEND; probe: NOTHING, REFLECT
reaction_point     LIMITER   feedback, sent, timer, start, started, ended, bound, acked, lost and
                             one for each of `timers`: NOTHING, SEND
pause              QUEUE     enqueue, dequeue, timer: NOTHING, SEND
delay_line         PORT      delay: ps on the way, LOST
traffic            FLOW      next: ps to the next frame
transport          FLOW      send: NOTHING, SEND, REQUEST_CREDIT; arrived, trimmed: NOTHING, SEND;
                             acknowledged, credited: NOTHING
receiver           NODE      flow_begins, arrived, timer: NOTHING, SEND
watchdog           QUEUE     held, timer: NOTHING
scheduler          SCHEDULER choose: a priority, 0 to 7; sent: NOTHING
buffer_management  QUEUE     limit: octets that the buffer may hold
================== ========= ================================================================

`orchestrator.kernel_contracts` says when each is called and what it may set; the page
docs/reference/algorithms.md is generated from it. `orchestrator.message_views` names the fields of
`message` for each answer.

State fields are int64 or arrays of them. One named `lfsr` is seeded from the plan, differently for
every instance; one named `lfsr_alike` alike for all instances of the algorithm. With
`per_flow=True` a congestion or notification point has a state for every flow (and one for frames of
none), and its kernels get that of the frame. The state of a receiver is that for all flows,
`flow_state(state, flow)` that of one: the same record.

A notification to a source travels as `message.kind` says: CNM (the default), RETURNED or CNP;
`feedback` (6 bits, none in a CNP) goes with it; or as a type of the plugin's own, which the
algorithm names in `sends`. On every target a message says what its octets say, no more: a CNM's
offset and delta are whole multiples of 64 octets, and what its type has no field for is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import ValidationError

from orchestrator.capability import Capability
from orchestrator.engine.answer_sets import DECLARED, answers_of
from orchestrator.engine.kernel_events import EVENTS, MOST_TIMERS
from orchestrator.engine.kernel_limits import Limits
from orchestrator.engine.records import FLOW, GRANT, LIMITER, NEVER, NODE, PORT, QUEUE, SCHEDULER
from orchestrator.engine.settable_fields import TIMERS
from orchestrator.engine.workload import Schedule
from orchestrator.plan.algorithm_params import Params
from orchestrator.plan.field_types import SLUG
from orchestrator.plan.former_names import declare_parameters, former_of
from orchestrator.plan.observables import Observed
from orchestrator.rtl_module import Rtl, problems

Kernel = Callable[..., int]
"""`kernel(state, params, entity, frame, now, message) -> int`, in what numba compiles of Python."""

ENTITIES: dict[str, np.dtype] = {
    "congestion_point": QUEUE,
    "notification_point": NODE,
    "reaction_point": LIMITER,
    "pause": QUEUE,
    "delay_line": PORT,
    "traffic": FLOW,
    "transport": FLOW,
    "receiver": NODE,
    "watchdog": QUEUE,
    "scheduler": SCHEDULER,
    "buffer_management": QUEUE,
}
PER_FLOW = ("congestion_point", "notification_point")
"""Kinds that can have a state per flow."""
NEEDED_KERNELS = {"scheduler": "choose", "buffer_management": "limit"}
"""Kinds that are nothing without one of their kernels."""
DROPPING = ("arrival", "departure")
"""Events of a congestion point whose kernels may drop the frame."""
FLOW_COUNTS = ("timeouts", "naks")
"""Fields of a flow that its transport's kernels may count: how often an answer was awaited in vain,
and negative acknowledgements that came back."""
AS_KERNELS = frozenset({Capability.KERNELS})
"""Forms of every algorithm."""
AS_VERILOG_TOO = AS_KERNELS | {Capability.VERILOG}
"""Forms of an algorithm that has a Verilog module as well."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm as a plugin contributes it. Raises ValueError when it cannot be used."""

    name: str
    kind: str
    summary: str
    params: type[Params]
    state: np.dtype
    kernels: Mapping[str, Kernel]
    forms: frozenset[Capability] = AS_KERNELS
    """Forms in which it exists; a target has to be able to run one of these."""
    per_flow: bool = False
    """True if there is a state for every flow."""
    origin: str = field(default="", compare=False)
    """Distribution that it was loaded from; the registry fills it in."""
    messages: Schedule | None = None
    """Of a traffic source: the messages that its flows carry, see orchestrator.engine.workload."""
    needs: frozenset[Capability] = frozenset()
    """Further capabilities that a target needs."""
    sends: tuple[int, ...] = ()
    """Kinds of frames that it sends and that a plugin describes (`tailback_frame_types`)."""
    programs: bool = False
    """Of a traffic source: its frames come from programs that run on the node."""
    drops: tuple[str, ...] = ()
    """Of a congestion point: the events whose kernels may drop the frame."""
    trims: bool = False
    """Of a congestion point: its kernel `arrival` may trim the frame."""
    changes_lane: bool = False
    """Of a congestion point: its kernel `arrival` may send the frame on in another lane."""
    keeps_one_stamp: bool = False
    """Of a congestion point: frames keep one stamp of all that the ports on their way would add."""
    columns: tuple[Observed, ...] = ()
    """Fields of its state that are sampled, and what metrics there are of them."""
    grants: bool = False
    """Of a pause: the neighbour sends no more than it grants, and nothing before."""
    begins: bool = False
    """Of a pause: its timer is due at the beginning; so it is of one that grants."""
    own_lane: bool = False
    """Of a pause: it holds the priorities of its buffer's lane alone, as PFC and grants do; else it
    is taken for one that holds the whole link, as PAUSE does."""
    uses_headroom: bool = False
    """Of a pause: it stops its neighbour once the buffer of an input lies in the headroom of its
    port (`queue.headroom` above 0), at a limit that buffer management moves."""
    leaves_control: bool = False
    """Of a transport: it counts what is acknowledged and lost, and the reaction point controls."""
    alters_frames: bool = False
    """Of a delay line: its kernel corrupts frames, copies them or holds them back (`message` is a
    `StageMessage`)."""
    counts: tuple[str, ...] = ()
    """Of a transport: fields of its flow that its kernels count, of FLOW_COUNTS."""
    timers: Mapping[str, Kernel] = field(default_factory=dict)
    """Of a reaction point: named timers and their kernels, in the order of `limiter.timers`."""
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Between what fields of its state lie, both included: `tailback prove` holds it to them."""
    rtl: Rtl | None = None
    """Gateware of its own: `tailback hunt --against FILE.py` holds it to the kernels."""
    former: tuple[str, ...] = ()
    """Former names, which plans may use for one release."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not SLUG.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} names no {self.kind}; a name has 1 to 63 letters, digits, '-' and "
                "'_', the first no sign"
            )
        if not isinstance(self.state, np.dtype) or self.state.names is None:
            raise TypeError(
                f"{self.name}: its state is {self.state!r:.80}; make it with record('FIELD', ...)"
            )
        self._check_params()
        declare_parameters((self.name, *self.former), former_of(self.params))
        if self.kind not in EVENTS:
            raise ValueError(f"{self.name}: kind {self.kind!r} is none of {', '.join(EVENTS)}")
        for event in self.kernels:
            if event not in EVENTS[self.kind]:
                known = ", ".join(EVENTS[self.kind])
                raise ValueError(f"{self.name}: a {self.kind} has no kernel {event!r} ({known})")
        if self.per_flow and self.kind not in PER_FLOW:
            raise ValueError(f"{self.name}: a {self.kind} has no state per flow")
        for name in self.state.names or ():
            if self.state[name].base != np.int64:
                raise ValueError(f"{self.name}: state field {name} must be int64")
            if hasattr(np.record, name):  # uncompiled kernels would be given that instead
                raise ValueError(f"{self.name}: state field {name}: numpy has that of any record")

        if (needed := NEEDED_KERNELS.get(self.kind, "")) and needed not in self.kernels:
            raise ValueError(f"{self.name}: a {self.kind} needs a kernel {needed!r}")
        self._check_drops()
        if self.keeps_one_stamp and Capability.STAMPS not in self.needs:
            raise ValueError(f"{self.name}: it keeps one stamp and does not need stamps")
        if self.alters_frames and self.kind != "delay_line":
            raise ValueError(f"{self.name}: only a delay_line alters frames")
        self._check_columns()
        self._check_timers()
        for name in self.counts:
            if self.kind != "transport" or name not in FLOW_COUNTS:
                known = " and ".join(FLOW_COUNTS)
                raise ValueError(f"{self.name}: counts {name!r}: only {known} of a transport")
        for name, (low, high) in self.bounds.items():
            if name not in (self.state.names or ()) or not low <= 0 <= high:
                raise ValueError(f"{self.name}: bounds of {name}: no field, or 0 is outside")
        if self.rtl is not None:
            every = {**self.kernels, **self.timers}
            for text in problems(self.kind, self.rtl, self.state, self.params.dtype(), every):
                raise ValueError(f"{self.name}: {text}")

    def _check_params(self) -> None:
        if not (isinstance(self.params, type) and issubclass(self.params, Params)):
            raise TypeError(f"{self.name}: {self.params!r} is no model derived from Params")
        defaults = {
            name: one.get_default(call_default_factory=True)
            for name, one in self.params.model_fields.items()
            if not one.is_required()
        }
        defaults = {name: one for name, one in defaults.items() if one != NEVER}
        try:
            self.params.model_validate(defaults)
        except ValidationError as error:
            for mistake in error.errors():
                name = ".".join(str(part) for part in mistake["loc"])
                if mistake["type"] != "missing" and name in defaults:
                    value = f"the default {defaults[name]!r}"
                    raise ValueError(f"{self.name}: {name}: {value}: {mistake['msg']}") from error

    def _check_drops(self) -> None:
        for event in self.drops:
            if self.kind != "congestion_point" or event not in DROPPING:
                known = " and ".join(DROPPING)
                raise ValueError(f"{self.name}: only {known} of a congestion_point may drop frames")
            if event not in self.kernels:
                raise ValueError(f"{self.name}: it drops frames at {event}, and has no such kernel")
        if self.trims and (self.kind != "congestion_point" or "arrival" not in self.kernels):
            raise ValueError(f"{self.name}: only arrival of a congestion_point may trim frames")
        if self.changes_lane and (self.kind != "congestion_point" or "arrival" not in self.kernels):
            raise ValueError(f"{self.name}: only arrival of a congestion_point may change lanes")

    def _check_timers(self) -> None:
        if self.timers and self.kind != "reaction_point":
            raise ValueError(f"{self.name}: only a reaction_point names timers")
        if len(self.timers) > MOST_TIMERS:
            raise ValueError(f"{self.name}: {len(self.timers)} timers, {MOST_TIMERS} at the most")

    def _check_columns(self) -> None:
        if self.columns and self.per_flow:
            raise ValueError(f"{self.name}: a state for every flow has no columns")
        for one in self.columns:
            if one.field not in (self.state.names or ()):
                raise ValueError(f"{self.name}: column {one.field} is no field of its state")
            if one.known and one.known not in (self.state.names or ()):
                raise ValueError(f"{self.name}: column {one.field}: {one.known} is no field")
            if self.state[one.field].shape:
                raise ValueError(f"{self.name}: column {one.field} is an array")

    def answers(self, event: str) -> Collection[int]:
        """Answers of a kernel that have a meaning: its event's, less those to be declared."""
        known = answers_of(self.kind, event)
        if self.kind != "congestion_point":
            return known
        undeclared = {
            "drops": event not in self.drops,
            "trims": not self.trims,
            "changes_lane": not self.changes_lane,
            "keeps_one_stamp": not self.keeps_one_stamp,
        }
        lacking = (answers for name, answers in DECLARED.items() if undeclared[name])
        return frozenset(known).difference(*lacking)

    def limits(self, event: str) -> Limits:
        """What its kernel of an event may answer, assign to and send."""
        grant = frozenset({GRANT}) if self.kind == "pause" and self.grants else frozenset()
        unserved = {TIMERS[self.kind]} if self.kind in TIMERS else set()
        unserved -= {TIMERS.get(self.kind)} if "timer" in self.kernels else set()
        unserved |= {"timers"} if self.kind == "reaction_point" and not self.timers else set()
        return Limits(
            self.answers(event), self.kind, event, frozenset(self.sends) | grant,
            frozenset(unserved), len(self.timers), self.alters_frames,
        )  # fmt: skip

    @property
    def hears_acknowledgements(self) -> bool:
        """Of a reaction point: it works with what a transport is acknowledged, from the start."""
        return self.kind == "reaction_point" and not {"acked", "lost"}.isdisjoint(self.kernels)

    def lacks(self, capabilities: frozenset[Capability]) -> list[str]:
        """Capabilities that the algorithm needs and a target with these capabilities lacks."""
        forms = [] if self.forms & capabilities else [" or ".join(sorted(self.forms))]
        of_kind = {
            "receiver": Capability.RECEIVERS,
            "scheduler": Capability.SCHEDULERS,
            "buffer_management": Capability.BUFFER_MANAGEMENT,
        }.get(self.kind)
        needs = self.needs | ({of_kind} if of_kind else set())
        if self.trims:
            needs |= {Capability.TRIMMING}
        if self.changes_lane:
            needs |= {Capability.LANES}
        if self.waits_for_credit:
            needs |= {Capability.RECEIVERS}
        return forms + sorted(needs - capabilities)

    @property
    def waits_for_credit(self) -> bool:
        """Of a transport: it needs a receiver where its flows go."""
        return self.kind == "transport" and "credited" in self.kernels

    @property
    def has_flow_states(self) -> bool:
        """True if its state has a record for every flow behind the first one."""
        return self.per_flow or self.kind == "receiver"


def _algorithm_decorator(kind: str) -> Callable[..., Algorithm]:
    def make(
        name: str,
        summary: str,
        params: type[Params],
        state: np.dtype,
        *,
        per_flow: bool = False,
        forms: frozenset[Capability] = AS_KERNELS,
        needs: frozenset[Capability] = frozenset(),
        sends: tuple[int, ...] = (),
        drops: tuple[str, ...] = (),
        trims: bool = False,
        changes_lane: bool = False,
        keeps_one_stamp: bool = False,
        columns: tuple[Observed, ...] = (),
        timers: Mapping[str, Kernel] | None = None,
        grants: bool = False,
        begins: bool = False,
        own_lane: bool = False,
        uses_headroom: bool = False,
        alters_frames: bool = False,
        bounds: Mapping[str, tuple[int, int]] | None = None,
        rtl: Rtl | None = None,
        former: tuple[str, ...] = (),
        **kernels: Kernel,
    ) -> Algorithm:
        more: dict[str, Any] = {"needs": needs, "sends": sends, "grants": grants}
        more |= {"own_lane": own_lane or grants, "begins": begins or grants}
        more |= {"drops": drops, "trims": trims, "columns": columns, "timers": timers or {}}
        more |= {"changes_lane": changes_lane, "keeps_one_stamp": keeps_one_stamp}
        more |= {"bounds": bounds or {}, "rtl": rtl, "former": former}
        more |= {"uses_headroom": uses_headroom, "alters_frames": alters_frames}
        return Algorithm(name, kind, summary, params, state, kernels, forms, per_flow, **more)

    make.__name__ = kind
    make.__doc__ = (
        f"Construct an Algorithm of kind `{kind}`. Kernels by keyword: {', '.join(EVENTS[kind])}; "
        "the other arguments are the fields of Algorithm. Raises ValueError."
    )
    return make


congestion_point = _algorithm_decorator("congestion_point")
notification_point = _algorithm_decorator("notification_point")
reaction_point = _algorithm_decorator("reaction_point")
pause = _algorithm_decorator("pause")
delay_line = _algorithm_decorator("delay_line")
traffic = _algorithm_decorator("traffic")
transport = _algorithm_decorator("transport")
receiver = _algorithm_decorator("receiver")
watchdog = _algorithm_decorator("watchdog")
scheduler = _algorithm_decorator("scheduler")
buffer_management = _algorithm_decorator("buffer_management")


def messages(
    name: str,
    summary: str,
    params: type[Params],
    schedule: Schedule,
    needs: frozenset[Capability] = frozenset(),
) -> Algorithm:
    """A traffic source whose flows carry messages of given sizes from given times on."""
    state = np.dtype([("unused", np.int64)])
    return Algorithm(name, "traffic", summary, params, state, {}, messages=schedule, needs=needs)
