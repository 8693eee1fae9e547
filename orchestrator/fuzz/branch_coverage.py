"""Branch coverage of kernels, per algorithm, and of node logic.

A condition has two branches (`orchestrator.fuzz.condition_coverage`). One that its author says
never comes
out so, with a reason, is not counted, and is listed separately: if it comes out so all the same,
the remark is wrong. On a target only the algorithms count that it runs; the others are listed with
what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.algorithm import Algorithm
from orchestrator.capability import IN_ENGINE, Capability
from orchestrator.fuzz.condition_coverage import Marks
from orchestrator.fuzz.invariant_check import SIMULATED
from orchestrator.fuzz.kernel_sources import Function, functions_of, node_files

SHOWN = 160
"""Letters of why a plan was refused."""


def coverage_lines(reached: dict[str, Any], where: str = "") -> Iterator[str]:
    """Of one target; `where` is its name, none for `simulated`.

    What is missing of an algorithm that no plan has run is all of it, and is not listed.
    """
    known = set[str]()
    for one in reached["algorithms"]:
        if one["branches"]:
            count = f"{one['reached']:4} of {one['branches']:3}"
            modules = ", ".join(
                f"{part['name']} {part['reached']} of {part['branches']}"
                for part in one.get("modules", [])
            )
            yield f"{count}  {one['name']} ({one['kind']})" + (f": {modules}" if modules else "")
        if not one["reached"]:
            continue
        for kind in ("missing", "contradicted"):
            for text in one[kind]:
                if text not in known:
                    yield f"  {kind}: {text}"
                known.add(text)
    if where:
        yield from _of_target(reached, where)
    kernels, node = reached["kernels"], reached["node"]
    yield (
        f"{kernels['reached']} of {kernels['branches']} branches of kernels were reached"
        f"{f' on {where}' if where else ''} ({kernels['excused']} more never are), "
        f"{node['reached']} of {node['branches']} of the node logic"
    )


def _of_target(reached: dict[str, Any], where: str) -> Iterator[str]:
    """Algorithms that it does not run, and the plans that it refused."""
    others: dict[str, list[str]] = {}
    for one in reached["not_run"]:
        others.setdefault(one["reason"], []).append(f"{one['name']} ({one['kind']})")
    for reason, names in others.items():
        yield f"not run on {where}: {reason}: {', '.join(names)}"
    for one in reached["refused"]:
        reason = one["reason"]
        yield f"refused on {where}: {one['plan']}: {reason[:SHOWN]}{'…' * (len(reason) > SHOWN)}"


Branch = tuple[Path, int, bool]
"""A file, the number of a condition in it, and how it comes out."""


@dataclass
class BranchShare:
    """The branches of some functions."""

    reached: list[Branch] = field(default_factory=list)
    missing: list[Branch] = field(default_factory=list)
    excused: list[Branch] = field(default_factory=list)
    """Never reached, as the remark beside them says."""
    contradicted: list[Branch] = field(default_factory=list)
    """Reached, though a remark says never."""

    @property
    def count(self) -> int:
        """Those that there are, without what is excused."""
        return len(self.reached) + len(self.missing) + len(self.contradicted)


class Branches:
    """The branches of the kernels of algorithms, and of node logic, by what `marks` has seen on
    a target with these `capabilities`."""

    def __init__(
        self,
        algorithms: Iterable[Algorithm],
        target: str = SIMULATED,
        capabilities: frozenset[Capability] = IN_ENGINE,
    ) -> None:
        every = list(algorithms)
        self.target = target
        self.algorithms = [one for one in every if not one.lacks(capabilities)]
        self.not_run = not_run(every, capabilities)
        """The other ones, each with the reason."""
        self._of = {(one.kind, one.name): functions_of(one) for one in self.algorithms}
        self._node = node_files()
        kernels = {path for functions in self._of.values() for path, _ in functions}
        self.files = sorted(kernels | set(self._node))

    def of(self, marks: Marks, algorithm: Algorithm) -> BranchShare:
        """Those of one algorithm, helpers that it shares with others among them."""
        return _share(marks, self._of[algorithm.kind, algorithm.name], self.target)

    def of_kernels(self, marks: Marks) -> BranchShare:
        """Those of all algorithms, each once."""
        every = dict.fromkeys(one for functions in self._of.values() for one in functions)
        return _share(marks, every, self.target)

    def of_node(self, marks: Marks) -> BranchShare:
        """Those of node logic."""
        wanted = [(path, each.function) for path in self._node for each in marks.files[path]]
        return _share(marks, dict.fromkeys(wanted), self.target)

    def as_table(self, marks: Marks) -> dict[str, Any]:
        """For `--json`."""
        return {
            "kernels": _counts(self.of_kernels(marks)),
            "node": self._table(marks, self.of_node(marks)),
            "algorithms": [
                {"kind": one.kind, "name": one.name} | self._table(marks, self.of(marks, one))
                for one in self.algorithms
            ],
            "not_run": self.not_run,
        }

    def _table(self, marks: Marks, share: BranchShare) -> dict[str, Any]:
        return _counts(share) | {
            "missing": [branch_text(marks, one) for one in share.missing],
            "never": list(reasons(marks, share.excused, self.target)),
            "contradicted": [branch_text(marks, one) for one in share.contradicted],
        }


def not_run(
    algorithms: Iterable[Algorithm], capabilities: frozenset[Capability]
) -> list[dict[str, str]]:
    """The algorithms that a target does not run, each with what it lacks for them."""
    return [
        {"kind": one.kind, "name": one.name, "reason": f"it lacks {' and '.join(lacks)}"}
        for one in algorithms
        if (lacks := one.lacks(capabilities))
    ]


def _share(marks: Marks, functions: Iterable[Function], target: str = SIMULATED) -> BranchShare:
    wanted: dict[Path, set[str]] = {}
    for path, name in functions:
        wanted.setdefault(path, set()).add(name)
    share = BranchShare()
    for path, names in wanted.items():
        for number, condition in enumerate(marks.files[path]):
            if condition.function in names:
                for how in (False, True):
                    _source_location(
                        share, marks, how in condition.never(target), (path, number, how)
                    )
    return share


def _source_location(share: BranchShare, marks: Marks, never: bool, branch: Branch) -> None:
    path, number, how = branch
    if marks.came_out(path, number, how):
        (share.contradicted if never else share.reached).append(branch)
    else:
        (share.excused if never else share.missing).append(branch)


def _counts(share: BranchShare) -> dict[str, Any]:
    return {
        "branches": share.count,
        "reached": len(share.reached) + len(share.contradicted),
        "excused": len(share.excused),
    }


def branch_text(marks: Marks, branch: Branch) -> str:
    """``plugins/red_marking.py:40:8 on_arrival: `x > y` never true``."""
    path, number, how = branch
    one = marks.files[path][number]
    place = f"{path.parent.name}/{path.name}:{one.line}:{one.column}"
    return f"{place} {one.function}: `{one.text}` never {str(how).lower()}"


def reasons(marks: Marks, branches: Iterable[Branch], target: str = SIMULATED) -> Iterator[str]:
    """The same with the reason that stands beside each."""
    for branch in branches:
        path, number, how = branch
        reason = marks.files[path][number].never(target)[how]
        yield f"{branch_text(marks, branch)}: {reason}"
