"""Switches between sources and sinks that answer: what they do is judged, scheme by scheme.

A defective one is either set otherwise than the plan says, or has another constant in its kernel.
Of schemes that are in the NICs alone there is no such kernel: what a NIC of theirs does is not
judged, and the answer says so by name (`test_not_followed.py`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from tests.traces.oracle.mutants import Mutant
from tests.traces.oracle.test_mutants import captured
from traces.oracle.conformance_judge import NodeJudged, judge

# no two frames come in one nanosecond: of such that are dropped no capture has the order
PLAN = """
name = "answers"
clock_ppm = 0
phase = "aligned"
duration = "8ms"
[nodes."h{1..3}"]
kind = "nic"
[nodes.s]
kind = "switch"
buffer = "60KB"
[nodes.d]
kind = "sink"
[templates.up]
rate = "1Gb/s"
[links.up1]
like = "up"
ends = ["h1", "s"]
delay = "5us"
[links.up2]
like = "up"
ends = ["h2", "s"]
delay = "5130ns"
[links.up3]
like = "up"
ends = ["h3", "s"]
delay = "5290ns"
[links.down]
ends = ["s", "d"]
rate = "1Gb/s"
delay = "5us"
[traffic.t]
plugin = "bulk"
from = "h{1..3}"
to = "d"
transport = { plugin = "go-back-n" }
[capture]
ports = ["s.d", "s.h1", "s.h2", "s.h3"]
frames = 100000
"""
POINT = "nodes.s.congestion_point"
LANES = [
    'nodes.h{1..3}.reaction_point={plugin="newreno"}',
    'priorities="separate"',
    "traffic.t.ack_priority=6",
    "nodes.s.inputs={buffer='60KB', pause={plugin='pfc', high='20KB', low='10KB'}}",
]
"""Data in priority 0, acknowledgements in priority 6, through inputs with PFC."""
SCHEMES: dict[str, tuple[list[str], str]] = {
    "dctcp": (
        [
            'nodes.h{1..3}.reaction_point={plugin="dctcp"}',
            POINT + '={plugin="red", low="14999B", high="15KB", max_probability=1}',
        ],
        f"{POINT}.high=16KB",
    ),
    "roce": (
        [
            'nodes.h{1..3}.reaction_point={plugin="dcqcn-rp"}',
            'nodes.d.notification_point={plugin="notification-point", preset="dcqcn"}',
            'traffic.t.transport={plugin="rc", ack_every=4, first_psn=16777000}',
            POINT + '={plugin="red", low="14999B", high="15KB", max_probability=1}',
        ],
        f"{POINT}.high=16KB",
    ),
    "not-ready": (
        [
            'nodes.h{1..3}.reaction_point={plugin="dcqcn-rp"}',
            'nodes.d.notification_point={plugin="notification-point", preset="dcqcn"}',
            'traffic.t.plugin="messages"',
            'traffic.t.size="30KB"',
            "traffic.t.count=10",
            'traffic.t.interval="400us"',
            'traffic.t.transport={plugin="rc", operation="send", window=16, receive_buffers=2, '
            'buffer_interval="2ms", min_rnr_timer=3}',
            POINT + '={plugin="red", low="14999B", high="15KB", max_probability=1}',
        ],
        f"{POINT}.high=16KB",
    ),
    "nscc": (
        [
            'nodes.h{1..3}.reaction_point={plugin="nscc", base_rtt="50us", target="40us"}',
            'traffic.t.transport={plugin="selective"}',
            POINT + '={plugin="red", low="3KB", high="20KB", max_probability=1}',
        ],
        f"{POINT}.low=9KB",
    ),
    "credits": (
        [
            'nodes.d.receiver={plugin="receiver-credits"}',
            'traffic.t.transport={plugin="credit", unsolicited="15KB"}',
            POINT + '={plugin="trim", threshold="12KB"}',
        ],
        f"{POINT}.threshold=13500B",
    ),
    "newreno": (
        [
            'nodes.h{1..3}.reaction_point={plugin="newreno"}',
            'traffic.t.transport={plugin="selective", min_rto="1ms"}',
        ],
        "nodes.s.buffer=58KB",
    ),
    "cubic": (
        [
            'nodes.h{1..3}.reaction_point={plugin="cubic"}',
            'traffic.t.transport={plugin="selective", min_rto="1ms"}',
        ],
        "nodes.s.buffer=58KB",
    ),
    "swift": (
        ['nodes.h{1..3}.reaction_point={plugin="swift"}'],
        'nodes.s.ports.d.service_rate="999Mb/s"',
    ),
    "timely": (
        ['nodes.h{1..3}.reaction_point={plugin="timely"}'],
        'nodes.s.ports.d.service_rate="999Mb/s"',
    ),
    "codel": (
        [
            'traffic.t.transport={plugin="tcp", congestion_control="newreno"}',
            POINT + '={plugin="codel", target="100us", interval="1ms"}',
        ],
        f"{POINT}.target=120us",
    ),
    "pie": (
        [
            'traffic.t.transport={plugin="tcp", congestion_control="newreno"}',
            POINT + '={plugin="pie", target="100us", update_interval="200us", max_burst="0us", '
            "alpha=100, beta=100}",
        ],
        f"{POINT}.target=150us",
    ),
    "lanes": (
        [
            'nodes.h{1..3}.reaction_point={plugin="dctcp"}',
            'priorities="separate"',
            "more_priorities=[6]",
            POINT + '={plugin="priority-demotion", threshold="15KB", priority=6}',
        ],
        f"{POINT}.threshold=16500B",
    ),
    "coalesced": (
        [
            'nodes.h{1..3}.reaction_point={plugin="dctcp"}',
            'priorities="separate"',
            "traffic.t.ack_priority=6",
            'traffic.t.transport={plugin="go-back-n", ack_every=4}',
            POINT + '={plugin="red", low="14999B", high="15KB", max_probability=1}',
        ],
        f"{POINT}.high=16KB",
    ),
    "lossless": ([*LANES, "nodes.s.inputs.pause_priorities=[0]"], "nodes.s.inputs.pause.high=21KB"),
    "lossy": (
        [*LANES, "nodes.s.inputs.pause_priorities=[6]", 'nodes.s.inputs.lossy_buffer="15KB"'],
        "nodes.s.inputs.lossy_buffer=16500B",
    ),
    "watchdog": (
        [
            'nodes.s.ports.d.watchdog={plugin="pfc-watchdog", detection_time="1ms", '
            'restoration_time="2ms", polling_interval="200us"}'
        ],
        "nodes.s.ports.d.watchdog.restoration_time=2200us",
    ),
}
"""By name: what the plan has besides, and how a device is wrong."""
KERNELS = {
    "dctcp": ("red", "queue.bytes - low", "queue.bytes - 1500 - low"),
    "roce": ("red", "queue.bytes - low", "queue.bytes - 1500 - low"),
    "nscc": ("red", "above << DRAW_BITS", "above << (DRAW_BITS + 1)"),
    "credits": ("trim", "> params.threshold", "> params.threshold + 1500"),
    "codel": ("codel", "state.count += 1", "state.count += 2"),
    "pie": ("pie", "(delay - state.old) *", "(delay - state.old) * 2 *"),
    "lanes": ("priority-demotion", "> params.threshold", "> params.threshold + 1500"),
    "watchdog": ("watchdog", "now - state.latest < wait", "now - state.latest < 2 * wait"),
}
"""By name: the plugin whose kernel has another constant, as it is and as a device has it."""


STORM = PLAN.replace(
    '[nodes.d]\nkind = "sink"\n',
    """[nodes.d]
