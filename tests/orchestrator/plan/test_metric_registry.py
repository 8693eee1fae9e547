"""The registry of metrics: names of plugins, units by kind of entity, and bounds in their unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.plan import metric_registry
from orchestrator.plan.metric import (
    BITS_PER_SECOND,
    BYTES,
    GAUGE,
    NUMBER,
    RATIO,
    SECONDS,
    Metric,
    Unit,
)
from orchestrator.plan.metric_registry import (
    METRICS,
    axis_label,
    bound,
    check_metric_name,
    definition_of,
    metrics_by_kind,
    metrics_of,
    register_metric,
    unknown_metric_text,
)
from orchestrator.plan.units import UnitError


def compute(*_: Any) -> float:
    return 0.0


MINE = replace(
    Metric("mine.queue", BYTES, GAUGE, "of a plugin"), entities=("port",), compute=compute
)


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No metric that a test registers stays."""
    monkeypatch.setattr(metric_registry, "PLUGIN_METRICS", {})


@pytest.mark.parametrize(
    ("value", "unit", "found"),
    [
        (0.5, RATIO, 0.5),
        (3, NUMBER, 3),
        ("20KB", BYTES, 20_000),
        ("10Gb/s", BITS_PER_SECOND, 10**10),
        ("5us", SECONDS, 5e-6),
        ("1s", SECONDS, 1.0),
    ],
)
def test_a_bound_is_in_the_unit_of_its_metric(value: object, unit: Unit, found: float) -> None:
    assert bound(value, unit) == found


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("20KB", RATIO, "the metric is a ratio: a number without unit is expected"),
        (True, RATIO, "the metric is a ratio: a number without unit is expected"),
        (None, NUMBER, "the metric is a number: a number without unit is expected"),
        ("1", Unit("1"), "the metric is a"),
        ("20KB", SECONDS, ""),
        (20, BYTES, ""),
    ],
)
def test_a_bound_of_another_unit_is_refused(value: object, unit: Unit, words: str) -> None:
    with pytest.raises(UnitError) as caught:
        bound(value, unit)
    assert words in str(caught.value)


def test_numbers_without_a_unit_are_base_units_where_they_may_be() -> None:
    assert bound(20_000, BYTES, bare=True) == 20_000
    assert bound(5_000_000, SECONDS, bare=True) == 5e-6


def test_a_metric_of_a_plugin_is_that_of_its_entities() -> None:
    assert definition_of("mine.queue") is None
    register_metric(MINE)
    register_metric(MINE)
    assert definition_of("mine.queue") is MINE
    assert metrics_of(frozenset({"port", "end"}))["mine.queue"] == BYTES
    assert "mine.queue" not in metrics_of(frozenset({"link"}))
    kinds = metrics_by_kind()
    assert kinds["port"] == METRICS["port"] | {"mine.queue": BYTES}
    assert kinds["link"] == METRICS["link"]
    assert metrics_of(frozenset()) == {}
    assert axis_label("mine.queue") == "mine.queue"
    register_metric(replace(MINE, name="other.queue", label="length"))
    assert axis_label("other.queue") == "length"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "Mine"}, "the metric 'Mine' has a name of other characters than a-z, 0-9, _, -"),
        ({"name": "mine..x"}, "other characters"),
        ({"name": "utilization"}, "is one of tailback's own; give it another"),
        ({"entities": ("prot",)}, "has no kind of entity 'prot'; did you mean port?"),
        ({"entities": ()}, "needs `entities` and `compute`"),
        ({"compute": None}, "needs `entities` and `compute`"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match="the metric") as caught:
        register_metric(replace(MINE, **changes))
    assert words in str(caught.value)
    assert metric_registry.PLUGIN_METRICS == {}


def test_two_plugins_do_not_share_a_name() -> None:
    register_metric(MINE)
    with pytest.raises(ValueError, match="is one of another plugin; give it another"):
        register_metric(replace(MINE, unit=RATIO))


def test_names_are_checked_as_far_as_they_are_known() -> None:
    assert check_metric_name("utilization") == "utilization"
    assert check_metric_name("codel.sojourn_s.mean") == "codel.sojourn_s.mean"
    for name in ("utilisation", "queue_bytes.meen", "UPPER.x", "a.b.c.d"):
        with pytest.raises(ValueError, match="there is no such metric; "):
            check_metric_name(name)
    register_metric(MINE)
    assert check_metric_name("mine.queue") == "mine.queue"
    assert "did you mean utilization" in unknown_metric_text("utilisation")
