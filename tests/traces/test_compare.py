"""Comparisons: who agrees, where runs part, and that the order of runs does not matter."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from orchestrator.errors import BadInput
from traces.compare import agreement_criterion, compare, show
from traces.compare.comparison_text import letter, outcome


def test_a_run_agrees_with_itself(make_run) -> None:
    found = compare([make_run(label="a"), make_run(label="b")])
    assert found.agree
    assert found.parting is None
    assert all(one.difference in (0, None) for one in found.differences)
    assert all(one.kolmogorov_smirnov == 0 for one in found.queues)
    assert all(one.wasserstein_bytes == 0 for one in found.queues)


def test_seeds_agree(make_run) -> None:
    assert compare([make_run(1), make_run(2), make_run(3)]).agree


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_parting_is_named_with_phase_and_time(make_run, order) -> None:
    runs = [make_run(1), make_run(2), make_run(3, bias=0.3)]
    found = compare([runs[i] for i in order])
    assert not found.agree
    assert found.parting is not None
    assert (found.parting.phase, found.parting.entity) == ("low", "switch.sink")
    assert found.parting.metric == "queue_bytes.mean"
    assert found.parting.time_s == pytest.approx(2.0, abs=0.1)
    assert "phase low" in outcome(found)


def test_distance_of_a_constant_shift(make_run) -> None:
    first, second = make_run(1), make_run(1)
    column = second.table.column("switch.sink", "queue_bytes")
    column += 12_000
    found = compare([first, second])
    for one in found.queues:
        assert one.wasserstein_bytes == pytest.approx(12_000)


def test_the_rule() -> None:
    assert agreement_criterion.queues_agree([33_000, 36_300])
    assert not agreement_criterion.queues_agree([33_000, 36_400])
    assert agreement_criterion.queues_agree([36_300, 33_000])
    assert agreement_criterion.queues_agree([0, 1500])
    assert not agreement_criterion.queues_agree([0, 1501])
    assert agreement_criterion.utilizations_agree([0.99, 1.0])
    assert not agreement_criterion.utilizations_agree([0.985, 0.996])
    assert agreement_criterion.relative([0, 0]) == 0
    assert agreement_criterion.relative([0, 1]) is None


def test_utilization_decides_too(make_run) -> None:
    first, second = make_run(1), make_run(1)
    second.result.metrics["high"]["switch.sink"]["utilization"] = 0.95
    found = compare([first, second])
    assert found.parting is not None
    assert (found.parting.phase, found.parting.metric) == ("high", "utilization")
    assert found.parting.time_s is None  # the samples are the same
    assert "only the mean" in outcome(found)


def test_a_missing_value_is_a_disagreement(make_run) -> None:
    first, second = make_run(1), make_run(1)
    second.result.metrics["high"]["switch.sink"]["queue_bytes.mean"] = None
    assert not compare([first, second]).agree


def test_other_plans_are_noted(make_run) -> None:
    first, second = make_run(1, label="a"), make_run(1, label="b")
    second.result.plan = "another"
    second.plan_text = second.plan_text.replace("[phases.low]", "[phases.lower]")
    second.plan_text = second.plan_text.replace('to = "2s"', 'to = "1.9s"')
    found = compare([first, second])
    assert {one.phase for one in found.differences} == {"high", "run"}
    text = " ".join(found.notes)
    assert "another" in text
    assert "phase low is not in all runs" in text
    assert "phase high spans other times" in text


def test_one_run_is_not_enough(make_run) -> None:
    with pytest.raises(BadInput, match="two or more"):
        compare([make_run()])


def test_nothing_in_common(make_run) -> None:
    first, second = make_run(), make_run()
    for metrics in second.result.metrics.values():
        metrics.clear()
    with pytest.raises(BadInput, match="in common"):
        compare([first, second])


def test_text_and_json(make_run) -> None:
    found = compare([make_run(1, label="[red]x[/red]"), make_run(2, bias=0.3, label="b")])
    out = io.StringIO()
    show(found, Console(file=out, width=160))
    text = out.getvalue()
    assert "[red]x[/red]" in text
    assert "DIFFER" in text
    assert "disagree: first in phase low" in text
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert document["agree"] is False
    assert document["parting"]["phase"] == "low"
    assert document["tailback"] == 1


def test_letters() -> None:
    assert [letter(i) for i in (0, 1, 25, 26)] == ["A", "B", "Z", "R27"]


def test_idle_ports_are_counted_not_listed(make_run) -> None:
    found = compare([make_run(1), make_run(2)])
    for one in list(found.differences):
        if one.agree is not None:
            idle = replace(one, entity="switch.idle", values=[0.0, 0.0], difference=0.0, agree=True)
            found.differences.append(idle)
    texts = []
    for every in (False, True):
        out = io.StringIO()
        show(found, Console(file=out, width=160), every=every)
        texts.append(out.getvalue())
    assert "switch.idle" not in texts[0]
    assert "1 port is idle in every run" in texts[0]
    assert "switch.idle" in texts[1]


def with_shares(run, *flows: float):
    """The same run, in which the flows of an entry got so much (bit/s) in every phase."""
    index = sum(flows) ** 2 / (len(flows) * sum(value * value for value in flows))
    more = {f"q.{number}": {"throughput_bps": value} for number, value in enumerate(flows)}
    more["q"] = {"fairness.jain": index, "throughput_bps": sum(flows)}
    metrics = {phase: of | more for phase, of in run.result.metrics.items()}
    return replace(run, result=run.result.model_copy(update={"metrics": metrics}))


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ((998.7, 1.2), (836, 164), False),
        ((500, 500), (836, 164), False),
        ((510, 490), (480, 520), True),
        ((998.7, 1.2), (1.2, 998.7), False),  # as unfair, but to the other one
        ((100, 100, 100, 100, 100, 100, 100, 0), (88, 87, 88, 87, 88, 87, 88, 87), False),
    ],
)
def test_shares_of_flows_decide(make_run, one, other, agree) -> None:
    """Queue and utilisation are the same where one flow has all."""
    found = compare([with_shares(make_run(1), *one), with_shares(make_run(1), *other)])
    assert found.agree == agree
    if not agree:
        assert found.parting is not None
        assert found.parting.metric in (agreement_criterion.SHARE, agreement_criterion.JAIN)
        assert found.parting.entity.startswith("q")
        assert outcome(found)
