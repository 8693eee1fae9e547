"""Hypothesis strategies that draw small plans: two to four nodes, a fraction of a millisecond.

Algorithms are those that are installed, with parameters drawn from what their models declare, so
that a third party's are drawn as well. Not all that is drawn is a valid plan: who runs it looks.
What is simple stands first in every choice, since hypothesis shrinks towards that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from hypothesis import strategies as st

from orchestrator.algorithm import Algorithm
from orchestrator.plan.algorithm_params import Loaded, Params
from orchestrator.plan.field_types import LONGEST_FRAME
from orchestrator.plan.plugin_catalog import tables
from orchestrator.plan.toml_text import parse

Table = dict[str, Any]
Scheme = dict[str, list[Table]]
"""Kind -> tables of algorithms that are used together."""

US = 10**6
RATES = st.sampled_from([10**9, 10**8, 999_999_937, 10**10])
DELAYS = st.sampled_from([0, 1, US, 5 * US + 7, 50 * US])
LENGTHS = st.sampled_from([1500, 70, 71, 733, LONGEST_FRAME])
PRIORITIES = st.sampled_from([0, 3, 7])
BUFFERS = st.one_of(st.sampled_from([150_000, 10_000, 3_000]), st.integers(1_500, 60_000))
TOGETHER = (
    "congestion_point", "reaction_point", "notification_point", "receiver", "transport", "pause"
)  # fmt: skip
"""Kinds of algorithms that make a scheme."""
OF_SWITCHES = ("congestion_point", "pause", "watchdog", "buffer_management")
"""Kinds of algorithms that only switches have."""
WIDEST = 10**15
"""Bound of a parameter whose model names none."""
SHAPES: tuple[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], ...] = (
    (("h1", "s1", "d"), (("h1", "s1"), ("s1", "d"))),
    (("h1", "h2", "s1", "d"), (("h1", "s1"), ("h2", "s1"), ("s1", "d"))),
    (("h1", "h2", "s1"), (("h1", "s1"), ("h2", "s1"))),
    (("h1", "s1", "s2", "d"), (("h1", "s1"), ("s1", "s2"), ("s2", "d"))),
    (("h1", "h2", "s1", "s2"), (("h1", "s1"), ("s1", "s2"), ("h2", "s2"))),
    (("h1", "s1", "s2", "d"), (("h1", "s1"), ("s1", "s2"), ("s1", "s2"), ("s2", "d"))),
    (("h1", "d"), (("h1", "d"),)),
)
"""Nodes (h: NIC, s: switch, d: sink) and links between them."""


class PlanDrawer:
    """Draws plans with the algorithms of a registry; `wanted` are in every plan."""

    def __init__(
        self,
        algorithms: Sequence[Algorithm],
        wanted: Sequence[Algorithm] = (),
        schemes: Sequence[Scheme] = (),
    ) -> None:
        self._wanted = list(wanted)
        self.schemes = [] if wanted else list(schemes)
        self._of: dict[str, list[Algorithm]] = {}
        for one in algorithms:
            if not one.programs and not _needs_a_file(one.params):
                self._of.setdefault(one.kind, []).append(one)

    @property
    def plans(self) -> st.SearchStrategy[Table]:
        """Tables of plans, numbers in base units."""
        return _plans(self)

    def use(
        self, kind: str, chance: int = 2, scheme: Scheme | None = None, **traits: bool
    ) -> st.SearchStrategy[Table | None]:
        """An algorithm of that kind with parameters, or none: once in `chance` times one; that of
        a scheme, where it has one, as it stands or with some parameters drawn; else one that has,
        or lacks, some traits."""
        if scheme is not None and (written := scheme.get(kind)):
            return st.sampled_from(written).flatmap(self._varied(kind))
        known = self.named(kind, **traits)
        if not known:
            return st.none()
        if self.wants(kind):
            return st.sampled_from(known).flatmap(uses)
        some = st.sampled_from(known).flatmap(uses)
        return st.integers(0, chance - 1).flatmap(lambda n: some if n == chance - 1 else st.none())

    def _varied(self, kind: str) -> Callable[[Table], st.SearchStrategy[Table]]:
        def vary(table: Table) -> st.SearchStrategy[Table]:
            algorithm = self.algorithm_named(kind, table["plugin"])
            if algorithm is None:
                return st.just(table)
            return st.one_of(st.just(table), uses(algorithm).map(lambda drawn: {**table, **drawn}))

        return vary

    def wants(self, kind: str, **traits: bool) -> bool:
        """True if one of that kind, with some traits, has to be in every plan."""
        return any(one.kind == kind and _has(one, traits) for one in self._wanted)

    def named(self, kind: str, **traits: bool) -> list[Algorithm]:
        """Those of a kind that have, or lack, some traits."""
        known = [one for one in self._wanted if one.kind == kind] or self._of.get(kind, [])
        return [one for one in known if _has(one, traits)]

    def algorithm_named(self, kind: str, name: str) -> Algorithm | None:
        """The algorithm of that kind and name."""
        return next((a for a in self._of.get(kind, []) if a.name == name), None)


def _has(one: Algorithm, traits: dict[str, bool]) -> bool:
    return all(bool(getattr(one, name)) == value for name, value in traits.items())


def schemes_of(plans: Iterable[Path]) -> list[Scheme]:
    """Schemes of algorithms that plans use together, kind by kind: congestion points answer to the
    reaction points that belong to them."""
    found: list[Scheme] = []
    for path in plans:
        scheme: Scheme = {}
        for kind, _, table in tables(parse(str(path), path.read_text("utf-8"))):
            whole = kind in TOGETHER and "plugin" in table and "{" not in str(list(table.values()))
            if whole and table not in scheme.get(kind, []):
                scheme.setdefault(kind, []).append(table)
        if "reaction_point" in scheme and scheme not in found:
            found.append(scheme)
    return found


def _needs_a_file(params: type[Params]) -> bool:
    return any(
        isinstance(mark, Loaded)
        for field in params.model_fields.values()
        for mark in field.metadata
    )


def uses(algorithm: Algorithm) -> st.SearchStrategy[Table]:
    """A plan's table of an algorithm, some of its parameters set."""
    given, optional = {}, {}
    for name, field in algorithm.params.model_fields.items():
        values = _values(field)
        if field.is_required():
            given[name] = values
        else:
            optional[name] = values
    start: dict[str, st.SearchStrategy[Any]] = {"plugin": st.just(algorithm.name), **given}
    return st.fixed_dictionaries(start, optional=optional).flatmap(_thinned(given))


