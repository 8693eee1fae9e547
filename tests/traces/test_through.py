"""The flows under a port are those whose way leads there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

from orchestrator.plan import Plan
from tailback import run as run_plan
from tests.traces.made_plans import FIGURES, NETS
from traces import figures
from traces.figures.flows_through_port import flows_through
from traces.report import report
from traces.run_reader import Run, load


def ran(text: str, base: Path) -> Run:
    return load(run_plan(Plan.load(text), out=base).folder)


def shown(run: Run, port: str) -> list[Axes]:
    return figures.paper_figure(run, port).axes


def panel(run: Run, port: str, called: str) -> Axes:
    """The panel whose axis is called so."""
    (found,) = [axes for axes in shown(run, port) if axes.get_ylabel().startswith(called)]
    return found


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return ran(NETS, tmp_path_factory.mktemp("nets"))


@pytest.mark.parametrize(
    ("port", "flows"),
    [
        ("as.ad1", ["af.0", "af.1"]),
        ("as.ad2", ["afree"]),
        ("bs.bd1", ["bf.0", "bf.1"]),
        ("as.ah1/in", ["af.0", "afree"]),
        ("as.ah2/in", ["af.1"]),
        ("bs.bh2", []),
    ],
)
def test_only_flows_that_pass_are_drawn(nets: Run, port: str, flows: list[str]) -> None:
    assert flows_through(nets, port) == flows
    axes = panel(nets, port, "received")
    assert [line.get_label() for line in axes.lines] == flows


def test_lanes_groups_links_and_spread_ways(tmp_path: Path) -> None:
    text = """
    name = "more"
    duration = "1ms"
    sample_interval = "20us"
    priorities = "separate"
    groups.all = ["d1", "d2"]
    nodes.h = { kind = "nic" }
    nodes."t{1..2}" = { kind = "switch", spread = "flows" }
    nodes."m{1..2}" = { kind = "switch" }
    nodes."d{1..2}" = { kind = "sink" }
    [links."up{1..2}"]
    ends = ["h", "t1"]
    rate = "1Gb/s"
    [links."x{1..2}"]
    ends = ["t1", "m{}"]
    rate = "1Gb/s"
    [links."y{1..2}"]
    ends = ["m{}", "t2"]
    rate = "1Gb/s"
    [links."d{1..2}"]
    ends = ["t2", "d{}"]
    rate = "1Gb/s"
    [traffic.high]
    plugin = "cbr"
    from = "h"
    to = "d1"
    via = "up2"
    rate = "10Mb/s"
    priority = 3
    [traffic.many]
    plugin = "cbr"
    from = "h"
    to = "all"
    via = "up1"
    rate = "10Mb/s"
    """
    run = ran(text, tmp_path)
    assert flows_through(run, "t2.d1/p3") == ["high"]
    assert flows_through(run, "t2.d1/p0") == ["many@d1"]
    assert flows_through(run, "t2.d2/p0") == ["many@d2"]
    assert flows_through(run, "t1.m1/p3") == flows_through(run, "t1.m2/p3") == ["high"]
    plain = ran(text.replace('priorities = "separate"', ""), tmp_path)
    assert flows_through(plain, "t2.d1") == ["high", "many@d1"]


def test_an_input_has_no_panel_of_utilisation(nets: Run) -> None:
    labels = [axes.get_ylabel() for axes in figures.paper_figure(nets, "as.ah1/in").axes]
    assert labels == ["queue (KB)", "received (Gb/s)"]
    ports = [axes.get_ylabel() for axes in figures.paper_figure(nets, "as.ad1").axes]
    assert ports == ["queue (KB)", "utilisation (ratio)", "received (Gb/s)", "fairness (Jain)"]
    alone = [axes.get_ylabel() for axes in figures.paper_figure(nets, "as.ad2").axes]
    assert alone == ports[:-1], "one flow has nobody to be even with"


def test_fairness_is_that_of_the_flows_of_the_port(tmp_path: Path) -> None:
    """Two that want 2 and 6 of 10 Gb/s: 64/80; of three of which one leaves elsewhere, these."""
    text = NETS.replace('"{net}h{1..2}"\nto', '"{net}h1"\nto').replace('"8Gb/s"', '"2Gb/s"')
    more = '[traffic.more]\nplugin = "cbr"\nfrom = "ah2"\nto = "ad1"\nrate = "6Gb/s"\n'
    run = ran(text + more, tmp_path)
    fair = panel(run, "as.ad1", "fairness")
    level, curve = fair.lines
    assert set(level.get_ydata()) == {0.95}
    assert [len(curve.get_xdata()), float(curve.get_xdata()[-1])] == [190, pytest.approx(0.00398)]
    assert float(np.mean(curve.get_ydata())) == pytest.approx(0.8, abs=0.01)
    assert "fairness" not in [axes.get_ylabel()[:8] for axes in shown(run, "bs.bd1")]


def test_a_source_that_is_off_is_not_unfairly_served(tmp_path: Path) -> None:
    """One is alone in the first half: nothing is drawn of it, and both are alike in the second."""
    text = NETS.replace('"{net}h{1..2}"\nto', '"{net}h1"\nto').replace('"8Gb/s"', '"4Gb/s"')
    more = '[traffic.more]\nplugin = "cbr"\nfrom = "ah2"\nto = "ad1"\nrate = "4Gb/s"\n'
    run = ran(text + more + 'start = "2ms"\n', tmp_path)
    curve = panel(run, "as.ad1", "fairness").lines[1]
    times, index = curve.get_xdata(), curve.get_ydata()
    assert np.isnan(index[times < 0.00205]).all()
    assert index[times > 0.0023] == pytest.approx(1, abs=0.001)


def test_a_set_point_is_that_of_what_watches_the_queue(nets: Run, tmp_path: Path) -> None:
    outputs = nets.set_points
    assert outputs["as.ad1"] == 20_000
    assert not [name for name in outputs if name.endswith("/in")]
    moved = NETS.replace(
        'congestion_point = { plugin = "qcn-cp", preset = "ibm-10g", set_point = "20KB" }\n', ""
    ).replace(
        "inputs = {", "inputs = { congestion_point = { plugin = 'qcn-cp', set_point = '9KB' },"
    )
    inputs = ran(moved, tmp_path).set_points
    assert inputs["as.ah1/in"] == 9_000
    assert set(inputs) == {f"{net}s.{net}h{at}/in" for net in "ab" for at in (1, 2)} | {
        f"{net}s.{net}d{at}/in" for net in "ab" for at in (1, 2)
    }


def test_what_is_drawn_or_judged_has_a_figure_though_others_are_longer(tmp_path: Path) -> None:
    """The input of f1 and f7 in figure 7 of the paper on the IBM rack was not drawn at all."""
    expect = '[[expect]]\nmetric = "frames.dropped"\nof = "bs.bh2/in"\nmax = 0\n'
    run = ran(NETS + FIGURES.replace("as.ah{1..2}/in", "bs.bh1/in") + expect, tmp_path)
    found = figures.bottlenecks(run)
    assert found[0] == "bs.bh1/in"
    assert "bs.bh2/in" in found


def test_flows_are_called_as_the_paper_calls_them(tmp_path: Path) -> None:
    run = ran(NETS + FIGURES, tmp_path)
    axes = panel(run, "as.ad1", "received")
    assert [line.get_label() for line in axes.lines] == ["f1", "f2"]
    assert "In results f1 is af.0" in report(run)
