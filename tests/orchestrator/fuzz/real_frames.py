"""What plans reach on real frames beside what they reach on `simulated`, several at a time."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.fuzz.branch_coverage import Branch, branch_text
from orchestrator.fuzz.condition_coverage import Marks
from orchestrator.fuzz.kernel_sources import Function, functions_of
from orchestrator.fuzz.plan_corpus import as_numbers
from orchestrator.fuzz.python_kernel_process import PythonKernels
from orchestrator.plan import Plan
from orchestrator.registry import Registry

AT_A_TIME = 2
"""Runs; each takes a core at most, and of none a time is measured."""
SAMPLE = (
    *(
        "ack-every-2",
        "cnp-priority",
        "af-3",
        "aside",
        "bcn",
        "bcn-back",
        "codel-false-1",
        "credit-tl",
        "credit-twiceb60",
    ),
    *("csig-bandwidth", "cubic-back2", "fecn-rate", "int-no", "ka4-occupancy-random-3000"),
    *("lim-dcqcn", "links", "lossy-cnm", "machine-zero", "nscc-6-0", "nscc-fast", "p4-released"),
    *("par-gbn", "pareto-longest", "pie-storm", "red-notect", "sel-jit-trimn1", "sel-small-01-3"),
    *("src-bernoulli", "src-pareto-onoff-2", "src-random-flows", "storm-nobody", "storm-pause"),
    *("scheduler-turns", "scheduler-strict", "scheduler-deficit", "scheduler-ets", "link-stages"),
    *("buffer-alphas", "buffer-headroom", "rc-few", "rc-not-ready", "red-by-class"),
    *("swift-one", "timely-low", "trace-2", "wd-drop-pfc", "wd-empty"),
)
"""Plans of the corpus that use every algorithm and reach most branches for the least work; each has
reached all of its branches at once on a machine that had much else to do."""


@dataclass
class Seen:
    """Of all plans; branches by their words (`reached.branch_text`)."""

    wanted: set[str] = field(default_factory=set)
    """What they reach on `simulated`."""
    reached: set[str] = field(default_factory=set)
    """What they reach on real frames."""
    strange: set[str] = field(default_factory=set)
    """Of that what is of no algorithm of the plan that is said to have reached it."""
    missing: set[str] = field(default_factory=set)
    """What there is, and none of them reached, and no remark excuses."""
    contradicted: set[str] = field(default_factory=set)
    """What they reached against a remark."""
    refused: dict[str, str] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    """Runs that failed, and what broke."""


def reached_on_real_frames(plans: Sequence[Plan]) -> Seen:
    """Run all of them on both targets; one that lacks branches of its own is run again."""
    seen, waiting = Seen(), queue.SimpleQueue[Plan]()
    for plan in plans:
        waiting.put(plan)
    there: list[tuple[set[str], set[str], set[str]]] = []

    def work() -> None:
        try:
            with (
                PythonKernels() as here,
                PythonKernels(target="software", like=lambda: here.last) as real,
            ):
                for plan in _all_of(waiting):
                    _run(plan, here, real, seen)
                there.append(_parts(real))
                seen.refused.update(real.refused)
        except BaseException as error:
            seen.found.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work) for _ in range(AT_A_TIME)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for reached, _, contradicted in there:
        seen.reached |= reached
        seen.contradicted |= contradicted
    for _, missing, _ in there:
        seen.missing |= missing - seen.reached
    return seen


def _all_of(waiting: queue.SimpleQueue[Plan]) -> Iterator[Plan]:
    with contextlib.suppress(queue.Empty):
        while True:
            yield waiting.get_nowait()


def _run(plan: Plan, here: PythonKernels, real: PythonKernels, seen: Seen) -> None:
    table = as_numbers(plan)
    if here.run(table) == "":
        seen.found.append(f"{plan.name} is no plan any more")
    seen.wanted |= {branch_text(here.marks, one) for one in here.last}
    reached = set(real.kernels.reached)
    finding = real.reach(table)
    if finding is not None:
        seen.found.append(f"{plan.name}: {finding}")
    own = functions_in(plan)
    new = set(real.kernels.reached) - reached
    seen.strange |= {
        branch_text(real.marks, one) for one in new if function_of(real.marks, one) not in own
    }


def _parts(real: PythonKernels) -> tuple[set[str], set[str], set[str]]:
    share = real.kernels
    parts = (share.reached, share.missing, share.contradicted)
    reached, missing, contradicted = (
        {branch_text(real.marks, one) for one in part} for part in parts
    )
    return reached, missing, contradicted


def function_of(marks: Marks, branch: Branch) -> Function:
    """The kernel or helper that a branch is in."""
    path, number, _ = branch
    return path, marks.files[path][number].function


def functions_in(plan: Plan) -> set[Function]:
    """The kernels of a plan's algorithms, and what they call."""
    uses = plan.check(Registry.load()).uses
    return {
        one
        for named in uses.values()
        for use in named.values()
        for one in functions_of(use.algorithm)
    }
