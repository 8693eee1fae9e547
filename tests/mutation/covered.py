"""Which source files are mutated, and the tests that stand nearest to each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.mutation.rtl.cores import FILES as CORES

HERE = Path(__file__).parents[2]
RUN, LAB, NODE = "tests/orchestrator/run", "tests/orchestrator/testbed", "tests/orchestrator/engine"
SEEN, MADE = "tests/traces", "tests/traces/metrics"
TABLES = "tests/docs/test_references.py::test_a_page_is_what_the_code_says"
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
            "orchestrator/run/fidelity.py": (
                *(f"{RUN}/test_fidelity.py", f"{RUN}/test_lateness.py", f"{RUN}/test_programs.py"),
            ),
            "orchestrator/run/lateness.py": (f"{RUN}/test_lateness.py", f"{RUN}/test_fidelity.py"),
            "orchestrator/run/verdict.py": (f"{RUN}/test_verdict.py", f"{RUN}/test_uncertainty.py"),
            "orchestrator/run/balance.py": (f"{RUN}/test_balance.py",),
            "orchestrator/run/conservation.py": (f"{RUN}/test_conservation_check.py",),
            "orchestrator/run/uncertainty.py": (f"{RUN}/test_uncertainty.py",),
            "orchestrator/run/errorbars.py": (f"{RUN}/test_uncertainty.py",),
        },
    ),
    Room(
        "controller",
        0.9,
        {
            "orchestrator/testbed/controller/merge.py": (f"{LAB}/controller/test_merge.py",),
            "orchestrator/testbed/controller/controller.py": (
                *(f"{LAB}/controller/test_queue.py", f"{LAB}/controller/test_controller.py"),
            ),
            "orchestrator/testbed/controller/delays.py": (f"{LAB}/controller/test_delays.py",),
            "orchestrator/testbed/controller/retiming.py": (f"{LAB}/controller/test_retiming.py",),
            "orchestrator/testbed/controller/mapping.py": (
                *(f"{LAB}/controller/test_placing.py", f"{LAB}/controller/test_mapping.py"),
            ),
            "orchestrator/testbed/wire/memory.py": (
                *(f"{LAB}/wire/test_memory.py", f"{LAB}/wire/test_desk.py"),
            ),
            "orchestrator/testbed/wire/chunks.py": (f"{LAB}/wire/test_chunks.py",),
        },
    ),
    Room(
        "agent",
        0.9,
        {
            "orchestrator/testbed/agent/lease.py": (f"{LAB}/agent/test_lease.py",),
            "orchestrator/testbed/agent/nics.py": (
                *(f"{LAB}/agent/test_claims.py", f"{LAB}/agent/test_nics.py"),
            ),
        },
    ),
    Room(
        "engine",
        0.9,
        {
            "plugins/qcn_cp.py": ("tests/plugins/test_qcn_steps.py", TABLES),
            "plugins/qcn_rp.py": ("tests/plugins/test_qcn_steps.py", TABLES),
            "plugins/bcn.py": ("tests/plugins/test_bcn.py", TABLES),
            "plugins/af_qcn.py": ("tests/plugins/test_af_qcn.py", TABLES),
            "plugins/p4qcn_cp.py": ("tests/plugins/test_p4qcn.py", TABLES),
            "plugins/p4qcn_rp.py": ("tests/plugins/test_p4qcn.py", TABLES),
            "plugins/dcqcn_rp.py": ("tests/plugins/test_dcqcn.py", TABLES),
            "orchestrator/engine/histogram.py": (f"{NODE}/test_histogram.py",),
            "orchestrator/engine/frames/wide.py": (f"{NODE}/test_wide.py",),
        },
    ),
    Room(
        "node logic",
        0.9,
        {
            f"orchestrator/engine/node/{name}.py": tuple(
                f"{NODE}/node/test_{test}.py" for test in (*tests.split(), "kept")
            )
            for name, tests in {
                "limiter": "limiter",
                "nic": "",
                "link": "",
                "port": "",
                "output": "",
                "buffer": "",
                "receive": "",
                "lane": "",
                "control": "",
                "arrive": "",
            }.items()
        },
        examples=3,
    ),
    Room(
        "analysis",
        0.9,
        {
            **{
                f"traces/metrics/{name}.py": (f"{MADE}/test_{name}.py", f"{SEEN}/test_metrics.py")
                for name in (
                    *("entities", "recovery", "settling", "compute", "gauges", "pauses", "table"),
                    *("swings", "completion"),
                )
            },
            "traces/analysis/flows.py": (
                f"{SEEN}/test_analysis.py",
                f"{SEEN}/analysis/test_kernel.py",
            ),
            "traces/analysis/latency.py": (f"{SEEN}/analysis/test_matching.py",),
            "traces/analysis/between.py": (f"{SEEN}/analysis/test_hops.py",),
            "traces/analysis/pausing.py": (f"{SEEN}/analysis/test_spells.py",),
            "traces/compare/chance.py": (f"{SEEN}/compare/test_weighing.py",),
            "traces/compare/distance.py": ("tests/traces/test_distance.py",),
        },
    ),
    Room("gateware", 0.9, {file: core.needs for file, core in CORES.items()}),
)
EXAMPLES = {file: room.examples for room in ROOMS for file in room.files}
TESTS = {file: tests for room in ROOMS for file, tests in room.files.items()}


def module(file: str) -> str:
    """The dotted name of a source file."""
    return file.removesuffix(".py").replace("/", ".")


def files_of(tests: tuple[str, ...]) -> set[str]:
    """The files that tests stand in."""
    return {test.partition("::")[0] for test in tests}
