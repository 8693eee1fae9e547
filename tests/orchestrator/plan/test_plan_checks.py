"""Plans from text: values, defaults, and mistakes with place, value and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Nic, Plan, Switch


def problems(text: str, catalog: Any = None) -> dict[str, str]:
    with pytest.raises(BadInput) as caught:
        Plan.load(text, catalog)
    return {problem.where: str(problem) for problem in caught.value.problems}


def test_values_are_exact_integers(full: str) -> None:
    plan = Plan.load(full)
    switch, nic = plan.nodes["switch"], plan.nodes["nic2"]
    assert isinstance(switch, Switch)
    assert isinstance(nic, Nic)
    assert plan.duration == 12 * 10**12
    assert switch.service_rate == 950_000_000
    assert (nic.reaction_points, nic.host_queue, nic.limiter.depth) == (1, 64_000, 3_000)
    assert plan.links["up1"].delay == 50_000_000
    assert plan.links["up1"].delay_line.plugin == "fixed-delay"
    assert plan.traffic["gen1"].from_ == "nic1"


def test_a_file(full: str, tmp_path: Path, catalog: Any) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(full, encoding="utf-8")
    assert Plan.load(path, catalog) == Plan.load(str(path)) == Plan.load(full)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name = 'x'\nduration = 12s\n", "line 2, column 14"),
        (b"name = '\xff'", "no UTF-8"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"a = " + b"1" * 5000, "at most 64 bits"),
    ],
)
def test_a_broken_file_names_itself(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=words) as caught:
        Plan.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("name", ["missing.toml", "", "\0", "/"])
def test_no_file(name: str) -> None:
    with pytest.raises(BadInput):
        Plan.load(name)


def test_several_mistakes_of_every_sort_at_once(full: str, catalog: Any) -> None:
    slips = {
        'buffer = "150KB"': 'bufer = "150KB"',
        'delay_back = "60us"': 'delay_back = "0.3ps"',
        'priority = 3\nrate = "0.5Gb/s"': 'priority = 8\nrat = "0.5Gb/s"',
        "weight = 3": "wieght = 3",
        'to = "sink"\nflows': 'to = "snk"\nflows',
        "switch.ports.sink.service_rate": "switch.ports.sink.service_rat",
        'at = "7s"': "at = 7",
        'phase = "low"': 'phase = "lwo"',
        'max = "350ms"': "max = 0.35",
    }
    text = full
    for right, wrong in slips.items():
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    found = problems(text, catalog)
    assert "did you mean buffer?" in found["nodes.switch.bufer"]
    assert "nothing is rounded" in found["links.up2.delay_back"]
    assert "at most 7" in found["traffic.gen2.priority"]
    assert "did you mean rate?" in found["traffic.gen2.rat"]
    assert "missing" in found["traffic.gen2.rate"]
    assert "did you mean weight?" in found["nodes.switch.congestion_point.wieght"]
    assert "did you mean sink?" in found["traffic.gen1.to"]
    assert "did you mean service_rate?" in found["timeline[0].set"]
    assert "such as '500us'" in found["timeline[2].at"]
    assert "did you mean low?" in found["expect[2].phase"]
    assert "write a duration" in found["expect[2].max"]
    assert len(found) == 11


@pytest.mark.parametrize(
    ("right", "wrong", "where", "words"),
    [
        ('name = "netfpga-fig11"', 'name = "a/b"', "name", "letters, digits"),
        ('[nodes.nic1]\nkind = "nic"', '[nodes.nic1]\nkind = "nik"', "nodes.nic1.kind", "nic?"),
        ('[nodes.nic1]\nkind = "nic"', "[nodes.nic1]", "nodes.nic1.kind", "missing"),
        ('"switch", "sink"]', '"switch", "snk"]', "links.down.ends[1]", "did you mean sink?"),
        ('"switch", "sink"]', '"sink", "sink"]', "links.down.ends", "two different"),
        ('"switch", "sink"]', '"switch"]', "links.down.ends[1]", "missing"),
        ('sink = "sink"', 'sink = "nic3"', "nodes.switch.forwarding.sink", "did you mean nic"),
        ('sink = "sink"', 'sink = "nic1"', "traffic.gen1.to", "back to nic1"),
        ("[nodes.switch.ports.sink]", "[nodes.switch.ports.up1]", "nodes.switch.ports.up1", "port"),
        ('from = "nic2"', 'from = "sink"', "traffic.gen2.from", "known: nic1, nic2"),
        ('stop = "5s"', 'stop = "13s"', "traffic.gen2.stop", "lasts 12s"),
        ('start = "0s"', 'start = "6s"', "traffic.gen2.stop", "before 'start'"),
        ('to = "6.7s"', 'to = "4s"', "phases.low", "before 'to'"),
        ('to = "6.7s"', 'to = "16.7s"', "phases.low.to", "lasts 12s"),
        ("[phases.high]", "[phases.run]", "phases.run", "whole run"),
        ('stop = "gen1"', 'stop = "gn1"', "timeline[2].stop", "did you mean gen1"),
        ('cut = "up1"', 'cut = "up9"', "timeline[3].cut", "did you mean up2 or up1"),
        ('cut = "up1"', 'cut = "up1"\nmend = "up1"', "timeline[3]", "exactly one"),
        ('cut = "up1"', "", "timeline[3]", "found none"),
        ('to = "0.2Gb/s"', 'to = "0.2GB/s"', "timeline[0].to", "counts bits"),
        ('to = "0.2Gb/s"', "", "timeline[0]", "'set' and 'delay_control' need 'to'"),
        ("to = 1\n", "to = 65\n", "timeline[1].to", "at most 64"),
        ('to = "1/32"', 'to = "1/0"', "timeline[4].to", "denominator"),
        ("reaction_point.gd", "reaction_point.dg", "timeline[4].set", "known: gd, jitter"),
        ("reaction_point.gd", "host_queue", "timeline[4].set", "no changeable key"),
        ("min = 0.99", "min = nan", "expect[1].min", "number"),
        ("min = 0.99", 'min = "0.99"', "expect[1].min", "without unit"),
        ("min = 0.99", "min = 0.99\nmax = 0.9", "expect[1]", "above"),
        ("min = 0.99", "", "expect[1]", "'min' or 'max'"),
        ("recovery_s", "rate_bps.mean", "expect[2].metric", "nic1.rp0"),
        ('of = "switch.sink"\nmin', 'of = "gen1"\nmin', "expect[1].metric", "switch.sink"),
        ('"switch.sink"]', '"switch.sink", "sink.sw"]', "capture.ports[1]", "sink.switch"),
        ('plugin = "cbr"\nfrom = "nic1"', 'from = "nic1"', "traffic.gen1.plugin", "missing"),
        (
            'plugin = "cbr"\nfrom = "nic1"',
            'plugin="cbx"\nfrom="nic1"',
            "traffic.gen1.plugin",
            "cbr",
        ),
        ('low = "110KB"', 'low = "140KB"', "nodes.switch.pause", "below 'high'"),
        ("flows = 4", "flow = 4", "traffic.gen1.flow", "did you mean flows?"),
        ('sample_interval = "1ms"', 'sample_interval = "1us"', "sample_interval", "at least"),
        ('duration = "12s"', 'duration = "61min"', "duration", "at most 3600s"),
        ("frames = 200000", "frames = 100000000", "capture.frames", "octets"),
        ("reaction_points = 4", "reaction_points = 4.0", "nodes.nic1.reaction_points", "whole"),
    ],
)
def test_one_mistake(
    full: str, catalog: Any, right: str, wrong: str, where: str, words: str
) -> None:
    assert right in full
    found = problems(full.replace(right, wrong, 1), catalog)
    assert words in found[where], found


def test_names_in_results_are_unique(full: str) -> None:
    text = full.replace("gen1", "nic1")
    assert "rename one" in problems(text)["nic1"]


def test_an_oversized_plan_is_refused_quickly() -> None:
    nodes = {f"n{index}": {"kind": "sink"} for index in range(12_001)}
    with pytest.raises(BadInput, match="at most 12000"):
        Plan(name="x", duration="1s", nodes=nodes)
