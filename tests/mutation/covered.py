"""Which source files are mutated, and the tests that stand nearest to each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.mutation.rtl.cores import FILES as CORES

HERE = Path(__file__).parents[2]
RUN, LAB, NODE = "tests/orchestrator/run", "tests/orchestrator/testbed", "tests/orchestrator/engine"
SEEN, MADE = "tests/traces", "tests/traces/metrics"
KEPT = f"{NODE}/node/test_kept.py::test_a_run_measures_what_it_did"
"""Whole short runs, by name: for lines that a step by itself does not reach."""
WHOLE = {
    "nic_transmit": "carried",
    "egress_enqueue": "aside shared_aside granted dcqcn",
    "receive_path": "inputs aside shared_aside granted",
    "link_delivery": "aside shared_aside",
    "buffer": "inputs copies aside",
}
TABLES = "tests/plugins/test_described.py::test_the_page_has_the_parameters_of"
"""Defaults, presets and bounds of parameters are on a page."""


@dataclass(frozen=True)
class Room:
    """Files that belong together: what the score counts as one."""

    name: str
    aim: float
    """The share of mutants that tests should find."""
    files: dict[str, tuple[str, ...]]
    """Source file -> its tests: files, or single ones of them (`file::test`)."""
    examples: int | None = None
    """Of each property the first so many examples are tried, where all of them take too long: what
    is found is found by all, too. None: all of them."""


ROOMS = (
    Room(
        "fidelity",
        0.9,
        {
            "orchestrator/run/run_fidelity.py": (
                *(
                    f"{RUN}/test_run_fidelity.py",
                    f"{RUN}/test_wakeup_lateness.py",
                    f"{RUN}/test_program_fidelity.py",
                ),
            ),
            "orchestrator/run/wakeup_lateness.py": (
                f"{RUN}/test_wakeup_lateness.py",
                f"{RUN}/test_run_fidelity.py",
            ),
            "orchestrator/run/verdict.py": (
                f"{RUN}/test_verdict.py",
                f"{RUN}/test_metric_uncertainty.py",
            ),
            "orchestrator/run/link_conservation.py": (f"{RUN}/test_link_conservation.py",),
            "orchestrator/run/buffer_conservation.py": (f"{RUN}/test_conservation_check.py",),
            "orchestrator/run/metric_uncertainty.py": (f"{RUN}/test_metric_uncertainty.py",),
            "orchestrator/run/error_bars.py": (f"{RUN}/test_metric_uncertainty.py",),
        },
    ),
    Room(
        "controller",
        0.9,
        {
            "orchestrator/testbed/controller/merge_recordings.py": (
                f"{LAB}/controller/test_merge_recordings.py",
            ),
            "orchestrator/testbed/controller/controller_service.py": (
                *(
                    f"{LAB}/controller/test_queue.py",
                    f"{LAB}/controller/test_controller_service.py",
                ),
            ),
            "orchestrator/testbed/controller/clock_correction.py": (
                f"{LAB}/controller/test_clock_correction.py",
            ),
            "orchestrator/testbed/controller/node_placement.py": (
                *(f"{LAB}/controller/test_placing.py", f"{LAB}/controller/test_node_placement.py"),
            ),
            "orchestrator/testbed/wire/rpc_server.py": (f"{LAB}/wire/test_rpc_server.py",),
            "orchestrator/testbed/wire/chunked_transfer.py": (
                f"{LAB}/wire/test_chunked_transfer.py",
            ),
        },
    ),
    Room(
        "agent",
        0.9,
        {
            "orchestrator/testbed/agent/lease.py": (f"{LAB}/agent/test_lease.py",),
            "orchestrator/testbed/agent/nic_claims.py": (
                *(f"{LAB}/agent/test_claims.py", f"{LAB}/agent/test_nic_claims.py"),
            ),
        },
    ),
    Room(
        "engine",
        0.9,
        {
            "plugins/qcn_cp.py": (f"{TABLES}[qcn_cp]", "tests/plugins/test_qcn_steps.py"),
            "plugins/qcn_rp.py": (f"{TABLES}[qcn_rp]", "tests/plugins/test_qcn_steps.py"),
            "plugins/bcn.py": (f"{TABLES}[bcn]", "tests/plugins/test_bcn.py"),
            "plugins/af_qcn.py": (f"{TABLES}[af_qcn]", "tests/plugins/test_af_qcn.py"),
            "plugins/p4qcn_cp.py": (f"{TABLES}[p4qcn_cp]", "tests/plugins/test_p4qcn.py"),
            "plugins/p4qcn_rp.py": (f"{TABLES}[p4qcn_rp]", "tests/plugins/test_p4qcn.py"),
            "plugins/dcqcn_rp.py": (
                f"{TABLES}[dcqcn_rp]",
                "tests/plugins/test_dcqcn.py",
                "tests/plugins/test_dcqcn_connectx.py",
            ),
            "orchestrator/engine/histogram.py": (f"{NODE}/test_histogram.py",),
            "orchestrator/engine/frames/unaligned.py": (f"{NODE}/test_wide.py",),
        },
    ),
    Room(
        "node logic",
        0.9,
        {
            f"orchestrator/engine/node/{name}.py": (
                *(f"{NODE}/node/test_{test}.py" for test in tests.split()),
                *(f"{KEPT}[{run}]" for run in WHOLE.get(name, "").split()),
            )
            for name, tests in {
                "rate_limiter": "rate_limiter limiter_steps transport_steps",
                "nic_transmit": "nic_steps transport_steps",
                "transmitter": "link_steps",
                "port_scheduler": "port_steps output_steps nic_steps",
                "egress_enqueue": "queue_steps output_steps",
                "buffer": "queue_steps output_steps buffer_steps",
                "receive_path": "receive_steps transport_steps",
                "lane_flow_control": "holds",
                "send_window": "send_window",
                "transport_calls": "transport_steps",
                "control_frames": "control_steps queue_steps",
                "link_delivery": "arrive_steps",
            }.items()
        },
        examples=3,
    ),
    Room(
        "analysis",
        0.9,
        {
            **{
                f"traces/metrics/{name}.py": (
                    *(f"{MADE}/test_{test}.py" for test in tests.split()),
                    f"{SEEN}/test_metrics.py",
                )
                for name, tests in {
                    "entity_metrics": "entity_metrics",
                    "transients": "transients",
                    "compute_metrics": "compute_metrics",
                    "sample_statistics": "sample_statistics",
                    "sample_table": "sample_table",
                    "completion_times": "completion_times",
                }.items()
            },
            "traces/analysis/flow_table.py": (
                *(f"{SEEN}/analysis/test_flow_table.py", f"{SEEN}/test_analysis.py"),
            ),
            "traces/analysis/latency_matching.py": (f"{SEEN}/analysis/test_matching.py",),
            "traces/analysis/hops_and_cascades.py": (f"{SEEN}/analysis/test_hops.py",),
            "traces/analysis/pause_spells.py": (f"{SEEN}/analysis/test_spells.py",),
            "traces/compare/significance.py": (f"{SEEN}/compare/test_weighing.py",),
            "traces/compare/run_comparison.py": ("tests/traces/test_distance.py",),
        },
    ),
    Room("gateware", 0.9, {file: core.needs for file, core in CORES.items()}),
)
TWO_FORMS = {"orchestrator/engine/frames/unaligned.py"}
"""Files that hold a plain form and a compiled one: what survives plain is tried compiled."""
EXAMPLES = {file: room.examples for room in ROOMS for file in room.files}
TESTS = {file: tests for room in ROOMS for file, tests in room.files.items()}
DEFERRAL = tuple(f"{NODE}/node/test_{one}.py" for one in ("late_inside", "lazy_nic"))
NEAREST = TESTS | {
    f"orchestrator/engine/node/{name}.py": DEFERRAL
    for name in ("event_sync", "departure_time", "egress_queue", "crossbar_grants")
}
"""Of files that are drawn, too: whole short runs show what a deferred event changes."""


def module(file: str) -> str:
    """The dotted name of a source file."""
    return file.removesuffix(".py").replace("/", ".")


def files_of(tests: tuple[str, ...]) -> set[str]:
    """The files that tests stand in."""
    return {test.partition("::")[0] for test in tests}
