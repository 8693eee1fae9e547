"""Configurations of the OTG model: defaults, what is refused by name, sizes, rates, durations."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.otg.frame_template import FrameTemplate, Modifier
from orchestrator.otg.header_fields import HEADERS, parse_value
from orchestrator.otg.otg_config import OtgConfig, read_config
from orchestrator.otg.otg_ports import Interface
from orchestrator.otg.otg_reader import OtgError
from orchestrator.otg.otg_server import read_options
from orchestrator.otg.port_interfaces import parse_ports

INTERFACES = {"p1": Interface("veth1", 10**10, 1500), "p2": Interface("veth2", 10**10, 1500)}
UDP = [{"choice": "ethernet"}, {"choice": "ipv4"}, {"choice": "udp"}]
PFC = [{"choice": "pfcpause", "pfcpause": {"class_enable_vector": {"value": 8}}}]


def message(**flow: Any) -> dict[str, Any]:
    ends = {"port": {"tx_name": "left", "rx_names": ["right"]}}
    return {
        "ports": [{"name": "left", "location": "p1"}, {"name": "right", "location": "p2"}],
        "flows": [{"name": "f", "tx_rx": ends, "packet": copy.deepcopy(UDP)} | flow],
    }


def read(**flow: Any) -> OtgConfig:
    return read_config(message(**flow), INTERFACES)


def sentences(given: dict[str, Any]) -> list[str]:
    with pytest.raises(OtgError) as caught:
        read_config(given, INTERFACES)
    assert caught.value.message()["code"] == 400
    return caught.value.sentences


def test_the_defaults_of_all_fields_are_those_of_the_model() -> None:
    snappi = pytest.importorskip("snappi").snappi
    checked = 0
    for header, fields in HEADERS.items():
        middle = {"ipv4": "Ipv4", "ipv6": "Ipv6", "pfcpause": "PfcPause"}.get(header)
        middle = middle or ("EthernetPause" if header == "ethernetpause" else header.capitalize())
        flow_class = getattr(snappi, f"Flow{middle}")
        for field in fields:
            if "." in field.name or "checksum" in field.name:
                continue
            pattern = getattr(snappi, flow_class._TYPES[field.name]["type"])
            default = pattern._DEFAULTS["auto" if "auto" in pattern._DEFAULTS else "value"]
            assert parse_value(default, field) == field.default, (header, field.name)
            assert field.auto or "auto" not in pattern._DEFAULTS or field.notation != "number"
            checked += 1
        assert {f.name.partition(".")[0] for f in fields} <= set(flow_class._TYPES), header
    assert checked == 48


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"packet": [{"choice": "tcp", "tcp": {}}]}, "flows[0].packet[0].tcp is not supported"),
        ({"packet": [*UDP, {"choice": "vlan"}]}, "flows[0].packet[3].vlan: 'vlan' is not accepted"),
        ({"packet": []}, "flows[0].packet: 'no header'"),
        ({"payload": {"choice": "fixed"}}, "flows[0].payload is not supported"),
        ({"egress_packet": [{}]}, "flows[0].egress_packet is not supported"),
        ({"size": {"choice": "weight_pairs"}}, "flows[0].size.weight_pairs is not supported"),
        ({"size": {"fixed": 40}}, "flows[0].size.fixed: '40'"),
        ({"size": {"fixed": 1519}}, "flows[0].size.fixed: '1519'"),
        ({"size": {"random": {"min": 900, "max": 100}}}, "flows[0].size.random.max: '100'"),
        ({"rate": {"percentage": 101}}, "flows[0].rate.percentage: '101'"),
        ({"rate": {"pps": "0"}}, "flows[0].rate.pps: '0'"),
        ({"duration": {"continuous": {"gap": 13}}}, "flows[0].duration.continuous.gap"),
        ({"duration": {"burst": {"packets": 0}}}, "flows[0].duration.burst.packets: '0'"),
        ({"metrics": {"rx_tx_ratio": {}}}, "flows[0].metrics.rx_tx_ratio is not supported"),
        ({"metrics": {"latency": {"mode": "cut_through"}}}, "flows[0].metrics.latency.mode"),
        ({"tx_rx": {"device": {}}}, "flows[0].tx_rx.device is not supported"),
        ({"tx_rx": {"port": {"tx_name": "no"}}}, "flows[0].tx_rx.port.tx_name: 'no'"),
        ({"name": ""}, "flows[0].name: ''"),
    ],
)
def test_what_is_wrong_or_not_supported_is_refused_by_its_path(
    change: dict[str, Any], path: str
) -> None:
    assert any(s.startswith(path) for s in sentences(message(**change))), sentences(
        message(**change)
    )


@pytest.mark.parametrize(
    ("header", "field", "value", "path"),
    [
        (0, "dst", {"value": "nothing"}, "dst.value: 'nothing'"),
        (0, "pfc_queue", {"value": 3}, "pfc_queue is not supported"),
        (1, "src", {"values": ["10.0.0.256"]}, "src.values: '10.0.0.256'"),
        (1, "src", {"increment": {"count": 70_000}}, "src.increment.count: '70000'"),
        (1, "src", {"metric_tags": [{"name": "x"}]}, "src.metric_tags is not supported"),
        (1, "time_to_live", {"value": 256}, "time_to_live.value: '256'"),
        (1, "options", [{"choice": "router_alert"}], "options is not supported"),
        (1, "priority", {"tos": {}}, "priority.tos is not supported"),
        (2, "checksum", {"generated": "fine"}, "checksum.generated: 'fine'"),
    ],
)
def test_fields_of_headers_are_refused_by_their_path(
    header: int, field: str, value: Any, path: str
) -> None:
    given = message()
    kind = given["flows"][0]["packet"][header]["choice"]
    given["flows"][0]["packet"][header][kind] = {field: value}
    assert [s for s in sentences(given) if s.startswith(f"flows[0].packet[{header}].{kind}.{path}")]


def test_other_parts_of_a_configuration_are_refused_by_their_name() -> None:
    for key in ("lags", "lldp", "egress_only_tracking", "events"):
        assert sentences(message() | {key: [{"name": "x"}]}) == [f"{key} is not supported"]
    given = message()
    given["ports"][1]["location"] = "p1"
    assert "another port has it" in sentences(given)[0]
    given["ports"][1]["location"] = "p9"
    assert "p1, p2 are served" in sentences(given)[0]
    twice = message()
    twice["flows"].append(twice["flows"][0])
    assert "is used twice" in sentences(twice)[0]
    link = message() | {"layer1": [{"port_names": ["left"], "auto_negotiate": True}]}
    assert sentences(link) == ["layer1[0].auto_negotiate is not supported"]
    kept = message() | {"captures": [{"port_names": ["left"], "filters": [{}]}]}
    assert sentences(kept) == ["captures[0].filters is not supported"]


def test_a_flow_without_room_for_a_stamp_has_no_latency_but_frames() -> None:
    latency = {"enable": True, "latency": {"enable": True}}
    assert "at least 62 has room" not in str(read(metrics=latency).flows[0])
    vlan = [UDP[0], {"choice": "vlan"}, *UDP[1:]]
    (problem,) = sentences(message(packet=vlan, metrics=latency))
    assert problem.startswith("flows[0].metrics.latency is not supported for this flow; a size of")
    assert "at least 66" in problem
    assert read(packet=vlan, metrics=latency, size={"fixed": 66}).flows[0].stamped
    (problem,) = sentences(message(packet=PFC, metrics=latency))
    assert "PAUSE and PFC frames have no room" in problem
    plain = read(packet=PFC, metrics={"enable": True}).flows[0]
    assert (plain.metrics, plain.stamped) == (True, False)


def test_flows_that_no_receiver_could_tell_apart_are_refused() -> None:
    given = message(packet=PFC, metrics={"enable": True})
    other = copy.deepcopy(given["flows"][0]) | {"name": "g"}
    given["flows"].append(other)
    assert "the same headers and no room" in sentences(given)[0]
    other["packet"][0]["pfcpause"]["class_enable_vector"]["value"] = 16
    assert len(read_config(given, INTERFACES).flows) == 2


def test_rates_are_of_layer_1_and_sizes_count_the_fcs() -> None:
    assert read(rate={"pps": "250"}).flows[0].interval_ps == 4 * 10**9
    assert read(rate={"percentage": 12.5}).flows[0].rate_bps == 1_250_000_000
    assert read(rate={"mbps": "3"}).flows[0].rate_bps == 3_000_000
    gap = {"bursts": 2, "packets": 3, "inter_burst_gap": {"microseconds": 5}}
    burst = read(duration={"burst": gap}).flows[0]
    assert (burst.bursts, burst.burst_frames, burst.burst_gap_ps) == (2, 3, 5 * 10**6)
    by_octets = {"burst": {"packets": 3, "inter_burst_gap": {"bytes": 1250}}}
    assert read(duration=by_octets).flows[0].burst_gap_ps == 10**6, "1250 octets at 10 Gb/s"
    assert read(duration={"fixed_seconds": {"seconds": 0.5}}).flows[0].length_ps == 10**12 // 2


def test_a_nominal_speed_is_taken_and_warned_of() -> None:
    speed = message(rate={"percentage": 10}) | {
        "layer1": [{"port_names": ["left"], "speed": "speed_100_gbps", "mtu": 9000}]
    }
    config = read_config(speed, INTERFACES)
    assert config.flows[0].rate_bps == 10**10
    assert [w.split(":")[0] for w in config.warnings] == ["layer1[0].speed", "layer1[0].mtu"]


def test_patterns_are_written_as_pieces_of_up_to_32_bits() -> None:
    packet = copy.deepcopy(UDP)
    packet[0]["ethernet"] = {"dst": {"decrement": {"start": "00:00:00:00:00:01", "count": 3}}}
    packet[1]["ipv4"] = {"src": {"random": {"min": "10.0.0.1", "max": "10.0.0.9", "count": 50}}}
    template: FrameTemplate = read(packet=packet).flows[0].template
    low, high, source = template.modifiers
    assert low == Modifier(16, 32, (1, 0, 0xFFFFFFFF))
    assert high == Modifier(0, 16, (0, 0, 0xFFFF))
    assert set(source.values) <= set(range(0x0A000001, 0x0A00000A))
    assert len(set(source.values)) > 4
    assert (template.mask[:6], template.mask[26:30]) == (b"\0" * 6, b"\0" * 4)


@pytest.mark.parametrize(
    ("ports", "accepted"),
    [
        (["veth1"], "LOCATION=INTERFACE"),
        (["p1=veth1@fast"], "'p1=veth1@fast'"),
        (["p1=veth1@1kb/s"], "1Mb/s to 1000Gb/s"),
        (["p1=veth1", "p2=veth1"], "each location and interface is, once"),
        (["p1=veth1", "p1=veth2"], "each location and interface is, once"),
        ([], "1 to 64 ports"),
    ],
)
def test_ports_of_the_command_line_are_refused_with_their_text(
    ports: list[str], accepted: str
) -> None:
    with pytest.raises(BadInput, match="--port") as caught:
        parse_ports(ports)
    assert accepted in str(caught.value)


def test_addresses_tokens_and_tls_of_the_command_line(tmp_path: Any) -> None:
    def options(listen: str = "0", grpc: str | None = None, token: Any = None, *tls: Any) -> Any:
        return read_options(["p1=veth1@10Gb/s"], listen, grpc, token, (tls or (None, None)), False)

    good, short = tmp_path / "good", tmp_path / "short"
    good.write_text("0123456789abcdef\n")
    short.write_text("secret")
    made = options("127.0.0.1:8443", "127.0.0.1:40051")
    assert (made.listen, made.grpc) == (("127.0.0.1", 8443), ("127.0.0.1", 40051))
    assert made.ports == {"p1": ("veth1", 10**10)}
    assert options("0.0.0.0:1", None, good).token == "0123456789abcdef"
    for given, sentence in (
        (("0.0.0.0:8443",), "--listen: '0.0.0.0:8443' is not accepted without --token-file"),
        (("nowhere",), "--listen: 'nowhere' is not accepted; IP:PORT"),
        (("0", "0.0.0.0:1"), "--grpc: '0.0.0.0:1' is not accepted"),
        (("0", "1", good), "--grpc: '1' is not accepted"),
        (("0", None, short), "a token of 16 to 256 letters"),
        (("0", None, tmp_path / "none"), "cannot be read"),
        (("0", None, None, good, None), "one without the other"),
    ):
        with pytest.raises(BadInput) as caught:
            options(*given)
        assert sentence in str(caught.value)


def test_files_that_are_no_certificate_are_refused(tmp_path: Any) -> None:
    pytest.importorskip("aiohttp")
    pytest.importorskip("snappi")
    from orchestrator.otg.rest_server import authorized, tls_context

    wrong = tmp_path / "wrong"
    wrong.write_text("0123456789abcdef")
    for path in (wrong, tmp_path / "none"):
        with pytest.raises(BadInput, match="a certificate and its key in PEM are expected"):
            tls_context(str(path), str(path))
    token = "0123456789abcdef"
    right = ("Bearer 0123456789abcdef", "Basic b3RnOjAxMjM0NTY3ODlhYmNkZWY=")
    refused = (None, "", "Bearer", "Bearer 0123456789abcde", "Basic b3RnOg==", "Basic ###", token)
    assert all(authorized(header, token) for header in right)
    assert not any(authorized(header, token) for header in refused)
