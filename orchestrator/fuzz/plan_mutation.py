"""Plan mutation: varies plans that reached a new branch, to reach its neighbours.

An algorithm gets other parameters, or its place goes to another one; a duration, a rate, a buffer
becomes larger or smaller; a key is taken out; something happens during the run.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from orchestrator.fuzz.plan_strategies import (
    BUFFERS,
    DELAYS,
    LENGTHS,
    PRIORITIES,
    RATES,
    US,
    PlanDrawer,
    Table,
    timeline,
    uses,
)
from orchestrator.plan.plugin_catalog import tables
from orchestrator.plan.setting_overrides import key_segments

MOST_CHANGES = 3
LONGEST = 20_000 * US
"""Of a run; longer ones have too many events anyhow."""
FACTORS = st.sampled_from([(2, 1), (1, 2), (10, 1), (1, 10), (9, 10), (11, 10)])


def mutated_plans(drawer: PlanDrawer, plans: Sequence[Table]) -> st.SearchStrategy[Table]:
    """One of the plans with a few changes; the last ones come first, since they are new."""
    return _varied(drawer, list(reversed(plans)))


@st.composite
def _varied(draw: st.DrawFn, drawer: PlanDrawer, plans: list[Table]) -> Table:
    plan = copy.deepcopy(draw(st.sampled_from(plans)))
    for _ in range(draw(st.integers(1, MOST_CHANGES))):
        change = draw(st.sampled_from([_parameters, _parameters, _around, _numbers, _without]))
        change(draw, drawer, plan)
    return plan


def _parameters(draw: st.DrawFn, drawer: PlanDrawer, plan: Table) -> None:
    """Of one algorithm: some are drawn anew, or one is a little more or less."""
    found = [
        one for one in tables(plan) if drawer.algorithm_named(one[0], one[2].get("plugin", ""))
    ]
    kind, where, table = draw(st.sampled_from(found)) if found else ("", "", {})
    holder = value_at(plan, where) if found else None
    if holder is None:
        return
    algorithm = drawer.algorithm_named(kind, table["plugin"])
    assert algorithm is not None
    numbers = sorted(key for key in table if type(table[key]) is int)
    is_scaled = bool(numbers) and draw(st.integers(0, 1)) == 1
    if is_scaled:
        key = draw(st.sampled_from(numbers))
        holder[key] = _scaled(draw, holder[key])
    else:
        holder |= draw(uses(algorithm))


def _around(draw: st.DrawFn, drawer: PlanDrawer, plan: Table) -> None:
    """Change the environment of algorithms: time, links, buffers, flows."""
    what = draw(st.integers(0, 7))
    link = plan["links"][draw(st.sampled_from(sorted(plan["links"])))]
    node = plan["nodes"][draw(st.sampled_from(sorted(plan["nodes"])))]
    entry = plan["traffic"][draw(st.sampled_from(sorted(plan["traffic"])))]
    if what <= 1:
        plan["duration"] = min(max(_scaled(draw, plan["duration"]), US), LONGEST)
    elif what == 2:
        link["rate"] = draw(RATES)
    elif what == 3:
        link["delay"] = draw(DELAYS)
    elif what == 4:
        entry["frame"] = draw(LENGTHS)
        entry["priority"] = draw(PRIORITIES)
    elif what == 5 and node["kind"] == "switch":
        node[draw(st.sampled_from(["buffer", "service_rate"]))] = draw(BUFFERS)
    elif what == 6:
        line = draw(drawer.use("delay_line", 1))
        if line is not None:
            link["delay_line"] = line
    else:
        plan["timeline"] = timeline(draw, plan)


def _numbers(draw: st.DrawFn, drawer: PlanDrawer, plan: Table) -> None:
    """Any number of the plan, a little or much larger or smaller."""
    found = sorted(_number_paths(plan))
    if found:
        *above, key = draw(st.sampled_from(found))
        holder = value_at(plan, above)
        holder[key] = _scaled(draw, holder[key])


def _without(draw: st.DrawFn, drawer: PlanDrawer, plan: Table) -> None:
    """One key less, of a node, a link or a traffic entry."""
    found = [
        (room, name, key)
        for room in ("nodes", "links", "traffic")
        for name, table in plan[room].items()
        for key in table
        if key not in ("kind", "ends", "rate", "from", "to", "plugin")
    ]
    if found:
        room, name, key = draw(st.sampled_from(sorted(found)))
        del plan[room][name][key]


def value_at(plan: Any, where: str | Sequence[str]) -> Any:
    """Value at a key path of a plan; None if there is none."""
    for key in key_segments(where) if isinstance(where, str) else where:
        if isinstance(plan, list) and key.isdecimal() and int(key) < len(plan):
            plan = plan[int(key)]
            continue
        if not isinstance(plan, dict) or key not in plan:
            return None
        plan = plan[key]
    return plan


def _number_paths(value: Any, here: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The key paths of all whole numbers but that of the seed."""
    if type(value) is int:
        return [here]
    inside = value.items() if isinstance(value, dict) else ()
    return [
        path
        for key, inner in inside
        if key != "seed"
        for path in _number_paths(inner, (*here, key))
    ]


def _scaled(draw: st.DrawFn, value: int) -> int:
    times, parts = draw(FACTORS)
    return value * times // parts
