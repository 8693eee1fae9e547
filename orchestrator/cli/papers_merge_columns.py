"""Merging of columns from earlier `tailback papers --json` output into a new page.

Real frames want a quiet machine, and a figure on gateware takes half an hour of a core: their
columns are seldom made on the day and the machine of the simulated one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from orchestrator import __version__, bounded_file
from orchestrator.errors import BadInput
from orchestrator.terminal import exit_codes

Json = dict[str, Any]
EXPECTED_INPUT = "what `tailback papers --json` printed is expected"
MOST_OCTETS = 2**26
"""Octets of such a file that are read."""


class Row(TypedDict):
    """Result of an expectation."""

    met: bool
    uncertain: bool
    uncertainty: float | None
    met_in: int
    count: int
    mean: float | None
    sd: float | None
    least: float | None
    most: float | None
    why: str


class Other(TypedDict):
    """A mutant that no row noticed."""

    name: str
    outcome: str
    why: str


class Mutants(TypedDict):
    """Number of a plan's mutants that were caught."""

    counted: int
    seeds: NotRequired[list[int]]
    caught: int | None
    as_said: bool | None
    others: list[Other]


class Column(TypedDict):
    """A plan on a target."""

    target: str
    seeds: list[int]
    run: int
    pace: float
    verdict: str
    refused: str
    rows: list[Row]
    mutants: Mutants | None
    reasons: NotRequired[list[str]]


class PlanColumns(TypedDict):
    """A plan, what it asked then, and its columns."""

    plan: str
    asked: list[Json]
    on: list[Column]


class PaperPlans(TypedDict):
    """A paper's plans."""

    plans: list[PlanColumns]


class Page(TypedDict):
    """Keys of such a file that are read."""

    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]
    command: dict[str, str]
    made: NotRequired[dict[str, str | None]]
    papers: list[PaperPlans]


@dataclass
class MergedColumns:
    """Columns of the files of `--with`; make it by `read`."""

    pages: list[tuple[Path, Page]]
    taken: dict[tuple[str, str], Path] = field(default_factory=dict)
    """(plan, target) of each column that was taken -> its file."""

    @classmethod
    def read(cls, paths: Sequence[Path]) -> MergedColumns:
        """Raises BadInput, which names the file and the key."""
        return cls([(path, _page(path)) for path in paths])

    def target_seeds(self, known: Mapping[str, str]) -> list[tuple[str, str]]:
        """Targets beside the known ones, each with the seeds of its first column."""
        found: dict[str, str] = {}
        for _, _, column in self._columns():
            if column["target"] not in known and column["seeds"]:
                found.setdefault(column["target"], ",".join(map(str, column["seeds"])))
        return list(found.items())

    def column(self, plan: str, target: str, asked: Sequence[Json]) -> Json | None:
        """The first that was run to its end, and asked what the plan asks now."""
        for path, said, column in self._columns():
            if (said["plan"], column["target"]) != (plan, target):
                continue
            if column["refused"] or column["run"] < len(column["seeds"]):
                continue
            if _judged(said["asked"]) != _judged(asked) or len(column["rows"]) != len(asked):
                exit_codes.say(
                    f"{path}: {plan} on {target} is left out: it expects otherwise by now"
                )
                continue
            self.taken[plan, target] = path
            return dict(column)
        return None

    def file_table(self) -> list[Json]:
        """Table of the files: the targets taken from each, and the command that made it."""
        return [
            {
                "file": path.name,
                "targets": targets,
                "command": page["command"].get("page", ""),
                "made": page.get("made", {}),
            }
            for path, page in self.pages
            if (targets := sorted({to for (_, to), of in self.taken.items() if of == path}))
        ]

    def _columns(self) -> Sequence[tuple[Path, PlanColumns, Column]]:
        return [
            (path, plan, column)
            for path, page in self.pages
            for paper in page["papers"]
            for plan in paper["plans"]
            for column in plan["on"]
        ]


def _judged(asked: Sequence[Json]) -> list[list[Any]]:
    """Keys that define an expectation's numbers; changed texts leave an expectation the same."""
    keys = ("metric", "of", "phase", "min", "max", "unit", "of_seeds")
    return [[row.get(key) for key in keys] for row in asked]


def made_by() -> dict[str, str | None]:
    """The version of tailback that makes a page, and its commit where it runs from a checkout."""
    from orchestrator.run.manifest import git_state

    state = git_state() or {}
    return {"tailback": __version__, "commit": state.get("commit")}


def _page(path: Path) -> Page:
    try:
        octets = bounded_file.read_octets(path, MOST_OCTETS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(str(path), f"cannot be read: {reason}; {EXPECTED_INPUT}") from None
    try:
        return TypeAdapter(Page).validate_json(octets)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise BadInput(
            str(path), f"{at or 'the whole'}: {first['msg']}; {EXPECTED_INPUT}"
        ) from None
