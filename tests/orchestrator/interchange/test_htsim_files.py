"""Readers of htsim's files: values, numbers of switches, and every refusal with its line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.errors import BadInput
from orchestrator.interchange.htsim_files import (
    ConnectionMatrix,
    FatTree,
    MatrixFlow,
    read_fat_tree,
    read_matrix,
)
from orchestrator.interchange.source_text import SourceText

TWO = """# a tree of two tiers
Nodes 16
Tiers 2
Podsize 16
Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 4
Downlink_Latency_ns 1000
Oversubscribed 2
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 2000
Switch_Latency_ns 70
"""
THREE = """nodes 32
tiers 3
podsize 8
tier 0
downlink_speed_gbps 200
radix_down 4
radix_up 4
downlink_latency_ns 500
tier 1
downlink_speed_gbps 200
radix_down 2
radix_up 4
downlink_latency_ns 500
bundle 1
tier 2
downlink_speed_gbps 200
radix_down 4
downlink_latency_ns 500
bundle 2
"""


def source(text: str) -> SourceText:
    return SourceText("file", tuple(text.split("\n")))


def tree(text: str) -> FatTree:
    return read_fat_tree(source(text))


def matrix(text: str) -> ConnectionMatrix:
    return read_matrix(source(text))


def refusal(read: Callable[[str], object], text: str) -> tuple[str, object, str, str]:
    with pytest.raises(BadInput) as caught:
        read(text)
    (problem,) = caught.value.problems
    return problem.where, problem.value, problem.accepted, problem.at


def test_two_tiers_have_the_switches_that_their_radices_give() -> None:
    """16 hosts under 2 switches of 8; 16 x 100 Gb/s over 2 leave 8 uplinks: 4 switches above."""
    found = tree(TWO)
    assert (found.hosts, found.pods, found.tors_per_pod) == (16, 1, 2)
    assert (found.aggs_per_pod, found.cores, len(found.tiers)) == (4, 0, 2)
    low, high = found.tiers
    assert (low.line, high.line) == (5, 11)
    assert low.get("downlink_latency_ns") == 1000
    assert low.get("oversubscribed") == 2
    assert low.lines["radix_up"] == 8
    assert high.get("switch_latency_ns") == 70


def test_settings_that_a_file_lacks_have_the_values_of_htsim() -> None:
    high = tree(TWO).tiers[1]
    assert (high.get("bundle"), high.get("oversubscribed")) == (1, 1)
    assert (high.get("queue_down"), high.get("queue_up"), high.get("radix_up")) == (0, 0, 0)


def test_three_tiers_have_cores_in_bundles() -> None:
    """32 hosts: 4 pods of 8; 8 uplinks of a pod over 2: 4 switches; 32 uplinks over 4: 8 cores,
    2 for each place of a pod, in bundles of 2: 4 uplinks."""
    found = tree(THREE)
    assert (found.hosts, found.pods, found.tors_per_pod) == (32, 4, 2)
    assert (found.aggs_per_pod, found.cores, len(found.tiers)) == (4, 8, 3)


TREES = [
    ("Podsize 16\n", "", ("podsize", "missing", "a line with it and a number is expected", "file")),
    ("Nodes 16\n", "", ("nodes", "missing", "a line with it and a number is expected", "file")),
    ("Tiers 2", "Tiers 1", ("tiers", 1, "2 or 3 is expected", "file:3")),
    ("Tiers 2", "Tiers 4", ("tiers", 4, "2 or 3 is expected", "file:3")),
    ("Tier 1\n", "Tier 2\n", ("tier 1", "missing", "tiers 0 to 1 are expected", "file")),
    (
        "Tiers 2",
        "Tiers 3",
        ("tier 1 radix_up", "missing", "a number from 1 on is expected", "file:11"),
    ),
    (
        "Radix_Up 4\n",
        "",
        ("tier 0 radix_up", "missing", "a number from 1 on is expected", "file:5"),
    ),
    (
        "Downlink_Latency_ns 2000\n",
        "",
        ("tier 1 downlink_latency_ns", "missing", "a number from 1 on is expected", "file:11"),
    ),
    (
        "Radix_Down 2\n",
        "Radix_Down 0\n",
        ("tier 1 radix_down", "missing", "a number from 1 on is expected", "file:11"),
    ),
    ("Podsize 16", "Podsize 5", ("podsize", 5, "a divisor of 16 is expected", "file:4")),
    (
        "Radix_Down 8",
        "Radix_Down 7",
        ("tier 0 radix_down", 7, "a divisor of 16 is expected", "file:5"),
    ),
    (
        "Oversubscribed 2",
        "Oversubscribed 2\nBundle 2",
        ("tier 0 bundle", 2, "1 is expected", "file:5"),
    ),
    (
        "Oversubscribed 2",
        "Oversubscribed 3",
        ("tier 0 oversubscribed", 300, "a divisor of 1600 Gb/s over uplinks is expected", "file:5"),
    ),
    (
        "Radix_Down 2",
        "Radix_Down 3",
        (
            "tier 1 radix_down",
            3,
            "a divisor of the 8 uplinks of a pod is expected",
            "file:11",
        ),
    ),
    (
        "Radix_Up 4",
        "Radix_Up 8",
        ("tier 0 radix_up", 8, "4 is expected: 4 switches above, in bundles", "file:5"),
    ),
    (
        "Radix_Down 8",
        "Radix_Down",
        ("Radix_Down", "end of line", "a number is expected", "file:7"),
    ),
    (
        "Radix_Up 4",
        "Radix_Up 4\nradix_UP 5",
        ("radix_UP", "5", "one value is expected; line 8 has another", "file:9"),
    ),
    (
        "Oversubscribed 2",
        "Oversubscribed 2\nTier 0",
        ("tier", 0, "each tier once is expected", "file:11"),
    ),
    (
        "Nodes 16",
        "Colour 3",
        ("key", "Colour", "nodes, tiers, podsize, tier are expected", "file:2"),
    ),
    (
        "Oversubscribed 2",
        "Podsize 16",
        (
            "key",
            "Podsize",
            "tier, downlink_speed_gbps, radix_down, radix_up, queue_down, queue_up, "
            "oversubscribed, bundle, switch_latency_ns, downlink_latency_ns are expected",
            "file:10",
        ),
    ),
    (
        "Radix_Down 8",
        "Queue_Down 1000000001",
        ("Queue_Down", "1000000001", "a whole number from 0 to 1000000000 is expected", "file:7"),
    ),
    (
        "Downlink_speed_Gbps 100\nRadix_Down 8",
        "Downlink_speed_Gbps 10001\nRadix_Down 8",
        (
            "Downlink_speed_Gbps",
            "10001",
            "a whole number from 0 to 10000 is expected",
            "file:6",
        ),
    ),
    (
        "Nodes 16",
        "Nodes 12001",
        ("Nodes", "12001", "a whole number from 1 to 12000 is expected", "file:2"),
    ),
    ("Nodes 16", "Nodes 0", ("Nodes", "0", "a whole number from 1 to 12000 is expected", "file:2")),
    ("Tier 1\n", "Tier 3\n", ("tier", "3", "a whole number from 0 to 2 is expected", "file:11")),
]


@pytest.mark.parametrize(("old", "new", "problem"), TREES)
def test_trees_that_do_not_add_up_are_refused_by_line(
    old: str, new: str, problem: tuple[str, object, str, str]
) -> None:
    assert TWO.count(old) >= 1
    assert refusal(tree, TWO.replace(old, new, 1)) == problem


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "radix_up 4\ndownlink_latency_ns 500\nbundle",
            "radix_up 2\ndownlink_latency_ns 500\nbundle",
            ("tier 1 radix_up", 2, "4 is expected: 2 switches above, in bundles", "file:9"),
        ),
        (
            "radix_down 4\ndownlink_latency_ns 500\nbundle",
            "radix_down 5\ndownlink_latency_ns 500\nbundle",
            (
                "tier 2 radix_down",
                5,
                "a divisor of the 32 uplinks of tier 1 is expected",
                "file:15",
            ),
        ),
        (
            "radix_down 4\ndownlink_latency_ns 500\nbundle",
            "radix_down 16\ndownlink_latency_ns 500\nbundle",
            (
                "tier 1 switches per pod",
                4,
                "2 cores in groups of equal size are expected",
                "file:9",
            ),
        ),
        (
            "radix_up 4\ndownlink_latency_ns 500\nbundle 1",
            "downlink_latency_ns 500\nbundle 1",
            ("tier 1 radix_up", "missing", "a number from 1 on is expected", "file:9"),
        ),
    ],
)
def test_upper_tiers_have_to_fit(old: str, new: str, problem: tuple[str, object, str, str]) -> None:
    assert THREE.count(old) == 1
    assert refusal(tree, THREE.replace(old, new)) == problem


def test_uplinks_come_in_equal_pods() -> None:
    """3 pods of 4 hosts: 12 x 100 Gb/s over links of 300 are 4 uplinks, not a multiple of 3."""
    text = TWO.replace("Nodes 16", "Nodes 12").replace("Podsize 16", "Podsize 4")
    text = text.replace("Radix_Down 8", "Radix_Down 4").replace("Oversubscribed 2", "Bundle 1")
    text = text.replace("Tier 1\nDownlink_speed_Gbps 100", "Tier 1\nDownlink_speed_Gbps 300")
    assert refusal(tree, text) == ("podsize", 4, "4 uplinks in equal pods are expected", "file:5")


MATRIX = """Nodes 8
Connections 3
Triggers 1
Failures 1
0->7 start 5 size 1000
7->0 id 3 start 3600000000000000 addon size 2147483647 prio 2
1->2 trigger 1 size 1
trigger id 1 oneshot
failure link 3
"""


def test_a_matrix_has_its_flows_and_the_numbers_of_what_is_left_out() -> None:
    found = matrix(MATRIX)
    assert found.flows == [
        MatrixFlow(0, 7, 1000, 5),
        MatrixFlow(7, 0, (1 << 31) - 1, 3600 * 10**12),
    ]
    assert (found.nodes, found.triggered, found.triggers) == (8, 1, 1)
    assert (found.failures, found.priorities) == (1, 1)


KEYS = "start, size, id, trigger, send_done_trigger, recv_done_trigger, prio are expected"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("Nodes 8", "Nodes", ("Nodes", "end of line", "a number is expected", "file:1")),
        (
            "failure link",
            "Link",
            (
                "line",
                "Link",
                "Nodes, Connections, Triggers, Failures, a->b, trigger or failure is expected",
                "file:9",
            ),
        ),
        (
            "Connections 3",
            "Connections 4",
            ("Connections", 4, "3 is expected: so many are there", "file:2"),
        ),
        ("Triggers 1", "Triggers 0", ("Triggers", 0, "1 is expected: so many are there", "file:3")),
        ("Failures 1", "Failures 2", ("Failures", 2, "1 is expected: so many are there", "file:4")),
        ("Failures 1\n", "", ("Failures", 0, "1 is expected: so many are there", "file")),
        (
            "0->7",
            "0->8",
            ("destination", "8", "a whole number from 0 to 7 is expected", "file:5"),
        ),
        ("0->7", "8->7", ("source", "8", "a whole number from 0 to 7 is expected", "file:5")),
        ("0->7", "7->7", ("connection", "7->7", "two different hosts are expected", "file:5")),
        ("start 5", "begin 5", ("key", "begin", KEYS, "file:5")),
        ("size 1000", "size", ("size", "end of line", "a number is expected", "file:5")),
        (" size 1000", "", ("size", "missing", "a number of octets is expected", "file:5")),
        (
            "size 1000",
            "size 0",
            ("size", "0", "a whole number from 1 to 2147483647 is expected", "file:5"),
        ),
        (
            "size 2147483647",
            "size 2147483648",
            ("size", "2147483648", "a whole number from 1 to 2147483647 is expected", "file:6"),
        ),
        (" start 5", "", ("start", "missing", "a time in picoseconds is expected", "file:5")),
        (
            "start 3600000000000000",
            "start 3600000000000001",
            (
                "start",
                "3600000000000001",
                "a number of picoseconds is expected, with at most 0 decimals",
                "file:6",
            ),
        ),
        (
            "start 5",
            "start 5.5",
            (
                "start",
                "5.5",
                "a number of picoseconds is expected, with at most 0 decimals",
                "file:5",
            ),
        ),
    ],
)
def test_matrices_that_are_wrong_are_refused_by_line(
    old: str, new: str, problem: tuple[str, object, str, str]
) -> None:
    assert MATRIX.count(old) == 1
    assert refusal(matrix, MATRIX.replace(old, new)) == problem


def test_a_matrix_without_nodes_is_refused() -> None:
    accepted = "a line with the number of nodes is expected: so many are there"
    assert refusal(matrix, "Connections 0\n") == ("Nodes", 0, accepted, "file")
    assert refusal(matrix, "Nodes 0\n") == ("Nodes", 0, accepted, "file:1")
    # without their number no host is right but host 0
    problem = refusal(matrix, "0->1 start 0 size 1\nNodes 2\nConnections 1\n")
    assert problem[:2] == ("destination", "1")


@pytest.mark.parametrize(
    ("key", "most"),
    [
        ("Downlink_speed_Gbps", 10_000),
        *((key, 10**9) for key in ("Downlink_Latency_ns", "Switch_Latency_ns", "Queue_Up")),
    ],
)
def test_numbers_of_a_tier_have_a_largest_value(key: str, most: int) -> None:
    """10 Tb/s, a second, 1 GB."""
    rows = [row for row in TWO.splitlines() if not row.startswith(key)]
    for value in (most, most + 1):
        text = "\n".join(
            f"{row}\n{key} {value}" if row.startswith("Tier ") else row for row in rows
        )
        if value == most:
            assert [tier.get(key.lower()) for tier in tree(text).tiers] == [most, most]
            continue
        with pytest.raises(BadInput, match=f"{key}: '{value}' .* 0 to {most} is expected"):
            tree(text)