kind = "switch"
pause = { plugin = "stuck-pause", start = "2ms", stop = "5ms", frames = "pause", quanta = 2000 }
[nodes.e]
kind = "sink"
[links.behind]
ends = ["d", "e"]
rate = "1Gb/s"
""",
).replace('to = "d"\ntransport = { plugin = "go-back-n" }', 'to = "e"')
"""A switch that holds its neighbour's output in vain stands before the sink."""


def resolved(*settings: str) -> ResolvedPlan:
    text = STORM if any("watchdog" in setting for setting in settings) else PLAN
    return Plan.load(text).with_settings(list(settings)).check(Registry.load())


def switch_of(paths: list[Path], plan: ResolvedPlan) -> NodeJudged:
    return next(node for node in judge(paths, plan).nodes if node.name == "s")


@pytest.mark.parametrize("name", SCHEMES)
def test_the_switch_conforms_and_one_that_is_set_otherwise_does_not(
    name: str, tmp_path: Path
) -> None:
    has, wrong = SCHEMES[name]
    plan = resolved(*has)
    paths = captured(plan, tmp_path)
    found = switch_of(paths, plan)
    assert (found.finding, found.undecided) == (None, [])
    assert found.frames > 200
    assert switch_of(paths, resolved(*has, wrong)).finding is not None


@pytest.mark.parametrize("name", KERNELS)
def test_a_switch_whose_kernel_has_another_constant_is_found(name: str, tmp_path: Path) -> None:
    plugin, old, new = KERNELS[name]
    kind = "watchdog" if plugin == "watchdog" else "congestion_point"
    defect = Mutant(name, "", kind, old, new, plugin=plugin)
    plan = resolved(*SCHEMES[name][0])
    paths = captured(defect.put_into(plan, tmp_path), tmp_path)
    assert switch_of(paths, plan).finding is not None


def test_what_a_sink_answers_has_to_be_captured(tmp_path: Path) -> None:
    has, _ = SCHEMES["dctcp"]
    plan = resolved(*has, 'capture.ports=["s.h1", "s.h2", "s.h3"]')
    with pytest.raises(BadInput, match=r"s: what came in at s\.d was not captured"):
        judge(captured(plan, tmp_path), plan)
