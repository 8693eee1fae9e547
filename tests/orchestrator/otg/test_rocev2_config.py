"""RoCEv2 devices, settings and stateful flows of the OTG model: defaults, mapping, refusals."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from orchestrator.otg.otg_config import read_config
from orchestrator.otg.otg_reader import OtgError
from orchestrator.otg.rocev2_config import MOST_PAIRS, Rocev2Config
from orchestrator.otg.rocev2_metrics import PAIR_COLUMNS, PEER_COLUMNS
from orchestrator.registry import Registry
from tests.orchestrator.otg.test_otg_config import INTERFACES

snappi = pytest.importorskip("snappi", reason="the extra `otg` is not installed")
PORT, FLOW = (
    ("options", "per_port_options", 0, "protocols", 0, "rocev2"),
    (
        *("stateful_flows", "rocev2", 0, "tx_ports", 0),
        *("transmit_type", "target_line_rate", "flows", 0),
    ),
)
RC = "connection_type", "reliable_connection"
ADDRESS = "devices", 0, "ethernets", 0, "ipv4_addresses", 0
INTERFACE = "devices", 0, "rocev2", "ipv4_interfaces", 0
PEER = (*INTERFACE, "peers", 0)
QP = (*PEER, "qps", 0)


def message(pairs: int = 1) -> dict[str, Any]:
    """Configuration of a snappi client: a device per port, and a flow from left to right."""
    from tests.orchestrator.otg.rocev2_in_namespace import add_flows, devices, settings

    config = devices(snappi.api(location="http://127.0.0.1:1"), pairs)
    own = settings(config, "left")
    assert own.dcqcn_settings.enable_dcqcn
    assert own.cnp.ip_dscp.value == 48
    assert own.connection_type.reliable_connection.ack.ip_dscp.value == 48
    ends = [(f"flow {n}", f"left {n}", f"right {n}") for n in range(pairs)]
    add_flows(config, "left", 98, *ends)
    found: dict[str, Any] = json.loads(config.serialize("json"))
    return found


def place(given: Any, *path: Any) -> Any:
    for key in path:
        given = given.setdefault(key, {}) if isinstance(given, dict) else given[key]
    return given


def read(given: dict[str, Any]) -> Rocev2Config:
    return read_config(given, INTERFACES).roce


def sentences(given: dict[str, Any]) -> list[str]:
    with pytest.raises(OtgError) as caught:
        read(given)
    return caught.value.sentences


def test_settings_that_are_left_out_are_the_defaults_of_the_model() -> None:
    given = message()
    bare = copy.deepcopy(given)
    del bare["options"]
    (flow,), (same,) = read(given).flows, read(bare).flows
    assert flow.sending == same.sending == same.receiving
    assert (flow.sending.cnp_tos, flow.sending.ack_tos) == (48 << 2 | 1, 48 << 2 | 1)
    assert flow.source.tos == 24 << 2 | 1
    assert flow.rate_bps == 98 * 10**8
    assert (flow.octets, flow.operation) == (10**6, "write")
    assert flow.hops == (bytes.fromhex("020000000002"), bytes.fromhex("020000000001"))


@pytest.mark.parametrize(
    ("key", "value", "field", "expected"),
    [
        ("alpha_g", 1000, "g", "24/1024"),
        ("initial_alpha", 512, "initial_alpha", "1/2"),
        ("alpha_update_period", 7, "alpha_time", 7 * 10**6),
        ("rate_reduction_time_period", 5, "cut_interval", 5 * 10**6),
        ("minimum_rate_limmit", 2.5, "min_rate", 25 * 10**7),
        ("maximum_rate_decrement_at_time", 30, "least_share", "70/100"),
        ("clamp_target_rate", True, "clamp_target", True),
        ("rate_increment_time", 99, "increase_time", 99 * 10**6),
        ("rate_increment_byte_counter", 1000, "byte_reset", 1000),
        ("rate_increment_threshold", 3, "threshold", 3),
        ("additive_increment_rate", 0.5, "ai_rate", 5 * 10**7),
        ("hyper_increment_rate", 1.0, "hai_rate", 10**8),
    ],
)
def test_each_dcqcn_setting_is_a_parameter_of_the_reaction_point(
    key: str, value: Any, field: str, expected: Any
) -> None:
    from fractions import Fraction

    params = Registry.load().find("reaction_point", "dcqcn-rp").params
    given = message()
    (plain,) = read(given).flows
    place(given, *PORT, "dcqcn_settings")[key] = value
    (flow,) = read(given).flows
    before, after = (
        params.from_table(dict(one.sending.reaction or {}), "x") for one in (plain, flow)
    )
    found = getattr(after, field)
    assert found == (Fraction(expected) if isinstance(expected, str) else expected)
    changed = {n for n in params.model_fields if getattr(before, n) != getattr(after, n)}
    assert changed == {field}


def test_the_other_settings() -> None:
    given = message()
    place(given, *PORT, "dcqcn_settings")["initial_rate_after_first_cnp"] = 10.0
    place(given, *PORT, "cnp")["cnp_delay_timer"] = 9
    place(given, *PORT, *RC)["retransmission_timeout_value"] = 12
    place(given, *PORT, *RC)["retransmission_retry_count"] = 2
    place(given, *FLOW).update(message_size=3, message_size_unit="gb")
    assert "at most 2147483648 bytes" in sentences(given)[0]
    place(given, *FLOW).update(message_size=3, message_size_unit="kb")
    (flow,) = read(given).flows
    assert flow.sending.first_rate_bps == 10**9
    assert flow.sending.notification["interval"] == "9us"
    assert flow.sending.connection == {"timeout": "12ms", "retry_count": 2}
    assert flow.octets == 3000
    place(given, *PORT, "dcqcn_settings")["enable_dcqcn"] = False
    assert read(given).flows[0].sending.reaction is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ((*FLOW, "rocev2_verb"), {"choice": "read"}, "rocev2_verb.read"),
        ((*FLOW, "rx_endpoint"), "right", "rx_endpoint"),
        ((*FLOW, "tx_endpoint"), "right 0", "tx_endpoint"),
        ((*FLOW, "message_size"), 0, "message_size"),
        ((*INTERFACE, "ib_mtu"), 1500, "ib_mtu"),
        ((*INTERFACE, "ib_mtu"), 2048, "ib_mtu"),
        ((*INTERFACE, "ipv4_name"), "nobody", "ipv4_name"),
        ((*PEER, "destination_ip_address"), "192.0.2.9", "rx_endpoint"),
        ((*QP, *RC, "source_qp_number"), 1 << 24, "source_qp_number"),
        ((*QP, *RC, "initial_psn"), 1 << 24, "initial_psn"),
        ((*QP, *RC, "remote_key"), "xyz", "remote_key"),
        ((*QP, *RC, "ecn"), "both", "ecn"),
        ((*ADDRESS, "address"), "2001:db8::1", "address"),
        (("devices", 0, "ethernets", 0, "mac"), "", "mac"),
        (("devices", 0, "ethernets", 0, "vlans"), [{"name": "v", "id": 7}], "vlans"),
        (("devices", 0, "rocev2", "ipv6_interfaces"), [{}], "ipv6_interfaces"),
        (("devices", 0, "bgp"), {"router_id": "1.1.1.1"}, "bgp"),
        ((*PORT, *RC, "enable_retransmission_timeout"), False, "enable_retransmission_timeout"),
        ((*PORT, *RC, "retransmission_retry_count"), 8, "retransmission_retry_count"),
        ((*PORT, "dcqcn_settings", "rate_increment_byte_counter"), 63, "byte_counter"),
        ((*PORT, "cnp", "choice"), "pcp", "cnp.pcp"),
        (("options", "flow_options"), {"x": 1}, "flow_options"),
    ],
)
def test_what_is_wrong_or_not_supported_is_named(path: Any, value: Any, named: str) -> None:
    given = message()
    place(given, *path[:-1])[path[-1]] = value
    assert any(named in sentence.split(": ")[0] for sentence in sentences(given))


def test_a_gateway_that_is_no_device_needs_its_mac_address() -> None:
    given = message()
    address = place(given, *ADDRESS)
    address.update(gateway="192.0.2.254", prefix=31, address="192.0.2.5")
    other = place(given, "devices", 1, "rocev2", "ipv4_interfaces", 0, "peers", 0)
    other["destination_ip_address"] = "192.0.2.5"
    assert "gateway_mac.value is expected" in sentences(given)[0]
    address["gateway_mac"] = {"choice": "value", "value": "02:00:00:00:00:99"}
    assert read(given).flows[0].hops[0] == bytes.fromhex("020000000099")


def test_queue_pairs_have_one_flow_each_and_names_are_used_once() -> None:
    given = message(2)
    flows = place(given, *FLOW[:-1])
    flows[1]["tx_endpoint"] = "left 0"
    assert "flow flow 0 has this QP already" in sentences(given)[0]
    flows[1].update(name="flow 0", tx_endpoint="left 1")
    assert "a name that no other flow has" in sentences(given)[0]
    flows[1]["name"] = "flow 1"
    assert [flow.rate_bps for flow in read(given).flows] == [49 * 10**8] * 2, "they share the rate"
    place(given, *PEER, "qps", 1, *RC)["source_qp_number"] = 10
    assert "another QP has its source_qp_number" in sentences(given)[0]


def test_the_number_of_queue_pairs_is_bounded() -> None:
    assert "at most 256 of 512 are expected" in sentences(message(MOST_PAIRS + 1))[0]


def test_columns_are_those_of_the_model() -> None:
    model = snappi.snappi
    columns = model.Rocev2FlowColumnNames._TYPES["column_names"]["enum"]
    assert set(columns) == set(PAIR_COLUMNS) == set(model.Rocev2FlowMetricPerQP._TYPES)
    assert set(PEER_COLUMNS) < set(model.Rocev2IPv4MetricPerPeer._TYPES)
