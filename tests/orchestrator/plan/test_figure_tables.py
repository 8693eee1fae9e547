"""[[figure]]: what is accepted, what is said of what is not, and that it changes no run."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.canonical_form import essence
from orchestrator.plan.drawable_metrics import (
    SCALES,
    scale_of,
    unit_of,
    value_of,
)
from orchestrator.plan.metric_registry import (
    BITS_PER_SECOND,
    BYTES,
    CURVES,
    DISTRIBUTIONS,
    ENTITIES,
    LABELS,
    METRICS,
    RATIO,
    SECONDS,
)
from orchestrator.registry import Registry

NET = """
name = "net"
duration = "10ms"
[nodes."h{1..2}"]
kind = "nic"
reaction_point = { plugin = "any" }
[nodes.s]
kind = "switch"
inputs = {}
[nodes.d]
kind = "sink"
[links."l{1..2}"]
ends = ["h{}", "s"]
rate = "1Gb/s"
[links.out]
ends = ["s", "d"]
rate = "1Gb/s"
[traffic.f]
plugin = "cbr"
from = "h{1..2}"
to = "d"
[phases]
a = { from = "1ms", to = "5ms" }
b = { from = "5ms", to = "10ms" }
"""
LISTING = "p4qcn-fig11"
"""The paper's figure is what a program says of a capture; the capture's own test reads it."""
LINES = """
[[figure]]
y = "sent_bps"
of = "f.{0..1}"
labels = "f{1..2}"
y_range = ["0", "10Gb/s"]
x_range = ["0ms", "10ms"]
window = "1ms"
with = "other-{a,b}"
variants = ["first", "second"]
published = [{ label = "f2", values = ["2.5Gb/s"], from = "1ms" }]
"""
BARS = """
[[figure]]
kind = "bars"
x = "phase"
y = "frames.drop_ratio"
of = "s.d"
levels = ["2", "3"]
published = [{ values = ["12.5%", 0.2] }]
"""
TABLE = """
[[figure]]
kind = "table"
x = "of"
y = "throughput_bps"
of = ["f.{0..1}", "h{1..2}>s"]
labels = ["flows", "links"]
levels = ["first", "second"]
"""
ALL = NET + LINES + BARS + TABLE


def test_names_are_written_out() -> None:
    lines, bars, table = Plan.load(ALL).figure
    assert lines.of == ["f.0", "f.1"]
    assert lines.labels == ["f1", "f2"]
    assert lines.with_ == ["other-a", "other-b"]
    assert lines.window == 10**9
    assert lines.published[0].from_ == 10**9
    assert bars.of == ["s.d"]
    assert table.of == ["f.0", "f.1", "h1>s", "h2>s"]


def test_it_comes_back_and_is_no_part_of_what_a_run_is() -> None:
    plan = Plan.load(ALL)
    assert Plan.load(plan.to_toml()) == plan
    assert Plan.load(plan.to_toml()).figure == plan.figure
    assert essence(plan) == essence(Plan.load(NET))
    assert "figure" not in Plan.load(NET).to_table()


@pytest.mark.parametrize(
    ("figures", "old", "new", "where", "words"),
    [
        (LINES, '"sent_bps"', '"sent"', "figure[0].y", "did you mean sent_bps"),
        (LINES, '"sent_bps"', '"queue_bytes"', "figure[0].of[0]", "known: s.d, s.d/in, s.h1"),
        (LINES, "f.{0..1}", "f.{0..2}", "figure[0].of[2]", "did you mean f.1 or f.0"),
        (LINES, "f.{0..1}", "f.0 of a b", "figure[0].of[0]", "'NAME of PLAN' is expected"),
        (LINES, "other-{a,b}", "a/b", "figure[0].with[0]", "the name of a plan is expected"),
        (LINES, '["first", "second"]', '["x"]', "figure[0].variants", "1 texts for 2"),
        (LINES, "f{1..2}", "f{1..3}", "figure[0].labels", "3 texts for 2"),
        (LINES, '"10Gb/s"]', '"10GB/s"]', "figure[0].y_range[1]", "a rate counts bits"),
        (LINES, '"10Gb/s"]', '"0b/s"]', "figure[0].y_range", "smaller to the larger"),
        (LINES, '"10ms"]\nw', '"10"]\nw', "figure[0].x_range[1]", "the unit is missing"),
        (LINES, '"2.5Gb/s"', '"2.5KB"', "figure[0].published[0].values[0]", "no unit of a rate"),
        (LINES, 'label = "f2"', 'label = "f3"', "figure[0].published[0].label", "known: f1, f2"),
        (LINES, '["2.5Gb/s"]', '["1Gb/s", "2Gb/s"]', "figure[0].published[0].values", "2 values"),
        (LINES, "window", 'kind = "bars"\nwindow', "figure[0].x", "x = 'phase' or 'of'"),
        (LINES, "window", 'kind = "cdf"\nwindow', "figure[0].window", "is for lines over time"),
        (LINES, "window", 'y_unit = "KB"\nwindow', "figure[0].y_unit", "known: Gb/s"),
        (LINES, "window", 'x_unit = "h"\nwindow', "figure[0].x_unit", "known: ms, ns, s, us"),
        (LINES, "window", 'phase = "c"\nwindow', "figure[0].phase", "known: a, b, run"),
        (LINES, "window", "levels = ['1']\nwindow", "figure[0].levels", "x = 'phase' or 'of'"),
        (LINES, "window", "colour = 'red'\nwindow", "figure[0].colour", "key 'colour'"),
        (LINES, "window", "kind = 'pie'\nwindow", "figure[0].kind", "known: bars, cdf, lines"),
        (BARS, '["2", "3"]', '["2"]', "figure[0].levels", "1 texts for 2"),
        (BARS, '["2", "3"]', '["2", "3"]\nphases = "c"', "figure[0].phases[0]", "phase 'c'"),
        (BARS, '["2", "3"]', '["2", "3"]\nphase = "a"', "figure[0].phase", "'phases' says which"),
        (BARS, "0.2]", '"0.2x"]', "figure[0].published[0].values[1]", "write a ratio"),
        (BARS, "drop_ratio", "drop_rate", "figure[0].y", "did you mean frames.drop_ratio"),
        (TABLE, "f.{0..1}", "f.0", "figure[0].of", "3 entities are no multiple of 2 labels"),
        (TABLE, '"f.{0..1}", "h{1..2}>s"', "", "figure[0].of", "at least one entity"),
    ],
)
def test_a_mistake_is_named(figures: str, old: str, new: str, where: str, words: str) -> None:
    assert old in figures
    with pytest.raises(BadInput) as raised:
        Plan.load(NET + figures.replace(old, new, 1))
    said = [str(problem) for problem in raised.value.problems if problem.where == where]
    assert said, [str(problem) for problem in raised.value.problems]
    assert words in said[0]


def test_a_mistake_keeps_its_place_beside_one_of_a_table() -> None:
    wrong = ALL.replace('"sent_bps"', "7", 1).replace('"s.d"', '"s.e"', 1)
    with pytest.raises(BadInput) as raised:
        Plan.load(wrong)
    assert {problem.where for problem in raised.value.problems} == {
        "figure[0].y",
        "figure[1].of[0]",
    }


def test_entities_of_other_plans_are_taken_on_trust_and_own_ones_are_not() -> None:
    text = NET + '[[figure]]\ny = "queue_bytes"\nof = ["nowhere of other", "MINE of net"]\n'
    assert Plan.load(text.replace("MINE", "s.d")).figure[0].of[0] == "nowhere of other"
    with pytest.raises(BadInput, match="nowhere"):
        Plan.load(text.replace("MINE", "nowhere"))


def test_there_are_bounds() -> None:
    with pytest.raises(BadInput, match="at most 100"):
        Plan.load(NET + LINES * 101)
    with pytest.raises(BadInput, match="at most 1000 texts"):
        Plan.load(NET + LINES.replace("f.{0..1}", "f.{0..1000}"))


def test_a_base_gives_its_figures_and_templates(tmp_path: Path) -> None:
    like = '[templates.of-d]\nof = "s.d"\nphase = "a"\n'
    (tmp_path / "below.toml").write_text(
        NET + like + '[[figure]]\nlike = "of-d"\ny = "queue_bytes"\n' + LINES
    )
    above = tmp_path / "above.toml"
    above.write_text(
        'base = "below"\nname = "above"\nscale = "1/10"\n'
        '[[figure]]\ny = "queue_bytes"\nlabels = "mine"\n'
        '[[figure]]\ny = "queue_bytes"\npanel = "another"\nof = "s.h1/in"\n'
    )
    queue, rates, another = Plan.load(above).figure
    assert (queue.of, queue.phase, queue.labels) == (["s.d"], "a", ["mine"])
    assert another.of == ["s.h1/in"]
    assert rates.y_range == ["0", "1Gb/s"]
    assert rates.x_range == ["0s", "0.1s"]
    assert rates.published[0].values == ["250Mb/s"]
    assert rates.window == 10**10


def test_what_can_be_drawn_is_sampled_or_said_to_be_made_of_samples() -> None:
    made = {"utilization", "throughput_bps", "sent_bps", "paused", "rate_bps", "target_bps"}
    for kind, units in CURVES.items():
        sampled = {one.quantity: one.unit for one in ENTITIES.get(kind, ())}
        for name, unit in units.items():
            assert name in made or name in sampled, (kind, name)
            if name not in made and unit.symbol != "count":
                assert sampled[name] == unit.symbol, (kind, name)
    assert set(CURVES) <= set(METRICS)
    drawn = {name for units in (*DISTRIBUTIONS.values(), *METRICS.values()) for name in units}
    assert set(LABELS) <= drawn
    assert {unit.symbol for units in METRICS.values() for unit in units.values()} <= set(SCALES)


def test_units_are_chosen_by_magnitude() -> None:
    assert scale_of(BITS_PER_SECOND, 50e9) == ("Gb/s", 1e9)
    assert scale_of(BITS_PER_SECOND, 7e6) == ("Mb/s", 1e6)
    assert scale_of(BYTES, 999)[0] == "B"
    assert scale_of(SECONDS, 0.3)[0] == "ms"
    assert scale_of(SECONDS, 12.0)[0] == "s"
    assert scale_of(RATIO, 0.001)[0] == ""
    assert scale_of(BITS_PER_SECOND, 0.0)[0] == "b/s"
    assert value_of("24us", SECONDS) == pytest.approx(24e-6)
    assert value_of("12.5%", RATIO) == 0.125


def test_shipped_figures_speak_of_shipped_plans() -> None:
    registry = Registry.load()
    shipped = registry.plans()
    drawn = 0
    for name in shipped:
        if not name.startswith(("ibm-fig", "netfpga-fig", "fecn-", "p4qcn-")):
            continue
        plan = Plan.load(shipped[name], registry)
        assert plan.figure or name == LISTING, name
        for figure in plan.figure:
            named = [text.partition(" of ")[2] for text in figure.of]
            for other in [*figure.with_, *filter(None, named)]:
                assert other in shipped, (name, other)
            for text in figure.of:
                entity, _, other = text.partition(" of ")
                if other and other != name:
                    known = Plan.load(shipped[other], registry).entities()
                    assert entity in known, (name, text)
            assert unit_of(figure).symbol in SCALES
            drawn += 1
    assert drawn > 80
