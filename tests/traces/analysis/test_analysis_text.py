"""Terminal tables of an analysis: every sentence and row, from results whose values are known."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from traces.analysis.analysis_result import (
    Analysis,
    CaptureSeen,
    Cause,
    ClockSeen,
    CongestionPointSeen,
    Fairness,
    FlowSeen,
    HopSeen,
    InterfaceSeen,
    NeighbourSeen,
    PauseSeen,
    ProbesSeen,
    StampsSeen,
)
from traces.analysis.analysis_text import (
    MOST_INTERFACES,
    MOST_ROWS,
    TLVS,
    clock_lines,
    order_lines,
    show,
)
from traces.capture.time_order import WINDOW


def interface(**changes: Any) -> InterfaceSeen:
    values: dict[str, Any] = {
        "name": "nic.switch",
        "seconds": 0.25,
        "frames": {"data": 3, "cnm": 0, "pause": 1},
        "octets": 4500,
        "capture_drops": 0,
        "feedback": {},
        "pauses": 0,
        "resumes": 0,
        "flows": [],
    }
    return InterfaceSeen(**(values | changes))


def lines(analysis: Analysis) -> list[str]:
    """Printed lines, with single spaces; rules of tables left out."""
    file = io.StringIO()
    show(analysis, Console(file=file, width=400, color_system=None))
    found = (" ".join(line.split()) for line in file.getvalue().splitlines())
    return [line for line in found if line.strip("─━-═ ")]


def of(**changes: Any) -> list[str]:
    return lines(Analysis("file", [interface(**changes)]))


def test_an_interface_has_its_name_and_its_frames() -> None:
    assert of() == ["nic.switch", "3 data, 1 pause; 4.5 KB in 250 ms"]
    assert of(frames={"data": 0}, octets=0, seconds=0.0)[1].startswith("no frames; 0")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"linktype": 105},
            "link type 105: only Ethernet (1), Linux cooked captures (113, 276), BSD loopback "
            "(0, 108) and raw IP (101) are dissected",
        ),
        ({"capture_drops": None}, "the file does not state whether the capture lost frames"),
        ({"capture_drops": 7}, "the capture lost 7 frames: gaps may be its own"),
        (
            {"link_errors": {"crc": 2, "too_short": 1}},
            "frames received with errors of the link: 2 crc, 1 too short",
        ),
        (
            {"untimed": 4},
            "4 frames have a time beyond the year 2262: they count, without one",
        ),
        ({"fcs_octets": 4}, "frames end with 4 octets of FCS, which are not counted"),
        (
            {"fcs_octets": 4, "fcs_unstated": True},
            "frames end with 4 octets of FCS, which are not counted; the file does not state them, "
            "but they are the CRC of the first frames",
        ),
        (
            {"transmit_bps": 10**9, "receive_bps": 2 * 10**9},
            "link: sends at 1 Gb/s, receives at 2 Gb/s",
        ),
        ({"feedback": {63: 1, 3: 2}}, "feedback of 3 CNMs: 3 to 63, mean 23.0 (of 63)"),
        ({"pauses": 2}, "PAUSE: 2 to pause, 0 to resume"),
        ({"resumes": 1}, "PAUSE: 0 to pause, 1 to resume"),
        ({"ce": 5}, "ECN: 5 frames marked (CE)"),
        (
            {"jain": 0.5, "fairness": Fairness(0.5, 4, ["tcp", "udp"], 0)},
            "fairness (Jain): 0.5000 of 4 data flows (tcp, udp) in the busier direction",
        ),
        (
            {"jain": 1.0, "fairness": Fairness(1.0, 2, ["data"], 3)},
            "fairness (Jain): 1.0000 of 2 data flows (data) in the busier direction; 3 others are "
            "not compared",
        ),
    ],
)
def test_a_sentence_stands_for_each_thing_that_a_file_states(
    changes: dict[str, Any], line: str
) -> None:
    assert of(**changes)[2:] == [line]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"frames": 40, "data_frames": 40, "duplicates": 20},
            "nearly every frame of one flow is there twice, as by a mirror of two ports or "
            "directions: frames and rates are double",
        ),
        (
            {"restarts": 3},
            "RoCE: numbering began anew 3 times, as that of a new connection of a queue pair does: "
            "what was lost meanwhile is not known",
        ),
    ],
)
def test_a_sentence_stands_for_what_numbers_say_of_the_capture(
    changes: dict[str, Any], line: str
) -> None:
    figures = {"frames": 9, "throughput_bps": None, "lost": 0, "duplicates": 0, "reordered": 0}
    one = FlowSeen("02:01", None, kind="roce", **(figures | changes))
    assert line in of(conversations=[one])


@pytest.mark.parametrize("rates", [{"transmit_bps": 10**9}, {"receive_bps": 10**9}])
def test_one_direction_of_a_link_may_be_unknown(rates: dict[str, int]) -> None:
    (line,) = of(**rates)[2:]
    assert line.count("1 Gb/s") == 1
    assert ("sends at 1 Gb/s" in line) == ("transmit_bps" in rates)


def flow(**changes: Any) -> FlowSeen:
    values: dict[str, Any] = {
        "source": "02:01",
        "flow": None,
        "frames": 9,
        "throughput_bps": 2e9,
        "lost": 1,
        "duplicates": 2,
        "reordered": 3,
        "ce": 4,
    }
    return FlowSeen(**(values | changes))


def test_flows_of_ours_have_their_number_and_their_losses() -> None:
    found = of(flows=[flow(flow=6), flow(flow=7, lost=None, duplicates=None, reordered=None)])
    assert found[2] == "source flow frames rate lost duplicate reordered CE"
    assert found[3:] == ["02:01 6 9 2 Gb/s 1 2 3 4", "02:01 7 9 2 Gb/s - - - 4"]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"destination": "02:02", "ethertype": 0x88CC, "kind": "other"}, "02:01 02:02 type 0x88cc"),
        ({"source": "", "kind": "other", "ethertype": -1}, "? ? not dissected"),
        ({"kind": "other", "ethertype": 0}, "02:01 ? no EtherType"),
        (
            {
                "from_address": "10.0.0.1",
                "to_address": "10.0.0.2",
                "protocol": 6,
                "source_port": 0,
                "destination_port": 80,
                "kind": "other",
            },
            "10.0.0.1 port 0 10.0.0.2 port 80 TCP",
        ),
        (
            {"protocol": 17, "kind": "other", "vlan": 5},
            "02:01 ? UDP without ports (later fragments, or cut), VLAN 5",
        ),
        ({"protocol": 47, "kind": "other", "vlan": 0}, "02:01 ? IP protocol 47, VLAN 0"),
        ({"protocol": 17, "kind": "roce", "qp": 17}, "02:01 ? roce QP 0x11"),
        ({"kind": "roce", "qp": 0}, "02:01 ? roce QP 0x0"),
        ({"kind": "x", "tunnel": "vxlan", "network": 0}, "02:01 ? x, in vxlan 0"),
        ({"kind": "x", "tunnel": "gre"}, "02:01 ? x, in gre"),
    ],
)
def test_conversations_are_named_by_what_is_known_of_them(
    changes: dict[str, Any], text: str
) -> None:
    found = of(conversations=[flow(**changes)])
    assert found[2] == "from to what frames rate lost duplicate reordered CE"
    assert found[3:] == [f"{text} 9 2 Gb/s 1 2 3 4"]


def test_messages_have_feedback_offset_and_growth() -> None:
    point = CongestionPointSeen(
        cpid="0a0b",
        source="02:03",
        messages=7,
        feedback={1: 7},
        feedback_mean=12.34,
        offset_bytes={"mean": 2.0, "min": -1.4, "max": 3.6},
        delta_bytes={"mean": 5.0, "min": 4.0, "max": 6.0},
    )
    found = of(congestion_points=[point])
    columns = "congestion point source CNMs feedback offset B mean max delta B mean max"
    assert found[2:] == [columns, "0a0b 02:03 7 12.3 -1 2 4 4 5 6"]


def pause(**changes: Any) -> PauseSeen:
    values: dict[str, Any] = {
        "source": "02:04",
        "direction": "in",
        "priority": None,
        "frames": 8,
        "resumes": 2,
        "quanta": 65535,
        "paused_s": 0.5,
        "duty": 0.1234,
        "spells": 3,
        "longest_s": 0.25,
        "storms": 1,
        "lapses": 4,
        "longest_lapse_s": 0.001,
        "lapsed_share": 0.01234,
    }
    return PauseSeen(**(values | changes))


UNKNOWN = dict.fromkeys(
    ("paused_s", "duty", "spells", "longest_s", "storms", "lapses", "longest_lapse_s"), None
)


def test_pauses_have_their_times_where_the_rate_is_known() -> None:
    columns = (
        "pause from way priority frames resumes paused duty spells longest storms lapses longest "
        "share"
    )
    times = "500 ms 12.3% 3 250 ms 1 4 1 ms 1.23%"
    found = of(links=[pause(), pause(priority=0, storms=0)])
    assert found[2] == columns
    assert found[3] == f"02:04 in all 8 2 {times}"
    assert found[4] == "02:04 in 0 8 2 500 ms 12.3% 3 250 ms 0 4 1 ms 1.23%"
    assert len(found) == 5
    found = of(links=[pause(), pause(**UNKNOWN, lapsed_share=None)])
    assert found[4].split()[:5] == ["02:04", "in", "all", "8", "2"]
    assert set(found[4].split()[5:]) <= {"-", "–", "?"}
    assert len(found[4].split()) == 13
    assert found[5] == "the link's rate is not known: give it with --rate for pause times"


def test_probes_have_the_rates_that_they_carried() -> None:
    rates = {"min": 1e9, "mean": 2e9, "max": 3e9, "last": 4e9}
    found = of(probes=[ProbesSeen("02:05", "02:06", 3, "back", 10, 1, 2, rates)])
    assert found[2] == "probes from flow way probes lost reordered rate mean max last"
    assert found[3:] == ["02:05 3 back 10 1 2 1 Gb/s 2 Gb/s 3 Gb/s 4 Gb/s"]


def test_stamps_have_their_places_once() -> None:
    queued = {"min": 0.4, "mean": 1.6, "max": 9.0}
    stamps = [
        StampsSeen("02:07", "forward", 5, [2, 1], queued, 10**9),
        StampsSeen("02:08", "back", 6, [3, 3], queued, 10**9),
    ]
    found = of(stamps=stamps)
    assert found[2] == "stamps of way stamps place queued mean max rate"
    assert found[3:] == ["02:07 forward 5 1-2 0 2 9 1 Gb/s", "02:08 back 6 3 0 2 9 1 Gb/s"]


def test_neighbours_have_a_row_for_each_tlv_and_note() -> None:
    says = {
        "pfc": {"willing": True, "classes": 8, "enabled": [3, 4]},
        "ets": {"willing": False, "bandwidths": []},
        "applications": {
            "entries": [{"selector": "ethertype", "protocol": 2048, "priorities": [1, 2]}]
        },
    }
    seen = [
        NeighbourSeen("02:09", 4, 1, says, ["contradicts itself"]),
        NeighbourSeen("02:0a", 2, 0, {}),
        NeighbourSeen("02:0b", 1, 0, {}, ["old version"]),
    ]
    found = of(neighbours=seen)
    assert found[2] == "LLDP from frames changes DCBX says"
    assert found[3:] == [
        "02:09 4 1 PFC willing yes, classes 8, enabled 3 4",
        "02:09 4 1 ETS configuration willing no, bandwidths none",
        "02:09 4 1 application priorities entries (ethertype 2048: 1 2)",
        "02:09 4 1 note contradicts itself",
        "02:0b 1 0 note old version",
        "02:0a 2 0 -",
    ]
    assert len(set(TLVS.values())) == len(TLVS)


RATES = ("min", "mean", "max", "last")
MANY: list[dict[str, Any]] = [
    {"flows": [flow(flow=n) for n in range(MOST_ROWS + 3)]},
    {"conversations": [flow(flow=n) for n in range(MOST_ROWS + 3)]},
    {"links": [pause(frames=n) for n in range(MOST_ROWS + 3)]},
    {
        "probes": [
            ProbesSeen(
                "a", "b", n, "back", 1, 0, 0, dict.fromkeys(("min", "mean", "max", "last"), 0)
            )
            for n in range(MOST_ROWS + 3)
        ]
    },
    {"neighbours": [NeighbourSeen("02:0a", n, 0, {}) for n in range(MOST_ROWS + 3)]},
    {
        "stamps": [
            StampsSeen("a", "back", n, [1], dict.fromkeys(("min", "mean", "max"), 0), 0)
            for n in range(MOST_ROWS + 3)
        ]
    },
    {
        "congestion_points": [
            CongestionPointSeen(
                *("a", "b", n, {}, 0.0),
                *(dict.fromkeys(("min", "mean", "max"), 0.0) for _ in range(2)),
            )
            for n in range(MOST_ROWS + 3)
        ]
    },
]


@pytest.mark.parametrize("changes", MANY, ids=lambda one: next(iter(one)))
def test_rows_beyond_the_most_are_counted(changes: dict[str, Any]) -> None:
    found = of(**changes)
    assert found[-1] == "and 3 more: see --json"
    assert len(found) == 2 + 1 + MOST_ROWS + 1
    ((name, rows),) = changes.items()
    assert not any(" more: " in line for line in of(**{name: rows[:MOST_ROWS]}))


def test_interfaces_beyond_the_most_are_counted() -> None:
    found = lines(Analysis("file", [interface()] * (MOST_INTERFACES + 2)))
    assert found.count("nic.switch") == MOST_INTERFACES
    assert found[-1] == "... and 2 more interfaces; --json has all of them"
    assert lines(Analysis("file", [interface()] * MOST_INTERFACES))[-1] != found[-1]
    assert MOST_INTERFACES == 200


def test_frames_without_a_row_of_their_own_are_counted() -> None:
    found = lines(
        Analysis(
            "file",
            [],
            more_flows=1,
            more_messages=2,
            more_pauses=3,
            more_probes=4,
            more_lldp=5,
            more_stamps=6,
            undrawn_messages=7,
            undrawn_spells=8,
            undrawn_probes=9,
        )
    )
    rest = "are in the sums, but not in figures and Parquet tables, which hold the first ones"
    assert found == [
        "1 frames of further flows are counted without details",
        "2 CNMs of further congestion points are counted without details",
        "3 pause frames of further senders are counted without details",
        "4 probes of further flows are counted without details",
        "5 LLDP frames of further stations are counted without details",
        "6 stamps of further ports are counted without details",
        f"7 further CNMs {rest}",
        f"8 further spells of pauses {rest}",
        f"9 further probes {rest}",
    ]
    assert lines(Analysis("file", [])) == []
    (nothing,) = lines(Analysis("file", [], [CaptureSeen("a.pcapng", "pcapng", 0, None)]))
    assert nothing == "no interfaces, so no frames"


@pytest.mark.parametrize(
    ("unsorted", "end"),
    [
        (0, "; sorted by time"),
        (4, "; order in time is that of the input (save it to a file to have it sorted)"),
        (1, f"; sorted within {WINDOW} frames, of which 1 were too late"),
    ],
)
def test_files_that_are_out_of_order_are_named(unsorted: int, end: str) -> None:
    captures = [
        CaptureSeen("a.pcap", "pcap", 100, None),
        CaptureSeen("b.pcap", "pcap", 100, None, backward=4, unsorted=unsorted),
    ]
    analysis = Analysis("a.pcap", [], captures)
    text = f"b.pcap: 4 of 100 frames are earlier than one before them{end}"
    assert order_lines(analysis) == [text]
    assert lines(analysis) == [text]


def clock(**changes: Any) -> ClockSeen:
    values: dict[str, Any] = {
        "first": "a",
        "second": "b",
        "frames": 10,
        "verdict": "agree",
        "offset_s": 2e-6,
        "uncertainty_s": 5e-6,
        "drift_ppm": None,
        "corrected": False,
        "least_s": 0.003,
    }
    return ClockSeen(**(values | changes))


AHEAD = "clocks of a and b: the second is ahead by 2 us (within 5 us)"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, f"{AHEAD}, which no frame contradicts being 0: not corrected"),
        ({"verdict": "differ", "corrected": True}, f"{AHEAD}; times are corrected"),
        ({"verdict": "differ"}, f"{AHEAD}; not corrected"),
        (
            {"verdict": "differ", "corrected": True, "drift_ppm": 1.2345},
            f"{AHEAD} and gains 1.23 ppm; times are corrected",
        ),
        (
            {"verdict": "differ", "offset_s": -2e-6, "drift_ppm": -1.2345},
            f"{AHEAD.replace('ahead', 'behind')} and loses 1.23 ppm; not corrected",
        ),
        (
            {"verdict": "unverified"},
            "clocks of a and b: frames went one way only, so that they cannot be compared: latency "
            "and its direction hold if the clocks are synchronised",
        ),
        (
            {"verdict": "contradict"},
            "clocks of a and b: they differ, by the TTL of frames, at least 3 ms; frames went one "
            "way only, so that latency is not known",
        ),
        (
            {"verdict": "absurd"},
            "clocks of a and b: they differ, or frames took, at least 3 ms; frames went one way "
            "only, so that latency is not known",
        ),
    ],
)
def test_a_sentence_stands_for_each_pair_of_clocks(changes: dict[str, Any], text: str) -> None:
    analysis = Analysis("file", [], clocks=[clock(**changes)])
    assert [line.replace("µs", "us") for line in clock_lines(analysis)] == [text]
    assert [line.replace("µs", "us") for line in lines(analysis)] == [text]


def test_latencies_have_their_points_and_percentiles() -> None:
    latency = {"min": 0.001, "mean": 0.002, "p50": 0.003, "p99": 0.004, "max": 0.005}
    hops = [HopSeen("a", "b", "02:01", number, 7, latency, 0) for number in (0, None)]
    found = lines(Analysis("file", [], latency=hops))
    assert found[0] == "latency"
    assert found[1] == "from to source flow frames min mean p50 p99 max"
    assert found[2:] == [
        "a b 02:01 0 7 1 ms 2 ms 3 ms 4 ms 5 ms",
        "a b 02:01 - 7 1 ms 2 ms 3 ms 4 ms 5 ms",
    ]
    found = lines(Analysis("file", [], latency=hops * 21))
    assert found[-1] == "and 2 more: see --json"
    assert len(found) == 2 + MOST_ROWS + 1


def test_cascades_are_counted_by_their_links_the_most_frequent_first() -> None:
    seen = interface(links=[pause(source="x", link=0), pause(source="y", link=1)])
    steps = [("s1", 0, 1), ("s2", 1, 0), ("s2", 1, 0)]
    cascades = [Cause(node, a, 0.0, b, 0.1, 0, 1) for node, a, b in steps]
    found = lines(Analysis("file", [seen], cascades=cascades, cascades_note="of one machine"))
    at = found.index("cascades of pauses: of one machine")
    assert found[at + 1 :] == [
        "cascades of pauses",
        "at paused by and so paused on times",
        "s2 nic.switch (y) nic.switch (x) 2",
        "s1 nic.switch (x) nic.switch (y) 1",
    ]
    many = [Cause(f"s{n}", 0, 0.0, 1, 0.1, 0, 1) for n in range(MOST_ROWS + 1)]
    found = lines(Analysis("file", [seen], cascades=many))
    assert found[-1] == "and 1 more: see --json"
    assert sum(line.endswith("(y) 1") for line in found) == MOST_ROWS
