"""Reliability is apart from control: what plans expect of `go-back-n` holds over `selective`."""

from __future__ import annotations

import pytest

from orchestrator.assembly import assemble
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, run_until

ENTRIES = {"dctcp": ["t"], "swift": ["few", "many"], "hpcc-incast": ["hpcc"], "timely": ["t"]}
"""Of each plan the traffic that a transport carries."""
UP = {"hpcc-incast": "hup1"}
"""The link of `h1`; where none stands here, `up1`."""
PACED = {"timely": ("5ms", 300 * MS)}
"""Of a flow that sends a frame a millisecond: the least timeout, and how long one has to look."""


def over_selective(name: str, *settings: str) -> Plan:
    """The shipped plan with the other transport."""
    registry = Registry.load()
    plan = Plan.load(registry.plans()[name], registry)
    carried = [f"traffic.{entry}.transport.plugin=selective" for entry in ENTRIES[name]]
    return plan.with_settings([*carried, *settings])


@pytest.mark.parametrize("name", ENTRIES)
def test_the_headline_of_a_scheme_is_met(name: str) -> None:
    done = run(over_selective(name), out=None, report=False)
    assert [row for row in done.result["expectations"] if not row["met"]] == []
    assert done.result["verdict"] == "met"


def test_and_missed_where_the_scheme_is_broken() -> None:
    """A window that does not heed the marks fills the buffer over this transport as well."""
    broken = over_selective("dctcp", "nodes.h{1..2}.reaction_point.g=1/1000000")
    assert run(broken, out=None, report=False).result["verdict"] == "missed"


@pytest.mark.parametrize("name", ENTRIES)
def test_of_what_a_link_loses_each_segment_is_sent_once_more(name: str) -> None:
    """One in ten of the frames of `h1` is lost. Where less than a frame is under way no later one
    tells so: the timeout does."""
    link = f"links.{UP.get(name, 'up1')}.delay_line"
    lossy = '{ plugin = "lossy-delay", loss_rate = "1/10", frame_kinds = "data" }'
    timeout, until = PACED.get(name, ("1ms", 20 * MS))
    timeouts = [f"traffic.{entry}.transport.min_rto={timeout}" for entry in ENTRIES[name]]
    plan = over_selective(name, f"{link}={lossy}", *timeouts)
    assembly = assemble(plan.check(Registry.load()))
    run_until(assembly, until)
    audit(assembly.world)
    lost = int(assembly.world.ports["frames_lost"].sum())
    flows = assembly.world.flows
    assert lost >= 5
    assert 0 <= lost - int(flows[0].frames_resent) <= 3, "the last ones are not found lost yet"
    assert int(flows["frames_resent"].sum()) == int(flows[0].frames_resent)
    assert flows[0].losses == pytest.approx(lost, abs=3)