def _thinned(given: Table) -> Any:
    """Half of the plans leave most parameters as they are: all at once are seldom valid."""

    def thin(table: Table) -> st.SearchStrategy[Table]:
        free = [key for key in table if key != "plugin" and key not in given]
        kept = st.lists(st.sampled_from(free), max_size=3) if free else st.just([])
        return kept.map(
            lambda names: {k: v for k, v in table.items() if k not in free or k in names}
        )

    return thin


def _values(field: Any) -> st.SearchStrategy[Any]:
    """Values of one parameter, within its declared range."""
    kind = field.annotation
    if kind is bool:
        return st.booleans()
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    low, high = _bounds(field)
    default = None if field.is_required() else field.default
    if kind is Fraction:
        near = [low, (low + high) / 2, high] + ([default] if default is not None else [])
        return st.sampled_from([str(Fraction(one).limit_denominator(1000)) for one in near])
    low, high = int(low), int(high)
    spots = {low, low + 1, high, 1, 2, 64, 1500, 3000, 20_000, 10**6, 30 * 10**6, 10**8, 10**9}
    if isinstance(default, int):
        spots |= {default, default // 2, default // 100, 2 * default, default + 1}
    inside = sorted(spot for spot in spots if low <= spot <= high)
    return st.one_of(st.sampled_from(inside), st.integers(low, high))


def _bounds(field: Any) -> tuple[Any, Any]:
    low: Any = 0
    high: Any = WIDEST
    step = 0 if field.annotation is Fraction else 1
    for mark in field.metadata:
        if isinstance(mark, Ge):
            low = mark.ge
        elif isinstance(mark, Gt):
            low = cast(Any, mark.gt) + step
        elif isinstance(mark, Le):
            high = mark.le
        elif isinstance(mark, Lt):
            high = cast(Any, mark.lt) - step
    return low, max(low, high)


def _put(table: Table, key: str, value: Any) -> None:
    """Set a key where there is something to set."""
    if value is not None:
        table[key] = value


def _of_schemes(schemes: Sequence[Scheme]) -> st.SearchStrategy[Scheme | None]:
    """One of them in every other plan."""
    none: st.SearchStrategy[Scheme | None] = st.none()
    return st.one_of(none, st.sampled_from(schemes)) if schemes else none


@st.composite
def _plans(draw: st.DrawFn, drawer: PlanDrawer) -> Table:
    scheme = draw(_of_schemes(drawer.schemes))
    names, pairs = draw(st.sampled_from(SHAPES))
    switched = [name for name in names if name.startswith("s")]
    if not switched and any(map(drawer.wants, OF_SWITCHES)):
        names, pairs = SHAPES[0]
        switched = ["s1"]
    plan: Table = {
        "name": "hunted",
        "seed": draw(st.integers(0, 99)),
        "duration": draw(st.sampled_from([100, 30, 300])) * US,
        "sample_interval": 20 * US,
        "nodes": {},
        "links": {},
        "traffic": {},
    }
    if draw(st.integers(0, 3)) == 3 or drawer.wants("scheduler"):
        plan["priorities"] = "separate"
        plan["more_priorities"] = [1]
    for number, pair in enumerate(pairs):
        plan["links"][f"l{number}"] = _link(draw, drawer, list(pair))
    for name in names:
        kind = {"h": "nic", "s": "switch", "d": "sink"}[name[0]]
        node: Table = {"kind": kind}
        if kind == "switch":
            _switch(draw, drawer, node, scheme)
        elif kind == "nic":
            _nic(draw, drawer, node, scheme)
        if kind != "switch":
            _put(node, "notification_point", draw(drawer.use("notification_point", 4, scheme)))
            _put(node, "receiver", draw(drawer.use("receiver", 4, scheme)))
        elif draw(st.integers(0, 5)) == 5:
            _put(node, "notification_point", draw(drawer.use("notification_point", 1)))
        if kind == "nic" and "host_queues" not in node and draw(st.integers(0, 3)) == 3:
            _put(node, "flow_scheduler", draw(drawer.use("scheduler", 1)))
        elif kind != "sink" and "priorities" in plan:
            _put(node, "scheduler", draw(drawer.use("scheduler")))
        plan["nodes"][name] = node
    hosts = [name for name in names if name.startswith("h")]
    ends = [name for name in names if not name.startswith("s")]
    for number in range(draw(st.integers(1, 2))):
        source = draw(st.sampled_from(hosts))
        target = draw(st.sampled_from([name for name in ends if name != source]))
        plan["traffic"][f"t{number}"] = _entry(draw, drawer, plan, source, target, scheme)
    steps = draw(st.integers(0, 3))
    if steps == 3:
        plan["timeline"] = timeline(draw, plan)
    return plan


def _link(draw: st.DrawFn, drawer: PlanDrawer, ends: list[str]) -> Table:
    link: Table = {"ends": ends, "rate": draw(RATES)}
    if draw(st.booleans()):
        link["delay"] = draw(DELAYS)
    extra = draw(st.integers(0, 7))
    if extra == 7:
        link["overhead"] = 20
    elif extra == 6:
        link["buffer"] = draw(st.integers(1_500, 20_000))
    elif extra == 5 or drawer.wants("delay_line"):
        _put(link, "delay_line", draw(drawer.use("delay_line", 1)))
    elif extra == 4:
        drawn = [draw(drawer.use("delay_line", 1)) for _ in range(draw(st.integers(1, 3)))]
        _put(link, "delay_line", [stage for stage in drawn if stage is not None] or None)
    return link


def _switch(draw: st.DrawFn, drawer: PlanDrawer, node: Table, scheme: Scheme | None) -> None:
    if draw(st.booleans()):
        node["buffer"] = draw(BUFFERS)
    if draw(st.booleans()):
        node["service_rate"] = draw(st.sampled_from([10**8, 10**9, 10**7]))
    _put(node, "congestion_point", draw(drawer.use("congestion_point", 2, scheme)))
    _put(node, "pause", draw(drawer.use("pause", 3, uses_headroom=False)))
    _put(node, "watchdog", draw(drawer.use("watchdog", 5)))
    extra = draw(st.integers(0, 5))
    shares = drawer.wants("buffer_management") or drawer.wants("pause", uses_headroom=True)
    if extra >= 4 or shares:
        inputs: Table = {"buffer": draw(BUFFERS)}
        if draw(st.booleans()):
            inputs["hold_until_departure"] = True
        _put(inputs, "pause", draw(drawer.use("pause", uses_headroom=False)))
        if draw(st.integers(0, 3)) == 3 or shares:
            inputs["shared_memory"] = draw(st.integers(10_000, 60_000))
            _buffer_management(draw, drawer, node, inputs)
        _put(inputs, "congestion_point", draw(drawer.use("congestion_point", 3)))
        node["inputs"] = inputs
    elif extra == 3:
        node["spread"] = draw(st.sampled_from(["flows", "frames"]))
        if draw(st.booleans()):
            node["reassembly"] = {"buffer": draw(BUFFERS), "timeout": draw(DELAYS) + US}
    elif extra == 2:
        node["forwards_by"] = "ip"


def _buffer_management(draw: st.DrawFn, drawer: PlanDrawer, node: Table, inputs: Table) -> None:
    """Limits of outputs, of inputs, and headroom with a pause that uses it."""
    _put(node, "buffer_management", draw(drawer.use("buffer_management")))
    follows = draw(st.booleans()) or drawer.wants("pause", uses_headroom=True)
    chance = 1 if follows else 2
    _put(inputs, "buffer_management", draw(drawer.use("buffer_management", chance)))
    pause = draw(drawer.use("pause", 1, uses_headroom=True)) if follows else None
    if pause is not None and "buffer_management" in inputs:
        inputs["pause"] = pause
        inputs["headroom"] = draw(BUFFERS)


def _nic(draw: st.DrawFn, drawer: PlanDrawer, node: Table, scheme: Scheme | None) -> None:
    _put(node, "reaction_point", draw(drawer.use("reaction_point", 2, scheme)))
    if "reaction_point" in node and draw(st.booleans()):
        node["reaction_points"] = draw(st.integers(0, 2))
    if draw(st.booleans()):
        node["host_queue"] = draw(st.integers(1_500, 20_000))
    if draw(st.integers(0, 3)) == 3:
        node["reaction_time"] = draw(DELAYS)
    if draw(st.integers(0, 3)) == 3:
        node["limiter"] = {"depth": draw(st.sampled_from([3_000, 64, 1_500, 20_000]))}
    if draw(st.integers(0, 5)) == 5:
        node["host_queues"] = "shared"


def _entry(
    draw: st.DrawFn,
    drawer: PlanDrawer,
    plan: Table,
    source: str,
    target: str,
    scheme: Scheme | None,
) -> Table:
    """Traffic from one node to another: with a transport if a source's reaction point uses
    acknowledgements, or by chance."""
    point = plan["nodes"][source].get("reaction_point")
    found = drawer.algorithm_named("reaction_point", point["plugin"]) if point else None
    hears = found is not None and found.hears_acknowledgements
    carried = hears or drawer.wants("transport") or draw(st.integers(0, 3)) == 3
    entry: Table = {"from": source, "to": target}
    if carried:
        sources = [one for one in drawer.named("traffic") if one.messages is not None]
        carriers = drawer.named("transport", leaves_control=True) if hears else []
        entry |= draw(st.sampled_from(sources).flatmap(uses))
        carriers = carriers or drawer.named("transport")
        of_scheme = drawer.use("transport", 1, scheme) if scheme and "transport" in scheme else None
        if of_scheme is None:
            of_scheme = st.sampled_from(carriers).flatmap(uses)
        entry["transport"] = draw(of_scheme)
        if "receiver" not in plan["nodes"][target] and draw(st.booleans()):
            _put(plan["nodes"][target], "receiver", draw(drawer.use("receiver", 1)))
    else:
        cbr = drawer.algorithm_named("traffic", "cbr")
        plain = cbr is not None and not drawer.wants("traffic") and draw(st.integers(0, 2)) < 2
        if plain:
            entry |= {"plugin": "cbr", "rate": draw(RATES)}
        else:
            entry |= draw(st.sampled_from(drawer.named("traffic")).flatmap(uses))
    if draw(st.booleans()):
        entry["frame"] = draw(LENGTHS)
    if draw(st.booleans()):
        entry["priority"] = draw(PRIORITIES)
    if draw(st.integers(0, 3)) == 3:
        entry["flows"] = 2
    if "flow_scheduler" in plan["nodes"][source] and draw(st.booleans()):
        entry["flow_class"] = draw(PRIORITIES)
    return entry


def timeline(draw: st.DrawFn, plan: Table) -> list[Table]:
    """Up to three steps: a link that is cut or changed, traffic that stops or begins."""
    link = st.sampled_from(sorted(plan["links"]))
    traffic = st.sampled_from(sorted(plan["traffic"]))
    steps: list[st.SearchStrategy[Table]] = [
        st.builds(lambda name: {"stop": name}, traffic),
        st.builds(lambda name: {"start": name}, traffic),
        st.builds(lambda name: {"cut": name}, link),
        st.builds(lambda name: {"mend": name}, link),
        st.builds(lambda name, to: {"set": f"links.{name}.rate", "to": to}, link, RATES),
        st.builds(lambda name, to: {"set": f"links.{name}.delay", "to": to}, link, DELAYS),
    ]
    found = draw(st.lists(st.one_of(steps), min_size=1, max_size=3))
    return [step | {"at": draw(st.integers(0, plan["duration"]))} for step in found]
