"""What a reaction point hears of its flow beside frames: bound, started, ended; named timers."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

from orchestrator.algorithm import Algorithm, Kernel, congestion_point, reaction_point
from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import NEVER, NONE, record
from orchestrator.hookspecs import hookimpl
from orchestrator.plan import Plan
from orchestrator.registry import GROUP, Registry
from plugins import dcqcn_rp
from tests.orchestrator.plugging import entry_point
from tests.orchestrator.worlds import MS, US, Empty, Table, line_of_three, run_until

STATE = record("before", "lfsr", "calls", "others", "behind")
SOURCE = {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**9}
STEP = 10 * US
cut = compiled(dcqcn_rp.on_feedback)
rise, release = dcqcn_rp._raise, dcqcn_rp._release_if_over


def bound(state, params, limiter, frame, now, message):
    """1; 9 where anything of the flow before is left."""
    clean = state.before == 0 and state.calls == 0 and state.others == 0 and state.behind == 0
    limiter.target = 10 * limiter.target + (1 if clean and limiter.flow >= 0 else 9)
    return 0


def start(state, params, limiter, frame, now, message):
    """2; something is left for the next flow to find, and random numbers go on."""
    limiter.active = 1
    limiter.target = 10 * limiter.target + 2
    state.before, state.calls, state.others, state.behind = 5, 6, 7, 8
    state.lfsr += 1
    return 0


def started(state, params, limiter, frame, now, message):
    """3."""
    limiter.active = 1
    limiter.target = 10 * limiter.target + 3
    return 0


def ended(state, params, limiter, frame, now, message):
    """4; 8 when frames still wait."""
    limiter.target = 10 * limiter.target + (4 if limiter.backlog == 0 else 8)
    return 0


def told(state, params, limiter, frame, now, message):
    """5: a message; it is limited for 50 us from now on."""
    if limiter.active == 0:
        limiter.target = 10 * limiter.target + 5
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.timers[1] = now + 50_000_000
    return 0


def let_go(state, params, limiter, frame, now, message):
    """6: it is over."""
    limiter.target = 10 * limiter.target + 6
    limiter.active = 0
    return 0


def notify_once(state, params, queue, frame, now, message):
    """Every 100th frame's source is told."""
    state.calls += 1
    message.feedback = 1
    return 1 if state.calls % 100 == 1 else 0


def set_both(state, params, limiter, frame, now, message):
    """A flow begins: one timer at 10 us, one at 15 us."""
    limiter.active = 1
    limiter.timers[0] = now + 10_000_000
    limiter.timers[1] = now + 15_000_000
    return 0


def tick(state, params, limiter, frame, now, message):
    """Every 10 us."""
    state.calls += 1
    limiter.timers[0] = now + 10_000_000
    return 0


def tock(state, params, limiter, frame, now, message):
    """Every 15 us."""
    state.others += 1
    limiter.timers[1] = now + 15_000_000
    return 0


def each_other(state, params, limiter, frame, now, message):
    """Both timers are set into the past, again and again, and so is the one without a name."""
    limiter.active = 1
    state.calls += 1
    limiter.timers[0] = max(now - 1, 0)
    limiter.timers[1] = 0
    limiter.timer = now
    return 0


def nothing(state, params, limiter, frame, now, message):
    """A timer is due."""
    state.others += 1
    return 0


def world(
    monkeypatch: pytest.MonkeyPatch, table: Table, *algorithms: Algorithm, **kernels: Any
) -> Assembly:
    """A world whose NIC has the reaction point `mine`; what its target was is forgotten."""
    mine = reaction_point("mine", "for a test", Empty, STATE, **kernels)
    point = entry_point(
        monkeypatch, "mine", tailback_algorithms=hookimpl(lambda: [mine, *algorithms])
    )
    assembly = assemble(Plan(**table).check(Registry([*entry_points(group=GROUP), point])))
    assembly.world.limiters["target"] = 0
    return assembly


