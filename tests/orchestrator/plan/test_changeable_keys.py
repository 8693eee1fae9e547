"""Keys that a timeline may change: the entities that hold them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.changeable_keys import (
    ChangeableKey,
    NotChangeable,
    locate,
    parameter,
    setting,
)
from orchestrator.plan.entity_names import directions, ports

INPUTS = """
[nodes.switch.inputs]
buffer = "100KB"
pause = { plugin = "pause" }
"""


def place(text: str, key: str) -> ChangeableKey:
    plan = Plan.load(text)
    by_node: dict[str, list[Any]] = {}
    for port in ports(plan):
        by_node.setdefault(port.node, []).append(port)
    by_link: dict[str, list[Any]] = {}
    for way in directions(plan):
        by_link.setdefault(way.link, []).append(way)
    return locate(plan, key, by_node, by_link)


PORTS = ("switch.nic1", "switch.nic2", "switch.sink")


@pytest.mark.parametrize(
    ("key", "kind", "holders", "name"),
    [
        ("nodes.switch.service_rate", "queue", PORTS[:2], "service_rate"),
        ("nodes.switch.buffer", "queue", PORTS, "buffer"),
        ("nodes.switch.ports.sink.service_rate", "queue", PORTS[2:], "service_rate"),
        ("nodes.switch.ports.nic1.buffer", "queue", PORTS[:1], "buffer"),
        (
            "nodes.switch.congestion_point.weight",
            "congestion_point",
            ("switch.nic1", "switch.sink"),
            "weight",
        ),
        (
            "nodes.switch.ports.nic2.congestion_point.weight",
            "congestion_point",
            ("switch.nic2",),
            "weight",
        ),
        ("nodes.switch.pause.high", "pause", PORTS, "high"),
        ("nodes.nic1.reaction_point.gd", "reaction_point", ("nic1",), "gd"),
        ("links.up1.rate", "link", ("nic1>switch", "switch>nic1"), "rate"),
        ("links.up1.delay", "link", ("nic1>switch",), "delay"),
        ("links.up1.delay_back", "link", ("switch>nic1",), "delay"),
        ("links.up1.delay_line.jitter", "delay_line", ("up1",), "jitter"),
        ("traffic.gen1.rate", "traffic", ("gen1",), "rate"),
        ("nodes.switch.inputs.buffer", "queue", tuple(f"{p}/in" for p in PORTS), "buffer"),
        ("nodes.switch.inputs.pause.high", "pause", tuple(f"{p}/in" for p in PORTS), "high"),
    ],
)
def test_a_key_has_its_holders(
    full: str, key: str, kind: str, holders: tuple[str, ...], name: str
) -> None:
    text = full.replace("[nodes.sink]", INPUTS + "[nodes.sink]") if "inputs" in key else full
    assert place(text, key) == ChangeableKey(kind, holders, name)


NODE = "service_rate, buffer, "


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("phases.high.from", "'phases' is no section; known: links, nodes, traffic"),
        ("node.switch", "'node' is no section; did you mean nodes?"),
        ("nodes", "the key goes on: a name"),
        ("nodes.swich", "'swich' is no name in nodes; did you mean switch?"),
        ("nodes.switch", f"the key goes on: {NODE}"),
        ("nodes.switch.ports", "the key goes on: a port"),
        ("nodes.switch.ports.other", "'other' is no port; known: nic1, nic2, sink"),
        ("nodes.switch.ports.sink", f"the key goes on: {NODE}"),
        ("nodes.switch.ports.sink.kind", "'kind' is no changeable key"),
        ("nodes.switch.kind", "'kind' is no changeable key"),
        ("nodes.switch.buffer.x", "there is nothing below buffer"),
        ("nodes.switch.pause", "the key goes on: a parameter of the plugin"),
        ("nodes.switch.pause.high.x", "there is nothing below high"),
        ("nodes.switch.watchdog.x", "'watchdog' is no changeable key"),
        ("nodes.switch.inputs.buffer", "node switch has no inputs"),
        ("nodes.sink.buffer", "node sink has nothing that can change during a run"),
        ("nodes.nic1", "the key goes on: reaction_point and a parameter of it"),
        ("nodes.nic1.host_queue", "'host_queue' is no changeable key; known: reaction_point"),
        ("nodes.nic1.reaction_point", "the key goes on: a parameter of the plugin"),
        ("nodes.nic1.reaction_point.gd.x", "there is nothing below gd"),
        ("links.up1", "the key goes on: rate, delay, delay_back, delay_line"),
        ("links.up1.ends", "'ends' is no changeable key"),
        ("links.up1.rate.x", "there is nothing below rate"),
        ("links.up1.delay_line", "the key goes on: a parameter of the plugin"),
        ("traffic.gen1", "the key goes on: a parameter of its plugin"),
        ("traffic.gen1.to", "only the parameters of a traffic entry's plugin can change"),
        ("traffic.gen1.rate.x", "only the parameters of a traffic entry's plugin can change"),
    ],
)
def test_a_key_that_leads_nowhere_is_refused_with_those_that_there_are(
    full: str, key: str, words: str
) -> None:
    with pytest.raises(NotChangeable) as caught:
        place(full, key)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("nodes.switch.inputs", "the key goes on: buffer, "),
        ("nodes.switch.inputs.rate", "'rate' is no changeable key"),
        ("nodes.switch.inputs.buffer.x", "there is nothing below buffer"),
        ("nodes.switch.inputs.congestion_point.w", "the inputs of switch have no congestion_point"),
        ("nodes.switch.inputs.pause", "the key goes on: a parameter of the plugin"),
    ],
)
def test_inputs_have_their_own_keys(full: str, key: str, words: str) -> None:
    with pytest.raises(NotChangeable) as caught:
        place(full.replace("[nodes.sink]", INPUTS + "[nodes.sink]"), key)
    assert str(caught.value).startswith(words)


def test_a_key_that_every_port_has_for_itself_needs_the_port(full: str) -> None:
    own = "".join(
        f'[nodes.switch.ports.{port}]\nservice_rate = "0.9Gb/s"\n' for port in ("nic1", "sink")
    )
    text = full.replace('[nodes.switch.ports.sink]\nservice_rate = "0.9Gb/s"\n', own)
    text = text.replace(
        "[nodes.switch.ports.nic2]", '[nodes.switch.ports.nic2]\nservice_rate="1Gb/s"'
    )
    with pytest.raises(NotChangeable, match="every port of switch has its own service_rate; name"):
        place(text, "nodes.switch.service_rate")


def test_a_switch_without_a_plugin_has_no_parameters_of_it(full: str) -> None:
    text = full.replace('pause = { plugin = "pause", high = "130KB", low = "110KB" }\n', "")
    assert text != full
    with pytest.raises(NotChangeable, match="node switch has no pause there"):
        place(text, "nodes.switch.pause.high")


def test_settings_are_in_base_units_within_their_bounds() -> None:
    assert setting("buffer", "20KB", "timeline[0]", bare=False) == 20_000
    assert setting("delay", "5us", "timeline[0]", bare=False) == 5_000_000
    assert setting("rate", 10**9, "timeline[0]", bare=True) == 10**9
    for name, value in (("rate", "0b/s"), ("rate", "fast"), ("buffer", "5us"), ("rate", 10**9)):
        with pytest.raises(BadInput) as caught:
            setting(name, value, "timeline[0]", bare=False)
        assert caught.value.source == "timeline[0]"


def test_a_parameter_is_changed_alone_and_one_that_there_is_not_is_refused(
    full: str, catalog: Any
) -> None:
    use = Plan.load(full).check(catalog).uses["congestion_point"]["switch.sink"]
    found = parameter(use, "weight", 5, "timeline[0]", bare=False)
    assert (found.params.weight, found.params.set_point) == (5, use.params.set_point)
    assert (found.algorithm, found.preset) == (use.algorithm, use.preset)
    assert use.params.weight == 3
    with pytest.raises(BadInput) as caught:
        parameter(use, "wieght", 5, "timeline[0]", bare=False)
    (problem,) = caught.value.problems
    assert (problem.where, problem.value) == ("timeline[0].set", "wieght")
    assert problem.accepted == "qcn-cp has no parameter 'wieght'; did you mean weight?"
    with pytest.raises(BadInput) as caught:
        parameter(use, "weight", 65, "timeline[0]", bare=False)
    (problem,) = caught.value.problems
    assert (problem.where, problem.value) == ("timeline[0].to", 65)
    assert problem.accepted == "at most 64 is expected"
