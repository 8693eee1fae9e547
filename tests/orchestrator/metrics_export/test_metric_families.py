"""Names, units and labels of metric families: by the registry, by the rules of Prometheus."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable

import pytest

from orchestrator.metrics_export import process_families
from orchestrator.metrics_export.family_listing import algorithm_results, all_families
from orchestrator.metrics_export.metric_families import (
    BASE_UNITS,
    SAMPLED,
    Family,
    base_unit,
    family_name,
    observed_families,
    result_families,
)
from orchestrator.plan.metric import UNITS
from orchestrator.plan.metric_registry import DEFINITIONS, ENTITIES
from orchestrator.plan.observables import SUFFIXES
from orchestrator.registry import Registry
from tests.orchestrator.metrics_export.scraping import one_of_each

pytest.importorskip("prometheus_client")

NAME = re.compile(r"tailback(_[a-z0-9]+)+")
LABEL = re.compile(r"[a-z]+(_[a-z]+)*")
SUFFIX = {"bytes", "seconds", "bytes_per_second", "hertz", "ratio", ""}
FOREIGN_UNITS = {"ps", "ns", "us", "ms", "bits", "bps", "hz", "percent", "kb", "mb"}
"""Words of a name that would be units other than base units."""


def families() -> list[Family]:
    return all_families(Registry.load().algorithms)


def broken_rules(family: Family) -> list[str]:
    """Rules of Prometheus' naming, and of OpenMetrics, that a family breaks."""
    tokens = family.exported.split("_")
    rules = {
        "name": NAME.fullmatch(family.exported) is not None,
        "total": (tokens[-1] == "total") == (family.kind == "counter"),
        "reserved": tokens[-1] not in ("count", "sum", "bucket", "created"),
        "type": not {"gauge", "counter", "histogram", "summary"} & set(tokens),
        "unit": family.unit in SUFFIX and family.name.endswith(family.unit),
        "base unit": not FOREIGN_UNITS & set(tokens),
        "help": bool(family.meaning.strip()),
        "labels": all(map(LABEL.fullmatch, family.labels))
        and len(set(family.labels)) == len(family.labels),
    }
    return [rule for rule, kept in rules.items() if not kept]


def test_every_family_keeps_the_rules_of_names():
    listed = families()
    assert len(listed) > 300
    wrong = {f.exported: rules for f in listed if (rules := broken_rules(f))}
    assert not wrong


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        (Family("tailback_x_ps", "gauge", "", "m", ()), "base unit"),
        (Family("tailback_x_count", "gauge", "", "m", ()), "reserved"),
        (Family("tailback_x_total", "gauge", "", "m", ()), "total"),
        (Family("tailback_Xy", "gauge", "", "m", ()), "name"),
        (Family("tailback_x", "gauge", "bytes", "m", ()), "unit"),
        (Family("tailback_byte_counter_x", "gauge", "", "m", ()), "type"),
        (Family("tailback_x", "gauge", "", "m", ("Run",)), "labels"),
        (Family("tailback_x", "gauge", "", "", ()), "help"),
    ],
)
def test_the_rules_find_a_planted_fault(planted: Family, rule: str):
    assert rule in broken_rules(planted)


def test_no_two_quantities_share_a_name():
    algorithms = Registry.load().algorithms
    sources: Iterable[Family] = [
        *SAMPLED.values(),
        *observed_families(algorithms).values(),
        *result_families().values(),
        *(f for of in process_families.PROCESS_FAMILIES.values() for f in of),
    ]
    names = [family.name for family in sources]
    assert sorted(names) == sorted(set(names))
    assert not {family.name for family in algorithm_results(algorithms)} & set(names)


def test_whatever_the_registry_declares_has_a_family():
    assert set(SAMPLED) == {(kind, s.quantity) for kind, of in ENTITIES.items() for s in of}
    assert set(result_families()) >= {(kind, m) for kind, of in DEFINITIONS.items() for m in of}
    for algorithm in Registry.load().algorithms:
        for column in algorithm.columns:
            assert (algorithm.name, column.field) in observed_families([algorithm])


def test_every_unit_of_tailback_has_a_base_unit():
    expected = {
        "B": ("bytes", 1), "ps": ("seconds", 1e-12), "s": ("seconds", 1), "Hz": ("hertz", 1),
        "bit/s": ("bytes_per_second", 0.125), "ratio": ("ratio", 1), "count": ("", 1), "1": ("", 1),
    }  # fmt: skip
    assert set(BASE_UNITS) == set(expected) == {*SUFFIXES, *(unit.symbol for unit in UNITS)}
    for symbol, unit in expected.items():
        assert base_unit(symbol) == unit
    assert base_unit("2^-20") == ("ratio", 2**-20)
    with pytest.raises(KeyError):
        base_unit("furlong")


@pytest.mark.parametrize(
    ("words", "unit", "name"),
    [
        ("link paused_ps", "seconds", "tailback_link_paused_seconds"),
        ("port bytes_out", "bytes", "tailback_port_out_bytes"),
        ("result port queue_bytes.p99", "bytes", "tailback_result_port_queue_p99_bytes"),
        ("result flow rate_bps.mean", "bytes_per_second",
         "tailback_result_flow_rate_mean_bytes_per_second"),
        ("external port pause.count", "", "tailback_external_port_pause_events"),
        ("algorithm my-rp byte_counter", "", "tailback_algorithm_my_rp_byte_counts"),
    ],
)  # fmt: skip
def test_a_name_ends_in_its_base_unit_alone(words: str, unit: str, name: str):
    assert family_name(words, unit) == name


def test_promtool_finds_nothing_to_say_of_any_family():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    from prometheus_client import CollectorRegistry, generate_latest

    from orchestrator.metrics_export.http_endpoint import _Collector

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(lambda: one_of_each(families())))
    text = generate_latest(registry)
    assert text.count(b"# TYPE") == len(families())
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    planted = text.replace(b"tailback_port_queue_bytes", b"tailback_port_queue_bits")
    assert subprocess.run([promtool, "check", "metrics"], input=planted, capture_output=True).stderr