def limited(*times: tuple[int, int]) -> Table:
    """A line of three whose NIC has one limiter of `mine`, and a flow from each time to another."""
    table = line_of_three()
    table["nodes"]["nic"] |= {"reaction_points": 1, "reaction_point": {"plugin": "mine"}}
    table["traffic"] = {
        f"t{n}": SOURCE | {"start": begin, "stop": end} for n, (begin, end) in enumerate(times)
    }
    return table


def counted(assembly: Assembly, name: str) -> int:
    """A field of the reaction point's state."""
    return int(assembly.world.memory[assembly.built.state_at("nic.rp0", name)])


ALL = {"bound": bound, "start": start, "started": started, "ended": ended}


def test_each_flow_is_bound_started_and_ended_in_this_order_and_finds_its_state_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flows = [(0, 200 * US), (MS, MS + 200 * US), (2 * MS, 2 * MS + 200 * US)]
    table = limited(*flows) | {"duration": 4 * MS}
    assembly = world(monkeypatch, table, **ALL)
    lfsr = counted(assembly, "lfsr")
    run_until(assembly, 100 * US)
    assert assembly.world.limiters["target"][0] == 123
    run_until(assembly, MS)
    assert assembly.world.limiters["target"][0] == 1234
    run_until(assembly, 4 * MS)
    assert assembly.world.limiters["target"][0] == 1234_1234_1234
    assert counted(assembly, "lfsr") == lfsr + 3, "random numbers go on from flow to flow"


def test_a_flow_that_has_nothing_waiting_has_ended_when_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = limited((0, MS))
    table["traffic"]["t0"]["rate"] = 10**7
    assembly = world(monkeypatch, table, **ALL)
    run_until(assembly, MS)
    assert assembly.world.limiters["target"][0] == 123
    run_until(assembly, MS + 1)
    assert assembly.world.limiters["target"][0] == 1234
    assert assembly.world.limiters["flow"][0] == NONE


def test_a_reaction_point_that_hears_of_starts_alone_has_its_flows_from_the_first_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = world(monkeypatch, limited((0, MS)), started=started)
    run_until(assembly, 1)
    assert assembly.world.limiters["target"][0] == 3
    assert assembly.world.limiters["flow"][0] == 0


def test_a_flow_is_bound_by_its_first_message_and_again_when_it_was_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred frames take 1.2 ms, a limiter's time is 50 us: each message binds the flow."""
    table = limited((0, 4 * MS)) | {"duration": 4 * MS}
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "rare"}
    rare = congestion_point("rare", "for a test", Empty, STATE, arrival=notify_once)
    timers = {"unused": nothing, "over": let_go}
    assembly = world(monkeypatch, table, rare, bound=bound, feedback=told, timers=timers)
    run_until(assembly, 4 * MS)
    assert assembly.world.limiters["target"][0] == 156_156_156_156
    assert assembly.world.limiters["soonest"][0] == NEVER


def test_named_timers_go_each_at_its_own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    timers = {"tick": tick, "tock": tock}
    assembly = world(monkeypatch, limited((0, MS)), start=set_both, timers=timers)
    run_until(assembly, 601 * US)
    assert (counted(assembly, "calls"), counted(assembly, "others")) == (60, 40)


def test_timers_that_set_one_another_into_the_past_do_not_stop_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers = {"one": each_other, "other": each_other}
    kernels: dict[str, Kernel] = {"start": each_other, "timer": each_other}
    assembly = world(monkeypatch, limited((0, MS)), **kernels, timers=timers)
    run_until(assembly, 10 * US)
    calls = counted(assembly, "calls")
    assert 3 * 9_990 < calls < 3 * 10_010, "each of three once in a nanosecond"


