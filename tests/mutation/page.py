"""docs/mutation.md, made from scores.json and the reasons for survivors in reasons.toml."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from tests.mutation.covered import HERE, ROOMS

SCORES = Path(__file__).with_name("scores.json")
REASONS = Path(__file__).with_name("reasons.toml")
PAGE = HERE / "docs" / "mutation.md"
HEAD = """\
# Mutation testing of the sources

**Mutation scores of the tested files: the share of small source changes that a test detects.**

A *mutant* is a source file with one change: a comparison off by one or inverted, `and` for `or`, a
sum for a difference, a number one up or down, a negated condition, an empty loop, a call or an
assignment removed. For each mutant, the tests that reach the changed line run; a mutant is *found*
if one of them fails. A *survivor* is either a missing test or an equivalent change, and then
`tests/mutation/reasons.toml` has the reason.

```text
make mutants                    # covered files that differ from main, and their tests
make mutants FILES="FILE ..."   # these files
make mutants ALL=1              # all; renews this page
make mutants AGAIN=1 FILES=...  # survivors of the last time, if only tests have changed
make mutants SAMPLE=20 FILES=...  # twenty of each file, spread evenly
make mutants DRAW=60 SEED=1 [PURE=1]  # drawn over the whole tree by a seed; see the scores' page
python -m tests.mutation --survivors FILE ...   # list survivors with their reasons
```

**Python.** cosmic-ray generates the changes, except removed statements. Its runner writes every
mutant over the file and starts an interpreter for it, and mutmut skips decorated functions, which
all kernels are; therefore `python -m tests.mutation` collects the tests once, forks for each mutant
and replaces the code of the function in memory, in some 0.1 s. If a change is outside a function's
body (a constant, a default), the child imports the modules again, in some 0.5 s. Kernels run as
plain Python (`NUMBA_DISABLE_JIT=1`) with the first few examples of slow property tests; survivors
of a file with a compiled form are tried compiled. `tests/mutation/covered.py` maps files to tests.

**Verilog.** `mutate` of yosys changes single bits between cells: a bit is stuck at 0 or 1, is
inverted, or is inverted if another bit of the same port is 0 or 1. Some tens of mutants cover the
bits of a module; one design holds all of them, Icarus compiles it once, and a register selects the
mutant. The bench that compares the core with its kernel runs on each mutant: short tests first,
then evenly drawn sequences and, for survivors, hypothesis (`--quick`: not). A mutant that
multiplies the simulation time counts as found. yosys proves some survivors equivalent (a bit
without readers, a constant bit); these are not counted.

"""


def scores() -> dict[str, dict[str, Any]]:
    """What was measured last, by file."""
    found: dict[str, dict[str, Any]] = json.loads(SCORES.read_text()) if SCORES.exists() else {}
    return found


def keep(file: str, score: dict[str, Any]) -> None:
    """Note a score."""
    known = scores() | {file: score}
    SCORES.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def share(score: dict[str, Any]) -> float:
    """Of the mutants, how many were found."""
    return float(score["found"] / max(score["mutants"], 1))


def reaches(file: str, score: dict[str, Any]) -> bool:
    """Whether a file's score is what its room aims at."""
    return share(score) >= next(room.aim for room in ROOMS if file in room.files)


def line(file: str, score: dict[str, Any]) -> str:
    """A score in words."""
    return f"{file}: {score['found']} of {score['mutants']} found, {share(score):.0%}"


def reason(file: str, survivor: dict[str, Any]) -> str:
    """Why a survivor is no fault that a test should find; empty: nobody has said."""
    known = tomllib.loads(REASONS.read_text(encoding="utf-8")).get(file, {})
    return next((why for part, why in known.items() if part in survivor["change"]), "")


def unexplained(file: str, score: dict[str, Any]) -> list[dict[str, Any]]:
    """Survivors without a reason."""
    return [survivor for survivor in score["survivors"] if not reason(file, survivor)]


def text() -> str:
    """Markdown page: the score of each file, and its survivors as numbers."""
    measured = scores()
    lines = [HEAD + "## Scores", ""]
    lines.append("| room | file | mutants | found | aim | survivors with a reason | without |")
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for room in ROOMS:
        for file in room.files:
            score = measured.get(file)
            lines.append(
                f"| {room.name} | `{file}` | {_cells(file, score)[0]} | {room.aim:.0%} |"
                f" {_cells(file, score)[1]} |"
            )
    return "\n".join(lines).rstrip() + "\n"


def _cells(file: str, score: dict[str, Any] | None) -> tuple[str, str]:
    """Cells of a score, before and after the aim."""
    if score is None:
        return "- | not yet tried", "- | -"
    without = len(unexplained(file, score))
    note = f" ({score['note']})" if "note" in score else ""
    return (
        f"{score['mutants']} | {share(score):.0%}{note}",
        f"{len(score['survivors']) - without} | {without}",
    )


def survivors_text(file: str) -> str:
    """Survivors of a file as text, each with its reason or `no reason`."""
    score = scores().get(file)
    if score is None:
        return f"{file}: not yet tried\n"
    lines = [line(file, score)]
    for survivor in score["survivors"]:
        before, _, after = survivor["change"].partition("  ->  ")
        why = reason(file, survivor) or f"no reason ({survivor['outcome']})"
        lines += [f"  line {survivor['line']}: {why}", f"    - {before}", f"    + {after}"]
    return "\n".join(lines) + "\n"


def write() -> None:
    """Renew the page."""
    PAGE.write_text(text(), encoding="utf-8")