def test_a_named_timer_keeps_a_limiter_until_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the one without a name does: a flow that has ended is not forgotten before."""

    def later(state, params, limiter, frame, now, message):
        limiter.active = 1
        limiter.timers[0] = now + 1_500_000_000
        return 0

    table = limited((0, 100 * US))
    assembly = world(monkeypatch, table, start=later, timers={"later": nothing})
    run_until(assembly, MS)
    assert (assembly.world.flows[0].head, assembly.world.limiters[0].flow) == (NONE, 0)
    run_until(assembly, 1501 * US)
    assert (assembly.world.limiters[0].flow, assembly.world.limiters[0].active) == (NONE, 0)
    assert counted(assembly, "others") == 0, "there is no flow to act for"


@pytest.mark.parametrize(
    ("kind", "timers", "told"),
    [
        ("reaction_point", dict.fromkeys("abcde", nothing), "mine: 5 timers, 4 at the most"),
        ("pause", {"a": nothing}, "mine: only a reaction_point names timers"),
    ],
)
def test_timers_that_cannot_be_are_refused(kind: str, timers: dict[str, Kernel], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Algorithm("mine", kind, "", Empty, np.dtype([("x", np.int64)]), {}, timers=timers)


def test_a_field_that_numpy_has_a_meaning_for_is_refused() -> None:
    """Compiled it would be the field, uncompiled the size of a record."""
    with pytest.raises(ValueError, match="mine: state field size: numpy has that"):
        Algorithm("mine", "pause", "", Empty, record("size"), {})


def twin_feedback(state, params, limiter, frame, now, message):
    """A CNP: as DCQCN's, with a timer for each of its two times."""
    cut(state, params, limiter, frame, now, message)
    limiter.timer = NEVER
    limiter.timers[0] = state.alpha_at
    limiter.timers[1] = state.increase_at
    return 0


def twin_alpha(state, params, limiter, frame, now, message):
    """The first of them."""
    state.alpha -= state.alpha * params.g_num // params.g_den
    limiter.timers[0] = now + params.alpha_time
    release(state, limiter)
    return 0


def twin_increase(state, params, limiter, frame, now, message):
    """The second one."""
    limiter.timers[1] = now + params.increase_time
    state.timer_stage += 1
    rise(state, params, limiter)
    release(state, limiter)
    return 0


def twin_of_none(state, params, limiter, frame, now, message):
    """DCQCN's own timer, which is never set."""
    return 0


TWIN = reaction_point(
    "mine",
    "for a test",
    dcqcn_rp.DcqcnReactionPoint,
    dcqcn_rp.STATE,
    timers={"alpha": twin_alpha, "increase": twin_increase},
    feedback=twin_feedback,
    sent=dcqcn_rp.on_sent,
    timer=twin_of_none,
)


def test_dcqcn_with_two_named_timers_is_dcqcn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its one timer, which it sets to the earlier of two times, against one for each."""
    table = line_of_three(duration=8 * MS)
    table["links"]["down"]["rate"] = 3 * 10**8
    table["nodes"]["switch"]["congestion_point"] = {"plugin": "red", "low": 5_000, "high": 50_000}
    table["nodes"]["sink"]["notification_point"] = {
        "plugin": "notification-point",
        "preset": "dcqcn",
    }
    entry = entry_point(monkeypatch, "mine", tailback_algorithms=hookimpl(lambda: [TWIN]))
    registry = Registry([*entry_points(group=GROUP), entry])
    seen = []
    for name in ("dcqcn-rp", "mine"):
        table["nodes"]["nic"]["reaction_point"] = {"plugin": name}
        assembly = assemble(Plan(**table).check(registry))
        rates = []
        for step in range(1, 801):
            run_until(assembly, step * STEP)
            limiter = assembly.world.limiters[0]
            rates.append((int(limiter.rate), int(limiter.target), int(limiter.feedback_received)))
        seen.append(rates)
    assert seen[0] == seen[1]
    assert len({rate for rate, _, _ in seen[0]}) > 20, "it was cut, and rose again"
